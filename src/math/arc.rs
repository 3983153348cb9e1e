//! Arc functions: angles of points, and of sines.

use super::parts::{divide, fast_two_sum, is_near_middle, polynomials, rounded_once, two_sum};
use super::tables::{asin_near_tail, atan_near_tail, is_sure};
use crate::function;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// What `FRAC_PI_4` and `FRAC_PI_2` lack.
const PI_4_REST: f64 = 3.061616997868383e-17;
const PI_2_REST: f64 = 2.0 * PI_4_REST;
/// tan(π/8).
const TAN_PI_8: f64 = 0.41421356237309503;

polynomials! {
    /// (atan t − t) / t³ with z = t², for |t| ≤ tan(π/8), to 2⁻⁵⁸ of atan t.
    fn atan_tail(z) = [
        -0.01792187655588984, 0.0380779595156398, -0.0503983143835471, 0.05848005799194114,
        -0.0666311995157006, 0.07692061598241151, -0.09090897834188526, 0.11111110786056198,
        -0.14285714280246853, 0.19999999999954068, -0.333333333333332,
    ];
    /// (asin s − s) / s³ with z = s², for |s| ≤ 1/2, to 2⁻⁵⁹ of asin s.
    fn asin_tail(z) = [
        0.03270157220492298, -0.021115681535028505, 0.021789847893392642, 0.003672539493901827,
        0.01078922109990849, 0.011397311807755635, 0.013981016172430137, 0.017351595697667737,
        0.022372215895364155, 0.030381942675609265, 0.04464285717528113, 0.074999999999701,
        0.16666666666666763,
    ];
}

/// The angle of the point (x, |y|), from 0 to π, as a sum of two. The sums of x and y must be
/// finite, and one of the two not zero. The sign of x counts even if it is zero.
#[function]
fn angle(y: f64, x: f64) -> (f64, f64) {
    // Mirrored into the octant from 0 to π/4, and turned back by π/4 if it is beyond π/8.
    let (y, a) = (y.abs(), x.abs());
    let is_steep = y > a;
    let (a, b) = if is_steep { (a, y) } else { (y, a) };
    let is_far = a > TAN_PI_8 * b;
    let (difference, difference_low) = two_sum(a, -b);
    let (sum, sum_low) = two_sum(b, a);
    let (above, above_low) = if is_far {
        (difference, difference_low)
    } else {
        (a, 0.0)
    };
    let (below, below_low) = if is_far { (sum, sum_low) } else { (b, 0.0) };
    let (t, t_low) = divide(above, above_low, below, below_low);
    let z = t * t;
    let rest = atan_tail(z).mul_add(z * t, (-z).mul_add(t_low, t_low));
    // Back: so many eighths, plus or minus the arc tangent.
    let eighths = if is_far { 1.0 } else { 0.0 };
    let eighths = if is_steep { 2.0 - eighths } else { eighths };
    let is_left = x.is_sign_negative();
    let eighths = if is_left { 4.0 - eighths } else { eighths };
    let (t, rest) = if is_steep != is_left {
        (-t, -rest)
    } else {
        (t, rest)
    };
    let (high, low) = fast_two_sum(eighths * FRAC_PI_4, t);
    // Three eighths are not a product without rounding.
    let product_low = eighths.mul_add(FRAC_PI_4, -(eighths * FRAC_PI_4));
    (high, eighths.mul_add(PI_4_REST, low + product_low) + rest)
}

/// The arc tangent of |x|, as a sum of two.
#[function]
fn atan_parts(x: f64) -> (f64, f64) {
    angle(x.abs().clamp(0.0, 1e300), 1.0)
}

#[function]
pub(super) fn atan_f64(x: f64) -> f64 {
    let (high, low) = atan_parts(x);
    if x.abs() < 1e-20 {
        x
    } else {
        (high + low).copysign(x)
    }
}

// The fast paths for f32, as those in `exponential`.

/// The angle of the point (x, y), to 2⁻⁴² of it, for x and y that are not negative, and not both
/// zero: as in `angle`.
#[function]
fn near_angle(y: f64, x: f64) -> f64 {
    let is_steep = y > x;
    let (a, b) = if is_steep { (x, y) } else { (y, x) };
    let is_far = a > TAN_PI_8 * b;
    let t = (if is_far { a - b } else { a }) / (if is_far { a + b } else { b });
    let z = t * t;
    let t = atan_near_tail(z).mul_add(z * t, t);
    let t = if is_far { FRAC_PI_4 + t } else { t };
    if is_steep { FRAC_PI_2 - t } else { t }
}

