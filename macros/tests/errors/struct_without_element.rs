#![allow(unused)]

use warpfold::function;

#[derive(Clone, Copy)]
struct Plain {
    x: f32,
}

#[function]
fn part(p: Plain) -> f32 {
    p.x
}

fn main() {}
