//! The numbers that histograms count: what their bins' rules need to know of a type.

use crate::Element;
use num_traits::Float;

mod sealed {
    pub trait Sealed {}
}

/// A number that can be counted in bins: `u8` to `i64`, `f32` and `f64`.
pub trait Binned:
    Element + PartialOrd + std::fmt::Debug + std::fmt::Display + sealed::Sealed
{
    /// The type in which NumPy computes the edges of even bins.
    #[doc(hidden)]
    type Edge: Edge;

    /// Whether it is an integer of up to 32 bits.
    #[doc(hidden)]
    const IS_SHORT_INTEGER: bool;

    /// The least number and the greatest: infinities, if there are.
    #[doc(hidden)]
    const ENDS: (Self, Self);

    /// The greatest n for which any 2^n numbers from a rank on that is a multiple of 2^n are evenly
    /// spaced: those of one exponent.
    #[doc(hidden)]
    const LOG_EVEN: u32;

    /// The number as an edge: to nearest.
    #[doc(hidden)]
    fn to_edge(self) -> Self::Edge;

    /// The number as `f64`: to nearest.
    #[doc(hidden)]
    fn to_f64(self) -> f64;

    /// The number as that of a bin; what cannot be one is very large.
    #[doc(hidden)]
    fn to_bin(self) -> u64;

    /// The distance from `origin`, modulo 2^32. For integers of up to 32 bits.
    #[doc(hidden)]
    fn offset(self, origin: Self) -> u32;

    /// A number near `value`, which is not NaN.
    #[doc(hidden)]
    fn near(value: f64) -> Self;

    /// The place of the number in the order of all numbers of its type but NaN. −0 comes before 0.
    #[doc(hidden)]
    fn rank(self) -> u64;

    /// The number at a place.
    #[doc(hidden)]
    fn of_rank(rank: u64) -> Self;

    /// How many numbers lie from `first` to this one, which is not below it: over 2^`shift`,
    /// rounded down.
    #[doc(hidden)]
    fn ranks_from(self, first: Self, shift: u32) -> u32;

    /// `greatest - least` as NumPy subtracts two numbers of the type, as an edge.
    #[doc(hidden)]
    fn width(least: Self, greatest: Self) -> Self::Edge;
}

/// An integer, which can be the number of a bin: `u8` to `i64`.
pub trait Integer: Binned {}

/// What edges are computed in: `f32` or `f64`.
#[doc(hidden)]
pub trait Edge: Float + Into<f64> + Send + Sync + std::fmt::Debug + std::fmt::Display {
    /// 1.5 times a power of two. In a sum with it a small number is rounded to an integer, which
    /// stands in the low bits. Conversions to integers and back take longer.
    const UNITS: Self;

    fn of(value: f64) -> Self;

    /// The integer that was added to `UNITS`. It is not negative.
    fn units(self) -> u32;
}

impl Edge for f32 {
    const UNITS: f32 = 12_582_912.0;

    #[inline(always)]
    fn of(value: f64) -> f32 {
        value as f32
    }

    #[inline(always)]
    fn units(self) -> u32 {
        self.to_bits().wrapping_sub(Self::UNITS.to_bits())
    }
}

impl Edge for f64 {
    const UNITS: f64 = 6_755_399_441_055_744.0;

    #[inline(always)]
    fn of(value: f64) -> f64 {
        value
    }

    #[inline(always)]
    fn units(self) -> u32 {
        self.to_bits() as u32
    }
}

