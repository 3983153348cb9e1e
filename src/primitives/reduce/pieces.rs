//! Streams on a GPU, piece by piece.
//!
//! A piece is made up of aligned blocks of the whole stream, some 20 at most if it starts and ends
//! anywhere, and one if it is such a block. The kernels for whole arrays reduce each block; its sum
//! is one of [the law](crate#the-law). A counter on the host takes the sums.

use super::cuda::{Kernels, Reduce};
use crate::cpu::Parts;
use crate::cpu::counter::{Counter, blocks};
use crate::cpu::mode::in_rust_mode;
use crate::cuda::lanes::{CHUNK_BYTES, Lanes, copy, fill_in_parts};
use crate::cuda::{DeviceArray, DeviceRange, Gpu};
use crate::source::{Form, Slice};
use crate::{Element, Error, Monoid, Result};
use std::any::TypeId;
use std::ops::Range;

/// Of an aligned block of a stream: the logarithm of its length, and where it lies in the piece.
pub(crate) type Block = (u32, Range<usize>);

/// Whether kernels can give the sums of blocks. Those of halves have more bits than a result.
pub(crate) fn sums_are_elements<T: Element>() -> bool {
    TypeId::of::<T>() == TypeId::of::<T::Accumulator>()
}

/// The largest aligned blocks of `len` elements from `position` on.
pub(crate) fn blocks_of(position: u64, len: usize) -> Vec<Block> {
    blocks(position, len, u64::BITS - 1).collect()
}

/// Enqueues the copy of a chunk, with its number, to its lane.
type Bring<'a, E> = dyn Fn(&mut Lanes, usize, Range<usize>) -> std::result::Result<(), E> + 'a;

/// Appends the sums of pieces. It is made for an operator, and compiled once for a type.
struct Pieces<'g, T: Element> {
    gpu: &'g Gpu,
    kernels: Kernels<T, Slice<T>>,
    combine: fn(T::Accumulator, T::Accumulator) -> T::Accumulator,
}

impl Gpu {
    fn pieces<T: Element, Op: Monoid<T>>(&self) -> Result<Pieces<'_, T>> {
        // Looked up: which kernels there are is worked out once, not for each piece.
        let reduce = self.kernels(Reduce::<T, Op>::load_lazily)?;
        Ok(Pieces {
            gpu: self,
            kernels: reduce.kernels.clone(),
            combine: Op::combine,
        })
    }

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
        // SAFETY: the caller's.
        unsafe { self.pieces::<T, Op>()?.push(address, len, counter) }
    }

    /// Appends the sums of a piece in host memory. While a chunk is copied to the GPU, the one
    /// before is reduced.
    pub(crate) fn push_slice<T: Element, Op: Monoid<T>>(
        &self,
        piece: &[T],
        counter: &mut Counter<T::Accumulator>,
    ) -> Result<()> {
        self.pieces::<T, Op>()?.push_slice(piece, counter)
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
        self.pieces::<T, Op>()?.push_read(len, &read, counter)
    }
}

/// Brings elements from a position on.
type Read<'a, T, E> = dyn Fn(usize, &mut [T]) -> std::result::Result<(), E> + Sync + 'a;

