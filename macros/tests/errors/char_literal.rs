#![allow(unused)]

use warpfold::function;

#[function]
fn is_digit(x: u8) -> bool {
    x >= '0' as u8
}

fn main() {}
