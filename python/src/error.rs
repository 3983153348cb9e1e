//! The library's errors as Python's exceptions.

use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use warpfold::Error;

/// The exception for an error: `MemoryError` without memory, `ValueError` for arguments,
/// `RuntimeError` for what a device or a library did.
pub(crate) fn exception(error: Error) -> PyErr {
    // The remedy is Rust's.
    let text = error.to_string();
    let text = text.replace("use Device::cpu()", "copy the array to host memory");
    match error {
        Error::OutOfMemory { .. } | Error::OutOfHostMemory { .. } => PyMemoryError::new_err(text),
        Error::Library { .. }
        | Error::Feature { .. }
        | Error::Driver { .. }
        | Error::Compile { .. }
        | Error::Codegen(_) => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
