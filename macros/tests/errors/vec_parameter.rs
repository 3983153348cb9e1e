#![allow(unused)]

use warpfold::function;

#[function]
fn first(values: Vec<f32>) -> f32 {
    values[0]
}

fn main() {}
