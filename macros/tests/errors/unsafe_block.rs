#![allow(unused)]

use warpfold::function;

#[function]
fn same(x: f32) -> f32 {
    unsafe { x }
}

fn main() {}
