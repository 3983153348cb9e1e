//! What warps hold of a tile, by primitive and element size. [`tuning`](crate::engine::tuning) has
//! the numbers.

use crate::Element;
use crate::engine::tuning::plans::MOST_BLOCKS_WIDENED;
use crate::engine::tuning::{row_for, rows};
use crate::engine::{Layouts, Order, UNKNOWN};
use crate::source::Leaves;

/// What a warp of the rows engine ([`Engine::Rows`](crate::engine::Engine::Rows)) holds at once:
/// rows of 32 runs, one a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowPolicy {
    /// Elements of a run, a power of two.
    pub run: u32,
    /// Rows, a power of two up to 32.
    pub rows: u32,
    /// Rows whose trees a scan holds at a time, a power of two. If these are fewer than all, it
    /// makes each tree twice, and needs fewer registers.
    pub batch: u32,
    /// Blocks that a multiprocessor has registers for, if each has as many warps as it may.
    pub blocks: u32,
    /// The most warps of a block, a power of two.
    pub warps: u32,
    /// How many sums of other blocks a lane reads at once, a power of two.
    pub sums: u32,
    /// How a reduction folds its batches.
    pub way: Way,
    /// Whether the blocks of a reduction in the law's order take chunks in turn. Otherwise each has
    /// a group of them.
    pub in_turn: bool,
}

/// How a reduction folds batches of rows. Of other primitives: `Alone`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Way {
    /// Each on its own, as a tree, by code without loops.
    Alone,
    /// In the law's order: each on its own. What is not in the inner loop is folded by loops. That
    /// is less code, which compiles faster: where computing takes longer than memory on large
    /// elements, or much longer and there are few batches a warp.
    Compact,
    /// In the law's order: in groups, which combine as seldom as they can and move more, for
    /// operators bound by computing.
    Grouped,
    /// In any order: a lane folds its elements one by one, and not as a tree.
    OneByOne,
}

/// The longest run, in bytes.
const RUN_BYTES: u32 = 64;

impl RowPolicy {
    /// The policy of a reduction of elements of type `T`, if no GPU is known.
    pub fn of_reduce<T: Element>(order: Order) -> RowPolicy {
        RowPolicy::for_reduce(Layouts::of_slice::<T>(), UNKNOWN, order)
    }

    /// The policy of a reduction of a form on GPUs of a compute capability, such as 90 for 9.0: how
    /// many bytes its warps have under way.
    pub fn for_reduce(layouts: Layouts, capability: u32, order: Order) -> RowPolicy {
        let (run, size) = (
            run_of_reduce(layouts, capability, order),
            layouts.bytes_read(),
        );
        let table = rows::tables(capability);
        let cut = ReducePolicy::for_capability(layouts, capability);
        let most = cut.most_threads / 32;
        let (bytes, warps, sums) = match order {
            Order::Any => (table.reduce_any / cut.most_threads, most, cut.sums_any),
            Order::Law => {
                let row = row_for(table.reduce_law, |row| row.element, size);
                // Large elements may be made of small ones.
                (row.bytes, row.warps.min(most), cut.sums_law)
            }
        };
        let rows = (bytes / (run * size)).max(1);
        let rows = 1 << rows.ilog2().min(5);
        RowPolicy {
            sums,
            ..RowPolicy::in_one_batch(run, rows, warps)
        }
    }

    /// The policy of a reduction in any order, by an operator of some
    /// [`cost`](crate::operator::cost).
    pub fn for_any_order(layouts: Layouts, capability: u32, cost: u32) -> RowPolicy {
        let policy = RowPolicy::for_reduce(layouts, capability, Order::Any);
        let is_compute_bound = cost >= rows::tables(capability).one_by_one;
        let way = if is_compute_bound {
            Way::OneByOne
        } else {
            policy.way
        };
        RowPolicy { way, ..policy }
    }

