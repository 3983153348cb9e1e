#![allow(unused)]

use warpfold::{ops::Add, reduce};

fn main() {
    let x = vec![1.0_f32, 2.0];
    reduce::<f32, Add>(x.iter().map(|x| x * 2.0));
}
