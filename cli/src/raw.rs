//! Raw data: the elements alone, little endian.

use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::number::Number;
use crate::output::Output;
use warpfold::bytemuck;

/// Reads all elements.
pub(crate) fn read<T: Number>(input: &mut Input) -> Result<Vec<T>> {
    let (values, rest) = input.read_elements(usize::MAX)?;
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
    Ok(values)
}

/// Writes all elements.
pub(crate) fn write<T: Number>(values: &[T], output: &mut Output) -> Result<()> {
    output.write(bytemuck::cast_slice(values))
}
