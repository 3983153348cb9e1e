#![allow(unused)]

use warpfold::{ops::Add, reduce};

fn main() {
    let words = vec![String::from("a"), String::from("b")];
    reduce::<String, Add>(&words);
}
