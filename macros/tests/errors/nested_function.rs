#![allow(unused)]

use warpfold::function;

#[function]
fn quadruple(x: f32) -> f32 {
    fn double(x: f32) -> f32 {
        2.0 * x
    }
    double(double(x))
}

fn main() {}
