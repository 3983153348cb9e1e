#![allow(unused)]

use warpfold::{Element, function};

#[derive(Clone, Copy, Debug, Element)]
#[repr(C)]
struct Meters {
    count: u32,
}

impl From<Meters> for u32 {
    fn from(meters: Meters) -> u32 {
        meters.count
    }
}

#[function]
fn count(meters: Meters) -> u32 {
    u32::from(meters)
}

fn main() {}
