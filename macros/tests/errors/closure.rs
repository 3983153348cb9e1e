#![allow(unused)]

use warpfold::function;

#[function]
fn twice(x: f32) -> f32 {
    let double = |y: f32| 2.0 * y;
    double(x)
}

fn main() {}
