#![allow(unused)]

use warpfold::function;

#[function]
fn sign(x: i32) -> i32 {
    match x {
        _ => 1,
        0 => 0,
    }
}

fn main() {}
