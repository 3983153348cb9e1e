#![allow(unused)]

use warpfold::function;

#[function]
fn same(x: f32) -> f32 {
    let y = &x;
    *y
}

fn main() {}
