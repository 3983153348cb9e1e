//! Scan on the CPU, in one pass over memory, [in turns](crate::cpu::turns).
//!
//! A thread sums its chunk. In its turn it enters the sum into the binary counter that all chunks
//! share, and learns the prefix of its chunk. Then it writes the prefixes of the elements, which it
//! now reads from the cache.

use crate::cpu::counter::Counter;
use crate::cpu::fold::Fold;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::tree::Tree;
use crate::cpu::turns::{self, STREAM_BYTES, in_turns};
use crate::cpu::{PrefixKind, block_len, chunk_len, stream};
use crate::source::Items;
use crate::{Element, Monoid};
use std::mem::MaybeUninit;

/// The bytes of a chunk. It is read twice, and must stay in the L2 cache between.
const CHUNK_BYTES: usize = 128 << 10;

/// A part of the data: where its items start, and where their prefixes go.
enum Chunk<'a, T> {
    Into(usize, &'a mut [MaybeUninit<T>]),
    InPlace(&'a mut [T]),
}

impl<T: Element> Chunk<'_, T> {
    fn len(&self) -> usize {
        match self {
            Chunk::Into(_, output) => output.len(),
            Chunk::InPlace(data) => data.len(),
        }
    }

    /// The items: where they lie, or evaluated into `room`.
    fn items<'r>(&'r self, input: &'r Items<'_, T>, room: &'r mut Vec<T>) -> &'r [T] {
        match self {
            Chunk::Into(start, output) => input.range(*start..*start + output.len(), room),
            Chunk::InPlace(data) => data,
        }
    }
}

/// Scans `input` into `output`, of the same length, and writes all of it.
pub(crate) fn scan<T: Element, Op: Monoid<T>>(
    input: &Items<'_, T>,
    output: &mut [MaybeUninit<T>],
    init: Option<T>,
    prefixes: PrefixKind,
) {
    assert_eq!(input.len(), output.len());
    let chunk = chunk_len::<T, T::Accumulator>(CHUNK_BYTES);
    let scan = Scan {
        input,
        fold: Fold::new::<Op>(),
        init: in_rust_mode(|| init.map(T::widen)),
        prefixes,
        streams: size_of_val(output) > STREAM_BYTES,
    };
    let chunks = output.chunks_mut(chunk).enumerate();
    let chunks = chunks.map(|(number, output)| Chunk::Into(number * chunk, output));
    run(chunks, scan);
}

/// Scans `data` in place.
pub(crate) fn scan_in_place<T: Element, Op: Monoid<T>>(
    data: &mut [T],
    init: Option<T>,
    prefixes: PrefixKind,
) {
    let chunk = chunk_len::<T, T::Accumulator>(CHUNK_BYTES);
    let scan = Scan {
        input: &Items::of_slice(&[]),
        fold: Fold::new::<Op>(),
        init: in_rust_mode(|| init.map(T::widen)),
        prefixes,
        streams: false,
    };
    run(data.chunks_mut(chunk).map(Chunk::InPlace), scan);
}

/// What is asked for.
#[derive(Clone, Copy)]
struct Scan<'a, T: Element> {
    /// What is scanned, unless that happens in place.
    input: &'a Items<'a, T>,
    fold: Fold<T>,
    init: Option<T::Accumulator>,
    prefixes: PrefixKind,
    /// Whether results go past the caches.
    streams: bool,
}

fn run<'a, T: Element>(
    chunks: impl ExactSizeIterator<Item = Chunk<'a, T>> + Send,
    scan: Scan<'_, T>,
) {
    in_turns(chunks, Counter::new(), || Worker::new(scan));
}

/// A thread's working memory.
struct Worker<'s, T: Element> {
    scan: Scan<'s, T>,
    tree: Tree<T::Accumulator>,
    /// The chunk's items, unless they are used where they lie.
    items: Vec<T>,
    /// The sums of the chunk's complete blocks.
    sums: Vec<T::Accumulator>,
    /// One block of results on its way to the output. It stays in the L1 cache. With it one loop
    /// serves results that go elsewhere, past the caches, or over their own input.
    results: Vec<MaybeUninit<T>>,
}

