//! Streams on a GPU, piece by piece: a launch for each, wherever it starts and ends.
//!
//! A piece is made up of aligned blocks of the whole stream, up to some 60 if it starts and ends
//! anywhere. Their sums are nodes of [the law](crate#the-law). A counter on the host takes them.

use super::kernel::{FOLD, FoldArguments, PieceFold};
use crate::cpu::counter::{Counter, blocks};
use crate::cpu::mode::in_rust_mode;
use crate::cuda::kernels::{Lazy, Shell, context_multiprocessors};
use crate::cuda::lanes::{Lanes, copy, fill_in_parts};
use crate::cuda::pieces::chunks_of;
use crate::cuda::{Gpu, context_capability};
use crate::engine::{Layouts, PieceKernels, PieceTiles, lengths_of_blocks};
use crate::operator::cost;
use crate::render::{Function, Named};
use crate::source::{Form, Slice};
use crate::{Element, Error, Monoid, Result};
use cudarc::driver::CudaContext;
use std::any::TypeId;
use std::ops::Range;
use std::sync::Arc;

/// The logarithms of the lengths of the largest aligned blocks of `len` elements from `position`
/// on.
fn levels_of(position: u64, len: usize) -> Vec<u32> {
    let blocks = blocks(position, len, u64::BITS - 1);
    blocks.map(|(level, _)| level).collect()
}

/// Enqueues the copy of a chunk, with its number, to its lane.
type Bring<'a, E> = dyn Fn(&mut Lanes, usize, Range<usize>) -> std::result::Result<(), E> + 'a;

/// Enqueues the fold of a part, given its number, its place, and where its sums go.
type FoldPart<'a, E> = dyn FnMut(usize, Place, u64) -> std::result::Result<(), E> + 'a;

/// Names the folds of pieces of a form with `Op`.
struct Folds<T, Op, F>(Named<(T, Op, F)>);

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> Shell for Folds<T, Op, F> {
    type Core = PieceKernels<Lazy>;

    fn load_core(context: &Arc<CudaContext>) -> Result<PieceKernels<Lazy>> {
        Ok(PieceKernels::of_folds(
            &|policy, per_warp| Lazy::new(PieceFold::<T, Op, F>::kernel(policy, per_warp)),
            Layouts::of::<F>(),
            context_capability(context)?,
            cost::<T, Op>(),
            context_multiprocessors(context)?,
        ))
    }
}

/// Appends the sums of pieces of slices. It is made for an operator, and compiled once for a type.
struct Pieces<'g, T: Element> {
    gpu: &'g Gpu,
    kernels: &'g PieceKernels<Lazy>,
    identity: fn() -> T,
    combine: fn(T::Accumulator, T::Accumulator) -> T::Accumulator,
}

/// A part of a piece: its length, and where it lies in the stream.
#[derive(Clone, Copy)]
struct Place {
    position: u64,
    len: usize,
}

impl Gpu {
    /// Calls `work` with what is compiled once for all operators.
    fn with_pieces<T: Element, Op: Monoid<T>, R>(
        &self,
        work: impl FnOnce(&Pieces<'_, T>) -> R,
    ) -> Result<R> {
        // Looked up: which kernels there are is worked out once, not for each piece.
        let folds = self.core_of::<Folds<T, Op, Slice<T>>>()?;
        Ok(work(&Pieces {
            gpu: self,
            kernels: &folds,
            identity: Op::identity,
            combine: Op::combine,
        }))
    }

    /// Appends the sums of the `len` items of a source.
    ///
    /// # Safety
    ///
    /// The arguments are those of a source on this GPU with as many items. What is read is freed on
    /// this GPU's stream.
    pub(crate) unsafe fn push<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
        &self,
        source: F::Arguments,
        len: usize,
        counter: &mut Counter<T::Accumulator>,
    ) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let position = counter.end();
        let levels = levels_of(position, len);
        // A piece that is a block is reduced as an array is, if that gives all bits of its sum.
        if let [level] = levels[..]
            && TypeId::of::<T>() == TypeId::of::<T::Accumulator>()
        {
            // SAFETY: the caller's.
            let sum = unsafe { self.reduce::<T, Op, F>(source, len, None) }?;
            append(&[level], &[sum.widen()], counter, Op::combine);
            return Ok(());
        }
        let folds = self.core_of::<Folds<T, Op, F>>()?;
        let place = Place { position, len };
        let sums = self.results_of::<T::Accumulator>(levels.len(), |left| {
            // SAFETY: the caller's.
            unsafe { self.fold::<T, F>(&folds, Op::identity, source, place, left) }
        })?;
        append(&levels, &sums, counter, Op::combine);
        Ok(())
    }

    /// Enqueues the fold of a part. The sums of its blocks go to the address `left`.
    ///
    /// # Safety
    ///
    /// As for [`push`](Gpu::push). The kernels are those of `F`. There is room for the sums.
    unsafe fn fold<T: Element, F: Form<Item = T>>(
        &self,
        kernels: &PieceKernels<Lazy>,
        identity: fn() -> T,
        source: F::Arguments,
        Place { position, len }: Place,
        left: u64,
    ) -> Result<()> {
        let planned = kernels.plan(position, len);
        let function = Function::<FoldArguments<F::Arguments, T::Accumulator>>::new(FOLD);
        let arguments = |workspace, tiles: PieceTiles| FoldArguments {
            source,
            length: len as u64,
            workspace,
            init: identity().widen(),
            position,
            left,
            first: tiles.first,
            last: tiles.last,
            log_tile: tiles.log_tile,
            levels: tiles.levels,
            below: lengths_of_blocks(position, len),
            by_ticket: tiles.by_ticket,
        };
        // SAFETY: the caller's; the sums are this GPU's.
        unsafe { self.launch_piece(planned, &function, len, arguments) }
    }

    /// Appends the sums of a piece in host memory. While a chunk is copied to the GPU, the one
    /// before is folded.
    pub(crate) fn push_slice<T: Element, Op: Monoid<T>>(
        &self,
        piece: &[T],
        counter: &mut Counter<T::Accumulator>,
    ) -> Result<()> {
        self.with_pieces::<T, Op, _>(|pieces| pieces.push_slice(piece, counter))?
    }

    /// Appends the sums of `len` elements, which `read` brings from somewhere on the host: see
    /// [`Reducer::push_read`](crate::Reducer::push_read). While a chunk is read, the one before is
    /// copied and folded.
    pub(crate) fn push_read<T: Element, Op: Monoid<T>, E: Send + From<Error>>(
        &self,
        len: usize,
        read: impl Fn(usize, &mut [T]) -> std::result::Result<(), E> + Sync,
        counter: &mut Counter<T::Accumulator>,
    ) -> std::result::Result<(), E> {
        self.with_pieces::<T, Op, _>(|pieces| pieces.push_read(len, &read, counter))?
    }
}

