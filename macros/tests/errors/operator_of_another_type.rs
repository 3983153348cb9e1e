#![allow(unused)]

use warpfold::{ops::BitXor, reduce};

fn main() {
    reduce::<f32, BitXor>(&[3.0, 1.0]);
}
