//! Work in turns: one pass over memory in which every part depends on all before it.
//!
//! Threads take chunks in order. A thread
//!
//! 1. *prepares* its chunk, which brings it into the L2 cache;
//! 2. waits for its *turn*, in which it learns what comes before the chunk, and tells the next one;
//! 3. *finishes* the chunk from the cache.
//!
//! So each element crosses the memory bus once in either direction. The wait is short, since
//! threads began the chunks before it earlier. Nobody waits for a chunk that no thread works on.

use super::threads::{lock, on_threads};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Results larger than this are written past the caches: the caches could not hold them.
pub(crate) const STREAM_BYTES: usize = 64 << 20;

/// What a thread does with chunks, and its working memory.
pub(crate) trait Worker<Chunk, State> {
    /// What the first step hands to the turn.
    type Prepared;
    /// What the turn hands to the last step.
    type Place;

    /// The first step, in any order.
    fn prepare(&mut self, chunk: &Chunk) -> Self::Prepared;

    /// The turn: one thread at a time, in the order of the chunks. It must be short.
    ///
    /// All that the turns before did, and what was done before them, has happened before this.
    fn turn(&mut self, prepared: Self::Prepared, state: &mut State) -> Self::Place;

    /// The last step, in any order.
    fn finish(&mut self, chunk: Chunk, place: Self::Place);
}

/// What the threads share.
struct Shared<State, I> {
    /// The chunks that no thread has taken yet.
    chunks: Mutex<std::iter::Enumerate<I>>,
    /// The number of chunks that have had their turn.
    turn: AtomicUsize,
    /// What those chunks have left. Only the thread whose turn it is locks it, so it is never
    /// contended.
    state: Mutex<State>,
    /// Set when a thread panics: the others must not wait for its turn.
    abandoned: AtomicBool,
}

/// Works through chunks, on all threads of the current pool, and returns what the turns made of
/// `state`. A panic of a worker stops all threads and goes on in the caller.
pub(crate) fn in_turns<Chunk, State: Send, W: Worker<Chunk, State>>(
    chunks: impl ExactSizeIterator<Item = Chunk> + Send,
    state: State,
    worker: impl Fn() -> W + Sync,
) -> State {
    let threads = rayon::current_num_threads().min(chunks.len());
    let shared = Shared {
        chunks: Mutex::new(chunks.enumerate()),
        turn: AtomicUsize::new(0),
        state: Mutex::new(state),
        abandoned: AtomicBool::new(false),
    };
    on_threads(threads, &|| work(&shared, worker()));
    let state = shared.state.into_inner();
    state.unwrap_or_else(PoisonError::into_inner)
}

/// Takes chunks until there are none.
fn work<Chunk, State, I: Iterator<Item = Chunk>>(
    shared: &Shared<State, I>,
    mut worker: impl Worker<Chunk, State>,
) {
    let unwinding = Abandon(&shared.abandoned);
    loop {
        // The lock is released before the work begins.
        let taken = lock(&shared.chunks).next();
        let Some((index, chunk)) = taken else { break };
        let prepared = worker.prepare(&chunk);
        if !shared.wait_for_turn(index) {
            break;
        }
        let place = worker.turn(prepared, &mut lock(&shared.state));
        shared.turn.store(index + 1, Ordering::Release);
        worker.finish(chunk, place);
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

impl<State, I> Shared<State, I> {
    /// Waits until all chunks before `index` have had their turn; false if they never will.
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
