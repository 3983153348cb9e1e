#![allow(unused)]

use warpfold::function;

#[function]
fn sign(x: i32) -> i32 {
    match x {
        n if { let m = n + 1; m > 0 } => 1,
        _ => 0,
    }
}

fn main() {}
