//! How a piece of a stream is cut into tiles. They lie at multiples of their length in the stream,
//! wherever the piece starts.

use crate::engine::workspace::{HEADER_BYTES, MOST_AT_ONCE, sums_bytes};
use crate::engine::{Layouts, RowPolicy};
#[cfg(feature = "cuda")]
use {
    crate::engine::Engine,
    crate::engine::candidates::{Blocks, Candidates, Cut, Does, Extent, Fits},
    crate::engine::tuning::plans::FOLDS_PER_WARP,
    crate::engine::{WavePlan, WavePolicy},
};

/// The logarithm of how many sums a warp reads at once: one a lane.
const LOG_RADIX: u32 = 5;

/// The scan or the fold of a piece of a stream: a single launch. The last tile is the one that the
/// piece ends in, or that starts where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PiecePlan {
    /// The first tile, by its place in the stream.
    pub first: u64,
    /// The last tile.
    pub last: u64,
    /// The logarithm of a tile's length.
    pub log_tile: u32,
    /// The number of warps of a block, a power of two.
    pub warps: u32,
    /// How many blocks the GPU holds at once.
    pub at_once: u64,
}

impl PiecePlan {
    /// The plan for `length` elements from a position of the stream on, by blocks of so many warps,
    /// on a GPU of this many multiprocessors. A warp works on its rows `per_warp` times.
    pub fn new(
        policy: RowPolicy,
        (warps, per_warp): (u32, u32),
        position: u64,
        length: usize,
        multiprocessors: u32,
    ) -> PiecePlan {
        let log_tile = (policy.elements() * u64::from(warps * per_warp)).ilog2();
        let (first, last) = (position >> log_tile, (position + length as u64) >> log_tile);
        PiecePlan {
            first,
            last,
            log_tile,
            warps,
            at_once: u64::from(multiprocessors) * u64::from(policy.blocks),
        }
    }

    /// The number of tiles: of a scan, that of blocks.
    pub fn tiles(&self) -> u64 {
        self.last - self.first + 1
    }

    /// The blocks of a fold. Each folds one tile after the other.
    pub fn blocks_of_fold(&self) -> u64 {
        self.tiles().min(self.at_once)
    }

    /// Whether the GPU cannot hold all tiles at once. Then blocks take them in the order in which
    /// they start.
    pub fn by_ticket(&self) -> bool {
        self.tiles() > self.at_once
    }

    /// The size of the workspace in bytes: `StreamSums` in `kernels/grid/stream_sums.cuh` has the
    /// places of the sums.
    pub fn workspace_bytes(&self, layouts: Layouts) -> usize {
        if self.first == self.last {
            return HEADER_BYTES;
        }
        let slots = (0..self.levels()).map(|level| {
            let first = node(self.first, level + 1) << LOG_RADIX;
            let radix = 1 << LOG_RADIX;
            (node(self.last, level) - first) / radix * radix + radix
        });
        sums_bytes(layouts, slots.sum(), MOST_AT_ONCE)
    }

    /// The levels of nodes over tiles: above them, one node holds all tiles.
    pub fn levels(&self) -> u32 {
        let is_one = |&levels: &u32| node(self.first, levels) == node(self.last, levels);
        (1..12).find(is_one).unwrap_or(12)
    }
}

/// What a kernel is told of the tiles of a piece. Waves are told nothing.
#[cfg(feature = "cuda")]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PieceTiles {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) log_tile: u32,
    pub(crate) levels: u32,
    pub(crate) by_ticket: u32,
}

#[cfg(feature = "cuda")]
impl From<PiecePlan> for PieceTiles {
    fn from(plan: PiecePlan) -> PieceTiles {
        PieceTiles {
            first: plan.first,
            last: plan.last,
            log_tile: plan.log_tile,
            levels: plan.levels(),
            by_ticket: plan.by_ticket().into(),
        }
    }
}

/// A planned launch over a piece: by which kernel, and what it needs.
#[cfg(feature = "cuda")]
#[derive(Debug)]
pub(crate) struct PieceLaunch<'k, K> {
    pub(crate) kernel: &'k K,
    pub(crate) blocks: Blocks,
    pub(crate) workspace_bytes: usize,
    pub(crate) tiles: PieceTiles,
}

#[cfg(feature = "cuda")]
impl<'k, K> PieceLaunch<'k, K> {
    /// By the rows engine.
    fn by_rows(kernel: &'k K, plan: PiecePlan, blocks: u64, layouts: Layouts) -> Self {
        PieceLaunch {
            kernel,
            blocks: Blocks {
                count: blocks,
                threads: 32 * plan.warps,
                shared_bytes: 0,
                by_ticket: plan.by_ticket(),
                overlaps: true,
            },
            workspace_bytes: plan.workspace_bytes(layouts),
            tiles: plan.into(),
        }
    }

