//! The levels engine as data: which kernels to launch, over which level, in what order.
//!
//! It works on *levels*. Level 0 is the input. Level `k + 1` holds one value for
//! every complete tile of level `k`, in the accumulator type. The levels above 0 live in the
//! workspace, one after the other.

use super::tuning::row_for;
use super::workspace::HEADER_BYTES;
use super::{Layouts, Primitive};
use crate::Element;
use crate::element::assert_element_size;

/// The most levels there can be: a tile has at least 256 elements, so 8 levels hold 2^64.
pub(super) const MAX_LEVELS: usize = 8;

/// The shape of a tile: how many threads work on it, and how many elements each of them holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Threads of a block: 32, 64, … 1024.
    pub threads: u32,
    /// Elements of a thread, a power of two.
    pub items: u32,
}

/// (largest element in bytes, threads, bytes that a thread holds).
type Row = (u32, u32, u32);

/// A thread of a reduction keeps this many bytes in flight, to cover the latency of memory. The
/// levels engine is the specification, so it is the same on all architectures.
const REDUCE: &[Row] = &[(64, 256, 64)];

/// A scan also keeps a tree over its elements in registers, and the tile in shared memory.
const SCAN: &[Row] = &[(1, 64, 64), (4, 128, 64), (32, 128, 128), (64, 64, 256)];

impl Policy {
    /// The policy for elements of type `T`.
    pub fn of<T: Element>(primitive: Primitive) -> Policy {
        const { assert_element_size::<T>() };
        Policy::for_size(primitive, size_of::<T>())
    }

    /// The policy for elements of so many bytes.
    fn for_size(primitive: Primitive, bytes: usize) -> Policy {
        let size = bytes as u32;
        let table = match primitive {
            Primitive::Reduce => REDUCE,
            Primitive::Scan => SCAN,
        };
        let (_, threads, bytes) = *row_for(table, |row| row.0, size);
        let items = (bytes / size).max(1);
        Policy {
            threads,
            items: 1 << items.ilog2(),
        }
    }

    /// The elements of a tile, a power of two.
    pub fn tile(self) -> u64 {
        u64::from(self.threads) * u64::from(self.items)
    }
}

/// A step of the levels engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The sum of every complete tile of a level, one block a tile.
    ReduceTiles,
    /// The remainders of all levels, one block.
    ReduceFinish,
    /// The tiles of a level, seeded from the level above; one block a tile.
    ScanTiles,
}

impl Step {
    /// The name of the step's function for a level above 0, or for the input.
    pub fn function(self, is_sums: bool) -> &'static str {
        match (self, is_sums) {
            (Step::ReduceTiles, false) => "reduce_tiles",
            (Step::ReduceTiles, true) => "reduce_sums",
            (Step::ScanTiles, false) => "scan_tiles",
            (Step::ScanTiles, true) => "scan_sums",
            (Step::ReduceFinish, _) => "reduce_finish",
        }
    }
}

/// One launch of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// What is launched.
    pub step: Step,
    /// The level that the kernel reads.
    pub level: usize,
    /// The number of blocks.
    pub blocks: u64,
    /// The number of threads of a block.
    pub threads: u32,
}

/// The levels of one call, and the launches that fill them.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    primitive: Primitive,
    element: Policy,
    sums: Policy,
    accumulator_bytes: usize,
    lengths: [u64; MAX_LEVELS],
    levels: usize,
}

impl Plan {
    /// The plan for `length` elements of type `T`.
    pub fn new(layouts: Layouts, primitive: Primitive, length: usize) -> Plan {
        let mut plan = Plan {
            primitive,
            element: Policy::for_size(primitive, layouts.item.size()),
            sums: Policy::for_size(primitive, layouts.sum_bytes),
            accumulator_bytes: layouts.accumulator.size(),
            lengths: [0; MAX_LEVELS],
            levels: 1,
        };
        plan.lengths[0] = length as u64;
        debug_assert!(layouts.widens || plan.element == plan.sums);
        loop {
            let top = plan.levels - 1;
            // A scan is done when one tile is left. A reduction is done when less than one is left:
            // its finishing kernel folds what filled no tile.
            let tile = plan.policy(top).tile();
            let done = match primitive {
                Primitive::Scan => plan.lengths[top] <= tile,
                Primitive::Reduce => plan.lengths[top] < tile,
            };
            if done {
                return plan;
            }
            plan.lengths[plan.levels] = plan.lengths[top] / tile;
            plan.levels += 1;
        }
    }

    fn policy(&self, level: usize) -> Policy {
        if level == 0 { self.element } else { self.sums }
    }

    /// The number of elements of `level`.
    pub fn length(&self, level: usize) -> u64 {
        self.lengths[level]
    }

    /// The number of levels, the input included.
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// Where `level`, from 1 on, starts in the workspace, in bytes: a multiple of 16, after the
    /// header.
    pub fn offset(&self, level: usize) -> usize {
        let bytes =
            |k: usize| (self.lengths[k] as usize * self.accumulator_bytes).next_multiple_of(16);
        HEADER_BYTES + (1..level).map(bytes).sum::<usize>()
    }

    /// The size of the workspace in bytes: 0 if there is one level only.
    pub fn workspace_bytes(&self) -> usize {
        match self.levels {
            1 => 0,
            levels => self.offset(levels),
        }
    }

    /// The launches, in the order in which they must run.
    pub fn launches(&self) -> impl Iterator<Item = Launch> + '_ {
        let up = (0..self.levels - 1).map(|level| Launch {
            step: Step::ReduceTiles,
            level,
            blocks: self.lengths[level + 1],
            threads: self.policy(level).threads,
        });
        let down = (0..self.levels)
            .rev()
            .filter_map(|level| match self.primitive {
                Primitive::Reduce => (level == 0).then_some(Launch {
                    step: Step::ReduceFinish,
                    level: 0,
                    blocks: 1,
                    threads: self.element.threads,
                }),
                Primitive::Scan => Some(Launch {
                    step: Step::ScanTiles,
                    level,
                    blocks: self.lengths[level].div_ceil(self.policy(level).tile()),
                    threads: self.policy(level).threads,
                }),
            });
        up.chain(down)
    }
}
