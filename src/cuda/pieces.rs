//! Streams on a GPU, piece by piece.
//!
//! A piece is made up of aligned blocks of the whole stream, some 20 at most if it starts and ends
//! anywhere, and one if it is such a block. The kernels for whole arrays reduce each block; its sum
//! is one of [the law](crate#the-law). A counter on the host takes the sums. It knows the prefix of
//! each block, with which the same kernels scan it.

use super::gpu::{DeviceArray, Gpu};
use super::{Reduce, Scan, driver_error};
use crate::cpu::counter::{Counter, blocks};
use crate::cpu::mode::in_rust_mode;
use crate::cpu::{Parts, PrefixKind};
use crate::source::{Form, Slice};
use crate::{Element, Error, Monoid, Prefixes, Result};
use cudarc::driver::{
    CudaContext, CudaEvent, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, DriverError,
    SyncOnDrop,
};
use cudarc::driver::{result, sys};
use rayon::prelude::*;
use std::any::TypeId;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// Of an aligned block of a stream: the logarithm of its length, and where it lies in the piece.
type Block = (u32, Range<usize>);

/// The bytes that are copied at a time.
const CHUNK_BYTES: usize = 8 << 20;
/// The chunks that are under way at once.
const LANES: usize = 4;
/// The bytes that a thread brings at a time.
const PART_BYTES: usize = 256 << 10;

/// Whether kernels can give the sums of blocks. Those of halves have more bits than a result.
pub(crate) fn sums_are_elements<T: Element>() -> bool {
    TypeId::of::<T>() == TypeId::of::<T::Accumulator>()
}

/// The largest aligned blocks of `len` elements from `position` on.
fn blocks_of(position: u64, len: usize) -> Vec<Block> {
    blocks(position, len, u64::BITS - 1).collect()
}

impl Gpu {
    /// Appends the sums of `len` elements at an address.
    ///
    /// # Safety
    ///
    /// The elements are in this GPU's memory, and freed on its stream.
    pub(crate) unsafe fn push<T: Element, Op: Monoid<T>>(
        &self,
        address: u64,
        len: usize,
        counter: &mut Counter<T::Accumulator>,
    ) -> Result<()> {
        let blocks = blocks_of(counter.end(), len);
        // SAFETY: the caller's.
        let sums = unsafe { self.sums_of::<T, Op>(address, &blocks) }?;
        append::<T, Op>(&blocks, &sums, counter);
        Ok(())
    }

    /// Replaces `len` elements at an address by their prefixes, and appends their sums.
    ///
    /// # Safety
    ///
    /// As for [`push`](Gpu::push). The elements are borrowed for writing.
    pub(crate) unsafe fn scan_piece<T: Element, Op: Monoid<T>>(
        &self,
        address: u64,
        len: usize,
        prefixes: Prefixes<T>,
        counter: &mut Counter<T::Accumulator>,
    ) -> Result<()> {
        let blocks = blocks_of(counter.end(), len);
        // SAFETY: the caller's.
        let sums = unsafe { self.sums_of::<T, Op>(address, &blocks) }?;
        let kernels = Scan::<T, Op>::load_lazily(self.context())?.kernels;
        let prefix = |counter: &Counter<T::Accumulator>| {
            in_rust_mode(|| {
                let init = prefixes.init.map(T::widen);
                counter.prefix(init, Op::combine).map(T::narrow)
            })
        };
        for (block, sum) in blocks.iter().zip(sums) {
            let range = &block.1;
            let seeded = Prefixes {
                init: prefix(counter),
                ..prefixes
            };
            append::<T, Op>(std::slice::from_ref(block), &[sum], counter);
            let mut part = Part::new(self, address, range.clone());
            self.with_workspace(kernels.workspace_bytes(range.len()), |stream, workspace| {
                // SAFETY: the caller's; the stream keeps calls and frees in order.
                unsafe { kernels.run(stream, seeded, None, &mut part, workspace) }
            })?;
            // The last prefix ends where the block does: there its sum may join that of another.
            if prefixes.kind == PrefixKind::Inclusive
                && let Some(last) = prefix(counter)
            {
                let mut part = Part::new(self, address, range.end - 1..range.end);
                // SAFETY: the caller's.
                unsafe { part.fill(last) }?;
            }
        }
        Ok(())
    }

