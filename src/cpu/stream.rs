//! Writing past the caches.

use bytemuck::Pod;
use std::mem::MaybeUninit;

/// Copies `from` to `to`, of the same length, without reading the destination's cache lines first.
///
/// An ordinary store to memory that is not cached fetches the line, changes it, and writes it back
/// later: twice the traffic. A non-temporal store only writes. It pays for results that are too
/// large to be found in a cache afterwards. Call [`finish`] before another thread may read them.
///
/// # Safety
///
/// - `from` is initialised.
#[inline(always)]
pub(crate) unsafe fn copy<T: Pod>(from: &[MaybeUninit<T>], to: &mut [MaybeUninit<T>]) {
    assert_eq!(from.len(), to.len());
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        let bytes = size_of_val(from);
        let source = from.as_ptr().cast::<u8>();
        let target = to.as_mut_ptr().cast::<u8>();
        let head = target.align_offset(64).min(bytes);
        let lines = (bytes - head) / 64;
        // SAFETY: SSE2 belongs to every x86-64. All reads lie in `from` and all writes in `to`,
        // which have `bytes` bytes each and do not overlap; from `head` on the target is aligned to
        // 64 bytes where a line is written. The caller promises that `from` is initialised.
        unsafe {
            std::ptr::copy_nonoverlapping(source, target, head);
            for line in 0..lines {
                let offset = head + 64 * line;
                for part in [0, 16, 32, 48] {
                    let value = _mm_loadu_si128(source.add(offset + part).cast::<__m128i>());
                    _mm_stream_si128(target.add(offset + part).cast::<__m128i>(), value);
                }
            }
            let done = head + 64 * lines;
            std::ptr::copy_nonoverlapping(source.add(done), target.add(done), bytes - done);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

/// What the caches move at a time.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [u8; Line::BYTES]);

impl Line {
    pub(crate) const BYTES: usize = 64;
}

/// Writes a line past the caches, as [`copy`] does.
///
/// # Safety
///
/// `to` may be written.
#[inline(always)]
pub(crate) unsafe fn line(from: &Line, to: *mut Line) {
    #[cfg(target_arch = "x86_64")]
    for part in 0..4 {
        use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_stream_si128};
        let from: *const Line = from;
        // SAFETY: SSE2 belongs to every x86-64. Both lines are aligned, and have four parts; the
        // rest is the caller's.
        unsafe {
            let value = _mm_load_si128(from.cast::<__m128i>().add(part));
            _mm_stream_si128(to.cast::<__m128i>().add(part), value);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's.
    unsafe {
        to.write(*from)
    };
}

/// Has the caches fetch memory that is read soon.
#[inline(always)]
pub(crate) fn prefetch(start: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..bytes).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, part of SSE and so of every x86-64. It never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (start, bytes);
}

/// Makes what [`copy`] and [`line`] wrote visible in order.
#[inline(always)]
pub(crate) fn finish() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fence, part of SSE and so of every x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
