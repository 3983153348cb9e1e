//! DLPack (https://dmlc.github.io/dlpack/latest/), of both kinds of capsules: arrays of other
//! libraries, and results that a library without an allocator of its own takes over.

use crate::device::Place;
use crate::dtype::DType;
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::{CStr, c_void};
use std::sync::Arc;
use std::{ptr, slice};

const PLAIN: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const USED_PLAIN: &CStr = c"used_dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

/// `DLPACK_FLAG_BITMASK_READ_ONLY`.
const READ_ONLY: u64 = 1;

const HOST: i32 = 1;
const CUDA: i32 = 2;

/// `DLDevice`: its type, and its number.
type Device = (i32, i32);

#[derive(Clone, Copy)]
#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
struct Plain {
    tensor: Tensor,
    owner: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Plain)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    owner: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

/// Of each dtype the code and the bits that DLPack has.
const DATA_TYPES: [(DType, u8, u8); 13] = [
    (DType::Bool, 6, 8),
    (DType::I8, 0, 8),
    (DType::I16, 0, 16),
    (DType::I32, 0, 32),
    (DType::I64, 0, 64),
    (DType::U8, 1, 8),
    (DType::U16, 1, 16),
    (DType::U32, 1, 32),
    (DType::U64, 1, 64),
    (DType::F16, 2, 16),
    (DType::Bf16, 4, 16),
    (DType::F32, 2, 32),
    (DType::F64, 2, 64),
];

fn dtype_of(given: DataType) -> PyResult<DType> {
    let DataType { code, bits, lanes } = given;
    let mut known = DATA_TYPES.iter();
    match known.find(|&&(_, c, b)| (c, b, 1) == (code, bits, lanes)) {
        Some(&(dtype, ..)) => Ok(dtype),
        None => {
            let kind = match code {
                0 => "int",
                1 => "uint",
                2 => "float",
                4 => "bfloat",
                5 => "complex",
                6 => "bool",
                _ => "another kind",
            };
            let of_lanes = if lanes == 1 {
                String::new()
            } else {
                format!(" in groups of {lanes}")
            };
            Err(PyTypeError::new_err(format!(
                "DLPack's dtype {kind} of {bits} bits{of_lanes} is not supported: convert the array"
            )))
        }
    }
}

/// What a capsule holds until this is dropped.
enum Taken {
    Plain(*mut Plain),
    Versioned(*mut Versioned),
}

// SAFETY: DLPack lets the consumer call the deleter from any thread, and nothing else is changed.
unsafe impl Send for Taken {}
// SAFETY: as above; it is only read.
unsafe impl Sync for Taken {}

impl Drop for Taken {
    fn drop(&mut self) {
        // SAFETY: the capsule was taken, so this is called once.
        unsafe {
            match *self {
                Taken::Plain(tensor) => (*tensor).deleter.map(|delete| delete(tensor)),
                Taken::Versioned(tensor) => (*tensor).deleter.map(|delete| delete(tensor)),
            };
        }
    }
}

/// An array of another library, which stays while this does. Strides are in items.
#[pyclass(frozen)]
pub(crate) struct Borrowed {
    #[pyo3(get)]
    device: Device,
    #[pyo3(get)]
    address: u64,
    #[pyo3(get)]
    shape: Vec<i64>,
    #[pyo3(get)]
    strides: Option<Vec<i64>>,
    #[pyo3(get)]
    dtype: u8,
    #[pyo3(get)]
    read_only: bool,
    _taken: Taken,
}

/// Takes the array out of a capsule, which cannot be used again.
#[pyfunction]
pub(crate) fn from_capsule(capsule: &Bound<'_, PyAny>) -> PyResult<Borrowed> {
    let object = capsule.as_ptr();
    let take = |name: &CStr, used: &CStr| -> PyResult<Option<*mut c_void>> {
        // SAFETY: the object lives, and the name is compared only; the pointer is that of a valid
        // capsule.
        unsafe {
            if ffi::PyCapsule_IsValid(object, name.as_ptr()) == 0 {
                return Ok(None);
            }
            let content = ffi::PyCapsule_GetPointer(object, name.as_ptr());
            if content.is_null() || ffi::PyCapsule_SetName(object, used.as_ptr()) != 0 {
                return Err(PyErr::fetch(capsule.py()));
            }
            Ok(Some(content))
        }
    };
    if let Some(content) = take(VERSIONED, USED_VERSIONED)? {
        let content = content.cast::<Versioned>();
        let taken = Taken::Versioned(content);
        // SAFETY: a capsule of that name holds such a value until its deleter is called. All
        // versions begin with their number.
        unsafe {
            if (*content).major != 1 {
                return Err(PyBufferError::new_err(format!(
                    "the array comes by version {} of DLPack, and version 1 is known here",
                    (*content).major
                )));
            }
            return borrowed(taken, &(*content).tensor, (*content).flags & READ_ONLY != 0);
        }
    }
    match take(PLAIN, USED_PLAIN)? {
        Some(content) => {
            let content = content.cast::<Plain>();
            // SAFETY: as above.
            unsafe { borrowed(Taken::Plain(content), &(*content).tensor, false) }
        }
        None => Err(PyBufferError::new_err(
            "__dlpack__ gave no capsule of DLPack, or one that was used before",
        )),
    }
}

