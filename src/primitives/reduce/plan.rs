//! How a reduction in one launch is cut up.

use crate::Element;
use crate::codegen::{MOST_AT_ONCE, Order, ReducePolicy, RowPolicy, Way, sums_bytes};

/// One reduction in a single launch: the number of blocks, and in the law's order, how the input is
/// cut into chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReducePlan {
    /// The number of blocks, which the GPU holds at once.
    pub blocks: u32,
    /// The number of threads of a block. If there are several blocks, it is a power of two of
    /// warps.
    pub threads: u32,
    /// The whole chunks: none if there is one block, or in any order.
    pub chunks: Chunks,
}

/// How an input is cut into chunks: `Chunks` in `kernels/grid/chunks.cuh`. Their sums are those of
/// aligned blocks, whatever their lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Chunks {
    /// The number of chunks.
    pub count: u32,
    /// The first chunks, so many, are longer than the others.
    pub long_ones: u32,
    /// The others have 2^log_length elements,
    pub log_length: u32,
    /// of which every warp of a block folds 2^log_batches batches.
    pub log_batches: u32,
    /// The first ones have 2^log_ratio times as many of both.
    pub log_ratio: u32,
    /// A block folds so many chunks at once, or one less. If they are more than 1, each block has
    /// one such group. Otherwise blocks that are done take further chunks.
    pub at_once: u32,
    /// The first blocks, so many, fold `at_once` chunks. The others fold one less.
    pub larger: u32,
}

impl Chunks {
    /// No chunks.
    pub const NONE: Chunks = Chunks {
        count: 0,
        long_ones: 0,
        log_length: 0,
        log_batches: 0,
        log_ratio: 0,
        at_once: 1,
        larger: u32::MAX,
    };

    /// About how long so many blocks need if they take chunks in turn, of elements of so many bytes.
    /// The unit is what a block needs for a byte.
    fn time_in_turn(self, blocks: u64, element: u64) -> u64 {
        let [short, long] = [0, self.log_ratio]
            .map(|longer| (element << (self.log_length + longer)) + BYTES_A_CHUNK);
        let long_ones = u64::from(self.long_ones);
        let short_ones = u64::from(self.count) - long_ones;
        // Blocks that have a chunk less than others wait for them.
        let rounds = match long_ones {
            0 => short_ones.div_ceil(blocks) * short,
            _ => long_ones.div_ceil(blocks) * long,
        };
        // Blocks are not as fast as each other. So the last one is done half of a chunk, one of the
        // last ones, after its fair share.
        let share = (long_ones * long + short_ones * short) / blocks;
        rounds.max(share + short / 2)
    }

