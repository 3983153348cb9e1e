#![allow(unused)]

use warpfold::function;

#[function]
fn is_digit(x: u8) -> bool {
    matches!(x, b'0'..=b'9')
}

fn main() {}