    /// The policies of a reduction in the law's order, each for inputs whose items have up to so
    /// many bytes together, from short ones to all others.
    pub fn for_ordered_reduce(layouts: Layouts, capability: u32) -> Vec<(u64, RowPolicy)> {
        let usual = RowPolicy::for_reduce(layouts, capability, Order::Law);
        let size = layouts.bytes_read();
        let table = rows::tables(capability).reduce_ranges.iter();
        let is_shifted = layouts.item.align() < 4;
        let ranges = table.filter(|row| {
            [size, layouts.accumulator_bytes()] == [row.element; 2]
                && row.shifted.is_none_or(|shifted| shifted == is_shifted)
        });
        let mut policies = Vec::new();
        for row in ranges {
            let run = run_of_bytes(layouts, row.run);
            let rows = 1 << (row.bytes / (run * size)).max(1).ilog2();
            let within = RowPolicy {
                run,
                rows,
                batch: rows,
                warps: row.warps,
                way: row.way,
                ..usual
            };
            if row.from > policies.last().map_or(0, |&(to, _)| to) {
                policies.push((row.from, usual));
            }
            policies.push((row.to, within));
        }
        if policies.last().is_none_or(|&(to, _)| to < u64::MAX) {
            policies.push((u64::MAX, usual));
        }
        let cut = ReducePolicy::for_capability(layouts, capability);
        RowPolicy::in_turn_beyond(cut.group_bytes, policies)
    }

    /// Splits policies at so many bytes: of longer inputs, blocks take chunks in turn. Grouped
    /// batches stay as they are: they are faster with one group of chunks for each block.
    pub(in crate::engine) fn in_turn_beyond(
        bytes: u64,
        policies: Vec<(u64, RowPolicy)>,
    ) -> Vec<(u64, RowPolicy)> {
        let mut split = Vec::new();
        let mut from = 0;
        for (to, policy) in policies {
            let bytes = match policy.way {
                Way::Grouped => u64::MAX,
                _ => bytes,
            };
            if from < bytes {
                split.push((to.min(bytes), policy));
            }
            if to > bytes {
                split.push((to, policy.taking_turns()));
            }
            from = to;
        }
        split
    }

    /// This policy, by which blocks take chunks in turn.
    #[must_use]
    pub fn taking_turns(self) -> RowPolicy {
        RowPolicy {
            in_turn: true,
            ..self
        }
    }

    /// Rows that are all in one batch, for blocks that read one sum a lane of others.
    pub(crate) fn in_one_batch(run: u32, rows: u32, warps: u32) -> RowPolicy {
        RowPolicy {
            run,
            rows,
            batch: rows,
            blocks: 1,
            warps,
            sums: 1,
            way: Way::Alone,
            in_turn: false,
        }
    }

    /// The policy of a scan of elements of type `T`, if no GPU is known.
    pub fn of_scan<T: Element>(long: bool) -> RowPolicy {
        RowPolicy::for_scan(Layouts::of_slice::<T>(), UNKNOWN, long)
    }

    /// The policy of a scan of a form on GPUs of a compute capability. Short inputs fill the GPU
    /// less than once, so latency counts: their trees stay in registers. For long inputs it counts
    /// how much the GPU holds at once.
    pub fn for_scan(layouts: Layouts, capability: u32, long: bool) -> RowPolicy {
        let rows = rows::tables(capability).scan;
        let accumulator = layouts.accumulator_bytes();
        let row = row_for(rows, |row| row.accumulator, accumulator);
        let run = RowPolicy::run_of_scan(layouts.leaves, layouts.item.size());
        // Never more elements than there are registers for.
        let fitting = |rows: u32, words: u32| rows.min(1 << (words / run).max(1).ilog2());
        let (rows, batch, blocks) = if long {
            let rows = fitting(row.long, 64);
            (rows, row.batch.min(rows), row.blocks)
        } else {
            let rows = fitting(row.short, 32 / accumulator.div_ceil(4));
            (rows, rows, 1)
        };
        RowPolicy {
            batch,
            blocks,
            sums: row.sums,
            ..RowPolicy::in_one_batch(run, rows, row.warps[usize::from(long)])
        }
    }

