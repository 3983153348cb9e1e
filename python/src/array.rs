//! Arrays of NumPy: read and written by the buffer protocol, and made of vectors.

use crate::dtype::{DType, Scalar};
use bytemuck::Pod;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use std::any::Any;
use std::ffi::c_int;
use std::ptr;
use warpfold::Axis;

/// An array that a call reads: its items are aligned, and in the machine's byte order.
pub(crate) struct Input<'py> {
    object: Bound<'py, PyAny>,
    buffer: PyUntypedBuffer,
    pub(crate) dtype: DType,
    /// Whether it has no axes. The buffer has one then.
    is_number: bool,
}

impl<'py> Input<'py> {
    /// An array of NumPy with native items of this type. (NumPy exports no bfloat16: it comes as
    /// 16-bit integers.) One that is not aligned is copied.
    pub(crate) fn new(object: &Bound<'py, PyAny>, dtype: u8) -> PyResult<Input<'py>> {
        let dtype = DType::of(dtype)?;
        let input = Input::as_it_is(object.clone(), dtype)?;
        let bytes = dtype.bytes();
        let aligned = |step: &isize| step.rem_euclid(bytes as isize) == 0;
        let whole = input.buffer.strides().iter().all(aligned);
        match whole && (input.buffer.buf_ptr() as usize).is_multiple_of(bytes) {
            true => Ok(input),
            false => input.copied(),
        }
    }

    fn as_it_is(object: Bound<'py, PyAny>, dtype: DType) -> PyResult<Input<'py>> {
        let (buffer, is_number) = match PyUntypedBuffer::get(&object) {
            // PyO3 takes no buffer without axes.
            Err(error) if error.is_instance_of::<PyBufferError>(object.py()) => {
                let ndim: usize = object.getattr(intern!(object.py(), "ndim"))?.extract()?;
                if ndim > 0 {
                    return Err(error);
                }
                let row = object.call_method1(intern!(object.py(), "reshape"), (1,))?;
                (PyUntypedBuffer::get(&row)?, true)
            }
            buffer => (buffer?, false),
        };
        if buffer.item_size() != dtype.bytes() {
            let message = format!(
                "items of {} bytes where {dtype:?} is expected",
                buffer.item_size()
            );
            return Err(PyTypeError::new_err(message));
        }
        Ok(Input {
            object,
            buffer,
            dtype,
            is_number,
        })
    }

    /// A copy that lies row by row.
    fn copied(self) -> PyResult<Input<'py>> {
        let py = self.object.py();
        let copy = self.object.call_method1(intern!(py, "copy"), ("C",))?;
        Input::as_it_is(copy, self.dtype)
    }

    /// The array, or a copy, row by row.
    pub(crate) fn contiguous(self) -> PyResult<Input<'py>> {
        match self.buffer.is_c_contiguous() {
            true => Ok(self),
            false => self.copied(),
        }
    }

    /// The array with its axes in another order.
    pub(crate) fn transposed(self, axes: &[usize]) -> PyResult<Input<'py>> {
        let py = self.object.py();
        let axes = PyTuple::new(py, axes)?;
        let object = self.object.call_method1(intern!(py, "transpose"), axes)?;
        Input::as_it_is(object, self.dtype)
    }

    pub(crate) fn shape(&self) -> &[usize] {
        match self.is_number {
            true => &[],
            false => self.buffer.shape(),
        }
    }

    /// In items.
    pub(crate) fn strides(&self) -> Vec<isize> {
        let bytes = self.dtype.bytes() as isize;
        match self.is_number {
            true => Vec::new(),
            false => self.buffer.strides().iter().map(|s| s / bytes).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.buffer.item_count()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.buffer.len_bytes()
    }

    pub(crate) fn is_contiguous(&self) -> bool {
        self.buffer.is_c_contiguous()
    }

    /// All items, row by row.
    ///
    /// # Panics
    ///
    /// Unless the array is contiguous.
    pub(crate) fn items<T: Pod>(&self) -> &[T] {
        assert!(self.is_contiguous());
        // SAFETY: the array holds so many items.
        unsafe { self.first(self.len()) }
    }

    /// So many items from the first address on.
    ///
    /// # Safety
    ///
    /// They belong to the array.
    pub(crate) unsafe fn first<T: Pod>(&self, len: usize) -> &[T] {
        assert_eq!(size_of::<T>(), self.dtype.bytes());
        let address = self.buffer.buf_ptr().cast::<T>().cast_const();
        if len == 0 {
            return &[];
        }
        assert!(address.is_aligned());
        // SAFETY: the buffer is exported, so its memory stays where it is. Any bits are a `Pod`.
        // Whoever writes it from another thread meanwhile gets unspecified numbers, as with NumPy.
        unsafe { std::slice::from_raw_parts(address, len) }
    }
}

