#![allow(unused)]

use warpfold::monoid;

#[allow(non_snake_case)]
#[monoid(identity = 0)]
fn Sum(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

fn main() {}
