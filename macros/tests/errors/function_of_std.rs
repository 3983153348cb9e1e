#![allow(unused)]

use warpfold::function;

#[function]
fn later(x: u32) -> u32 {
    std::cmp::max(x, 3)
}

fn main() {}
