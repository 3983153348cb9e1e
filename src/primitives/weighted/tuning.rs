//! What warps hold of weights that are sorted. The numbers are by hand, from the benchmark on an
//! NVIDIA H200; none was measured alone.

use crate::Element;
use crate::engine::RowPolicy;
use crate::engine::tuning::{Tables, choose};

/// What warps hold of weights that are sorted.
#[derive(Debug)]
struct WeightedRow {
    /// The most bytes of a lane, and the most rows.
    bytes: u32,
    rows: u32,
    /// Blocks of a multiprocessor.
    blocks: u32,
    /// The warps of a block: at least 8, for a thread for each digit.
    warps: u32,
}

/// By compute capability, from which on each holds.
const ROWS: &Tables<WeightedRow> = &[(
    90,
    &WeightedRow {
        bytes: 64,
        rows: 16,
        blocks: 4,
        warps: 8,
    },
)];

impl RowPolicy {
    /// The policy of a weighted histogram with weights of type `T` on GPUs of a compute capability:
    /// the tiles that are sorted.
    pub fn for_weights<T: Element>(capability: u32) -> RowPolicy {
        let row = choose(ROWS, capability);
        let rows = (row.bytes / size_of::<T>() as u32).clamp(1, row.rows);
        let rows = 1 << rows.ilog2();
        RowPolicy {
            blocks: row.blocks,
            ..RowPolicy::in_one_batch(1, rows, row.warps)
        }
    }
}
