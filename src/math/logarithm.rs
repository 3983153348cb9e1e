//! Logarithms.
//!
//! x = 2ⁿ (1 + f) with √½ ≤ 1 + f < √2, so log x = n log 2 + log(1 + f). With s = f / (2 + f) it is
//! ln(1 + f) = 2 artanh s = 2 s + s z P(z), z = s², and P is a polynomial. Written as
//! f − f²/2 + s (f²/2 + z P(z)), the rounding of the quotient does not count.

use super::exponential::{LN_2_HIGH, LN_2_LOW};
use super::parts::{
    SHIFT, fast_two_sum, is_very_near_middle, polynomials, power_of_two, rounded_once, two_product,
    two_sum,
};
use super::tables::{
    LEAST, is_sure, ln_2, ln_near_fifth, ln_near_fourth, ln_near_third, log2_e, log10_e,
    reciprocal_and_log,
};
use crate::function;
use std::f64::consts::{LOG2_E, LOG10_E};

/// What `LOG2_E` and `LOG10_E` lack.
const LOG2_E_REST: f64 = 2.0355273740931033e-17;
const LOG10_E_REST: f64 = 1.098319650216765e-17;
/// The first 40 bits of log₁₀ 2, so that a product with n is exact, and the next 53.
const LOG10_2_HIGH: f64 = 0.3010299956640665;
const LOG10_2_LOW: f64 = -8.532344317057107e-14;

polynomials! {
    /// (2 artanh s − 2 s) / s³ with z = s², to 2⁻⁵⁷ of artanh s.
    fn artanh_tail(z) = [
        0.14796256364688556, 0.15314021558280907, 0.18183565389774528, 0.22222198554152434,
        0.2857142874255856, 0.3999999999941397, 0.6666666666666734,
    ];
    /// 1 / (2 + f), to 0.0013 of it.
    fn reciprocal_near(f) = [0.11686347451253389, -0.25499376411710656, 0.5003193214225715];
}

/// x = 2ⁿ (1 + f), for normal x.
#[function]
pub(super) fn split(x: f64) -> (f64, i32) {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let n = (x.to_bits().wrapping_sub(SQRT_HALF) as i64 >> 52) as i32;
    let m = f64::from_bits(x.to_bits().wrapping_sub((n as u64) << 52));
    (m - 1.0, n)
}

/// x = 2ⁿ (1 + f), for normal and subnormal x.
#[function]
pub(super) fn split_any(x: f64) -> (f64, i32) {
    const TWO_54: f64 = 18_014_398_509_481_984.0;
    let is_subnormal = x < f64::MIN_POSITIVE;
    let (f, n) = split(if is_subnormal { x * TWO_54 } else { x });
    (f, if is_subnormal { n - 54 } else { n })
}

/// The number n, in fewer instructions of a GPU than a conversion.
#[function]
pub(super) fn float_of(n: i32) -> f64 {
    f64::from_bits(SHIFT.to_bits().wrapping_add(n as i64 as u64)) - SHIFT
}

/// 1 / (2 + f), to 2⁻⁵². A division would have to think of the whole range of floats.
#[function]
fn reciprocal(f: f64) -> f64 {
    let below = 2.0 + f;
    let y = reciprocal_near(f);
    let error = (-below).mul_add(y, 1.0);
    let y = error.mul_add(error, error).mul_add(y, y);
    (-below).mul_add(y, 1.0).mul_add(y, y)
}

/// ln(1 + f) − f.
#[function]
fn ln_rest(f: f64) -> f64 {
    let s = f * reciprocal(f);
    let z = s * s;
    let half_square = 0.5 * f * f;
    s.mul_add(artanh_tail(z).mul_add(z, half_square), -half_square)
}

/// n ln 2 + ln(1 + f) + more, as a sum of two.
#[function]
pub(super) fn ln_of_parts(f: f64, n: i32, more: f64) -> (f64, f64) {
    let n = float_of(n);
    let (high, low) = fast_two_sum(n * LN_2_HIGH, f);
    (high, n.mul_add(LN_2_LOW, low + more) + ln_rest(f))
}

