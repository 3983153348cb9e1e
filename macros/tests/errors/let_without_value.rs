#![allow(unused)]

use warpfold::function;

#[function]
fn absolute(x: i32) -> i32 {
    let y;
    if x < 0 {
        y = -x;
    } else {
        y = x;
    }
    y
}

fn main() {}
