#![allow(unused)]

use warpfold::function;

#[function]
fn nothing(x: f32) -> () {
    ()
}

fn main() {}
