#![allow(unused)]

use warpfold::function;

#[function]
fn first(x: (u32, u32)) -> u32 {
    let (1, y) = x;
    y
}

fn main() {}
