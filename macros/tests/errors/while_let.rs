#![allow(unused)]

use warpfold::function;

#[function]
fn first(mut x: (u32, u32)) -> u32 {
    while let (1, y) = x {
        x.0 = y;
    }
    x.0
}

fn main() {}
