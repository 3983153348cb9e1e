#![allow(unused)]

use warpfold::function;

#[function]
unsafe fn same(x: f32) -> f32 {
    x
}

fn main() {}
