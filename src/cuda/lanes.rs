//! The copy pipeline between host memory and a GPU: chunks go up, are worked on, and come back, at
//! the same time.

use super::driver_error;
use super::gpu::{DeviceArray, Gpu};
use super::pinned::Pinned;
use crate::cpu::threads::{for_each_of, lock};
use crate::{Element, Error, Result};
use cudarc::driver::{CudaEvent, CudaStream, DriverError};
use cudarc::driver::{result, sys};
use std::sync::{Arc, Mutex};

/// The bytes that are copied at a time.
pub(crate) const CHUNK_BYTES: usize = 8 << 20;
/// The chunks that are under way at once.
pub(crate) const LANES: usize = 4;
/// The bytes that a thread brings at a time.
const PART_BYTES: usize = 256 << 10;

/// Copies the first elements of `from`, as many as `to` has.
pub(crate) fn copy<T: Element>(from: &[T], to: &mut [T]) -> Result<()> {
    to.copy_from_slice(&from[..to.len()]);
    Ok(())
}

/// Has all threads write parts of `to`. `write` is told where each part starts.
pub(crate) fn fill_in_parts<T: Element, E: Send>(
    to: &mut [T],
    write: impl Fn(usize, &mut [T]) -> std::result::Result<(), E> + Sync,
) -> std::result::Result<(), E> {
    let part = PART_BYTES / size_of::<T>();
    let failure = Mutex::new(None);
    for_each_of(&mut to.chunks_mut(part).enumerate(), &|(number, to)| {
        // What has not begun is left out.
        if lock(&failure).is_none()
            && let Err(error) = write(number * part, to)
        {
            *lock(&failure) = Some(error);
        }
    });
    let failure = lock(&failure).take();
    failure.map_or(Ok(()), Err)
}

fn failed_to_copy(error: DriverError) -> Error {
    driver_error("copying a piece to or from the device", error)
}

impl Gpu {
    /// Whether host memory is pinned, so that the GPU can copy it while the host goes on.
    pub(crate) fn is_pinned<T>(&self, piece: &[T]) -> Result<bool> {
        self.context().bind_to_thread().map_err(failed_to_copy)?;
        let ends = piece.as_ptr_range();
        let is_pinned = |address: u64| {
            let mut kind = 0u32;
            let mut attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
            let mut kinds = [(&raw mut kind).cast()];
            // SAFETY: the attribute is such a number. Any address may be asked for: of what the
            // driver does not know, the number is 0, which is no error.
            let known = unsafe {
                sys::cuPointerGetAttributes(1, &mut attribute, kinds.as_mut_ptr(), address)
            };
            known == sys::CUresult::CUDA_SUCCESS
                && kind == sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32
        };
        Ok(!piece.is_empty() && is_pinned(ends.start as u64) && is_pinned(ends.end as u64 - 1))
    }
}

/// The ways of chunks through a GPU, which take turns: chunk `n` goes through lane `n` modulo their
/// number.
pub(crate) struct Lanes<'a> {
    gpu: &'a Gpu,
    /// What copies to the GPU, and what copies back. Kernels have the GPU's own stream.
    up: Arc<CudaStream>,
    down: Arc<CudaStream>,
    lanes: Vec<Lane>,
}

/// Memory for a chunk. It takes milliseconds to make, so a GPU keeps what is not used.
#[derive(Debug)]
pub(super) struct Lane {
    host: Pinned,
    device: DeviceArray<u8>,
    /// The bytes of the chunk in it.
    bytes: usize,
    /// When the chunk is on the GPU, when kernels are done with it, and when it is back.
    uploaded: CudaEvent,
    finished: CudaEvent,
    downloaded: CudaEvent,
}

impl Lane {
    fn new(gpu: &Gpu) -> Result<Lane> {
        let context = gpu.context();
        let event = || context.new_event(None).map_err(failed_to_copy);
        Ok(Lane {
            host: Pinned::new(context, CHUNK_BYTES)?,
            device: gpu.allocate(CHUNK_BYTES)?,
            bytes: 0,
            uploaded: event()?,
            finished: event()?,
            downloaded: event()?,
        })
    }
}

