#![allow(unused)]

use warpfold::function;

#[function]
fn is_digit(x: char) -> bool {
    x >= '0'
}

fn main() {}
