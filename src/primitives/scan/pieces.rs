//! Streams on a GPU, piece by piece: a piece is made up of aligned blocks of the whole stream. The
//! counter knows the prefix of each block, with which the kernels for whole arrays scan it.

use super::Prefixes;
use super::cuda::Scan;
use crate::cpu::PrefixKind;
use crate::cpu::counter::Counter;
use crate::cpu::mode::in_rust_mode;
use crate::cuda::lanes::{LANES, Lanes, copy, fill_in_parts};
use crate::cuda::{DeviceRange, Gpu};
use crate::primitives::reduce::pieces::{append, blocks_of, chunks_of};
use crate::source::{Form, Slice};
use crate::{Element, Monoid, Result};

impl Gpu {
    /// Writes the prefixes of `len` elements at an address to another one, or the same one, and
    /// appends their sums. These are those of the piece's aligned blocks, if the caller knows them;
    /// otherwise the elements are read once more.
    ///
    /// # Safety
    ///
    /// As for [`push`](Gpu::push). What is written is borrowed for writing, and is the elements
    /// themselves or apart from them.
    pub(crate) unsafe fn scan_piece<T: Element, Op: Monoid<T>>(
        &self,
        (from, to): (u64, u64),
        len: usize,
        prefixes: Prefixes<T>,
        sums: Option<Vec<T>>,
        counter: &mut Counter<T::Accumulator>,
    ) -> Result<()> {
        let blocks = blocks_of(counter.end(), len);
        let sums = match sums {
            Some(sums) => sums,
            // SAFETY: the caller's.
            None => unsafe { self.sums_of::<T, Op>(from, &blocks) }?,
        };
        assert_eq!(sums.len(), blocks.len());
        // Looked up: which kernels there are is worked out once, not for each piece.
        let scan = self.kernels(Scan::<T, Op>::load_lazily)?;
        let kernels = &scan.kernels;
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
            append(std::slice::from_ref(block), &[sum], counter, Op::combine);
            let mut part = DeviceRange::new(self, to, range.clone());
            let at = from + (range.start * size_of::<T>()) as u64;
            let input = (from != to).then(|| {
                let arguments = Slice::<T>::of_address(at).expect("it is a slice");
                (arguments, range.len())
            });
            self.with_workspace(
                kernels.bytes_for(range.len(), false),
                |stream, workspace| {
                    // SAFETY: the caller's; the stream keeps calls and frees in order.
                    unsafe { kernels.run(stream, seeded, input, &mut part, workspace) }
                },
            )?;
            // The last prefix ends where the block does: there its sum may join that of another.
            if prefixes.kind == PrefixKind::Inclusive
                && let Some(last) = prefix(counter)
            {
                let mut part = DeviceRange::new(self, to, range.end - 1..range.end);
                // SAFETY: the caller's.
                unsafe { part.fill(last) }?;
            }
        }
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
            let (at, len) = (array.address(), piece.len());
            // SAFETY: the memory is this GPU's, freed on its stream, and used here only.
            unsafe { self.scan_piece::<T, Op>((at, at), len, prefixes, None, counter) }?;
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
                let (at, len) = (lanes.address(number), chunk.len());
                lanes.start(number)?;
                // SAFETY: the lane's memory is this GPU's, freed on its stream, and used here only.
                unsafe { self.scan_piece::<T, Op>((at, at), len, prefixes, None, counter) }?;
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
}
