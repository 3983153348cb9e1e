//! Where calls on GPU arrays run, and the memory that they are given.

use crate::error::exception;
use pyo3::prelude::*;
use warpfold::{Buffer, Device, Element, Error};

/// The GPU's number, and the handle of a stream: 0 or 1 for the legacy default one, 2 for the one
/// of the thread. The host without them.
pub(crate) type Place = Option<(usize, usize)>;

/// An address, and how many items there are.
pub(crate) type Span = (u64, usize);

/// Runs work at a place, without the interpreter's lock. CUDA's current context stays what it was.
pub(crate) fn on<R: Send>(
    py: Python<'_>,
    place: Place,
    work: impl FnOnce(&Device) -> Result<R, Error> + Send,
) -> PyResult<R> {
    let work = || match place {
        None => work(&Device::cpu()),
        Some((ordinal, stream)) => on_gpu(ordinal, stream, work),
    };
    py.detach(work).map_err(exception)
}

#[cfg(not(feature = "cuda"))]
fn on_gpu<R>(_: usize, _: usize, _: impl FnOnce(&Device) -> Result<R, Error>) -> Result<R, Error> {
    Err(Error::Feature { feature: "cuda" })
}

#[cfg(feature = "cuda")]
pub(crate) use cuda::{Current, on_gpu, stream, wait};

#[cfg(feature = "cuda")]
mod cuda {
    use std::collections::HashMap;
    use std::ptr;
    use std::sync::{Arc, Mutex, PoisonError};
    use std::thread::{self, ThreadId};
    use warpfold::cuda::cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};
    use warpfold::{Device, Error};

    /// `CU_STREAM_LEGACY` and `CU_STREAM_PER_THREAD`.
    const LEGACY: usize = 1;
    const PER_THREAD: usize = 2;

    /// Streams by the GPU's number, their handle, and for the stream of a thread that.
    type Known = HashMap<(usize, usize, Option<ThreadId>), (Device, Arc<CudaStream>)>;

    /// What was once used is kept: it has a workspace.
    static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

    pub(crate) fn on_gpu<R>(
        ordinal: usize,
        stream: usize,
        work: impl FnOnce(&Device) -> Result<R, Error>,
    ) -> Result<R, Error> {
        require(ordinal)?;
        let _current = Current::get()?;
        work(&known(ordinal, stream)?.0)
    }

    /// A stream of a caller's, for work beside calls.
    pub(crate) fn stream(ordinal: usize, stream: usize) -> Result<Arc<CudaStream>, Error> {
        require(ordinal)?;
        Ok(known(ordinal, stream)?.1)
    }

    /// Waits for what was enqueued on a stream.
    pub(crate) fn wait(ordinal: usize, handle: usize) -> Result<(), Error> {
        on_gpu(ordinal, handle, |_| {
            let waited = known(ordinal, handle)?.1.synchronize();
            waited.map_err(|error| fault("waiting for a stream", error))
        })
    }

    /// An error with a remedy unless there is the driver and the GPU.
    fn require(ordinal: usize) -> Result<(), Error> {
        static FOUND: Mutex<Vec<usize>> = Mutex::new(Vec::new());
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if !found.contains(&ordinal) {
            // A thread has a current context of its own, and this may change it.
            let open = thread::spawn(move || Device::cuda(ordinal).map(drop));
            open.join().expect("it does not panic")?;
            found.push(ordinal);
        }
        Ok(())
    }

    fn known(ordinal: usize, handle: usize) -> Result<(Device, Arc<CudaStream>), Error> {
        // Both name the legacy stream, and a workspace tells streams apart by their handle.
        let handle = if handle == LEGACY { 0 } else { handle };
        let thread = (handle == PER_THREAD).then(|| thread::current().id());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        if let Some(device) = known.get(&(ordinal, handle, thread)) {
            return Ok(device.clone());
        }
        let context = context(ordinal)?;
        let raw = ptr::with_exposed_provenance_mut::<sys::CUstream_st>(handle);
        // SAFETY: the caller's library has the stream, in the primary context of this GPU.
        let stream = unsafe { context.wrap_borrowed_stream(raw) };
        let device = (Device::on_stream(&stream), stream);
        known.insert((ordinal, handle, thread), device.clone());
        Ok(device)
    }

    /// One object for each GPU's primary context.
    fn context(ordinal: usize) -> Result<Arc<CudaContext>, Error> {
        static OPEN: Mutex<Option<HashMap<usize, Arc<CudaContext>>>> = Mutex::new(None);
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        if let Some(context) = open.get(&ordinal) {
            return Ok(context.clone());
        }
        let context = CudaContext::new(ordinal).map_err(|error| fault("opening a GPU", error))?;
        // SAFETY: what is allocated here is used on one stream, or waited for.
        unsafe { context.disable_event_tracking() };
        open.insert(ordinal, context.clone());
        Ok(context)
    }

    /// The number of the GPU that an address belongs to.
    pub(super) fn gpu_of(address: u64) -> Result<usize, Error> {
        require(0)?;
        let mut ordinal = -1_i32;
        let mut attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
        let mut value = (&raw mut ordinal).cast();
        // SAFETY: there is one attribute, and room for it. Any address may be asked for.
        let asked = unsafe { sys::cuPointerGetAttributes(1, &mut attribute, &mut value, address) };
        let asked = asked.result();
        asked.map_err(|error| fault("asking which GPU an array is on", error))?;
        usize::try_from(ordinal).map_err(|_| Error::Driver {
            action: "asking which GPU an array is on".to_owned(),
            cause: "the address belongs to none".to_owned(),
        })
    }

    fn fault(action: &str, error: DriverError) -> Error {
        Error::Driver {
            action: action.to_owned(),
            cause: error.to_string(),
        }
    }

    /// Makes the thread's current context what it was.
    pub(crate) struct Current(sys::CUcontext);

    impl Current {
        pub(crate) fn get() -> Result<Current, Error> {
            let current = result::ctx::get_current();
            let current = current.map_err(|error| fault("asking for the context", error))?;
            Ok(Current(current.unwrap_or(ptr::null_mut())))
        }
    }

    impl Drop for Current {
        fn drop(&mut self) {
            // SAFETY: it was current before. If that fails there is nobody to tell.
            let _ = unsafe { result::ctx::set_current(self.0) };
        }
    }
}

