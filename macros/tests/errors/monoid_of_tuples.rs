#![allow(unused)]

use warpfold::monoid;

#[monoid(identity = (0, 0))]
fn sums(a: (u32, u32), b: (u32, u32)) -> (u32, u32) {
    (a.0 + b.0, a.1 + b.1)
}

fn main() {}
