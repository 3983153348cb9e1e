//! The rows engine.

mod sm_90;

use super::{Tables, choose};
use crate::codegen::{HistogramPolicy, ReducePolicy, Way};

/// What the rows engine does on GPUs of an architecture.
#[derive(Debug)]
pub(in crate::codegen) struct RowTables {
    /// The bytes that the warps of a multiprocessor read at once, of a reduction in any order.
    pub(in crate::codegen) reduce_any: u32,
    /// The least cost of an operator by which such a reduction folds elements one by one.
    pub(in crate::codegen) one_by_one: u32,
    /// The largest accumulator, in bytes, that one block folds in any order.
    pub(in crate::codegen) block_any: u32,
    /// Reductions in the law's order, by what is read for an element.
    pub(in crate::codegen) reduce_law: &'static [ReduceRow],
    /// Those of them that are better off with another row at some lengths.
    pub(in crate::codegen) reduce_ranges: &'static [RangeRow],
    /// Reductions by one block: the first row that fits.
    pub(in crate::codegen) block_reduce: &'static [BlockRow],
    /// Scans by one block, likewise.
    pub(in crate::codegen) block_scan: &'static [BlockRow],
    /// How reductions are cut up, by the size of what is folded: (largest accumulator in bytes,
    /// policy).
    pub(in crate::codegen) chunks: &'static [(u32, ReducePolicy)],
    /// Scans, by the size of what is folded.
    pub(in crate::codegen) scan: &'static [ScanRow],
    /// Reductions by costly operators, by the size of what is folded.
    pub(in crate::codegen) costly_reduce: &'static [CostlyReduceRow],
    /// Scans by costly operators, likewise. Larger accumulators have no other way.
    pub(in crate::codegen) costly_scan: &'static [CostlyScanRow],
    pub(in crate::codegen) select: SelectRow,
    /// Long selects that store positions alone.
    pub(in crate::codegen) positions: SelectRow,
    pub(in crate::codegen) collect: CollectRow,
    pub(in crate::codegen) histogram: HistogramRow,
    pub(in crate::codegen) weighted: WeightedRow,
}

/// What warps hold of a reduction.
#[derive(Debug)]
pub(in crate::codegen) struct ReduceRow {
    /// The largest element, in bytes.
    pub(in crate::codegen) element: u32,
    /// The most bytes of a run, unless the usual one is longer. In longer runs a lane combines more
    /// by itself, and less over lanes.
    pub(in crate::codegen) run: u32,
    /// The bytes that a lane holds of a batch.
    pub(in crate::codegen) bytes: u32,
    /// The most warps of a block.
    pub(in crate::codegen) warps: u32,
}

/// What the block engine holds of a short input.
#[derive(Debug)]
pub(in crate::codegen) struct BlockRow {
    /// The largest accumulator, in bytes.
    pub(in crate::codegen) accumulator: u32,
    /// Operators that cost less are folded so.
    pub(in crate::codegen) costs_less: u32,
    /// The elements of a lane.
    pub(in crate::codegen) run: u32,
    /// The most warps of the block.
    pub(in crate::codegen) warps: u32,
}

/// What warps hold of a reduction of some lengths. An element may have several ranges, from short
/// ones to long ones.
#[derive(Debug)]
pub(in crate::codegen) struct RangeRow {
    /// The size of an element.
    pub(in crate::codegen) element: u32,
    /// Whether it is aligned to less than 4 bytes, if that matters. Unaligned runs of such elements
    /// are shifted into place. The code for that takes registers, even where runs are aligned.
    pub(in crate::codegen) shifted: Option<bool>,
    /// All of them have more bytes than this,
    pub(in crate::codegen) from: u64,
    /// and at most so many.
    pub(in crate::codegen) to: u64,
    /// The most bytes of a run, unless the usual one is longer.
    pub(in crate::codegen) run: u32,
    /// The bytes that a lane holds of a batch.
    pub(in crate::codegen) bytes: u32,
    /// The most warps of a block.
    pub(in crate::codegen) warps: u32,
    /// How batches are folded.
    pub(in crate::codegen) way: Way,
}

