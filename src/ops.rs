//! The operators that come with the crate.
//!
//! | operator | integers | `f16 bf16 f32 f64` | complex | identity |
//! |---|---|---|---|---|
//! | [`Add`] | wraps | IEEE 754 | IEEE 754 | 0 |
//! | [`Mul`] | wraps | IEEE 754 | IEEE 754 | 1 |
//! | [`Min`] | yes | see below | | the largest value, +∞ |
//! | [`Max`] | yes | see below | | the smallest value, −∞ |
//! | [`BitAnd`] [`BitOr`] [`BitXor`] | yes | | | all ones, 0, 0 |
//!
//! **Integers wrap** on overflow, on every device and in every build profile.
//!
//! **`Min` and `Max` of floats** are IEEE 754-2019's `minimum` and `maximum`: a NaN on either side gives
//! NaN, and −0 is less than +0. That makes them associative and commutative to the last bit; the
//! payload of a NaN is not promised.
//!
//! **`f16` and `bf16`** are folded in `f32`, and rounded once when a result is written.
//!
//! **Complex products** are `(ac − bd) + (ad + bc)i`, each operation rounded, without the recovery
//! of infinities that C's Annex G asks for.
//!
//! A pair that makes no sense does not compile:
//!
//! ```compile_fail,E0277
//! warpfold::reduce::<f32, warpfold::ops::BitAnd>(&[1.0, 2.0]);
//! ```

use crate::Monoid;
use half::{bf16, f16};
use num_traits::{Bounded, One, WrappingAdd, WrappingMul, Zero};

/// The sum. Wraps on integers.
#[derive(Debug, Clone, Copy)]
pub struct Add;

/// The product. Wraps on integers.
#[derive(Debug, Clone, Copy)]
pub struct Mul;

/// The smaller of two; IEEE 754-2019 `minimum` on floats.
#[derive(Debug, Clone, Copy)]
pub struct Min;

/// The larger of two; IEEE 754-2019 `maximum` on floats.
#[derive(Debug, Clone, Copy)]
pub struct Max;

/// Bitwise and.
#[derive(Debug, Clone, Copy)]
pub struct BitAnd;

/// Bitwise or.
#[derive(Debug, Clone, Copy)]
pub struct BitOr;

/// Bitwise exclusive or.
#[derive(Debug, Clone, Copy)]
pub struct BitXor;

/// One operator on one type: whether it is exact, its CUDA body, its identity, and the host function.
/// All built-in operators commute.
macro_rules! monoid {
    ($op:ident, $t:ty, exact: $exact:literal, $cuda:literal, $identity:expr, $combine:expr) => {
        impl Monoid<$t> for $op {
            const CUDA: &'static str = $cuda;
            const EXACT: bool = $exact;
            const COMMUTATIVE: bool = true;

            #[inline(always)]
            fn identity() -> $t {
                $identity
            }

            #[inline(always)]
            fn combine(
                a: <$t as crate::Element>::Accumulator,
                b: <$t as crate::Element>::Accumulator,
            ) -> <$t as crate::Element>::Accumulator {
                $combine(a, b)
            }
        }
    };
}

macro_rules! integer_monoids {
    ($($t:ty),*) => {$(
        monoid!(Add, $t, exact: true, "return add(a, b);", Zero::zero(), |a: $t, b: $t| WrappingAdd::wrapping_add(&a, &b));
        monoid!(Mul, $t, exact: true, "return mul(a, b);", One::one(), |a: $t, b: $t| WrappingMul::wrapping_mul(&a, &b));
        monoid!(Min, $t, exact: true, "return minimum(a, b);", Bounded::max_value(), Ord::min);
        monoid!(Max, $t, exact: true, "return maximum(a, b);", Bounded::min_value(), Ord::max);
        monoid!(BitAnd, $t, exact: true, "return a & b;", !0, std::ops::BitAnd::bitand);
        monoid!(BitOr, $t, exact: true, "return a | b;", 0, std::ops::BitOr::bitor);
        monoid!(BitXor, $t, exact: true, "return a ^ b;", 0, std::ops::BitXor::bitxor);
    )*};
}

