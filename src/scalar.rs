//! Numbers, for functions that are generic over them.

use crate::Element;
use crate::translated::Number;
use std::ops::{Add, Div, Mul, Rem, Sub};

/// A number that functions compute with: `u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 f32 f64`.
///
/// For functions and operators that are generic over numbers:
///
/// ```
/// use warpfold::{Scalar, function, monoid, reduce};
///
/// /// The one that is farther from zero, the first of equals.
/// #[monoid(identity = T::ZERO)]
/// fn farthest<T: Scalar>(a: T, b: T) -> T {
///     if magnitude(a) < magnitude(b) { b } else { a }
/// }
///
/// #[function]
/// fn magnitude<T: Scalar>(x: T) -> T {
///     if x < T::ZERO { T::ZERO - x } else { x }
/// }
///
/// assert_eq!(reduce::<i32, Farthest>(&[3, -7, 5])?, -7);
/// assert_eq!(reduce::<f64, Farthest>(&[3.5, -1.5])?, 3.5);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub trait Scalar:
    Element<Accumulator = Self>
    + Number
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// The least value: −∞ of floats.
    const LEAST: Self;
    /// The greatest value: +∞ of floats.
    const GREATEST: Self;

    #[doc(hidden)]
    fn __minimum(self, other: Self) -> Self;

    #[doc(hidden)]
    fn __maximum(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Scalar for $integer {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const LEAST: Self = <$integer>::MIN;
            const GREATEST: Self = <$integer>::MAX;

            #[inline(always)]
            fn __minimum(self, other: Self) -> Self {
                self.min(other)
            }

            #[inline(always)]
            fn __maximum(self, other: Self) -> Self {
                self.max(other)
            }
        }
    )*};
}

integers!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128);

macro_rules! floats {
    ($($float:ty),*) => {$(
        impl Scalar for $float {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LEAST: Self = <$float>::NEG_INFINITY;
            const GREATEST: Self = <$float>::INFINITY;

            // The bits of what `kernels/machine/rust.cuh` gives. Of numbers that differ, both
            // choices below are the same one. Equal numbers differ at most in the sign of zero; if
            // two do not compare, one is a NaN, and `or` leaves it one. No choice depends on
            // another, so compilers make two instructions of them.
            #[inline(always)]
            fn __minimum(self, other: Self) -> Self {
                let first = if self < other { self } else { other };
                let second = if other < self { other } else { self };
                <$float>::from_bits(first.to_bits() | second.to_bits())
            }

            #[inline(always)]
            fn __maximum(self, other: Self) -> Self {
                let first = if other < self { self } else { other }.to_bits();
                let second = if self < other { other } else { self }.to_bits();
                let sign = (-0.0 as $float).to_bits();
                <$float>::from_bits((first | second) ^ ((first ^ second) & sign))
            }
        }
    )*};
}

floats!(f32, f64);
