#![allow(unused)]

use warpfold::function;

#[function]
fn sum(values: [f32; 3]) -> f32 {
    let mut sum = 0.0;
    for x in values {
        sum += x;
    }
    sum
}

fn main() {}
