#![allow(unused)]

use warpfold::monoid;

#[monoid(identity = 0, associative)]
fn sum(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

fn main() {}
