//! Calls on arrays that lie on a GPU: on a stream of the caller's, over memory of the caller's
//! library, which has allocated the results, too. Nothing waits but what says so, and calls that
//! need a larger workspace on their stream than those before.
//!
//! The package describes arrays by their address and the number of items from the first to the
//! last. Tests without a GPU give memory of the host, and no place.

use crate::array::Lanes;
use crate::device::{Place, Span, input, on, output, store};
use crate::dtype::{DType, with_bits, with_integers, with_numbers, with_words};
use crate::error::exception;
use crate::histogram::{no_bins, with_binned};
use crate::ops::{Op, number, with_operator};
use crate::scan::prefixes;
use crate::sort::{Direction, order};
use crate::wide::with_wide;
use pyo3::prelude::*;
use warpfold::source::{Slice, Source};
use warpfold::statistics::Estimate;
use warpfold::{
    Axis, Binned, Bins, Buffer, Device, Element, Error, Monoid, Offsets, Prefixes, Rows, function,
    map, ops, zip,
};

/// How a call along axes reads an array in place.
#[pyclass(frozen)]
pub(crate) struct Plan {
    axis: Axis,
    /// The axes that are kept, in the order of the results: the first `outer` lie outside.
    #[pyo3(get)]
    kept: Vec<usize>,
    #[pyo3(get)]
    outer: usize,
    /// The number of items from the first to the last.
    extent: usize,
    lanes: usize,
}

#[pymethods]
impl Plan {
    /// `None` if the array must be copied first.
    #[staticmethod]
    #[pyo3(signature = (shape, strides, along, any_order))]
    fn of(
        shape: Vec<usize>,
        strides: Vec<isize>,
        along: Option<Vec<usize>>,
        any_order: bool,
    ) -> Option<Plan> {
        let flags = crate::reduce::flags(shape.len(), along.as_deref());
        let Lanes { axis, kept, outer } = Lanes::new(&shape, &strides, &flags, any_order)?;
        Some(Plan {
            kept,
            outer,
            extent: Lanes::extent(&shape, &strides),
            lanes: axis.lanes(),
            axis,
        })
    }
}

type Memory<'a, T> = &'a Buffer<T>;

/// Folds lanes, as [`reduce`](crate::reduce::reduce) says.
#[pyfunction]
#[pyo3(signature = (place, x, dtype, op, plan, to, initial, out))]
#[allow(clippy::too_many_arguments)] // They are the call's.
pub(crate) fn gpu_reduce(
    py: Python<'_>,
    place: Place,
    x: u64,
    dtype: u8,
    op: &str,
    plan: &Plan,
    to: u8,
    initial: Option<&[u8]>,
    out: u64,
) -> PyResult<()> {
    let (op, from, to) = (Op::of(op)?, DType::of(dtype)?, DType::of(to)?);
    let x = (x, plan.extent);
    if from == to {
        return with_operator!(to, op, (T, O) => {
            let init = number::<T>(initial)?;
            on(py, place, |device| {
                let x = input::<T>(device, x)?;
                fold::<T, O>(device, &x, init, plan, out)
            })
        });
    }
    with_wide!(from, to, op, (T, W, F, O) => {
        let init = number::<W>(initial)?;
        on(py, place, |device| {
            let x = input::<T>(device, x)?;
            fold::<W, O>(device, map::<F, _>(&x), init, plan, out)
        })
    })
}

fn fold<T: Element, O: Monoid<T>>(
    device: &Device,
    source: impl Source<Device, Item = T>,
    init: Option<T>,
    plan: &Plan,
    out: u64,
) -> Result<(), Error> {
    output::<T, _>(device, (out, plan.lanes), |out| {
        device.reduce_axis_into::<T, O>(init, source, plan.axis, out)
    })
}

/// Where the least or the greatest number of each lane stands, the first of equals.
#[pyfunction]
pub(crate) fn gpu_arg_extreme(
    py: Python<'_>,
    place: Place,
    x: u64,
    dtype: u8,
    greatest: bool,
    plan: &Plan,
    out: u64,
) -> PyResult<()> {
    with_numbers!(DType::of(dtype)?, T => on(py, place, |device| {
        let x = input::<T>(device, (x, plan.extent))?;
        let places = match greatest {
            true => device.arg_max_axis(&x, plan.axis)?,
            false => device.arg_min_axis(&x, plan.axis)?,
        };
        store(device, &places, out)
    }))
}

#[function]
fn one(flag: bool) -> u64 {
    flag as u64
}

