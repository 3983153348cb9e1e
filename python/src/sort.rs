//! Sorts, and the least and greatest few.

use crate::array::{Input, Output, array_of};
use crate::dtype::{DType, with_numbers};
use crate::run::run;
use pyo3::prelude::*;
use warpfold::{Order, Rows};

/// Whether the greatest comes first, and whether NaN comes last in either direction.
pub(crate) type Direction = (bool, bool);

pub(crate) fn order((descending, nan_last): Direction) -> Order {
    let order = match descending {
        true => Order::descending(),
        false => Order::ascending(),
    };
    match nan_last {
        true => order.nan_last(),
        false => order,
    }
}

/// The rows along the last axis of an array that has one.
fn rows(shape: &[usize]) -> Rows {
    let (len, outer) = shape.split_last().expect("the package asks for an axis");
    Rows::new(outer.iter().product(), *len)
}

/// Sorts along the last axis, or gives the places of the sorted numbers.
#[pyfunction]
pub(crate) fn sort<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    direction: Direction,
    places: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let input = Input::new(x, dtype)?.contiguous()?;
    let (shape, order, bytes) = (input.shape().to_vec(), order(direction), input.bytes());
    // Places are less than 2^63.
    let to = if places { DType::I64 } else { input.dtype };
    with_numbers!(input.dtype, T => {
        let items = input.items::<T>();
        if let [_] = shape[..] {
            let mut output = Output::empty(py, &shape, to)?;
            if places {
                let room = output.items::<u64>();
                run(py, bytes, || warpfold::argsort_into(items, order, room))?;
            } else {
                let room = output.items::<T>();
                run(py, bytes, || warpfold::sort_into(items, order, room))?;
            }
            return Ok(output.object);
        }
        let rows = rows(&shape);
        if places {
            let places = run(py, bytes, || warpfold::segmented_argsort(items, rows, order))?;
            return array_of(py, places, &shape, to);
        }
        let sorted = run(py, bytes, || warpfold::segmented_sort(items, rows, order))?;
        array_of(py, sorted, &shape, to)
    })
}

/// The numbers at some places of the sorted order of an array of one axis.
#[pyfunction]
pub(crate) fn nths<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    places: Vec<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let input = Input::new(x, dtype)?.contiguous()?;
    with_numbers!(input.dtype, T => {
        let items = input.items::<T>();
        let found = run(py, input.bytes(), || {
            warpfold::select_nths(items, &places, Order::ascending())
        })?;
        array_of(py, found, &[places.len()], input.dtype)
    })
}

/// The `k` greatest or least numbers along the last axis, and their places. The axis has as many.
#[pyfunction]
pub(crate) fn topk<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    k: usize,
    largest: bool,
    nan_last: bool,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let input = Input::new(x, dtype)?.contiguous()?;
    let (mut shape, order) = (input.shape().to_vec(), order((largest, nan_last)));
    let (rows, is_one) = (rows(&shape), shape.len() == 1);
    *shape.last_mut().expect("as above") = k;
    with_numbers!(input.dtype, T => {
        let items = input.items::<T>();
        let (values, places) = run(py, input.bytes(), || match (is_one, largest) {
            (true, true) => warpfold::top_k(items, k, order),
            (true, false) => warpfold::bottom_k(items, k, order),
            (false, true) => warpfold::top_k_rows(items, rows, k, order),
            (false, false) => warpfold::bottom_k_rows(items, rows, k, order),
        })?;
        let values = array_of(py, values, &shape, input.dtype)?;
        Ok((values, array_of(py, places, &shape, DType::I64)?))
    })
}
