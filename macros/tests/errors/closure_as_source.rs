#![allow(unused)]

use warpfold::{ops::Add, reduce};

fn main() {
    let x = [1.0_f32, 2.0];
    reduce::<f32, Add>(|i: usize| x[i] * 2.0);
}
