#![allow(unused)]

use warpfold::function;

#[function]
fn count(x: f32) -> u32 {
    let mut n = 0;
    for _ in 'a'..'z' {
        n += 1;
    }
    n
}

fn main() {}
