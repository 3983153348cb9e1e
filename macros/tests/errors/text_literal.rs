#![allow(unused)]

use warpfold::function;

#[function]
fn length(x: usize) -> usize {
    "abc".len() + x
}

fn main() {}
