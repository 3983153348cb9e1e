#![allow(unused)]

use warpfold::function;

#[function]
fn first(values: [f32; 4]) -> f32 {
    values[1..3][0]
}

fn main() {}