/// Brings elements from a position on.
type Read<'a, T, E> = dyn Fn(usize, &mut [T]) -> std::result::Result<(), E> + Sync + 'a;

impl<T: Element> Pieces<'_, T> {
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
        if len == 0 {
            return Ok(());
        }
        if chunks_of::<T>(counter.end(), len).len() < 2 {
            // To pin memory would take longer than to copy so little.
            let mut room = vec![T::zeroed(); len];
            fill_in_parts(&mut room, read)?;
            let piece = self.gpu.upload(&room)?;
            let whole = 0..len;
            let whole = std::slice::from_ref(&whole);
            return self.push_folded(whole, counter, &mut |_, place, left| {
                // SAFETY: the memory is this GPU's, and freed on its stream.
                Ok(unsafe { self.fold(piece.address(), place, left) }?)
            });
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
        let chunks = chunks_of::<T>(counter.end(), len);
        let mut lanes = Lanes::new(self.gpu)?;
        self.push_folded(&chunks, counter, &mut |number, place, left| {
            bring(&mut lanes, number, chunks[number].clone())?;
            lanes.start(number)?;
            // SAFETY: the lane's memory is this GPU's, and freed on its stream.
            unsafe { self.fold(lanes.address(number), place, left) }?;
            Ok(lanes.finish(number)?)
        })
    }

    /// Appends the sums of parts, which `fold` enqueues, given a part's number, its place, and
    /// where its sums go.
    fn push_folded<E: From<Error>>(
        &self,
        parts: &[Range<usize>],
        counter: &mut Counter<T::Accumulator>,
        fold: &mut FoldPart<'_, E>,
    ) -> std::result::Result<(), E> {
        let position = counter.end();
        let place = |part: &Range<usize>| Place {
            position: position + part.start as u64,
            len: part.len(),
        };
        let places: Vec<Place> = parts.iter().map(place).collect();
        let levels = places
            .iter()
            .map(|place| levels_of(place.position, place.len));
        let levels: Vec<Vec<u32>> = levels.collect();
        let count = levels.iter().map(Vec::len).sum();
        let sums = self.gpu.allocate::<T::Accumulator>(count)?;
        let mut left = sums.address();
        for (number, (&place, levels)) in places.iter().zip(&levels).enumerate() {
            fold(number, place, left)?;
            left += (levels.len() * size_of::<T::Accumulator>()) as u64;
        }
        let sums = self.gpu.download(&sums, 0..count)?;
        append(&levels.concat(), &sums, counter, self.combine);
        Ok(())
    }

    /// Enqueues the fold of a part that lies at an address.
    ///
    /// # Safety
    ///
    /// As for [`Gpu::push`].
    unsafe fn fold(&self, address: u64, place: Place, left: u64) -> Result<()> {
        let source = Slice::<T>::of_address(address).expect("it is a slice");
        let (kernels, identity) = (self.kernels, self.identity);
        // SAFETY: the caller's.
        unsafe { (self.gpu).fold::<T, Slice<T>>(kernels, identity, source, place, left) }
    }
}

/// Appends the sums of blocks to a counter, given the logarithms of their lengths.
fn append<A: Copy>(
    levels: &[u32],
    sums: &[A],
    counter: &mut Counter<A>,
    combine: impl Fn(A, A) -> A + Copy,
) {
    in_rust_mode(|| {
        for (&level, &sum) in levels.iter().zip(sums) {
            counter.push(level, sum, combine);
        }
    });
}
