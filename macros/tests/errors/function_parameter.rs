#![allow(unused)]

use warpfold::function;

#[function]
fn apply(f: fn(f32) -> f32, x: f32) -> f32 {
    f(x)
}

fn main() {}