    /// The elements of all chunks.
    pub fn elements(self) -> u64 {
        let more = (u64::from(self.long_ones) << self.log_ratio) - u64::from(self.long_ones);
        (u64::from(self.count) + more) << self.log_length
    }
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
        let bytes = length * size_of::<T>() as u64;
        match order {
            Order::Any => ReducePlan::in_any_order((rows, policy), batches, multiprocessors),
            Order::Law if rows.in_turn => {
                ReducePlan::in_turn((rows, policy), (length, bytes), multiprocessors)
            }
            Order::Law => ReducePlan::balanced((rows, policy), length, multiprocessors),
        }
    }

    /// The plan for so many batches in any order. With more blocks, the last one collects their
    /// sums for longer. With fewer, each of them takes longer.
    fn in_any_order(
        (rows, policy): (RowPolicy, ReducePolicy),
        batches: u64,
        multiprocessors: u32,
    ) -> ReducePlan {
        const FEWEST_WARPS: u32 = 4;
        let mut warps = FEWEST_WARPS;
        while warps < rows.warps / policy.blocks
            && batches.div_ceil(warps.into()) > multiprocessors.into()
        {
            warps *= 2;
        }
        let resident = policy.resident(multiprocessors);
        ReducePlan {
            blocks: batches.div_ceil(warps.into()).min(resident) as u32,
            ..ReducePlan::in_one_block(32 * warps)
        }
    }

    /// The plan for a long input of so many elements and bytes: blocks take chunks in turn. Of all
    /// chunks that are not too short or too many, it has those that take the least time, by an
    /// estimate.
    fn in_turn(
        (rows, policy): (RowPolicy, ReducePolicy),
        (length, bytes): (u64, u64),
        multiprocessors: u32,
    ) -> ReducePlan {
        let warps = rows.warps / policy.blocks;
        let chunk = rows.elements() * u64::from(warps);
        if length <= chunk {
            return ReducePlan::in_one_block(32 * length.div_ceil(rows.elements()) as u32);
        }
        let most = (bytes / CHUNK_BYTES).clamp(2, policy.chunks.into());
        let fewest = least(|log_batches| length.div_ceil(chunk << log_batches) <= most);
        let blocks = policy.resident(multiprocessors).max(2);
        let cuts = (fewest..fewest + 2).flat_map(|log_batches| {
            let plan = ReducePlan::with_chunks(rows, length as usize, warps, log_batches, blocks);
            std::iter::once(plan).chain(plan.with_short_ones_last(length, policy.chunks))
        });
        let best = cuts.min_by_key(|plan| plan.chunks.time_in_turn(blocks, bytes / length));
        best.expect("there is a plan")
    }

    /// The same, but the last chunks are shorter, so that blocks are done at about the same time:
    /// all ways that have up to `most` of them.
    ///
    /// Where the long chunks end, one of the aligned blocks of the input ends. So the sums of both
    /// are sums of aligned blocks by themselves.
    pub fn with_short_ones_last(self, length: u64, most: u32) -> impl Iterator<Item = ReducePlan> {
        /// How much shorter they may be, as a power of two.
        const MOST_RATIO: u32 = 2;
        let long = self.chunks;
        (1..=long.log_batches.min(MOST_RATIO)).flat_map(move |log_ratio| {
            let log_length = long.log_length - log_ratio;
            let all = length >> log_length;
            let of_long_ones = all >> log_ratio << log_ratio;
            // Without the lowest bits, one more each time.
            let without_lowest = |end: &u64| end.checked_sub(1).map(|less| end & less);
            let ends = std::iter::successors(Some(of_long_ones), without_lowest);
            let ends = ends.take_while(move |end| *end > 0 && all - end <= most.into());
            ends.filter(move |end| *end < all).map(move |end| {
                let long_ones = (end >> log_ratio) as u32;
                let chunks = Chunks {
                    count: long_ones + (all - end) as u32,
                    long_ones,
                    log_length,
                    log_batches: long.log_batches - log_ratio,
                    log_ratio,
                    ..long
                };
                ReducePlan { chunks, ..self }
            })
        })
    }

    /// The plan that takes the least time, by an estimate: of those with a chunk for each block, or
    /// a group of chunks. In blocks of all warps a warp has one batch of a chunk, or 2, 4 and so on,
    /// until there is no more than a chunk for each multiprocessor. In blocks of fewer warps it has
    /// one.
    fn balanced(
        (rows, policy): (RowPolicy, ReducePolicy),
        length: u64,
        multiprocessors: u32,
    ) -> ReducePlan {
        // Each call makes a plan. Chunks are powers of two, so lengths are shifted, not divided.
        let log_batch = rows.elements().ilog2();
        let [fewest, all] = [policy.fewest_warps.min(rows.warps), rows.warps].map(u32::ilog2);
        let chunks_of = |log_warps: u32, log_batches: u32| {
            ((length - 1) >> (log_batch + log_warps + log_batches)) + 1
        };
        let most = u64::from(multiprocessors.min(policy.chunks));
        let longest = least(|log_batches| chunks_of(all, log_batches) <= most);
        let of_fewer = (fewest..all).map(|log_warps| (log_warps, 0));
        let cuts = of_fewer.chain((0..=longest).map(|log_batches| (all, log_batches)));
        let fitting = cuts.filter_map(|(log_warps, log_batches)| {
            let cut = Cut {
                warps: 1 << log_warps,
                log_batches,
                chunks: u32::try_from(chunks_of(log_warps, log_batches)).ok()?,
                places: (multiprocessors << (all - log_warps)).max(2),
            };
            (cut.chunks <= policy.chunks && cut.fits()).then_some(cut)
        });
        let best = fitting.min_by_key(|cut| cut.cost((rows, policy), multiprocessors));
        let best = best.expect("each multiprocessor may have a chunk");
        let (length, places) = (length as usize, best.places.into());
        ReducePlan::with_groups(rows, length, best.warps, best.log_batches, places)
    }

    /// The plan of one block of so many threads.
    pub fn in_one_block(threads: u32) -> ReducePlan {
        ReducePlan {
            blocks: 1,
            threads,
            chunks: Chunks::NONE,
        }
    }

    /// The plan in the law's order: chunks of 2^log_batches batches for each of `warps`, a power of
    /// two, and up to this many blocks. There are fewer of them than chunks only if they take
    /// chunks in turn.
    pub fn with_chunks(
        rows: RowPolicy,
        length: usize,
        warps: u32,
        log_batches: u32,
        most_blocks: u64,
    ) -> ReducePlan {
        let chunk = (rows.elements() * u64::from(warps)) << log_batches;
        debug_assert!(rows.in_turn || (length as u64).div_ceil(chunk) <= most_blocks);
        ReducePlan {
            blocks: (length as u64).div_ceil(chunk).min(most_blocks) as u32,
            threads: 32 * warps,
            chunks: Chunks {
                count: (length as u64 / chunk) as u32,
                log_length: chunk.ilog2(),
                log_batches,
                ..Chunks::NONE
            },
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
        let whole = plan.chunks.count;
        let (chunks, rest) = (whole.max(1), plan.blocks - whole);
        let groups = (places as u32 - rest).min(chunks);
        let at_once = chunks.div_ceil(groups);
        ReducePlan {
            blocks: groups.min(whole) + rest,
            chunks: Chunks {
                at_once,
                larger: chunks - groups * (at_once - 1),
                ..plan.chunks
            },
            ..plan
        }
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
        // Blocks have two warps or more. Chunks that are taken in turn may have two lengths.
        let lengths = 1 + u64::from(rows.in_turn);
        let sums = batches.div_ceil(2).min(lengths * u64::from(policy.chunks));
        sums_bytes::<T>(sums, MOST_AT_ONCE)
    }
}