/// The items at an address, for reading.
pub(crate) fn input<T: Element>(device: &Device, span: Span) -> Result<Buffer<T>, Error> {
    if device.is_cpu() {
        // SAFETY: the package has described a host array.
        let items = unsafe { host::<T>(span) };
        return device.upload(items);
    }
    borrow(device, span)
}

/// The room at an address, for results that `work` writes.
pub(crate) fn output<T: Element, R>(
    device: &Device,
    span: Span,
    work: impl FnOnce(&mut Buffer<T>) -> Result<R, Error>,
) -> Result<R, Error> {
    if !device.is_cpu() {
        return work(&mut borrow(device, span)?);
    }
    let mut results = device.allocate(span.1)?;
    let done = work(&mut results)?;
    let results = results.into_vec()?;
    let room = std::ptr::with_exposed_provenance_mut::<T>(span.0 as usize);
    if !results.is_empty() {
        // SAFETY: the package has allocated room for them, of this dtype.
        unsafe { room.copy_from_nonoverlapping(results.as_ptr(), results.len()) };
    }
    Ok(done)
}

/// Writes results to where there is room for them.
pub(crate) fn store<T: Element>(
    device: &Device,
    results: &Buffer<T>,
    address: u64,
) -> Result<(), Error> {
    output(device, (address, results.len()), |room| {
        device.collect_into(results, room)
    })
}

/// # Safety
///
/// At the address the host has so many items, if any.
unsafe fn host<'a, T: Element>((address, len): Span) -> &'a [T] {
    if len == 0 {
        return &[];
    }
    let items = std::ptr::with_exposed_provenance::<T>(address as usize);
    assert!(items.is_aligned());
    // SAFETY: the caller's; any bits are an element.
    unsafe { std::slice::from_raw_parts(items, len) }
}

#[cfg(feature = "cuda")]
fn borrow<T: Element>(device: &Device, (address, len): Span) -> Result<Buffer<T>, Error> {
    // SAFETY: the package has described an array of the caller's, or allocated one, and both live
    // in the order of the stream at least as long as the call.
    unsafe { device.borrow(address, len) }
}

#[cfg(not(feature = "cuda"))]
fn borrow<T: Element>(_: &Device, _: Span) -> Result<Buffer<T>, Error> {
    Err(Error::Feature { feature: "cuda" })
}

/// The number of the GPU that an address belongs to.
#[pyfunction]
#[cfg(feature = "cuda")]
pub(crate) fn gpu_of(address: u64) -> PyResult<usize> {
    cuda::gpu_of(address).map_err(exception)
}

/// The number of the GPU that an address belongs to.
#[pyfunction]
#[cfg(not(feature = "cuda"))]
pub(crate) fn gpu_of(address: u64) -> PyResult<usize> {
    let _ = address;
    Err(exception(Error::Feature { feature: "cuda" }))
}

/// The file of NVRTC that kernels are compiled by, and its version.
#[pyfunction]
#[cfg(feature = "cuda")]
pub(crate) fn nvrtc() -> PyResult<(std::path::PathBuf, (u32, u32))> {
    use warpfold::cuda::nvrtc::{file, version};
    let found = file().and_then(|file| Ok((file, version()?)));
    found.map_err(exception)
}

/// The file of NVRTC that kernels are compiled by, and its version.
#[pyfunction]
#[cfg(not(feature = "cuda"))]
pub(crate) fn nvrtc() -> PyResult<(std::path::PathBuf, (u32, u32))> {
    Err(exception(Error::Feature { feature: "cuda" }))
}
