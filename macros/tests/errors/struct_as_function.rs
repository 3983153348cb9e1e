#![allow(unused)]

use warpfold::{collect, map};

struct Square;

fn main() {
    collect(map::<Square, _>(&[1.0_f32, 2.0]));
}
