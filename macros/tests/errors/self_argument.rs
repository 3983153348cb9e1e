#![allow(unused)]

use warpfold::function;

struct Scale(f32);

impl Scale {
    #[function]
    fn scaled(self, x: f32) -> f32 {
        self.0 * x
    }
}

fn main() {}
