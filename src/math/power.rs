//! Powers.

use super::exponential::{LN_2_HIGH, LN_2_LOW, exp_m1_rest, near_exp, without_powers};
use super::logarithm::{float_of, ln_of_parts, split, split_any};
use super::parts::{divide, fast_two_sum, is_near_middle, polynomials, scaled, two_product};
use super::tables::is_sure;
use crate::function;

polynomials! {
    /// (2 artanh s − 2 s − 2/3 s³) / s⁵ with z = s², to 2⁻⁶⁵ of artanh s.
    fn artanh_far_tail(z) = [
        0.11989091197154325, 0.11674809317165133, 0.13336317863694044, 0.15384556859605927,
        0.18181818870480418, 0.22222222217535106, 0.2857142857144512, 0.3999999999999998,
    ];
}

/// ln x as a sum of two, to 2⁻⁶⁵, for x > 0. `logarithm` explains the formula.
#[function]
fn ln_parts(x: f64) -> (f64, f64) {
    const TWO_THIRDS: f64 = 2.0 / 3.0;
    const TWO_THIRDS_REST: f64 = 3.700743415417188e-17;
    let (f, n) = split_any(x);
    let n = float_of(n);
    let (below, below_low) = fast_two_sum(2.0, f);
    let (s, s_low) = divide(f, 0.0, below, below_low);
    let (s, s_low) = fast_two_sum(s, s_low);
    // s², s³ and 2/3 s³ as sums of two.
    let (z, z_low) = two_product(s, s);
    let z_low = (2.0 * s).mul_add(s_low, z_low);
    let (cube, cube_low) = two_product(s, z);
    let cube_low = s.mul_add(z_low, s_low.mul_add(z, cube_low));
    let (third, third_low) = two_product(cube, TWO_THIRDS);
    let third_low = cube.mul_add(TWO_THIRDS_REST, cube_low.mul_add(TWO_THIRDS, third_low));
    let (third, tail_low) = fast_two_sum(third, artanh_far_tail(z) * (cube * z));
    // From the largest to the smallest.
    let (high, low) = fast_two_sum(n * LN_2_HIGH, 2.0 * s);
    let (high, third_rest) = fast_two_sum(high, third);
    let rest = third_rest + (third_low + tail_low + 2.0 * s_low);
    fast_two_sum(high, n.mul_add(LN_2_LOW, low) + rest)
}

/// |x|^y for finite x ≠ 0 and finite y.
#[function]
fn magnitude(x: f64, y: f64) -> f64 {
    let (ln, ln_low) = ln_parts(x.abs());
    let (product, product_low) = two_product(y, ln);
    // Beyond these limits the result is 0 or infinite.
    let within = product.clamp(-1000.0, 1000.0);
    let low = if within == product {
        y.mul_add(ln_low, product_low)
    } else {
        0.0
    };
    let (r, rest, n) = without_powers(within);
    let (r, rest) = fast_two_sum(r, rest + low);
    let (y, y_low) = fast_two_sum(1.0, r);
    scaled(y + (y_low + exp_m1_rest(r, rest)), n)
}

#[function]
pub(super) fn powf_f64(x: f64, y: f64) -> f64 {
    let a = x.abs();
    let is_whole = y.trunc() == y;
    // The greatest floats are even.
    let is_odd = is_whole && (0.5 * y).trunc() != 0.5 * y;
    let is_extreme = a == 0.0 || a == f64::INFINITY || y.abs() == f64::INFINITY;
    let extreme = if (a > 1.0) == (y > 0.0) {
        f64::INFINITY
    } else {
        0.0
    };
    let power = if is_extreme { extreme } else { magnitude(x, y) };
    if y == 0.0 || x == 1.0 {
        1.0
    } else if x.is_nan() || y.is_nan() {
        x + y
    } else if a == 1.0 && y.abs() == f64::INFINITY {
        1.0
    } else if x < 0.0 && a < f64::INFINITY && !is_whole {
        f64::NAN
    } else if x.is_sign_negative() && is_odd {
        -power
    } else {
        power
    }
}

/// A fast path as those in `exponential`: for x > 0 where the result is normal.
#[function]
pub(super) fn powf_f32(x: f32, y: f32) -> f32 {
    let (f, n) = split(x as f64);
    let (high, low) = ln_of_parts(f, n, 0.0);
    // To 2⁻⁴⁵, where it is within the limits below.
    let exponent = y as f64 * (high + low);
    let power = near_exp(exponent);
    // Of f32 the normal powers of e go from -87.3 to 88.7.
    let is_usual = x > 0.0 && x < f32::INFINITY && exponent > -87.0 && exponent < 89.0;
    if is_sure(is_usual && !is_near_middle(power)) {
        power as f32
    } else {
        any_powf_f32(x, y)
    }
}

/// For any x and y, in more steps.
#[inline(never)]
#[function]
fn any_powf_f32(x: f32, y: f32) -> f32 {
    powf_f64(x as f64, y as f64) as f32
}

/// A number with what it lacks, or with nothing where that would not be finite: the rest of an
/// infinity is NaN.
#[function]
fn with_rest(high: f64, low: f64) -> (f64, f64) {
    let (sum, rest) = fast_two_sum(high, low);
    if rest.is_finite() {
        (sum, rest)
    } else {
        (high, 0.0)
    }
}

/// a · b, of sums of two.
#[function]
fn product(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let (high, low) = two_product(a.0, b.0);
    with_rest(high, a.0.mul_add(b.1, a.1.mul_add(b.0, low)))
}

/// By squaring, with sums of two.
#[function]
pub(super) fn powi_f64(x: f64, n: i32) -> f64 {
    let a = x.abs();
    let inverse = 1.0 / a;
    let inverse = with_rest(inverse, (-inverse).mul_add(a, 1.0) * inverse);
    let mut base = if n < 0 { inverse } else { (a, 0.0) };
    let mut power = (1.0, 0.0);
    let mut rest = n.unsigned_abs();
    while rest != 0 {
        if rest & 1 == 1 {
            power = product(power, base);
        }
        base = product(base, base);
        rest >>= 1;
    }
    let magnitude = power.0 + power.1;
    if n & 1 == 1 {
        magnitude.copysign(x)
    } else {
        magnitude
    }
}

#[function]
pub(super) fn powi_f32(x: f32, n: i32) -> f32 {
    powi_f64(x as f64, n) as f32
}