#[function]
pub(super) fn atan_f32(x: f32) -> f32 {
    let y = near_angle(x.abs() as f64, 1.0);
    if is_sure(x.abs() < f32::INFINITY && !is_near_middle(y)) {
        (y as f32).copysign(x)
    } else {
        any_atan_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_atan_f32(x: f32) -> f32 {
    let (high, low) = atan_parts(x as f64);
    if x.abs() < 1e-20 {
        x
    } else {
        rounded_once(high, low).copysign(x)
    }
}

/// The angle of the point (x, |y|), for any x and y, as a sum of two.
#[function]
fn atan2_parts(y: f64, x: f64) -> (f64, f64) {
    const UP: f64 = f64::from_bits((1023 + 800) << 52);
    const DOWN: f64 = f64::from_bits((1023 - 64) << 52);
    let most = if y.abs() > x.abs() { y.abs() } else { x.abs() };
    // Into the middle of the range of floats, where no sum overflows and no quotient loses bits.
    let factor = if most > 1e290 {
        DOWN
    } else if most < 1e-200 {
        UP
    } else {
        1.0
    };
    let (a, b) = (y.abs() * factor, x.abs() * factor);
    // Of infinities only the direction counts. Of two zeros that of x.
    let is_infinite = most == f64::INFINITY;
    let a = if is_infinite {
        (y.abs() == most) as u32 as f64
    } else {
        a
    };
    let b = if is_infinite {
        (x.abs() == most) as u32 as f64
    } else {
        b
    };
    let b = if most == 0.0 { 1.0 } else { b };
    angle(a, b.copysign(x))
}

#[function]
pub(super) fn atan2_f64(y: f64, x: f64) -> f64 {
    let (high, low) = atan2_parts(y, x);
    if y.is_nan() || x.is_nan() {
        y + x
    } else {
        (high + low).copysign(y)
    }
}

#[function]
pub(super) fn atan2_f32(y: f32, x: f32) -> f32 {
    let (a, b) = (y.abs() as f64, x.abs() as f64);
    let angle = near_angle(a, b);
    let angle = if x < 0.0 { PI - angle } else { angle };
    // Not of zeros, infinities and NaN, nor where the result is subnormal.
    let is_usual = a + b < f64::INFINITY && angle >= f32::MIN_POSITIVE as f64;
    if is_sure(is_usual && !is_near_middle(angle)) {
        (angle as f32).copysign(y)
    } else {
        any_atan2_f32(y, x)
    }
}

/// For any x and y, in more steps.
#[inline(never)]
#[function]
fn any_atan2_f32(y: f32, x: f32) -> f32 {
    let (high, low) = atan2_parts(y as f64, x as f64);
    if y.is_nan() || x.is_nan() {
        y + x
    } else {
        rounded_once(high, low).copysign(y)
    }
}

/// asin(|x|) = s + rest, or π/2 − 2 (s + rest) if |x| > 1/2, which the third part says.
#[function]
fn asin_parts(x: f64) -> (f64, f64, bool) {
    let a = x.abs();
    let is_far = a > 0.5;
    let z = if is_far { 0.5 * (1.0 - a) } else { a * a };
    let root = z.sqrt();
    let root_low = if z > 0.0 {
        (-root).mul_add(root, z) / (2.0 * root)
    } else {
        0.0
    };
    let (s, low) = if is_far { (root, root_low) } else { (a, 0.0) };
    (s, (s * z).mul_add(asin_tail(z), low), is_far)
}

/// asin(|x|) as a sum of two.
#[function]
fn asin_sum(x: f64) -> (f64, f64) {
    let (s, rest, is_far) = asin_parts(x);
    let (high, low) = fast_two_sum(FRAC_PI_2, -2.0 * s);
    let far = (high, low + PI_2_REST - 2.0 * rest);
    if is_far { far } else { (s, rest) }
}

/// acos(x) as a sum of two.
#[function]
fn acos_sum(x: f64) -> (f64, f64) {
    let (s, rest, is_far) = asin_parts(x);
    // π/2 − asin x: so many quarters, plus some times s.
    let is_left = x < 0.0;
    let of_far = if is_left { (2.0, -2.0) } else { (0.0, 2.0) };
    let of_near = if is_left { (1.0, 1.0) } else { (1.0, -1.0) };
    let (quarters, factor) = if is_far { of_far } else { of_near };
    let (high, low) = fast_two_sum(quarters * FRAC_PI_2, factor * s);
    (high, low + quarters.mul_add(PI_2_REST, factor * rest))
}

#[function]
pub(super) fn asin_f64(x: f64) -> f64 {
    let (high, low) = asin_sum(x);
    if x.abs() > 1.0 {
        f64::NAN
    } else if x.abs() < 1e-20 {
        x
    } else {
        (high + low).copysign(x)
    }
}

/// asin(|x|) = y, or π/2 − 2 y if |x| > 1/2, which the second part says; y to 2⁻⁴³ of it.
#[function]
fn near_asin_parts(x: f64) -> (f64, bool) {
    let a = x.abs();
    let is_far = a > 0.5;
    let z = if is_far { 0.5 * (1.0 - a) } else { a * a };
    let s = if is_far { z.sqrt() } else { a };
    (asin_near_tail(z).mul_add(s * z, s), is_far)
}

#[function]
pub(super) fn asin_f32(x: f32) -> f32 {
    let (y, is_far) = near_asin_parts(x as f64);
    let y = if is_far { FRAC_PI_2 - 2.0 * y } else { y };
    if is_sure(x.abs() <= 1.0 && !is_near_middle(y)) {
        (y as f32).copysign(x)
    } else {
        any_asin_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_asin_f32(x: f32) -> f32 {
    let (high, low) = asin_sum(x as f64);
    if x.abs() > 1.0 {
        f32::NAN
    } else if x.abs() < 1e-20 {
        x
    } else {
        rounded_once(high, low).copysign(x)
    }
}

#[function]
pub(super) fn acos_f64(x: f64) -> f64 {
    let (high, low) = acos_sum(x);
    if x.abs() > 1.0 { f64::NAN } else { high + low }
}

#[function]
pub(super) fn acos_f32(x: f32) -> f32 {
    let (y, is_far) = near_asin_parts(x as f64);
    // So many quarters, plus y, or twice as much.
    let quarters = if !is_far {
        FRAC_PI_2
    } else if x < 0.0 {
        PI
    } else {
        0.0
    };
    let y = if is_far { 2.0 * y } else { y };
    let y = if is_far == (x < 0.0) {
        quarters - y
    } else {
        quarters + y
    };
    if is_sure(x.abs() <= 1.0 && !is_near_middle(y)) {
        y as f32
    } else {
        any_acos_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_acos_f32(x: f32) -> f32 {
    let (high, low) = acos_sum(x as f64);
    if x.abs() > 1.0 {
        f32::NAN
    } else {
        rounded_once(high, low)
    }
}