/// A way to cut an input into chunks of 2^log_batches batches for each of some warps.
#[derive(Debug, Clone, Copy)]
struct Cut {
    warps: u32,
    log_batches: u32,
    /// What fills no chunk counts as one.
    chunks: u32,
    /// How many blocks of so many warps the GPU holds at once.
    places: u32,
}

impl Cut {
    /// Whether no group has too many chunks. What fills no chunk may take a place.
    fn fits(self) -> bool {
        self.chunks <= (self.places - 1) * ReducePlan::MOST_IN_GROUP.min(self.warps)
    }

    /// About how long it takes to fold the chunks, and to collect their sums. The unit is a
    /// combination of a lane, over `chunks_a_batch`.
    fn cost(self, (rows, policy): (RowPolicy, ReducePolicy), multiprocessors: u32) -> u64 {
        /// What is folded over lanes counts as so many more items: of each batch, or if batches
        /// are grouped, of each chunk.
        const OVER_LANES: u64 = 4;
        /// Where some blocks of fewer warps than there might be have a further chunk, the others
        /// are done long before. That counts as so many batches.
        const FURTHER_CHUNK: u64 = 4;
        let items = u64::from(rows.run * rows.rows);
        let batch = items + OVER_LANES;
        let of_warp = match rows.way {
            Way::Grouped => (items << self.log_batches) + OVER_LANES,
            _ => batch << self.log_batches,
        };
        let busiest = u64::from(self.chunks.div_ceil(multiprocessors) * self.warps);
        let has_further = self.warps < rows.warps && self.chunks > self.places;
        let has_nodes = self.chunks > 32 * rows.sums;
        let more_batches =
            u64::from(has_further) * FURTHER_CHUNK + u64::from(has_nodes) * policy.node_batches;
        let folding = busiest * of_warp + more_batches * batch;
        policy.chunks_a_batch * folding + u64::from(self.chunks) * batch
    }
}

/// Chunks that are taken in turn have this many bytes or more, but for the last ones.
const CHUNK_BYTES: u64 = 256 << 10;

/// What a block waits for after a chunk takes as long as so many bytes.
const BYTES_A_CHUNK: u64 = 16 << 10;

/// The least number for which a condition holds.
fn least(holds: impl Fn(u32) -> bool) -> u32 {
    (0..).find(|&n| holds(n)).expect("it holds for some number")
}
