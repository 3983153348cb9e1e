#![allow(unused)]

use warpfold::function;

#[function]
fn sum(a: half::f16, b: half::f16) -> half::f16 {
    a + b
}

fn main() {}
