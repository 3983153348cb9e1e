#![allow(unused)]

use warpfold::function;

#[function]
fn both(a: bool, b: bool) -> bool {
    a.min(b)
}

fn main() {}