impl<'s, T: Element> Worker<'s, T> {
    fn new(scan: Scan<'s, T>) -> Worker<'s, T> {
        let chunk = chunk_len::<T, T::Accumulator>(CHUNK_BYTES);
        let block = block_len::<T::Accumulator>();
        Worker {
            scan,
            tree: Tree::new(),
            items: Vec::new(),
            sums: Vec::with_capacity(chunk / block),
            results: vec![MaybeUninit::uninit(); block],
        }
    }
}

/// The state is the counter. The place of a chunk is the prefix of its start and, if it is
/// complete, of its end.
impl<'a, T: Element> turns::Worker<Chunk<'a, T>, Counter<T::Accumulator>> for Worker<'_, T> {
    type Prepared = Option<T::Accumulator>;
    type Place = (Option<T::Accumulator>, Option<T::Accumulator>);

    /// Computes the sums of the chunk's complete blocks, and that of the chunk if it is complete.
    fn prepare(&mut self, chunk: &Chunk<'a, T>) -> Option<T::Accumulator> {
        self.sums.clear();
        let (fold, input) = (
            &self.scan.fold,
            chunk.items(self.scan.input, &mut self.items),
        );
        (fold.block_sums)(&mut self.tree, input, &mut self.sums);
        let complete = input.len() == chunk_len::<T, T::Accumulator>(CHUNK_BYTES);
        complete.then(|| {
            let mut counter = Counter::new();
            self.sums
                .iter()
                .for_each(|&sum| counter.push(sum, fold.combine));
            counter
                .prefix(None, fold.combine)
                .expect("a chunk has at least one block")
        })
    }

    fn turn(
        &mut self,
        sum: Option<T::Accumulator>,
        counter: &mut Counter<T::Accumulator>,
    ) -> Self::Place {
        let (init, combine) = (self.scan.init, self.scan.fold.combine);
        let base = counter.prefix(init, combine);
        let end = sum.and_then(|sum| {
            counter.push(sum, combine);
            counter.prefix(init, combine)
        });
        (base, end)
    }

    /// Writes the prefixes of a chunk.
    fn finish(&mut self, mut chunk: Chunk<'a, T>, (base, end): Self::Place) {
        let scan = self.scan;
        let block = block_len::<T::Accumulator>();
        let len = chunk.len();
        let mut counter = Counter::new();
        let mut next = base;
        for (i, start) in (0..len).step_by(block).enumerate() {
            let range = start..(start + block).min(len);
            let base_of_block = next;
            if let Some(&sum) = self.sums.get(i) {
                counter.push(sum, scan.fold.combine);
                next = counter.prefix(base, scan.fold.combine);
            }
            let end_of_block = if range.end == len { end.or(next) } else { next };
            let results = &mut self.results[..range.len()];
            // `sum` has evaluated the items, if they do not lie somewhere.
            let input = match &chunk {
                Chunk::Into(start, _) => match scan.input.slice(*start..*start + len) {
                    Some(items) => &items[range.clone()],
                    None => &self.items[range.clone()],
                },
                Chunk::InPlace(data) => &data[range.clone()],
            };
            (scan.fold.scan)(
                &mut self.tree,
                input,
                results,
                scan.prefixes,
                base_of_block,
                end_of_block,
            );
            match &mut chunk {
                Chunk::Into(_, output) if scan.streams => {
                    // SAFETY: `scan` above wrote every one of `results`.
                    unsafe { stream::copy(results, &mut output[range]) };
                }
                Chunk::Into(_, output) => output[range].copy_from_slice(results),
                Chunk::InPlace(data) => {
                    // SAFETY: `scan` above wrote every one of `results`, and `T` and
                    // `MaybeUninit<T>` have one layout.
                    let results = unsafe { &*(&raw const *results as *const [T]) };
                    data[range].copy_from_slice(results);
                }
            }
        }
        if scan.streams {
            stream::finish();
        }
    }
}