/// How many numbers of each lane are not zero.
#[pyfunction]
pub(crate) fn gpu_count_nonzero(
    py: Python<'_>,
    place: Place,
    x: u64,
    dtype: u8,
    plan: &Plan,
    out: u64,
) -> PyResult<()> {
    with_words!(DType::of(dtype)?, T => on(py, place, |device| {
        let x = input::<T>(device, (x, plan.extent))?;
        let ones = map::<one, _>(warpfold::flags::<T, _>(&x));
        fold::<u64, ops::Add>(device, ones, None, plan, out)
    }))
}

#[function]
fn nearest_f32(x: f64) -> f32 {
    x as f32
}

/// The bits of the nearest float16.
#[function]
fn nearest_f16(x: f64) -> u16 {
    let sign = (x.to_bits() >> 48 & 0x8000) as u16;
    let magnitude = x.to_bits() & (u64::MAX >> 1);
    if x.is_nan() {
        0x7e00
    } else if f64::from_bits(magnitude) >= 65520.0 {
        sign | 0x7c00
    } else if f64::from_bits(magnitude) < 0.00006103515625 {
        // In units of 2^-24. What is added to it leaves no room for a fraction.
        let units = f64::from_bits(magnitude) * 16777216.0 + 4503599627370496.0;
        sign | (units - 4503599627370496.0) as u16
    } else {
        let rounded = (magnitude + ((1 << 41) - 1) + (magnitude >> 42 & 1)) >> 42;
        sign | (rounded - (1008 << 10)) as u16
    }
}

/// The bits of the bfloat16 that is nearest to the nearest float32.
#[function]
fn nearest_bf16(x: f64) -> u16 {
    let bits = (x as f32).to_bits();
    if x.is_nan() {
        0x7fc0
    } else {
        ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
    }
}

/// The mean, the variance or the standard deviation of each lane, in floats of dtype `to`.
/// `is_sample` tells what squared deviations are divided by.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // They are the call's.
pub(crate) fn gpu_moments(
    py: Python<'_>,
    place: Place,
    x: u64,
    dtype: u8,
    what: &str,
    plan: &Plan,
    is_sample: bool,
    to: u8,
    out: u64,
) -> PyResult<()> {
    let to = DType::of(to)?;
    let estimate = match is_sample {
        true => Estimate::Sample,
        false => Estimate::Population,
    };
    with_numbers!(DType::of(dtype)?, T => on(py, place, |device| {
        let x = input::<T>(device, (x, plan.extent))?;
        let values = match what {
            "mean" => device.mean_axis(&x, plan.axis)?,
            "var" => device.variance_axis(&x, plan.axis, estimate)?,
            _ => device.std_dev_axis(&x, plan.axis, estimate)?,
        };
        let out = (out, values.len());
        match to {
            DType::F64 => store(device, &values, out.0),
            DType::F32 => output(device, out, |to| device.collect_into(map::<nearest_f32, _>(&values), to)),
            DType::F16 => output(device, out, |to| device.collect_into(map::<nearest_f16, _>(&values), to)),
            _ => output(device, out, |to| device.collect_into(map::<nearest_bf16, _>(&values), to)),
        }
    }))
}

/// Scans lanes, as [`scan`](crate::scan::scan) says. The results lie lane by lane as the plan has
/// them, without gaps.
#[pyfunction]
#[pyo3(signature = (place, x, dtype, op, plan, to, form, initial, out))]
#[allow(clippy::too_many_arguments)] // They are the call's.
pub(crate) fn gpu_scan(
    py: Python<'_>,
    place: Place,
    x: u64,
    dtype: u8,
    op: &str,
    plan: &Plan,
    to: u8,
    form: (bool, bool),
    initial: Option<&[u8]>,
    out: u64,
) -> PyResult<()> {
    let (op, from, to) = (Op::of(op)?, DType::of(dtype)?, DType::of(to)?);
    let x = (x, plan.extent);
    if from == to {
        return with_operator!(to, op, (T, O) => {
            let prefixes = prefixes(form, number::<T>(initial)?);
            on(py, place, |device| {
                scan_lanes::<T, O>(device, &input::<T>(device, x)?, prefixes, plan, out)
            })
        });
    }
    with_wide!(from, to, op, (T, W, F, O) => {
        let prefixes = prefixes(form, number::<W>(initial)?);
        on(py, place, |device| {
            let x = input::<T>(device, x)?;
            scan_lanes::<W, O>(device, map::<F, _>(&x), prefixes, plan, out)
        })
    })
}

