#![allow(unused)]

use warpfold::function;

fn double(x: f32) -> f32 {
    2.0 * x
}

#[function]
fn quadruple(x: f32) -> f32 {
    double(double(x))
}

fn main() {}