/// An array that a call writes.
pub(crate) struct Output<'py> {
    pub(crate) object: Bound<'py, PyAny>,
    buffer: PyUntypedBuffer,
}

impl<'py> Output<'py> {
    /// A new array, whose numbers are whatever the memory has.
    pub(crate) fn empty(py: Python<'py>, shape: &[usize], dtype: DType) -> PyResult<Output<'py>> {
        let shape = PyTuple::new(py, shape)?;
        let object = empty(py)?.call1((shape, dtype.object(py)?))?;
        // bfloat16 is exported as integers.
        match dtype {
            DType::Bf16 => {
                let kind = DType::U16.object(py)?;
                let view = object.call_method1(intern!(py, "view"), (kind,))?;
                let buffer = PyUntypedBuffer::get(&view)?;
                Ok(Output { object, buffer })
            }
            _ => Output::over(object),
        }
    }

    /// A contiguous array that can be written.
    pub(crate) fn over(object: Bound<'py, PyAny>) -> PyResult<Output<'py>> {
        let buffer = PyUntypedBuffer::get(&object)?;
        if buffer.readonly() || !buffer.is_c_contiguous() {
            return Err(PyValueError::new_err(
                "the output cannot be written in place",
            ));
        }
        Ok(Output { object, buffer })
    }

    pub(crate) fn items<T: Pod>(&mut self) -> &mut [T] {
        assert_eq!(size_of::<T>(), self.buffer.item_size());
        let address = self.buffer.buf_ptr().cast::<T>();
        if self.buffer.item_count() == 0 {
            return &mut [];
        }
        assert!(address.is_aligned());
        // SAFETY: the buffer is exported, contiguous and can be written. NumPy's allocator gave the
        // memory, so its bits are some bits, of which any are a `Pod`.
        unsafe { std::slice::from_raw_parts_mut(address, self.buffer.item_count()) }
    }

    /// An error if some items of an input lie where the output does.
    pub(crate) fn check_apart<T>(&self, items: &[T]) -> PyResult<()> {
        let start = self.buffer.buf_ptr() as usize;
        let output = start..start + self.buffer.len_bytes();
        let input = items.as_ptr_range();
        let (first, end) = (input.start as usize, input.end as usize);
        match first < output.end && output.start < end {
            true => Err(PyValueError::new_err("the output overlaps the input")),
            false => Ok(()),
        }
    }
}

/// What owns the numbers of an array that was a vector.
#[pyclass(frozen)]
pub(crate) struct Block {
    /// Keeps them.
    _owner: Box<dyn Any + Send + Sync>,
    address: usize,
    bytes: isize,
}

#[pymethods]
impl Block {
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view"));
        }
        let block = slf.get();
        let address = ptr::with_exposed_provenance_mut(block.address);
        // SAFETY: the view is Python's. The bytes live as long as this object, to which the view
        // keeps a reference. NumPy alone has it, so nobody else writes them.
        let status =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), address, block.bytes, 0, flags) };
        match status {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}

/// An array of this shape that owns the numbers, without a copy.
pub(crate) fn array_of<'py, T: Pod + Send + Sync>(
    py: Python<'py>,
    mut numbers: Vec<T>,
    shape: &[usize],
    dtype: DType,
) -> PyResult<Bound<'py, PyAny>> {
    assert_eq!(size_of::<T>(), dtype.bytes());
    let shape = PyTuple::new(py, shape)?;
    let address = numbers.as_mut_ptr().expose_provenance();
    let bytes = size_of_val(numbers.as_slice()) as isize;
    let block = Block {
        _owner: Box::new(numbers),
        address,
        bytes,
    };
    ndarray(py)?.call1((shape, dtype.object(py)?, Bound::new(py, block)?))
}

/// A number as NumPy's scalar, or an array of a shape.
pub(crate) fn result_of<'py, T: Pod + Send + Sync + Scalar>(
    py: Python<'py>,
    numbers: Vec<T>,
    shape: &[usize],
    dtype: DType,
) -> PyResult<Bound<'py, PyAny>> {
    match shape {
        [] => numbers[0].object(py, dtype),
        _ => array_of(py, numbers, shape, dtype),
    }
}

