#![allow(unused)]

use warpfold::{collect, function, map_with};

#[function]
fn scaled(x: f32, factor: f32) -> f32 {
    x * factor
}

fn main() {
    let factor = 2.0_f64;
    collect(map_with::<scaled, _, _>(&[1.0_f32, 2.0], factor));
}
