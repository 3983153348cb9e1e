//! What costly operators do another way: where the arithmetic takes longer than the memory.
//! [`tuning`](super::tuning) has the numbers.

use super::policy::{accumulator_bytes, bytes_of, run_of};
use super::tuning::rows;
use super::{Engine, Order, ReducePolicy, RowPolicy, Way};
use crate::Element;
use crate::source::Form;

/// What a block of the shares engine ([`Engine::Shares`](super::Engine::Shares)) holds: a tile in
/// shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharePolicy {
    /// Elements of a run, a power of two.
    pub run: u32,
    /// Rows of a warp's part of a tile: 32 runs, one a lane. A power of two up to 32.
    pub rows: u32,
    /// Rows that a warp loads at a time, a power of two.
    pub batch: u32,
    /// Warps of a block, a power of two.
    pub warps: u32,
    /// Blocks that a multiprocessor is to have registers for.
    pub blocks: u32,
}

impl SharePolicy {
    /// The shared memory that every GPU from compute capability 8.0 on has for a block.
    const SHARED_BYTES: u32 = 99 << 10;

    /// What an operator must cost more for each part but the first, where no words of 4 bytes tile
    /// elements. The estimate counts taking each part out of a word, which is cheaper: on an H200,
    /// waves scan sums of `[u16; 3]` in 0.81 of the time of shares, of `[u8; 5]` in 0.75.
    const A_PART: u32 = 16;

    /// The policy of a row for a form; `None` if its tiles do not fit.
    fn of<F: Form<Item: Element>>(row: &rows::ShareRow) -> Option<SharePolicy> {
        let run = RowPolicy::run_of_scan::<F>();
        let rows = (row.share / run).clamp(1, 32);
        let batch = (row.bytes / (run * bytes_of::<F>())).clamp(1, rows);
        let policy = SharePolicy {
            run,
            rows,
            batch: 1 << batch.ilog2(),
            warps: row.warps,
            blocks: row.blocks,
        };
        policy.fault::<F::Item>(run).is_none().then_some(policy)
    }

    /// The elements of a tile, a power of two.
    pub fn tile(self) -> u64 {
        u64::from(32 * self.run * self.rows * self.warps)
    }

    /// The threads of a block.
    pub fn threads(self) -> u32 {
        32 * self.warps
    }

    /// The bytes of shared memory of a block, for elements of type `T`: a tile with at least 16
    /// bytes more for each lane, 167 sums and one for each warp, and two numbers.
    pub fn shared_bytes<T: Element>(self) -> u32 {
        let sums = |count: u32| (count * accumulator_bytes::<T>()).next_multiple_of(16);
        let share = 16 * ((sums(self.run * self.rows) / 16 + 1) | 1);
        self.threads() * share + sums(5 * 32) + sums(self.warps + 1) + sums(6) + 32
    }

    /// What is wrong with a policy for elements of type `T`, if anything, where runs have
    /// `proper_run` elements.
    pub(crate) fn fault<T: Element>(self, proper_run: u32) -> Option<&'static str> {
        let SharePolicy {
            run,
            rows,
            batch,
            warps,
            blocks,
        } = self;
        if ![run, rows, batch, warps]
            .iter()
            .all(|n| n.is_power_of_two())
        {
            Some("run, rows, batch and warps are powers of two")
        } else if rows > 32 || batch > rows {
            Some("there are at most 32 rows, and a batch is at most all of them")
        } else if run != proper_run {
            Some("a run has as many elements as RowPolicy::of_scan says")
        } else if !(2..=16).contains(&warps) {
            Some("a block has 2 to 16 warps")
        } else if blocks == 0 || blocks * self.threads() > 2048 {
            Some("a multiprocessor runs a block at least, and 2048 threads at most")
        } else if self.shared_bytes::<T>() > Self::SHARED_BYTES {
            Some("a block has at most 99 KiB of shared memory")
        } else {
            None
        }
    }
}

/// The policies for scans by a costly operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostlyScanPolicy {
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

