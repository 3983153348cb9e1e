//! x − n π/2 for the nearest n, as a sum of two floats.

use super::parts::{SHIFT, fast_two_sum, integer_of, power_of_two, two_product, two_sum};
use crate::function;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// π/2 as a sum: 33 bits, so that a product with n is exact; the next 53; and the next.
const PI_2_FIRST: f64 = 1.5707963267341256;
const PI_2_SECOND: f64 = 6.077100506506192e-11;
const PI_2_THIRD: f64 = 3.5215598651832e-27;
/// What `FRAC_PI_2` lacks.
const PI_2_REST: f64 = 6.123233995736766e-17;

/// The bits of 2/π after 64 zeros.
const TWO_OVER_PI: [u64; 19] = [
    0x0000_0000_0000_0000,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
];

/// Up to here x − n π/2 is computed by multiplication.
const NEAR: f64 = 1_048_576.0;

/// r + low = x − n π/2, and n, of which the two lowest bits count. NaN if x is not finite.
#[function]
pub(super) fn without_quarters(x: f64) -> (f64, f64, i32) {
    if x.abs() < NEAR {
        near(x)
    } else if x.abs() < f64::INFINITY {
        far(x)
    } else {
        (f64::NAN, f64::NAN, 0)
    }
}

/// For |x| ≤ 2²⁰.
#[function]
fn near(x: f64) -> (f64, f64, i32) {
    let shifted = x.mul_add(FRAC_2_PI, SHIFT);
    let n = shifted - SHIFT;
    let first = n.mul_add(-PI_2_FIRST, x);
    let (product, product_low) = two_product(n, PI_2_SECOND);
    let (r, low) = two_sum(first, -product);
    let (r, low) = fast_two_sum(r, low - n.mul_add(PI_2_THIRD, product_low));
    (r, low, integer_of(shifted))
}

/// For finite |x| ≥ 2. After Payne and Hanek: only the bits of 2/π count whose products with x are
/// neither multiples of 4 nor too small.
#[function]
fn far(x: f64) -> (f64, f64, i32) {
    // |x| = m 2^(place − 61) with 2⁶³ ≤ m < 2⁶⁴. The table begins with 64 zeros, and the first bit
    // after them means 1/2. So the bit at `place` times m is a multiple of 4 no more.
    let bits = x.to_bits();
    let place = ((bits >> 52 & 0x7ff) as i32 - 1024) as u32;
    let m = bits << 11 | 1 << 63;
    let table = TWO_OVER_PI;
    let word = (place >> 6) as usize;
    let shift = place & 63;
    // Two shifts, since there is none by 64.
    let w0 = table[word] << shift | table[word + 1] >> 1 >> (63 - shift);
    let w1 = table[word + 1] << shift | table[word + 2] >> 1 >> (63 - shift);
    let w2 = table[word + 2] << shift | table[word + 3] >> 1 >> (63 - shift);
    // The middle 128 bits of m (w0 w1 w2): two of whole quarters, and the fraction.
    let low = high_product(m, w2);
    let middle = m.wrapping_mul(w1).wrapping_add(low);
    let carry = (middle < low) as u64;
    let high = m
        .wrapping_mul(w0)
        .wrapping_add(high_product(m, w1))
        .wrapping_add(carry);
    // To the nearest quarter: the fraction is from −1/2 to 1/2.
    let n = ((high >> 62) + (high >> 61 & 1)) as i32;
    let (fraction, rest) = (high << 2 | middle >> 62, middle << 2);
    let is_negative = fraction >> 63 == 1;
    let (fraction, rest) = if is_negative {
        (!fraction, !rest)
    } else {
        (fraction, rest)
    };
    // Its 53 highest bits, and the 64 next.
    let zeros = fraction.leading_zeros().min(63);
    let first = fraction << zeros | rest >> 1 >> (63 - zeros);
    let second = rest << zeros;
    let unit = power_of_two(-64 - zeros as i32);
    let high = ((first >> 11 << 11) as f64) * unit;
    let low = ((first << 53 | second >> 11) as f64) * (unit * power_of_two(-53));
    // Times π/2.
    let (r, r_low) = two_product(high, FRAC_PI_2);
    let r_low = low.mul_add(FRAC_PI_2, high.mul_add(PI_2_REST, r_low));
    let (r, r_low) = fast_two_sum(r, r_low);
    let (r, r_low) = if is_negative != (x < 0.0) {
        (-r, -r_low)
    } else {
        (r, r_low)
    };
    (r, r_low, if x < 0.0 { -n } else { n })
}

/// The upper 64 of the 128 bits of a product.
#[function]
fn high_product(a: u64, b: u64) -> u64 {
    let (a_high, a_low) = (a >> 32, a & 0xffff_ffff);
    let (b_high, b_low) = (b >> 32, b & 0xffff_ffff);
    let middle = a_high * b_low + ((a_low * b_low) >> 32);
    let other = a_low * b_high + (middle & 0xffff_ffff);
    a_high * b_high + (middle >> 32) + (other >> 32)
}
