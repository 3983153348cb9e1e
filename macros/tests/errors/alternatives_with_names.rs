#![allow(unused)]

use warpfold::function;

#[function]
fn other(x: (u32, u32)) -> u32 {
    match x {
        (0, n) | (n, 0) => n,
        _ => 1,
    }
}

fn main() {}
