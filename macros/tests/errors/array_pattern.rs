#![allow(unused)]

use warpfold::function;

#[function]
fn first(x: [u32; 3]) -> u32 {
    let [a, _, _] = x;
    a
}

fn main() {}
