//! Compute capability 9.0. By hand.
//!
//! Measured: an NVIDIA H200, 2026-11-29, `cargo bench --all-features --bench gpu -- reduce scan
//! inclusive`. 41 of the rows were left out in a trial. Six made no difference and are gone. Of the
//! others those that a cell meets gained up to 25%. How rows were found stands in `docs/notebook/`,
//! from 2026-11-22 to 2026-11-28.

use super::{
    BatchRow, BlockRow, ComputeBoundReduceRow, ComputeBoundScanRow, HeldRow, RangeRow, ReduceRow,
    RowTables, ScanRow, ShareRow,
};
use crate::engine::{ReducePolicy, Way};

const ANY: Option<bool> = None;
const NO: Option<bool> = Some(false);
const YES: Option<bool> = Some(true);
const ALONE: Way = Way::Alone;

/// How many sums a lane reads at once by operators that cost 90 and more: less code.
const ONE_SUM: Option<u32> = Some(1);

/// Batches of elements of 4 bytes by such operators.
#[rustfmt::skip]
const SLOWEST_WORDS: &[(u64, BatchRow)] = &[
    (1 << 20, BatchRow { run: 4, items: 4, warps: 32, way: Way::Compact }),
    (12 << 20, BatchRow { run: 4, items: 16, warps: 16, way: Way::Compact }),
    (u64::MAX, BatchRow { run: 4, items: 16, warps: 32, way: Way::Grouped }),
];

/// Batches of elements of 4 bytes by others that cost 15 and more.
#[rustfmt::skip]
const COMPUTE_BOUND_WORDS: &[(u64, BatchRow)] = &[
    (15 << 16, BatchRow { run: 8, items: 8, warps: 16, way: Way::Alone }),
    (56 << 20, BatchRow { run: 4, items: 16, warps: 32, way: Way::Alone }),
    (128 << 20, BatchRow { run: 8, items: 32, warps: 32, way: Way::Alone }),
    (u64::MAX, BatchRow { run: 8, items: 32, warps: 32, way: Way::Grouped }),
];

