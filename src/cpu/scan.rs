//! Scan on the CPU, in one pass over memory.
//!
//! Threads take chunks in order. A thread sums its chunk, which brings it into the L2 cache; waits until
//! its turn has come; enters the sum into the binary counter that all chunks share, and learns the
//! prefix of its chunk; and writes the prefixes of the elements, which it now reads from the cache. So each
//! element crosses the memory bus once in either direction. The wait is short, since the chunks before it were
//! begun before it; nobody waits for a chunk that no thread is at work on.

use super::counter::Counter;
use super::tree::{Target, Tree};
use super::{block_len, chunk_len, stream, with_simd};
use crate::{Element, Monoid};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The bytes of a chunk: it must stay in the L2 cache between the two times that it is read.
const CHUNK_BYTES: usize = 128 << 10;

/// Results larger than this are written past the caches, which are too small for them in any case.
const STREAM_BYTES: usize = 64 << 20;

/// Which prefixes a scan gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefixes {
    /// The fold of what comes before an element.
    Exclusive,
    /// The fold up to and with the element.
    Inclusive,
}

/// Scans `input` into `output`, of the same length, and writes all of it.
pub(crate) fn scan<T: Element, Op: Monoid<T>>(
    input: &[T],
    output: &mut [MaybeUninit<T>],
    init: Option<T>,
    prefixes: Prefixes,
) {
    assert_eq!(input.len(), output.len());
    let chunk = chunk_len::<T, T::Accumulator>(CHUNK_BYTES);
    let chunks = input.chunks(chunk).zip(output.chunks_mut(chunk));
    let stream = size_of_val(input) > STREAM_BYTES;
    run::<T, Op>(chunks.map(|(input, output)| Target::Into(input, output)), init, prefixes, stream);
}

/// Scans `data` in place.
pub(crate) fn scan_in_place<T: Element, Op: Monoid<T>>(
    data: &mut [T],
    init: Option<T>,
    prefixes: Prefixes,
) {
    let chunk = chunk_len::<T, T::Accumulator>(CHUNK_BYTES);
    run::<T, Op>(data.chunks_mut(chunk).map(Target::InPlace), init, prefixes, false);
}

/// What the threads of one scan share.
struct Shared<A, I> {
    /// The chunks that no thread has taken yet.
    chunks: Mutex<std::iter::Enumerate<I>>,
    /// The number of chunks that have entered the counter.
    turn: AtomicUsize,
    /// The sums of those chunks. Locked by the thread whose turn it is, so never contended.
    counter: Mutex<Counter<A>>,
    /// Set when a thread unwound from an operator: the others must not wait for its turn.
    abandoned: AtomicBool,
}

fn run<'a, T: Element, Op: Monoid<T>>(
    chunks: impl ExactSizeIterator<Item = Target<'a, T>> + Send,
    init: Option<T>,
    prefixes: Prefixes,
    stream: bool,
) {
    let threads = rayon::current_num_threads().min(chunks.len());
    let shared = Shared {
        chunks: Mutex::new(chunks.enumerate()),
        turn: AtomicUsize::new(0),
        counter: Mutex::new(Counter::new()),
        abandoned: false.into(),
    };
    let init = init.map(T::widen);
    let work = || match prefixes {
        Prefixes::Exclusive => work::<T, Op, _, false>(&shared, init, stream),
        Prefixes::Inclusive => work::<T, Op, _, true>(&shared, init, stream),
    };
    if threads <= 1 {
        work();
    } else {
        rayon::scope(|scope| (0..threads).for_each(|_| scope.spawn(|_| work())));
    }
}

/// Takes chunks until there are none.
fn work<'a, T: Element, Op: Monoid<T>, I: Iterator<Item = Target<'a, T>>, const INCLUSIVE: bool>(
    shared: &Shared<T::Accumulator, I>,
    init: Option<T::Accumulator>,
    stream: bool,
) {
    let mut worker = Worker::<T>::new();
    let unwinding = Abandon(&shared.abandoned);
    loop {
        // The lock is released before the work begins.
        let taken = shared.chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some((index, chunk)) = taken else { break };
        let sum = worker.sum::<Op>(&chunk);
        if !shared.wait_for_turn(index) {
            break;
        }
        let (base, end) = {
            let mut counter = shared.counter.lock().unwrap_or_else(PoisonError::into_inner);
            let base = counter.prefix(init, Op::combine);
            let end = sum.and_then(|sum| {
                counter.push(sum, Op::combine);
                counter.prefix(init, Op::combine)
            });
            (base, end)
        };
        shared.turn.store(index + 1, Ordering::Release);
        worker.scan::<Op, INCLUSIVE>(chunk, base, end, stream);
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
            // The thread that is waited for may need this very core.
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
    /// The sums of the chunk's complete blocks.
    sums: Vec<T::Accumulator>,
    /// One block of results on its way past the caches.
    results: Vec<MaybeUninit<T>>,
}

impl<T: Element> Worker<T> {
    fn new() -> Worker<T> {
        let chunk = chunk_len::<T, T::Accumulator>(CHUNK_BYTES);
        let block = block_len::<T::Accumulator>();
        Worker {
            tree: Tree::new(),
            sums: Vec::with_capacity(chunk / block),
            results: vec![MaybeUninit::uninit(); block],
        }
    }

    /// Computes the sums of the chunk's complete blocks, and that of the chunk if it is complete.
    fn sum<Op: Monoid<T>>(&mut self, chunk: &Target<'_, T>) -> Option<T::Accumulator> {
        let block = block_len::<T::Accumulator>();
        let input = chunk.input();
        self.sums.clear();
        with_simd(
            #[inline(always)]
            || {
                for block in input.chunks_exact(block) {
                    self.sums.push(self.tree.sum::<T, Op>(block));
                }
            },
        );
        let complete = input.len() == chunk_len::<T, T::Accumulator>(CHUNK_BYTES);
        complete.then(|| {
            let mut counter = Counter::new();
            self.sums.iter().for_each(|&sum| counter.push(sum, Op::combine));
            counter.prefix(None, Op::combine).expect("a chunk has at least one block")
        })
    }

    /// Writes the prefixes of a chunk, given the prefix of its start and, if it is complete, of its end.
    fn scan<Op: Monoid<T>, const INCLUSIVE: bool>(
        &mut self,
        mut chunk: Target<'_, T>,
        base: Option<T::Accumulator>,
        end: Option<T::Accumulator>,
        stream: bool,
    ) {
        let block = block_len::<T::Accumulator>();
        let Worker { tree, sums, results } = self;
        with_simd(
            #[inline(always)]
            || {
                let mut counter = Counter::new();
                let mut next = base;
                for i in 0..chunk.input().len().div_ceil(block) {
                    let base_of_block = next;
                    if let Some(&sum) = sums.get(i) {
                        counter.push(sum, Op::combine);
                        next = counter.prefix(base, Op::combine);
                    }
                    let target = chunk.take(block);
                    let last = chunk.input().is_empty();
                    let end_of_block = if last { end.or(next) } else { next };
                    match target {
                        Target::Into(input, output) if stream => {
                            let results = &mut results[..input.len()];
                            let target = Target::Into(input, &mut *results);
                            tree.scan::<T, Op, INCLUSIVE>(target, base_of_block, end_of_block);
                            stream::copy(results, output);
                        }
                        target => {
                            tree.scan::<T, Op, INCLUSIVE>(target, base_of_block, end_of_block);
                        }
                    }
                }
                stream::finish();
            },
        );
    }
}