impl<'a> Lanes<'a> {
    pub(crate) fn new(gpu: &'a Gpu) -> Result<Lanes<'a>> {
        let context = gpu.context();
        let stream = || context.new_stream().map_err(failed_to_copy);
        let (up, down) = (stream()?, stream()?);
        let mut lanes = gpu.take_lanes();
        while lanes.len() < LANES {
            lanes.push(Lane::new(gpu)?);
        }
        // The memory comes from the kernels' stream.
        let ready = context.new_event(None);
        ready
            .and_then(|ready| ready.record(gpu.stream()).and_then(|()| up.wait(&ready)))
            .map_err(failed_to_copy)?;
        Ok(Lanes {
            gpu,
            up,
            down,
            lanes,
        })
    }

    fn lane(&mut self, number: usize) -> &mut Lane {
        let count = self.lanes.len();
        &mut self.lanes[number % count]
    }

    /// Where chunk `number` lies on the GPU.
    pub(crate) fn address(&mut self, number: usize) -> u64 {
        self.lane(number).device.address()
    }

    /// Pinned memory for the `len` elements of chunk `number`. Waits until the chunk that had it
    /// has been copied.
    pub(crate) fn room<T: Element>(&mut self, number: usize, len: usize) -> Result<&mut [T]> {
        let lane = self.lane(number);
        lane.uploaded.synchronize().map_err(failed_to_copy)?;
        lane.bytes = len * size_of::<T>();
        Ok(lane.host.as_mut_slice(len))
    }

    /// Enqueues the copy of chunk `number` to the GPU.
    pub(crate) fn upload(&mut self, number: usize) -> Result<()> {
        let lane = self.lane(number);
        let bytes: *const [u8] = lane.host.as_mut_slice::<u8>(lane.bytes);
        // SAFETY: `room` and the drop of the lanes wait for the copy.
        unsafe { self.upload_bytes(number, &*bytes) }
    }

    /// Enqueues the copy of chunk `number` to the GPU, from pinned memory elsewhere.
    ///
    /// # Safety
    ///
    /// Nobody writes there until the lanes are synchronized or dropped.
    pub(crate) unsafe fn upload_from<T: Element>(
        &mut self,
        number: usize,
        from: &[T],
    ) -> Result<()> {
        self.lane(number).bytes = size_of_val(from);
        // SAFETY: the caller's.
        unsafe { self.upload_bytes(number, bytemuck::cast_slice(from)) }
    }

    /// # Safety
    ///
    /// As for [`upload_from`](Lanes::upload_from). A lane has room for so many bytes.
    unsafe fn upload_bytes(&mut self, number: usize, bytes: &[u8]) -> Result<()> {
        let up = self.up.clone();
        let lane = self.lane(number);
        assert!(bytes.len() <= CHUNK_BYTES);
        let target = lane.device.address();
        up.wait(&lane.finished)
            .and_then(|()| up.wait(&lane.downloaded))
            // SAFETY: the caller's, and the streams wait for each other. `wait` has bound the
            // context.
            .and_then(|()| unsafe { result::memcpy_htod_async(target, bytes, up.cu_stream()) })
            .and_then(|()| lane.uploaded.record(&up))
            .map_err(failed_to_copy)
    }

    /// Kernels that are enqueued from now on wait until chunk `number` is on the GPU.
    pub(crate) fn start(&mut self, number: usize) -> Result<()> {
        let kernels = self.gpu.stream();
        let uploaded = &self.lane(number).uploaded;
        kernels.wait(uploaded).map_err(failed_to_copy)
    }

    /// All kernels that work on chunk `number` are enqueued.
    pub(crate) fn finish(&mut self, number: usize) -> Result<()> {
        let kernels = self.gpu.stream();
        let finished = &self.lane(number).finished;
        finished.record(kernels).map_err(failed_to_copy)
    }

    /// Enqueues the copy of chunk `number` back.
    pub(crate) fn download(&mut self, number: usize) -> Result<()> {
        let lane = self.lane(number);
        let bytes: *mut [u8] = lane.host.as_mut_slice::<u8>(lane.bytes);
        // SAFETY: `downloaded` and the drop of the lanes wait for the copy.
        unsafe { self.download_bytes(number, &mut *bytes) }
    }

    /// Enqueues the copy of chunk `number` back, to pinned memory elsewhere.
    ///
    /// # Safety
    ///
    /// Nobody uses it until the lanes are synchronized or dropped.
    pub(crate) unsafe fn download_to<T: Element>(
        &mut self,
        number: usize,
        to: &mut [T],
    ) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.download_bytes(number, bytemuck::cast_slice_mut(to)) }
    }

    /// # Safety
    ///
    /// As for [`download_to`](Lanes::download_to). The chunk has so many bytes.
    unsafe fn download_bytes(&mut self, number: usize, bytes: &mut [u8]) -> Result<()> {
        let down = self.down.clone();
        let lane = self.lane(number);
        assert!(bytes.len() <= lane.bytes);
        let source = lane.device.address();
        down.wait(&lane.finished)
            // SAFETY: the caller's, and the streams wait for each other.
            .and_then(|()| unsafe { result::memcpy_dtoh_async(bytes, source, down.cu_stream()) })
            .and_then(|()| lane.downloaded.record(&down))
            .map_err(failed_to_copy)
    }

    /// Chunk `number`, once it is back.
    pub(crate) fn downloaded<T: Element>(&mut self, number: usize) -> Result<&[T]> {
        let lane = self.lane(number);
        lane.downloaded.synchronize().map_err(failed_to_copy)?;
        let len = lane.bytes / size_of::<T>();
        Ok(lane.host.as_mut_slice(len))
    }
}

impl Lanes<'_> {
    /// Waits for all copies.
    pub(crate) fn synchronize(&self) -> Result<()> {
        let up = self.up.synchronize();
        up.and(self.down.synchronize()).map_err(failed_to_copy)
    }
}

impl Drop for Lanes<'_> {
    fn drop(&mut self) {
        // No copy may go on when others take the memory. An error was told by the call that met it.
        if self.synchronize().is_ok() {
            self.gpu.keep_lanes(std::mem::take(&mut self.lanes));
        }
    }
}
