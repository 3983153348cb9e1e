#![allow(unused)]

use warpfold::{Monoid, monoid};

struct Sum;

#[monoid(exact)]
impl Monoid<u32> for Sum {
    fn identity() -> u32 {
        0
    }

    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
}

fn main() {}
