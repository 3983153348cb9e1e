//! Numbers of one type in another, as Rust's `as` has it.
//!
//! Integers become integers by way of 64 bits, and all else goes by way of `f64`, in which an
//! integer keeps what decides its next rounding. So a loop is compiled for each type, and none for
//! each pair of types.

use crate::number::{DType, Number, with_number};
use warpfold::bytemuck;

/// So many numbers are on their way at a time. They stay in the L1 cache.
const BLOCK: usize = 512;

/// Writes numbers of one type in another. Both lie as memory holds them.
pub(crate) fn cast((from, source): (DType, &[u8]), (to, target): (DType, &mut [u8])) {
    assert_eq!(source.len() / from.size(), target.len() / to.size());
    if from == to {
        return target.copy_from_slice(source);
    }
    let by_floats = from.is_float() || to.is_float();
    let mut words = [0_u64; BLOCK];
    let sources = source.chunks(BLOCK * from.size());
    for (source, target) in sources.zip(target.chunks_mut(BLOCK * to.size())) {
        let words = &mut words[..source.len() / from.size()];
        match by_floats {
            true => {
                let is_rounded_again = !from.is_float() && from.size() == 8 && to.size() < 8;
                let floats = bytemuck::cast_slice_mut(words);
                match is_rounded_again {
                    true => to_odd_floats(from, source, floats),
                    false => to_floats(from, source, floats),
                }
                of_floats(to, floats, target);
            }
            false => {
                to_words(from, source, words);
                of_words(to, words, target);
            }
        }
    }
}

fn to_floats(dtype: DType, source: &[u8], floats: &mut [f64]) {
    with_number!(dtype, T => {
        let numbers: &[T] = bytemuck::cast_slice(source);
        floats.iter_mut().zip(numbers).for_each(|(to, number)| *to = number.to_float());
    });
}

/// Of integers that are rounded again.
fn to_odd_floats(dtype: DType, source: &[u8], floats: &mut [f64]) {
    with_number!(dtype, T => {
        let numbers: &[T] = bytemuck::cast_slice(source);
        floats.iter_mut().zip(numbers).for_each(|(to, number)| *to = odd(number.to_integer()));
    });
}

/// The number, or of the two floats that it lies between the one with an odd last bit. So a second
/// rounding, to fewer bits, sees on which side of a tie it lies (Boldo and Melquiond 2008).
fn odd(number: i128) -> f64 {
    let near = number as f64;
    let back = near as i128;
    if back == number {
        return near;
    }
    let away = back.unsigned_abs() > number.unsigned_abs();
    f64::from_bits((near.to_bits() - u64::from(away)) | 1)
}

fn of_floats(dtype: DType, floats: &[f64], target: &mut [u8]) {
    with_number!(dtype, T => {
        let numbers: &mut [T] = bytemuck::cast_slice_mut(target);
        numbers.iter_mut().zip(floats).for_each(|(to, float)| *to = T::from_float(*float));
    });
}

/// Of integers.
fn to_words(dtype: DType, source: &[u8], words: &mut [u64]) {
    with_number!(dtype, T => {
        let numbers: &[T] = bytemuck::cast_slice(source);
        words.iter_mut().zip(numbers).for_each(|(to, number)| *to = number.to_integer() as u64);
    });
}

/// Of integers.
fn of_words(dtype: DType, words: &[u64], target: &mut [u8]) {
    with_number!(dtype, T => {
        let numbers: &mut [T] = bytemuck::cast_slice_mut(target);
        let words = words.iter().map(|&word| word.into());
        numbers.iter_mut().zip(words).for_each(|(to, word)| *to = T::from_integer(word));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Values;
    use clap::ValueEnum;
    use warpfold::half::f16;

    /// The numbers in a type, by way of all that is cast.
    fn cast_one<T: Number, A: Number>(number: T) -> A {
        let all = T::to_values(vec![number; BLOCK + 3]).into_vec::<A>();
        assert_eq!(all.len(), BLOCK + 3);
        all[BLOCK + 2]
    }

    #[test]
    fn numbers_are_cast_as_by_rust() {
        assert_eq!(cast_one::<i8, u64>(-1), u64::MAX);
        assert_eq!(cast_one::<i8, u16>(-2), 0xfffe);
        assert_eq!(cast_one::<u64, i64>(u64::MAX), -1);
        assert_eq!(cast_one::<u64, i8>(0x1_80), -128);
        assert_eq!(cast_one::<u64, f64>(u64::MAX), u64::MAX as f64);
        assert_eq!(cast_one::<i64, f32>(-3), -3.0);
        assert_eq!(cast_one::<f64, u8>(-3.7), 0);
        assert_eq!(cast_one::<f64, i32>(1e10), i32::MAX);
        assert_eq!(cast_one::<f32, i64>(-1.9), -1);
        assert_eq!(cast_one::<f64, f16>(65_519.0), f16::MAX);
        assert_eq!(
            cast_one::<f16, f32>(f16::from_f32(0.1)),
            f16::from_f32(0.1).to_f32()
        );
    }

    #[test]
    fn integers_are_rounded_once() {
        // Just above, at, and just below the middle between two floats.
        let middle = ((1_i64 << 24) + 1) << 37;
        for number in [middle + 1, middle, middle - 1, i64::MAX, i64::MIN + 1] {
            assert_eq!(cast_one::<i64, f32>(number), number as f32, "{number}");
            assert_eq!(cast_one::<i64, f32>(-number), -number as f32, "-{number}");
            assert_eq!(cast_one::<i64, f64>(number), number as f64, "{number}");
        }
        assert_eq!(cast_one::<u64, f32>(u64::MAX - 1), u64::MAX as f32);
        assert_eq!(cast_one::<u64, f32>(1), 1.0);
    }

    #[test]
    fn small_numbers_are_the_same_in_all_types() {
        for &from in DType::value_variants() {
            for &to in DType::value_variants() {
                let numbers = Values::from((0..100_u8).collect::<Vec<_>>());
                let there_and_back = numbers.clone().cast(from).cast(to).cast(DType::U8);
                assert_eq!(there_and_back, numbers, "{from} {to}");
            }
        }
    }
}
