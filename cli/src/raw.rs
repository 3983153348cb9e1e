//! Raw data: the elements alone, little endian.

use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::number::Number;
use warpfold::bytemuck;

/// So much is looked through for records.
const LOOK_BYTES: usize = 1 << 16;

/// Whether the data look like unformatted records of Fortran, of elements of so many bytes: 4 bytes
/// before and after each say how long it is.
pub(crate) fn has_records(input: &mut Input, size: usize) -> Result<bool> {
    let remaining = input.remaining();
    let start = input.peek(LOOK_BYTES)?;
    let is_all = start.len() < LOOK_BYTES;
    let length_at = |at: usize| {
        let bytes = start.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    };
    // One number alone, again and again, says no lengths.
    let words = || start.chunks_exact(4);
    if words().all(|word| Some(word) == words().next()) {
        return Ok(false);
    }
    let mut at = 0;
    while at < start.len() {
        let Some(length) = length_at(at) else {
            return Ok(!is_all && at > 0);
        };
        // Two shorter numbers may be equal by chance.
        if length < 8 || length % size > 0 {
            return Ok(false);
        }
        match length_at(at + 4 + length) {
            Some(again) if again == length => at += length + 8,
            Some(_) => return Ok(false),
            None => return Ok(!is_all && (at > 0 || remaining == Some(length as u64 + 8))),
        }
    }
    Ok(at > 0)
}

/// Reads up to so many numbers. Fewer are the last.
pub(crate) fn read<T: Number>(input: &mut Input, count: usize) -> Result<Vec<T>> {
    let mut values = vec![T::zeroed(); count];
    let filled = input.fill(bytemuck::cast_slice_mut(&mut values))?;
    let (whole, rest) = (filled / size_of::<T>(), filled % size_of::<T>());
    if rest > 0 {
        return Err(Failure::with_remedy(
            &input.name,
            format_args!(
                "{} bytes are no whole number of {} elements of {} bytes: {rest} left over at byte {}",
                input.position(),
                T::DTYPE,
                size_of::<T>(),
                input.position() - rest as u64,
            ),
            "check --dtype, or whether the file is complete",
        ));
    }
    values.truncate(whole);
    Ok(values)
}
