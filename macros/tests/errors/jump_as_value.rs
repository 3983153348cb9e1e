use warpfold::function;

#[function]
fn sign(x: i32) -> i32 {
    1 + (if x > 0 { return 3 } else { 4 }) + (return 5)
}

fn main() {}
