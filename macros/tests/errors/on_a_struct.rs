#![allow(unused)]

use warpfold::function;

#[function]
struct Point {
    x: f32,
}

fn main() {}
