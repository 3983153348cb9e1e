//! Copying slices one behind another, on all threads.

use super::threads::for_each_of;
use super::turns::STREAM_BYTES;
use super::{chunk_len, stream};
use crate::Element;
use std::mem::MaybeUninit;

/// The bytes of a chunk. To copy that much takes far longer than to hand it to a thread.
const CHUNK_BYTES: usize = 256 << 10;

/// Copies all elements of `parts`, one part behind another, to the front of `to`.
pub(crate) fn concat<T: Element>(parts: &[&[T]], mut to: &mut [MaybeUninit<T>]) {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let (streams, chunk) = (
        size_of::<T>() * len > STREAM_BYTES,
        chunk_len::<T, T>(CHUNK_BYTES),
    );
    let mut chunks = Vec::new();
    for part in parts {
        let (front, rest) = to.split_at_mut(part.len());
        chunks.extend(part.chunks(chunk).zip(front.chunks_mut(chunk)));
        to = rest;
    }
    let copy = |(from, to): (&[T], &mut [MaybeUninit<T>])| {
        // SAFETY: `MaybeUninit<T>` has the layout of `T`.
        let from = unsafe { &*(&raw const *from as *const [MaybeUninit<T>]) };
        if streams {
            // SAFETY: the elements are initialised.
            unsafe { stream::copy(from, to) };
            stream::finish();
        } else {
            to.copy_from_slice(from);
        }
    };
    if len <= chunk {
        return chunks.into_iter().for_each(copy);
    }
    for_each_of(&mut chunks.into_iter(), &copy);
}
