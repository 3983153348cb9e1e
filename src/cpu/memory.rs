//! Memory of the host for results and working space.

use crate::{Error, Result};

/// An empty vector with room for so many items, or an error if there is none.
///
/// Linux is asked to back much of it with large pages. A page is cleared when it is first written,
/// one at a time, and that takes less than half as long in large pages.
pub(crate) fn reserve<T>(len: usize) -> Result<Vec<T>> {
    let mut room = Vec::<T>::new();
    room.try_reserve_exact(len)
        .map_err(|_| Error::OutOfHostMemory {
            requested: len.saturating_mul(size_of::<T>()),
        })?;
    #[cfg(target_os = "linux")]
    advise_large_pages(room.as_mut_ptr().cast(), len * size_of::<T>());
    Ok(room)
}

/// Less memory may be older than the call, and its pages there already.
#[cfg(target_os = "linux")]
const LARGE_BYTES: usize = 4 << 20;

#[cfg(target_os = "linux")]
fn advise_large_pages(start: *mut u8, bytes: usize) {
    /// Advice must start at a page, of whatever size these are.
    const ALIGNMENT: usize = 64 << 10;
    if bytes < LARGE_BYTES {
        return;
    }
    let before = start.align_offset(ALIGNMENT);
    // SAFETY: the range lies within an allocation of this process, and the advice changes none of
    // its contents. A kernel without large pages refuses it, and nothing depends on it.
    unsafe {
        libc::madvise(
            start.wrapping_add(before).cast(),
            bytes - before,
            libc::MADV_HUGEPAGE,
        );
    }
}
