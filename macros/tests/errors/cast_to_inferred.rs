#![allow(unused)]

use warpfold::function;

#[function]
fn wide(x: u8) -> u32 {
    x as _
}

fn main() {}
