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
//! **`Min` and `Max` of floats** are IEEE 754-2019's `minimum` and `maximum`: a NaN on either side
//! gives NaN, and −0 is less than +0. That makes them associative and commutative to the last bit;
//! the payload of a NaN is not promised.
//!
//! **`f16` and `bf16`** are folded in `f32`, and rounded once when a result is written.
//!
//! **Complex products** are `(ac − bd) + (ad + bc)i`, each operation rounded. Infinities are not
//! recovered as C's Annex G asks.
//!
//! A pair that makes no sense does not compile:
//!
//! ```compile_fail,E0277
//! warpfold::reduce::<f32, warpfold::ops::BitAnd>(&[1.0, 2.0]);
//! ```

// To add an operator: a type, its implementations and a row of the table above; its pairs with
// element types in `tests/support/matrix.rs`; its laws in `tests/operator_laws.rs`; its name in
// `cli/src/number.rs`. Set `EXACT` and `COMMUTATIVE` only if they hold for every input, to the last
// bit.

use crate::definitions::Definitions;
use crate::{Function, Monoid, Scalar, monoid};
use half::{bf16, f16};
use std::marker::PhantomData;

/// The sum. Wraps on integers: [`sum`](crate::sum()) adds up in 64 bits.
#[derive(Debug, Clone, Copy)]
pub struct Add;

/// The product. Wraps on integers. Products of floats near 1 have a
/// [bias](crate::reduce()#products-of-floats).
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

/// A function that CUDA has already, in `kernels/machine/rust.cuh`, and the type that stands for
/// it.
macro_rules! functions_of_two {
    ($($(#[$attribute:meta])* $name:ident = $method:ident, $cuda:literal;)*) => {$(
        $(#[$attribute])*
        #[inline(always)]
        pub fn $name<T: Scalar>(a: T, b: T) -> T {
            a.$method(b)
        }

        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_debug_implementations)]
        pub struct $name<T: Scalar> {
            __arguments: PhantomData<fn() -> T>,
        }

        impl<T: Scalar> $name<T> {
            #[doc(hidden)]
            pub fn __call(_: PhantomData<Self>, a: T, b: T) -> T {
                $name(a, b)
            }
        }

        impl<T: Scalar> Function for $name<T> {
            type Input = (T, T);
            type Output = T;

            #[inline(always)]
            fn call((a, b): (T, T)) -> T {
                $name(a, b)
            }

            fn cuda(_: &mut Definitions) -> String {
                $cuda.into()
            }
        }
    )*};
}

functions_of_two! {
    /// The smaller of two numbers. On floats it is IEEE 754-2019's `minimum`: NaN if one is NaN,
    /// and −0 is less than +0.
    ///
    /// For [functions](macro@crate::function). There `a.min(b)` gives the other number if one is
    /// NaN.
    minimum = __minimum, "rust::minimum";
    /// The larger of two numbers. On floats it is IEEE 754-2019's `maximum`: NaN if one is NaN, and
    /// −0 is less than +0.
    maximum = __maximum, "rust::maximum";
}

macro_rules! integer_monoids {
    ($($t:ty),*) => {$(
        #[monoid]
        impl Monoid<$t> for Add {
            const EXACT: bool = true;
            const COMMUTATIVE: bool = true;

            fn identity() -> $t {
                0
            }

            fn combine(a: $t, b: $t) -> $t {
                a.wrapping_add(b)
            }
        }

        #[monoid]
        impl Monoid<$t> for Mul {
            const EXACT: bool = true;
            const COMMUTATIVE: bool = true;

            fn identity() -> $t {
                1
            }

            fn combine(a: $t, b: $t) -> $t {
                a.wrapping_mul(b)
            }
        }

        #[monoid]
        impl Monoid<$t> for BitAnd {
            const EXACT: bool = true;
            const COMMUTATIVE: bool = true;

            fn identity() -> $t {
                !0
            }

            fn combine(a: $t, b: $t) -> $t {
                a & b
            }
        }

        #[monoid]
        impl Monoid<$t> for BitOr {
            const EXACT: bool = true;
            const COMMUTATIVE: bool = true;

            fn identity() -> $t {
                0
            }

            fn combine(a: $t, b: $t) -> $t {
                a | b
            }
        }

        #[monoid]
        impl Monoid<$t> for BitXor {
            const EXACT: bool = true;
            const COMMUTATIVE: bool = true;

            fn identity() -> $t {
                0
            }

            fn combine(a: $t, b: $t) -> $t {
                a ^ b
            }
        }
    )*};
}

integer_monoids!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128);

macro_rules! float_monoids {
    ($($t:ty as $accumulator:ty),*) => {$(
        #[monoid]
        impl Monoid<$t> for Add {
            const COMMUTATIVE: bool = true;

            fn identity() -> $t {
                <$t as num_traits::Zero>::zero()
            }

            fn combine(a: $accumulator, b: $accumulator) -> $accumulator {
                a + b
            }
        }

        #[monoid]
        impl Monoid<$t> for Mul {
            const COMMUTATIVE: bool = true;

            fn identity() -> $t {
                <$t as num_traits::One>::one()
            }

            fn combine(a: $accumulator, b: $accumulator) -> $accumulator {
                a * b
            }
        }
    )*};
}

float_monoids!(f16 as f32, bf16 as f32, f32 as f32, f64 as f64);

macro_rules! ordered_monoids {
    ($($t:ty as $accumulator:ty, $least:expr, $greatest:expr;)*) => {$(
        #[monoid]
        impl Monoid<$t> for Min {
            const EXACT: bool = true;
            const COMMUTATIVE: bool = true;

            fn identity() -> $t {
                $greatest
            }

            fn combine(a: $accumulator, b: $accumulator) -> $accumulator {
                minimum(a, b)
            }
        }

        #[monoid]
        impl Monoid<$t> for Max {
            const EXACT: bool = true;
            const COMMUTATIVE: bool = true;

            fn identity() -> $t {
                $least
            }

            fn combine(a: $accumulator, b: $accumulator) -> $accumulator {
                maximum(a, b)
            }
        }
    )*};
    ($($t:ty),*) => {
        ordered_monoids! { $($t as $t, Scalar::LEAST, Scalar::GREATEST;)* }
    };
}

ordered_monoids!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, f32, f64);
ordered_monoids! {
    f16 as f32, f16::NEG_INFINITY, f16::INFINITY;
    bf16 as f32, bf16::NEG_INFINITY, bf16::INFINITY;
}

#[cfg(feature = "complex")]
mod complex {
    use super::{Add, Monoid, Mul, monoid};
    use num_complex::Complex;

    macro_rules! complex_monoids {
        ($($part:ty),*) => {$(
            #[monoid]
            impl Monoid<Complex<$part>> for Add {
                const COMMUTATIVE: bool = true;

                fn identity() -> Complex<$part> {
                    Complex { re: 0.0, im: 0.0 }
                }

                fn combine(a: Complex<$part>, b: Complex<$part>) -> Complex<$part> {
                    Complex { re: a.re + b.re, im: a.im + b.im }
                }
            }

            #[monoid]
            impl Monoid<Complex<$part>> for Mul {
                const COMMUTATIVE: bool = true;

                fn identity() -> Complex<$part> {
                    Complex { re: 1.0, im: 0.0 }
                }

                fn combine(a: Complex<$part>, b: Complex<$part>) -> Complex<$part> {
                    Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
                }
            }
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
