//! How lanes are cut into chunks. One table is for all GPUs: it counts registers, rows and chunks,
//! and no bytes of a device's memory.
//!
//! Measured: an NVIDIA H200, 2026-11-28, together, by a program that called level 3 on arrays of
//! eleven shapes, which is not kept; and 2026-11-29 by `bench-gpu axes`. None was measured alone.

use super::plan::AxisPolicy;

/// What a thread holds of a lane.
#[derive(Debug)]
struct AxisRow {
    /// The largest accumulator, in bytes.
    accumulator: usize,
    /// The rows that a thread loads at once, as a power of two: some 32 bytes of them.
    log_group: u32,
    /// The most rows of a chunk, likewise. Their tree is in registers.
    log_most: u32,
}

#[rustfmt::skip]
const ROWS: &[AxisRow] = &[
    AxisRow { accumulator: 4, log_group: 3, log_most: 11 },
    AxisRow { accumulator: 8, log_group: 3, log_most: 10 },
    AxisRow { accumulator: 16, log_group: 2, log_most: 8 },
    AxisRow { accumulator: 32, log_group: 1, log_most: 6 },
    AxisRow { accumulator: usize::MAX, log_group: 0, log_most: 4 },
];

/// Lanes are cut until there are so many chunks: about as many as an H200 has threads, which keep
/// its memory busy. One number is for all GPUs.
const WANTED: u64 = 1 << 18;

impl AxisPolicy {
    /// The threads of a block, whatever the elements.
    pub const THREADS: u32 = 256;

    /// The policy for accumulators of so many bytes.
    pub(super) fn for_bytes(accumulator: usize) -> AxisPolicy {
        let row = ROWS.iter().find(|row| accumulator <= row.accumulator);
        let row = row.expect("the last row is for all");
        AxisPolicy {
            log_group: row.log_group,
            log_most: row.log_most,
            threads: AxisPolicy::THREADS,
            wanted: WANTED,
        }
    }
}
