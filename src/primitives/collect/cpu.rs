//! Collect on the CPU: threads evaluate chunks.

use crate::Element;
use crate::cpu::turns::STREAM_BYTES;
use crate::cpu::{shared_chunk_len, stream, threads};
use crate::source::Items;
use std::mem::MaybeUninit;

/// The bytes of a chunk. Storing that much takes far longer than handing it to a thread.
const CHUNK_BYTES: usize = 256 << 10;

/// The bytes of the shortest chunk: a function may take some time for each item of them.
const LEAST_BYTES: usize = 32 << 10;

/// The bytes of items that are evaluated at a time, and stay in the L1 cache on their way.
const BLOCK_BYTES: usize = 8 << 10;

/// Where the items go.
#[derive(Clone, Copy)]
struct Target<T>(*mut T);

// SAFETY: threads write numbers, each thread its own.
unsafe impl<T: Element> Send for Target<T> {}
// SAFETY: as above.
unsafe impl<T: Element> Sync for Target<T> {}

impl<T: Element> Target<T> {
    /// The place of some items.
    ///
    /// # Safety
    ///
    /// Nothing else reads or writes there for as long as the slice lives.
    unsafe fn of<'a>(self, items: std::ops::Range<usize>) -> &'a mut [MaybeUninit<T>] {
        // SAFETY: there is room for all items; the rest is the caller's.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(items.start).cast(), items.len()) }
    }
}

/// Stores all items from `target` on. `in_place` says that item `i` is made of the element `i` that
/// lies there.
///
/// # Safety
///
/// There is room for all items, and nothing else reads or writes there.
pub(crate) unsafe fn collect<T: Element>(items: &Items<'_, T>, target: *mut T, in_place: bool) {
    let target = Target(target);
    let streams = !in_place && items.len() * size_of::<T>() > STREAM_BYTES;
    let chunk = shared_chunk_len::<T, T>(CHUNK_BYTES, LEAST_BYTES, items.len());
    let store = |room: &mut Vec<T>, number: usize| {
        let end = items.len().min((number + 1) * chunk);
        if !streams && !in_place {
            let all = number * chunk..end;
            // SAFETY: the chunk is this call's alone.
            items.write(all.start, unsafe { target.of(all) });
            return;
        }
        let block = (BLOCK_BYTES / size_of::<T>()).max(1);
        for start in (number * chunk..end).step_by(block) {
            let range = start..end.min(start + block);
            let items = items.range(range.clone(), room);
            // SAFETY: the block is this call's alone, and was evaluated. Items are initialised, and
            // `MaybeUninit<T>` has the layout of `T`.
            unsafe {
                let items = &*(&raw const *items as *const [MaybeUninit<T>]);
                let target = target.of(range);
                if streams {
                    stream::copy(items, target);
                } else {
                    target.copy_from_slice(items);
                }
            }
        }
        stream::finish();
    };
    let chunks = items.len().div_ceil(chunk);
    threads::for_each(chunks, &Vec::new, &store);
}
