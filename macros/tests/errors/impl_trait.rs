#![allow(unused)]

use warpfold::function;

#[function]
fn same(x: impl Copy) -> f32 {
    1.0
}

fn main() {}
