//! Forms that are easily taken for others that are not translated.

use warpfold::{Function, Scalar, codegen::Definitions, function};

mod inner {
    pub(crate) const DEPTH: usize = 2;

    #[warpfold::function]
    pub(crate) fn half(x: f32) -> f32 {
        x / 2.0
    }
}

#[function]
fn by_path(x: f32) -> f32 {
    inner::half(x) + crate::forms::inner::half(x) + self::inner::half(x)
}

#[function]
fn patterns((a, b): (u8, f32), mut c: [u8; inner::DEPTH]) -> f32 {
    let (x, _) = (a, 2);
    c[0] += x;
    (c[0] as f32) + b
}

#[function]
fn generic<T: Scalar, const N: usize>(values: [T; N]) -> T {
    let mut sum = T::ZERO;
    for i in 0..N {
        sum = sum + values[i];
    }
    sum
}

#[function]
fn calls_generic(x: f32) -> f32 {
    generic::<f32, 2>([x, x]) + generic([x; 3])
}

#[function]
fn local_constant(x: u8) -> u8 {
    const OFFSET: u8 = b'0';
    x - OFFSET
}

#[function]
fn jumps(x: i32) -> i32 {
    for i in 0..x {
        match i {
            3 => break,
            4 => continue,
            5 => return 7,
            _ => {}
        }
    }
    let y = if x > 2 { 1 } else { return 3 };
    y
}

fn cuda<F: Function>() {
    let mut definitions = Definitions::default();
    F::cuda(&mut definitions);
    assert!(definitions.text().is_ok());
}

#[test]
fn forms() {
    cuda::<by_path>();
    cuda::<patterns>();
    cuda::<calls_generic>();
    cuda::<generic<u64, 5>>();
    cuda::<local_constant>();
    cuda::<jumps>();
}
