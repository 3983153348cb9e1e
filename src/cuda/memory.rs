//! Device memory for any element, for code that does not name cudarc's traits.

use super::workspace::allocate as allocate_bytes;
use super::{driver_error, library::require_driver};
use crate::{Element, Error, Result};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DriverError, result};
use std::sync::Arc;

/// Device memory for `len` elements. All bytes are zero. It comes from the stream's pool, and is
/// freed there.
///
/// `CudaStream::alloc_zeros` does the same for types that have cudarc's traits. In code that is
/// generic over [`Element`] they are not known:
///
/// ```no_run
/// use std::sync::Arc;
/// use warpfold::{Element, Monoid, Result};
/// use warpfold::cuda::{self, Reduce, Workspace, cudarc::driver::CudaStream};
///
/// fn total<T: Element, Op: Monoid<T>>(stream: &Arc<CudaStream>, data: &[T]) -> Result<T> {
///     let reduce = Reduce::<T, Op>::load(stream.context())?;
///     let input = cuda::upload(stream, data)?;
///     let mut output = cuda::allocate::<T>(stream, 1)?;
///     let mut workspace = Workspace::new(stream, reduce.workspace_bytes(data.len()))?;
///     reduce.enqueue(stream, &input, &mut output, &mut workspace)?;
///     Ok(cuda::download(stream, &output)?[0])
/// }
/// ```
///
/// # Errors
///
/// [`Error::OutOfMemory`], with the sizes; [`Error::Library`]; [`Error::Driver`].
pub fn allocate<T: Element>(stream: &Arc<CudaStream>, len: usize) -> Result<CudaSlice<T>> {
    let slice = allocate_raw::<T>(stream, len)?;
    if len > 0 {
        // SAFETY: the memory has that many bytes, and is new.
        unsafe {
            let address = slice.device_ptr(stream).0;
            result::memset_d8_async(address, 0, len * size_of::<T>(), stream.cu_stream())
        }
        .map_err(|error| driver_error("clearing memory", error))?;
    }
    Ok(slice)
}

/// A copy of `data` in device memory. Waits until the data have been read.
///
/// # Errors
///
/// As [`allocate`].
pub fn upload<T: Element>(stream: &Arc<CudaStream>, data: &[T]) -> Result<CudaSlice<T>> {
    let slice = allocate_raw::<T>(stream, data.len())?;
    if !data.is_empty() {
        let bytes = bytemuck::cast_slice::<T, u8>(data);
        // SAFETY: the memory has that many bytes, and is new; the data stay until the copy is done.
        unsafe {
            let address = slice.device_ptr(stream).0;
            result::memcpy_htod_async(address, bytes, stream.cu_stream())
        }
        .and_then(|()| stream.synchronize())
        .map_err(|error| driver_error("copying to the device", error))?;
    }
    Ok(slice)
}

/// A copy of `data` in host memory. Waits for what the stream has to do before.
///
/// # Errors
///
/// [`Error::OutOfHostMemory`]; [`Error::Driver`] if a kernel or the copy failed.
pub fn download<T: Element>(stream: &Arc<CudaStream>, data: &impl DevicePtr<T>) -> Result<Vec<T>> {
    let len = data.len();
    let mut copy = Vec::new();
    copy.try_reserve_exact(len)
        .map_err(|_| Error::OutOfHostMemory {
            requested: len * size_of::<T>(),
        })?;
    if len == 0 {
        return Ok(copy);
    }
    let (address, _reading) = data.device_ptr(stream);
    let room = &mut copy.spare_capacity_mut()[..len];
    let copied: Result<(), DriverError> = stream.context().bind_to_thread().and_then(|()| {
        // SAFETY: both have that many elements, which are only written to, and stay until the copy
        // is done.
        unsafe { result::memcpy_dtoh_async(room, address, stream.cu_stream()) }
            .and_then(|()| stream.synchronize())
    });
    copied.map_err(|error| driver_error("computing, or copying the result to the host", error))?;
    // SAFETY: the copy wrote all of them, and every bit pattern is an element.
    unsafe { copy.set_len(len) };
    Ok(copy)
}

/// Memory that must be written before it is read.
fn allocate_raw<T: Element>(stream: &Arc<CudaStream>, len: usize) -> Result<CudaSlice<T>> {
    require_driver()?;
    // CUDA allocates no empty memory.
    let bytes = len.max(1).saturating_mul(size_of::<T>());
    let address = allocate_bytes(stream, bytes)?;
    // SAFETY: the memory is new, has room for `len` elements, and was allocated as `CudaSlice`
    // frees it.
    Ok(unsafe { stream.upgrade_device_ptr(address, len) })
}