fn scan_lanes<T: Element, O: Monoid<T>>(
    device: &Device,
    source: impl Source<Device, Item = T>,
    prefixes: Prefixes<T>,
    plan: &Plan,
    out: u64,
) -> Result<(), Error> {
    output(device, (out, plan.axis.items()), |out| {
        device.scan_axis_into::<T, O>(prefixes, source, plan.axis, out)
    })
}

/// Sorts rows without gaps, or gives the places of the sorted numbers.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // They are the call's.
pub(crate) fn gpu_sort(
    py: Python<'_>,
    place: Place,
    x: u64,
    dtype: u8,
    rows: (usize, usize),
    direction: Direction,
    places: bool,
    out: u64,
) -> PyResult<()> {
    let (rows, len) = rows;
    let (order, all) = (order(direction), rows * len);
    with_numbers!(DType::of(dtype)?, T => on(py, place, |device| {
        let x = input::<T>(device, (x, all))?;
        match (rows, places) {
            (1, false) => output(device, (out, all), |out| device.sort_into(&x, order, out)),
            (1, true) => output(device, (out, all), |out| device.argsort_into(&x, order, out)),
            (_, false) => output(device, (out, all), |out| {
                device.collect_into(&x, out)?;
                device.segmented_sort_in_place(out, Rows::new(rows, len), order)
            }),
            (_, true) => {
                let places = device.segmented_argsort(&x, Rows::new(rows, len), order)?;
                store(device, &places, out)
            }
        }
    }))
}

/// The `k` greatest or least numbers of rows without gaps, and their places.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // They are the call's.
pub(crate) fn gpu_topk(
    py: Python<'_>,
    place: Place,
    x: u64,
    dtype: u8,
    rows: (usize, usize),
    k: usize,
    largest: bool,
    nan_last: bool,
    out: (u64, u64),
) -> PyResult<()> {
    let ((rows, len), order) = (rows, order((largest, nan_last)));
    with_numbers!(DType::of(dtype)?, T => on(py, place, |device| {
        let x = input::<T>(device, (x, rows * len))?;
        let rows = Rows::new(rows, len);
        let (values, places) = match largest {
            true => device.top_k_rows(&x, rows, k, order)?,
            false => device.bottom_k_rows(&x, rows, k, order)?,
        };
        store(device, &values, out.0)?;
        store(device, &places, out.1)
    }))
}

/// How many numbers are not zero. Waits.
#[pyfunction]
pub(crate) fn gpu_count(py: Python<'_>, place: Place, x: Span, dtype: u8) -> PyResult<usize> {
    with_words!(DType::of(dtype)?, T => on(py, place, |device| {
        device.count(warpfold::flags::<T, _>(&input::<T>(device, x)?))
    }))
}

/// The places of the `count` numbers that are not zero. Waits.
#[pyfunction]
pub(crate) fn gpu_positions(
    py: Python<'_>,
    place: Place,
    x: Span,
    dtype: u8,
    out: Span,
) -> PyResult<()> {
    with_words!(DType::of(dtype)?, T => on(py, place, |device| {
        let x = input::<T>(device, x)?;
        output(device, out, |out| device.positions_into(warpfold::flags::<T, _>(&x), out))?;
        Ok(())
    }))
}

/// The items for which a flag, of which there are as many, is set. Waits.
#[pyfunction]
pub(crate) fn gpu_compress(
    py: Python<'_>,
    place: Place,
    flags: u64,
    x: Span,
    dtype: u8,
    out: Span,
) -> PyResult<()> {
    with_bits!(DType::of(dtype)?, T => on(py, place, |device| {
        let flags = input::<u8>(device, (flags, x.1))?;
        let x = input::<T>(device, x)?;
        let pairs = zip(&x, warpfold::flags::<u8, _>(&flags));
        output(device, out, |out| device.select_flagged_into::<T>(pairs, out))?;
        Ok(())
    }))
}

/// The least and the greatest of integers. Waits.
#[pyfunction]
pub(crate) fn gpu_range(
    py: Python<'_>,
    place: Place,
    x: Span,
    dtype: u8,
) -> PyResult<Option<(i128, i128)>> {
    let dtype = DType::of(dtype)?;
    with_binned!(dtype, T => on(py, place, |device| {
        let range = device.min_max(&input::<T>(device, x)?)?;
        Ok(range.map(|(least, greatest)| (least as i128, greatest as i128)))
    }))
}

