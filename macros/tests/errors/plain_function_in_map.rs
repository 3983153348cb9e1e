#![allow(unused)]

use warpfold::{collect, map};

fn square(x: f32) -> f32 {
    x * x
}

fn main() {
    collect(map::<square, _>(&[1.0, 2.0]));
}