    /// Appends the sums of a piece in host memory. While a chunk is copied to the GPU, the one
    /// before is reduced.
    pub(crate) fn push_slice<T: Element, Op: Monoid<T>>(
        &self,
        piece: &[T],
        counter: &mut Counter<T::Accumulator>,
    ) -> Result<()> {
        if !self.is_pinned(piece)? {
            let read = |start, to: &mut [T]| copy(&piece[start..], to);
            return self.push_read::<T, Op, Error>(piece.len(), read, counter);
        }
        self.push_chunks::<T, Op, Error>(piece.len(), counter, |lanes, number, chunk| {
            // SAFETY: it is pinned. Dropping the lanes waits for the copy.
            unsafe { lanes.upload_from(number, &piece[chunk]) }
        })
    }

    /// Appends the sums of `len` elements, which `read` brings from somewhere on the host: see
    /// [`Reducer::push_read`](crate::Reducer::push_read). While a chunk is read, the one before is
    /// copied and reduced.
    pub(crate) fn push_read<T: Element, Op: Monoid<T>, E: Send + From<Error>>(
        &self,
        len: usize,
        read: impl Fn(usize, &mut [T]) -> std::result::Result<(), E> + Sync,
        counter: &mut Counter<T::Accumulator>,
    ) -> std::result::Result<(), E> {
        if chunks_of::<T>(counter.end(), len).len() < 2 {
            // To pin memory would take longer than to copy so little.
            let mut room = vec![T::zeroed(); len];
            fill_in_parts(&mut room, read)?;
            let piece = self.upload(&room)?;
            // SAFETY: the memory is this GPU's, and freed on its stream.
            return Ok(unsafe { self.push::<T, Op>(piece.address(), len, counter) }?);
        }
        self.push_chunks::<T, Op, E>(len, counter, |lanes, number, chunk| {
            let to = lanes.room::<T>(number, chunk.len())?;
            fill_in_parts(to, |start, to| read(chunk.start + start, to))?;
            Ok(lanes.upload(number)?)
        })
    }

