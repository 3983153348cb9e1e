//! Cube root and hypotenuse. (`sqrt` is an instruction, rounded correctly on both sides.)

use super::parts::{
    fast_two_sum, is_near_middle, rounded_once, rounded_to_odd, two_product, two_sum,
};
use super::tables::is_sure;
use crate::function;

/// A better y, if y is about 1 / ∛a: the series of (1 − e)^(−1/3), whose error is some e⁴ / 7.
#[function]
fn reciprocal_root(a: f64, y: f64) -> f64 {
    const C1: f64 = 1.0 / 3.0;
    const C2: f64 = 2.0 / 9.0;
    const C3: f64 = 14.0 / 81.0;
    let e = (-(a * y) * y).mul_add(y, 1.0);
    (y * e).mul_add(C3.mul_add(e, C2).mul_add(e, C1), y)
}

/// 1 / ∛a for normal a > 0, to some roundings.
#[function]
fn reciprocal_cbrt(a: f64) -> f64 {
    // Bits are nearly logarithms: −1/3 of them, and a constant, are those of 1 / ∛a, to 5%.
    let third = (a.to_bits() >> 32) as u32 / 3;
    let y = f64::from_bits((1_430_177_964_u32.wrapping_sub(third) as u64) << 32);
    reciprocal_root(a, reciprocal_root(a, y))
}

/// ∛|x| as a sum of two. Not of 0 and infinities.
#[function]
fn cbrt_parts(x: f64) -> (f64, f64) {
    const UP: f64 = f64::from_bits((1023 + 540) << 52);
    const DOWN: f64 = f64::from_bits((1023 - 180) << 52);
    const THIRD: f64 = 1.0 / 3.0;
    let is_small = x.abs() < 1e-200;
    let a = if is_small { x.abs() * UP } else { x.abs() };
    let y = reciprocal_cbrt(a);
    let root = a * y * y;
    // One step of Newton's, with a − root³ nearly exact.
    let (square, square_low) = two_product(root, root);
    let rest = (-square).mul_add(root, a) - square_low * root;
    let low = rest * THIRD * (y * y);
    if is_small {
        (root * DOWN, low * DOWN)
    } else {
        (root, low)
    }
}

#[function]
pub(super) fn cbrt_f64(x: f64) -> f64 {
    let (root, low) = cbrt_parts(x);
    let is_usual = x != 0.0 && x.is_finite();
    if is_usual {
        (root + low).copysign(x)
    } else {
        x
    }
}

/// A fast path as those in `exponential`.
#[function]
pub(super) fn cbrt_f32(x: f32) -> f32 {
    let a = x.abs() as f64;
    let y = reciprocal_cbrt(a);
    let root = a * y * y;
    let is_usual = a > 0.0 && a < f64::INFINITY;
    if is_sure(is_usual && !is_near_middle(root)) {
        (root as f32).copysign(x)
    } else {
        any_cbrt_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_cbrt_f32(x: f32) -> f32 {
    let (root, low) = cbrt_parts(x as f64);
    let is_usual = x != 0.0 && x.is_finite();
    if is_usual {
        rounded_once(root, low).copysign(x)
    } else {
        x
    }
}

#[function]
pub(super) fn hypot_f64(x: f64, y: f64) -> f64 {
    const UP: f64 = f64::from_bits((1023 + 600) << 52);
    const DOWN: f64 = f64::from_bits((1023 - 600) << 52);
    let is_less = x.abs() < y.abs();
    let a = if is_less { y.abs() } else { x.abs() };
    let b = if is_less { x.abs() } else { y.abs() };
    // Neither squares nor what they lose may leave the range.
    let (before, after) = if a > 1e150 {
        (DOWN, UP)
    } else if a < 1e-130 {
        (UP, DOWN)
    } else {
        (1.0, 1.0)
    };
    let (a_square, a_low) = two_product(a * before, a * before);
    let (b_square, b_low) = two_product(b * before, b * before);
    let (sum, sum_low) = fast_two_sum(a_square, b_square);
    let root = sum.sqrt();
    let rest = (-root).mul_add(root, sum) + (sum_low + (a_low + b_low));
    let root = if sum > 0.0 {
        root + rest / (2.0 * root)
    } else {
        root
    };
    if x.is_infinite() || y.is_infinite() {
        f64::INFINITY
    } else if x.is_nan() || y.is_nan() {
        x + y
    } else {
        root * after
    }
}

/// A fast path as those in `exponential`, where the result is normal.
#[function]
pub(super) fn hypot_f32(x: f32, y: f32) -> f32 {
    let (a, b) = (x as f64, y as f64);
    // The squares are exact.
    let root = (a * a + b * b).sqrt();
    let is_usual = root >= f32::MIN_POSITIVE as f64 && root < f64::INFINITY;
    if is_sure(is_usual && !is_near_middle(root)) {
        root as f32
    } else {
        any_hypot_f32(x, y)
    }
}

/// For any x and y, in more steps.
#[inline(never)]
#[function]
fn any_hypot_f32(x: f32, y: f32) -> f32 {
    let (a, b) = (x as f64, y as f64);
    // The squares are exact. So is the sign of what the root lacks.
    let (sum, sum_low) = two_sum(a * a, b * b);
    let root = sum.sqrt();
    let rest = (-root).mul_add(root, sum) + sum_low;
    if x.is_infinite() || y.is_infinite() {
        f32::INFINITY
    } else if x.is_nan() || y.is_nan() {
        x + y
    } else {
        rounded_to_odd(root, rest) as f32
    }
}
