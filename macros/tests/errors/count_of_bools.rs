#![allow(unused)]

use warpfold::count;

fn main() {
    let flags = vec![true, false, true];
    count(&flags);
    count(&flags[1..]);
}
