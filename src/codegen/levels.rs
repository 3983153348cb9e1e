//! The levels engine as data: which kernels to launch, over which level, in what order.
//!
//! It works on *levels*. Level 0 is the input. Level `k + 1` holds one value for
//! every complete tile of level `k`, in the accumulator type. The levels above 0 live in the
//! workspace, one after the other.

use super::workspace::HEADER_BYTES;
use super::{Engine, Policy, Primitive, widens};
use crate::Element;

/// The most levels there can be: a tile has at least 256 elements, so 8 levels hold 2^64.
pub(super) const MAX_LEVELS: usize = 8;

/// A kernel of a generated source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// `reduce_tiles(in, sums)`: the sum of every complete tile of a level, one block a tile.
    ReduceTiles,
    /// `reduce_finish(in, length, levels, out, init, seeded)`: the remainders of all levels, one
    /// block.
    ReduceFinish,
    /// `scan_tiles(in, out, length, bases, init, seeded, inclusive)`: the tiles of a level, seeded
    /// from the level above; one block a tile.
    ScanTiles,
    /// `reduce_rows(in, length, out, header, key, init, seeded, chunks, log_chunk, log_batches)`:
    /// everything.
    ReduceRows,
    /// `scan_rows(in, out, length, header, key, init, seeded, inclusive, by_ticket)`: everything, a
    /// block a tile.
    ScanRows,
    /// `scan_wave(in, out, length, header, key, init, seeded, inclusive)`: everything.
    ScanWave,
}

impl Kernel {
    /// The kernels of a source.
    pub fn of(primitive: Primitive, engine: Engine) -> &'static [Kernel] {
        match (primitive, engine) {
            (Primitive::Reduce, Engine::Levels) => &[Kernel::ReduceTiles, Kernel::ReduceFinish],
            (Primitive::Reduce, Engine::Rows(_)) => &[Kernel::ReduceRows],
            (Primitive::Reduce, Engine::Wave(_)) => &[],
            (Primitive::Scan, Engine::Levels) => &[Kernel::ReduceTiles, Kernel::ScanTiles],
            (Primitive::Scan, Engine::Rows(_)) => &[Kernel::ScanRows],
            (Primitive::Scan, Engine::Wave(_)) => &[Kernel::ScanWave],
        }
    }

    /// The name of the kernel's function for `level`. If elements are folded in a wider type
    /// (`widens`), the levels above 0 have functions of their own.
    pub fn function(self, level: usize, widens: bool) -> &'static str {
        match (self, widens && level > 0) {
            (Kernel::ReduceTiles, false) => "reduce_tiles",
            (Kernel::ReduceTiles, true) => "reduce_sums",
            (Kernel::ScanTiles, false) => "scan_tiles",
            (Kernel::ScanTiles, true) => "scan_sums",
            (Kernel::ReduceFinish, _) => "reduce_finish",
            (Kernel::ReduceRows, _) => "reduce_rows",
            (Kernel::ScanRows, _) => "scan_rows",
            (Kernel::ScanWave, _) => "scan_wave",
        }
    }
}

/// One launch of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// What is launched.
    pub kernel: Kernel,
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
    pub fn new<T: Element>(primitive: Primitive, length: usize) -> Plan {
        let mut plan = Plan {
            primitive,
            element: Policy::of::<T>(primitive),
            sums: Policy::of::<T::Accumulator>(primitive),
            accumulator_bytes: size_of::<T::Accumulator>(),
            lengths: [0; MAX_LEVELS],
            levels: 1,
        };
        plan.lengths[0] = length as u64;
        debug_assert!(widens::<T>() || plan.element == plan.sums);
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
            kernel: Kernel::ReduceTiles,
            level,
            blocks: self.lengths[level + 1],
            threads: self.policy(level).threads,
        });
        let down = (0..self.levels)
            .rev()
            .filter_map(|level| match self.primitive {
                Primitive::Reduce => (level == 0).then_some(Launch {
                    kernel: Kernel::ReduceFinish,
                    level: 0,
                    blocks: 1,
                    threads: self.element.threads,
                }),
                Primitive::Scan => Some(Launch {
                    kernel: Kernel::ScanTiles,
                    level,
                    blocks: self.lengths[level].div_ceil(self.policy(level).tile()),
                    threads: self.policy(level).threads,
                }),
            });
        up.chain(down)
    }
}
