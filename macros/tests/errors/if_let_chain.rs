#![allow(unused)]

use warpfold::function;

#[function]
fn first(x: (u32, u32)) -> u32 {
    if x.0 > 1 && let (_, 1) = x { 1 } else { 0 }
}

fn main() {}
