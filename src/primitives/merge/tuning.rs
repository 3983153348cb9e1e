//! The tiles of merges. One table is for all GPUs: a tile takes less than the 48 KiB of shared
//! memory that each has, for items of up to 64 bytes.
//!
//! Measured: an NVIDIA H200, 2026-11-28, as a whole, by hand, while the searches of tiles were made
//! faster. No number was measured alone, and the benchmark has no merges.

/// The tile of a merge.
#[derive(Debug)]
struct MergeRow {
    /// The largest item, in bytes.
    item: usize,
    /// The threads of a block.
    threads: usize,
    /// The items of each: odd numbers, so that threads that read theirs meet no bank twice.
    items: usize,
}

#[rustfmt::skip]
const ROWS: &[MergeRow] = &[
    MergeRow { item: 4, threads: 256, items: 15 },
    MergeRow { item: 8, threads: 256, items: 11 },
    MergeRow { item: 16, threads: 256, items: 7 },
    MergeRow { item: 32, threads: 128, items: 5 },
    MergeRow { item: usize::MAX, threads: 128, items: 3 },
];

/// The threads of a block, and the items of each.
pub(super) const fn tile_for(item_bytes: usize) -> (usize, usize) {
    let mut number = 0;
    while item_bytes > ROWS[number].item {
        number += 1;
    }
    (ROWS[number].threads, ROWS[number].items)
}
