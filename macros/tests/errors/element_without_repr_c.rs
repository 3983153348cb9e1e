#![allow(unused)]

use warpfold::Element;

#[derive(Clone, Copy, Element)]
struct Pair {
    a: f32,
    b: f32,
}

fn main() {}