    /// The policies of scans of a form, by an operator of some [`cost`](crate::operator::cost),
    /// that a GPU of some compute capability holds at once, from those that hold little to those
    /// that hold much. The first by which it holds all is the fastest.
    pub fn for_scans_at_once(layouts: Layouts, capability: u32, cost: u32) -> Vec<RowPolicy> {
        let mut short = RowPolicy::for_scan(layouts, capability, false);
        let rows = rows::tables(capability).scan;
        let accumulator = layouts.accumulator_bytes();
        let row = row_for(rows, |row| row.accumulator, accumulator);
        let is_widened = accumulator >= 2 * layouts.bytes_read();
        // A register for each part of an accumulator, unless words hold several accumulators.
        let part = 4.min(1 << accumulator.trailing_zeros());
        let in_registers = match accumulator {
            ..=2 => accumulator,
            _ => 4 * accumulator / part,
        };
        let run_bytes = short.run * in_registers.max(layouts.bytes_read());
        let of_row = |held: &rows::HeldRow| {
            let [rows, batch] = [held.bytes, held.batch].map(|bytes| bytes / run_bytes);
            Some(RowPolicy {
                rows: 1 << rows.min(32).checked_ilog2()?,
                batch: 1 << batch.max(1).min(rows).ilog2(),
                blocks: held.blocks,
                warps: held.warps,
                ..short
            })
        };
        let one_block = row.one_block.iter().filter(|_| cost < rows::CHEAP);
        if let Some(first) = one_block.clone().find_map(of_row)
            && first.rows > short.rows
        {
            short.warps = first.warps;
        }
        let fits = |held: &&rows::HeldRow| !is_widened || held.blocks <= MOST_BLOCKS_WIDENED;
        let mut policies = vec![short];
        for policy in one_block
            .chain(row.held.iter().filter(fits))
            .filter_map(of_row)
        {
            if policy.at_once() > policies.last().map_or(0, |policy| policy.at_once()) {
                policies.push(policy);
            }
        }
        policies
    }

    /// The elements of a scan that a multiprocessor holds at once.
    pub fn at_once(self) -> u64 {
        self.elements() * u64::from(self.warps * self.blocks)
    }

    /// The elements of a run of a select or a histogram.
    pub(crate) fn run_of(leaves: Leaves) -> u32 {
        run_of(leaves, 0)
    }

    /// The elements that a run of a reduction may have.
    pub(crate) fn runs_of_reduce(layouts: Layouts, order: Order) -> [u32; 2] {
        let run = run_of(layouts.leaves, 0);
        [run, if order == Order::Law { 2 * run } else { run }]
    }

    /// The elements of a run where a thread holds results as large as `item` too: in scans, and
    /// where items are stored as they are.
    pub(crate) fn run_of_scan(leaves: Leaves, item: usize) -> u32 {
        run_of(leaves, item)
    }

    /// What is wrong with a policy, if anything, where runs may have so many elements.
    pub(crate) fn fault(self, runs: &[u32]) -> Option<&'static str> {
        let RowPolicy {
            run,
            rows,
            batch,
            blocks,
            warps,
            sums,
            way: _,
            in_turn: _,
        } = self;
        let powers = [run, rows, batch, warps, sums];
        if !powers.iter().all(|n| n.is_power_of_two()) {
            Some("run, rows, batch, warps and sums are powers of two")
        } else if rows > 32 || batch > rows {
            Some("there are at most 32 rows, and a batch is at most all of them")
        } else if !runs.contains(&run) {
            Some("a run has as many elements as RowPolicy::of_scan says, or of_reduce")
        } else if warps > 32 || sums > 4 {
            Some("a block has at most 32 warps, and a lane reads at most 4 sums at once")
        } else if blocks == 0 {
            Some("a multiprocessor runs a block at least")
        } else {
            None
        }
    }

    /// The elements that a warp holds, a power of two.
    pub fn elements(self) -> u64 {
        u64::from(32 * self.run * self.rows)
    }
}

