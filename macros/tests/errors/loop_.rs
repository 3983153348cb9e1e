#![allow(unused)]

use warpfold::function;

#[function]
fn log(mut n: u32) -> u32 {
    let mut steps = 0;
    loop {
        n /= 2;
        if n == 0 {
            break;
        }
        steps += 1;
    }
    steps
}

fn main() {}