fn ndarray(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    NDARRAY.import(py, "numpy", "ndarray")
}

fn empty(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    EMPTY.import(py, "numpy", "empty")
}

/// How a reduction or a scan along axes reads an array in place.
#[derive(Debug, PartialEq)]
pub(crate) struct Lanes {
    pub(crate) axis: Axis,
    /// The axes that are kept, by falling strides: first the outer ones, and so many are these.
    pub(crate) kept: Vec<usize>,
    pub(crate) outer: usize,
}

impl Lanes {
    /// Lanes along the axes for which `along` is true, in their order, or if that does not matter
    /// in any. `None` if the array must be copied first.
    pub(crate) fn new(
        shape: &[usize],
        strides: &[isize],
        along: &[bool],
        any_order: bool,
    ) -> Option<Lanes> {
        let axes = |wanted: bool| (0..shape.len()).filter(move |&i| along[i] == wanted);
        let (kept, reduced) = (axes(false), axes(true));
        let is_long = |&i: &usize| shape[i] != 1;
        let by_stride = |axes: &mut Vec<usize>| {
            axes.sort_by_key(|&i| std::cmp::Reverse((is_long(&i), strides[i])));
        };
        let mut kept: Vec<usize> = kept.collect();
        if shape.contains(&0) {
            let product = |axes: &[usize]| {
                let mut lengths = axes.iter().map(|&i| shape[i]);
                lengths.try_fold(1_usize, |all, len| all.checked_mul(len))
            };
            let lanes = product(&kept)?;
            let len = product(&axes(true).collect::<Vec<_>>())?;
            let outer = kept.len();
            let axis = Axis::new(lanes, len, 1).ok()?;
            return Some(Lanes { axis, kept, outer });
        }
        let mut reduced: Vec<usize> = reduced.filter(is_long).collect();
        if strides
            .iter()
            .enumerate()
            .any(|(i, &s)| shape[i] != 1 && s <= 0)
        {
            return None;
        }
        if any_order {
            by_stride(&mut reduced);
        }
        by_stride(&mut kept);
        // Axes of length 1 stand behind all others now.
        let long = kept.iter().filter(|&i| is_long(i)).count();
        let stride = |i: usize| strides[i] as usize;
        // One axis instead of several, if they have no gaps between them.
        let merged = |axes: &[usize]| -> Option<(usize, usize)> {
            let (&last, _) = axes.split_last()?;
            let dense = |pair: &[usize]| stride(pair[0]) == shape[pair[1]] * stride(pair[1]);
            axes.windows(2)
                .all(dense)
                .then(|| (axes.iter().map(|&i| shape[i]).product(), stride(last)))
        };
        let (len, step) = match reduced.is_empty() {
            true => (1, usize::MAX),
            false => merged(&reduced)?,
        };
        let span = len.saturating_mul(step);
        let outer = kept[..long].iter().filter(|&&i| stride(i) >= span).count();
        let (outside, inside) = kept[..long].split_at(outer);
        let (outside_len, outside_step) = match outside.is_empty() {
            true => (1, 0),
            false => merged(outside)?,
        };
        let inner = match inside.is_empty() {
            true => 1,
            false => match merged(inside)? {
                (inner, 1) => inner,
                _ => return None,
            },
        };
        if inner > step {
            return None;
        }
        let axis = Axis::new(outside_len, len, inner).ok()?;
        let step = if len == 1 { inner } else { step };
        let outside_step = if outside.is_empty() {
            len * step
        } else {
            outside_step
        };
        let axis = axis.strides(outside_step, step).ok()?;
        Some(Lanes { axis, kept, outer })
    }

    /// How many items lie from the first to the last.
    pub(crate) fn extent(shape: &[usize], strides: &[isize]) -> usize {
        if shape.contains(&0) {
            return 0;
        }
        let steps = shape
            .iter()
            .zip(strides)
            .map(|(&n, &s)| (n - 1) * s.unsigned_abs());
        1 + steps.sum::<usize>()
    }
}

/// The results of lanes as an array whose axes have the order of the input's.
pub(crate) fn in_order<'py>(
    array: Bound<'py, PyAny>,
    axes: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    if axes.is_sorted() {
        return Ok(array);
    }
    let py = array.py();
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    let place = |axis| {
        axes.iter()
            .position(|&i| i == axis)
            .expect("it is one of them")
    };
    let order = PyTuple::new(py, sorted.into_iter().map(place))?;
    array.call_method1(intern!(py, "transpose"), order)
}
