//! *Shares*: all tiles in one launch, with the fewest combinations and little code.

mod plan;

pub use plan::SharePlan;

use super::tuning::rows;
use super::{Layouts, RowPolicy};

/// What a block of the shares engine ([`Engine::Shares`](super::Engine::Shares)) holds: a tile in
/// shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SharePolicy {
    /// Elements of a run, a power of two.
    pub run: u32,
    /// Rows of a warp's part of a tile: 32 runs, one a lane. A power of two up to 32.
    pub rows: u32,
    /// Rows that a warp loads at a time, a power of two.
    pub batch: u32,
    /// Warps of a block, a power of two.
    pub warps: u32,
    /// Blocks that a multiprocessor is to have registers for.
    pub blocks: u32,
}

impl SharePolicy {
    /// The shared memory that every GPU from compute capability 8.0 on has for a block.
    const SHARED_BYTES: u32 = 99 << 10;

    /// The policy of a row for a form; `None` if its tiles do not fit.
    pub(super) fn of(layouts: Layouts, row: &rows::ShareRow) -> Option<SharePolicy> {
        let run = RowPolicy::run_of_scan(layouts.leaves, layouts.item.size());
        let rows = (row.share / run).clamp(1, 32);
        let batch = (row.bytes / (run * layouts.bytes_read())).clamp(1, rows);
        let policy = SharePolicy {
            run,
            rows,
            batch: 1 << batch.ilog2(),
            warps: row.warps,
            blocks: row.blocks,
        };
        policy.fault(layouts, run).is_none().then_some(policy)
    }

    /// The elements of a tile, a power of two.
    pub fn tile(self) -> u64 {
        u64::from(32 * self.run * self.rows * self.warps)
    }

    /// The threads of a block.
    pub fn threads(self) -> u32 {
        32 * self.warps
    }

    /// The bytes of shared memory of a block, for elements of type `T`: a tile with at least 16
    /// bytes more for each lane, 167 sums and one for each warp, and two numbers.
    pub fn shared_bytes(self, layouts: Layouts) -> u32 {
        let sums = |count: u32| (count * layouts.accumulator_bytes()).next_multiple_of(16);
        let share = 16 * ((sums(self.run * self.rows) / 16 + 1) | 1);
        self.threads() * share + sums(5 * 32) + sums(self.warps + 1) + sums(6) + 32
    }

    /// What is wrong with a policy for elements of type `T`, if anything, where runs have
    /// `proper_run` elements.
    pub(crate) fn fault(self, layouts: Layouts, proper_run: u32) -> Option<&'static str> {
        let SharePolicy {
            run,
            rows,
            batch,
            warps,
            blocks,
        } = self;
        if ![run, rows, batch, warps]
            .iter()
            .all(|n| n.is_power_of_two())
        {
            Some("run, rows, batch and warps are powers of two")
        } else if rows > 32 || batch > rows {
            Some("there are at most 32 rows, and a batch is at most all of them")
        } else if run != proper_run {
            Some("a run has as many elements as RowPolicy::of_scan says")
        } else if !(2..=16).contains(&warps) {
            Some("a block has 2 to 16 warps")
        } else if blocks == 0 || blocks * self.threads() > 2048 {
            Some("a multiprocessor runs a block at least, and 2048 threads at most")
        } else if self.shared_bytes(layouts) > Self::SHARED_BYTES {
            Some("a block has at most 99 KiB of shared memory")
        } else {
            None
        }
    }
}