/// By operators of fewer instructions, scans of one block a multiprocessor take less time with few
/// warps that hold much; by others, with many that hold less.
pub(in crate::codegen) const CHEAP: u32 = 20;

/// What warps hold of a scan.
#[derive(Debug)]
pub(in crate::codegen) struct ScanRow {
    /// The largest accumulator, in bytes.
    pub(in crate::codegen) accumulator: u32,
    /// The rows for short inputs.
    pub(in crate::codegen) short: u32,
    /// The rows for long inputs,
    pub(in crate::codegen) long: u32,
    /// of which so many keep their trees at a time,
    pub(in crate::codegen) batch: u32,
    /// in so many blocks of a multiprocessor.
    pub(in crate::codegen) blocks: u32,
    /// The most warps of a block: for short inputs, and for long ones.
    pub(in crate::codegen) warps: [u32; 2],
    /// How many sums a lane of the look-back reads at once.
    pub(in crate::codegen) sums: u32,
    /// By operators below [`CHEAP`], as long as one block a multiprocessor holds all. Those with
    /// more rows than short inputs have begin where as many warps of short inputs end.
    pub(in crate::codegen) one_block: &'static [HeldRow],
    /// For what is between, as long as the GPU holds it at once: from those that hold little to
    /// those that hold much.
    pub(in crate::codegen) held: &'static [HeldRow],
}

/// What warps hold of a scan that the GPU holds at once.
#[derive(Debug)]
pub(in crate::codegen) struct HeldRow {
    /// The bytes of a lane,
    pub(in crate::codegen) bytes: u32,
    /// of which so many keep their trees at a time.
    pub(in crate::codegen) batch: u32,
    /// The warps of a block.
    pub(in crate::codegen) warps: u32,
    /// Blocks of a multiprocessor.
    pub(in crate::codegen) blocks: u32,
}

/// What warps hold of a reduction where the arithmetic takes longer than the memory. Short inputs
/// have few rows, so that many warps share the work, and long ones mostly batches in groups.
///
/// Of the rows for one size, those for the costliest operators come first.
#[derive(Debug)]
pub(in crate::codegen) struct CostlyReduceRow {
    /// The largest accumulator, in bytes.
    pub(in crate::codegen) accumulator: u32,
    /// The fewest bytes that are read of an item. Where they are much fewer than the accumulator
    /// has, as for moments, long inputs wait for memory all the same.
    pub(in crate::codegen) read: u32,
    /// The least [`cost`](crate::codegen::cost) of an operator that is costly.
    pub(in crate::codegen) least: u32,
    /// How many sums a lane reads at once, if not as by cheap operators.
    pub(in crate::codegen) sums: Option<u32>,
    /// Each for inputs whose items have up to so many bytes together.
    pub(in crate::codegen) batches: &'static [(u64, BatchRow)],
    /// How longer inputs are folded, in batches as those of cheap operators.
    pub(in crate::codegen) others: Way,
}

/// A warp's batch.
#[derive(Debug)]
pub(in crate::codegen) struct BatchRow {
    /// The fewest items of a run, unless the usual one has more.
    pub(in crate::codegen) run: u32,
    /// The items of a lane.
    pub(in crate::codegen) items: u32,
    /// The most warps of a block.
    pub(in crate::codegen) warps: u32,
    pub(in crate::codegen) way: Way,
}

