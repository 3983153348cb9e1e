//! How a scan in one launch is cut up.

use crate::Element;
use crate::codegen::{MOST_AT_ONCE, RowPolicy, SharePolicy, WavePolicy, sums_bytes};

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
        if length <= share * u64::from(most.min(Self::ALONE_WARPS)) {
            let warps = length.div_ceil(share).max(1).next_power_of_two() as u32;
            return ScanPlan {
                blocks: 1,
                warps,
                by_ticket: false,
            };
        }
        // With more blocks, exchanging sums takes longer. With fewer, each of them takes longer.
        let enough = |(warps, blocks): (u32, u64)| blocks * u64::from(warps) * share >= length;
        let mut few = Self::MOST_BLOCKS.into_iter();
        let warps = few
            .find(|&row| enough(row))
            .map_or(most, |(warps, _)| warps);
        let warps = warps.min(most);
        let plan = |warps| {
            ScanPlan::with_warps(policy, length as usize, inclusive, multiprocessors, warps)
        };
        match plan(warps) {
            long if long.by_ticket => plan(warps.min(Self::LONG_WARPS)),
            plan => plan,
        }
    }

    /// Whether there are more than two blocks for each multiprocessor, at once or one after the
    /// other. If so, the wave engine is worth it: it is slower to start, but loads while it stores.
    pub fn is_long(&self, multiprocessors: u32) -> bool {
        self.blocks > 2 * u64::from(multiprocessors)
    }

    /// The most warps of a block for inputs that the GPU does not hold at once. Two blocks then
    /// share a multiprocessor: one loads while the other waits.
    const LONG_WARPS: u32 = 8;

    /// The same with blocks of this many warps, a power of two; for several blocks.
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

    /// The most warps of a block that is alone. Two of half as many warps take less time.
    const ALONE_WARPS: u32 = 8;

    /// How many blocks of so many warps are better than half as many of twice as many warps.
    const MOST_BLOCKS: [(u32, u64); 4] = [(1, 8), (2, 16), (4, 52), (8, 128)];

    /// The size of the workspace in bytes, for this length and all shorter ones: the header, and 16
    /// bytes for each 8 of the sums of tiles, of groups of tiles, of groups of groups.
    pub fn workspace_bytes<T: Element>(policy: RowPolicy, length: usize) -> usize {
        let most = policy.warps;
        if length as u64 <= policy.elements() * u64::from(most.min(Self::ALONE_WARPS)) {
            return 0;
        }
        // The most tiles that this length or a shorter one is cut into.
        let shortest = policy.elements() * u64::from(most.min(Self::LONG_WARPS));
        let [.., (_, few)] = Self::MOST_BLOCKS;
        let tiles = (length as u64 / shortest).max(few) + 1;
        ScanPlan::workspace_bytes_for::<T>(policy, tiles)
    }

    /// The size of the workspace in bytes for this many blocks.
    pub fn workspace_bytes_for<T: Element>(policy: RowPolicy, blocks: u64) -> usize {
        summed_bytes::<T>(policy.sums, blocks)
    }
}

/// One call of the shares engine: a single launch.
#[derive(Debug, Clone, Copy)]
pub struct SharePlan {
    policy: SharePolicy,
    length: u64,
}

impl SharePlan {
    /// The plan for `length` elements.
    pub fn new(policy: SharePolicy, length: usize) -> SharePlan {
        SharePlan {
            policy,
            length: length as u64,
        }
    }

    /// The number of tiles, each of which is a block's. An inclusive scan by several ends with one
    /// that is not full; it may be empty.
    pub fn tiles(&self, inclusive: bool) -> u64 {
        let tile = self.policy.tile();
        tiles(self.length, tile, inclusive && self.length > tile)
    }

    /// Whether blocks may start before what precedes the launch on the stream has ended. If they
    /// fill more than half of the GPU, but not all of it, those of the launch before leave room on
    /// some multiprocessors alone, which would get too many.
    pub fn overlaps(&self, inclusive: bool, multiprocessors: u32) -> bool {
        let tiles = self.tiles(inclusive);
        let room = u64::from(self.policy.blocks) * u64::from(multiprocessors);
        2 * tiles <= room || tiles > room
    }

    /// Whether blocks take tiles in the order in which they start: where there are several.
    pub fn by_ticket(&self, inclusive: bool) -> bool {
        self.tiles(inclusive) > 1
    }

    /// The size of the workspace in bytes, for this length and all shorter ones.
    pub fn workspace_bytes<T: Element>(&self) -> usize {
        summed_bytes::<T>(1, self.tiles(true))
    }

    /// The number of threads of a block.
    pub fn threads(&self) -> u32 {
        self.policy.threads()
    }

    /// The bytes of shared memory of a block.
    pub fn shared_bytes<T: Element>(&self) -> u32 {
        self.policy.shared_bytes::<T>()
    }
}

/// The number of tiles. Those of an inclusive scan end with one that is not full.
fn tiles(length: u64, tile: u64, inclusive: bool) -> u64 {
    if inclusive {
        length / tile + 1
    } else {
        length.div_ceil(tile)
    }
}

/// The size of the workspace in bytes for the sums of so many tiles, of groups of tiles, of groups
/// of groups; a lane reads `sums` of them at once.
fn summed_bytes<T: Element>(sums: u32, tiles: u64) -> usize {
    let radix = u64::from(32 * sums);
    let levels = std::iter::successors(Some(tiles), |&nodes| {
        (nodes >= radix).then_some(nodes / radix)
    });
    sums_bytes::<T>(levels.map(|nodes| nodes + 1).sum(), MOST_AT_ONCE)
}

/// One call of the wave engine: a single launch.
#[derive(Debug, Clone, Copy)]
pub struct WavePlan {
    pub(super) policy: WavePolicy,
    length: u64,
}

impl WavePlan {
    /// The plan for `length` elements.
    pub fn new(policy: WavePolicy, length: usize) -> WavePlan {
        WavePlan {
            policy,
            length: length as u64,
        }
    }

    /// The number of tiles. An inclusive scan ends with a tile that is not full; it may be empty.
    pub fn tiles(&self, inclusive: bool) -> u64 {
        tiles(self.length, self.policy.tile(), inclusive)
    }

    /// The size of the workspace in bytes for elements of type `T`: the header, and 16 bytes for
    /// each 8 of every tile's sum. Sums come in whole waves, as they lie in memory.
    pub fn workspace_bytes<T: Element>(&self) -> usize {
        sums_bytes::<T>(self.tiles(true), self.policy.wave.into())
    }

    /// The number of threads of a block.
    pub fn threads(&self) -> u32 {
        self.policy.threads()
    }
}
