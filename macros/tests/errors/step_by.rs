#![allow(unused)]

use warpfold::function;

#[function]
fn sum(n: u32) -> u32 {
    let mut sum = 0;
    for i in (0..n).step_by(2) {
        sum += i;
    }
    sum
}

fn main() {}
