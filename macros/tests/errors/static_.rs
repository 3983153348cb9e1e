#![allow(unused)]

use warpfold::function;

static LIMIT: u32 = 3;

#[function]
fn limited(x: u32) -> u32 {
    static OTHER: u32 = 4;
    x.min(LIMIT)
}

fn main() {}
