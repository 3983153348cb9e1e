//! What warps hold of a histogram, and how it is cut up.
//!
//! Measured: an NVIDIA H200, 2026-11-25, `cargo bench --bench gpu -- histogram`, by hand, and no
//! number alone.

use super::plan::HistogramPolicy;
use crate::engine::tuning::{Tables, choose};
use crate::engine::{RowPolicy, bytes_read};
use crate::source::Form;

/// What warps hold of a histogram.
#[derive(Debug)]
struct HistogramRow {
    /// The most bytes of a lane.
    bytes: u32,
    /// The most rows.
    rows: u32,
    /// Blocks of a multiprocessor, which share its memory for counters.
    blocks: u32,
    /// The most warps of a block.
    warps: u32,
    /// How it is cut up.
    cut: HistogramPolicy,
}

/// By compute capability, from which on each holds.
const ROWS: &Tables<HistogramRow> = &[(
    90,
    &HistogramRow {
        bytes: 64,
        rows: 4,
        blocks: 1,
        warps: 32,
        cut: HistogramPolicy {
            alone: 16_384,
            alone_counters: 16_384,
            fewest_warps: 8,
            items_a_counter: 4,
            items_a_narrow_counter: 32,
            adds_an_item: 64,
            log_copies: 5,
            log_slots: 14,
        },
    },
)];

/// The blocks of a multiprocessor that store places.
pub(super) const PLACING_BLOCKS: u32 = 2;

/// How many items a cache counts for each slot before it is emptied, if all items are in it. What
/// comes often may change from part to part.
pub(super) const ITEMS_A_SLOT: u64 = 8;

/// The threads of a block that clears counts.
pub(super) const CLEARING_THREADS: u32 = 256;

impl RowPolicy {
    /// The policy of a histogram of a form on GPUs of a compute capability: how many bytes its
    /// warps have under way. A block's counters may take all shared memory of a multiprocessor.
    pub fn for_histogram<F: Form>(capability: u32) -> RowPolicy {
        let row = choose(ROWS, capability);
        let run = RowPolicy::run_of(F::LEAVES);
        let rows = 1
            << (row.bytes / (run * bytes_read(F::LEAVES, size_of::<F::Item>())))
                .clamp(1, row.rows)
                .ilog2();
        RowPolicy {
            blocks: row.blocks,
            ..RowPolicy::in_one_batch(run, rows, row.warps)
        }
    }
}

impl HistogramPolicy {
    /// The policy on GPUs of a compute capability.
    pub fn for_capability(capability: u32) -> HistogramPolicy {
        choose(ROWS, capability).cut
    }
}
