#![allow(unused)]

use warpfold::monoid;

#[monoid(identity = 0)]
fn sum(a: u32, b: u32) -> u64 {
    a as u64 + b as u64
}

fn main() {}
