#![allow(unused)]

use warpfold::function;

#[function]
fn sign(x: i32) -> i32 {
    for i in 0..x {
        break i;
    }
    0
}

fn main() {}
