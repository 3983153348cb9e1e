//! Quantiles of numbers that need not fit into memory.

use crate::failure::{Failure, Result};
use crate::number::DType;
use crate::text::Values;
use crate::value::Value;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use warpfold::{Device, Order, bytemuck};

/// So many keys are kept in memory, and more in a temporary file.
const KEPT_KEYS: usize = if cfg!(test) { 1 << 7 } else { 1 << 23 };

/// How many bits of the keys one reading tells apart.
const DIGIT_BITS: u32 = 16;

/// The numbers of a column, of which quantiles are wanted.
pub(super) struct Quantiles {
    device: Device,
    dtype: DType,
    /// A key for each number. Keys are ordered as the numbers are.
    keys: Vec<u64>,
    /// All keys, where they are too many for the memory.
    file: Option<File>,
    count: u64,
    has_nan: bool,
}

impl Quantiles {
    pub(super) fn new(device: &Device, dtype: DType) -> Self {
        Quantiles {
            device: device.clone(),
            dtype,
            keys: Vec::new(),
            file: None,
            count: 0,
            has_nan: false,
        }
    }

    pub(super) fn push(&mut self, values: &Values) -> Result<()> {
        (0..values.len()).for_each(|row| self.add(values, row));
        self.spill_much()
    }

    /// Takes the number in a row.
    pub(super) fn push_one(&mut self, values: &Values, row: usize) -> Result<()> {
        self.add(values, row);
        self.spill_much()
    }

    fn add(&mut self, values: &Values, row: usize) {
        let key = match self.dtype.is_float() {
            true => key_of_float(values.float(row)),
            false => key_of_integer(values.integer(row), self.dtype.is_signed()),
        };
        self.has_nan |= key.is_none();
        self.keys.push(key.unwrap_or(u64::MAX));
        self.count += 1;
    }

    fn spill_much(&mut self) -> Result<()> {
        match self.keys.len() > KEPT_KEYS {
            true => self.spill(),
            false => Ok(()),
        }
    }

    /// Moves keys from the memory to the file.
    fn spill(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile().map_err(failure)?),
        };
        file.write_all(bytemuck::cast_slice(&self.keys))
            .map_err(failure)?;
        self.keys.clear();
        Ok(())
    }

    /// The quantiles at some levels from 0 to 1, with NumPy's linear interpolation. Those of
    /// nothing have no value, and those of numbers with a NaN are NaN.
    pub(super) fn at(mut self, levels: &[f64]) -> Result<Vec<Value>> {
        if self.count == 0 || self.has_nan {
            let value = if self.has_nan {
                Value::Double(f64::NAN)
            } else {
                Value::Nothing
            };
            return Ok(vec![value; levels.len()]);
        }
        let last = self.count - 1;
        let places: Vec<f64> = levels.iter().map(|level| level * last as f64).collect();
        let ranks = places.iter().flat_map(|place| {
            let rank = (*place as u64).min(last);
            [rank, (rank + 1).min(last)]
        });
        let keys = self.select(ranks.collect())?;
        let between = |(place, ends): (&f64, &[u64])| self.between(ends[0], ends[1], place.fract());
        Ok(places.iter().zip(keys.chunks(2)).map(between).collect())
    }

    /// The keys of some ranks.
    fn select(&mut self, ranks: Vec<u64>) -> Result<Vec<u64>> {
        if self.file.is_none() {
            let keys = self.device.upload(&self.keys)?;
            let ranks: Vec<usize> = ranks.into_iter().map(|rank| rank as usize).collect();
            return Ok(self.device.select_nths(&keys, &ranks, Order::ascending())?);
        }
        self.spill()?;
        self.select_in_file(ranks)
    }

    /// The keys of some ranks, by one digit after the other.
    fn select_in_file(&mut self, ranks: Vec<u64>) -> Result<Vec<u64>> {
        // What is known of each key so far, and its rank among those that begin so.
        let mut known: Vec<(u64, u64)> = ranks.into_iter().map(|rank| (0, rank)).collect();
        for shift in (0..u64::BITS).step_by(DIGIT_BITS as usize).rev() {
            let mut prefixes: Vec<u64> = known.iter().map(|(prefix, _)| *prefix).collect();
            prefixes.sort_unstable();
            prefixes.dedup();
            let mut counts = vec![0_u64; prefixes.len() << DIGIT_BITS];
            self.for_each(|key| {
                let prefix = key.checked_shr(shift + DIGIT_BITS).unwrap_or(0);
                if let Ok(place) = prefixes.binary_search(&prefix) {
                    let digit = (key >> shift) as usize & ((1 << DIGIT_BITS) - 1);
                    counts[place << DIGIT_BITS | digit] += 1;
                }
            })?;
            for (prefix, rank) in &mut known {
                let place = prefixes.binary_search(prefix).expect("it is one of them");
                let mut digit = 0;
                let counts = &counts[place << DIGIT_BITS..];
                while *rank >= counts[digit] {
                    *rank -= counts[digit];
                    digit += 1;
                }
                *prefix = *prefix << DIGIT_BITS | digit as u64;
            }
        }
        Ok(known.into_iter().map(|(key, _)| key).collect())
    }

    fn for_each(&mut self, mut work: impl FnMut(u64)) -> Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.rewind().map_err(failure)?;
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut key = [0; 8];
        for _ in 0..self.count {
            reader.read_exact(&mut key).map_err(failure)?;
            work(u64::from_le_bytes(key));
        }
        Ok(())
    }

    /// What lies between two numbers.
    fn between(&self, low: u64, high: u64, part: f64) -> Value {
        if self.dtype.is_float() {
            return Value::Double(interpolated(float_of(low), float_of(high), part));
        }
        let signed = self.dtype.is_signed();
        let [low, high] = [low, high].map(|key| integer_of(key, signed));
        let is_exact = |end: i128| end.unsigned_abs() <= 1 << 53;
        match part == 0.0 || low == high {
            true => Value::Integer(low),
            false if is_exact(low) && is_exact(high) => {
                Value::Double(interpolated(low as f64, high as f64, part))
            }
            false => Value::Double(interpolated_exactly(low, high, part)),
        }
    }
}

