#![allow(unused)]

use warpfold::monoid;

#[monoid(identity = 0)]
fn sum(a: usize, b: usize) -> usize {
    a.wrapping_add(b)
}

fn main() {}
