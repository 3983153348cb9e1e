//! The numbers that have statistics, and the functions of each type that statistics are made of.

use crate::source::Comparable;
use crate::{Function, Scalar, function};
use half::{bf16, f16};

/// The real numbers of all types: what has statistics.
pub trait Number: Comparable<Accumulator: Scalar> {
    /// The number in the type that it is compared in; exact.
    #[doc(hidden)]
    type Widened: Function<Input = (Self,), Output = Self::Accumulator>;

    /// The number as `f64`, rounded to nearest.
    #[doc(hidden)]
    type AsF64: Function<Input = (Self,), Output = f64>;

    /// A rank that grows with the number. Equal numbers have one rank, and NaN the least.
    #[doc(hidden)]
    type RankUp: Function<Input = (Self,), Output = u64>;

    /// A rank that falls as the number grows. Equal numbers have one rank, and NaN the least.
    #[doc(hidden)]
    type RankDown: Function<Input = (Self,), Output = u64>;
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

/// The functions of each type, in a module of its own. `rank` is that of a number that is no NaN,
/// in 32 bits where that is enough: then the upper half of all ranks is known to be 0. The mask is
/// 0 for a NaN, else all ones.
macro_rules! numbers {
    ($(
        $module:ident: $number:ty as $wide:ty,
        |$x:ident| $widened:expr, $rank:expr, $number_mask:expr;
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
            type RankUp = $module::rank_up;
            type RankDown = $module::rank_down;
        }
    )*};
}

numbers! {
    of_u8: u8 as u8, |x| x, x as u32, !0;
    of_i8: i8 as i8, |x| x, rank_i32(x as i32), !0;
    of_u16: u16 as u16, |x| x, x as u32, !0;
    of_i16: i16 as i16, |x| x, rank_i32(x as i32), !0;
    of_u32: u32 as u32, |x| x, x as u32, !0;
    of_i32: i32 as i32, |x| x, rank_i32(x as i32), !0;
    of_u64: u64 as u64, |x| x, x, !0;
    of_i64: i64 as i64, |x| x, rank_i64(x), !0;
    of_f16: f16 as f32, |x| f32::from(x), rank_f32(f32::from(x)), number_mask(f32::from(x));
    of_bf16: bf16 as f32, |x| f32::from(x), rank_f32(f32::from(x)), number_mask(f32::from(x));
    of_f32: f32 as f32, |x| x, rank_f32(x), number_mask(x);
    of_f64: f64 as f64, |x| x, rank_f64(x), number_mask_f64(x);
}
