#![allow(unused)]

use warpfold::function;

#[function]
fn half(x: u32) -> u32 {
    assert!(x % 2 == 0);
    x / 2
}

fn main() {}
