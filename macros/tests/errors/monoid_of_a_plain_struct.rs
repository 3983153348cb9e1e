#![allow(unused)]

use warpfold::monoid;

#[derive(Clone, Copy)]
struct Point {
    x: f32,
}

#[monoid(identity = Point { x: 0.0 })]
fn sum(a: Point, b: Point) -> Point {
    Point { x: a.x + b.x }
}

fn main() {}
