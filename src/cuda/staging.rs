//! Memory for what the GPUs of several ranks exchange, and the way there from the host and back.

use super::driver_error;
use super::gpu::Gpu;
use super::pinned::Pinned;
use crate::Result;
use cudarc::driver::{CudaContext, CudaStream, DriverError};
use cudarc::driver::{result, sys};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a thread looks again and again before it sleeps in between.
pub(crate) const IMPATIENCE: Duration = Duration::from_micros(500);

fn failed(error: DriverError) -> crate::Error {
    driver_error("exchanging packets", error)
}

/// Memory of a GPU, which other GPUs may write to. It does not come from a stream's pool, which
/// would need other leave for that.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    context: Arc<CudaContext>,
    address: sys::CUdeviceptr,
    bytes: usize,
}

impl SharedMemory {
    pub(crate) fn new(gpu: &Gpu, bytes: usize) -> Result<SharedMemory> {
        let context = gpu.context().clone();
        let address = context
            .bind_to_thread()
            // SAFETY: any size is allowed but zero. What is read was written before.
            .and_then(|()| unsafe { result::malloc_sync(bytes.max(1)) });
        let address = address
            .map_err(|error| driver_error(&format!("allocating {bytes} bytes of a GPU"), error))?;
        Ok(SharedMemory {
            context,
            address,
            bytes,
        })
    }

    /// The address of a place in it.
    fn place(&self, at: usize, bytes: usize) -> sys::CUdeviceptr {
        assert!(at + bytes <= self.bytes);
        self.address + at as u64
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: it was allocated so. The driver waits for what uses it on its own GPU, and
            // owners see to others.
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}

/// A stream of a GPU, and pinned memory, which all GPUs reach.
pub(crate) struct Staging {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    host: ManuallyDrop<Pinned>,
    /// Work may hang on the stream, so its memory is never freed.
    lost: bool,
}

impl Staging {
    pub(crate) fn new(gpu: &Gpu, bytes: usize) -> Result<Staging> {
        let context = gpu.context().clone();
        let stream = context.new_stream().map_err(failed)?;
        Ok(Staging {
            host: ManuallyDrop::new(Pinned::new(&context, bytes.max(1))?),
            context,
            stream,
            lost: false,
        })
    }

    /// The stream, whose context is the thread's from now on.
    pub(crate) fn stream(&self) -> Result<&Arc<CudaStream>> {
        self.context.bind_to_thread().map_err(failed)?;
        Ok(&self.stream)
    }

    /// The pinned memory from a place on. GPUs have it at the same address.
    pub(crate) fn host(&mut self, at: usize, bytes: usize) -> &mut [u8] {
        &mut self.host.as_mut_slice::<u8>(at + bytes)[at..]
    }

    /// Enqueues the copy of bytes to a place in the GPU's memory.
    ///
    /// # Safety
    ///
    /// The memory lives until the copy is done, and nobody reads or writes there meanwhile.
    pub(crate) unsafe fn upload(
        &mut self,
        memory: &SharedMemory,
        at: usize,
        from: &[u8],
    ) -> Result<()> {
        let to = memory.place(at, from.len());
        let stream = self.stream()?.cu_stream();
        let room = self.host(at, from.len());
        room.copy_from_slice(from);
        // SAFETY: both places have so many bytes, and the caller's. Nobody writes to the host's
        // before `wait` or the drop.
        unsafe { result::memcpy_htod_async(to, room, stream) }.map_err(failed)
    }

    /// Enqueues the copy of what lies in a place of the GPU's memory to this place of the host's.
    ///
    /// # Safety
    ///
    /// As of [`upload`](Staging::upload), but that others may read.
    pub(crate) unsafe fn download(
        &mut self,
        memory: &SharedMemory,
        at: usize,
        bytes: usize,
    ) -> Result<()> {
        let from = memory.place(at, bytes);
        let stream = self.stream()?.cu_stream();
        let room = self.host(at, bytes);
        // SAFETY: as in `upload`.
        unsafe { result::memcpy_dtoh_async(room, from, stream) }.map_err(failed)
    }

    /// Enqueues the copy of a place in the memory of one GPU to this place in that of another.
    ///
    /// # Safety
    ///
    /// As of [`upload`](Staging::upload), for both.
    pub(crate) unsafe fn send(
        &self,
        memory: &SharedMemory,
        at: usize,
        bytes: usize,
        other: &SharedMemory,
    ) -> Result<()> {
        let (from, to) = (memory.place(at, bytes), other.place(at, bytes));
        let stream = self.stream()?.cu_stream();
        let contexts = (memory.context.cu_ctx(), other.context.cu_ctx());
        // SAFETY: both places have so many bytes, and the caller's.
        unsafe { result::memcpy_peer_async(contexts.1, to, contexts.0, from, bytes, stream) }
            .map_err(failed)
    }

    /// Waits for the stream, until a deadline if there is one. Meanwhile it asks `check` now and
    /// then.
    ///
    /// # Errors
    ///
    /// That of `check`; [`Error::Driver`](crate::Error::Driver). `Ok(false)` says that time is up.
    pub(crate) fn wait(
        &mut self,
        deadline: Option<Instant>,
        mut check: impl FnMut() -> Result<()>,
    ) -> Result<bool> {
        let stream = self.stream()?.cu_stream();
        let started = Instant::now();
        loop {
            // SAFETY: it is a stream.
            match unsafe { sys::cuStreamQuery(stream) } {
                sys::CUresult::CUDA_ERROR_NOT_READY => {}
                status => return status.result().map(|()| true).map_err(failed),
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now > deadline) {
                return Ok(false);
            }
            if now - started < IMPATIENCE {
                std::hint::spin_loop();
            } else {
                check()?;
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    }

    /// Says that work may hang on the stream for ever. Its memory is not freed then.
    pub(crate) fn lose(&mut self) {
        self.lost = true;
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.lost || self.stream.synchronize().is_err() {
            return;
        }
        // SAFETY: nothing runs on the stream, and it is not used again.
        unsafe { ManuallyDrop::drop(&mut self.host) };
    }
}
