#![allow(unused)]

use warpfold::function;

#[function]
fn several(x: f32) -> f32 {
    let y = &x;
    let z = vec![*y];
    println!("{y}");
    z[0].to_degrees()
}

fn main() {}
