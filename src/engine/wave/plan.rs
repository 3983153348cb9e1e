//! How the wave engine cuts an input up.

use super::WavePolicy;
use crate::engine::{Layouts, sums_bytes, tiles};

/// One call of the wave engine: a single launch.
#[derive(Debug, Clone, Copy)]
pub struct WavePlan {
    pub(crate) policy: WavePolicy,
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
    pub fn workspace_bytes(&self, layouts: Layouts) -> usize {
        sums_bytes(layouts, self.tiles(true), self.policy.wave.into())
    }

    /// The number of threads of a block.
    pub fn threads(&self) -> u32 {
        self.policy.threads()
    }
}
