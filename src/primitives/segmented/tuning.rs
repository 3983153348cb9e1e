//! What a block has of segments. One table is for all GPUs: tiles have some 16 KiB, so they fit the
//! shared memory of each.
//!
//! Measured: an NVIDIA H200, 2026-11-28, `f32` alone, by a program that loaded these kernels and is
//! not kept. Blocks of 8 warps took 170 µs for sums of segments of 1000 where 4 took 126. Scans
//! with five blocks a multiprocessor took a quarter longer than with seven. The rows of other sizes
//! were not measured alone.

use super::kernel::SegmentedPolicy;

/// What a block has of segments of items.
#[derive(Debug)]
struct SegmentedRow {
    /// The largest item, in bytes.
    item: usize,
    /// The entries of a tile for each thread.
    rows: u32,
    /// The blocks of a multiprocessor.
    blocks: u32,
    /// The items of a unit of a long segment.
    unit: u32,
    /// The warps of a block of the last launch.
    finish_warps: u32,
}

#[rustfmt::skip]
const ROWS: &[SegmentedRow] = &[
    SegmentedRow { item: 4, rows: 32, blocks: 7, unit: 1024, finish_warps: 32 },
    SegmentedRow { item: 8, rows: 16, blocks: 6, unit: 1024, finish_warps: 16 },
    SegmentedRow { item: 16, rows: 8, blocks: 1, unit: 512, finish_warps: 8 },
    SegmentedRow { item: 32, rows: 4, blocks: 1, unit: 256, finish_warps: 8 },
    SegmentedRow { item: usize::MAX, rows: 2, blocks: 1, unit: 128, finish_warps: 8 },
];

/// The warps of a block.
const WARPS: u32 = 4;

/// The warps of a block that expands. Not measured alone.
pub(super) const EXPAND_WARPS: u32 = 4;

/// The entries of its tile for each thread. Not measured alone.
pub(super) const EXPAND_ROWS: u32 = 32;

impl SegmentedPolicy {
    /// The policy for items of so many bytes.
    pub(super) fn for_bytes(item: usize) -> SegmentedPolicy {
        let row = ROWS.iter().find(|row| item <= row.item);
        let row = row.expect("the last row is for all");
        SegmentedPolicy {
            warps: WARPS,
            rows: row.rows,
            blocks: row.blocks,
            finish_warps: row.finish_warps,
            unit: row.unit,
        }
    }
}
