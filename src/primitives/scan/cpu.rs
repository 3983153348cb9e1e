//! Scan on the CPU, in one pass over memory, [in turns](crate::cpu::turns).
//!
//! A thread sums its chunk. In its turn it enters the sums into the binary counter that all chunks
//! share, and learns the prefix of its chunk. The counter starts from what comes before: nothing,
//! or the earlier pieces of a stream. Then the thread writes the prefixes of the elements, which it
//! now reads from the cache.

use super::Prefixes;
use crate::cpu::counter::{Counter, blocks};
use crate::cpu::fold::Fold;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::tree::Tree;
use crate::cpu::turns::{self, STREAM_BYTES, in_turns};
use crate::cpu::{Parts, PrefixKind, block_len, shared_chunk_len, short, stream};
use crate::source::Items;
use crate::{Element, Monoid};
use std::mem::MaybeUninit;

/// The bytes of a chunk. It is read twice, and must stay in the L2 cache between.
const CHUNK_BYTES: usize = 128 << 10;

/// The bytes of the shortest chunk. It must take longer than a turn.
const LEAST_BYTES: usize = 32 << 10;

/// A part of the data: where its items start, and where their prefixes go.
struct Chunk<'a, T> {
    start: usize,
    output: Output<'a, T>,
}

/// Where prefixes go.
pub(crate) enum Output<'a, T> {
    /// Elsewhere. All of it is written.
    Into(&'a mut [MaybeUninit<T>]),
    /// To the place of the items.
    InPlace(&'a mut [T]),
}

impl<'a, T: Element> Output<'a, T> {
    /// Over elements, which are not read.
    ///
    /// # Safety
    ///
    /// Nothing but elements is written.
    pub(crate) unsafe fn over(output: &'a mut [T]) -> Output<'a, T> {
        // SAFETY: `MaybeUninit<T>` has the layout of `T`; the rest is the caller's.
        Output::Into(unsafe { &mut *(&raw mut *output as *mut [MaybeUninit<T>]) })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Output::Into(output) => output.len(),
            Output::InPlace(data) => data.len(),
        }
    }

    /// Calls `scan` with the places, once the items are in them, in the order of the scan.
    fn fill_and_scan(self, input: &Items<'_, T>, reverse: bool, scan: impl FnOnce(&mut [T])) {
        let data = self.filled(input);
        if reverse {
            data.reverse();
        }
        in_rust_mode(|| scan(data));
        if reverse {
            data.reverse();
        }
    }

    /// The places, with the items in them.
    pub(crate) fn filled(self, input: &Items<'_, T>) -> &'a mut [T] {
        match self {
            Output::InPlace(data) => data,
            Output::Into(output) => {
                in_rust_mode(|| input.write(0, output));
                // SAFETY: `write` wrote all of it, and `MaybeUninit<T>` has the layout of `T`.
                unsafe { &mut *(&raw mut *output as *mut [T]) }
            }
        }
    }

    /// The first `len` places, or in reverse the last ones. The rest is left.
    pub(crate) fn take(&mut self, len: usize, reverse: bool) -> Output<'a, T> {
        fn split<'a, T>(all: &mut &'a mut [T], len: usize, reverse: bool) -> &'a mut [T] {
            let taken = match reverse {
                false => all.split_off_mut(..len),
                true => all.split_off_mut(all.len() - len..),
            };
            taken.expect("so many")
        }
        match self {
            Output::Into(output) => Output::Into(split(output, len, reverse)),
            Output::InPlace(data) => Output::InPlace(split(data, len, reverse)),
        }
    }
}

/// Scans `input` into `output`, of the same length. In place, `input` is not looked at.
pub(crate) fn scan<T: Element, Op: Monoid<T>>(
    input: &Items<'_, T>,
    output: Output<'_, T>,
    prefixes: Prefixes<T>,
) {
    if Op::EXACT && short::is_short::<T>(output.len()) {
        output.fill_and_scan(input, prefixes.reverse, |data| {
            let init = prefixes.init.map(T::widen);
            short::scan_exactly::<T, Op>(data, init, prefixes.kind);
        });
    } else {
        scan_after::<T, Op>(input, output, Counter::at(0), prefixes);
    }
}

/// Scans `input` into `output`, where what comes before stands in `counter`. Returns the counter at
/// the end.
pub(crate) fn scan_after<T: Element, Op: Monoid<T>>(
    input: &Items<'_, T>,
    mut output: Output<'_, T>,
    mut counter: Counter<T::Accumulator>,
    prefixes: Prefixes<T>,
) -> Counter<T::Accumulator> {
    let (position, len) = (counter.end(), output.len());
    let init = in_rust_mode(|| prefixes.init.map(T::widen));
    if short::is_short::<T>(len) {
        output.fill_and_scan(input, prefixes.reverse, |data| {
            short::scan::<T, Op>(data, &mut counter, init, prefixes.kind);
        });
        return counter;
    }
    let bytes = len * size_of::<T>();
    let scan = Scan {
        input,
        fold: Fold::new::<Op>(),
        position,
        init,
        prefixes: prefixes.kind,
        reverse: prefixes.reverse,
        len,
        chunk: shared_chunk_len::<T, T::Accumulator>(CHUNK_BYTES, LEAST_BYTES, len),
        streams: matches!(output, Output::Into(_)) && bytes > STREAM_BYTES,
    };
    let chunks = Parts::new(position, len, scan.chunk).ranges();
    let chunks: Vec<_> = chunks
        .map(|range| Chunk {
            start: range.start,
            output: output.take(range.len(), prefixes.reverse),
        })
        .collect();
    in_turns(chunks.into_iter(), counter, || Worker::new(scan))
}

