//! Raw data: the elements alone, little endian.

use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::number::DType;
use crate::text::Values;

/// So much is looked through for records.
const LOOK_BYTES: usize = 1 << 16;

/// Integers that are as long as the lengths of records are judged from so many bytes on.
const LEAST_OF_INTEGERS: usize = 64;

/// Whether the data look like unformatted records of Fortran, of elements of so many bytes: before
/// and behind each stands how long it is, in 4 bytes or in 8, in the order of bytes of the data.
pub(crate) fn has_records(input: &mut Input, dtype: DType) -> Result<bool> {
    let size = dtype.size();
    let remaining = input.remaining();
    let start = input.peek(LOOK_BYTES)?;
    // One number alone, again and again, says no lengths.
    let words = || start.chunks_exact(8);
    if words().all(|word| Some(word) == words().next()) {
        return Ok(false);
    }
    let kinds = [(4, false), (8, false), (4, true), (8, true)].into_iter();
    // A few integers can be lengths by chance.
    let kinds = kinds.filter(|&(width, _)| {
        dtype.is_float() || size != width || start.len() >= LEAST_OF_INTEGERS
    });
    let mut found = kinds.map(|(width, is_big_endian)| {
        let length_at = |at: usize| {
            let mut bytes = [0; 8];
            bytes[..width].copy_from_slice(start.get(at..)?.get(..width)?);
            if is_big_endian {
                bytes[..width].reverse();
            }
            usize::try_from(u64::from_le_bytes(bytes)).ok()
        };
        are_records(start.len(), remaining, size, width, length_at)
    });
    Ok(found.any(|found| found))
}

/// Whether lengths of so many bytes stand around records, in the first `count` bytes of the data.
fn are_records(
    count: usize,
    remaining: Option<u64>,
    size: usize,
    width: usize,
    length_at: impl Fn(usize) -> Option<usize>,
) -> bool {
    let is_all = count < LOOK_BYTES;
    let mut at = 0;
    while at < count {
        let Some(length) = length_at(at) else {
            return !is_all && at > 0;
        };
        // Two shorter numbers may be equal by chance.
        if length < 8 || length % size > 0 {
            return false;
        }
        let Some(end) = length.checked_add(at + width) else {
            return false;
        };
        match length_at(end) {
            Some(again) if again == length => at = end + width,
            Some(_) => return false,
            None => {
                let whole = remaining == Some(length.saturating_add(2 * width) as u64);
                return !is_all && (at > 0 || whole);
            }
        }
    }
    at > 0
}

/// Reads up to so many numbers. Fewer are the last.
pub(crate) fn read(input: &mut Input, dtype: DType, count: usize) -> Result<Values> {
    let mut values = Values::zeros(dtype, count);
    let filled = input.fill(values.bytes_mut())?;
    let (whole, rest) = (filled / dtype.size(), filled % dtype.size());
    if rest > 0 {
        return Err(Failure::with_remedy(
            &input.name,
            format_args!(
                "{} bytes are no whole number of {} elements of {} bytes: {rest} left over at byte {}",
                input.position(),
                dtype,
                dtype.size(),
                input.position() - rest as u64,
            ),
            "check --dtype, or whether the file is complete",
        ));
    }
    values.truncate(whole);
    Ok(values)
}
