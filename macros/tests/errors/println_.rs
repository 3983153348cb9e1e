#![allow(unused)]

use warpfold::function;

#[function]
fn shown(x: u32) -> u32 {
    println!("{x}");
    x
}

fn main() {}
