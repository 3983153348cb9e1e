#![allow(unused)]

use warpfold::function;

#[function]
fn sum(x: (u8, u8, u8, u8, u8, u8, u8)) -> u8 {
    x.0 + x.6
}

fn main() {}
