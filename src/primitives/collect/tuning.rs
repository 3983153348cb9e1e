//! What warps hold of what is stored.
//!
//! Measured: an NVIDIA H200, 2026-11-24, `cargo bench --bench gpu -- collect`, by hand, and no
//! number alone.

use crate::engine::tuning::{Tables, choose};
use crate::engine::{RowPolicy, bytes_read};
use crate::source::Form;

/// What warps hold of what is stored as it is.
#[derive(Debug)]
struct CollectRow {
    /// The most bytes of a lane.
    bytes: u32,
    /// Blocks of a multiprocessor.
    blocks: u32,
    /// The warps of a block.
    warps: u32,
}

/// By compute capability, from which on each holds.
const ROWS: &Tables<CollectRow> = &[(
    90,
    &CollectRow {
        bytes: 64,
        blocks: 4,
        warps: 8,
    },
)];

impl RowPolicy {
    /// The policy for storing the items of a form on GPUs of a compute capability.
    pub fn for_collect<F: Form>(capability: u32) -> RowPolicy {
        let row = choose(ROWS, capability);
        let run = RowPolicy::run_of_scan(F::LEAVES, size_of::<F::Item>());
        let size = bytes_read(F::LEAVES, size_of::<F::Item>()).max(size_of::<F::Item>() as u32);
        let rows = 1 << (row.bytes / (run * size)).clamp(1, 32).ilog2();
        RowPolicy {
            blocks: row.blocks,
            ..RowPolicy::in_one_batch(run, rows, row.warps)
        }
    }
}