    /// By the wave engine, which takes whole waves.
    pub(crate) fn by_waves(
        kernel: &'k K,
        plan: WavePlan,
        layouts: Layouts,
        multiprocessors: u32,
    ) -> Self {
        PieceLaunch {
            kernel,
            blocks: Blocks {
                count: plan.tiles(true).min(multiprocessors.into()),
                threads: plan.threads(),
                shared_bytes: WavePolicy::SHARED_BYTES,
                by_ticket: true,
                overlaps: true,
            },
            workspace_bytes: plan.workspace_bytes(layouts),
            tiles: PieceTiles::default(),
        }
    }
}

/// The kernels of the rows engine that scan or fold pieces.
#[cfg(feature = "cuda")]
#[derive(Debug)]
pub(crate) struct PieceKernels<K> {
    candidates: Candidates<K>,
    /// For what the GPU does not hold at once: how often a warp works on its rows.
    long: Option<(K, RowPolicy, u32)>,
    /// The blocks of a plan.
    blocks: fn(&PiecePlan) -> u64,
    layouts: Layouts,
    multiprocessors: u32,
}

#[cfg(feature = "cuda")]
impl<K: Clone> PieceKernels<K> {
    /// Those for an operator that costs so many instructions, on such a GPU.
    pub(crate) fn of_scans(
        kernel: &dyn Fn(RowPolicy) -> K,
        layouts: Layouts,
        capability: u32,
        cost: u32,
        multiprocessors: u32,
    ) -> PieceKernels<K> {
        let rows = RowPolicy::for_scans_at_once(layouts, capability, cost);
        PieceKernels::of_rows(kernel, &rows, layouts, multiprocessors)
    }

    /// Of folds, for which warps need not keep what they have folded.
    pub(crate) fn of_folds(
        kernel: &dyn Fn(RowPolicy, u32) -> K,
        layouts: Layouts,
        capability: u32,
        cost: u32,
        multiprocessors: u32,
    ) -> PieceKernels<K> {
        let rows = RowPolicy::for_scans_at_once(layouts, capability, cost);
        let long = rows.last().map(|&policy| {
            let kernel = kernel(policy, FOLDS_PER_WARP);
            (kernel, policy, FOLDS_PER_WARP)
        });
        let once = |policy| kernel(policy, 1);
        let kernels = PieceKernels::of_rows(&once, &rows, layouts, multiprocessors);
        PieceKernels {
            long,
            blocks: PiecePlan::blocks_of_fold,
            ..kernels
        }
    }

    fn of_rows(
        kernel: &dyn Fn(RowPolicy) -> K,
        rows: &[RowPolicy],
        layouts: Layouts,
        multiprocessors: u32,
    ) -> PieceKernels<K> {
        let mut candidates = Candidates::new(layouts, Does::Each);
        let mut longest = None;
        for &policy in rows {
            let kernel = kernel(policy);
            candidates.add(kernel.clone(), Engine::Rows(policy), Fits::AtOnce);
            longest = Some((kernel, Engine::Rows(policy)));
        }
        let (kernel, engine) = longest.expect("there are rows for each GPU");
        candidates.add_later(kernel, engine, Fits::Always);
        PieceKernels {
            candidates,
            long: None,
            blocks: PiecePlan::tiles,
            layouts,
            multiprocessors,
        }
    }

    /// The launch over `len` items from a position on.
    pub(crate) fn plan(&self, position: u64, len: usize) -> PieceLaunch<'_, K> {
        let (kernel, plan) = self.choose(position, len);
        PieceLaunch::by_rows(kernel, plan, (self.blocks)(&plan), self.layouts)
    }

    /// The kernel for `len` items from a position on, and its plan.
    fn choose(&self, position: u64, len: usize) -> (&K, PiecePlan) {
        let extent = Extent {
            len,
            inclusive: true,
            aligned: true,
            multiprocessors: self.multiprocessors,
        };
        let chosen = self.candidates.choose(extent);
        let (Engine::Rows(policy), Cut::Rows(cut)) = (chosen.engine, &chosen.cut) else {
            unreachable!("pieces are worked on by rows");
        };
        let plan = PiecePlan::new(policy, (cut.warps, 1), position, len, self.multiprocessors);
        let long = self.long.as_ref().filter(|_| plan.by_ticket());
        let long = long.map(|(kernel, policy, per_warp)| {
            let warps = (policy.warps, *per_warp);
            let plan = PiecePlan::new(*policy, warps, position, len, self.multiprocessors);
            (kernel, plan)
        });
        match long {
            Some((kernel, plan)) if plan.by_ticket() => (kernel, plan),
            _ => (chosen.kernel, plan),
        }
    }
}

/// The lengths that the largest aligned blocks of a piece can have, as bits. Where the ways up from
/// the items before it and behind it are siblings, all its blocks lie between them
/// (`kernels/engines/piece_fold.cuh`).
pub fn lengths_of_blocks(position: u64, length: usize) -> u64 {
    match position.checked_sub(1) {
        None => u64::MAX,
        Some(before) => (1 << (before ^ (position + length as u64)).ilog2()) - 1,
    }
}

/// The node of a level that a tile lies in.
fn node(tile: u64, level: u32) -> u64 {
    tile >> (level * LOG_RADIX)
}
