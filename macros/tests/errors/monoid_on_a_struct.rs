#![allow(unused)]

use warpfold::monoid;

#[monoid(identity = 0)]
struct Sum;

fn main() {}
