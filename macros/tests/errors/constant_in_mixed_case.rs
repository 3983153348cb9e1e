#![allow(unused, non_upper_case_globals)]

use warpfold::function;

const Fast: u8 = 1;

#[function]
fn cost(speed: u8) -> u32 {
    match speed {
        Fast => 10,
        _ => 40,
    }
}

fn main() {}
