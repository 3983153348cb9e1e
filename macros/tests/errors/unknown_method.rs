#![allow(unused)]

use warpfold::function;

#[function]
fn checked(x: u32) -> u32 {
    x.next_power_of_two()
}

fn main() {}
