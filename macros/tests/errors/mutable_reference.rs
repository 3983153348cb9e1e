#![allow(unused)]

use warpfold::function;

#[function]
fn bump(x: u32) -> u32 {
    let mut n = x;
    let m = &mut n;
    *m += 1;
    n
}

fn main() {}