macro_rules! integers {
    ($($ty:ident as $bits:ident),*) => {$(
        impl sealed::Sealed for $ty {}

        impl Integer for $ty {}

        impl Binned for $ty {
            type Edge = f64;

            const IS_SHORT_INTEGER: bool = $ty::BITS <= 32;

            const ENDS: ($ty, $ty) = ($ty::MIN, $ty::MAX);

            const LOG_EVEN: u32 = $ty::BITS;

            #[inline(always)]
            fn to_edge(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn to_bin(self) -> u64 {
                self as u64
            }

            #[inline(always)]
            fn offset(self, origin: $ty) -> u32 {
                (self as u32).wrapping_sub(origin as u32)
            }

            fn near(value: f64) -> $ty {
                value as $ty
            }

            fn rank(self) -> u64 {
                u64::from((self as $bits).wrapping_sub($ty::MIN as $bits))
            }

            fn of_rank(rank: u64) -> $ty {
                (rank as $bits).wrapping_add($ty::MIN as $bits) as $ty
            }

            #[inline(always)]
            fn ranks_from(self, first: $ty, shift: u32) -> u32 {
                ((self as $bits).wrapping_sub(first as $bits) >> shift) as u32
            }

            fn width(least: $ty, greatest: $ty) -> f64 {
                (greatest as $bits).wrapping_sub(least as $bits) as f64
            }
        }
    )*};
}

integers!(
    u8 as u8, i8 as u8, u16 as u16, i16 as u16, u32 as u32, i32 as u32, u64 as u64, i64 as u64
);

macro_rules! floats {
    ($($ty:ident as $bits:ident),*) => {$(
        impl sealed::Sealed for $ty {}

        impl Binned for $ty {
            type Edge = $ty;

            const IS_SHORT_INTEGER: bool = false;

            const ENDS: ($ty, $ty) = ($ty::NEG_INFINITY, $ty::INFINITY);

            const LOG_EVEN: u32 = $ty::MANTISSA_DIGITS - 1;

            #[inline(always)]
            fn to_edge(self) -> $ty {
                self
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn to_bin(self) -> u64 {
                u64::MAX
            }

            fn offset(self, _: $ty) -> u32 {
                unreachable!("floats are no integers")
            }

            fn near(value: f64) -> $ty {
                value as $ty
            }

            #[inline(always)]
            fn rank(self) -> u64 {
                const SIGN: $bits = 1 << ($bits::BITS - 1);
                let bits = self.to_bits();
                u64::from(if bits & SIGN == 0 { bits | SIGN } else { !bits })
            }

            #[inline(always)]
            fn ranks_from(self, first: $ty, shift: u32) -> u32 {
                ((self.rank() as $bits).wrapping_sub(first.rank() as $bits) >> shift) as u32
            }

            fn of_rank(rank: u64) -> $ty {
                const SIGN: $bits = 1 << ($bits::BITS - 1);
                let bits = rank as $bits;
                $ty::from_bits(if bits & SIGN == 0 { !bits } else { bits & !SIGN })
            }

            fn width(least: $ty, greatest: $ty) -> $ty {
                greatest - least
            }
        }
    )*};
}

floats!(f32 as u32, f64 as u64);

/// What a histogram counts of an item: the item, if it is a number; all parts of an array, each in
/// a channel of its own.
pub trait Counted: Element {
    /// The type of the parts.
    type Value: Binned;

    /// The number of parts.
    const CHANNELS: usize;
}

impl<T: Binned> Counted for T {
    type Value = T;

    const CHANNELS: usize = 1;
}

impl<T: Binned, const N: usize> Counted for [T; N] {
    type Value = T;

    const CHANNELS: usize = N;
}

/// A count: `u32` or `u64`.
pub trait Count: Element + sealed::Sealed {
    /// The most items that can be counted.
    #[doc(hidden)]
    const MOST: u64;

    #[doc(hidden)]
    fn plus(self, more: u32) -> Self;

    #[doc(hidden)]
    fn and(self, other: Self) -> Self;
}

macro_rules! counts {
    ($($ty:ty),*) => {$(
        impl Count for $ty {
            const MOST: u64 = <$ty>::MAX as u64;

            #[inline(always)]
            fn plus(self, more: u32) -> $ty {
                self + <$ty>::from(more)
            }

            fn and(self, other: $ty) -> $ty {
                self + other
            }
        }
    )*};
}

counts!(u32, u64);

/// The first number, in the order of the type, for which a condition holds that holds for all
/// numbers after it. It looks near `hint` first.
pub(super) fn first_number<T: Binned>(hint: T, holds: impl Fn(T) -> bool) -> Option<T> {
    let (least, greatest) = (T::ENDS.0.rank(), T::ENDS.1.rank());
    let holds = |rank: u64| holds(T::of_rank(rank));
    // `low` does not hold, or is before all; `high` holds.
    let (mut low, mut high);
    let (start, mut step) = (hint.rank(), 1);
    if holds(start) {
        high = start;
        loop {
            match start.checked_sub(step).filter(|&rank| rank >= least) {
                None => {
                    if holds(least) {
                        return Some(T::of_rank(least));
                    }
                    low = least;
                    break;
                }
                Some(rank) if !holds(rank) => {
                    low = rank;
                    break;
                }
                Some(rank) => high = rank,
            }
            step = step.saturating_mul(2);
        }
    } else {
        low = start;
        loop {
            match start.checked_add(step).filter(|&rank| rank <= greatest) {
                None => {
                    if !holds(greatest) {
                        return None;
                    }
                    high = greatest;
                    break;
                }
                Some(rank) if holds(rank) => {
                    high = rank;
                    break;
                }
                Some(rank) => low = rank,
            }
            step = step.saturating_mul(2);
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(T::of_rank(high))
}

/// The first number that is equal to another one: −0 for 0.
pub(super) fn first_of_equal<T: Binned>(number: T) -> T {
    let before = number.rank().checked_sub(1).map(T::of_rank);
    before.filter(|&x| x == number).unwrap_or(number)
}

/// The number before another one, which is not the least.
pub(super) fn before<T: Binned>(number: T) -> T {
    T::of_rank(number.rank() - 1)
}
