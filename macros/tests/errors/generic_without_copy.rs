#![allow(unused)]

use warpfold::function;

#[function]
fn same<T>(a: T) -> T {
    a
}

fn main() {}