/// What lies between two integers that no float holds, rounded once.
fn interpolated_exactly(low: i128, high: i128, part: f64) -> f64 {
    const BITS: i32 = 60;
    let one = 2_f64.powi(BITS);
    // Ends have 65 bits with their sign.
    ((low << BITS) + (high - low) * (part * one) as i128) as f64 / one
}

/// As NumPy does it: from the nearer end. An infinite end takes all that is between.
fn interpolated(low: f64, high: f64, part: f64) -> f64 {
    if low == high || part == 0.0 {
        return low;
    }
    match (low.is_finite(), high.is_finite()) {
        (true, false) => high,
        (false, true) => low,
        _ if !(high - low).is_finite() => low * (1.0 - part) + high * part,
        _ if part < 0.5 => low + (high - low) * part,
        _ => high - (high - low) * (1.0 - part),
    }
}

const SIGN: u64 = 1 << 63;

fn key_of_integer(value: i128, signed: bool) -> Option<u64> {
    Some(value as u64 ^ if signed { SIGN } else { 0 })
}

fn integer_of(key: u64, signed: bool) -> i128 {
    match signed {
        true => ((key ^ SIGN) as i64).into(),
        false => key.into(),
    }
}

/// A NaN has none.
fn key_of_float(value: f64) -> Option<u64> {
    let bits = value.to_bits();
    let key = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    (!value.is_nan()).then_some(key)
}

fn float_of(key: u64) -> f64 {
    f64::from_bits(if key & SIGN == 0 { !key } else { key ^ SIGN })
}

fn failure(error: io::Error) -> Failure {
    Failure::at("a temporary file", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Number;

    fn at<T: Number>(values: &[T], levels: &[f64]) -> Vec<Value> {
        let mut quantiles = Quantiles::new(&Device::cpu(), T::DTYPE);
        for piece in values.chunks(50) {
            quantiles.push(&T::to_values(piece.to_vec())).unwrap();
        }
        quantiles.at(levels).unwrap()
    }

    #[test]
    fn quantiles_are_those_of_numpy() {
        let quarters = [0.0, 0.25, 0.5, 0.75, 1.0];
        let double = Value::Double;
        assert_eq!(
            at(&[3_i8, -128, 127, 5], &quarters),
            [
                Value::Integer(-128),
                double(-29.75),
                double(4.0),
                double(35.5),
                Value::Integer(127)
            ]
        );
        assert_eq!(
            at(&[f64::INFINITY, -0.5, 2.0], &quarters[1..4]),
            [double(0.75), double(2.0), double(f64::INFINITY)]
        );
        let huge = [u64::MAX, u64::MAX - 2, u64::MAX - 1];
        assert_eq!(
            at(&huge, &[0.5]),
            [Value::Integer(i128::from(u64::MAX) - 1)]
        );
        assert_eq!(at::<f32>(&[], &[0.5]), [Value::Nothing]);
        assert_eq!(at(&[1.5_f32], &[0.3]), [double(1.5)]);
        assert!(matches!(at(&[1.0, f64::NAN], &[0.5])[..], [Value::Double(x)] if x.is_nan()));
    }

    proptest::proptest! {
        #[test]
        fn every_rank_is_that_of_the_sorted_numbers(
            mut values in proptest::collection::vec(proptest::num::i64::ANY, 1..400),
        ) {
            let last = (values.len() - 1).max(1) as f64;
            // A table of each prefix takes time.
            let ranks: Vec<usize> = (0..values.len()).step_by(values.len() / 8 + 1).collect();
            let levels: Vec<f64> = ranks.iter().map(|&rank| rank as f64 / last).collect();
            let found = at(&values, &levels);
            values.sort_unstable();
            for (rank, value) in ranks.into_iter().zip(found) {
                // The product of a level and the number of gaps may be rounded.
                let expected = values[rank] as f64;
                let value: f64 = value.text().parse().unwrap();
                proptest::prop_assert!((value - expected).abs() <= 1e-9 * 1.9e19);
            }
        }
    }
}
