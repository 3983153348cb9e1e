//! Segments: reductions and scans of many slices of an array, and runs of equal keys.

use crate::array::{Input, Output, array_of};
use crate::dtype::{DType, with_words};
use crate::ops::{Op, number, with_operator};
use crate::run::run;
use crate::scan::prefixes;
use pyo3::prelude::*;
use warpfold::Offsets;

/// Folds the rows of each segment, column by column. Offsets are uint64, one more than segments.
#[pyfunction]
#[pyo3(signature = (x, dtype, op, offsets, initial))]
pub(crate) fn segment_reduce<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    op: &str,
    offsets: &Bound<'py, PyAny>,
    initial: Option<&[u8]>,
) -> PyResult<Bound<'py, PyAny>> {
    let input = Input::new(x, dtype)?.contiguous()?;
    let offsets = Input::new(offsets, DType::U64 as u8)?.contiguous()?;
    let offsets = offsets.items::<u64>();
    let (to, op) = (input.dtype, Op::of(op)?);
    let mut shape = input.shape().to_vec();
    let inner: usize = shape[1..].iter().product();
    let is_flat = shape.len() == 1;
    shape[0] = offsets.len().saturating_sub(1);
    with_operator!(to, op, (T, O) => {
        let (items, init) = (input.items::<T>(), number::<T>(initial)?);
        let folds = run(py, input.bytes(), || {
            let segments = Offsets::new(offsets)?;
            match (is_flat, init) {
                (true, None) => warpfold::segmented_reduce::<T, O>(items, segments),
                (true, Some(init)) => warpfold::segmented_reduce_from::<T, O>(init, items, segments),
                (false, None) => {
                    warpfold::segmented_reduce_vectors::<T, O>(items, inner, segments)
                }
                (false, Some(init)) => {
                    warpfold::segmented_reduce_vectors_from::<T, O>(init, items, inner, segments)
                }
            }
        })?;
        array_of(py, folds, &shape, to)
    })
}

/// Scans each segment. Items of none keep their value.
#[pyfunction]
#[pyo3(signature = (x, dtype, op, offsets, form, initial))]
pub(crate) fn segment_scan<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    op: &str,
    offsets: &Bound<'py, PyAny>,
    form: (bool, bool),
    initial: Option<&[u8]>,
) -> PyResult<Bound<'py, PyAny>> {
    let input = Input::new(x, dtype)?.contiguous()?;
    let offsets = Input::new(offsets, DType::U64 as u8)?.contiguous()?;
    let offsets = offsets.items::<u64>();
    let (to, op) = (input.dtype, Op::of(op)?);
    with_operator!(to, op, (T, O) => {
        let prefixes = prefixes(form, number::<T>(initial)?);
        let mut output = Output::empty(py, input.shape(), to)?;
        let (items, results) = (input.items::<T>(), output.items::<T>());
        run(py, input.bytes(), || {
            let segments = Offsets::new(offsets)?;
            warpfold::segmented_scan_into::<T, O>(prefixes, items, segments, results)
        })?;
        Ok(output.object)
    })
}

/// The offsets of the runs of equal keys: where each starts, and the number of keys.
#[pyfunction]
pub(crate) fn runs<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyAny>,
    dtype: u8,
) -> PyResult<Bound<'py, PyAny>> {
    let input = Input::new(keys, dtype)?.contiguous()?;
    let len = input.len();
    let offsets = with_words!(input.dtype, T => {
        let items = input.items::<T>();
        run(py, input.bytes(), || {
            let mut starts = warpfold::runs(items)?.starts;
            starts.push(len as u64);
            Ok(starts)
        })?
    });
    let shape = [offsets.len()];
    array_of(py, offsets, &shape, DType::U64)
}