impl<T: Element> Pieces<'_, T> {
    /// See [`Gpu::push`].
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn push(
        &self,
        address: u64,
        len: usize,
        counter: &mut Counter<T::Accumulator>,
    ) -> Result<()> {
        let blocks = blocks_of(counter.end(), len);
        // SAFETY: the caller's.
        let sums = unsafe { self.sums_of(address, &blocks) }?;
        append(&blocks, &sums, counter, self.combine);
        Ok(())
    }

    /// See [`Gpu::push_slice`].
    fn push_slice(&self, piece: &[T], counter: &mut Counter<T::Accumulator>) -> Result<()> {
        if !self.gpu.is_pinned(piece)? {
            let read = |start, to: &mut [T]| copy(&piece[start..], to);
            return self.push_read::<Error>(piece.len(), &read, counter);
        }
        self.push_chunks::<Error>(piece.len(), counter, &|lanes, number, chunk| {
            // SAFETY: it is pinned. Dropping the lanes waits for the copy.
            unsafe { lanes.upload_from(number, &piece[chunk]) }
        })
    }

    /// See [`Gpu::push_read`].
    fn push_read<E: Send + From<Error>>(
        &self,
        len: usize,
        read: &Read<'_, T, E>,
        counter: &mut Counter<T::Accumulator>,
    ) -> std::result::Result<(), E> {
        if chunks_of::<T>(counter.end(), len).len() < 2 {
            // To pin memory would take longer than to copy so little.
            let mut room = vec![T::zeroed(); len];
            fill_in_parts(&mut room, read)?;
            let piece = self.gpu.upload(&room)?;
            // SAFETY: the memory is this GPU's, and freed on its stream.
            return Ok(unsafe { self.push(piece.address(), len, counter) }?);
        }
        self.push_chunks::<E>(len, counter, &|lanes, number, chunk| {
            let to = lanes.room::<T>(number, chunk.len())?;
            fill_in_parts(to, |start, to: &mut [T]| read(chunk.start + start, to))?;
            Ok(lanes.upload(number)?)
        })
    }

    /// Appends the sums of `len` elements. `bring` enqueues the copies of chunks to their lanes.
    fn push_chunks<E: From<Error>>(
        &self,
        len: usize,
        counter: &mut Counter<T::Accumulator>,
        bring: &Bring<E>,
    ) -> std::result::Result<(), E> {
        let (position, chunks) = (counter.end(), chunks_of::<T>(counter.end(), len));
        let blocks = |chunk: &Range<usize>| blocks_of(position + chunk.start as u64, chunk.len());
        let blocks: Vec<_> = chunks.iter().map(blocks).collect();
        let mut sums = self.gpu.allocate::<T>(blocks.iter().map(Vec::len).sum())?;
        let mut lanes = Lanes::new(self.gpu)?;
        let mut known = 0;
        for (number, (chunk, blocks)) in chunks.iter().zip(&blocks).enumerate() {
            bring(&mut lanes, number, chunk.clone())?;
            lanes.start(number)?;
            let address = lanes.address(number);
            // SAFETY: the lane's memory is this GPU's, and freed on its stream.
            unsafe { self.reduce_blocks(address, blocks, &mut sums, known) }?;
            lanes.finish(number)?;
            known += blocks.len();
        }
        let sums = self.gpu.download(&sums, 0..known)?;
        append(&blocks.concat(), &sums, counter, self.combine);
        Ok(())
    }

    /// The sums of blocks of the elements at an address.
    ///
    /// # Safety
    ///
    /// As for [`Gpu::push`].
    unsafe fn sums_of(&self, address: u64, blocks: &[Block]) -> Result<Vec<T>> {
        let mut sums = self.gpu.allocate::<T>(blocks.len())?;
        // SAFETY: the caller's.
        unsafe { self.reduce_blocks(address, blocks, &mut sums, 0) }?;
        self.gpu.download(&sums, 0..blocks.len())
    }

    /// Enqueues the reductions of blocks of the elements at an address. The sum of block `i`
    /// becomes element `first + i` of `sums`.
    ///
    /// # Safety
    ///
    /// As for [`Gpu::push`].
    unsafe fn reduce_blocks(
        &self,
        address: u64,
        blocks: &[Block],
        sums: &mut DeviceArray<T>,
        first: usize,
    ) -> Result<()> {
        let kernels = &self.kernels;
        for (place, (_, block)) in (first..).zip(blocks) {
            let start = address + (block.start * size_of::<T>()) as u64;
            let source = Slice::<T>::of_address(start).expect("it is a slice");
            let mut sum = DeviceRange::new(self.gpu, sums.address(), place..place + 1);
            let bytes = kernels.workspace_bytes(block.len());
            self.gpu.with_workspace(bytes, |stream, workspace| {
                // SAFETY: the caller's; the stream keeps calls and frees in order.
                unsafe { kernels.run(stream, None, source, block.len(), &mut sum, workspace) }
            })?;
        }
        Ok(())
    }
}

/// Where `len` elements from a position on are cut, to be copied.
pub(crate) fn chunks_of<T>(position: u64, len: usize) -> Vec<Range<usize>> {
    let chunk = 1 << (CHUNK_BYTES / size_of::<T>()).ilog2();
    Parts::new(position, len, chunk).ranges().collect()
}

/// Appends the sums of blocks to a counter. Elements are their own accumulators.
pub(crate) fn append<T: Element>(
    blocks: &[Block],
    sums: &[T],
    counter: &mut Counter<T::Accumulator>,
    combine: fn(T::Accumulator, T::Accumulator) -> T::Accumulator,
) {
    in_rust_mode(|| {
        for ((level, _), sum) in blocks.iter().zip(sums) {
            counter.push(*level, sum.widen(), combine);
        }
    });
}
