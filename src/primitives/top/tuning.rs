//! How the first of many items are found.
//!
//! Measured: an NVIDIA H200, 2026-11-28, together, by a program that is not kept; and 2026-11-29 by
//! `bench-gpu top`. None was measured alone but where it says so.

/// What a lane of the filter reads at once, in bytes.
pub(super) const LANE_BYTES: u32 = 64;

/// The most runs of it.
pub(super) const MOST_ROWS: u32 = 16;

/// The blocks of the filter that a multiprocessor has registers for.
pub(crate) const FILTER_BLOCKS: u32 = 4;

/// The most threads of a block that samples, and of one that filters.
pub(super) const FILTER_THREADS: u32 = 256;

/// The threads of a block that sorts: as many as one can have.
pub(super) const THREADS: u32 = 1024;

/// How many items it sorts, and how many groups of samples there are. The kernel has this number
/// and that of tests, and no others.
pub(super) const CAPACITY: u32 = 1024;

/// All items are sorted where more than one of so many is wanted.
pub(super) const SORTED_PART: usize = 8;

/// One block takes a row of up to so many times what it sorts.
pub(super) const OF_ONE_BLOCK: usize = 4;

/// The items that a block reads in the time that the launches of a long call take at least.
pub(super) const LAUNCHES_ITEMS: usize = 100_000;

/// Up to so many items take one launch. Of 10^6 items several took 36 µs, and one took 24.
pub(super) const ONCE_ITEMS: usize = 1 << 21;

/// Between so many items lies a sample, at most: more would cost more than it saves.
pub(super) const SPACING: usize = 1 << 10;
