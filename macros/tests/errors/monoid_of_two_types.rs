#![allow(unused)]

use warpfold::monoid;

#[monoid(identity = 0)]
fn sum(a: u32, b: u16) -> u32 {
    a + b as u32
}

fn main() {}
