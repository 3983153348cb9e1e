#![allow(unused)]

use warpfold::{Monoid, monoid};

struct Sum;

#[monoid]
impl Monoid<u32> for Sum {
    fn identity() -> u32 {
        0
    }
}

fn main() {}
