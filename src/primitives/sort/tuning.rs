//! What a block has of what is sorted. One table is for all GPUs. It suits their registers, of
//! which all have 65,536 for each multiprocessor.
//!
//! Measured: an NVIDIA H200, 2026-11-28, keys of `u32`, by a program that is not kept; what is said
//! of a number was measured by it.

/// The warps of a block that has a tile: as few as have a thread for each digit, which the kernel
/// needs. Small blocks wait less at their barriers: 8 warps were 11% faster than 16 for 2^28 keys.
pub(super) const WARPS: usize = 8;

/// How many registers a thread has for its items, so that a tile has 30 rows of keys of 32 bits.
/// Of 2^28 keys, 8 warps by 30 rows took 6567 or 6728 µs, and by 24 rows 6697 to 6940, by how many
/// tiles the look-back reads; by 32 rows and four tiles 6356 to 6406.
pub(super) const MOST_REGISTERS: usize = 60;

/// The blocks that are to have room on a multiprocessor. Not measured alone.
pub(super) const BLOCKS: u64 = 3;

/// The items of a run, which a block sorts with a thread for each. Not measured alone.
pub(super) const RUN: usize = 1024;

/// How many runs are merged at once. Of 16,384 keys, 8 took 19.0 µs, and 16 took 24.4.
pub(super) const WAYS: usize = 8;

/// The threads of a block that merges. Not measured alone.
pub const MERGE_THREADS: u32 = 256;

/// The threads of a block that counts. Not measured alone.
pub const COUNT_THREADS: u32 = 512;

/// The bytes of its counters: 32 for each digit of keys of one byte. 1, 8 or 32 of them made little
/// difference.
pub(super) const COUNTER_BYTES: usize = 32 << 10;

/// Up to so many items are sorted by runs, by the largest key in bytes. Short keys have few digits,
/// so digits soon win. 100,000 `u32` took 59 µs by runs and 50 by digits, and 50,000 took 29 by
/// runs; 10,000 `u16` took 24 by runs, and 262,145 took 28 by digits.
const IN_RUNS: [(usize, usize); 3] = [(1, 1 << 12), (2, 1 << 13), (usize::MAX, 1 << 16)];

/// Up to so many items are sorted by runs.
pub(super) fn most_in_runs(key_bytes: usize) -> usize {
    let row = IN_RUNS.iter().find(|(largest, _)| key_bytes <= *largest);
    row.expect("the last row is for all").1
}
