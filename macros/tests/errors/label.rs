#![allow(unused)]

use warpfold::function;

#[function]
fn count(n: u32) -> u32 {
    let mut found = 0;
    'outer: for i in 0..n {
        for j in 0..i {
            if i * j == n {
                found = i;
                break 'outer;
            }
        }
    }
    found
}

fn main() {}
