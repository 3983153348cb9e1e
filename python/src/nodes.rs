//! Nodes: what parts of an array leave of a reduction, merged in any order of arrival.

use crate::array::Input;
use crate::dtype::{DType, Scalar};
use crate::error::exception;
use crate::ops::{Op, number, with_operator};
use crate::run::run;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use warpfold::Monoid;
use warpfold::shards::Nodes as Of;

/// Nodes of some type and operator.
trait Tree: Send + Sync {
    fn merge(&mut self, bytes: &[u8]) -> PyResult<()>;

    /// The fold of so many items as a scalar of NumPy.
    fn value<'py>(
        &self,
        py: Python<'py>,
        len: u64,
        initial: Option<&[u8]>,
        dtype: DType,
    ) -> PyResult<Bound<'py, PyAny>>;

    fn bytes(&self) -> Vec<u8>;

    fn ranges(&self) -> Vec<(u64, u64)>;
}

impl<T: Scalar + warpfold::Element, O: Monoid<T>> Tree for Of<T, O> {
    fn merge(&mut self, bytes: &[u8]) -> PyResult<()> {
        let other = Of::from_bytes(bytes).map_err(exception)?;
        Of::merge(self, &other).map_err(exception)
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        len: u64,
        initial: Option<&[u8]>,
        dtype: DType,
    ) -> PyResult<Bound<'py, PyAny>> {
        let value = match number::<T>(initial)? {
            Some(init) => self.value_from(init, len),
            None => Of::value(self, len),
        };
        value.map_err(exception)?.object(py, dtype)
    }

    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn ranges(&self) -> Vec<(u64, u64)> {
        Of::ranges(self)
            .map(|range| (range.start, range.end))
            .collect()
    }
}

/// The nodes of parts of an array.
#[pyclass]
pub(crate) struct Nodes {
    tree: Box<dyn Tree>,
    dtype: DType,
}

#[pymethods]
impl Nodes {
    /// Those of no item.
    #[new]
    fn new(dtype: u8, op: &str) -> PyResult<Nodes> {
        let (dtype, op) = (DType::of(dtype)?, Op::of(op)?);
        let tree: Box<dyn Tree> = with_operator!(dtype, op, (T, O) => Box::new(Of::<T, O>::new()));
        Ok(Nodes { tree, dtype })
    }

    /// Those of an array of one axis whose first item stands at `start`.
    #[staticmethod]
    fn of(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        dtype: u8,
        op: &str,
        start: u64,
    ) -> PyResult<Nodes> {
        let (input, op) = (Input::new(x, dtype)?.contiguous()?, Op::of(op)?);
        let tree: Box<dyn Tree> = with_operator!(input.dtype, op, (T, O) => {
            let items = input.items::<T>();
            Box::new(run(py, input.bytes(), || Of::<T, O>::of(start, items))?)
        });
        Ok(Nodes {
            tree,
            dtype: input.dtype,
        })
    }

    /// Adds the nodes of other items, as bytes.
    fn merge(&mut self, bytes: &[u8]) -> PyResult<()> {
        self.tree.merge(bytes)
    }

    #[pyo3(signature = (len, initial))]
    fn value<'py>(
        &self,
        py: Python<'py>,
        len: u64,
        initial: Option<&[u8]>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.tree.value(py, len, initial, self.dtype)
    }

    fn bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.tree.bytes())
    }

    fn ranges(&self) -> Vec<(u64, u64)> {
        self.tree.ranges()
    }
}
