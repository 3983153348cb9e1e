#![allow(unused)]

use warpfold::function;

#[function]
fn before(a: (u32, u32), b: (u32, u32)) -> bool {
    a < b
}

fn main() {}
