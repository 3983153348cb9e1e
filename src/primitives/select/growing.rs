//! Memory that grows while threads write to it.

use crate::{Element, Error, Result};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::sync::{PoisonError, RwLock};

/// The bytes that are there from the beginning.
const FIRST_BYTES: usize = 64 << 10;

/// Room for elements. It takes at most twice as much as was asked for. Large rooms grow where they
/// are, or in the page table, with most allocators.
pub(crate) struct Growing<T> {
    memory: RwLock<Memory<T>>,
    most: usize,
}

struct Memory<T> {
    /// As long as there is room.
    room: Vec<MaybeUninit<T>>,
    /// Where it starts, for those who write there.
    start: *mut T,
    /// The bytes that could not be had.
    missing: Option<usize>,
}

// SAFETY: the address is that of the room, which the memory owns.
unsafe impl<T: Element> Send for Memory<T> {}
// SAFETY: a shared reference gives nothing but the address and the length.
unsafe impl<T: Element> Sync for Memory<T> {}

impl<T: Element> Growing<T> {
    /// For up to `most` elements.
    pub(super) fn up_to(most: usize) -> Growing<T> {
        let mut room: Vec<MaybeUninit<T>> = Vec::new();
        Growing {
            memory: RwLock::new(Memory {
                start: room.as_mut_ptr().cast(),
                room,
                missing: None,
            }),
            most,
        }
    }

    /// Makes room for `len` elements. What was written stays. Waits for those who write.
    ///
    /// If there is no memory, the room stays as it is, and [`into_vec`](Growing::into_vec) says so.
    pub(super) fn make_room(&self, len: usize) {
        let memory = self.memory.read().unwrap_or_else(PoisonError::into_inner);
        if len <= memory.room.len() || memory.missing.is_some() {
            return;
        }
        drop(memory);
        let mut memory = self.memory.write().unwrap_or_else(PoisonError::into_inner);
        let before = memory.room.len();
        let wanted = (2 * len).max(FIRST_BYTES / size_of::<T>()).min(self.most);
        let grown = memory
            .room
            .try_reserve_exact(wanted - before)
            .or_else(|_| memory.room.try_reserve_exact(len - before));
        let capacity = memory.room.capacity();
        // SAFETY: these elements may be uninitialised.
        unsafe { memory.room.set_len(capacity) };
        memory.start = memory.room.as_mut_ptr().cast();
        if grown.is_err() {
            memory.missing = Some(len.saturating_mul(size_of::<T>()));
        }
    }

    /// Calls `work` with the start of the room, and for how many elements it is. Meanwhile it does
    /// not grow.
    pub(super) fn with(&self, work: impl FnOnce(*mut T, usize)) {
        let memory = self.memory.read().unwrap_or_else(PoisonError::into_inner);
        work(memory.start, memory.room.len());
    }

    /// The first `len` elements, in no more memory than they need.
    ///
    /// # Safety
    ///
    /// Room was made for so many. If there was any, they were written.
    pub(super) unsafe fn into_vec(self, len: usize) -> Result<Vec<T>> {
        let memory = self.memory.into_inner();
        let Memory { room, missing, .. } = memory.unwrap_or_else(PoisonError::into_inner);
        if let Some(requested) = missing {
            return Err(Error::OutOfHostMemory { requested });
        }
        assert!(len <= room.len());
        let mut room = ManuallyDrop::new(room);
        let (start, capacity) = (room.as_mut_ptr().cast::<T>(), room.capacity());
        // SAFETY: the memory is a vector's, of elements that are laid out alike, and so many of
        // them were written, as the caller says.
        let mut vector = unsafe { Vec::from_raw_parts(start, len, capacity) };
        vector.shrink_to_fit();
        Ok(vector)
    }
}
