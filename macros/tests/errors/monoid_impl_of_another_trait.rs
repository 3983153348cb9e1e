#![allow(unused)]

use warpfold::monoid;

struct Sum;

#[monoid]
impl Default for Sum {
    fn default() -> Sum {
        Sum
    }
}

fn main() {}
