#![allow(unused)]

use warpfold::monoid;

#[monoid(identity = true)]
fn both(a: bool, b: bool) -> bool {
    a && b
}

fn main() {}
