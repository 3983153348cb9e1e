//! Raw data: the elements alone, little endian.

use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::number::Number;
use warpfold::bytemuck;

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
