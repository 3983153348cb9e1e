#![allow(unused)]

use warpfold::function;

#[function]
fn wide(a: u64, b: u64) -> u64 {
    ((a as u128 * b as u128) >> 64) as u64
}

fn main() {}
