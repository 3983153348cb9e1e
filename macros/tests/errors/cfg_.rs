#![allow(unused)]

use warpfold::function;

#[function]
fn checked(x: u32, y: u32) -> u32 {
    #[cfg(debug_assertions)]
    let x = y;
    x
}

fn main() {}