/// n log 2 + ln(1 + f) log e, as a sum of two, of logarithms that are such sums.
#[function]
fn log_of_parts(f: f64, n: i32, log_2: (f64, f64), log_e: (f64, f64)) -> (f64, f64) {
    let n = float_of(n);
    let (product, low) = two_product(f, log_e.0);
    let rest = ln_rest(f).mul_add(log_e.0, f.mul_add(log_e.1, low));
    let (high, low) = fast_two_sum(n * log_2.0, product);
    (high, n.mul_add(log_2.1, low) + rest)
}

#[function]
fn log2_of_parts(f: f64, n: i32) -> (f64, f64) {
    log_of_parts(f, n, (1.0, 0.0), (LOG2_E, LOG2_E_REST))
}

#[function]
fn log10_of_parts(f: f64, n: i32) -> (f64, f64) {
    let log_2 = (LOG10_2_HIGH, LOG10_2_LOW);
    log_of_parts(f, n, log_2, (LOG10_E, LOG10_E_REST))
}

/// The logarithm of x, which is `high` + `low` if x is a positive number.
#[function]
fn or_special(x: f64, high: f64, low: f64) -> f64 {
    if x > 0.0 && x < f64::INFINITY {
        high + low
    } else {
        special(x)
    }
}

/// The logarithm of x as an f32: `high` + `low`, rounded once, if x is a positive number.
#[function]
fn or_special_f32(x: f64, high: f64, low: f64) -> f32 {
    if x > 0.0 && x < f64::INFINITY {
        rounded_once(high, low)
    } else {
        special(x) as f32
    }
}

/// The logarithm of what is not a positive number.
#[function]
fn special(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x < 0.0 {
        f64::NAN
    } else {
        x
    }
}

#[function]
pub(super) fn ln_f64(x: f64) -> f64 {
    let (f, n) = split_any(x);
    let (high, low) = ln_of_parts(f, n, 0.0);
    or_special(x, high, low)
}

// The fast paths for f32.

/// (ln(1 + r) − r) / r² for |r| ≤ 0.0154, to 2⁻⁵⁰ of ln(1 + r), or of 0.01 where ln(1 + r) is less.
#[function]
fn ln_near_tail(r: f64) -> f64 {
    let tail = (r * 0.1429135799407959 + -0.16671156883239746).mul_add(r, ln_near_fifth());
    let tail = tail
        .mul_add(r, ln_near_fourth())
        .mul_add(r, ln_near_third());
    tail.mul_add(r, -0.5)
}

/// n ln 2 + log + ln(1 + r).
#[function]
fn near_ln_of_parts(n: i32, log: f64, r: f64) -> f64 {
    ln_near_tail(r).mul_add(r * r, (n as f64).mul_add(ln_2(), log) + r)
}

/// ln x, to 2⁻⁴⁹ of it, for normal x > 0: x = 2ⁿ z with z near 1, and a table has 1 / c and ln c
/// for a number c near z. With z / c = 1 + r it is n ln 2 + ln c + ln(1 + r).
#[function]
fn near_ln(x: u32) -> f64 {
    let from_least = x.wrapping_sub(LEAST);
    let n = from_least as i32 >> 23;
    let z = f32::from_bits(x.wrapping_sub(from_least & 0xff80_0000)) as f64;
    let (reciprocal, log) = reciprocal_and_log(from_least >> 18);
    near_ln_of_parts(n, log, z.mul_add(reciprocal, -1.0))
}

/// Whether y, which is `near_ln` or a multiple of it, tells how the logarithm of x rounds.
#[function]
fn is_told(x: u32, y: f64) -> bool {
    let is_positive_normal = x.wrapping_sub(0x0080_0000) < 0x7f00_0000;
    is_positive_normal && !is_very_near_middle(y)
}

