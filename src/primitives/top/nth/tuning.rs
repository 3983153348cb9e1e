//! How items at some places of the sorted order are found. One table is for all GPUs: tables of
//! counts take 32 KiB of shared memory, which each has.
//!
//! Measured: an NVIDIA H200, 2026-11-29, together, by the host's clock around calls of
//! `Device::select_nths`. None was measured alone but where it says so.

/// What a lane reads at once, in bytes.
pub(super) const LANE_BYTES: u32 = 64;

/// The most runs of it.
pub(super) const MOST_ROWS: u32 = 16;

/// The threads of a block.
pub(super) const THREADS: u32 = 512;

/// The blocks that a multiprocessor has registers for.
pub(crate) const BLOCKS: u32 = 2;

/// So many items may be wanted at once, as the documentation says.
pub(crate) const MANY: usize = 32;

/// The bits of a digit, and how many items may be wanted: for few of them, and for as many as there
/// can be. A table of counters of 4 bytes is for each item.
pub(super) const DIGITS: [(u32, usize); 2] = [(11, 4), (8, MANY)];

/// Up to so many items are sorted sooner than their digits are counted, on the CPU. Not measured
/// alone.
pub(super) const SHORT_ON_THE_CPU: usize = 8192;

/// Up to so many are on a GPU. 30,000 `f32` were sorted in 71 µs and counted in 90; 100,000 were
/// counted in 86, and sorted in 96.
pub(super) const SHORT: usize = 1 << 16;

/// Up to so many items are sorted by one block of a GPU, and kept in a core's own cache. Not
/// measured alone.
pub(super) const FEW: usize = 1024;
