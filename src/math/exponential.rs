//! eˣ, 2ˣ and eˣ − 1.
//!
//! x = n ln 2 + r with a whole number n, so |r| ≤ ln 2 / 2 and eˣ = 2ⁿ eʳ. A polynomial gives eʳ.

use super::parts::{
    SHIFT, fast_two_sum, integer_of, is_near_middle, is_very_near_middle, polynomials,
    power_of_two, rounded_once, rounded_to_odd, scaled, two_product, two_sum,
};
use super::tables::{
    exp_near_cube, exp2_near_cube, exp2_near_square, is_sure, ln_2, minus_ln_2_over_32,
    power_of_32nd, within_160,
};
use crate::function;
use std::f64::consts::{LN_2, LOG2_E};

/// The first 40 bits of ln 2, so that a product with n is exact, and the next 53.
pub(super) const LN_2_HIGH: f64 = 0.6931471805601177;
pub(super) const LN_2_LOW: f64 = -1.7239444525614835e-13;
/// What `LN_2` lacks.
const LN_2_REST: f64 = 2.3190468138462996e-17;

polynomials! {
    /// (eʳ − 1 − r) / r², to 2⁻⁵⁶ of eʳ.
    fn exp_tail(r) = [
        2.4999961458918844e-08, 2.763024824816796e-07, 2.755758673988995e-06,
        2.4801493102304287e-05, 0.00019841269506110052, 0.0013888888943622687,
        0.008333333333494702, 0.04166666666653021, 0.16666666666666413, 0.5000000000000011,
    ];
    /// (2ʳ − 1 − r ln 2) / r², to 2⁻⁵⁷ of 2ʳ.
    fn exp2_tail(r) = [
        4.4362862693626146e-10, 7.07357911879336e-09, 1.0178184782153914e-07,
        1.3215436612095749e-06, 1.5252733546534298e-05, 0.0001540353045405561,
        0.0013333558146686473, 0.009618129107596999, 0.05550410866482073, 0.24022650695910122,
    ];
    /// (eʳ − 1 − r) / r², to 2⁻⁵⁶ of eʳ − 1.
    fn exp_m1_tail(r) = [
        1.7687876083190492e-09, 2.5105194886135966e-08, 2.7567926873684194e-07,
        2.755725546173191e-06, 2.4801574538513894e-05, 0.00019841269874762996,
        0.0013888888895596564, 0.008333333333326155, 0.041666666666652294, 0.1666666666666667,
        0.5000000000000001,
    ];
}

/// eˣ = y 2ⁿ.
#[function]
fn exp_parts(x: f64) -> (f64, i32) {
    let shifted = x.mul_add(LOG2_E, SHIFT);
    let n = shifted - SHIFT;
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x));
    let y = exp_tail(r).mul_add(r, 1.0).mul_add(r, 1.0);
    (y, integer_of(shifted))
}

/// 2ˣ = (1 + y) 2ⁿ.
#[function]
fn exp2_parts(x: f64) -> (f64, i32) {
    let shifted = x + SHIFT;
    let r = x - (shifted - SHIFT);
    let (high, low) = two_product(r, LN_2);
    let y = exp2_tail(r).mul_add(r * r, r.mul_add(LN_2_REST, low)) + high;
    (y, integer_of(shifted))
}

// Beyond these limits the result is 0 or infinite, whatever x is. Within them, `scaled` and
// `power_of_two` hold.

#[function]
pub(super) fn exp_f64(x: f64) -> f64 {
    let (y, n) = exp_parts(x.clamp(-800.0, 800.0));
    scaled(y, n)
}

// The fast paths for f32. They compute more digits than most results need, since the way out of
// one takes a GPU a microsecond: its instructions are not at hand. A GPU's instruction holds one
// number of 21 bits, so where two would meet, a product and a sum take less than a multiply-add.
// Results that are subnormal are rounded at other places than `is_very_near_middle` looks at. A
// test has compared all of them.

/// r and 2^(k / 32) where x = k ln 2 / 32 + r.
#[function]
fn near_parts(x: f64) -> (f64, f64) {
    // Near 32 / ln 2: k may be the second nearest.
    let shifted = x * 46.166229248046875 + SHIFT;
    let r = (shifted - SHIFT).mul_add(minus_ln_2_over_32(), x);
    (r, power_of_32nd(integer_of(shifted) as u32))
}

/// (eʳ − 1 − r) / r² for |r| ≤ 1.01 ln 2 / 64, to 2⁻⁴³ of eʳ − 1, and 2⁻⁵⁰ of eʳ.
#[function]
fn exp_near_tail(r: f64) -> f64 {
    let tail = (r * 0.008333362638950348 + 0.04166686534881592).mul_add(r, exp_near_cube());
    tail.mul_add(r, 0.5)
}

/// eˣ, to 2⁻⁴⁷ of it, for |x| ≤ 90, and to 2⁻⁴⁶ for |x| ≤ 160. A table has the power.
#[function]
pub(super) fn near_exp(x: f64) -> f64 {
    let (r, power) = near_parts(x);
    exp_near_tail(r).mul_add(r * r, r).mul_add(power, power)
}

