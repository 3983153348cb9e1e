//! Streams: reductions and scans that are fed pieces, with the bits of one call.

use crate::array::{Input, Output};
use crate::dtype::{DType, Scalar};
use crate::error::exception;
use crate::ops::{Op, number, with_operator};
use crate::run::run;
use crate::scan::prefixes;
use bytemuck::pod_collect_to_vec;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use warpfold::{Carry, Element, Monoid, Prefixes, Reducer, Scanner};

/// So many bytes are taken in before a look at signals: some 50 ms of work.
const UNBROKEN: usize = 1 << 27;

/// A stream of some type and operator.
trait Stream: Send + Sync {
    fn push(&mut self, py: Python<'_>, piece: &Input<'_>) -> PyResult<()>;

    fn scan(&mut self, py: Python<'_>, piece: &Input<'_>, to: &mut Output<'_>) -> PyResult<()>;

    /// The fold so far as a scalar of NumPy.
    fn value<'py>(&self, py: Python<'py>, dtype: DType) -> PyResult<Bound<'py, PyAny>>;

    /// The number of items, and the sums of their blocks.
    fn state(&self) -> (u64, Vec<u8>);

    fn restore(&mut self, position: u64, sums: &[u8]) -> PyResult<()>;
}

/// One carry serves both: what was scanned has a fold.
struct Of<T: Element, O> {
    carry: Carry<T, O>,
    prefixes: Prefixes<T>,
    init: Option<T>,
}

impl<T: Element + Scalar, O: Monoid<T> + Send + Sync> Stream for Of<T, O> {
    fn push(&mut self, py: Python<'_>, piece: &Input<'_>) -> PyResult<()> {
        let mut reducer = Reducer::<T, O>::new().after(self.carry.clone());
        for part in piece.items::<T>().chunks(UNBROKEN / size_of::<T>()) {
            reducer = run(py, size_of_val(part), move || {
                reducer.push(part)?;
                Ok(reducer)
            })?;
            py.check_signals()?;
        }
        self.carry = reducer.carry().clone();
        Ok(())
    }

    fn scan(&mut self, py: Python<'_>, piece: &Input<'_>, to: &mut Output<'_>) -> PyResult<()> {
        to.check_apart(piece.items::<T>())?;
        let mut scanner = Scanner::<T, O>::new(self.prefixes).after(self.carry.clone());
        let len = UNBROKEN / size_of::<T>();
        let parts = piece.items::<T>().chunks(len);
        for (part, to) in parts.zip(to.items::<T>().chunks_mut(len)) {
            scanner = run(py, size_of_val(part), move || {
                scanner.scan_into(part, to)?;
                Ok(scanner)
            })?;
            py.check_signals()?;
        }
        self.carry = scanner.carry().clone();
        Ok(())
    }

    fn value<'py>(&self, py: Python<'py>, dtype: DType) -> PyResult<Bound<'py, PyAny>> {
        let reducer = Reducer::<T, O>::new().after(self.carry.clone());
        let value = match self.init {
            Some(init) => reducer.value_from(init),
            None => reducer.value(),
        };
        value.object(py, dtype)
    }

    fn state(&self) -> (u64, Vec<u8>) {
        (self.carry.position(), pod_collect_to_vec(self.carry.sums()))
    }

    fn restore(&mut self, position: u64, sums: &[u8]) -> PyResult<()> {
        self.carry = carry(position, sums)?;
        Ok(())
    }
}

fn carry<T: Element, O>(position: u64, sums: &[u8]) -> PyResult<Carry<T, O>> {
    let bytes = size_of::<T::Accumulator>();
    if !sums.len().is_multiple_of(bytes) {
        let message = format!("{} bytes are no sums of {bytes} bytes each", sums.len());
        return Err(PyValueError::new_err(message));
    }
    let read = |bytes: &[u8]| bytemuck::pod_read_unaligned(bytes);
    Carry::from_sums(position, sums.chunks(bytes).map(read).collect()).map_err(exception)
}

/// A reduction and a scan of a stream.
#[pyclass]
pub(crate) struct Folder {
    stream: Box<dyn Stream>,
    dtype: DType,
}

#[pymethods]
impl Folder {
    #[new]
    #[pyo3(signature = (dtype, op, form, initial))]
    fn new(dtype: u8, op: &str, form: (bool, bool), initial: Option<&[u8]>) -> PyResult<Folder> {
        let (dtype, op) = (DType::of(dtype)?, Op::of(op)?);
        let stream = with_operator!(dtype, op, (T, O) => stream::<T, O>(form, initial))?;
        Ok(Folder { stream, dtype })
    }

    /// Takes in a piece of one axis.
    fn push(&mut self, py: Python<'_>, piece: &Bound<'_, PyAny>) -> PyResult<()> {
        let piece = Input::new(piece, self.dtype as u8)?.contiguous()?;
        self.stream.push(py, &piece)
    }

    /// Takes in a piece of one axis, and gives its prefixes: in `output` if there is one.
    #[pyo3(signature = (piece, output))]
    fn scan<'py>(
        &mut self,
        py: Python<'py>,
        piece: &Bound<'py, PyAny>,
        output: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let piece = Input::new(piece, self.dtype as u8)?.contiguous()?;
        let mut output = match output {
            Some(object) => Output::over(object)?,
            None => Output::empty(py, piece.shape(), self.dtype)?,
        };
        self.stream.scan(py, &piece, &mut output)?;
        Ok(output.object)
    }

    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.stream.value(py, self.dtype)
    }

    fn state<'py>(&self, py: Python<'py>) -> (u64, Bound<'py, PyBytes>) {
        let (position, sums) = self.stream.state();
        (position, PyBytes::new(py, &sums))
    }

    fn restore(&mut self, position: u64, sums: &[u8]) -> PyResult<()> {
        self.stream.restore(position, sums)
    }
}

fn stream<T: Element + Scalar, O: Monoid<T> + Send + Sync>(
    form: (bool, bool),
    initial: Option<&[u8]>,
) -> PyResult<Box<dyn Stream>> {
    let init = number::<T>(initial)?;
    Ok(Box::new(Of::<T, O> {
        carry: Carry::new(),
        prefixes: prefixes(form, init),
        init,
    }))
}
