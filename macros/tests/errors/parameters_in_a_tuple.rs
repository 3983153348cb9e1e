#![allow(unused)]

use warpfold::{collect, function, map_with};

#[function]
fn scaled(x: f32, by: (f32, f32)) -> f32 {
    x * by.0 + by.1
}

fn main() {
    collect(map_with::<scaled, _, _>(&[1.0_f32, 2.0], (2.0_f32, 1.0_f32)));
}
