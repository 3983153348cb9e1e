//! Scans.

use crate::array::{Input, Output, array_of, in_order};
use crate::dtype::{DType, with_bits};
use crate::ops::{Op, number, with_operator};
use crate::reduce::Along;
use crate::run::run;
use crate::wide::with_wide;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use warpfold::source::Source;
use warpfold::{Axis, Element, Monoid, Prefixes, Rows};

/// Which prefixes: exclusive or not, from the end or not.
type Form = (bool, bool);

pub(crate) fn prefixes<T>((exclusive, reverse): Form, init: Option<T>) -> Prefixes<T> {
    let prefixes = match exclusive {
        true => Prefixes::exclusive(),
        false => Prefixes::inclusive(),
    };
    let prefixes = match init {
        Some(init) => prefixes.from(init),
        None => prefixes,
    };
    match reverse {
        true => prefixes.reverse(),
        false => prefixes,
    }
}

/// Scans an array along an axis, in items of dtype `to`, as `reduce` says. With `output`, an array
/// of one axis as the input, it writes there.
#[pyfunction]
#[pyo3(signature = (x, dtype, op, axis, to, form, initial, output))]
#[allow(clippy::too_many_arguments)] // They are the call's.
pub(crate) fn scan<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    op: &str,
    axis: usize,
    to: u8,
    form: Form,
    initial: Option<&[u8]>,
    output: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (op, to) = (Op::of(op)?, DType::of(to)?);
    let input = match output {
        // One lane without gaps, which is scanned into the output.
        Some(_) => Input::new(x, dtype)?.contiguous()?,
        None => Input::new(x, dtype)?,
    };
    let from = input.dtype;
    let along = Along::new(input, Some(vec![axis]), false)?;
    if from == to {
        return with_operator!(to, op, (T, O) => {
            let prefixes = prefixes(form, number::<T>(initial)?);
            scan_lanes::<T, O>(py, &along, along.items::<T>(), prefixes, to, output)
        });
    }
    with_wide!(from, to, op, (T, W, F, O) => {
        let source = warpfold::map::<F, _>(along.items::<T>());
        let prefixes = prefixes(form, number::<W>(initial)?);
        scan_lanes::<W, O>(py, &along, source, prefixes, to, output)
    })
}

fn scan_lanes<'py, T: Element, O: Monoid<T>>(
    py: Python<'py>,
    along: &Along<'py>,
    source: impl Source<Item = T> + Send,
    prefixes: Prefixes<T>,
    to: DType,
    output: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let axis: Axis = along.lanes.axis;
    let dense = axis.items() == along.extent();
    if axis.lanes() == 1 && dense {
        let mut output = match output {
            Some(object) => Output::over(object)?,
            None => Output::empty(py, &along.original, to)?,
        };
        with_bits!(along.input.dtype, B => output.check_apart(along.items::<B>()))?;
        let items = output.items::<T>();
        run(py, along.bytes(), || {
            warpfold::scan_into::<T, O>(prefixes, source, items)
        })?;
        return Ok(output.object);
    }
    if output.is_some() {
        return Err(PyValueError::new_err("an output is for arrays of one axis"));
    }
    // In memory's order: the outer axes, the one that is scanned, the inner ones.
    let (outer, inner) = along.lanes.kept.split_at(along.lanes.outer);
    let scanned = (0..along.input.shape().len()).find(|i| !along.lanes.kept.contains(i));
    let order: Vec<usize> = [outer, scanned.as_slice(), inner].concat();
    let shape: Vec<usize> = order.iter().map(|&i| along.original[i]).collect();
    if axis.inner_len() == 1 && dense {
        let mut output = Output::empty(py, &shape, to)?;
        let items = output.items::<T>();
        let rows = Rows::new(axis.lanes(), axis.lane_len());
        run(py, along.bytes(), || {
            warpfold::segmented_scan_into::<T, O>(prefixes, source, rows, items)
        })?;
        return in_order(output.object, &order);
    }
    let results = run(py, along.bytes(), || {
        warpfold::scan_axis::<T, O>(prefixes, source, axis)
    })?;
    in_order(array_of(py, results, &shape, to)?, &order)
}
