#![allow(unused)]

use warpfold::function;

#[function]
fn sum(a: u32, b: u32) -> u32 {
    a.checked_add(b).unwrap_or(u32::MAX)
}

fn main() {}
