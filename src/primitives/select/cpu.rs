//! Select on the CPU, in one pass over memory, [in turns](crate::cpu::turns).
//!
//! A thread evaluates its chunk, and moves the items that are kept together in memory of its own,
//! which stays in the L2 cache. In its turn it learns how many the chunks before have kept, which
//! is where its own go. Then it copies them there. It does the same with the other items, and with
//! positions and the distances between them, if these are wanted. It learns the last position of
//! the chunks before, too: the distance from there belongs to the chunk with the next one.
//!
//! That is why a selection may work in place. No more items are kept than there were. So those of a
//! chunk go to where this chunk lay, or one before it. The chunks before have had their turns: what
//! they keep is elsewhere, and their old memory is free. No chunk after it is touched. The last
//! element of a chunk stays until the next one was evaluated, whose first flag may depend on it:
//! only a chunk that keeps all, where it lies, would write there, and it writes nothing.
//!
//! Where both sides of a partition go to one buffer, the first of the others lies behind all that
//! is kept. Nobody knows that place before the last turn. But the end of the buffer is known. So
//! the others are stored from there on, backwards, and turned round at last.

use super::growing::Growing;
use super::kernel::{Outputs, Sides};
use super::{Target, Targets};
use crate::cpu::turns::{self, STREAM_BYTES, in_turns};
use crate::cpu::{chunk_len, compact::compact, shared_chunk_len, stream, threads};
use crate::source::FlaggedItems;
use crate::{Element, Result};
use std::mem::MaybeUninit;
use std::ops::Range;

/// The bytes of a chunk. What it keeps must stay in the L2 cache; the rest is read once.
const CHUNK_BYTES: usize = 256 << 10;

/// The bytes of the shortest chunk. It must take longer than a turn.
const LEAST_BYTES: usize = 64 << 10;

/// The bytes of items that are evaluated at a time. Blocks are so short that a CPU begins the next
/// one while the memory for this one is still on its way.
const BLOCK_BYTES: usize = 1 << 10;

/// Where something goes. All threads write there, each at its own place.
#[derive(Clone, Copy)]
enum Output<'m, T> {
    /// What comes after the room is not stored.
    Fixed {
        start: *mut T,
        room: usize,
        /// Whether results go past the caches.
        streams: bool,
    },
    /// A turn makes room before anything is stored.
    Growing(&'m Growing<T>),
}

// SAFETY: the threads write numbers, and none where another one reads or writes.
unsafe impl<T: Element> Send for Output<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Element> Sync for Output<'_, T> {}

impl<T: Element> Output<'_, T> {
    fn new(target: Target, len: usize, in_place: bool) -> Self {
        let bytes = target.room.min(len) * size_of::<T>();
        Output::Fixed {
            start: target.address as *mut T,
            room: target.room,
            streams: !in_place && bytes > STREAM_BYTES,
        }
    }

    /// Where there is no room for anything.
    fn nowhere() -> Self {
        Output::new(Target::default(), 0, false)
    }

    /// Sees to it that there is room for so many items, if the memory grows.
    fn make_room(self, len: usize) {
        if let Output::Growing(memory) = self {
            memory.make_room(len);
        }
    }

    /// Copies items to a place, as far as there is room.
    ///
    /// # Safety
    ///
    /// The items are initialised. Nothing else reads or writes what lies at the place.
    unsafe fn store(self, items: &[MaybeUninit<T>], place: usize) {
        let copy = |start: *mut T, room: usize, streams: bool| {
            let fitting = place.min(room)..(place + items.len()).min(room);
            let items = &items[..fitting.len()];
            // SAFETY: the range lies in the room; the rest is the caller's.
            unsafe {
                let target = start.add(fitting.start).cast::<MaybeUninit<T>>();
                let target = std::slice::from_raw_parts_mut(target, fitting.len());
                if streams {
                    stream::copy(items, target);
                    stream::finish();
                } else {
                    target.copy_from_slice(items);
                }
            }
        };
        match self {
            Output::Fixed {
                start,
                room,
                streams,
            } => copy(start, room, streams),
            Output::Growing(memory) => memory.with(|start, room| {
                copy(start, room, place * size_of::<T>() > STREAM_BYTES);
            }),
        }
    }
}

/// Stores those items of `input`, or their positions, that `O` names: each kind in its order, as
/// far as there is room. Returns how many flags are set.
///
/// `in_place` says that the input is evaluated from the memory of `targets.kept`.
///
/// # Safety
///
/// The targets have the memory that they say, which nothing else uses meanwhile. The input may be
/// evaluated from that of `targets.kept`: then item `i` is element `i`, its flag depends on no
/// other element than that and the one before it, and nothing but what is kept is stored.
pub(crate) unsafe fn select<T: Element, O: Outputs>(
    input: &FlaggedItems<'_, T>,
    targets: Targets,
    in_place: bool,
) -> usize {
    let len = input.len();
    let outputs = Outlets {
        kept: Output::new(targets.kept, len, in_place),
        others: Output::new(targets.others, len, false),
        places: Output::new(targets.places, len, false),
        lengths: Output::new(targets.lengths, len, false),
        joined: false,
    };
    store_all::<T, O>(input, outputs, in_place)
}

