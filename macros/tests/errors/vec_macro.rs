#![allow(unused)]

use warpfold::function;

#[function]
fn second(x: u32) -> u32 {
    let values = vec![x, x + 1];
    values[1]
}

fn main() {}