    /// Appends the sums of `len` elements. `bring` enqueues the copies of chunks to their lanes.
    fn push_chunks<T: Element, Op: Monoid<T>, E: From<Error>>(
        &self,
        len: usize,
        counter: &mut Counter<T::Accumulator>,
        bring: impl Fn(&mut Lanes, usize, Range<usize>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (position, chunks) = (counter.end(), chunks_of::<T>(counter.end(), len));
        let blocks = |chunk: &Range<usize>| blocks_of(position + chunk.start as u64, chunk.len());
        let blocks: Vec<_> = chunks.iter().map(blocks).collect();
        let mut sums = self.allocate::<T>(blocks.iter().map(Vec::len).sum())?;
        let mut lanes = Lanes::new(self)?;
        let mut known = 0;
        for (number, (chunk, blocks)) in chunks.iter().zip(&blocks).enumerate() {
            bring(&mut lanes, number, chunk.clone())?;
            lanes.start(number)?;
            let address = lanes.address(number);
            // SAFETY: the lane's memory is this GPU's, and freed on its stream.
            unsafe { self.reduce_blocks::<T, Op>(address, blocks, &mut sums, known) }?;
            lanes.finish(number)?;
            known += blocks.len();
        }
        let sums = self.download(&sums, 0..known)?;
        append::<T, Op>(&blocks.concat(), &sums, counter);
        Ok(())
    }

    /// Writes the prefixes of a piece in host memory to `output`, which is as long. At one time the
    /// GPU gets a chunk, scans the one before, and gives back the one before that.
    pub(crate) fn scan_slice<T: Element, Op: Monoid<T>>(
        &self,
        piece: &[T],
        output: &mut [T],
        prefixes: Prefixes<T>,
        counter: &mut Counter<T::Accumulator>,
    ) -> Result<()> {
        let (from_pinned, to_pinned) = (self.is_pinned(piece)?, self.is_pinned(output)?);
        let chunks = chunks_of::<T>(counter.end(), piece.len());
        if chunks.len() < 2 {
            let array = self.upload(piece)?;
            // SAFETY: the memory is this GPU's, freed on its stream, and used here only.
            unsafe { self.scan_piece::<T, Op>(array.address(), piece.len(), prefixes, counter) }?;
            output.copy_from_slice(&self.download(&array, 0..piece.len())?);
            return Ok(());
        }
        let mut lanes = Lanes::new(self)?;
        // In its turn a chunk is copied to the GPU, in the next one it is scanned, and enqueued to
        // come back. The last turn finds it there.
        const TURNS: usize = LANES - 1;
        let of_turn = |turn: usize, after: usize| {
            let number = turn.checked_sub(after)?;
            Some((number, chunks.get(number)?.clone()))
        };
        for turn in 0..chunks.len() + TURNS {
            if !to_pinned && let Some((number, chunk)) = of_turn(turn, TURNS) {
                let from = lanes.downloaded::<T>(number)?;
                fill_in_parts(&mut output[chunk], |start, to| copy(&from[start..], to))?;
            }
            if let Some((number, chunk)) = of_turn(turn, 0) {
                let from = &piece[chunk];
                if from_pinned {
                    // SAFETY: it is pinned. Dropping the lanes waits for the copy.
                    unsafe { lanes.upload_from(number, from) }?;
                } else {
                    let room = lanes.room(number, from.len())?;
                    fill_in_parts(room, |start, to| copy(&from[start..], to))?;
                    lanes.upload(number)?;
                }
            }
            if let Some((number, chunk)) = of_turn(turn, 1) {
                let address = lanes.address(number);
                lanes.start(number)?;
                // SAFETY: the lane's memory is this GPU's, freed on its stream, and used here only.
                unsafe { self.scan_piece::<T, Op>(address, chunk.len(), prefixes, counter) }?;
                lanes.finish(number)?;
                if to_pinned {
                    // SAFETY: it is pinned, and nothing else uses it. Dropping the lanes waits.
                    unsafe { lanes.download_to(number, &mut output[chunk]) }?;
                } else {
                    lanes.download(number)?;
                }
            }
        }
        lanes.synchronize()
    }

    /// Whether host memory is pinned, so that the GPU can copy it while the host goes on.
    fn is_pinned<T>(&self, piece: &[T]) -> Result<bool> {
        self.context().bind_to_thread().map_err(failed_to_copy)?;
        let ends = piece.as_ptr_range();
        let is_pinned = |address: u64| {
            let mut kind = 0u32;
            // SAFETY: the attribute is such a number. Any address may be asked for: the driver says
            // that it is invalid if it does not know it.
            let known = unsafe {
                sys::cuPointerGetAttribute(
                    (&raw mut kind).cast(),
                    sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                    address,
                )
            };
            known == sys::CUresult::CUDA_SUCCESS
                && kind == sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32
        };
        Ok(!piece.is_empty() && is_pinned(ends.start as u64) && is_pinned(ends.end as u64 - 1))
    }

    /// The sums of blocks of the elements at an address.
    ///
    /// # Safety
    ///
    /// As for [`push`](Gpu::push).
    unsafe fn sums_of<T: Element, Op: Monoid<T>>(
        &self,
        address: u64,
        blocks: &[Block],
    ) -> Result<Vec<T>> {
        let mut sums = self.allocate::<T>(blocks.len())?;
        // SAFETY: the caller's.
        unsafe { self.reduce_blocks::<T, Op>(address, blocks, &mut sums, 0) }?;
        self.download(&sums, 0..blocks.len())
    }

    /// Enqueues the reductions of blocks of the elements at an address. The sum of block `i`
    /// becomes element `first + i` of `sums`.
    ///
    /// # Safety
    ///
    /// As for [`push`](Gpu::push).
    unsafe fn reduce_blocks<T: Element, Op: Monoid<T>>(
        &self,
        address: u64,
        blocks: &[Block],
        sums: &mut DeviceArray<T>,
        first: usize,
    ) -> Result<()> {
        let kernels = Reduce::<T, Op>::load_lazily(self.context())?.kernels;
        for (place, (_, block)) in (first..).zip(blocks) {
            let start = address + (block.start * size_of::<T>()) as u64;
            let source = Slice::<T>::of_address(start).expect("it is a slice");
            let mut sum = Part::new(self, sums.address(), place..place + 1);
            self.with_workspace(kernels.workspace_bytes(block.len()), |stream, workspace| {
                // SAFETY: the caller's; the stream keeps calls and frees in order.
                unsafe { kernels.run(stream, None, source, block.len(), &mut sum, workspace) }
            })?;
        }
        Ok(())
    }
}

/// Where `len` elements from a position on are cut, to be copied.
fn chunks_of<T>(position: u64, len: usize) -> Vec<Range<usize>> {
    let chunk = 1 << (CHUNK_BYTES / size_of::<T>()).ilog2();
    Parts::new(position, len, chunk).ranges().collect()
}

/// Appends the sums of blocks to a counter. Elements are their own accumulators.
fn append<T: Element, Op: Monoid<T>>(
    blocks: &[Block],
    sums: &[T],
    counter: &mut Counter<T::Accumulator>,
) {
    in_rust_mode(|| {
        for ((level, _), sum) in blocks.iter().zip(sums) {
            counter.push(*level, sum.widen(), Op::combine);
        }
    });
}

/// Copies the first elements of `from`, as many as `to` has.
fn copy<T: Element>(from: &[T], to: &mut [T]) -> Result<()> {
    to.copy_from_slice(&from[..to.len()]);
    Ok(())
}

/// Has all threads write parts of `to`. `write` is told where each part starts.
fn fill_in_parts<T: Element, E: Send>(
    to: &mut [T],
    write: impl Fn(usize, &mut [T]) -> std::result::Result<(), E> + Sync,
) -> std::result::Result<(), E> {
    let part = PART_BYTES / size_of::<T>();
    let parts = to.par_chunks_mut(part).enumerate();
    parts.try_for_each(|(number, to)| write(number * part, to))
}

/// Some elements in a GPU's memory, as kernels take them.
struct Part<'a, T> {
    address: u64,
    len: usize,
    stream: &'a Arc<CudaStream>,
    element: PhantomData<T>,
}