/// # Safety
///
/// The tensor is what was taken.
unsafe fn borrowed(taken: Taken, tensor: &Tensor, read_only: bool) -> PyResult<Borrowed> {
    let ndim = usize::try_from(tensor.ndim).unwrap_or(0);
    let numbers = |address: *mut i64| match ndim {
        0 => Vec::new(),
        // SAFETY: there are so many lengths and strides.
        _ => unsafe { slice::from_raw_parts(address, ndim) }.to_vec(),
    };
    Ok(Borrowed {
        device: (tensor.device_type, tensor.device_id),
        address: tensor.data.expose_provenance() as u64 + tensor.byte_offset,
        shape: numbers(tensor.shape),
        strides: (!tensor.strides.is_null()).then(|| numbers(tensor.strides)),
        dtype: dtype_of(tensor.dtype)? as u8,
        read_only,
        _taken: taken,
    })
}

/// The memory of a result.
enum Memory {
    Host(Vec<u64>),
    #[cfg(feature = "cuda")]
    Gpu(std::mem::ManuallyDrop<warpfold::cuda::cudarc::driver::CudaSlice<u64>>),
}

impl Memory {
    #[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
    fn new(py: Python<'_>, place: Place, words: usize) -> PyResult<Memory> {
        match place {
            None => Ok(Memory::Host(vec![0; words])),
            #[cfg(feature = "cuda")]
            Some((ordinal, stream)) => {
                let memory = py.detach(|| {
                    crate::device::on_gpu(ordinal, stream, |_| {
                        let stream = crate::device::stream(ordinal, stream)?;
                        warpfold::cuda::allocate::<u64>(&stream, words)
                    })
                });
                let memory = memory.map_err(crate::error::exception)?;
                Ok(Memory::Gpu(std::mem::ManuallyDrop::new(memory)))
            }
            #[cfg(not(feature = "cuda"))]
            Some(_) => Err(crate::error::exception(warpfold::Error::Feature {
                feature: "cuda",
            })),
        }
    }

    fn address(&self) -> u64 {
        match self {
            Memory::Host(words) => words.as_ptr().expose_provenance() as u64,
            #[cfg(feature = "cuda")]
            Memory::Gpu(words) => {
                use warpfold::cuda::cudarc::driver::DevicePtr;
                words.device_ptr(words.stream()).0
            }
        }
    }
}

#[cfg(feature = "cuda")]
impl Drop for Memory {
    fn drop(&mut self) {
        if let Memory::Gpu(words) = self {
            // Whoever took the result may still read it, on a stream that nobody knows. If the
            // context is gone there is nothing to wait for. This binds it, and to free needs that.
            let _current = crate::device::Current::get();
            let _ = words.context().synchronize();
            // SAFETY: nobody uses it after this.
            unsafe { std::mem::ManuallyDrop::drop(words) };
        }
    }
}

/// An array on a GPU that another library can take over without a copy, by DLPack or by
/// ``__cuda_array_interface__``. Its numbers are there: nothing needs to wait for them.
#[pyclass(frozen, module = "warpfold")]
pub(crate) struct DeviceArray {
    memory: Arc<Memory>,
    shape: Vec<i64>,
    dtype: DType,
    device: Device,
}

/// What an exported array keeps.
struct Export {
    _memory: Arc<Memory>,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

#[pymethods]
impl DeviceArray {
    #[new]
    #[pyo3(signature = (place, shape, dtype))]
    fn new(py: Python<'_>, place: Place, shape: Vec<i64>, dtype: u8) -> PyResult<DeviceArray> {
        let dtype = DType::of(dtype)?;
        let items: i64 = shape.iter().product();
        let words = (items as usize * dtype.bytes()).div_ceil(size_of::<u64>());
        Ok(DeviceArray {
            memory: Arc::new(Memory::new(py, place, words)?),
            shape,
            dtype,
            device: place.map_or((HOST, 0), |(ordinal, _)| (CUDA, ordinal as i32)),
        })
    }

    /// Where the first number lies.
    #[getter]
    fn address(&self) -> u64 {
        self.memory.address()
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, &self.shape)
    }

