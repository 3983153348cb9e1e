#![allow(unused)]

use warpfold::function;

#[function(exact)]
fn same(x: f32) -> f32 {
    x
}

fn main() {}
