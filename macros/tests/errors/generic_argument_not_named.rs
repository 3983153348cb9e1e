use warpfold::function;

#[function]
fn zero<T: warpfold::Scalar>(n: u32) -> u32 {
    n
}

#[function]
fn calls(n: u32) -> u32 {
    zero(n)
}

fn main() {}