/// Writes the items of a chunk to `room`, the last one first.
fn reverse_items<T: Element>(scan: &Scan<'_, T>, chunk: &Chunk<'_, T>, room: &mut Vec<T>) {
    let len = chunk.output.len();
    room.clear();
    match &chunk.output {
        Output::Into(_) => {
            let end = scan.len - chunk.start;
            room.reserve(len);
            scan.input
                .write(end - len, &mut room.spare_capacity_mut()[..len]);
            // SAFETY: `write` wrote that many.
            unsafe { room.set_len(len) };
        }
        Output::InPlace(data) => room.extend_from_slice(data),
    }
    room.reverse();
}

/// What is asked for.
#[derive(Clone, Copy)]
struct Scan<'a, T: Element> {
    /// What is scanned, unless that happens in place.
    input: &'a Items<'a, T>,
    fold: Fold<T>,
    /// Where the first item stands.
    position: u64,
    init: Option<T::Accumulator>,
    prefixes: PrefixKind,
    /// Whether the last item comes first. Then positions count from there.
    reverse: bool,
    /// The number of items.
    len: usize,
    /// The elements of a chunk, a power of two and at least a block.
    chunk: usize,
    /// Whether results go past the caches.
    streams: bool,
}

/// A thread's working memory.
struct Worker<'s, T: Element> {
    scan: Scan<'s, T>,
    tree: Tree<T::Accumulator>,
    /// The chunk's items, unless they are used where they lie.
    items: Vec<T>,
    /// The sums of the chunk's blocks.
    sums: Vec<T::Accumulator>,
    /// One block of results on its way to the output. It stays in the L1 cache. With it one loop
    /// serves results that go elsewhere, past the caches, or over their own input.
    results: Vec<MaybeUninit<T>>,
}

impl<'s, T: Element> Worker<'s, T> {
    fn new(scan: Scan<'s, T>) -> Worker<'s, T> {
        let block = block_len::<T::Accumulator>();
        Worker {
            scan,
            tree: Tree::new(),
            items: Vec::new(),
            sums: Vec::with_capacity(scan.chunk / block),
            results: vec![MaybeUninit::uninit(); block],
        }
    }
}

/// The place of a chunk.
struct Place<A> {
    /// The prefix of where the chunk would start if it were whole.
    base: Option<A>,
    /// What comes between there and where it starts.
    before: Counter<A>,
    /// The prefix of its end.
    end: A,
}

/// The state is the counter.
impl<'a, T: Element> turns::Worker<Chunk<'a, T>, Counter<T::Accumulator>> for Worker<'_, T> {
    type Prepared = Counter<T::Accumulator>;
    type Place = Place<T::Accumulator>;

    /// Computes the sums of the chunk's blocks, and what they come to.
    fn prepare(&mut self, chunk: &Chunk<'a, T>) -> Counter<T::Accumulator> {
        let (scan, len) = (self.scan, chunk.output.len());
        let start = scan.position + chunk.start as u64;
        let items = match &chunk.output {
            _ if scan.reverse => {
                reverse_items(&scan, chunk, &mut self.items);
                &self.items
            }
            Output::Into(_) => scan
                .input
                .range(chunk.start..chunk.start + len, &mut self.items),
            Output::InPlace(data) => data,
        };
        self.sums.clear();
        (scan.fold.block_sums)(&mut self.tree, start, items, &mut self.sums);
        let mut counter = Counter::at(start);
        let most = block_len::<T::Accumulator>().ilog2();
        for ((level, _), &sum) in blocks(start, len, most).zip(&self.sums) {
            counter.push(level, sum, scan.fold.combine);
        }
        counter
    }

    fn turn(
        &mut self,
        counted: Counter<T::Accumulator>,
        counter: &mut Counter<T::Accumulator>,
    ) -> Self::Place {
        let (init, combine) = (self.scan.init, self.scan.fold.combine);
        let (base, before) = counter.split(self.scan.chunk.ilog2(), init, combine);
        counter.append(&counted, combine);
        let end = counter.prefix(init, combine).expect("there are elements");
        Place { base, before, end }
    }

    /// Writes the prefixes of a chunk.
    fn finish(&mut self, mut chunk: Chunk<'a, T>, place: Self::Place) {
        let (scan, combine) = (self.scan, self.scan.fold.combine);
        let (start, len) = (chunk.start, chunk.output.len());
        let Place {
            base,
            mut before,
            end,
        } = place;
        let mut next = before.prefix(base, combine);
        let most = block_len::<T::Accumulator>().ilog2();
        for ((level, range), &sum) in blocks(before.end(), len, most).zip(&self.sums) {
            let base_of_block = next;
            before.push(level, sum, combine);
            next = before.prefix(base, combine);
            let end_of_block = if range.end == len { Some(end) } else { next };
            let results = &mut self.results[..range.len()];
            // `prepare` has evaluated the items, if they do not lie somewhere.
            let input = match &chunk.output {
                _ if scan.reverse => &self.items[range.clone()],
                Output::Into(_) => match scan.input.slice(start..start + len) {
                    Some(items) => &items[range.clone()],
                    None => &self.items[range.clone()],
                },
                Output::InPlace(data) => &data[range.clone()],
            };
            (scan.fold.scan)(
                &mut self.tree,
                input,
                results,
                scan.prefixes,
                base_of_block,
                end_of_block.expect("there are elements"),
            );
            let range = match scan.reverse {
                false => range,
                true => {
                    results.reverse();
                    len - range.end..len - range.start
                }
            };
            match &mut chunk.output {
                Output::Into(output) if scan.streams => {
                    // SAFETY: `scan` above wrote every one of `results`.
                    unsafe { stream::copy(results, &mut output[range]) };
                }
                Output::Into(output) => output[range].copy_from_slice(results),
                Output::InPlace(data) => {
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
