//! Search, distinct numbers, and selection. Arrays have one axis.

use crate::array::{Input, array_of};
use crate::dtype::{DType, with_bits, with_numbers, with_words};
use crate::run::run;
use crate::sort::{Direction, order};
use pyo3::prelude::*;
use warpfold::{Distinct, Indices};

/// Where numbers would be inserted into sorted ones of their dtype.
#[pyfunction]
pub(crate) fn searchsorted<'py>(
    py: Python<'py>,
    sorted: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    dtype: u8,
    right: bool,
    direction: Direction,
) -> PyResult<Bound<'py, PyAny>> {
    let sorted = Input::new(sorted, dtype)?.contiguous()?;
    let values = Input::new(values, dtype)?.contiguous()?;
    let order = order(direction);
    let places = with_numbers!(sorted.dtype, T => {
        let (sorted, needles) = (sorted.items::<T>(), values.items::<T>());
        run(py, values.bytes(), || match right {
            true => warpfold::upper_bound(sorted, needles, order),
            false => warpfold::lower_bound(sorted, needles, order),
        })?
    });
    array_of(py, places, values.shape(), DType::I64)
}

/// The distinct numbers, sorted; how many there are of each; and where each stands first.
#[pyfunction]
pub(crate) fn unique<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    direction: Direction,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let input = Input::new(x, dtype)?.contiguous()?;
    let order = order(direction);
    with_numbers!(input.dtype, T => {
        let items = input.items::<T>();
        let Distinct { values, counts, firsts } =
            run(py, input.bytes(), || warpfold::unique_counts(items, order))?;
        let shape = [values.len()];
        Ok((
            array_of(py, values, &shape, input.dtype)?,
            array_of(py, counts, &shape, DType::I64)?,
            array_of(py, firsts, &shape, DType::I64)?,
        ))
    })
}

/// The places of the numbers that are not zero.
#[pyfunction]
pub(crate) fn positions<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
) -> PyResult<Bound<'py, PyAny>> {
    let input = Input::new(x, dtype)?.contiguous()?;
    let places = with_words!(input.dtype, T => {
        let flags = warpfold::flags::<T, _>(input.items::<T>());
        run(py, input.bytes(), || warpfold::positions(flags))?
    });
    let shape = [places.len()];
    array_of(py, places, &shape, DType::I64)
}

/// The items for which a flag, of which there are as many, is set.
#[pyfunction]
pub(crate) fn compress<'py>(
    py: Python<'py>,
    flags: &Bound<'py, PyAny>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
) -> PyResult<Bound<'py, PyAny>> {
    let flags = Input::new(flags, DType::Bool as u8)?.contiguous()?;
    let input = Input::new(x, dtype)?.contiguous()?;
    let flags = flags.items::<u8>();
    with_bits!(input.dtype, T => {
        let pairs = warpfold::zip(input.items::<T>(), warpfold::flags::<u8, _>(flags));
        let kept = run(py, input.bytes(), || warpfold::select_flagged::<T>(pairs))?;
        let shape = [kept.len()];
        array_of(py, kept, &shape, input.dtype)
    })
}

/// The items at places, each of which is less than the number of items.
#[pyfunction]
pub(crate) fn take<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    places: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let input = Input::new(x, dtype)?.contiguous()?;
    let places = Input::new(places, DType::I64 as u8)?.contiguous()?;
    let indices = places.items::<i64>();
    with_bits!(input.dtype, T => {
        let items = input.items::<T>();
        let taken = run(py, places.bytes(), || {
            warpfold::collect(warpfold::gather(items, Indices::new(indices)?))
        })?;
        array_of(py, taken, places.shape(), input.dtype)
    })
}
