#![allow(unused)]

use warpfold::monoid;

#[monoid(identity = 0, exact, exact = false)]
fn sum(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

fn main() {}
