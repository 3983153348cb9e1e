//! Memory for what the GPUs of several ranks exchange, and the way there from the host and back.

use super::driver_error;
use super::gpu::Gpu;
use super::pinned::Pinned;
use crate::Result;
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError};
use cudarc::driver::{result, sys};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a thread looks again and again before it sleeps in between.
const IMPATIENCE: Duration = Duration::from_micros(500);

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

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
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

/// A stream of a GPU, memory of that GPU, and pinned memory of one length with it.
pub(crate) struct Staging {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    device: ManuallyDrop<Arc<SharedMemory>>,
    host: ManuallyDrop<Pinned>,
    done: CudaEvent,
    /// Work may hang on the stream, so its memory is never freed.
    lost: bool,
}

impl Staging {
    pub(crate) fn new(gpu: &Gpu, bytes: usize) -> Result<Staging> {
        let context = gpu.context().clone();
        let stream = context.new_stream().map_err(failed)?;
        let done = context.new_event(None).map_err(failed)?;
        Ok(Staging {
            device: ManuallyDrop::new(Arc::new(SharedMemory::new(gpu, bytes)?)),
            host: ManuallyDrop::new(Pinned::new(&context, bytes.max(1))?),
            context,
            stream,
            done,
            lost: false,
        })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.device.bytes()
    }

    pub(crate) fn memory(&self) -> &Arc<SharedMemory> {
        &self.device
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// The pinned memory from a place on.
    pub(crate) fn host(&mut self, at: usize, bytes: usize) -> &mut [u8] {
        &mut self.host.as_mut_slice::<u8>(at + bytes)[at..]
    }

    /// Enqueues the copy of bytes to a place in the GPU's memory.
    pub(crate) fn upload(&mut self, at: usize, from: &[u8]) -> Result<()> {
        assert!(at + from.len() <= self.bytes());
        self.context.bind_to_thread().map_err(failed)?;
        let (to, stream) = (self.device.address() + at as u64, self.stream.cu_stream());
        let room = self.host(at, from.len());
        room.copy_from_slice(from);
        // SAFETY: both places have so many bytes. Nobody writes there before `wait` or the drop.
        unsafe { result::memcpy_htod_async(to, room, stream) }.map_err(failed)
    }

    /// Enqueues the copy of what lies in a place of the GPU's memory to this place of the host's.
    pub(crate) fn download(&mut self, at: usize, bytes: usize) -> Result<()> {
        assert!(at + bytes <= self.bytes());
        self.context.bind_to_thread().map_err(failed)?;
        let (from, stream) = (self.device.address() + at as u64, self.stream.cu_stream());
        let room = self.host(at, bytes);
        // SAFETY: as in `upload`.
        unsafe { result::memcpy_dtoh_async(room, from, stream) }.map_err(failed)
    }

    /// Enqueues the copy of a place in the GPU's memory to this place in that of another.
    ///
    /// # Safety
    ///
    /// The other memory lives until the copy is done, and nobody reads or writes there meanwhile.
    pub(crate) unsafe fn send(&self, at: usize, bytes: usize, other: &SharedMemory) -> Result<()> {
        assert!(at + bytes <= self.bytes() && at + bytes <= other.bytes());
        let at = at as u64;
        self.context
            .bind_to_thread()
            // SAFETY: both places have so many bytes, and the caller's.
            .and_then(|()| unsafe {
                result::memcpy_peer_async(
                    other.context.cu_ctx(),
                    other.address + at,
                    self.context.cu_ctx(),
                    self.device.address() + at,
                    bytes,
                    self.stream.cu_stream(),
                )
            })
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
        self.done.record(&self.stream).map_err(failed)?;
        let started = Instant::now();
        while !self.done.try_is_complete().map_err(failed)? {
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
        Ok(true)
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
        // SAFETY: nothing runs on the stream, and neither is used again.
        unsafe {
            ManuallyDrop::drop(&mut self.host);
            ManuallyDrop::drop(&mut self.device);
        }
    }
}
