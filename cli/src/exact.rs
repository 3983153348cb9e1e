//! Sums and products of integers that neither wrap nor round.

use crate::failure::Result;
use crate::input::SharedFile;
use crate::number::{Number, with_number};
use crate::text::Values;
use warpfold::{Device, Element, Reducer, bytemuck, function, map, monoid};

/// An integer of 128 bits, in two's complement.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Wide {
    low: u64,
    high: i64,
}

impl From<i128> for Wide {
    fn from(value: i128) -> Self {
        Wide {
            low: value as u64,
            high: (value >> 64) as i64,
        }
    }
}

impl From<Wide> for i128 {
    fn from(Wide { low, high }: Wide) -> Self {
        i128::from(high) << 64 | i128::from(low)
    }
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

#[function]
fn unsigned(x: u64) -> Wide {
    Wide { low: x, high: 0 }
}

#[function]
fn signed(x: i64) -> Wide {
    Wide {
        low: x as u64,
        high: x >> 63,
    }
}

/// The sum of integers of 64 bits.
pub(crate) fn sum(device: &Device, values: Values) -> Result<i128> {
    // A core adds up 128 bits as fast as memory brings the numbers.
    if device.is_cpu() {
        return Ok(values.sum());
    }
    let sum = match values {
        Values::I64(values) => {
            let values = device.upload_vec(values)?;
            device.reduce::<Wide, Total>(map::<signed, _>(&values))?
        }
        values => {
            let values = device.upload_vec(values.into_vec::<u64>())?;
            device.reduce::<Wide, Total>(map::<unsigned, _>(&values))?
        }
    };
    Ok(sum.into())
}

/// The sum of the integers in a file, by all threads.
pub(crate) fn sum_of_file(file: &SharedFile) -> Result<i128> {
    // Each thread adds up runs on its way, and the library their sums.
    const RUN: usize = 64;
    let mut sum = Reducer::<Wide, Total>::new();
    sum.push_read(file.count.div_ceil(RUN), |first, sums| {
        let (mut sums, start) = (sums.iter_mut(), first * RUN);
        let count = (sums.len() * RUN).min(file.count - start);
        file.blocks(start, count, &mut |block| {
            with_number!(file.dtype, T => {
                let numbers: &[T] = bytemuck::cast_slice(block);
                for (run, sum) in numbers.chunks(RUN).zip(&mut sums) {
                    *sum = run.iter().map(|number| number.to_integer()).sum::<i128>().into();
                }
            });
        })
    })?;
    Ok(sum.value().into())
}

/// The product, on the host: of all but ones, some dozens are out of every range. What is out of
/// that of `i128` becomes one of its ends, and stays out of the range of 64 bits, unless a factor
/// is 0.
pub(crate) fn product(values: &Values) -> i128 {
    let factors = (0..values.len()).map(|row| values.integer(row));
    factors.fold(1, i128::saturating_mul)
}

/// The `f64` nearest to `sum / count`; of two, the even one.
pub(crate) fn mean(sum: i128, count: u64) -> f64 {
    let (magnitude, count) = (sum.unsigned_abs(), u128::from(count.max(1)));
    if magnitude == 0 {
        return 0.0;
    }
    // At least 64 bits of the quotient, and a last one that says whether anything is left over.
    let shift = magnitude.leading_zeros();
    let shifted = magnitude << shift;
    let quotient = (shifted / count) | u128::from(!shifted.is_multiple_of(count));
    let mean = quotient as f64 * 0.5_f64.powi(shift as i32);
    if sum < 0 { -mean } else { mean }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::testing::assert_monoid;

    #[test]
    fn the_sum_of_128_bits_is_a_monoid() {
        let words = || proptest::prelude::any::<(u64, i64)>();
        let wide =
            || proptest::strategy::Strategy::prop_map(words(), |(low, high)| Wide { low, high });
        assert_monoid::<Wide, Total>(wide());
    }

    /// Each of these divides in `f64` what was rounded before, and is off by some units.
    #[test]
    fn means_are_rounded_once() {
        for (sum, count, expected) in [
            (0, 0, 0.0),
            (10, 4, 2.5),
            (-1, 3, -1.0 / 3.0),
            (i128::from(u64::MAX) * 3, 3, u64::MAX as f64),
            (9_007_199_254_740_993 * 3, 3, 9_007_199_254_740_992.0),
            (9_007_199_254_740_993 * 3 + 1, 3, 9_007_199_254_740_994.0),
            (9_007_199_254_740_995, 1, 9_007_199_254_740_996.0),
            (1, u64::MAX, 1.0 / u64::MAX as f64),
        ] {
            assert_eq!(mean(sum, count), expected, "{sum} / {count}");
        }
    }

    #[test]
    fn numbers_become_wide() {
        for x in [0, 1, -1, i64::MIN, i64::MAX] {
            let Wide { low, high } = signed(x);
            assert_eq!(i128::from(high) << 64 | i128::from(low), i128::from(x));
        }
        assert_eq!(
            unsigned(u64::MAX),
            Wide {
                low: u64::MAX,
                high: 0
            }
        );
    }

    #[test]
    fn products_neither_wrap_nor_lose_a_zero() {
        let signed = |values: &[i64]| product(&Values::from(values.to_vec()));
        assert_eq!(signed(&[1 << 62, 2, -1]), i128::from(i64::MIN));
        assert_eq!(product(&Values::from(vec![u64::MAX; 9])), i128::MAX);
        assert_eq!(signed(&[i64::MIN, i64::MIN, i64::MIN, 0, 5]), 0);
        assert_eq!(signed(&[]), 1);
    }
}
