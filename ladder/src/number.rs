//! The numbers that the ladder is for.

use warpfold::half::{bf16, f16};
use warpfold::{Monoid, Sortable, ops};

/// A number type of the ladder.
pub trait Number: Sortable {
    /// Its name.
    const NAME: &'static str;
    /// Whether it is a float.
    const IS_FLOAT: bool;
    /// The sum.
    type Sum: Monoid<Self>;
    /// The product, for dot products.
    type Product: Monoid<Self>;

    /// A small number; of unsigned types, a small number that is not negative.
    fn of(number: i8) -> Self;
}

macro_rules! numbers {
    ($($number:ident $is_float:literal $of:expr;)*) => {$(
        impl Number for $number {
            const NAME: &'static str = stringify!($number);
            const IS_FLOAT: bool = $is_float;
            type Sum = ops::Add;
            type Product = ops::Mul;

            fn of(number: i8) -> Self {
                $of(number)
            }
        }
    )*};
}

numbers! {
    u8 false |n| n as u8; i8 false |n| n; u16 false |n| n as u16; i16 false i16::from;
    u32 false |n| n as u32; i32 false i32::from; u64 false |n| n as u64; i64 false i64::from;
    f16 true |n| f16::from_f32(f32::from(n)); bf16 true |n| bf16::from_f32(f32::from(n));
    f32 true f32::from; f64 true f64::from;
}
