#![allow(unused)]

use warpfold::function;

#[function]
fn root(x: u32) -> u32 {
    let mut root = 0;
    for i in 0.. {
        if i * i > x {
            break;
        }
        root = i;
    }
    root
}

fn main() {}
