#![allow(unused)]

use warpfold::{Element, function};

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Point {
    x: f32,
    y: f32,
}

#[function]
fn same(a: Point, b: Point) -> bool {
    a == b
}

fn main() {}
