#![allow(unused, non_upper_case_globals)]

use warpfold::function;

const fast: u8 = 1;

#[function]
fn cost(speed: u8, other: u8) -> u32 {
    match (speed, other) {
        (fast, 0) => 10,
        _ => 40,
    }
}

fn main() {}
