//! Sums of two floats, which hold what one rounding loses; powers of two; polynomials.

use crate::function;

/// a + b, and what the rounding has lost, exactly.
#[function]
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// `two_sum` in fewer steps, where |a| ≥ |b|, or a = 0.
#[function]
pub(super) fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// a · b, and what the rounding has lost, exactly.
#[function]
pub(super) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// (a + a_low) / (b + b_low), and most of what the rounding has lost.
#[function]
pub(super) fn divide(a: f64, a_low: f64, b: f64, b_low: f64) -> (f64, f64) {
    let reciprocal = 1.0 / b;
    let quotient = a * reciprocal;
    let rest = (-quotient).mul_add(b, a) + (-quotient).mul_add(b_low, a_low);
    (quotient, rest * reciprocal)
}

/// 1.5 · 2⁵². A sum with this ends at the units digit, so it rounds to a whole number.
pub(super) const SHIFT: f64 = 6_755_399_441_055_744.0;

/// The whole number in `SHIFT + n`. Anything if that is NaN.
#[function]
pub(super) fn integer_of(shifted: f64) -> i32 {
    shifted.to_bits() as i32
}

/// 2ⁿ for −1022 ≤ n ≤ 1023. Any float for other n.
#[function]
pub(super) fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n as i64 + 1023) as u64) << 52)
}

/// x · 2ⁿ for |n| < 2044, rounded once where 1 ≤ |x| < 2.
#[function]
pub(super) fn scaled(x: f64, n: i32) -> f64 {
    let half = n >> 1;
    x * power_of_two(half) * power_of_two(n - half)
}

/// A float and what a rounding has lost, rounded to odd: towards zero, and, unless that is exact,
/// up to an odd last bit. When it is rounded to f32 next, it lies on the right side of the middle
/// between two f32, so this is as good as a single rounding.
#[function]
pub(super) fn rounded_to_odd(sum: f64, lost: f64) -> f64 {
    let is_opposite = (sum.to_bits() ^ lost.to_bits()) >> 63;
    let odd = f64::from_bits(sum.to_bits().wrapping_sub(is_opposite) | 1);
    if lost == 0.0 { sum } else { odd }
}

/// The f32 nearest to high + low, for |high| ≥ |low|.
#[function]
pub(super) fn rounded_once(high: f64, low: f64) -> f32 {
    let (sum, lost) = fast_two_sum(high, low);
    rounded_to_odd(sum, lost) as f32
}

/// Whether a float, whose error is below 2⁻⁴¹ of it, lies so near the middle between two f32 that
/// the exact number may lie on the other side. Only f32 that are normal have their middles there.
#[function]
pub(super) fn is_near_middle(x: f64) -> bool {
    const MARGIN: u32 = 1 << 13;
    is_within_of_middle(x, MARGIN)
}

/// `is_near_middle` for a float whose error is below 2⁻⁴⁷ of it.
#[function]
pub(super) fn is_very_near_middle(x: f64) -> bool {
    const MARGIN: u32 = 1 << 7;
    is_within_of_middle(x, MARGIN)
}

/// Whether x lies nearer to the middle between two f32 than so many units in the last place.
#[function]
fn is_within_of_middle(x: f64, margin: u32) -> bool {
    // An f32 has 29 bits less, and the middle is the first of these alone.
    const BITS: u32 = (1 << 29) - 1;
    const MIDDLE: u32 = 1 << 28;
    (x.to_bits() as u32).wrapping_sub(MIDDLE - margin) & BITS < 2 * margin
}

/// Defines polynomials, by Horner's rule. The coefficients go from the highest power down.
/// `scripts/math-coefficients` computes them.
macro_rules! polynomials {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident($x:ident) = [$first:literal $(, $next:literal)* $(,)?];
    )*) => {$(
        $(#[$attribute])*
        #[crate::function]
        fn $name($x: f64) -> f64 {
            const FIRST: f64 = $first;
            FIRST$(.mul_add($x, $next))*
        }
    )*};
}
pub(super) use polynomials;
