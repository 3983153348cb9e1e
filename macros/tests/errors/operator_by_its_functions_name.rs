#![allow(unused)]

use warpfold::{monoid, reduce};

#[monoid(identity = 0)]
fn gcd(a: u32, b: u32) -> u32 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn main() {
    reduce::<u32, gcd>(&[12, 18]);
}