#[function]
pub(super) fn ln_f32(x: f32) -> f32 {
    let y = near_ln(x.to_bits());
    if is_sure(is_told(x.to_bits(), y)) {
        y as f32
    } else {
        any_ln_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_ln_f32(x: f32) -> f32 {
    // Every f32 is a normal f64.
    let (f, n) = split(x as f64);
    let (high, low) = ln_of_parts(f, n, 0.0);
    or_special_f32(x as f64, high, low)
}

#[function]
pub(super) fn log2_f64(x: f64) -> f64 {
    let (f, n) = split_any(x);
    let (high, low) = log2_of_parts(f, n);
    or_special(x, high, low)
}

#[function]
pub(super) fn log2_f32(x: f32) -> f32 {
    let y = near_ln(x.to_bits()) * log2_e();
    if is_sure(is_told(x.to_bits(), y)) {
        y as f32
    } else {
        any_log2_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_log2_f32(x: f32) -> f32 {
    let (f, n) = split(x as f64);
    let (high, low) = log2_of_parts(f, n);
    or_special_f32(x as f64, high, low)
}

#[function]
pub(super) fn log10_f64(x: f64) -> f64 {
    let (f, n) = split_any(x);
    let (high, low) = log10_of_parts(f, n);
    or_special(x, high, low)
}

#[function]
pub(super) fn log10_f32(x: f32) -> f32 {
    let y = near_ln(x.to_bits()) * log10_e();
    if is_sure(is_told(x.to_bits(), y)) {
        y as f32
    } else {
        any_log10_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_log10_f32(x: f32) -> f32 {
    let (f, n) = split(x as f64);
    let (high, low) = log10_of_parts(f, n);
    or_special_f32(x as f64, high, low)
}

/// 1 + x, and ln(1 + x) as a sum of two.
#[function]
fn ln_1p_parts(x: f64) -> (f64, f64, f64) {
    let (sum, lost) = two_sum(1.0, x);
    let (f, n) = split(sum);
    // What 1 + x has lost belongs to f. It is too little to count where n is large.
    let (f, f_low) = two_sum(f, lost * power_of_two(if n < 100 { -n } else { -100 }));
    // The derivative of ln(1 + f) is 1 / (1 + f), about 1 − f.
    let (high, low) = ln_of_parts(f, n, (-f).mul_add(f_low, f_low));
    (sum, high, low)
}

#[function]
pub(super) fn ln_1p_f64(x: f64) -> f64 {
    let (sum, high, low) = ln_1p_parts(x);
    if x.abs() < 1e-20 {
        x
    } else {
        or_special(sum, high, low)
    }
}

/// ln(1 + x) for finite x > −1, to 2⁻⁴⁹ of it: as `near_ln` for 1 + x. But r must not lose what x
/// has beyond the last digit of 1: r = (1 + x) / (2ⁿ c) − 1 = x / (2ⁿ c) + (1 / (2ⁿ c) − 1).
#[function]
fn near_ln_1p(x: f64) -> f64 {
    // An f64 has the first 20 bits after the exponent in its upper half.
    const ONE: u32 = 0x3ff0_0000;
    const LEAST_HIGH: u32 = ONE - ((0x3f80_0000 - LEAST) >> 3);
    let from_least = (((1.0 + x).to_bits() >> 32) as u32).wrapping_sub(LEAST_HIGH);
    let n = from_least as i32 >> 20;
    let power = f64::from_bits((ONE.wrapping_sub(from_least & 0xfff0_0000) as u64) << 32);
    let (reciprocal, log) = reciprocal_and_log(from_least >> 15);
    let factor = reciprocal * power;
    near_ln_of_parts(n, log, x.mul_add(factor, factor - 1.0))
}

#[function]
pub(super) fn ln_1p_f32(x: f32) -> f32 {
    let y = near_ln_1p(x as f64);
    if is_sure(x > -1.0 && x < f32::INFINITY && !is_very_near_middle(y)) {
        // Of −0, too.
        (y as f32).copysign(x)
    } else {
        any_ln_1p_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_ln_1p_f32(x: f32) -> f32 {
    let (sum, high, low) = ln_1p_parts(x as f64);
    if x.abs() < 1e-20 {
        x
    } else {
        or_special_f32(sum, high, low)
    }
}
