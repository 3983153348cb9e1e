//! Hyperbolic functions, from (eˣ − 1) / 4 as a sum of two floats. So small x lose nothing.

use super::exponential::{LARGE, near_exp, near_exp_m1, quarter_exp_m1};
use super::parts::{divide, fast_two_sum, is_near_middle, rounded_once, two_sum};
use super::tables::{is_sure, within_160};
use crate::function;

/// From here on e⁻ˣ does not count beside eˣ.
const FAR: f64 = 40.0;

// Each gives a function of |x|, as a sum of two.

#[function]
fn tanh_parts(x: f64) -> (f64, f64) {
    // q = (e²ˣ − 1) / 4;  tanh x = q / (q + 1/2)
    let (q, q_low) = quarter_exp_m1(2.0 * x.abs().clamp(0.0, FAR));
    let (below, below_low) = two_sum(q, 0.5);
    divide(q, q_low, below, below_low + q_low)
}

#[function]
fn sinh_parts(x: f64) -> (f64, f64) {
    // q = (eˣ − 1) / 4;  sinh x = 2 (q + q / (4 q + 1))
    let a = x.abs().clamp(0.0, LARGE);
    let (q, q_low) = quarter_exp_m1(a);
    let (below, below_low) = two_sum(4.0 * q, 1.0);
    let (more, more_low) = divide(q, q_low, below, 4.0_f64.mul_add(q_low, below_low));
    let (more, more_low) = if a > FAR {
        (0.0, 0.0)
    } else {
        (more, more_low)
    };
    let (sum, sum_low) = fast_two_sum(q, more);
    (2.0 * sum, 2.0 * (sum_low + q_low + more_low))
}

#[function]
fn cosh_parts(x: f64) -> (f64, f64) {
    // w = eˣ / 4;  cosh x = 2 (w + 1 / (16 w))
    let a = x.abs().clamp(0.0, LARGE);
    let (q, q_low) = quarter_exp_m1(a);
    let (w, w_low) = two_sum(q, 0.25);
    let (more, more_low) = divide(0.0625, 0.0, w, w_low + q_low);
    let (more, more_low) = if a > FAR {
        (0.0, 0.0)
    } else {
        (more, more_low)
    };
    let (sum, sum_low) = fast_two_sum(w, more);
    (2.0 * sum, 2.0 * (sum_low + (w_low + q_low) + more_low))
}

#[function]
pub(super) fn tanh_f64(x: f64) -> f64 {
    let (y, low) = tanh_parts(x);
    if x.abs() < 1e-20 {
        x
    } else {
        (y + low).copysign(x)
    }
}

// The fast paths for f32, as those in `exponential`.

/// tanh |x|, to 2⁻⁴¹ of it, for |x| ≤ 160.
#[function]
fn near_tanh(x: f64) -> f64 {
    // q = e⁻²ˣ − 1;  tanh x = −q / (2 + q)
    let q = near_exp_m1(-2.0 * x.abs());
    let below = 2.0 + q;
    // 1 / below, to 0.002 of it, then to its cube, and to the square of that.
    let y = (q * q * -0.22183704376220703 - 0.2772963047027588).mul_add(q, 0.4991333484649658);
    let error = (-below).mul_add(y, 1.0);
    let y = error.mul_add(error, error).mul_add(y, y);
    let quotient = -q * y;
    (-below).mul_add(quotient, -q).mul_add(y, quotient)
}

#[function]
pub(super) fn tanh_f32(x: f32) -> f32 {
    let y = near_tanh(within_160(x) as f64);
    if is_sure(!is_near_middle(y)) {
        (y as f32).copysign(x)
    } else {
        any_tanh_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_tanh_f32(x: f32) -> f32 {
    let (y, low) = tanh_parts(x as f64);
    if x.abs() < 1e-20 {
        x
    } else {
        rounded_once(y, low).copysign(x)
    }
}

#[function]
pub(super) fn sinh_f64(x: f64) -> f64 {
    let (y, low) = sinh_parts(x);
    if x.abs() < 1e-20 {
        x
    } else {
        (y + low).copysign(x)
    }
}

#[function]
pub(super) fn sinh_f32(x: f32) -> f32 {
    let a = within_160(x) as f64;
    // (eˣ − 1) − (e⁻ˣ − 1): a sum of what has one sign.
    let y = 0.5 * (near_exp_m1(a) - near_exp_m1(-a));
    if is_sure(!is_near_middle(y)) {
        (y as f32).copysign(x)
    } else {
        any_sinh_f32(x)
    }
}

// Within ±120 all parts are finite, and beyond it the results are infinite.

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_sinh_f32(x: f32) -> f32 {
    let (y, low) = sinh_parts(x.clamp(-120.0, 120.0) as f64);
    if x.abs() < 1e-20 {
        x
    } else {
        rounded_once(y, low).copysign(x)
    }
}

#[function]
pub(super) fn cosh_f64(x: f64) -> f64 {
    let (y, low) = cosh_parts(x);
    y + low
}

#[function]
pub(super) fn cosh_f32(x: f32) -> f32 {
    let a = within_160(x) as f64;
    let y = 0.5 * (near_exp(a) + near_exp(-a));
    if is_sure(!is_near_middle(y)) {
        y as f32
    } else {
        any_cosh_f32(x)
    }
}

/// For any x, in more steps.
#[inline(never)]
#[function]
fn any_cosh_f32(x: f32) -> f32 {
    let (y, low) = cosh_parts(x.clamp(-120.0, 120.0) as f64);
    rounded_once(y, low)
}