/// eˣ − 1, to 2⁻⁴² of it, for |x| ≤ 160. Where it is small, the power is 1 and nothing is lost, or
/// the sum is at least as large as either part.
#[function]
pub(super) fn near_exp_m1(x: f64) -> f64 {
    let (r, power) = near_parts(x);
    exp_near_tail(r)
        .mul_add(r * r, r)
        .mul_add(power, power - 1.0)
}

#[function]
pub(super) fn exp_f32(x: f32) -> f32 {
    // Beyond these limits results are 0 or infinite.
    let y = near_exp(within_160(x) as f64);
    if is_sure(!is_very_near_middle(y)) {
        y as f32
    } else {
        any_exp_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_exp_f32(x: f32) -> f32 {
    let (y, n) = exp_parts(x.clamp(-120.0, 120.0) as f64);
    (y * power_of_two(n)) as f32
}

#[function]
pub(super) fn exp2_f64(x: f64) -> f64 {
    let (y, n) = exp2_parts(x.clamp(-1100.0, 1100.0));
    scaled(1.0 + y, n)
}

/// (2ʳ − 1 − r ln 2) / r² for |r| ≤ 1.01 / 64, to 2⁻⁵² of 2ʳ.
#[function]
fn exp2_near_tail(r: f64) -> f64 {
    let tail = (r * 0.0013333531096577644 + 0.009618185460567474).mul_add(r, exp2_near_cube());
    tail.mul_add(r, exp2_near_square())
}

/// 2ˣ, to 2⁻⁵¹ of it, for |x| ≤ 160, and exact for whole x: as `near_exp` with x = k / 32 + r.
#[function]
fn near_exp2(x: f64) -> f64 {
    // A sum with this ends at the digit of 1 / 32.
    const SHIFT_32ND: f64 = SHIFT / 32.0;
    let shifted = x + SHIFT_32ND;
    let r = x - (shifted - SHIFT_32ND);
    let power = power_of_32nd(integer_of(shifted) as u32);
    (exp2_near_tail(r).mul_add(r, ln_2()) * r).mul_add(power, power)
}

#[function]
pub(super) fn exp2_f32(x: f32) -> f32 {
    let y = near_exp2(within_160(x) as f64);
    if is_sure(!is_very_near_middle(y)) {
        y as f32
    } else {
        any_exp2_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_exp2_f32(x: f32) -> f32 {
    let (y, n) = exp2_parts(x.clamp(-160.0, 160.0) as f64);
    let (sum, lost) = fast_two_sum(1.0, y);
    (rounded_to_odd(sum, lost) * power_of_two(n)) as f32
}

/// r + rest = x − n ln 2, and n.
#[function]
pub(super) fn without_powers(x: f64) -> (f64, f64, i32) {
    let shifted = x.mul_add(LOG2_E, SHIFT);
    let n = shifted - SHIFT;
    let exact = n.mul_add(-LN_2_HIGH, x);
    let r = n.mul_add(-LN_2_LOW, exact);
    let rest = n.mul_add(-LN_2_LOW, exact - r);
    (r, rest, integer_of(shifted))
}

/// e^(r + rest) − 1 − r.
#[function]
pub(super) fn exp_m1_rest(r: f64, rest: f64) -> f64 {
    exp_m1_tail(r).mul_add(r * r, rest.mul_add(r, rest))
}

/// (eˣ − 1) / 4 as a sum of two, for −50 ≤ x ≤ `LARGE`. A quarter, since the whole may be too
/// large where the hyperbolic functions are not.
#[function]
pub(super) fn quarter_exp_m1(x: f64) -> (f64, f64) {
    let (r, rest, n) = without_powers(x);
    let (y, y_low) = fast_two_sum(r, exp_m1_rest(r, rest));
    // 2ⁿ y + (2ⁿ − 1)
    let power = power_of_two(n.wrapping_sub(2));
    let (less, less_low) = two_sum(power, -0.25);
    let (sum, sum_low) = two_sum(less, power * y);
    (sum, power.mul_add(y_low, sum_low + less_low))
}

/// From here on eˣ and the hyperbolic functions are infinite.
pub(super) const LARGE: f64 = 710.6;

/// eˣ − 1 as a sum of two.
#[function]
fn exp_m1_parts(x: f64) -> (f64, f64) {
    let (y, low) = quarter_exp_m1(x.clamp(-50.0, LARGE));
    (4.0 * y, 4.0 * low)
}

#[function]
pub(super) fn exp_m1_f64(x: f64) -> f64 {
    let (y, low) = exp_m1_parts(x);
    // This keeps the sign of zero, and quarters of the least subnormals.
    if x.abs() < 1e-20 { x } else { y + low }
}

#[function]
pub(super) fn exp_m1_f32(x: f32) -> f32 {
    let y = near_exp_m1(within_160(x) as f64);
    if is_sure(!is_near_middle(y)) {
        // Of −0, too.
        (y as f32).copysign(x)
    } else {
        any_exp_m1_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_exp_m1_f32(x: f32) -> f32 {
    // Within these limits all parts are finite.
    let (y, low) = exp_m1_parts(x.clamp(-120.0, 120.0) as f64);
    if x.abs() < 1e-20 {
        x
    } else {
        rounded_once(y, low)
    }
}
