#![allow(unused)]

use warpfold::function;

#[function]
fn nothing(x: f32) {
    let _ = x;
}

fn main() {}