impl<'a, T: Element> Part<'a, T> {
    /// Those in a range of what lies at an address.
    fn new(gpu: &'a Gpu, address: u64, range: Range<usize>) -> Self {
        Part {
            address: address + (range.start * size_of::<T>()) as u64,
            len: range.len(),
            stream: gpu.stream(),
            element: PhantomData,
        }
    }

    /// Writes a value over the first element.
    ///
    /// # Safety
    ///
    /// It is in the memory of the stream's GPU, and borrowed for writing.
    unsafe fn fill(&mut self, value: T) -> Result<()> {
        let stream = self.stream.cu_stream();
        // SAFETY: the caller's. The driver takes a copy of memory that is not pinned before it
        // returns. The context is bound first.
        let done = self
            .stream
            .context()
            .bind_to_thread()
            .and_then(|()| unsafe {
                result::memcpy_htod_async(self.address, std::slice::from_ref(&value), stream)
            });
        done.map_err(failed_to_copy)
    }
}

impl<T> DeviceSlice<T> for Part<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn stream(&self) -> &Arc<CudaStream> {
        self.stream
    }
}

impl<T> DevicePtr<T> for Part<'_, T> {
    fn device_ptr<'a>(&'a self, _: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (self.address, SyncOnDrop::Sync(None))
    }
}

impl<T> DevicePtrMut<T> for Part<'_, T> {
    fn device_ptr_mut<'a>(&'a mut self, _: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (self.address, SyncOnDrop::Sync(None))
    }
}

fn failed_to_copy(error: DriverError) -> Error {
    driver_error("copying a piece to or from the device", error)
}

