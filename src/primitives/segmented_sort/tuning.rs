//! What a block has of segments that are sorted. One table is for all GPUs: a block takes less than
//! the 48 KiB of shared memory that each has.
//!
//! Measured: an NVIDIA H200, 2026-11-29, `bench-gpu 'segments f32 sort'`, with other numbers here.
//! Merging with 8 warps of 13 items took 931, 1151, 2005 and 3430 µs for segments of 16, 100, 1000
//! and 32,000; with 4 of 27 it took 938, 1157, 1901 and 3067. The rest was not measured alone.

/// The items that a thread has room for, by the largest key in bytes: odd numbers, so that threads
/// that read theirs meet no bank twice.
const ITEMS: [(usize, usize); 3] = [(4, 15), (8, 9), (usize::MAX, 5)];

/// The warps of a block that sorts a tile, and of one that merges.
pub(super) const WARPS: [u32; 2] = [8, 4];

/// The blocks that are to have room on a multiprocessor: of those that sort keys alone, and that
/// sort with places.
pub(super) const BLOCKS: [u64; 2] = [5, 4];

/// The blocks that merge which are to have room on a multiprocessor.
pub(super) const MERGE_BLOCKS: u32 = 5;

/// The part of a tile's room that is left for the end of a short segment. So a short one has at
/// most as many items.
pub(super) const LONG_PART: usize = 8;

/// The items that a thread has room for.
pub(super) fn items_for(key_bytes: usize) -> usize {
    let row = ITEMS.iter().find(|(largest, _)| key_bytes <= *largest);
    row.expect("the last row is for all").1
}