/// The shares engine, for scans where the arithmetic takes longer than the memory.
#[derive(Debug)]
pub(in crate::codegen) struct CostlyScanRow {
    /// The largest accumulator, in bytes.
    pub(in crate::codegen) accumulator: u32,
    /// The fewest items of a multiprocessor for which it is faster, each for operators of at least
    /// some [`cost`](crate::codegen::cost), from the cheapest to the costliest. Where that is just
    /// what a multiprocessor [holds](ScanRow::held) at once, no other kernel is needed between.
    pub(in crate::codegen) from: &'static [(u32, u64)],
    /// The least cost of an operator for which it is always faster, but for short inputs.
    pub(in crate::codegen) alone: u32,
    /// The rows of short inputs, each for operators of up to some cost, and the most warps of a
    /// block. These the rows engine takes, with the first of these numbers of rows for which the
    /// GPU holds all at once.
    pub(in crate::codegen) short_rows: &'static [(u32, u32)],
    pub(in crate::codegen) short_warps: u32,
    /// The tiles of longer inputs: smaller ones, so that more blocks share the work. Each is for up
    /// to so many items a multiprocessor, and operators of up to some cost.
    pub(in crate::codegen) middle: &'static [(u64, u32, ShareRow)],
    /// The tiles of all others.
    pub(in crate::codegen) long: ShareRow,
}

/// A tile of the shares engine.
#[derive(Debug)]
pub(in crate::codegen) struct ShareRow {
    /// The items of a lane.
    pub(in crate::codegen) share: u32,
    /// The warps of a block.
    pub(in crate::codegen) warps: u32,
    /// Blocks of a multiprocessor.
    pub(in crate::codegen) blocks: u32,
    /// The bytes that a lane loads at a time.
    pub(in crate::codegen) bytes: u32,
}

/// What warps hold of a select, or of what is like it. Counts are folded.
#[derive(Debug)]
pub(in crate::codegen) struct SelectRow {
    /// The most bytes and the most items of a lane.
    pub(in crate::codegen) bytes: u32,
    pub(in crate::codegen) items: u32,
    /// The most rows.
    pub(in crate::codegen) rows: u32,
    /// The rows that are packed at a time.
    pub(in crate::codegen) batch: u32,
    /// Blocks of a multiprocessor: if lanes hold at most `bytes`, and if they hold more.
    pub(in crate::codegen) blocks: [u32; 2],
    /// The most warps of a block.
    pub(in crate::codegen) warps: u32,
    /// How many counts a lane of the look-back reads at once.
    pub(in crate::codegen) sums: u32,
}

/// What warps hold of what is stored as it is.
#[derive(Debug)]
pub(in crate::codegen) struct CollectRow {
    /// The most bytes of a lane.
    pub(in crate::codegen) bytes: u32,
    /// Blocks of a multiprocessor.
    pub(in crate::codegen) blocks: u32,
    /// The warps of a block.
    pub(in crate::codegen) warps: u32,
}

/// What warps hold of weights that are sorted.
#[derive(Debug)]
pub(in crate::codegen) struct WeightedRow {
    /// The most bytes of a lane, and the most rows.
    pub(in crate::codegen) bytes: u32,
    pub(in crate::codegen) rows: u32,
    /// Blocks of a multiprocessor.
    pub(in crate::codegen) blocks: u32,
    /// The warps of a block: at least 8, for a thread for each digit.
    pub(in crate::codegen) warps: u32,
}

/// What warps hold of a histogram.
#[derive(Debug)]
pub(in crate::codegen) struct HistogramRow {
    /// The most bytes of a lane.
    pub(in crate::codegen) bytes: u32,
    /// The most rows.
    pub(in crate::codegen) rows: u32,
    /// Blocks of a multiprocessor, which share its memory for counters.
    pub(in crate::codegen) blocks: u32,
    /// The most warps of a block.
    pub(in crate::codegen) warps: u32,
    /// How it is cut up.
    pub(in crate::codegen) cut: HistogramPolicy,
}

const TABLES: &Tables<RowTables> = &[(90, &sm_90::ROWS)];

/// The tables for GPUs of a compute capability.
pub(in crate::codegen) fn tables(capability: u32) -> &'static RowTables {
    choose(TABLES, capability)
}