impl CostlyScanPolicy {
    /// The policies for a form and an operator of some [`cost`](super::cost) on GPUs of a compute
    /// capability, such as 90 for 9.0. `None` if other engines are faster, or the GPU does not run
    /// the shares engine.
    pub fn of<F: Form<Item: Element>>(capability: u32, cost: u32) -> Option<CostlyScanPolicy> {
        let accumulator = accumulator_bytes::<F::Item>();
        let mut rows = rows::tables(capability).costly_scan.iter();
        let row = rows.find(|row| accumulator <= row.accumulator)?;
        let shares = SharePolicy::of::<F>(&row.long)?;
        let bytes = size_of::<<F::Item as Element>::Accumulator>() as u32;
        let word = 1 << bytes.trailing_zeros();
        let parts = if word < 4 { bytes / word } else { 1 };
        let cost = cost.saturating_sub((parts - 1) * SharePolicy::A_PART);
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
            true => CostlyScanPolicy::short::<F>(row, capability, cost),
            false => Vec::new(),
        };
        let held = short.last().map_or(0, |policy| policy.at_once());
        let middle = row.middle.iter().filter(|(_, most, _)| cost <= *most);
        let middle = middle.filter(|(items, ..)| *items > from.max(held));
        let middle =
            middle.filter_map(|(items, _, row)| Some((*items, SharePolicy::of::<F>(row)?)));
        Some(CostlyScanPolicy {
            from,
            middle: middle.collect(),
            short,
            shares,
        })
    }

    /// The policies for what the GPU holds at once.
    fn short<F: Form<Item: Element>>(
        row: &rows::CostlyScanRow,
        capability: u32,
        cost: u32,
    ) -> Vec<RowPolicy> {
        /// From this cost on, the trees of many rows are too much code.
        const TOO_COSTLY: u32 = 90;
        /// So are those over more registers.
        const MOST_REGISTERS: u32 = 32;
        let at_once = RowPolicy::for_scans_at_once::<F>(capability, cost);
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
        let words = accumulator_bytes::<F::Item>().div_ceil(4);
        let registers = |policy: RowPolicy| policy.run * policy.rows * words;
        let more = at_once
            .into_iter()
            .filter(|&policy| policy.at_once() > held && registers(policy) <= MOST_REGISTERS);
        short.extend(more.filter(|_| cost < TOO_COSTLY));
        short
    }
}

/// The policies for reductions in the law's order by an operator that costs so much that the
/// arithmetic takes longer than the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostlyReducePolicy {
    /// The policies, each for inputs whose items have up to so many bytes together, from short ones
    /// to all others.
    pub rows: Vec<(u64, RowPolicy)>,
    /// How inputs are cut up. Where the arithmetic takes longer at every length, each block has one
    /// group of chunks: multiprocessors are as fast as each other.
    pub cut: ReducePolicy,
}

impl CostlyReducePolicy {
    /// The policies for a form and an operator of some [`cost`](super::cost) on GPUs of a compute
    /// capability, such as 90 for 9.0. `None` if it is as cheap as most.
    pub fn of<F: Form<Item: Element>>(capability: u32, cost: u32) -> Option<CostlyReducePolicy> {
        let (accumulator, read) = (accumulator_bytes::<F::Item>(), bytes_of::<F>());
        let table = rows::tables(capability).costly_reduce;
        let fits =
            |row: &&rows::CostlyReduceRow| accumulator <= row.accumulator && row.read <= read;
        let size = table.iter().find(fits)?;
        let row = table.iter().find(|row| {
            (row.accumulator, row.read) == (size.accumulator, size.read) && cost >= row.least
        })?;
        let mut cut = ReducePolicy::for_capability::<F::Item>(capability);
        if let Some(sums) = row.sums {
            cut.sums_law = sums;
            cut = cut.with_sums(sums);
        }
        let policy = |(bytes, batch): &(u64, rows::BatchRow)| {
            let run = run_of::<F>(0).max(batch.run);
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
            let cheap = RowPolicy::for_ordered_reduce::<F>(capability).into_iter();
            rows.extend(cheap.filter(|&(bytes, _)| bytes > longest));
        } else {
            let long = RowPolicy::for_reduce::<F>(capability, Order::Law);
            let way = row.others;
            rows.push((u64::MAX, RowPolicy { way, ..long }));
        }
        let rows = RowPolicy::in_turn_beyond(cut.group_bytes, rows);
        Some(CostlyReducePolicy { rows, cut })
    }
}
