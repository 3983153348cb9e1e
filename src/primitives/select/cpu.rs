//! Select on the CPU, in one pass over memory, [in turns](crate::cpu::turns).
//!
//! A thread evaluates its chunk, and moves the items that are kept together in memory of its own,
//! which stays in the L2 cache. In its turn it learns how many the chunks before have kept, which
//! is where its own go. Then it copies them there.
//!
//! That is why a selection may work in place. A chunk's items go where this chunk or chunks before
//! it lay, since no more are kept than there were. Those chunks have had their turns, so they hold
//! what they keep elsewhere, and their old memory is free. A chunk after it is never touched.

use crate::Element;
use crate::cpu::turns::{self, STREAM_BYTES, in_turns};
use crate::cpu::{chunk_len, compact::compact, stream};
use crate::source::FlaggedItems;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The bytes of a chunk. What it keeps must stay in the L2 cache; the rest is read once.
const CHUNK_BYTES: usize = 256 << 10;

/// The bytes of items that are evaluated at a time. So short a block lets a CPU begin with the next
/// one while the memory for this one is still on its way.
const BLOCK_BYTES: usize = 1 << 10;

/// Where the kept items go. All threads write there, each at its own place.
#[derive(Clone, Copy)]
struct Output<T> {
    start: *mut T,
    room: usize,
    /// Whether results go past the caches.
    streams: bool,
}

// SAFETY: the threads write numbers, and none where another one reads or writes.
unsafe impl<T: Element> Send for Output<T> {}
// SAFETY: as above.
unsafe impl<T: Element> Sync for Output<T> {}

/// Writes the items of `input` whose flags are set to `start`, in their order and up to `room`, and
/// returns how many there are.
///
/// `in_place` says that the input is evaluated from the same memory.
///
/// # Safety
///
/// From `start` on there is memory for `room` elements, which nothing else uses meanwhile. The
/// input may be evaluated from it: then item `i` depends on no element before `i`.
pub(crate) unsafe fn select<T: Element>(
    input: &FlaggedItems<'_, T>,
    start: *mut T,
    room: usize,
    in_place: bool,
) -> usize {
    let (len, chunk) = (input.len(), chunk_len::<T, T>(CHUNK_BYTES));
    let chunks = (0..len.div_ceil(chunk)).map(|number| {
        let start = number * chunk;
        start..(start + chunk).min(len)
    });
    let bytes = room.min(len) * size_of::<T>();
    let output = Output {
        start,
        room,
        streams: !in_place && bytes > STREAM_BYTES,
    };
    in_turns(chunks, 0, || Worker::new(input, output, chunk.min(len)))
}

/// A thread's working memory.
struct Worker<'s, T> {
    input: &'s FlaggedItems<'s, T>,
    output: Output<T>,
    /// A block of items.
    items: Vec<MaybeUninit<T>>,
    /// Their flags.
    flags: Vec<MaybeUninit<bool>>,
    /// What the chunk keeps.
    kept: Vec<MaybeUninit<T>>,
}

impl<'s, T: Element> Worker<'s, T> {
    fn new(input: &'s FlaggedItems<'s, T>, output: Output<T>, chunk: usize) -> Worker<'s, T> {
        let block = (BLOCK_BYTES / size_of::<T>()).min(chunk);
        Worker {
            input,
            output,
            items: vec![MaybeUninit::uninit(); block],
            flags: vec![MaybeUninit::uninit(); block],
            kept: vec![MaybeUninit::uninit(); chunk],
        }
    }
}

/// The state is the number of items that were kept so far. The place of a chunk is where its own
/// go.
impl<T: Element> turns::Worker<Range<usize>, usize> for Worker<'_, T> {
    /// How many items the chunk keeps.
    type Prepared = usize;
    type Place = Range<usize>;

    fn prepare(&mut self, chunk: &Range<usize>) -> usize {
        let mut count = 0;
        for start in chunk.clone().step_by(self.items.len()) {
            let len = self.items.len().min(chunk.end - start);
            let (items, flags) = (&mut self.items[..len], &mut self.flags[..len]);
            self.input.evaluate(start, items, flags);
            // SAFETY: `evaluate` wrote them all.
            count += unsafe { compact(items, flags, &mut self.kept[count..]) };
        }
        count
    }

    fn turn(&mut self, count: usize, kept: &mut usize) -> Range<usize> {
        let start = *kept;
        *kept += count;
        start..*kept
    }

    fn finish(&mut self, _: Range<usize>, place: Range<usize>) {
        let Output {
            start,
            room,
            streams,
        } = self.output;
        let fitting = place.start.min(room)..place.end.min(room);
        let kept = &self.kept[..fitting.len()];
        // SAFETY: the range lies in the room, and no other chunk has a part of it. Nothing is read
        // there any more: the head of this file says why. `compact` wrote what is copied.
        unsafe {
            let target = start.add(fitting.start).cast::<MaybeUninit<T>>();
            let target = std::slice::from_raw_parts_mut(target, fitting.len());
            if streams {
                stream::copy(kept, target);
                stream::finish();
            } else {
                target.copy_from_slice(kept);
            }
        }
    }
}