/// The items of a run: whole words of 16 bytes of every slice under a form, unless a lane would
/// have to hold too much of one of them, or of the `results`, in bytes.
pub(in crate::engine) fn run_of(leaves: Leaves, results: usize) -> u32 {
    let Leaves {
        granule, largest, ..
    } = leaves;
    let largest = largest.max(results) as u32;
    let mut run = if leaves.bytes == 0 {
        4
    } else {
        16 / granule as u32
    };
    while run > 1 && run * largest > RUN_BYTES {
        run /= 2;
    }
    run
}

/// The elements of a run of a reduction on GPUs of a compute capability. In the law's order the
/// table may ask for longer ones, if elements come from one slice and their size is a power of two.
pub(in crate::engine) fn run_of_reduce(layouts: Layouts, capability: u32, order: Order) -> u32 {
    if order == Order::Any {
        return run_of(layouts.leaves, 0);
    }
    let table = rows::tables(capability).reduce_law;
    run_of_bytes(
        layouts,
        row_for(table, |row| row.element, layouts.bytes_read()).run,
    )
}

/// The elements of a run of up to so many bytes, or of the usual one if that is longer.
fn run_of_bytes(layouts: Layouts, bytes: u32) -> u32 {
    let elements = (bytes / layouts.bytes_read()).max(1);
    run_of(layouts.leaves, 0).max(1 << elements.ilog2())
}

/// How a reduction in one launch is cut up, by the size of what is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReducePolicy {
    /// The most threads of a block, which have registers for what they hold. A reduction in the
    /// law's order may have fewer, which hold more.
    pub most_threads: u32,
    /// One block takes inputs of up to this many batches, a warp a batch.
    pub alone: u32,
    /// How many blocks share a multiprocessor in any order, and where blocks take chunks in turn.
    /// Each has a part of the most warps.
    pub blocks: u32,
    /// The most chunks of a length: a block of 32 warps reads their sums at once. Longer inputs
    /// have longer chunks.
    pub chunks: u32,
    /// How many sums a lane reads at once, in any order.
    pub sums_any: u32,
    /// How many sums a lane reads at once, in the law's order.
    pub sums_law: u32,
    /// In the law's order each block has one group of chunks of inputs of up to this many bytes.
    /// Blocks take the chunks of longer ones in turn.
    pub group_bytes: u64,
}

impl ReducePolicy {
    /// With no more chunks than the last block has room for, if a lane reads so many sums at once:
    /// those of 32 nodes.
    pub(crate) fn with_sums(self, sums: u32) -> ReducePolicy {
        let chunks = self.chunks.min(32 * 32 * sums);
        ReducePolicy { chunks, ..self }
    }

    /// The most blocks that a GPU holds at once, in any order, and where they take chunks in turn.
    pub(crate) fn resident(self, multiprocessors: u32) -> u64 {
        u64::from((multiprocessors * self.blocks).min(self.chunks))
    }

    /// The policy for elements of type `T`, if no GPU is known.
    pub fn of<T: Element>() -> ReducePolicy {
        ReducePolicy::for_capability(Layouts::of_slice::<T>(), UNKNOWN)
    }

    /// The policy for elements of type `T` on GPUs of a compute capability, such as 90 for 9.0.
    pub fn for_capability(layouts: Layouts, capability: u32) -> ReducePolicy {
        let accumulator = layouts.sum_bytes as u32;
        row_for(rows::tables(capability).chunks, |row| row.0, accumulator).1
    }
}
