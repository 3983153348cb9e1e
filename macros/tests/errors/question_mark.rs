#![allow(unused)]

use warpfold::function;

fn checked(x: f32) -> Option<f32> {
    Some(x)
}

#[function]
fn same(x: f32) -> f32 {
    let y = checked(x)?;
    y
}

fn main() {}
