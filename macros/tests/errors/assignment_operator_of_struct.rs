#![allow(unused)]

use warpfold::{Element, function};

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Point {
    x: f32,
    y: f32,
}

impl std::ops::AddAssign<f32> for Point {
    fn add_assign(&mut self, other: f32) {
        self.x += other;
    }
}

#[function]
fn moved(mut a: Point, by: f32) -> Point {
    a += by;
    a
}

fn main() {}
