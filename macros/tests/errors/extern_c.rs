#![allow(unused)]

use warpfold::function;

#[function]
extern "C" fn same(x: f32) -> f32 {
    x
}

fn main() {}
