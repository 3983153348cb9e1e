//! The numbers that have statistics, and the functions of each type that statistics are made of.

use super::moments::{Moments, single};
use crate::ops::{Add, Max, Min};
use crate::source::Comparable;
use crate::{Element, Function, Monoid, Scalar, function};
use half::{bf16, f16};

/// The real numbers of all types: what has statistics.
pub trait Number: Comparable<Accumulator: Scalar> {
    /// The number in the type that it is compared in; exact.
    #[doc(hidden)]
    type Widened: Function<Input = (Self,), Output = Self::Accumulator>;

    /// The number as `f64`, rounded to nearest.
    #[doc(hidden)]
    type AsF64: Function<Input = (Self,), Output = f64>;

    /// The number as an integer, if it is one of up to 16 bits.
    #[doc(hidden)]
    type AsI64: Function<Input = (Self,), Output = i64>;

    /// What numbers add up to: `u64` of unsigned integers, `i64` of signed ones, `f64` of floats.
    type Sum: Element;

    /// The number as a sum.
    #[doc(hidden)]
    type AsSum: Function<Input = (Self,), Output = Self::Sum>;

    /// Adds up sums.
    #[doc(hidden)]
    type Total: Monoid<Self::Sum>;

    /// Gives the lesser number.
    #[doc(hidden)]
    type Least: Monoid<Self>;

    /// Gives the greater number.
    #[doc(hidden)]
    type Greatest: Monoid<Self>;

    /// The moments of the number, which are exact.
    #[doc(hidden)]
    type Measure: Function<Input = (Self,), Output = Moments>;

    /// The sum of so many numbers is exact in `f64`, and all sums on the way are, however it is
    /// bracketed.
    #[doc(hidden)]
    const MOST_EXACT: u64;

    /// A rank that grows with the number. Equal numbers have one rank, and NaN the least.
    #[doc(hidden)]
    type RankUp: Function<Input = (Self,), Output = u64>;

    /// A rank that falls as the number grows. Equal numbers have one rank, and NaN the least.
    #[doc(hidden)]
    type RankDown: Function<Input = (Self,), Output = u64>;

    /// An integer of as many bits.
    #[doc(hidden)]
    type Key: Ord + Copy + Send;

    /// A key that grows with the number. −0 comes before +0, and a NaN before all numbers or after
    /// them.
    #[doc(hidden)]
    fn key(self) -> Self::Key;

    /// The number that has a key.
    #[doc(hidden)]
    fn of_key(key: Self::Key) -> Self;
}

#[function]
fn rank_i32(x: i32) -> u32 {
    x as u32 ^ 1 << 31
}

#[function]
fn rank_i64(x: i64) -> u64 {
    x as u64 ^ 1 << 63
}

/// The bits of a float grow with its magnitude. −0 becomes 0, which it equals. Of a negative number
/// all bits are turned, of others the first one.
#[function]
fn rank_f32(x: f32) -> u32 {
    let bits = (x + 0.0).to_bits();
    bits ^ (((bits as i32) >> 31) as u32 | 1 << 31)
}

/// As for `f32`.
#[function]
fn rank_f64(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    bits ^ (((bits as i64) >> 63) as u64 | 1 << 63)
}

/// 0 for a NaN, and else all ones: with a branch, compilers would lose sight of what is 0.
#[function]
fn number_mask(x: f32) -> u32 {
    (!x.is_nan() as u32).wrapping_neg()
}

#[function]
fn number_mask_f64(x: f64) -> u64 {
    (!x.is_nan() as u64).wrapping_neg()
}

fn same<T>(x: T) -> T {
    x
}

/// The bits of a float, as a signed integer, grow with its magnitude. Of a negative number all but
/// the sign are turned, which turns them back, too.
macro_rules! keys {
    ($($float:ty as $key:ty, $bits:ty: $to_key:ident, $of_key:ident;)*) => {$(
        #[inline(always)]
        fn $to_key(x: $float) -> $key {
            let bits = x.to_bits() as $key;
            bits ^ ((bits >> (<$key>::BITS - 1)) as $bits >> 1) as $key
        }

        #[inline(always)]
        fn $of_key(key: $key) -> $float {
            let bits = key ^ ((key >> (<$key>::BITS - 1)) as $bits >> 1) as $key;
            <$float>::from_bits(bits as $bits)
        }
    )*};
}

keys! {
    f16 as i16, u16: key_f16, of_key_f16;
    bf16 as i16, u16: key_bf16, of_key_bf16;
    f32 as i32, u32: key_f32, of_key_f32;
    f64 as i64, u64: key_f64, of_key_f64;
}

/// The number as `f64`, and what rounding has taken from it.
#[function]
fn parts_i64(x: i64) -> (f64, f64) {
    let high = (x >> 32) as f64 * 4294967296.0;
    let low = (x as u32) as f64;
    let rounded = high + low;
    (rounded, low - (rounded - high))
}

/// As for `i64`.
#[function]
fn parts_u64(x: u64) -> (f64, f64) {
    let high = (x >> 32) as f64 * 4294967296.0;
    let low = (x as u32) as f64;
    let rounded = high + low;
    (rounded, low - (rounded - high))
}