/// The ways of chunks through a GPU, which take turns: chunk `n` goes through lane `n` modulo their
/// number.
struct Lanes<'a> {
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
    fn new(gpu: &'a Gpu) -> Result<Lanes<'a>> {
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
    fn address(&mut self, number: usize) -> u64 {
        self.lane(number).device.address()
    }

    /// Pinned memory for the `len` elements of chunk `number`. Waits until the chunk that had it
    /// has been copied.
    fn room<T: Element>(&mut self, number: usize, len: usize) -> Result<&mut [T]> {
        let lane = self.lane(number);
        lane.uploaded.synchronize().map_err(failed_to_copy)?;
        lane.bytes = len * size_of::<T>();
        Ok(lane.host.as_mut_slice(len))
    }

    /// Enqueues the copy of chunk `number` to the GPU.
    fn upload(&mut self, number: usize) -> Result<()> {
        let lane = self.lane(number);
        let bytes: *const [u8] = lane.host.as_mut_slice::<u8>(lane.bytes);
        // SAFETY: `room` and the drop of the lanes wait for the copy.
        unsafe { self.upload_bytes(number, &*bytes) }
    }

    /// The same from pinned memory elsewhere.
    ///
    /// # Safety
    ///
    /// Nobody writes there until the lanes are synchronized or dropped.
    unsafe fn upload_from<T: Element>(&mut self, number: usize, from: &[T]) -> Result<()> {
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
    fn start(&mut self, number: usize) -> Result<()> {
        let kernels = self.gpu.stream();
        let uploaded = &self.lane(number).uploaded;
        kernels.wait(uploaded).map_err(failed_to_copy)
    }

    /// All kernels that work on chunk `number` are enqueued.
    fn finish(&mut self, number: usize) -> Result<()> {
        let kernels = self.gpu.stream();
        let finished = &self.lane(number).finished;
        finished.record(kernels).map_err(failed_to_copy)
    }

    /// Enqueues the copy of chunk `number` back.
    fn download(&mut self, number: usize) -> Result<()> {
        let lane = self.lane(number);
        let bytes: *mut [u8] = lane.host.as_mut_slice::<u8>(lane.bytes);
        // SAFETY: `downloaded` and the drop of the lanes wait for the copy.
        unsafe { self.download_bytes(number, &mut *bytes) }
    }

    /// The same to pinned memory elsewhere.
    ///
    /// # Safety
    ///
    /// Nobody uses it until the lanes are synchronized or dropped.
    unsafe fn download_to<T: Element>(&mut self, number: usize, to: &mut [T]) -> Result<()> {
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
    fn downloaded<T: Element>(&mut self, number: usize) -> Result<&[T]> {
        let lane = self.lane(number);
        lane.downloaded.synchronize().map_err(failed_to_copy)?;
        let len = lane.bytes / size_of::<T>();
        Ok(lane.host.as_mut_slice(len))
    }
}

impl Lanes<'_> {
    /// Waits for all copies.
    fn synchronize(&self) -> Result<()> {
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

/// Host memory that stays where it is, so that the GPU can copy it while the host goes on.
#[derive(Debug)]
struct Pinned {
    context: Arc<CudaContext>,
    address: *mut u8,
    bytes: usize,
}

// SAFETY: it owns its memory, as a box would.
unsafe impl Send for Pinned {}

impl Pinned {
    /// Zeros.
    fn new(context: &Arc<CudaContext>, bytes: usize) -> Result<Pinned> {
        // SAFETY: the context is bound. The memory is new, and has so many bytes.
        let address = context.bind_to_thread().and_then(|()| unsafe {
            let address = result::malloc_host(bytes, 0)?.cast::<u8>();
            address.write_bytes(0, bytes);
            Ok(address)
        });
        let address = address.map_err(|error| {
            driver_error(&format!("pinning {bytes} bytes of host memory"), error)
        })?;
        Ok(Pinned {
            context: context.clone(),
            address,
            bytes,
        })
    }

    /// The first `len` elements of it.
    fn as_mut_slice<T: Element>(&mut self, len: usize) -> &mut [T] {
        assert!(len * size_of::<T>() <= self.bytes);
        // SAFETY: the memory is as long, aligned to pages, initialised, and borrowed with `self`;
        // an element may have any bits.
        unsafe { std::slice::from_raw_parts_mut(self.address.cast(), len) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: it was allocated so, and is not used any more.
            let _ = unsafe { result::free_host(self.address.cast()) };
        }
    }
}
