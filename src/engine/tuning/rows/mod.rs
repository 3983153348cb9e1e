//! The rows engine.
//!
//! Measured: an NVIDIA H200, 2026-11-28, `cargo bench --bench gpu -- scan`, by hand.

mod sm_90;

use super::{Tables, choose};
use crate::engine::{ReducePolicy, Way};

/// What the rows engine does on GPUs of an architecture.
#[derive(Debug)]
pub(in crate::engine) struct RowTables {
    /// The bytes that the warps of a multiprocessor read at once, of a reduction in any order.
    pub(in crate::engine) reduce_any: u32,
    /// The least cost of an operator by which such a reduction folds elements one by one.
    pub(in crate::engine) one_by_one: u32,
    /// The largest accumulator, in bytes, that one block folds in any order.
    pub(in crate::engine) block_any: u32,
    /// Reductions in the law's order, by what is read for an element.
    pub(in crate::engine) reduce_law: &'static [ReduceRow],
    /// Those of them that are better off with another row at some lengths.
    pub(in crate::engine) reduce_ranges: &'static [RangeRow],
    /// Reductions by one block: the first row that fits.
    pub(in crate::engine) block_reduce: &'static [BlockRow],
    /// Scans by one block, likewise.
    pub(in crate::engine) block_scan: &'static [BlockRow],
    /// How reductions are cut up, by the size of what is folded: (largest accumulator in bytes,
    /// policy).
    pub(in crate::engine) chunks: &'static [(u32, ReducePolicy)],
    /// Scans, by the size of what is folded.
    pub(in crate::engine) scan: &'static [ScanRow],
    /// Reductions that are bound by computing, by the size of what is folded.
    pub(in crate::engine) compute_bound_reduce: &'static [ComputeBoundReduceRow],
    /// Scans that are bound by computing, likewise. Larger accumulators have no other way.
    pub(in crate::engine) compute_bound_scan: &'static [ComputeBoundScanRow],
}

/// What warps hold of a reduction.
#[derive(Debug)]
pub(in crate::engine) struct ReduceRow {
    /// The largest element, in bytes.
    pub(in crate::engine) element: u32,
    /// The most bytes of a run, unless the usual one is longer. In longer runs a lane combines more
    /// by itself, and less over lanes.
    pub(in crate::engine) run: u32,
    /// The bytes that a lane holds of a batch.
    pub(in crate::engine) bytes: u32,
    /// The most warps of a block.
    pub(in crate::engine) warps: u32,
}

/// What the block engine holds of a short input.
#[derive(Debug)]
pub(in crate::engine) struct BlockRow {
    /// The largest accumulator, in bytes.
    pub(in crate::engine) accumulator: u32,
    /// Operators that cost less are folded so.
    pub(in crate::engine) costs_less: u32,
    /// The elements of a lane.
    pub(in crate::engine) run: u32,
    /// The most warps of the block.
    pub(in crate::engine) warps: u32,
}

/// What warps hold of a reduction of some lengths. An element may have several ranges, from short
/// ones to long ones.
#[derive(Debug)]
pub(in crate::engine) struct RangeRow {
    /// The size of an element.
    pub(in crate::engine) element: u32,
    /// Whether it is aligned to less than 4 bytes, if that matters. Unaligned runs of such elements
    /// are shifted into place. The code for that takes registers, even where runs are aligned.
    pub(in crate::engine) shifted: Option<bool>,
    /// All of them have more bytes than this,
    pub(in crate::engine) from: u64,
    /// and at most so many.
    pub(in crate::engine) to: u64,
    /// The most bytes of a run, unless the usual one is longer.
    pub(in crate::engine) run: u32,
    /// The bytes that a lane holds of a batch.
    pub(in crate::engine) bytes: u32,
    /// The most warps of a block.
    pub(in crate::engine) warps: u32,
    /// How batches are folded.
    pub(in crate::engine) way: Way,
}

/// By operators of fewer instructions, scans of one block a multiprocessor take less time with few
/// warps that hold much; by others, with many that hold less.
pub(in crate::engine) const CHEAP: u32 = 20;

/// What warps hold of a scan.
#[derive(Debug)]
pub(in crate::engine) struct ScanRow {
    /// The largest accumulator, in bytes.
    pub(in crate::engine) accumulator: u32,
    /// The rows for short inputs.
    pub(in crate::engine) short: u32,
    /// The rows for long inputs,
    pub(in crate::engine) long: u32,
    /// of which so many keep their trees at a time,
    pub(in crate::engine) batch: u32,
    /// in so many blocks of a multiprocessor.
    pub(in crate::engine) blocks: u32,
    /// The most warps of a block: for short inputs, and for long ones.
    pub(in crate::engine) warps: [u32; 2],
    /// How many sums a lane of the look-back reads at once.
    pub(in crate::engine) sums: u32,
    /// For operators below [`CHEAP`], while one block per multiprocessor holds all. If the first of
    /// these has more rows than short inputs have, blocks for short inputs get its number of warps.
    pub(in crate::engine) one_block: &'static [HeldRow],
    /// For what is between, as long as the GPU holds it at once: from those that hold little to
    /// those that hold much.
    pub(in crate::engine) held: &'static [HeldRow],
}

