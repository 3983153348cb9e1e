#![allow(unused)]

use warpfold::function;

#[function]
fn same<'a>(x: &'a f32) -> f32 {
    *x
}

fn main() {}
