#![allow(unused)]

use warpfold::function;

#[function]
fn name(x: u32) -> String {
    String::new()
}

fn main() {}
