//! How a reduction in one launch is cut up.

use crate::Element;
use crate::codegen::{MOST_AT_ONCE, Order, ReducePolicy, RowPolicy, sums_bytes};

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
    /// A block folds so many chunks at once. If they are more than 1, each block has one such
    /// group. Otherwise blocks that are done take further chunks.
    pub at_once: u32,
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
            return ReducePlan {
                blocks: 1,
                threads: 32 * batches.max(1) as u32,
                chunks: 0,
                log_chunk: 0,
                log_batches: 0,
                at_once: 1,
            };
        }
        // With more blocks, the last one collects their sums for longer. With fewer, each of them
        // takes longer.
        let (fewest_warps, enough_blocks) = match order {
            Order::Any => (4, multiprocessors),
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
                    let chunks = (bytes / CHUNK_BYTES).clamp(FEW_CHUNKS, policy.chunks.into());
                    cut(least(|log_batches| tasks(log_batches) <= chunks))
                } else if tasks(log_batches) <= multiprocessors.into()
                    || (log_batches == 0 && (size_of::<T>() <= 2 || fills_nodes))
                {
                    cut(log_batches)
                } else {
                    // One block a multiprocessor, of all warps: there is less to collect. But two
                    // wait for each other less, if a warp has one batch of many elements, or if
                    // sums are collected as quickly.
                    let places = (resident / u64::from(policy.blocks)).max(2);
                    let (length, most_chunks) = (length as usize, policy.chunks);
                    ReducePlan::with_groups(rows, length, rows.warps, places, most_chunks)
                }
            }
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
        }
    }

    /// The plan in the law's order with a group of chunks for each of up to `places` blocks, which
    /// are two or more. All blocks have about as much to fold, and there are as few chunks as that
    /// takes.
    pub fn with_groups(
        rows: RowPolicy,
        length: usize,
        warps: u32,
        places: u64,
        most_chunks: u32,
    ) -> ReducePlan {
        let with = |log_batches: u32| {
            let plan = ReducePlan::with_chunks(rows, length, warps, log_batches, u64::MAX);
            let rest = plan.blocks - plan.chunks;
            let at_once = (plan.chunks.max(1)).div_ceil(places as u32 - rest);
            ReducePlan {
                blocks: plan.chunks.div_ceil(at_once) + rest,
                at_once,
                ..plan
            }
        };
        let fits = |plan: &ReducePlan| {
            plan.at_once <= ReducePlan::MOST_IN_GROUP.min(warps) && plan.chunks <= most_chunks
        };
        let first = least(|log_batches| fits(&with(log_batches)));
        let plans = (first..).map(with);
        let last = plans.clone().position(|plan| plan.at_once == 1);
        let plans = plans.take(last.expect("one chunk is enough in the end") + 1);
        // The last of those that fold the least in the slowest block.
        let slowest = |plan: &ReducePlan| plan.at_once << plan.log_batches;
        let best = plans.reduce(|best, plan| {
            if slowest(&plan) <= slowest(&best) {
                plan
            } else {
                best
            }
        });
        best.expect("there is one")
    }

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
