#![allow(unused)]

use warpfold::function;

#[function]
fn sum<T>(a: T, b: T) -> T {
    a + b
}

fn main() {}
