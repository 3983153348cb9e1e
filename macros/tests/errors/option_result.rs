#![allow(unused)]

use warpfold::function;

#[function]
fn root(x: f32) -> Option<f32> {
    if x < 0.0 { None } else { Some(x.sqrt()) }
}

fn main() {}
