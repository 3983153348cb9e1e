#![allow(unused)]

use warpfold::function;

static LIMIT: [std::sync::atomic::AtomicU32; 1] = [std::sync::atomic::AtomicU32::new(3)];

#[function]
fn limited(x: u32) -> u32 {
    x.min(LIMIT[0].load(std::sync::atomic::Ordering::Relaxed))
}

fn main() {}
