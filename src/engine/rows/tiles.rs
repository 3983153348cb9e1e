//! How what has a result for each item is cut into tiles: a scan, a select.

use crate::engine::tuning::plans::{ALONE_WARPS, LONG_ROUNDS, LONG_WARPS, MOST_BLOCKS};
use crate::engine::workspace::summed_bytes;
use crate::engine::{Layouts, RowPolicy, tiles};

/// One scan by the rows engine (`Engine::Rows`): a single launch, of a block a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanPlan {
    /// The number of blocks. An inclusive scan by several ends with one whose tile is not full; it
    /// may be empty.
    pub blocks: u64,
    /// The number of warps of a block, a power of two.
    pub warps: u32,
    /// Whether the GPU cannot hold all blocks at once. Then they take tiles in the order in which
    /// they start.
    pub by_ticket: bool,
}

impl ScanPlan {
    /// The plan for `length` elements, on a GPU of this many multiprocessors.
    pub fn new(
        policy: RowPolicy,
        length: usize,
        inclusive: bool,
        multiprocessors: u32,
    ) -> ScanPlan {
        let most = policy.warps;
        let (length, share) = (length as u64, policy.elements());
        if length <= share * u64::from(most.min(ALONE_WARPS)) {
            let warps = length.div_ceil(share).max(1).next_power_of_two() as u32;
            return ScanPlan {
                blocks: 1,
                warps,
                by_ticket: false,
            };
        }
        // With more blocks, exchanging sums takes longer. With fewer, each of them takes longer.
        let enough = |(warps, blocks): (u32, u64)| blocks * u64::from(warps) * share >= length;
        let mut few = MOST_BLOCKS.into_iter();
        let warps = few
            .find(|&row| enough(row))
            .map_or(most, |(warps, _)| warps);
        let warps = warps.min(most);
        let plan = |warps| {
            ScanPlan::with_warps(policy, length as usize, inclusive, multiprocessors, warps)
        };
        match plan(warps) {
            long if long.by_ticket => plan(warps.min(LONG_WARPS)),
            plan => plan,
        }
    }

    /// Whether there are more than two blocks for each multiprocessor, at once or one after the
    /// other. If so, the wave engine is worth it: it is slower to start, but loads while it stores.
    pub fn is_long(&self, multiprocessors: u32) -> bool {
        self.blocks > LONG_ROUNDS * u64::from(multiprocessors)
    }

    /// The plan for several blocks of this many warps, a power of two.
    pub fn with_warps(
        policy: RowPolicy,
        length: usize,
        inclusive: bool,
        multiprocessors: u32,
        warps: u32,
    ) -> ScanPlan {
        let (length, tile) = (length as u64, policy.elements() * u64::from(warps));
        let blocks = tiles(length, tile, inclusive);
        ScanPlan {
            blocks,
            warps,
            by_ticket: blocks > u64::from(multiprocessors) * u64::from(policy.blocks),
        }
    }

    /// The size of the workspace in bytes, for this length and all shorter ones: the header, and 16
    /// bytes for each 8 of the sums of tiles, of groups of tiles, of groups of groups.
    pub fn workspace_bytes(layouts: Layouts, policy: RowPolicy, length: usize) -> usize {
        let most = policy.warps;
        if length as u64 <= policy.elements() * u64::from(most.min(ALONE_WARPS)) {
            return 0;
        }
        // The most tiles that this length or a shorter one is cut into.
        let shortest = policy.elements() * u64::from(most.min(LONG_WARPS));
        let [.., (_, few)] = MOST_BLOCKS;
        let tiles = (length as u64 / shortest).max(few) + 1;
        ScanPlan::workspace_bytes_for(layouts, policy, tiles)
    }

    /// The size of the workspace in bytes for this many blocks.
    pub fn workspace_bytes_for(layouts: Layouts, policy: RowPolicy, blocks: u64) -> usize {
        summed_bytes(layouts, policy.sums, blocks)
    }
}
