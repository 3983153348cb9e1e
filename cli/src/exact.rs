//! Sums and products of integers that neither wrap nor round.

use crate::failure::Result;
use warpfold::{Buffer, Device, Element, map, monoid};

/// An integer of 128 bits, in two's complement.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub(crate) struct Wide {
    low: u64,
    high: i64,
}

/// The sum. 2^63 numbers of 64 bits fit.
#[monoid(name = Total, identity = Wide { low: 0, high: 0 }, exact, commutative)]
fn total(a: Wide, b: Wide) -> Wide {
    let low = a.low.wrapping_add(b.low);
    let carry = if low < b.low { 1_i64 } else { 0_i64 };
    Wide {
        low,
        high: a.high.wrapping_add(b.high).wrapping_add(carry),
    }
}

/// A product: its size, its sign, and whether the size is too large for 64 bits.
///
/// Sizes of factors other than 0 never shrink a product, so what is too large stays too large,
/// however it is bracketed, unless a factor is 0.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub(crate) struct Product {
    size: u64,
    negative: u32,
    too_large: u32,
}

/// The product.
#[monoid(name = Times, identity = Product { size: 1, negative: 0, too_large: 0 }, exact, commutative)]
fn times(a: Product, b: Product) -> Product {
    if a.size == 0 || b.size == 0 {
        return Product {
            size: 0,
            negative: 0,
            too_large: 0,
        };
    }
    let fits = b.size <= u64::MAX / a.size;
    let too_large = if fits { a.too_large | b.too_large } else { 1 };
    Product {
        // One size stands for all that are too large.
        size: if too_large == 0 { a.size.wrapping_mul(b.size) } else { u64::MAX },
        negative: if too_large == 0 { a.negative ^ b.negative } else { 0 },
        too_large,
    }
}

impl Wide {
    fn value(self) -> i128 {
        i128::from(self.high) << 64 | i128::from(self.low)
    }
}

impl Product {
    /// The value; what is too large is the greatest there is.
    fn value(self) -> i128 {
        match (self.too_large, self.negative) {
            (1, _) => i128::MAX,
            (_, 1) => -i128::from(self.size),
            _ => i128::from(self.size),
        }
    }
}

macro_rules! integers {
    ($($number:ident, |$x:ident| $high:expr, $size:expr, $negative:expr;)*) => {$(
        /// For elements of this type.
        pub(crate) mod $number {
            use super::*;
            use warpfold::function;

            #[function]
            pub(crate) fn wide($x: $number) -> Wide {
                Wide { low: $x as u64, high: $high }
            }

            #[function]
            pub(crate) fn factor($x: $number) -> Product {
                Product { size: $size, negative: $negative, too_large: 0 }
            }

            pub(crate) fn sum(device: &Device, values: &Buffer<$number>) -> Result<i128> {
                Ok(device.reduce::<Wide, Total>(map::<wide, _>(values))?.value())
            }

            pub(crate) fn product(device: &Device, values: &Buffer<$number>) -> Result<i128> {
                Ok(device.reduce::<Product, Times>(map::<factor, _>(values))?.value())
            }
        }
    )*};
}

integers! {
    u8, |x| 0, x as u64, 0;
    u16, |x| 0, x as u64, 0;
    u32, |x| 0, x as u64, 0;
    u64, |x| 0, x, 0;
    i8, |x| (x as i64) >> 63, x.unsigned_abs() as u64, if x < 0 { 1_u32 } else { 0_u32 };
    i16, |x| (x as i64) >> 63, x.unsigned_abs() as u64, if x < 0 { 1_u32 } else { 0_u32 };
    i32, |x| (x as i64) >> 63, x.unsigned_abs() as u64, if x < 0 { 1_u32 } else { 0_u32 };
    i64, |x| x >> 63, x.unsigned_abs(), if x < 0 { 1_u32 } else { 0_u32 };
}
