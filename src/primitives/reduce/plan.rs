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
        if batches <= u64::from(policy.alone) {
            return ReducePlan {
                blocks: 1,
                threads: 32 * batches.max(1) as u32,
                chunks: 0,
                log_chunk: 0,
                log_batches: 0,
            };
        }
        // With more blocks, the last one collects their sums for longer. With fewer, each of them
        // takes longer.
        let (fewest_warps, enough_blocks) = match order {
            Order::Any => (4, multiprocessors),
            Order::Law => (2, multiprocessors / 2),
        };
        let mut warps = fewest_warps;
        while warps < policy.threads / 32 && batches.div_ceil(warps.into()) > enough_blocks.into() {
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
            },
            Order::Law => {
                let cut = |warps: u32, log_batches: u32| {
                    ReducePlan::with_chunks(rows, length as usize, warps, log_batches, resident)
                };
                let tasks =
                    |log_batches: u32| length.div_ceil((batch * u64::from(warps)) << log_batches);
                let log_batches = least(|log_batches| tasks(log_batches) <= resident);
                // If some multiprocessors get two chunks and others one, and that takes long, it
                // pays to hand out shorter chunks. If nearly all get two, one of twice the warps
                // may as well take both: there is less to collect.
                let (tasks_at_once, one_each) = (tasks(log_batches), multiprocessors.into());
                let nearly_all = resident - resident / 4;
                let uneven = tasks_at_once > one_each && tasks_at_once < nearly_all;
                let bytes = length * size_of::<T>() as u64;
                if bytes > MOST_BYTES_AT_ONCE || (uneven && bytes > MOST_BYTES_UNEVENLY) {
                    let chunks = (bytes / CHUNK_BYTES).clamp(FEW_CHUNKS, policy.chunks.into());
                    cut(warps, least(|log_batches| tasks(log_batches) <= chunks))
                } else if tasks_at_once > one_each && !uneven && 64 * warps <= policy.most_threads {
                    cut(2 * warps, log_batches)
                } else {
                    cut(warps, log_batches)
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
        }
    }

    /// The size of the workspace in bytes: 0 for short inputs. It grows with the length, so it is
    /// enough for all plans for shorter inputs.
    pub fn workspace_bytes<T: Element>(
        (rows, policy): (RowPolicy, ReducePolicy),
        length: usize,
    ) -> usize {
        let batches = (length as u64).div_ceil(rows.elements());
        if batches <= u64::from(policy.alone) {
            return 0;
        }
        // Blocks have two warps or more.
        let sums = batches.div_ceil(2).min(policy.chunks.into());
        sums_bytes::<T>(sums, MOST_AT_ONCE)
    }
}

/// Up to this many bytes each block folds one chunk; beyond, chunks are handed out.
const MOST_BYTES_AT_ONCE: u64 = 128 << 20;
/// The same, if it leaves some multiprocessors less than others.
const MOST_BYTES_UNEVENLY: u64 = 32 << 20;

/// Chunks that are handed out have this many bytes, or less if there would be few of them.
const CHUNK_BYTES: u64 = 128 << 10;
const FEW_CHUNKS: u64 = 768;

/// The least number for which a condition holds.
fn least(holds: impl Fn(u32) -> bool) -> u32 {
    (0..).find(|&n| holds(n)).expect("it holds for some number")
}
