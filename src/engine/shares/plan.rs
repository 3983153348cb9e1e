//! How the shares engine cuts an input up.

use super::SharePolicy;
use crate::engine::workspace::summed_bytes;
use crate::engine::{Layouts, tiles};

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
    pub fn workspace_bytes(&self, layouts: Layouts) -> usize {
        summed_bytes(layouts, 1, self.tiles(true))
    }

    /// The number of threads of a block.
    pub fn threads(&self) -> u32 {
        self.policy.threads()
    }

    /// The bytes of shared memory of a block.
    pub fn shared_bytes(&self, layouts: Layouts) -> u32 {
        self.policy.shared_bytes(layouts)
    }
}
