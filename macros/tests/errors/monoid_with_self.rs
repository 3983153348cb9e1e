#![allow(unused)]

use warpfold::monoid;

struct Sum;

impl Sum {
    #[monoid(identity = 0)]
    fn sum(&self, a: u32) -> u32 {
        a
    }
}

fn main() {}
