#![allow(unused)]

use warpfold::monoid;

#[monoid]
fn smaller(a: u32, b: u32) -> u32 {
    a.min(b)
}

fn main() {}
