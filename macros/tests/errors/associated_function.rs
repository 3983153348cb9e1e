#![allow(unused)]

use warpfold::{Element, function};

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Point {
    x: f32,
    y: f32,
}

impl Point {
    fn new(x: f32, y: f32) -> Point {
        Point { x, y }
    }
}

#[function]
fn diagonal(x: f32) -> Point {
    Point::new(x, x)
}

fn main() {}
