//! How a reduction in one launch is cut up.

use crate::Element;
use crate::codegen::{MOST_AT_ONCE, Order, ReducePolicy, RowPolicy, Way, sums_bytes};
use std::cmp::Ordering;

/// One reduction in a single launch: the number of blocks, and in the law's order, how the input is
/// cut into chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReducePlan {
    /// The number of blocks, which the GPU holds at once.
    pub blocks: u32,
    /// The number of threads of a block. If there are several blocks, it is a power of two of
    /// warps.
    pub threads: u32,
    /// The number of whole chunks: 0 if there is one block, or in any order.
    pub chunks: u32,
    /// A chunk has 2^log_chunk elements,
    pub log_chunk: u32,
    /// of which every warp of a block folds 2^log_batches batches.
    pub log_batches: u32,
    /// A block folds so many chunks at once, or one less. If they are more than 1, each block has
    /// one such group. Otherwise blocks that are done take further chunks.
    pub at_once: u32,
    /// The first blocks, so many, fold `at_once` chunks. The others fold one less.
    pub larger: u32,
}

impl ReducePlan {
    /// The plan for `length` elements of type `T`, on a GPU of this many multiprocessors, with a
    /// kernel that was compiled with `rows`.
    pub fn new<T: Element>(
        (rows, policy): (RowPolicy, ReducePolicy),
        order: Order,
        length: usize,
        multiprocessors: u32,
    ) -> ReducePlan {
        let batch = rows.elements();
        let (length, batches) = (length as u64, (length as u64).div_ceil(batch));
        if batches <= u64::from(policy.alone.min(rows.warps)) {
            return ReducePlan::in_one_block(32 * batches.max(1) as u32);
        }
        // With more blocks, the last one collects their sums for longer, most of all those of long
        // elements. With fewer, each of them takes longer.
        let (fewest_warps, enough_blocks) = match order {
            Order::Any => (4, multiprocessors),
            Order::Law if size_of::<T>() >= 24 => (4, multiprocessors / 2),
            Order::Law => (2, multiprocessors / 2),
        };
        let mut warps = fewest_warps;
        while warps < rows.warps / policy.blocks
            && batches.div_ceil(warps.into()) > enough_blocks.into()
        {
            warps *= 2;
        }
        let resident = u64::from((multiprocessors * policy.blocks).min(policy.chunks));
        match order {
            Order::Any => ReducePlan {
                blocks: batches.div_ceil(warps.into()).min(resident) as u32,
                threads: 32 * warps,
                chunks: 0,
                log_chunk: 0,
                log_batches: 0,
                at_once: 1,
                larger: u32::MAX,
            },
            Order::Law => {
                let tasks =
                    |log_batches: u32| length.div_ceil((batch * u64::from(warps)) << log_batches);
                let cut = |log_batches: u32| {
                    ReducePlan::with_chunks(rows, length as usize, warps, log_batches, resident)
                };
                let log_batches = least(|log_batches| tasks(log_batches) <= resident);
                let node = (batch * u64::from(warps)) * u64::from(32 * rows.sums);
                let fills_nodes = length.is_multiple_of(node);
                let bytes = length * size_of::<T>() as u64;
                if bytes > policy.group_bytes {
                    let most = u64::from(policy.chunks);
                    let chunks = (bytes / CHUNK_BYTES).clamp(FEW_CHUNKS, most);
                    let log_batches = least(|log_batches| tasks(log_batches) <= chunks);
                    // If more than 15% of the time would be that of blocks that find no further
                    // chunk, chunks are half as long.
                    let blocks = tasks(log_batches).min(resident).max(1);
                    let rounds = tasks(log_batches).div_ceil(blocks) * blocks;
                    let many_wait = 20 * tasks(log_batches) < 17 * rounds;
                    let may_halve = log_batches > 0 && tasks(log_batches - 1) <= most;
                    cut(log_batches - u32::from(many_wait && may_halve))
                } else if tasks(0) <= multiprocessors.into()
                    || (log_batches == 0 && (size_of::<T>() <= 2 || fills_nodes))
                {
                    cut(0)
                } else {
                    let policy = (rows, policy);
                    let length = length as usize;
                    ReducePlan::in_groups(policy, length, warps, log_batches, multiprocessors)
                }
            }
        }
    }

    /// The plan of one block of so many threads.
    pub fn in_one_block(threads: u32) -> ReducePlan {
        ReducePlan {
            blocks: 1,
            threads,
            chunks: 0,
            log_chunk: 0,
            log_batches: 0,
            at_once: 1,
            larger: u32::MAX,
        }
    }

    /// The plan in the law's order: chunks of 2^log_batches batches for each of `warps`, a power of
    /// two, and up to this many blocks.
    pub fn with_chunks(
        rows: RowPolicy,
        length: usize,
        warps: u32,
        log_batches: u32,
        most_blocks: u64,
    ) -> ReducePlan {
        let chunk = (rows.elements() * u64::from(warps)) << log_batches;
        ReducePlan {
            blocks: (length as u64).div_ceil(chunk).min(most_blocks) as u32,
            threads: 32 * warps,
            chunks: (length as u64 / chunk) as u32,
            log_chunk: chunk.ilog2(),
            log_batches,
            at_once: 1,
            larger: u32::MAX,
        }
    }

    /// The plan in the law's order with the same chunks in groups, for as many blocks as there are
    /// places, which are two or more. One group has at most one chunk more than another.
    pub fn with_groups(
        rows: RowPolicy,
        length: usize,
        warps: u32,
        log_batches: u32,
        places: u64,
    ) -> ReducePlan {
        let plan = ReducePlan::with_chunks(rows, length, warps, log_batches, u64::MAX);
        let (chunks, rest) = (plan.chunks.max(1), plan.blocks - plan.chunks);
        let groups = (places as u32 - rest).min(chunks);
        let at_once = chunks.div_ceil(groups);
        ReducePlan {
            blocks: groups.min(plan.chunks) + rest,
            at_once,
            larger: chunks - groups * (at_once - 1),
            ..plan
        }
    }

