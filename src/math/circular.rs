//! Sine, cosine and tangent: of x − n π/2, by polynomials, and then by n.

use super::parts::{
    SHIFT, divide, fast_two_sum, integer_of, is_near_middle, polynomials, rounded_once, two_product,
};
use super::reduction::without_quarters;
use super::tables::{
    cos_near_tail, is_sure, minus_pi_2_first, minus_pi_2_second, sin_near_tail, two_over_pi,
};
use crate::function;

polynomials! {
    /// (sin r − r) / r³ with z = r², to 2⁻⁵⁷ of sin r.
    fn sin_tail(z) = [
        1.5896793139588318e-10, -2.5050758080089254e-08, 2.755731369175114e-06,
        -0.00019841269829807472, 0.008333333333322413, -0.16666666666666632,
    ];
    /// (cos r − 1 + r²/2) / r⁴ with z = r², to 2⁻⁵⁹ of cos r.
    fn cos_tail(z) = [
        -1.1358517684734785e-11, 2.0875700498707787e-09, -2.7557314176951936e-07,
        2.480158728884437e-05, -0.0013888888888873047, 0.041666666666666595,
    ];
}

/// sin(r + low) as a sum of two, for |r| ≤ π/4.
#[function]
fn sin_parts(r: f64, low: f64) -> (f64, f64) {
    let z = r * r;
    let rest = sin_tail(z).mul_add(z * r, (-0.5 * z).mul_add(low, low));
    (r, rest)
}

/// cos(r + low) as a sum of two, for |r| ≤ π/4.
#[function]
fn cos_parts(r: f64, low: f64) -> (f64, f64) {
    let (z, z_low) = two_product(r, r);
    let (high, high_low) = fast_two_sum(1.0, -0.5 * z);
    let rest = cos_tail(z).mul_add(z * z, high_low - r.mul_add(low, 0.5 * z_low));
    (high, rest)
}

/// sin(n π/2 + r + low), as a sum of two.
#[function]
fn sin_of_parts(r: f64, low: f64, n: i32) -> (f64, f64) {
    let (sin, sin_rest) = sin_parts(r, low);
    let (cos, cos_rest) = cos_parts(r, low);
    // Both are computed, since a warp would need both anyway.
    let (y, rest) = if n & 1 == 0 {
        (sin, sin_rest)
    } else {
        (cos, cos_rest)
    };
    if n & 2 == 0 { (y, rest) } else { (-y, -rest) }
}

/// tan(n π/2 + r + low), as a sum of two.
#[function]
fn tan_of_parts(r: f64, low: f64, n: i32) -> (f64, f64) {
    let (sin, sin_rest) = sin_parts(r, low);
    let (cos, cos_rest) = cos_parts(r, low);
    let (sin, sin_rest) = fast_two_sum(sin, sin_rest);
    let (cos, cos_rest) = fast_two_sum(cos, cos_rest);
    let is_even = n & 1 == 0;
    let (a, a_low) = if is_even {
        (sin, sin_rest)
    } else {
        (-cos, -cos_rest)
    };
    let (b, b_low) = if is_even {
        (cos, cos_rest)
    } else {
        (sin, sin_rest)
    };
    divide(a, a_low, b, b_low)
}

#[function]
pub(super) fn sin_f64(x: f64) -> f64 {
    let (r, low, n) = without_quarters(x);
    let (y, rest) = sin_of_parts(r, low, n);
    if x.abs() < 1e-20 { x } else { y + rest }
}

// The fast paths for f32, as those in `exponential`.

/// Up to here two parts of π/2 give x − n π/2 to 2⁻⁴² of it.
const NEAR_F32: f32 = 65536.0;

/// sin(x − n π/2) and cos(x − n π/2), to 2⁻⁴² of them, and n, for |x| < 65536.
#[function]
fn near_sin_cos(x: f64) -> (f64, f64, i32) {
    let shifted = x.mul_add(two_over_pi(), SHIFT);
    let n = shifted - SHIFT;
    let r = n.mul_add(minus_pi_2_second(), n.mul_add(minus_pi_2_first(), x));
    let z = r * r;
    let sin = sin_near_tail(z).mul_add(z * r, r);
    let cos = cos_near_tail(z).mul_add(z, -0.5).mul_add(z, 1.0);
    (sin, cos, integer_of(shifted))
}

/// sin(x + quarters π/2), to 2⁻⁴² of it, for |x| < 65536.
#[function]
fn near_sin(x: f64, quarters: i32) -> f64 {
    let (sin, cos, n) = near_sin_cos(x);
    let n = n.wrapping_add(quarters);
    let y = if n & 1 == 0 { sin } else { cos };
    if n & 2 == 0 { y } else { -y }
}

#[function]
pub(super) fn sin_f32(x: f32) -> f32 {
    let y = near_sin(x as f64, 0);
    if is_sure(x.abs() < NEAR_F32 && !is_near_middle(y)) {
        // The sign of zero.
        if x == 0.0 { x } else { y as f32 }
    } else {
        any_sin_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_sin_f32(x: f32) -> f32 {
    let (r, low, n) = without_quarters(x as f64);
    let (y, rest) = sin_of_parts(r, low, n);
    if x.abs() < 1e-20 {
        x
    } else {
        rounded_once(y, rest)
    }
}

#[function]
pub(super) fn cos_f64(x: f64) -> f64 {
    let (r, low, n) = without_quarters(x);
    let (y, rest) = sin_of_parts(r, low, n.wrapping_add(1));
    y + rest
}

#[function]
pub(super) fn cos_f32(x: f32) -> f32 {
    let y = near_sin(x as f64, 1);
    if is_sure(x.abs() < NEAR_F32 && !is_near_middle(y)) {
        y as f32
    } else {
        any_cos_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_cos_f32(x: f32) -> f32 {
    let (r, low, n) = without_quarters(x as f64);
    let (y, rest) = sin_of_parts(r, low, n.wrapping_add(1));
    rounded_once(y, rest)
}

#[function]
pub(super) fn tan_f64(x: f64) -> f64 {
    let (r, low, n) = without_quarters(x);
    let (y, rest) = tan_of_parts(r, low, n);
    if x.abs() < 1e-20 { x } else { y + rest }
}

#[function]
pub(super) fn tan_f32(x: f32) -> f32 {
    let (sin, cos, n) = near_sin_cos(x as f64);
    let is_even = n & 1 == 0;
    let y = (if is_even { sin } else { -cos }) / (if is_even { cos } else { sin });
    if is_sure(x.abs() < NEAR_F32 && !is_near_middle(y)) {
        // The sign of zero.
        if x == 0.0 { x } else { y as f32 }
    } else {
        any_tan_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_tan_f32(x: f32) -> f32 {
    let (r, low, n) = without_quarters(x as f64);
    let (y, rest) = tan_of_parts(r, low, n);
    if x.abs() < 1e-20 {
        x
    } else {
        rounded_once(y, rest)
    }
}