/// The functions of each type, in a module of its own. `rank` is that of a number that is no NaN,
/// in 32 bits where that is enough: then the upper half of all ranks is known to be 0. The mask is
/// 0 for a NaN, else all ones.
macro_rules! numbers {
    ($(
        $module:ident: $number:ty as $wide:ty,
        |$x:ident| $widened:expr, $rank:expr, $number_mask:expr,
        $key:ty: $to_key:path, $of_key:path, $most_exact:expr, $parts:expr, $sum:ty;
    )*) => {$(
        #[doc(hidden)]
        #[allow(clippy::unnecessary_cast)]
        pub mod $module {
            use super::*;

            #[function]
            pub fn widened($x: $number) -> $wide {
                $widened
            }

            #[function]
            pub fn as_f64($x: $number) -> f64 {
                $widened as f64
            }

            #[function]
            pub fn as_i64($x: $number) -> i64 {
                $widened as i64
            }

            #[function]
            pub fn as_sum($x: $number) -> $sum {
                $widened as $sum
            }

            #[function]
            pub fn measure($x: $number) -> Moments {
                let (high, low) = $parts;
                single(high, low)
            }

            #[function]
            pub fn rank_up($x: $number) -> u64 {
                ($rank & $number_mask) as u64
            }

            #[function]
            pub fn rank_down($x: $number) -> u64 {
                (!$rank & $number_mask) as u64
            }
        }

        impl Number for $number {
            type Widened = $module::widened;
            type AsF64 = $module::as_f64;
            type AsI64 = $module::as_i64;
            type Sum = $sum;
            type AsSum = $module::as_sum;
            type Total = Add;
            type Least = Min;
            type Greatest = Max;
            type Measure = $module::measure;
            type RankUp = $module::rank_up;
            type RankDown = $module::rank_down;
            type Key = $key;

            const MOST_EXACT: u64 = $most_exact;

            #[inline(always)]
            fn key(self) -> $key {
                $to_key(self)
            }

            #[inline(always)]
            fn of_key(key: $key) -> $number {
                $of_key(key)
            }
        }
    )*};
}

/// Of integers below 2^16: their sum is below 2^53.
const SHORT: u64 = 1 << 37;

numbers! {
    of_u8: u8 as u8, |x| x, x as u32, !0, u8: same, same, SHORT, (x as f64, 0.0), u64;
    of_i8: i8 as i8, |x| x, rank_i32(x as i32), !0, i8: same, same, SHORT, (x as f64, 0.0), i64;
    of_u16: u16 as u16, |x| x, x as u32, !0, u16: same, same, SHORT, (x as f64, 0.0), u64;
    of_i16: i16 as i16, |x| x, rank_i32(x as i32), !0, i16: same, same, SHORT, (x as f64, 0.0), i64;
    of_u32: u32 as u32, |x| x, x as u32, !0, u32: same, same, 0, (x as f64, 0.0), u64;
    of_i32: i32 as i32, |x| x, rank_i32(x as i32), !0, i32: same, same, 0, (x as f64, 0.0), i64;
    of_u64: u64 as u64, |x| x, x, !0, u64: same, same, 0, parts_u64(x), u64;
    of_i64: i64 as i64, |x| x, rank_i64(x), !0, i64: same, same, 0, parts_i64(x), i64;
    of_f16: f16 as f32, |x| f32::from(x), rank_f32(f32::from(x)), number_mask(f32::from(x)),
        i16: key_f16, of_key_f16, 0, (f32::from(x) as f64, 0.0), f64;
    of_bf16: bf16 as f32, |x| f32::from(x), rank_f32(f32::from(x)), number_mask(f32::from(x)),
        i16: key_bf16, of_key_bf16, 0, (f32::from(x) as f64, 0.0), f64;
    of_f32: f32 as f32, |x| x, rank_f32(x), number_mask(x),
        i32: key_f32, of_key_f32, 0, (x as f64, 0.0), f64;
    of_f64: f64 as f64, |x| x, rank_f64(x), number_mask_f64(x),
        i64: key_f64, of_key_f64, 0, (x, 0.0), f64;
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Pod;

    /// Keys are in the order of the numbers, and each leads back to its number.
    fn check<T: Number + PartialOrd + Pod>(numbers: impl IntoIterator<Item = T>) {
        let mut numbers: Vec<T> = numbers.into_iter().collect();
        numbers.sort_by_key(|x| x.key());
        for x in &numbers {
            let same = T::of_key(x.key());
            assert_eq!(bytemuck::bytes_of(&same), bytemuck::bytes_of(x));
        }
        #[allow(clippy::eq_op)]
        let is_nan = |x: &T| x != x;
        let first = numbers.iter().position(|x| !is_nan(x)).unwrap();
        let last = numbers.iter().rposition(|x| !is_nan(x)).unwrap();
        let between = &numbers[first..=last];
        assert!(between.is_sorted());
        assert!(!between.iter().any(is_nan));
        // Where numbers are equal, −0 comes first.
        let is_negative = |x: &T| T::AsF64::call((*x,)).is_sign_negative();
        for pair in between.windows(2).filter(|pair| pair[0] == pair[1]) {
            assert!(is_negative(&pair[0]) || !is_negative(&pair[1]));
        }
    }

    #[test]
    fn keys_have_the_order_of_the_numbers() {
        check(u8::MIN..=u8::MAX);
        check(i8::MIN..=i8::MAX);
        check(u16::MIN..=u16::MAX);
        check(i16::MIN..=i16::MAX);
        check((u16::MIN..=u16::MAX).map(f16::from_bits));
        check((u16::MIN..=u16::MAX).map(bf16::from_bits));
        let words = || (u16::MIN..=u16::MAX).map(|bits| u32::from(bits) << 16 | 0x1234);
        check(words());
        check(words().map(|bits| bits as i32));
        let floats = words().chain([0, 1 << 31]).map(f32::from_bits);
        check(floats);
        let words = || words().map(|bits| u64::from(bits) << 32 | 1);
        check(words());
        check(words().map(|bits| bits as i64));
        check(words().chain([0, 1 << 63]).map(f64::from_bits));
    }
}
