#![allow(unused)]

use warpfold::function;

#[function]
fn count(n: u32) -> u32 {
    'a: {
        if n > 3 {
            break 'a 1;
        }
        2
    }
}

fn main() {}
