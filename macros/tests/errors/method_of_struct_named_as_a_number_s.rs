#![allow(unused)]

use warpfold::{Element, function};

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Point {
    x: f32,
    y: f32,
}

impl Point {
    fn abs(self) -> f32 {
        (self.x * self.x + self.y * self.y).sqrt()
    }
}

#[function]
fn length(p: Point) -> f32 {
    p.abs()
}

fn main() {}
