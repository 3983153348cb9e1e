//! Reductions.

use crate::array::{Input, Lanes, in_order, result_of};
use crate::dtype::{DType, Scalar, with_numbers, with_words};
use crate::error::exception;
use crate::ops::{Op, number, with_operator};
use crate::run::run;
use crate::wide::with_wide;
use pyo3::prelude::*;
use warpfold::source::Source;
use warpfold::statistics::{Estimate, Moments};
use warpfold::{Axis, Element, Monoid, Rows, function, ops};

/// An array and its lanes along some axes.
pub(crate) struct Along<'py> {
    pub(crate) input: Input<'py>,
    pub(crate) lanes: Lanes,
    /// The lengths of the axes that are kept, in the order of the results.
    pub(crate) shape: Vec<usize>,
    /// The lengths of all axes of the array, before a copy.
    pub(crate) original: Vec<usize>,
    extent: usize,
}

impl<'py> Along<'py> {
    /// Reads the array in place if its strides allow that, and else a copy with the axes `along`
    /// behind the others. Without `along` all axes are.
    pub(crate) fn new(
        input: Input<'py>,
        along: Option<Vec<usize>>,
        any_order: bool,
    ) -> PyResult<Along<'py>> {
        let flags = flags(input.shape().len(), along.as_deref());
        let strides = input.strides();
        if let Some(lanes) = Lanes::new(input.shape(), &strides, &flags, any_order) {
            let extent = Lanes::extent(input.shape(), &strides);
            let shape = lanes.kept.iter().map(|&axis| input.shape()[axis]).collect();
            return Ok(Along {
                original: input.shape().to_vec(),
                input,
                lanes,
                shape,
                extent,
            });
        }
        Along::copied(input, &flags)
    }

    /// A copy, with what lies along the axes side by side. There are items.
    fn copied(input: Input<'py>, flags: &[bool]) -> PyResult<Along<'py>> {
        let axes = |wanted: bool| (0..flags.len()).filter(move |&axis| flags[axis] == wanted);
        let order: Vec<usize> = axes(false).chain(axes(true)).collect();
        let shape: Vec<usize> = axes(false).map(|axis| input.shape()[axis]).collect();
        let (extent, lanes) = (input.len(), shape.iter().product::<usize>());
        let axis = Axis::new(lanes, extent / lanes, 1).map_err(exception)?;
        let (kept, outer) = (axes(false).collect(), shape.len());
        Ok(Along {
            original: input.shape().to_vec(),
            input: input.transposed(&order)?.contiguous()?,
            lanes: Lanes { axis, kept, outer },
            shape,
            extent,
        })
    }

    pub(crate) fn items<T: bytemuck::Pod>(&self) -> &[T] {
        // SAFETY: the first item and the last are the array's, and so is what lies between them, or
        // it is of the array that this one is a view of.
        unsafe { self.input.first(self.extent) }
    }

    /// The items from the first to the last.
    pub(crate) fn extent(&self) -> usize {
        self.extent
    }

    pub(crate) fn bytes(&self) -> usize {
        self.extent * self.input.dtype.bytes()
    }

    /// All lanes side by side: a copy unless they are.
    pub(crate) fn rows(input: Input<'py>, along: Option<Vec<usize>>) -> PyResult<Along<'py>> {
        let rank = input.shape().len();
        let whole = Along::new(input, along.clone(), false)?;
        let axis = &whole.lanes.axis;
        if axis.inner_len() == 1 && axis.items() == whole.extent {
            return Ok(whole);
        }
        Along::copied(whole.input, &flags(rank, along.as_deref()))
    }

    /// Whether there is one lane, and no gaps in it.
    fn is_whole(&self) -> bool {
        self.shape.is_empty() && self.lanes.axis.lane_len() == self.extent
    }

    fn fold<T: Element + Scalar, O: Monoid<T>>(
        &self,
        py: Python<'py>,
        source: impl Source<Item = T> + Send,
        init: Option<T>,
        dtype: DType,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (axis, is_whole) = (self.lanes.axis, self.is_whole());
        let folds = run(py, self.bytes(), || match (is_whole, init) {
            (true, None) => Ok(vec![warpfold::reduce::<T, O>(source)?]),
            (true, Some(init)) => Ok(vec![warpfold::reduce_from::<T, O>(init, source)?]),
            (false, None) => warpfold::reduce_axis::<T, O>(source, axis),
            (false, Some(init)) => warpfold::reduce_axis_from::<T, O>(init, source, axis),
        })?;
        self.result(py, folds, dtype)
    }

    fn result<T: bytemuck::Pod + Send + Sync + Scalar>(
        &self,
        py: Python<'py>,
        numbers: Vec<T>,
        dtype: DType,
    ) -> PyResult<Bound<'py, PyAny>> {
        in_order(
            result_of(py, numbers, &self.shape, dtype)?,
            &self.lanes.kept,
        )
    }
}

/// Of each axis whether it is named, and of all if none is.
pub(crate) fn flags(rank: usize, along: Option<&[usize]>) -> Vec<bool> {
    let mut flags = vec![along.is_none(); rank];
    along
        .into_iter()
        .flatten()
        .for_each(|&axis| flags[axis] = true);
    flags
}

