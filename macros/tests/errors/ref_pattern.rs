#![allow(unused)]

use warpfold::function;

#[function]
fn first(x: (u32, u32)) -> u32 {
    let (ref a, _) = x;
    *a
}

fn main() {}