    /// The plan in the law's order with a group of chunks for each block, where chunks of
    /// 2^log_batches batches for each of `warps` would be one for each block that the GPU holds.
    fn in_groups(
        (rows, policy): (RowPolicy, ReducePolicy),
        length: usize,
        warps: u32,
        log_batches: u32,
        multiprocessors: u32,
    ) -> ReducePlan {
        // One block a multiprocessor, of all warps: there is less to collect. But two wait for each
        // other less, if a warp has one batch of many elements, or if sums are collected as
        // quickly.
        let resident = (multiprocessors * policy.blocks).min(policy.chunks);
        let places = (resident / policy.blocks).max(2);
        let even = ReducePlan::in_even_groups((rows, policy), length, places);
        // If there is a little more than a chunk for each of two, it is better to have two. One
        // would have to fold as much as two chunks for each of them.
        let most = (resident + resident / 4).min(policy.chunks);
        let few = least(|log_batches| {
            ReducePlan::with_chunks(rows, length, warps, log_batches, u64::MAX).blocks <= most
        });
        let is_worth_it =
            warps >= 16 && few < log_batches && (few == 0 || rows.way == Way::Grouped);
        if is_worth_it && resident >= 2 {
            let two = ReducePlan::with_groups(rows, length, warps, few, resident.into());
            // A chunk of theirs keeps only some of a multiprocessor's warps busy.
            let busiest = (two.chunks + 1).div_ceil(multiprocessors);
            let two_fold = two.combinations(rows, busiest) / u64::from(policy.blocks);
            if 10 * two_fold <= 9 * even.combinations(rows, even.at_once) {
                return two;
            }
        }
        even
    }

    /// The plan in the law's order with a group of chunks for each of up to `places` blocks of all
    /// warps. The slowest block has as little to fold as it can. There are as few chunks as that
    /// takes. But a block has two chunks rather than one of twice the length: then many have but
    /// one.
    fn in_even_groups(
        (rows, policy): (RowPolicy, ReducePolicy),
        length: usize,
        places: u32,
    ) -> ReducePlan {
        let with = |log_batches: u32| {
            ReducePlan::with_groups(rows, length, rows.warps, log_batches, places.into())
        };
        let fits = |plan: &ReducePlan| {
            plan.at_once <= ReducePlan::MOST_IN_GROUP.min(rows.warps)
                && plan.chunks <= policy.chunks
        };
        let first = least(|log_batches| fits(&with(log_batches)));
        let plans = (first..).map(with);
        let last = plans.clone().position(|plan| plan.at_once == 1);
        let plans = plans.take(last.expect("one chunk is enough in the end") + 1);
        let slowest = |plan: &ReducePlan| plan.combinations(rows, plan.at_once);
        let best = plans.reduce(|best, plan| {
            let is_better = match slowest(&plan).cmp(&slowest(&best)) {
                Ordering::Less => true,
                Ordering::Equal => best.at_once > 2,
                Ordering::Greater => false,
            };
            if is_better { plan } else { best }
        });
        let best = best.expect("there is one");
        let waits_for_memory = policy.group_bytes < u64::MAX;
        if waits_for_memory {
            return best;
        }
        // Where the arithmetic takes longer, blocks that have a chunk less win nothing. The fewer
        // there are, the earlier the next launch begins.
        let rest = u64::from(!length.is_multiple_of(1 << best.log_chunk));
        let groups = best.chunks.max(1).div_ceil(best.at_once);
        let places = (u64::from(groups) + rest).max(2);
        ReducePlan::with_groups(rows, length, rows.warps, best.log_batches, places)
    }

    /// How many combinations a lane makes for so many chunks, about. Each batch is folded over the
    /// lanes, too. Those of one chunk are so together, if they are grouped.
    fn combinations(&self, rows: RowPolicy, chunks: u32) -> u64 {
        let items = u64::from(rows.run * rows.rows);
        let lanes = if rows.way == Way::Grouped {
            0
        } else {
            self.log_batches
        };
        u64::from(chunks) * ((items << self.log_batches) + (Self::OVER_LANES << lanes))
    }

    /// The combinations that a lane makes over lanes, besides those of its own items.
    const OVER_LANES: u64 = 4;

    /// The most chunks of a group: `BlockFolder::MOST_CHUNKS` in `kernels/engines/rows_reduce.cuh`.
    /// Each has a warp that publishes its sum.
    const MOST_IN_GROUP: u32 = 8;

    /// The size of the workspace in bytes: 0 for short inputs. It grows with the length, so it is
    /// enough for all plans for shorter inputs.
    pub fn workspace_bytes<T: Element>(
        (rows, policy): (RowPolicy, ReducePolicy),
        length: usize,
    ) -> usize {
        let batches = (length as u64).div_ceil(rows.elements());
        if batches <= u64::from(policy.alone.min(rows.warps)) {
            return 0;
        }
        // Blocks have two warps or more.
        let sums = batches.div_ceil(2).min(policy.chunks.into());
        sums_bytes::<T>(sums, MOST_AT_ONCE)
    }
}

/// Chunks that are handed out have this many bytes, or less if there would be few of them.
const CHUNK_BYTES: u64 = 256 << 10;
const FEW_CHUNKS: u64 = 768;

/// The least number for which a condition holds.
fn least(holds: impl Fn(u32) -> bool) -> u32 {
    (0..).find(|&n| holds(n)).expect("it holds for some number")
}
