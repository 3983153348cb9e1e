//! Scan on the CPU, in one pass over memory.
//!
//! Threads take chunks in order. A thread
//!
//! 1. sums its chunk, which brings it into the L2 cache;
//! 2. waits for its turn;
//! 3. enters the sum into the binary counter that all chunks share, and learns the prefix of its
//!    chunk;
//! 4. writes the prefixes of the elements, which it now reads from the cache.
//!
//! So each element crosses the memory bus once in either direction. The wait is short: the chunks
//! before it were begun before it. Nobody waits for a chunk that no thread works on.

use crate::cpu::counter::Counter;
use crate::cpu::fold::Fold;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::tree::Tree;
use crate::cpu::{Prefixes, block_len, chunk_len, stream};
use crate::source::Items;
use crate::{Element, Monoid};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The bytes of a chunk. It is read twice, and must stay in the L2 cache between.
const CHUNK_BYTES: usize = 128 << 10;

/// Results larger than this are written past the caches: the caches could not hold them.
const STREAM_BYTES: usize = 64 << 20;

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
    prefixes: Prefixes,
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
    prefixes: Prefixes,
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
    prefixes: Prefixes,
    /// Whether results go past the caches.
    streams: bool,
}

/// What the threads of one scan share.
struct Shared<A, I> {
    /// The chunks that no thread has taken yet.
    chunks: Mutex<std::iter::Enumerate<I>>,
    /// The number of chunks that have entered the counter.
    turn: AtomicUsize,
    /// The sums of those chunks. Only the thread whose turn it is locks it, so it is never
    /// contended.
    counter: Mutex<Counter<A>>,
    /// Set when an operator panics in a thread: the others must not wait for its turn.
    abandoned: AtomicBool,
}

fn run<'a, T: Element>(
    chunks: impl ExactSizeIterator<Item = Chunk<'a, T>> + Send,
    scan: Scan<'_, T>,
) {
    let threads = rayon::current_num_threads().min(chunks.len());
    let shared = Shared {
        chunks: Mutex::new(chunks.enumerate()),
        turn: AtomicUsize::new(0),
        counter: Mutex::new(Counter::new()),
        abandoned: AtomicBool::new(false),
    };
    if threads <= 1 {
        in_rust_mode(|| work(&shared, scan));
    } else {
        rayon::scope(|scope| {
            (0..threads).for_each(|_| scope.spawn(|_| in_rust_mode(|| work(&shared, scan))));
        });
    }
}

/// Takes chunks until there are none.
fn work<'a, T: Element, I: Iterator<Item = Chunk<'a, T>>>(
    shared: &Shared<T::Accumulator, I>,
    scan: Scan<'_, T>,
) {
    let combine = scan.fold.combine;
    let mut worker = Worker::<T>::new();
    let unwinding = Abandon(&shared.abandoned);
    loop {
        // The lock is released before the work begins.
        let taken = shared
            .chunks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next();
        let Some((index, chunk)) = taken else { break };
        let sum = worker.sum(&chunk, &scan);
        if !shared.wait_for_turn(index) {
            break;
        }
        let (base, end) = {
            let mut counter = shared
                .counter
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let base = counter.prefix(scan.init, combine);
            let end = sum.and_then(|sum| {
                counter.push(sum, combine);
                counter.prefix(scan.init, combine)
            });
            (base, end)
        };
        shared.turn.store(index + 1, Ordering::Release);
        worker.scan(chunk, &scan, base, end);
    }
    std::mem::forget(unwinding);
}

/// Tells the other threads when its own unwinds.
struct Abandon<'a>(&'a AtomicBool);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl<A, I> Shared<A, I> {
    /// Waits until all chunks before `index` have entered the counter; false if they never will.
    fn wait_for_turn(&self, index: usize) -> bool {
        let mut spins = 0_u32;
        while self.turn.load(Ordering::Acquire) != index {
            if self.abandoned.load(Ordering::Acquire) {
                return false;
            }
            // The other thread may need this very core.
            if spins < 1 << 10 {
                spins += 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        true
    }
}

/// A thread's working memory.
struct Worker<T: Element> {
    tree: Tree<T::Accumulator>,
    /// The chunk's items, unless they are used where they lie.
    items: Vec<T>,
    /// The sums of the chunk's complete blocks.
    sums: Vec<T::Accumulator>,
    /// One block of results on its way to the output. It stays in the L1 cache. With it one loop
    /// serves results that go elsewhere, past the caches, or over their own input.
    results: Vec<MaybeUninit<T>>,
}

impl<T: Element> Worker<T> {
    fn new() -> Worker<T> {
        let chunk = chunk_len::<T, T::Accumulator>(CHUNK_BYTES);
        let block = block_len::<T::Accumulator>();
        Worker {
            tree: Tree::new(),
            items: Vec::new(),
            sums: Vec::with_capacity(chunk / block),
            results: vec![MaybeUninit::uninit(); block],
        }
    }

    /// Computes the sums of the chunk's complete blocks, and that of the chunk if it is complete.
    fn sum(&mut self, chunk: &Chunk<'_, T>, scan: &Scan<'_, T>) -> Option<T::Accumulator> {
        self.sums.clear();
        let (fold, input) = (&scan.fold, chunk.items(scan.input, &mut self.items));
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

    /// Writes the prefixes of a chunk, given the prefix of its start and, if it is complete, of its
    /// end.
    fn scan(
        &mut self,
        mut chunk: Chunk<'_, T>,
        scan: &Scan<'_, T>,
        base: Option<T::Accumulator>,
        end: Option<T::Accumulator>,
    ) {
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