/// What warps hold of a scan that the GPU holds at once.
#[derive(Debug)]
pub(in crate::engine) struct HeldRow {
    /// The bytes of a lane,
    pub(in crate::engine) bytes: u32,
    /// of which so many keep their trees at a time.
    pub(in crate::engine) batch: u32,
    /// The warps of a block.
    pub(in crate::engine) warps: u32,
    /// Blocks of a multiprocessor.
    pub(in crate::engine) blocks: u32,
}

/// What warps hold of a reduction where the arithmetic takes longer than the memory. Short inputs
/// have few rows, so that many warps share the work, and long ones mostly batches in groups.
///
/// Of the rows for one size, those for the costliest operators come first.
#[derive(Debug)]
pub(in crate::engine) struct ComputeBoundReduceRow {
    /// The largest accumulator, in bytes.
    pub(in crate::engine) accumulator: u32,
    /// The fewest bytes that are read of an item. Where they are much fewer than the accumulator
    /// has, as for moments, long inputs wait for memory all the same.
    pub(in crate::engine) read: u32,
    /// The least [`cost`](crate::operator::cost) of an operator that is bound by computing.
    pub(in crate::engine) least: u32,
    /// How many sums a lane reads at once, if not as by cheap operators.
    pub(in crate::engine) sums: Option<u32>,
    /// Each for inputs whose items have up to so many bytes together.
    pub(in crate::engine) batches: &'static [(u64, BatchRow)],
    /// How longer inputs are folded, in batches as those of cheap operators.
    pub(in crate::engine) others: Way,
}

/// A warp's batch.
#[derive(Debug)]
pub(in crate::engine) struct BatchRow {
    /// The fewest items of a run, unless the usual one has more.
    pub(in crate::engine) run: u32,
    /// The items of a lane.
    pub(in crate::engine) items: u32,
    /// The most warps of a block.
    pub(in crate::engine) warps: u32,
    pub(in crate::engine) way: Way,
}

/// The shares engine, for scans where the arithmetic takes longer than the memory.
#[derive(Debug)]
pub(in crate::engine) struct ComputeBoundScanRow {
    /// The largest accumulator, in bytes.
    pub(in crate::engine) accumulator: u32,
    /// The fewest items of a multiprocessor for which it is faster, each for operators of at least
    /// some [`cost`](crate::operator::cost), from the cheapest to the costliest. Where that is just
    /// what a multiprocessor [holds](ScanRow::held) at once, no other kernel is needed between.
    pub(in crate::engine) from: &'static [(u32, u64)],
    /// The least cost of an operator for which it is always faster, but for short inputs.
    pub(in crate::engine) alone: u32,
    /// The rows of short inputs, each for operators of up to some cost, and the most warps of a
    /// block. These the rows engine takes, with the first of these numbers of rows for which the
    /// GPU holds all at once.
    pub(in crate::engine) short_rows: &'static [(u32, u32)],
    pub(in crate::engine) short_warps: u32,
    /// The tiles of longer inputs: smaller ones, so that more blocks share the work. Each is for up
    /// to so many items a multiprocessor, and operators of up to some cost.
    pub(in crate::engine) middle: &'static [(u64, u32, ShareRow)],
    /// The tiles of all others.
    pub(in crate::engine) long: ShareRow,
}

/// A tile of the shares engine.
#[derive(Debug)]
pub(in crate::engine) struct ShareRow {
    /// The items of a lane.
    pub(in crate::engine) share: u32,
    /// The warps of a block.
    pub(in crate::engine) warps: u32,
    /// Blocks of a multiprocessor.
    pub(in crate::engine) blocks: u32,
    /// The bytes that a lane loads at a time.
    pub(in crate::engine) bytes: u32,
}

const TABLES: &Tables<RowTables> = &[(90, &sm_90::ROWS)];

/// The tables for GPUs of a compute capability.
pub(in crate::engine) fn tables(capability: u32) -> &'static RowTables {
    choose(TABLES, capability)
}

/// Whether GPUs of a compute capability have tables of their own.
pub(in crate::engine) fn has_table(capability: u32) -> bool {
    TABLES.iter().any(|(from, _)| *from == capability)
}
