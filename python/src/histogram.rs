//! Histograms.

use crate::array::{Input, array_of};
use crate::dtype::DType;
use crate::error::exception;
use crate::run::run;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use warpfold::{Binned, Bins, Element, Monoid, ops::Add};

/// Runs the code with the type of a dtype's numbers, which bins have.
macro_rules! with_binned {
    ($dtype:expr, $T:ident => $code:expr) => {
        with_binned!(@ $dtype, $T => $code; Bool u8, I8 i8, I16 i16, I32 i32, I64 i64,
            U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64)
    };
    (@ $dtype:expr, $T:ident => $code:expr; $($name:ident $ty:ty),*) => {
        match $dtype {
            $(DType::$name => {
                type $T = $ty;
                $code
            })*
            DType::F16 | DType::Bf16 => Err(no_bins($dtype)),
        }
    };
}

pub(crate) fn no_bins(dtype: DType) -> PyErr {
    PyTypeError::new_err(format!("no bins of {dtype:?}"))
}

pub(crate) use with_binned;

/// What is counted where.
#[derive(FromPyObject)]
pub(crate) enum Rule<'py> {
    /// So many bins between two float64.
    #[pyo3(transparent)]
    Even((usize, f64, f64)),
    /// So many bins from the least number to the greatest.
    #[pyo3(transparent)]
    Own(usize),
    /// Between edges, in float64 or in the numbers' dtype.
    #[pyo3(transparent)]
    Edges((Bound<'py, PyAny>, bool)),
}

/// The counts or sums of weights of bins, and their edges in float64. Weights are float64 or int64.
#[pyfunction]
#[pyo3(signature = (x, dtype, rule, weights, weights_dtype))]
pub(crate) fn histogram<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    rule: Rule<'py>,
    weights: Option<&Bound<'py, PyAny>>,
    weights_dtype: u8,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let input = Input::new(x, dtype)?.contiguous()?;
    with_binned!(input.dtype, T => {
        let items = input.items::<T>();
        let bins = match rule {
            Rule::Even((count, low, high)) => Bins::<T>::even(low, high, count).map_err(exception)?,
            Rule::Own(count) => run(py, input.bytes(), || match warpfold::statistics::min_max(items)? {
                Some((least, greatest)) => Bins::of_range(least, greatest, count),
                None => Bins::even(0.0, 1.0, count),
            })?,
            Rule::Edges((edges, true)) => {
                let edges = Input::new(&edges, dtype)?.contiguous()?;
                Bins::with_edges_of(edges.items::<T>()).map_err(exception)?
            }
            Rule::Edges((edges, false)) => {
                let edges = Input::new(&edges, DType::F64 as u8)?.contiguous()?;
                Bins::with_edges(edges.items::<f64>()).map_err(exception)?
            }
        };
        let edges = bins.edges().to_vec();
        let shape = [edges.len()];
        let edges = array_of(py, edges, &shape, DType::F64)?;
        Ok((counts(py, &input, items, &bins, weights, weights_dtype)?, edges))
    })
}

/// The least and the greatest of integers, and `None` if there are none. One reading finds both.
#[pyfunction]
pub(crate) fn integer_range(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    dtype: u8,
) -> PyResult<Option<(i128, i128)>> {
    let input = Input::new(x, dtype)?.contiguous()?;
    with_binned!(input.dtype, T => {
        let items = input.items::<T>();
        let range = run(py, input.bytes(), || warpfold::statistics::min_max(items))?;
        Ok(range.map(|(least, greatest)| (least as i128, greatest as i128)))
    })
}

/// Of so many parts of an array, so many values tell how many bins there may be.
const PARTS: usize = 64;
const OF_PART: usize = 64;

/// So many bins at least: a thread's tables of them stay in its L1 cache.
const LEAST_BINS: usize = 1 << 10;

/// How often each value from 0 on occurs, by one reading of the array. `None` if some value is
/// negative, or greater than what a few values tell, or not below `most`. The bits of a negative
/// one are those of a number that is not.
#[pyfunction]
pub(crate) fn bincount_at_once<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    most: u64,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let input = Input::new(x, dtype)?.contiguous()?;
    let counts = crate::dtype::with_integers!(input.dtype, T => {
        let items = input.items::<T>();
        let firsts = items.chunks(items.len().div_ceil(PARTS).max(1));
        let some = firsts.flat_map(|part| &part[..part.len().min(OF_PART)]);
        let greatest = some.chain(items.last()).max().map_or(0, |&x| word(x));
        if greatest >= most {
            return Ok(None);
        }
        let wanted = greatest + greatest / 4 + 1;
        let bins = wanted.max(LEAST_BINS as u64).min(most) as usize;
        let bins = Bins::<T>::values(bins).map_err(exception)?;
        run(py, input.bytes(), || warpfold::histogram::<u64, T>(items, &bins))?
    });
    if counts.iter().sum::<u64>() != input.len() as u64 {
        return Ok(None);
    }
    let len = counts
        .iter()
        .rposition(|&count| count > 0)
        .map_or(0, |i| i + 1);
    let mut counts = counts;
    counts.truncate(len);
    array_of(py, counts, &[len], DType::I64).map(Some)
}

fn word(value: impl Into<u64>) -> u64 {
    value.into()
}

/// How often each value below `count` occurs, or the sum of its weights.
#[pyfunction]
#[pyo3(signature = (x, dtype, count, weights, weights_dtype))]
pub(crate) fn bincount<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: u8,
    count: usize,
    weights: Option<&Bound<'py, PyAny>>,
    weights_dtype: u8,
) -> PyResult<Bound<'py, PyAny>> {
    let input = Input::new(x, dtype)?.contiguous()?;
    crate::dtype::with_integers!(input.dtype, T => {
        // None is negative.
        let bins = Bins::<T>::values(count).map_err(exception)?;
        counts(py, &input, input.items::<T>(), &bins, weights, weights_dtype)
    })
}

fn counts<'py, T: Binned + warpfold::Counted<Value = T>>(
    py: Python<'py>,
    input: &Input<'py>,
    items: &[T],
    bins: &Bins<T>,
    weights: Option<&Bound<'py, PyAny>>,
    weights_dtype: u8,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = input.bytes();
    let Some(weights) = weights else {
        let counts = run(py, bytes, || warpfold::histogram::<u64, T>(items, bins))?;
        let shape = [counts.len()];
        return array_of(py, counts, &shape, DType::I64);
    };
    let weights = Input::new(weights, weights_dtype)?.contiguous()?;
    match weights.dtype {
        DType::F64 => sums::<f64, T>(py, bytes, items, &weights, bins),
        DType::I64 => sums::<u64, T>(py, bytes, items, &weights, bins),
        dtype => Err(no_bins(dtype)),
    }
}

fn sums<'py, W: Element, T: Binned + warpfold::Counted<Value = T>>(
    py: Python<'py>,
    bytes: usize,
    items: &[T],
    weights: &Input<'py>,
    bins: &Bins<T>,
) -> PyResult<Bound<'py, PyAny>>
where
    Add: Monoid<W>,
{
    let numbers = weights.items::<W>();
    let sums = run(py, bytes, || {
        warpfold::histogram_weighted::<W, T>(items, numbers, bins)
    })?;
    let shape = [sums.len()];
    array_of(py, sums, &shape, weights.dtype)
}