#[rustfmt::skip]
pub(super) const ROWS: RowTables = RowTables {
    reduce_any: 64 << 10,
    one_by_one: 90,
    block_any: 8,
    // Twice as much in half of the warps is faster from 12 bytes on, and slower for structs of 8.
    // These are also for what is read of items that become something else.
    reduce_law: &[
        ReduceRow { element: 1, run: 16, bytes: 64, warps: 32 },
        ReduceRow { element: 2, run: 32, bytes: 64, warps: 32 },
        ReduceRow { element: 4, run: 16, bytes: 128, warps: 32 },
        ReduceRow { element: 8, run: 32, bytes: 64, warps: 32 },
        ReduceRow { element: 12, run: 16, bytes: 192, warps: 16 },
        ReduceRow { element: 16, run: 32, bytes: 128, warps: 16 },
        ReduceRow { element: 24, run: 16, bytes: 192, warps: 16 },
        ReduceRow { element: 28, run: 16, bytes: 112, warps: 16 },
        ReduceRow { element: 32, run: 16, bytes: 128, warps: 16 },
        ReduceRow { element: 40, run: 16, bytes: 160, warps: 16 },
        ReduceRow { element: 64, run: 16, bytes: 256, warps: 8 },
    ],
    block_reduce: &[
        BlockRow { accumulator: 4, costs_less: 90, run: 8, warps: 16 },
        BlockRow { accumulator: 8, costs_less: 90, run: 4, warps: 32 },
        BlockRow { accumulator: 16, costs_less: 90, run: 4, warps: 16 },
        BlockRow { accumulator: 16, costs_less: u32::MAX, run: 2, warps: 16 },
        BlockRow { accumulator: 28, costs_less: u32::MAX, run: 2, warps: 16 },
        BlockRow { accumulator: 32, costs_less: u32::MAX, run: 2, warps: 8 },
        BlockRow { accumulator: 64, costs_less: u32::MAX, run: 1, warps: 8 },
    ],
    block_scan: &[
        BlockRow { accumulator: 2, costs_less: u32::MAX, run: 8, warps: 16 },
        BlockRow { accumulator: 4, costs_less: 90, run: 4, warps: 16 },
        BlockRow { accumulator: 12, costs_less: u32::MAX, run: 4, warps: 8 },
        BlockRow { accumulator: 16, costs_less: 90, run: 2, warps: 16 },
        BlockRow { accumulator: 16, costs_less: u32::MAX, run: 2, warps: 8 },
        BlockRow { accumulator: 20, costs_less: u32::MAX, run: 4, warps: 4 },
        BlockRow { accumulator: 24, costs_less: u32::MAX, run: 2, warps: 4 },
        BlockRow { accumulator: 28, costs_less: u32::MAX, run: 4, warps: 4 },
        BlockRow { accumulator: 40, costs_less: u32::MAX, run: 2, warps: 4 },
    ],
    // Short inputs have small batches, so that there are enough of them for all multiprocessors,
    // unless one block is enough. The longer an input is, the larger they are, until half of the
    // warps have twice the registers. In long inputs of 16 bytes, code with loops folds them.
    // Elements of 20 bytes have runs of whole words of 16 bytes.
    reduce_ranges: &[
        RangeRow {
            element: 1, shifted: ANY, from: 32 << 10, to: 5 << 18, run: 32, bytes: 32, warps: 16,
            way: ALONE,
        },
        RangeRow {
            element: 1, shifted: ANY, from: 16 << 20, to: u64::MAX, run: 32, bytes: 128, warps: 16,
            way: ALONE,
        },
        RangeRow {
            element: 2, shifted: ANY, from: 32 << 10, to: 3 << 18, run: 16, bytes: 32, warps: 16,
            way: ALONE,
        },
        RangeRow {
            element: 2, shifted: ANY, from: 128 << 20, to: u64::MAX, run: 32, bytes: 128, warps: 16,
            way: Way::Grouped,
        },
        RangeRow {
            element: 4, shifted: ANY, from: 64 << 10, to: 7 << 17, run: 16, bytes: 32, warps: 32,
            way: ALONE,
        },
        RangeRow {
            element: 4, shifted: ANY, from: 7 << 17, to: 10 << 20, run: 32, bytes: 128, warps: 32,
            way: ALONE,
        },
        RangeRow {
            element: 4, shifted: NO, from: 10 << 20, to: 56 << 20, run: 16, bytes: 128, warps: 16,
            way: ALONE,
        },
        RangeRow {
            element: 4, shifted: YES, from: 10 << 20, to: u64::MAX, run: 32, bytes: 128, warps: 16,
            way: ALONE,
        },
        RangeRow {
            element: 4, shifted: NO, from: 56 << 20, to: u64::MAX, run: 32, bytes: 128, warps: 32,
            way: ALONE,
        },
        RangeRow {
            element: 8, shifted: ANY, from: 32 << 10, to: 3 << 19, run: 16, bytes: 64, warps: 32,
            way: ALONE,
        },
        RangeRow {
            element: 8, shifted: ANY, from: 3 << 19, to: 48 << 20, run: 32, bytes: 128, warps: 16,
            way: ALONE,
        },
        RangeRow {
            element: 8, shifted: NO, from: 48 << 20, to: u64::MAX, run: 32, bytes: 256, warps: 16,
            way: ALONE,
        },
        RangeRow {
            element: 12, shifted: ANY, from: 96 << 10, to: 1 << 20, run: 16, bytes: 96, warps: 32,
            way: ALONE,
        },
        RangeRow {
            element: 16, shifted: ANY, from: 128 << 20, to: u64::MAX, run: 32, bytes: 256,
            warps: 16, way: Way::Compact,
        },
        RangeRow {
            element: 20, shifted: ANY, from: 0, to: u64::MAX, run: 80, bytes: 160, warps: 16,
            way: ALONE,
        },
        RangeRow {
            element: 28, shifted: NO, from: 128 << 20, to: u64::MAX, run: 56, bytes: 224,
            warps: 16, way: ALONE,
        },
        RangeRow {
            element: 32, shifted: NO, from: 128 << 20, to: u64::MAX, run: 64, bytes: 256,
            warps: 16, way: Way::Compact,
        },
        RangeRow {
            element: 40, shifted: ANY, from: 40 << 10, to: 3 << 20, run: 16, bytes: 80, warps: 16,
            way: ALONE,
        },
    ],
    chunks: &[
        (4, ReducePolicy {
            most_threads: 1024, alone: 16, blocks: 2, chunks: 4096,
            sums_any: 4, sums_law: 4, group_bytes: 128 << 20,
        }),
        (8, ReducePolicy {
            most_threads: 1024, alone: 16, blocks: 2, chunks: 4096,
            sums_any: 4, sums_law: 4, group_bytes: 128 << 20,
        }),
        (16, ReducePolicy {
            most_threads: 1024, alone: 16, blocks: 2, chunks: 2048,
            sums_any: 1, sums_law: 2, group_bytes: 128 << 20,
        }),
        (24, ReducePolicy {
            most_threads: 1024, alone: 16, blocks: 2, chunks: 1024,
            sums_any: 1, sums_law: 1, group_bytes: 128 << 20,
        }),
        (40, ReducePolicy {
            most_threads: 512, alone: 8, blocks: 1, chunks: 1024,
            sums_any: 1, sums_law: 1, group_bytes: 128 << 20,
        }),
        (64, ReducePolicy {
            most_threads: 256, alone: 8, blocks: 1, chunks: 1024,
            sums_any: 1, sums_law: 1, group_bytes: 128 << 20,
        }),
    ],
    scan: &[
        ScanRow {
            accumulator: 1, short: 4, long: 8, batch: 4, blocks: 2, warps: [16, 8], sums: 4,
            one_block: &[],
            held: &[
                HeldRow { bytes: 64, batch: 64, warps: 16, blocks: 1 },
                HeldRow { bytes: 64, batch: 64, warps: 4, blocks: 5 },
                HeldRow { bytes: 128, batch: 32, warps: 4, blocks: 5 },
                HeldRow { bytes: 128, batch: 32, warps: 4, blocks: 6 },
            ],
        },
        ScanRow {
            accumulator: 2, short: 4, long: 8, batch: 4, blocks: 2, warps: [16, 8], sums: 4,
            one_block: &[HeldRow { bytes: 128, batch: 128, warps: 8, blocks: 1 }],
            held: &[
                HeldRow { bytes: 128, batch: 128, warps: 4, blocks: 4 },
                HeldRow { bytes: 128, batch: 128, warps: 4, blocks: 5 },
                HeldRow { bytes: 128, batch: 64, warps: 4, blocks: 6 },
            ],
        },
        ScanRow {
            accumulator: 4, short: 4, long: 8, batch: 4, blocks: 2, warps: [16, 8], sums: 4,
            one_block: &[HeldRow { bytes: 128, batch: 128, warps: 8, blocks: 1 }],
            held: &[
                HeldRow { bytes: 128, batch: 128, warps: 4, blocks: 4 },
                HeldRow { bytes: 128, batch: 128, warps: 4, blocks: 5 },
                HeldRow { bytes: 128, batch: 128, warps: 4, blocks: 6 },
                HeldRow { bytes: 256, batch: 256, warps: 4, blocks: 4 },
            ],
        },
        ScanRow {
            accumulator: 8, short: 4, long: 8, batch: 2, blocks: 1, warps: [16, 16], sums: 4,
            one_block: &[
                HeldRow { bytes: 128, batch: 128, warps: 8, blocks: 1 },
                HeldRow { bytes: 128, batch: 32, warps: 16, blocks: 1 },
            ],
            held: &[
                HeldRow { bytes: 128, batch: 128, warps: 4, blocks: 5 },
                HeldRow { bytes: 128, batch: 128, warps: 4, blocks: 6 },
                HeldRow { bytes: 256, batch: 256, warps: 4, blocks: 4 },
            ],
        },
        ScanRow {
            accumulator: 12, short: 2, long: 4, batch: 4, blocks: 2, warps: [8, 8], sums: 2,
            one_block: &[],
            held: &[
                HeldRow { bytes: 192, batch: 192, warps: 8, blocks: 2 },
                HeldRow { bytes: 192, batch: 192, warps: 4, blocks: 5 },
            ],
        },
        ScanRow {
            accumulator: 16, short: 2, long: 8, batch: 8, blocks: 2, warps: [8, 8], sums: 2,
            one_block: &[],
            held: &[
                HeldRow { bytes: 128, batch: 128, warps: 4, blocks: 6 },
                HeldRow { bytes: 256, batch: 256, warps: 4, blocks: 4 },
            ],
        },
        ScanRow {
            accumulator: 32, short: 2, long: 2, batch: 2, blocks: 1, warps: [8, 8], sums: 1,
            one_block: &[],
            held: &[],
        },
        ScanRow {
            accumulator: 64, short: 1, long: 1, batch: 1, blocks: 1, warps: [8, 8], sums: 1,
            one_block: &[],
            held: &[HeldRow { bytes: 128, batch: 64, warps: 8, blocks: 1 }],
        },
    ],
    // From 90 on: as ln(e^a + e^b) and softmax in f32 and f64. Their code is long: short inputs
    // wait for instructions, and the first call for the compiler.
    compute_bound_reduce: &[
        ComputeBoundReduceRow {
            accumulator: 1, read: 0, least: 90, sums: ONE_SUM, others: Way::Grouped,
            batches: SLOWEST_WORDS,
        },
        // Long inputs of bytes wait for three instructions an item already. Shorter ones have the
        // batches of cheap operators.
        ComputeBoundReduceRow {
            accumulator: 1, read: 0, least: 3, sums: None, others: Way::Alone,
            batches: &[
                (32 << 10, BatchRow { run: 16, items: 64, warps: 32, way: Way::Alone }),
                (5 << 18, BatchRow { run: 32, items: 32, warps: 16, way: Way::Alone }),
                (16 << 20, BatchRow { run: 16, items: 64, warps: 32, way: Way::Alone }),
                (64 << 20, BatchRow { run: 32, items: 128, warps: 16, way: Way::Alone }),
                (u64::MAX, BatchRow { run: 32, items: 128, warps: 32, way: Way::Grouped }),
            ],
        },
        ComputeBoundReduceRow {
            accumulator: 2, read: 0, least: 90, sums: ONE_SUM, others: Way::Grouped,
            batches: SLOWEST_WORDS,
        },
        ComputeBoundReduceRow {
            accumulator: 4, read: 4, least: 90, sums: ONE_SUM, others: Way::Grouped,
            batches: SLOWEST_WORDS,
        },
        ComputeBoundReduceRow {
            accumulator: 4, read: 4, least: 15, sums: None, others: Way::Grouped,
            batches: COMPUTE_BOUND_WORDS,
        },
        ComputeBoundReduceRow {
            accumulator: 4, read: 0, least: 90, sums: ONE_SUM, others: Way::Grouped,
            batches: SLOWEST_WORDS,
        },
        ComputeBoundReduceRow {
            accumulator: 4, read: 0, least: 32, sums: None, others: Way::Grouped,
            batches: COMPUTE_BOUND_WORDS,
        },
        ComputeBoundReduceRow {
            accumulator: 8, read: 0, least: 90, sums: ONE_SUM, others: Way::Grouped,
            batches: &[
                (1 << 20, BatchRow { run: 4, items: 4, warps: 32, way: Way::Compact }),
                (24 << 20, BatchRow { run: 4, items: 16, warps: 16, way: Way::Compact }),
                (u64::MAX, BatchRow { run: 4, items: 8, warps: 32, way: Way::Grouped }),
            ],
        },
        ComputeBoundReduceRow {
            accumulator: 8, read: 0, least: 48, sums: None, others: Way::Grouped,
            batches: &[
                (1 << 20, BatchRow { run: 4, items: 4, warps: 16, way: Way::Alone }),
                (2 << 20, BatchRow { run: 4, items: 8, warps: 16, way: Way::Alone }),
                (56 << 20, BatchRow { run: 4, items: 16, warps: 16, way: Way::Alone }),
                (256 << 20, BatchRow { run: 4, items: 8, warps: 32, way: Way::Grouped }),
                (u64::MAX, BatchRow { run: 4, items: 16, warps: 32, way: Way::Grouped }),
            ],
        },
        ComputeBoundReduceRow {
            accumulator: 8, read: 0, least: 15, sums: None, others: Way::Alone,
            batches: &[
                (2 << 20, BatchRow { run: 2, items: 4, warps: 16, way: Way::Alone }),
                (84 << 20, BatchRow { run: 4, items: 8, warps: 32, way: Way::Alone }),
                (u64::MAX, BatchRow { run: 4, items: 16, warps: 32, way: Way::Compact }),
            ],
        },
        ComputeBoundReduceRow {
            accumulator: 12, read: 0, least: 90, sums: ONE_SUM, others: Way::Grouped,
            batches: &[
                (24 << 10, BatchRow { run: 4, items: 4, warps: 32, way: Way::Alone }),
                (40 << 20, BatchRow { run: 4, items: 8, warps: 16, way: Way::Compact }),
                (u64::MAX, BatchRow { run: 4, items: 8, warps: 16, way: Way::Grouped }),
            ],
        },
        ComputeBoundReduceRow {
            accumulator: 12, read: 0, least: 20, sums: None, others: Way::Grouped,
            batches: &[
                (1 << 20, BatchRow { run: 4, items: 4, warps: 32, way: Way::Alone }),
                (30 << 20, BatchRow { run: 4, items: 8, warps: 16, way: Way::Alone }),
                (128 << 20, BatchRow { run: 4, items: 16, warps: 16, way: Way::Alone }),
                (u64::MAX, BatchRow { run: 4, items: 16, warps: 16, way: Way::Grouped }),
            ],
        },
        ComputeBoundReduceRow {
            accumulator: 16, read: 16, least: 90, sums: ONE_SUM, others: Way::Grouped,
            batches: &[
                (1 << 20, BatchRow { run: 2, items: 4, warps: 16, way: Way::Compact }),
                (48 << 20, BatchRow { run: 2, items: 8, warps: 16, way: Way::Compact }),
                (u64::MAX, BatchRow { run: 2, items: 8, warps: 16, way: Way::Grouped }),
            ],
        },
        ComputeBoundReduceRow {
            accumulator: 16, read: 16, least: 48, sums: None, others: Way::Grouped,
            batches: &[
                (32 << 20, BatchRow { run: 2, items: 4, warps: 16, way: Way::Grouped }),
                (u64::MAX, BatchRow { run: 2, items: 8, warps: 16, way: Way::Grouped }),
            ],
        },
        ComputeBoundReduceRow {
            accumulator: 16, read: 16, least: 26, sums: None, others: Way::Alone,
            batches: &[
                (2 << 20, BatchRow { run: 1, items: 2, warps: 16, way: Way::Alone }),
                (76 << 20, BatchRow { run: 2, items: 8, warps: 16, way: Way::Alone }),
                (u64::MAX, BatchRow { run: 2, items: 16, warps: 16, way: Way::Alone }),
            ],
        },
        ComputeBoundReduceRow {
            accumulator: 24, read: 17, least: 24, sums: None, others: Way::Grouped,
            batches: &[
                (3 << 20, BatchRow { run: 2, items: 4, warps: 8, way: Way::Alone }),
                (128 << 20, BatchRow { run: 2, items: 8, warps: 16, way: Way::Alone }),
                (u64::MAX, BatchRow { run: 2, items: 8, warps: 16, way: Way::Grouped }),
            ],
        },
        ComputeBoundReduceRow {
            accumulator: 24, read: 0, least: 24, sums: None, others: Way::Alone,
            batches: &[(32 << 20, BatchRow { run: 2, items: 8, warps: 16, way: Way::Alone })],
        },
        ComputeBoundReduceRow {
            accumulator: 32, read: 29, least: 40, sums: None, others: Way::Compact,
            batches: &[
                (5 << 19, BatchRow { run: 1, items: 2, warps: 16, way: Way::Alone }),
                (6 << 20, BatchRow { run: 2, items: 8, warps: 8, way: Way::Alone }),
                (u64::MAX, BatchRow { run: 2, items: 8, warps: 16, way: Way::Compact }),
            ],
        },
        ComputeBoundReduceRow {
            accumulator: 40, read: 33, least: 40, sums: None, others: Way::Alone,
            batches: &[
                (4 << 20, BatchRow { run: 1, items: 4, warps: 16, way: Way::Compact }),
                (128 << 20, BatchRow { run: 1, items: 4, warps: 16, way: Way::Alone }),
                (u64::MAX, BatchRow { run: 1, items: 4, warps: 16, way: Way::Grouped }),
            ],
        },
        ComputeBoundReduceRow {
            accumulator: u32::MAX, read: 0, least: 40, sums: None, others: Way::Compact,
            batches: &[],
        },
    ],
    compute_bound_scan: &[
        // Short integers lie in words. Up to some cost, taking them out of words is what counts:
        // waves do less of that.
        ComputeBoundScanRow {
            accumulator: 1, from: &[(20, 81_920)],
            alone: 48,
            short_rows: &[(1, u32::MAX), (2, u32::MAX)], short_warps: 16,
            middle: &[
                (17_000, u32::MAX, ShareRow { share: 32, warps: 8, blocks: 6, bytes: 64 }),
                (40_000, u32::MAX, ShareRow { share: 64, warps: 16, blocks: 2, bytes: 64 }),
                (200_000, u32::MAX, ShareRow { share: 256, warps: 8, blocks: 2, bytes: 32 }),
            ],
            long: ShareRow { share: 128, warps: 8, blocks: 5, bytes: 64 },
        },
        ComputeBoundScanRow {
            accumulator: 2, from: &[(22, 32_768)],
            alone: 48,
            short_rows: &[(1, u32::MAX), (2, u32::MAX), (4, u32::MAX)], short_warps: 16,
            middle: &[
                (17_000, u32::MAX, ShareRow { share: 16, warps: 8, blocks: 6, bytes: 64 }),
                (65_536, u32::MAX, ShareRow { share: 32, warps: 8, blocks: 6, bytes: 64 }),
            ],
            long: ShareRow { share: 64, warps: 8, blocks: 5, bytes: 64 },
        },
        ComputeBoundScanRow {
            // As many blocks as make the fewest rounds. Compute-bound operators need more at once.
            accumulator: 4, from: &[(14, 150_000), (20, 80_000), (30, 24_576)],
            alone: 48,
            short_rows: &[(1, u32::MAX), (2, u32::MAX), (4, u32::MAX)], short_warps: 16,
            middle: &[
                (17_000, u32::MAX, ShareRow { share: 16, warps: 8, blocks: 6, bytes: 128 }),
                (24_000, 89, ShareRow { share: 32, warps: 8, blocks: 6, bytes: 32 }),
                (24_000, u32::MAX, ShareRow { share: 16, warps: 8, blocks: 6, bytes: 128 }),
                (32_768, 89, ShareRow { share: 32, warps: 8, blocks: 3, bytes: 32 }),
                (32_768, u32::MAX, ShareRow { share: 32, warps: 8, blocks: 4, bytes: 128 }),
                (40_960, u32::MAX, ShareRow { share: 32, warps: 8, blocks: 5, bytes: 128 }),
                (52_000, u32::MAX, ShareRow { share: 64, warps: 8, blocks: 2, bytes: 32 }),
                (65_536, u32::MAX, ShareRow { share: 32, warps: 8, blocks: 4, bytes: 128 }),
            ],
            long: ShareRow { share: 32, warps: 8, blocks: 5, bytes: 128 },
        },
        ComputeBoundScanRow {
            accumulator: 8, from: &[(14, 49_000), (20, 10_240)],
            alone: 48,
            short_rows: &[(2, u32::MAX), (4, 150)], short_warps: 16,
            middle: &[
                (5_300, u32::MAX, ShareRow { share: 8, warps: 8, blocks: 5, bytes: 128 }),
                (12_000, u32::MAX, ShareRow { share: 16, warps: 8, blocks: 4, bytes: 128 }),
                (17_000, 89, ShareRow { share: 16, warps: 8, blocks: 3, bytes: 32 }),
                (17_000, u32::MAX, ShareRow { share: 16, warps: 8, blocks: 4, bytes: 128 }),
                (24_000, 89, ShareRow { share: 32, warps: 8, blocks: 2, bytes: 32 }),
                (24_000, u32::MAX, ShareRow { share: 32, warps: 8, blocks: 3, bytes: 128 }),
                (91_000, u32::MAX, ShareRow { share: 16, warps: 8, blocks: 4, bytes: 128 }),
            ],
            long: ShareRow { share: 32, warps: 8, blocks: 3, bytes: 128 },
        },
        ComputeBoundScanRow {
            accumulator: 12, from: &[(24, 10_240)],
            alone: 48, short_rows: &[(2, u32::MAX)], short_warps: 8,
            middle: &[
                (5_300, u32::MAX, ShareRow { share: 8, warps: 8, blocks: 5, bytes: 128 }),
                (17_000, u32::MAX, ShareRow { share: 32, warps: 4, blocks: 3, bytes: 128 }),
                (24_000, u32::MAX, ShareRow { share: 16, warps: 8, blocks: 3, bytes: 128 }),
            ],
            long: ShareRow { share: 16, warps: 8, blocks: 4, bytes: 128 },
        },
        ComputeBoundScanRow {
            accumulator: 16, from: &[(16, 100_000), (20, 6_144)],
            alone: 48, short_rows: &[(2, u32::MAX)], short_warps: 8,
            middle: &[(40_000, u32::MAX, ShareRow { share: 8, warps: 8, blocks: 4, bytes: 128 })],
            long: ShareRow { share: 16, warps: 8, blocks: 3, bytes: 128 },
        },
        ComputeBoundScanRow {
            accumulator: 24, from: &[],
            alone: 25, short_rows: &[(2, u32::MAX)], short_warps: 8,
            middle: &[(24_000, u32::MAX, ShareRow { share: 16, warps: 4, blocks: 3, bytes: 128 })],
            long: ShareRow { share: 8, warps: 8, blocks: 3, bytes: 128 },
        },
        ComputeBoundScanRow {
            accumulator: 28, from: &[],
            alone: 24, short_rows: &[(2, u32::MAX)], short_warps: 8,
            middle: &[(16_000, u32::MAX, ShareRow { share: 8, warps: 8, blocks: 2, bytes: 128 })],
            long: ShareRow { share: 8, warps: 8, blocks: 3, bytes: 128 },
        },
        ComputeBoundScanRow {
            accumulator: 32, from: &[],
            alone: 16, short_rows: &[(2, u32::MAX)], short_warps: 8,
            middle: &[(16_000, u32::MAX, ShareRow { share: 8, warps: 8, blocks: 2, bytes: 128 })],
            long: ShareRow { share: 8, warps: 8, blocks: 3, bytes: 128 },
        },
        ComputeBoundScanRow {
            accumulator: 40, from: &[],
            alone: 24, short_rows: &[(2, u32::MAX)], short_warps: 8,
            middle: &[(24_000, u32::MAX, ShareRow { share: 8, warps: 8, blocks: 2, bytes: 128 })],
            long: ShareRow { share: 8, warps: 4, blocks: 4, bytes: 128 },
        },
    ],
};
