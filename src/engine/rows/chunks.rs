//! How a reduction in one launch is cut up.

use crate::engine::tuning::plans::{BYTES_A_CHUNK, CHUNK_BYTES, FEWEST_WARPS, groups};
use crate::engine::{Layouts, MOST_AT_ONCE, Order, ReducePolicy, RowPolicy, Way, sums_bytes};

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
    /// How many long chunks there are. They come first.
    pub long_ones: u32,
    /// Chunks [0, long_ones) have 2^(log_length + log_ratio) elements, the others 2^log_length.
    pub log_length: u32,
    /// A warp folds a part of a chunk: 2^(log_batches + log_ratio) batches of a long one,
    /// 2^log_batches of another.
    pub log_batches: u32,
    /// How much longer the long chunks are, as a power of two.
    pub log_ratio: u32,
    /// If more than 1, a block folds one group of so many chunks, or one chunk less, which its
    /// warps share. If 1, blocks that are done take further chunks.
    pub at_once: u32,
    /// Blocks [0, larger) have groups of `at_once` chunks, the others of one chunk less.
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

    /// About how long so many blocks need if they take chunks in turn, of elements of so many
    /// bytes. The unit is what a block needs for a byte.
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
    /// The most items of a reduction.
    pub const MOST_ITEMS: u64 = 1 << 40;

    /// The plan for `length` elements of type `T`, no more than [`MOST_ITEMS`](Self::MOST_ITEMS),
    /// on a GPU of this many multiprocessors, with a kernel that was compiled with `rows`.
    pub fn new(
        layouts: Layouts,
        (rows, policy): (RowPolicy, ReducePolicy),
        order: Order,
        length: usize,
        multiprocessors: u32,
    ) -> ReducePlan {
        let length = (length, layouts.item.size());
        ReducePlan::of((rows, policy), order, length, multiprocessors)
    }

    /// The plan for so many elements of so many bytes each.
    pub(crate) fn of(
        (rows, policy): (RowPolicy, ReducePolicy),
        order: Order,
        (length, element_bytes): (usize, usize),
        multiprocessors: u32,
    ) -> ReducePlan {
        let batch = rows.elements();
        let (length, batches) = (length as u64, (length as u64).div_ceil(batch));
        if batches <= u64::from(policy.alone.min(rows.warps)) {
            return ReducePlan::in_one_block(32 * batches.max(1) as u32);
        }
        let bytes = length * element_bytes as u64;
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

    /// Plans whose last chunks are shorter, so that blocks are done at about the same time: all
    /// that have up to `most` short ones.
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

    /// The plan that takes the least time, by an estimate, of those with a group of chunks for each
    /// multiprocessor. Chunks have a batch, or 2, 4 and so on.
    fn balanced(
        (rows, policy): (RowPolicy, ReducePolicy),
        length: u64,
        multiprocessors: u32,
    ) -> ReducePlan {
        /// There are four times fewer chunks than multiprocessors at the least.
        const LOG_FEWER: u32 = 2;
        /// The most elements of a chunk: a kernel has 32 bits for what fills none.
        const LOG_MOST_CHUNK: u32 = 31;
        // Each call makes a plan. Chunks are powers of two, so lengths are shifted, not divided.
        let log_batch = rows.elements().ilog2();
        let chunks_of = |log_size: u32| ((length - 1) >> (log_batch + log_size)) + 1;
        let places = multiprocessors.max(2);
        let few = u64::from(places.min(policy.chunks));
        let longest = least(|log_size| chunks_of(log_size) <= few) + LOG_FEWER;
        let longest = longest.min(LOG_MOST_CHUNK - log_batch);
        let cuts = (0..=longest).filter_map(|log_size| {
            let chunks = chunks_of(log_size);
            (chunks <= policy.chunks.into())
                .then(|| Cut::new(rows.warps, log_size, chunks as u32, places))
        });
        let best = cuts.min_by_key(|cut| cut.cost(rows));
        let best = best.expect("each multiprocessor may have a chunk");
        let (size, length) = ((best.log_size, best.log_batches), length as usize);
        ReducePlan::with_groups(rows, length, best.warps, size, places.into())
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

    /// The plan in the law's order for blocks of `warps`, a power of two, that have a group of
    /// chunks each. Chunks have 2^log_size batches, and their parts 2^log_batches. There are as
    /// many groups as there are places, which are two or more. One group has at most one chunk more
    /// than another.
    pub fn with_groups(
        rows: RowPolicy,
        length: usize,
        warps: u32,
        (log_size, log_batches): (u32, u32),
        places: u64,
    ) -> ReducePlan {
        let chunk = rows.elements() << log_size;
        let whole = (length as u64 / chunk) as u32;
        let rest = u32::from(!(length as u64).is_multiple_of(chunk));
        let chunks = whole.max(1);
        let groups = (places as u32 - rest).min(chunks);
        let at_once = chunks.div_ceil(groups);
        ReducePlan {
            blocks: groups.min(whole) + rest,
            threads: 32 * warps,
            chunks: Chunks {
                count: whole,
                log_length: chunk.ilog2(),
                log_batches,
                at_once,
                larger: chunks - groups * (at_once - 1),
                ..Chunks::NONE
            },
        }
    }

    /// The most parts of a group: `BlockFolder::MOST_PARTS` in `kernels/engines/rows_fold.cuh`.
    /// A block has room for their sums.
    const MOST_PARTS: u32 = 256;

    /// The size of the workspace in bytes: 0 for short inputs. It grows with the length, so it is
    /// enough for all plans for shorter inputs.
    pub fn workspace_bytes(
        layouts: Layouts,
        (rows, policy): (RowPolicy, ReducePolicy),
        length: usize,
    ) -> usize {
        let batches = (length as u64).div_ceil(rows.elements());
        if batches <= u64::from(policy.alone.min(rows.warps)) {
            return 0;
        }
        // Chunks that are taken in turn may have two lengths.
        let lengths = 1 + u64::from(rows.in_turn);
        let sums = batches.min(lengths * u64::from(policy.chunks));
        sums_bytes(layouts, sums, MOST_AT_ONCE)
    }
}

/// A way to cut an input into groups of chunks of 2^log_size batches, one for each place.
#[derive(Debug, Clone, Copy)]
struct Cut {
    log_size: u32,
    /// What fills no chunk counts as one.
    chunks: u32,
    /// The parts of a group, at most.
    parts: u32,
    log_batches: u32,
    /// The warps of a block, no more than it has work for.
    warps: u32,
}

impl Cut {
    fn new(most_warps: u32, log_size: u32, chunks: u32, places: u32) -> Cut {
        // What fills no chunk may take a place.
        let at_once = if chunks > places {
            chunks.div_ceil(places - 1)
        } else {
            1
        };
        let mut log_parts = log_size.min(most_warps.ilog2());
        while at_once << log_parts > ReducePlan::MOST_PARTS && log_parts > 0 {
            log_parts -= 1;
        }
        let parts = at_once << log_parts;
        Cut {
            log_size,
            chunks,
            parts,
            log_batches: log_size - log_parts,
            warps: parts.next_power_of_two().max(2).min(most_warps),
        }
    }

    /// About how long it takes to fold the chunks, and to collect their sums.
    fn cost(self, rows: RowPolicy) -> u64 {
        use groups::{NODES, OVER_LANES, ROUND, SIDE_BY_SIDE, SUMS_A_BATCH, WARP};
        let items = u64::from(rows.run * rows.rows);
        let batch = items + OVER_LANES;
        let of_part = match rows.way {
            Way::Grouped => (items << self.log_batches) + OVER_LANES,
            _ => batch << self.log_batches,
        };
        let [parts, warps] = [self.parts, self.warps].map(u64::from);
        let turns = parts.div_ceil(warps);
        let folding = (SIDE_BY_SIDE * parts + turns * u64::from(rows.warps)) * of_part;
        let node = 32 * rows.sums;
        let rounds = u64::from(self.chunks.div_ceil(node * self.warps));
        let collecting = ROUND * rounds + NODES * u64::from(self.chunks > node);
        if self.parts > ReducePlan::MOST_PARTS {
            return u64::MAX;
        }
        SUMS_A_BATCH * (folding + collecting + WARP * warps) + u64::from(self.chunks) * batch
    }
}

/// The least number for which a condition holds.
fn least(holds: impl Fn(u32) -> bool) -> u32 {
    (0..).find(|&n| holds(n)).expect("it holds for some number")
}
