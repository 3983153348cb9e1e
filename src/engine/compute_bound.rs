//! What is done another way by operators bound by computing: where the arithmetic takes longer than
//! the memory.
//! [`tuning`](super::tuning) has the numbers.

use super::rows::run_of;
use super::tuning::plans::{A_PART, MOST_REGISTERS, TOO_MUCH_CODE};
use super::tuning::rows;
use super::{Engine, Layouts, Order, ReducePolicy, RowPolicy, SharePolicy, Way};

/// The policies for scans by an operator bound by computing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputeBoundScan {
    /// The fewest items of a multiprocessor for which the shares engine is the fastest.
    pub from: u64,
    /// For what the GPU holds at once, if the operator costs so much that no other engine is faster
    /// for anything between. The first ones have few rows, so that many warps share the work. The
    /// first by which the GPU holds all is the fastest.
    pub short: Vec<RowPolicy>,
    /// For longer inputs, each for up to so many items a multiprocessor.
    pub middle: Vec<(u64, SharePolicy)>,
    /// For long inputs.
    pub shares: SharePolicy,
}

impl ComputeBoundScan {
    /// The policies for a form and an operator of some cost on GPUs of a compute capability,
    /// such as 90 for 9.0. `None` if other engines are faster, or the GPU does not run
    /// the shares engine.
    pub fn of(layouts: Layouts, capability: u32, cost: u32) -> Option<ComputeBoundScan> {
        let accumulator = layouts.accumulator_bytes();
        let mut rows = rows::tables(capability).compute_bound_scan.iter();
        let row = rows.find(|row| accumulator <= row.accumulator)?;
        let shares = SharePolicy::of(layouts, &row.long)?;
        let bytes = layouts.sum_bytes as u32;
        let word = 1 << bytes.trailing_zeros();
        let parts = if word < 4 { bytes / word } else { 1 };
        let cost = cost.saturating_sub((parts - 1) * A_PART);
        let is_alone = cost >= row.alone;
        let from = if is_alone {
            0
        } else {
            row.from.iter().rfind(|(least, _)| cost >= *least)?.1
        };
        if !Engine::Shares(shares).runs_on(capability) {
            return None;
        }
        let short = match is_alone {
            true => ComputeBoundScan::short(layouts, row, capability, cost),
            false => Vec::new(),
        };
        let held = short.last().map_or(0, |policy| policy.at_once());
        let middle = row.middle.iter().filter(|(_, most, _)| cost <= *most);
        let middle = middle.filter(|(items, ..)| *items > from.max(held));
        let middle =
            middle.filter_map(|(items, _, row)| Some((*items, SharePolicy::of(layouts, row)?)));
        Some(ComputeBoundScan {
            from,
            middle: middle.collect(),
            short,
            shares,
        })
    }

    /// The policies for what the GPU holds at once.
    fn short(
        layouts: Layouts,
        row: &rows::ComputeBoundScanRow,
        capability: u32,
        cost: u32,
    ) -> Vec<RowPolicy> {
        let at_once = RowPolicy::for_scans_at_once(layouts, capability, cost);
        let rows = row.short_rows.iter().filter(|(_, most)| cost <= *most);
        let mut short: Vec<_> = rows
            .map(|&(rows, _)| {
                let rows = at_once[0].rows.min(rows);
                RowPolicy {
                    rows,
                    batch: rows,
                    warps: row.short_warps,
                    ..at_once[0]
                }
            })
            .collect();
        let held = short.last().map_or(0, |policy| policy.at_once());
        let words = layouts.accumulator_bytes().div_ceil(4);
        let registers = |policy: RowPolicy| policy.run * policy.rows * words;
        let more = at_once
            .into_iter()
            .filter(|&policy| policy.at_once() > held && registers(policy) <= MOST_REGISTERS);
        short.extend(more.filter(|_| cost < TOO_MUCH_CODE));
        short
    }
}

/// The policies for reductions in the law's order by an operator that costs so much that the
/// arithmetic takes longer than the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComputeBoundReduce {
    /// The policies, each for inputs whose items have up to so many bytes together, from short ones
    /// to all others.
    pub rows: Vec<(u64, RowPolicy)>,
    /// How inputs are cut up. Where the arithmetic takes longer at every length, each block has one
    /// group of chunks: multiprocessors are as fast as each other.
    pub cut: ReducePolicy,
}

impl ComputeBoundReduce {
    /// The policies for a form and an operator of some cost on GPUs of a compute capability,
    /// such as 90 for 9.0. `None` if it is as cheap as most.
    pub fn of(layouts: Layouts, capability: u32, cost: u32) -> Option<ComputeBoundReduce> {
        let (accumulator, read) = (layouts.accumulator_bytes(), layouts.bytes_read());
        let table = rows::tables(capability).compute_bound_reduce;
        let fits =
            |row: &&rows::ComputeBoundReduceRow| accumulator <= row.accumulator && row.read <= read;
        let size = table.iter().find(fits)?;
        let row = table.iter().find(|row| {
            (row.accumulator, row.read) == (size.accumulator, size.read) && cost >= row.least
        })?;
        let mut cut = ReducePolicy::for_capability(layouts, capability);
        if let Some(sums) = row.sums {
            cut.sums_law = sums;
            cut = cut.with_sums(sums);
        }
        let policy = |(bytes, batch): &(u64, rows::BatchRow)| {
            let run = run_of(layouts.leaves, 0).max(batch.run);
            let rows = 1 << (batch.items / run).max(1).ilog2();
            let policy = RowPolicy {
                sums: cut.sums_law,
                way: batch.way,
                ..RowPolicy::in_one_batch(run, rows, batch.warps)
            };
            (*bytes, policy)
        };
        let mut rows: Vec<_> = row.batches.iter().map(policy).collect();
        let longest = rows.last().map_or(0, |&(bytes, _)| bytes);
        if longest == u64::MAX {
            cut.group_bytes = u64::MAX;
        } else if row.others == Way::Alone {
            let cheap = RowPolicy::for_ordered_reduce(layouts, capability).into_iter();
            rows.extend(cheap.filter(|&(bytes, _)| bytes > longest));
        } else {
            let long = RowPolicy::for_reduce(layouts, capability, Order::Law);
            let way = row.others;
            rows.push((u64::MAX, RowPolicy { way, ..long }));
        }
        let rows = RowPolicy::in_turn_beyond(cut.group_bytes, rows);
        Some(ComputeBoundReduce { rows, cut })
    }
}