/// Folds an array along axes, all if none are named, in items of dtype `to`. That is the array's
/// own; or for sums and products 64-bit integers of shorter ones, or float64 of float32.
#[pyfunction]
#[pyo3(signature = (x, dtype, op, along, to, initial))]
pub(crate) fn reduce<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    op: &str,
    along: Option<Vec<usize>>,
    to: u8,
    initial: Option<&[u8]>,
) -> PyResult<Bound<'py, PyAny>> {
    let (op, to) = (Op::of(op)?, DType::of(to)?);
    let input = Input::new(x, dtype)?;
    let from = input.dtype;
    let along = Along::new(input, along, op.is_exact(to.is_float()))?;
    if from == to {
        return with_operator!(to, op, (T, O) => {
            along.fold::<T, O>(py, along.items::<T>(), number(initial)?, to)
        });
    }
    with_wide!(from, to, op, (T, W, F, O) => {
        let source = warpfold::map::<F, _>(along.items::<T>());
        along.fold::<W, O>(py, source, number(initial)?, to)
    })
}

/// Where the least or the greatest number of each lane stands, the first of equals.
#[pyfunction]
#[pyo3(signature = (x, dtype, greatest, along))]
pub(crate) fn arg_extreme<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    greatest: bool,
    along: Option<Vec<usize>>,
) -> PyResult<Bound<'py, PyAny>> {
    let along = Along::new(Input::new(x, dtype)?, along, false)?;
    let axis = along.lanes.axis;
    let places = with_numbers!(along.input.dtype, T => {
        let items = along.items::<T>();
        let is_whole = along.is_whole();
        run(py, along.bytes(), || {
            let place = |place: Option<usize>| place.into_iter().map(|at| at as u64).collect();
            match (greatest, is_whole) {
                (true, true) => warpfold::arg_max(items).map(place),
                (true, false) => warpfold::arg_max_axis(items, axis),
                (false, true) => warpfold::arg_min(items).map(place),
                (false, false) => warpfold::arg_min_axis(items, axis),
            }
        })?
    });
    along.result(py, places, DType::I64)
}

#[function]
fn one(flag: bool) -> u64 {
    flag as u64
}

/// How many numbers of each lane are not zero.
#[pyfunction]
#[pyo3(signature = (x, dtype, along))]
pub(crate) fn count_nonzero<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    along: Option<Vec<usize>>,
) -> PyResult<Bound<'py, PyAny>> {
    let along = Along::new(Input::new(x, dtype)?, along, true)?;
    with_words!(along.input.dtype, T => {
        let ones = warpfold::map::<one, _>(warpfold::flags::<T, _>(along.items::<T>()));
        along.fold::<u64, ops::Add>(py, ones, None, DType::I64)
    })
}

/// Whether all numbers of an array are other than zero, or any is.
#[pyfunction]
pub(crate) fn truth<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    all: bool,
) -> PyResult<bool> {
    let along = Along::new(Input::new(x, dtype)?, None, true)?;
    if !along.is_whole() {
        let len = along.input.len();
        let count: usize = count_nonzero(py, x, dtype, None)?.extract()?;
        return Ok(if all { count == len } else { count > 0 });
    }
    with_words!(along.input.dtype, T => {
        let flags = warpfold::flags::<T, _>(along.items::<T>());
        run(py, along.bytes(), || match all {
            true => warpfold::all(flags),
            false => warpfold::any(flags),
        })
    })
}

/// The mean, the variance or the standard deviation of each lane, in float64: of no number NaN.
#[pyfunction]
#[pyo3(signature = (x, dtype, what, along, correction))]
pub(crate) fn moments<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    what: &str,
    along: Option<Vec<usize>>,
    correction: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let along = Along::rows(Input::new(x, dtype)?, along)?;
    let rows = Rows::new(along.lanes.axis.lanes(), along.lanes.axis.lane_len());
    let is_whole = along.is_whole();
    let of = |moments: &Moments| match what {
        "var" => variance(moments, correction),
        _ => deviation(moments, correction),
    };
    let values = with_numbers!(along.input.dtype, T => {
        let items = along.items::<T>();
        run(py, along.bytes(), || Ok(match (what, is_whole) {
            ("mean", true) => vec![warpfold::mean(items)?],
            ("mean", false) => warpfold::segmented_mean(items, rows)?,
            (_, true) => vec![of(&warpfold::moments(items)?)],
            (_, false) => warpfold::segmented_moments(items, rows)?.iter().map(of).collect(),
        }))?
    });
    along.result(py, values, DType::F64)
}

fn variance(moments: &Moments, correction: f64) -> f64 {
    match estimate(correction) {
        Some(estimate) => moments.variance(estimate),
        None => moments.squared_deviations() / (moments.count() as f64 - correction).max(0.0),
    }
}

fn deviation(moments: &Moments, correction: f64) -> f64 {
    match estimate(correction) {
        Some(estimate) => moments.std_dev(estimate),
        None => variance(moments, correction).sqrt(),
    }
}

fn estimate(correction: f64) -> Option<Estimate> {
    match correction {
        0.0 => Some(Estimate::Population),
        1.0 => Some(Estimate::Sample),
        _ => None,
    }
}
