#![allow(unused)]

use warpfold::function;

#[function]
async fn same(x: f32) -> f32 {
    x
}

fn main() {}
