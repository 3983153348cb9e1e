#![allow(unused)]

use warpfold::function;

#[function]
fn first(x: (u32, u32)) -> u32 {
    if let (1, y) = x { y } else { 0 }
}

fn main() {}
