#![allow(unused)]

use warpfold::function;

#[function]
fn sum(values: [f32; 3]) -> f32 {
    let mut sum = 0.0;
    for (i, x) in values.iter().enumerate() {
        sum += x * i as f32;
    }
    sum
}

fn main() {}
