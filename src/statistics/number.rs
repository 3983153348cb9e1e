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
fn rank_i64(x: i64) -> u64 {
    x as u64 ^ 1 << 63
}

/// The bits of a float grow with its magnitude. −0 becomes 0, which it equals.
#[function]
fn rank_f32(x: f32) -> u64 {
    let bits = (x + 0.0).to_bits();
    let rank = if bits >> 31 != 0 {
        !bits
    } else {
        bits | 1 << 31
    };
    rank as u64
}

/// As for `f32`.
#[function]
fn rank_f64(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    if bits >> 63 != 0 {
        !bits
    } else {
        bits | 1 << 63
    }
}

/// The functions of each type, in a module of its own. `rank` is that of a number that is no NaN.
macro_rules! numbers {
    ($($module:ident: $number:ty as $wide:ty, |$x:ident| $widened:expr, $rank:expr, $is_nan:expr;)*) => {$(
        #[doc(hidden)]
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
                if $is_nan { 0 } else { $rank }
            }

            #[function]
            pub fn rank_down($x: $number) -> u64 {
                if $is_nan { 0 } else { !$rank }
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
    of_u8: u8 as u8, |x| x, x as u64, false;
    of_i8: i8 as i8, |x| x, rank_i64(x as i64), false;
    of_u16: u16 as u16, |x| x, x as u64, false;
    of_i16: i16 as i16, |x| x, rank_i64(x as i64), false;
    of_u32: u32 as u32, |x| x, x as u64, false;
    of_i32: i32 as i32, |x| x, rank_i64(x as i64), false;
    of_u64: u64 as u64, |x| x, x, false;
    of_i64: i64 as i64, |x| x, rank_i64(x), false;
    of_f16: f16 as f32, |x| f32::from(x), rank_f32(f32::from(x)), f32::from(x).is_nan();
    of_bf16: bf16 as f32, |x| f32::from(x), rank_f32(f32::from(x)), f32::from(x).is_nan();
    of_f32: f32 as f32, |x| x, rank_f32(x), x.is_nan();
    of_f64: f64 as f64, |x| x, rank_f64(x), x.is_nan();
}