/// What a select has stored in new memory; nothing of what its outputs do not name.
pub(crate) struct Stored<T> {
    pub(crate) kept: Vec<T>,
    pub(crate) others: Vec<T>,
    pub(crate) places: Vec<u64>,
    pub(crate) lengths: Vec<u64>,
}

/// Stores those items of `input`, or their positions, that `O` names: each kind in its order, in
/// memory that grows with it.
pub(crate) fn select_new<T: Element, O: Outputs>(input: &FlaggedItems<'_, T>) -> Result<Stored<T>> {
    let len = input.len();
    let (kept, others) = (Growing::up_to(len), Growing::up_to(len));
    let (places, lengths) = (Growing::up_to(len), Growing::up_to(len));
    let outputs = Outlets {
        kept: Output::Growing(&kept),
        others: Output::Growing(&others),
        places: Output::Growing(&places),
        lengths: Output::Growing(&lengths),
        joined: false,
    };
    let count = store_all::<T, O>(input, outputs, false);
    let of = |is_stored: bool, count: usize| if is_stored { count } else { 0 };
    // SAFETY: so many were stored, unless there was no memory.
    unsafe {
        Ok(Stored {
            kept: kept.into_vec(of(O::KEPT, count))?,
            others: others.into_vec(of(O::OTHERS, len - count))?,
            places: places.into_vec(of(O::PLACES, count))?,
            lengths: lengths.into_vec(of(O::KEPT && O::PLACES, count))?,
        })
    }
}

fn store_all<T: Element, O: Outputs>(
    input: &FlaggedItems<'_, T>,
    outputs: Outlets<'_, T>,
    in_place: bool,
) -> usize {
    let all = in_chunks::<T, O>(input, outputs, in_place);
    if O::KEPT && O::PLACES && all.count > 0 {
        let last = [MaybeUninit::new(input.len() as u64 - all.last)];
        // SAFETY: the distance behind all others, which no chunk has stored.
        unsafe { outputs.lengths.store(&last, all.count - 1) };
    }
    all.count
}

/// Stores the items of `input` that have a flag from `target` on, and the others behind them, each
/// kind in its order. Returns how many flags are set.
///
/// # Safety
///
/// There is room for all items, and nothing else uses it meanwhile.
pub(crate) unsafe fn partition_joined<T: Element>(
    input: &FlaggedItems<'_, T>,
    target: *mut T,
) -> usize {
    let len = input.len();
    let all = Target::new(target as u64, len);
    let outputs = Outlets {
        kept: Output::new(all, len, false),
        others: Output::new(all, len, false),
        places: Output::nowhere(),
        lengths: Output::nowhere(),
        joined: true,
    };
    let count = in_chunks::<T, Sides>(input, outputs, false).count;
    // SAFETY: the others, all of which were stored, and which nothing else uses.
    turn_round(unsafe { std::slice::from_raw_parts_mut(target.add(count), len - count) });
    count
}

/// Reverses the order of elements, on all threads.
fn turn_round<T: Element>(elements: &mut [T]) {
    let chunk = chunk_len::<T, T>(CHUNK_BYTES);
    if elements.len() <= chunk {
        return elements.reverse();
    }
    // The one in the middle stays.
    let (front, back) = elements.split_at_mut(elements.len() / 2);
    let mut pairs = front.chunks_mut(chunk).zip(back.rchunks_mut(chunk));
    threads::for_each_of(&mut pairs, &|(front, back): (&mut [T], &mut [T])| {
        let back = back.iter_mut().rev();
        front.iter_mut().zip(back).for_each(|(a, b)| {
            std::mem::swap(a, b);
        });
    });
}

/// Has all threads store what `O` names, chunk by chunk.
fn in_chunks<T: Element, O: Outputs>(
    input: &FlaggedItems<'_, T>,
    outputs: Outlets<'_, T>,
    in_place: bool,
) -> Kept {
    let len = input.len();
    let chunk = shared_chunk_len::<T, T>(CHUNK_BYTES, LEAST_BYTES, len);
    let chunks = (0..len.div_ceil(chunk)).map(|number| {
        let start = number * chunk;
        start..(start + chunk).min(len)
    });
    in_turns(chunks, Kept::default(), || {
        Worker::new::<O>(input, outputs, chunk.min(len), in_place)
    })
}

/// Where everything goes.
#[derive(Clone, Copy)]
struct Outlets<'m, T> {
    kept: Output<'m, T>,
    others: Output<'m, T>,
    places: Output<'m, u64>,
    lengths: Output<'m, u64>,
    /// Whether `others` is the memory of `kept`, and filled from its end.
    joined: bool,
}

/// How many items were kept, and the position of the last one, where positions are stored.
#[derive(Debug, Clone, Copy, Default)]
struct Kept {
    count: usize,
    last: u64,
}

