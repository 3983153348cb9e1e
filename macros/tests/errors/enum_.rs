#![allow(unused)]

use warpfold::function;

#[derive(Clone, Copy)]
enum Sign {
    Plus,
    Minus,
}

#[function]
fn sign(x: i32) -> bool {
    let sign = if x < 0 { Sign::Minus } else { Sign::Plus };
    match sign {
        Sign::Plus => true,
        Sign::Minus => false,
    }
}

fn main() {}