/// Counts or sums of weights of bins, as [`histogram`](crate::histogram::histogram) says. A rule is
/// a number of bins and their range, or edges on the host. Gives the edges. Without a range it
/// waits for the least and the greatest number.
#[pyfunction]
#[pyo3(signature = (place, x, dtype, count, range, edges, weights, out))]
#[allow(clippy::too_many_arguments)] // They are the call's.
pub(crate) fn gpu_histogram(
    py: Python<'_>,
    place: Place,
    x: Span,
    dtype: u8,
    count: usize,
    range: Option<(f64, f64)>,
    edges: Option<Vec<f64>>,
    weights: Option<(u64, bool)>,
    out: u64,
) -> PyResult<Vec<f64>> {
    let dtype = DType::of(dtype)?;
    with_binned!(dtype, T => {
        let bins = match (&edges, range) {
            (Some(edges), _) => Bins::<T>::with_edges(edges).map_err(exception)?,
            (None, Some((low, high))) => Bins::even(low, high, count).map_err(exception)?,
            (None, None) => on(py, place, |device| match device.min_max(&input::<T>(device, x)?)? {
                Some((least, greatest)) => Bins::of_range(least, greatest, count),
                None => Bins::even(0.0, 1.0, count),
            })?,
        };
        on(py, place, |device| bin(device, &input::<T>(device, x)?, &bins, weights, out))?;
        Ok(bins.edges().to_vec())
    })
}

/// How often each value below `count` occurs, or the sum of its weights.
#[pyfunction]
#[pyo3(signature = (place, x, dtype, count, weights, out))]
pub(crate) fn gpu_bincount(
    py: Python<'_>,
    place: Place,
    x: Span,
    dtype: u8,
    count: usize,
    weights: Option<(u64, bool)>,
    out: u64,
) -> PyResult<()> {
    with_integers!(DType::of(dtype)?, T => on(py, place, |device| {
        let bins = Bins::<T>::values(count)?;
        bin(device, &input::<T>(device, x)?, &bins, weights, out)
    }))
}

/// Counts, or adds up weights: float64, or integers of 64 bits if so it says.
fn bin<T: Binned + warpfold::Counted<Value = T>>(
    device: &Device,
    x: Memory<'_, T>,
    bins: &Bins<T>,
    weights: Option<(u64, bool)>,
    out: u64,
) -> Result<(), Error> {
    match weights {
        None => output(device, (out, bins.count()), |out| {
            device.histogram_into::<u64, T>(x, bins, out)
        }),
        Some((weights, true)) => {
            let weights = input::<u64>(device, (weights, x.len()))?;
            store(device, &device.histogram_weighted(x, &weights, bins)?, out)
        }
        Some((weights, false)) => {
            let weights = input::<f64>(device, (weights, x.len()))?;
            store(device, &device.histogram_weighted(x, &weights, bins)?, out)
        }
    }
}

/// Folds the rows of each segment, as [`segment_reduce`](crate::segments::segment_reduce) says.
/// Waits for the check of the offsets.
#[pyfunction]
#[pyo3(signature = (place, x, dtype, op, inner, offsets, initial, out))]
#[allow(clippy::too_many_arguments)] // They are the call's.
pub(crate) fn gpu_segment_reduce(
    py: Python<'_>,
    place: Place,
    x: Span,
    dtype: u8,
    op: &str,
    inner: usize,
    offsets: Span,
    initial: Option<&[u8]>,
    out: u64,
) -> PyResult<()> {
    with_operator!(DType::of(dtype)?, Op::of(op)?, (T, O) => {
        let init = number::<T>(initial)?;
        on(py, place, |device| {
            let offsets = input::<u64>(device, offsets)?;
            let (x, offsets) = (input::<T>(device, x)?, device.offsets(&offsets)?);
            let folds = segments::<T, O>(device, &x, inner, offsets, init)?;
            store(device, &folds, out)
        })
    })
}

fn segments<T: Element, O: Monoid<T>>(
    device: &Device,
    x: impl Source<Device, Item = T, Form = Slice<T>>,
    inner: usize,
    offsets: Offsets<Memory<'_, u64>>,
    init: Option<T>,
) -> Result<Buffer<T>, Error> {
    match (inner, init) {
        (1, None) => device.segmented_reduce::<T, O>(x, offsets),
        (1, Some(init)) => device.segmented_reduce_from::<T, O>(init, x, offsets),
        (_, None) => device.segmented_reduce_vectors::<T, O>(x, inner, offsets),
        (_, Some(init)) => device.segmented_reduce_vectors_from::<T, O>(init, x, inner, offsets),
    }
}
