#![allow(unused)]

use warpfold::{ops::Add, reduce};

fn main() {
    let sizes: Vec<usize> = vec![3, 1, 4];
    reduce::<usize, Add>(&sizes);
}
