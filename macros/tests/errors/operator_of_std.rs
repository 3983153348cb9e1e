#![allow(unused)]

use warpfold::reduce;

fn main() {
    reduce::<i32, i32::max>(&[3, 1, 4]);
    reduce::<i32, std::ops::Add>(&[3, 1, 4]);
}
