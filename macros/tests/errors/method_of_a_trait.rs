#![allow(unused)]

use warpfold::function;

trait Magnitude {
    fn abs(self) -> u32;
}

impl Magnitude for u32 {
    fn abs(self) -> u32 {
        self % 10
    }
}

#[function]
fn magnitude(x: u32) -> u32 {
    x.abs()
}

fn main() {}