integer_monoids!(u8, i8, u16, i16, u32, i32, u64, i64);

/// IEEE 754-2019 `minimum`, in the form that `kernels/ops.cuh` has too: equal numbers differ at
/// most in the sign of zero, which `or` settles; what does not compare holds a NaN, which `+` passes on.
macro_rules! minimum {
    ($a:ident, $b:ident, $t:ty) => {
        if $a < $b {
            $a
        } else if $b < $a {
            $b
        } else if $a == $b {
            <$t>::from_bits($a.to_bits() | $b.to_bits())
        } else {
            $a + $b
        }
    };
}

/// IEEE 754-2019 `maximum`; see `minimum!`.
macro_rules! maximum {
    ($a:ident, $b:ident, $t:ty) => {
        if $b < $a {
            $a
        } else if $a < $b {
            $b
        } else if $a == $b {
            <$t>::from_bits($a.to_bits() & $b.to_bits())
        } else {
            $a + $b
        }
    };
}

macro_rules! float_monoids {
    ($($t:ty as $acc:ty),*) => {$(
        monoid!(Add, $t, exact: false, "return a + b;", <$t as Zero>::zero(), |a: $acc, b: $acc| a + b);
        monoid!(Mul, $t, exact: false, "return a * b;", <$t as One>::one(), |a: $acc, b: $acc| a * b);
        monoid!(Min, $t, exact: true, "return minimum(a, b);", <$t>::INFINITY, |a: $acc, b: $acc| minimum!(a, b, $acc));
        monoid!(Max, $t, exact: true, "return maximum(a, b);", <$t>::NEG_INFINITY, |a: $acc, b: $acc| maximum!(a, b, $acc));
    )*};
}

float_monoids!(f16 as f32, bf16 as f32, f32 as f32, f64 as f64);

#[cfg(feature = "complex")]
mod complex {
    use super::{Add, Monoid, Mul};
    use num_complex::Complex;
    use num_traits::{One, Zero};

    macro_rules! complex_monoids {
        ($($part:ty),*) => {$(
            monoid!(Add, Complex<$part>, exact: false, "return add(a, b);", Complex::zero(),
                |a: Complex<$part>, b: Complex<$part>| Complex::new(a.re + b.re, a.im + b.im));
            monoid!(Mul, Complex<$part>, exact: false, "return mul(a, b);", Complex::one(),
                |a: Complex<$part>, b: Complex<$part>| Complex::new(
                    a.re * b.re - a.im * b.im,
                    a.re * b.im + a.im * b.re,
                ));
        )*};
    }

    complex_monoids!(f32, f64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn float_extrema_follow_ieee_754_2019() {
        let min = <Min as Monoid<f32>>::combine;
        let max = <Max as Monoid<f32>>::combine;
        assert!(min(f32::NAN, 1.0).is_nan() && min(1.0, f32::NAN).is_nan());
        assert!(max(f32::NAN, f32::INFINITY).is_nan() && max(f32::NEG_INFINITY, f32::NAN).is_nan());
        for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
            assert_eq!(min(a, b).to_bits(), (-0.0_f32).to_bits());
            assert_eq!(max(a, b).to_bits(), 0.0_f32.to_bits());
        }
        assert_eq!(min(f32::INFINITY, 3.0), 3.0);
        assert_eq!(max(f32::NEG_INFINITY, -3.0), -3.0);
    }

    #[test]
    fn integers_wrap() {
        assert_eq!(<Add as Monoid<i8>>::combine(127, 1), -128);
        assert_eq!(<Mul as Monoid<u16>>::combine(65535, 65535), 1);
        assert_eq!(<Mul as Monoid<i64>>::combine(i64::MIN, -1), i64::MIN);
    }
}
