#![allow(unused)]

use warpfold::{ops::Add, reduce};

fn main() {
    reduce::<f32, Add>(vec![1.0_f32, 2.0]);
}