/// A thread's working memory. What is not wanted has no room.
struct Worker<'s, T> {
    input: &'s FlaggedItems<'s, T>,
    outputs: Outlets<'s, T>,
    in_place: bool,
    /// A block of items.
    items: Vec<MaybeUninit<T>>,
    /// Their flags.
    flags: Vec<MaybeUninit<bool>>,
    /// Their positions.
    positions: Vec<MaybeUninit<u64>>,
    /// What is stored of the chunk.
    kept: Vec<MaybeUninit<T>>,
    others: Vec<MaybeUninit<T>>,
    places: Vec<MaybeUninit<u64>>,
    lengths: Vec<MaybeUninit<u64>>,
}

impl<'s, T: Element> Worker<'s, T> {
    fn new<O: Outputs>(
        input: &'s FlaggedItems<'s, T>,
        outputs: Outlets<'s, T>,
        chunk: usize,
        in_place: bool,
    ) -> Worker<'s, T> {
        fn room<U: Copy>(wanted: bool, len: usize) -> Vec<MaybeUninit<U>> {
            vec![MaybeUninit::uninit(); if wanted { len } else { 0 }]
        }
        let block = (BLOCK_BYTES / size_of::<T>()).min(chunk);
        Worker {
            input,
            outputs,
            in_place,
            items: room(true, block),
            flags: room(true, block),
            positions: room(O::PLACES, block),
            kept: room(O::KEPT, chunk),
            others: room(O::OTHERS, chunk),
            places: room(O::PLACES, chunk),
            lengths: room(O::KEPT && O::PLACES, chunk),
        }
    }
}

/// The state, and the place of a chunk, is what was kept before it.
impl<T: Element> turns::Worker<Range<usize>, Kept> for Worker<'_, T> {
    /// How many items the chunk keeps, and where it ends.
    type Prepared = (usize, usize);
    /// How many items it keeps, and what was kept before.
    type Place = (usize, Kept);

    fn prepare(&mut self, chunk: &Range<usize>) -> (usize, usize) {
        let (mut count, mut others) = (0, 0);
        for start in chunk.clone().step_by(self.items.len()) {
            let len = self.items.len().min(chunk.end - start);
            let (items, flags) = (&mut self.items[..len], &mut self.flags[..len]);
            self.input.evaluate(start, items, flags);
            let mut kept = 0;
            // SAFETY: `evaluate` wrote all items and flags; the positions are written here.
            unsafe {
                if !self.places.is_empty() {
                    let positions = &mut self.positions[..len];
                    positions
                        .iter_mut()
                        .zip(start as u64..)
                        .for_each(|(to, at)| {
                            to.write(at);
                        });
                    kept = compact(positions, flags, &mut self.places[count..]);
                }
                if !self.kept.is_empty() {
                    kept = compact(items, flags, &mut self.kept[count..]);
                }
                if !self.others.is_empty() {
                    flags.iter_mut().for_each(|flag| {
                        flag.write(!flag.assume_init());
                    });
                    others += compact(items, flags, &mut self.others[others..]);
                }
            }
            count += kept;
        }
        (count, chunk.end)
    }

    fn turn(&mut self, (count, end): (usize, usize), kept: &mut Kept) -> (usize, Kept) {
        let before = *kept;
        kept.count += count;
        if !self.kept.is_empty() {
            self.outputs.kept.make_room(kept.count);
        }
        if !self.others.is_empty() {
            self.outputs.others.make_room(end - kept.count);
        }
        if !self.places.is_empty() {
            self.outputs.places.make_room(kept.count);
        }
        if !self.lengths.is_empty() {
            self.outputs.lengths.make_room(kept.count);
        }
        if let Some(last) = self.places[..count.min(self.places.len())].last() {
            // SAFETY: `compact` wrote so many.
            kept.last = unsafe { last.assume_init() };
        }
        (count, before)
    }

    fn finish(&mut self, chunk: Range<usize>, (count, before): (usize, Kept)) {
        let (to, start) = (self.outputs, before.count);
        if self.in_place && chunk == (start..start + count) {
            return;
        }
        // SAFETY: no other chunk has a part of these places. Nothing is read there any more: the
        // head of this file says why. `compact` wrote what is stored.
        unsafe {
            if !self.kept.is_empty() {
                to.kept.store(&self.kept[..count], start);
            }
            if !self.others.is_empty() {
                let others = &mut self.others[..chunk.len() - count];
                let mut place = chunk.start - start;
                if to.joined {
                    others.reverse();
                    place = self.input.len() - place - others.len();
                }
                to.others.store(others, place);
            }
            if !self.places.is_empty() {
                to.places.store(&self.places[..count], start);
            }
            if !self.lengths.is_empty() && count > 0 {
                let places = self.places[..count].iter().map(|place| place.assume_init());
                let starts = [before.last].into_iter().chain(places.clone());
                let lengths = self.lengths.iter_mut().zip(places.zip(starts));
                lengths.for_each(|(to, (place, start))| {
                    to.write(place - start);
                });
                // Nothing comes before the first of all.
                let first = usize::from(start == 0);
                to.lengths
                    .store(&self.lengths[first..count], start + first - 1);
            }
        }
    }
}
