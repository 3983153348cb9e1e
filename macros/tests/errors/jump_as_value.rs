#![allow(unused)]

use warpfold::function;

#[function]
fn sign(x: i32) -> i32 {
    let y: i32 = return 5;
    y
}

fn main() {}
