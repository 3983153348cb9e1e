#![allow(unused)]

use warpfold::function;

#[function]
fn half(x: u32) -> u32 {
    if x % 2 == 1 {
        panic!("odd");
    }
    x / 2
}

fn main() {}
