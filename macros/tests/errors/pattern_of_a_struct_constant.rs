#![allow(unused)]

use warpfold::{Element, function};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Element)]
#[repr(C)]
struct Point {
    x: i32,
    y: i32,
}

const ORIGIN: Point = Point { x: 0, y: 0 };

#[function]
fn is_origin(p: Point) -> u32 {
    match p {
        ORIGIN => 1,
        _ => 0,
    }
}

fn main() {}