    /// NumPy's dtype.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.dtype.object(py)
    }

    fn __repr__(&self) -> String {
        let (shape, dtype, ordinal) = (&self.shape, self.dtype, self.device.1);
        format!("<warpfold.DeviceArray of shape {shape:?} and {dtype:?} on cuda:{ordinal}>")
    }

    fn __dlpack_device__(&self) -> Device {
        self.device
    }

    /// A capsule. The numbers are complete, so `stream` has nothing to wait for.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<Device>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _nothing_to_wait_for = stream;
        if copy == Some(true) || dl_device.is_some_and(|device| device != self.device) {
            return Err(PyBufferError::new_err(
                "no copy is made, neither here nor on another device",
            ));
        }
        let tensor = |export: &Export| Tensor {
            data: ptr::with_exposed_provenance_mut(self.memory.address() as usize),
            device_type: self.device.0,
            device_id: self.device.1,
            ndim: self.shape.len() as i32,
            dtype: self.data_type(),
            shape: export.shape.as_ptr().cast_mut(),
            strides: export.strides.as_ptr().cast_mut(),
            byte_offset: 0,
        };
        let export = Box::new(self.export());
        let tensor = tensor(&export);
        let owner = Box::into_raw(export).cast::<c_void>();
        if max_version.is_some_and(|(major, _)| major >= 1) {
            let managed = Box::into_raw(Box::new(Versioned {
                major: 1,
                minor: 0,
                owner,
                deleter: Some(delete_versioned),
                flags: 0,
                tensor,
            }));
            // SAFETY: the value is what a capsule of that name holds.
            return unsafe { capsule(py, managed.cast(), VERSIONED, drop_versioned) };
        }
        let managed = Box::into_raw(Box::new(Plain {
            tensor,
            owner,
            deleter: Some(delete_plain),
        }));
        // SAFETY: as above.
        unsafe { capsule(py, managed.cast(), PLAIN, drop_plain) }
    }

    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let kind = match (self.dtype, self.data_type().code) {
            (DType::Bool, _) => 'b',
            (DType::Bf16, _) => '?',
            (_, 0) => 'i',
            (_, 1) => 'u',
            _ => 'f',
        };
        if kind == '?' || self.device.0 != CUDA {
            return Err(PyAttributeError::new_err(
                "__cuda_array_interface__ has no name for this dtype or device: use DLPack",
            ));
        }
        let order = if self.dtype.bytes() == 1 { '|' } else { '<' };
        let interface = PyDict::new(py);
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", format!("{order}{kind}{}", self.dtype.bytes()))?;
        let is_empty = self.shape.contains(&0);
        let address = if is_empty { 0 } else { self.memory.address() };
        interface.set_item("data", (address, false))?;
        interface.set_item("strides", py.None())?;
        interface.set_item("stream", py.None())?;
        interface.set_item("version", 3)?;
        Ok(interface)
    }
}

impl DeviceArray {
    fn data_type(&self) -> DataType {
        let known = DATA_TYPES.iter().find(|known| known.0 == self.dtype);
        let &(_, code, bits) = known.expect("all dtypes are in the list");
        DataType {
            code,
            bits,
            lanes: 1,
        }
    }

    fn export(&self) -> Export {
        let mut strides = vec![1; self.shape.len()];
        for axis in (1..self.shape.len()).rev() {
            strides[axis - 1] = strides[axis] * self.shape[axis];
        }
        Export {
            _memory: self.memory.clone(),
            shape: self.shape.clone(),
            strides,
        }
    }
}

/// # Safety
///
/// The destructor is for a capsule of that name that holds the value.
unsafe fn capsule<'py>(
    py: Python<'py>,
    content: *mut c_void,
    name: &'static CStr,
    destructor: unsafe extern "C" fn(*mut ffi::PyObject),
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the name is never freed; the caller's for the rest.
    unsafe {
        let capsule = ffi::PyCapsule_New(content, name.as_ptr(), Some(destructor));
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// # Safety
///
/// `managed` is one of [`DeviceArray`]'s, and is not used again.
unsafe extern "C" fn delete_plain(managed: *mut Plain) {
    // SAFETY: the caller's: both were boxes.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.owner.cast::<Export>()));
    }
}

/// # Safety
///
/// As above.
unsafe extern "C" fn delete_versioned(managed: *mut Versioned) {
    // SAFETY: as above.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.owner.cast::<Export>()));
    }
}

/// # Safety
///
/// Python calls it, for a capsule that [`capsule`] made.
unsafe extern "C" fn drop_plain(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule that was not taken keeps its name, and owns what it holds.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) != 0 {
            delete_plain(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast());
        }
    }
}

/// # Safety
///
/// As above.
unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        }
    }
}

/// Waits for a stream: for libraries that know no stream of this call.
#[pyfunction]
#[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
pub(crate) fn gpu_wait(py: Python<'_>, place: Place) -> PyResult<()> {
    #[cfg(feature = "cuda")]
    if let Some((ordinal, stream)) = place {
        py.detach(|| crate::device::wait(ordinal, stream))
            .map_err(crate::error::exception)?;
    }
    Ok(())
}
