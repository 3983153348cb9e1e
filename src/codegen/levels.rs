//! The levels engine as data: which kernels to launch, over which level, in what order.
//!
//! It works on *levels*. Level 0 is the input. Level `k + 1` holds one value for
//! every complete tile of level `k`, in the accumulator type. The levels above 0 live in the
//! workspace, one after the other.

use super::kernel::{Arguments, arguments};
use super::workspace::HEADER_BYTES;
use super::{Policy, Primitive, accumulator_layout, widens};
use crate::Element;
use crate::source::{Form, SliceArguments};

/// The most levels there can be: a tile has at least 256 elements, so 8 levels hold 2^64.
pub(super) const MAX_LEVELS: usize = 8;

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

arguments! {
    /// What the functions of the levels engine take.
    pub struct LevelArguments<S, A> {
        /// The level that is read.
        pub source: S => "Source",
        /// Its length.
        pub length: u64 => "u64",
        /// The results of a scan of this level, or of the whole reduction.
        pub out: u64 => "Element*",
        /// The level above, which has a value for each tile. To finish a reduction: level 1.
        pub above: u64 => "T*",
        /// What comes first, or else is shown where nothing does.
        pub init: A => "Operand<T>::Type",
        /// Whether `init` comes first.
        pub seeded: u32 => "u32",
        /// Whether an item takes part in its own result.
        pub inclusive: u32 => "u32",
    }
}

/// Whether the levels above the input have functions of their own: they read sums, and the input's
/// functions read something else.
pub fn has_functions_of_sums<T: Element, F: Form>() -> bool {
    widens::<T>() || !F::LEAVES.plain
}

/// The functions of a primitive's source.
pub(crate) fn level_functions<T: Element, F: Form>(
    primitive: Primitive,
) -> &'static [&'static str] {
    match (primitive, has_functions_of_sums::<T, F>()) {
        (Primitive::Reduce, false) => &["reduce_tiles", "reduce_finish"],
        (Primitive::Reduce, true) => &["reduce_tiles", "reduce_finish", "reduce_sums"],
        (Primitive::Scan, false) => &["reduce_tiles", "scan_tiles"],
        (Primitive::Scan, true) => &["reduce_tiles", "scan_tiles", "reduce_sums", "scan_sums"],
    }
}

/// The variables of the levels engine's templates.
pub(crate) fn bind_levels<T: Element, F: Form<Item = T>>(primitive: Primitive) -> minijinja::Value {
    fn bind(
        [tiles, sums]: [Policy; 2],
        [arguments, arguments_of_sums]: [String; 2],
        has_functions_of_sums: bool,
    ) -> minijinja::Value {
        let policy = |name: &str, Policy { threads, items }: Policy| {
            format!(
                "struct {name} {{\n    static constexpr int THREADS = {threads}, ITEMS = {items};\n}};\n"
            )
        };
        minijinja::context! {
            arguments => arguments,
            arguments_of_sums => arguments_of_sums,
            has_functions_of_sums => has_functions_of_sums,
            tile_policies => policy("TilePolicy", tiles) + &policy("SumPolicy", sums),
        }
    }
    let policies = [
        Policy::of::<T>(primitive),
        Policy::of::<T::Accumulator>(primitive),
    ];
    let arguments = [
        LevelArguments::<F::Arguments, T::Accumulator>::cuda(),
        LevelArguments::<SliceArguments, T::Accumulator>::cuda(),
    ];
    bind(policies, arguments, has_functions_of_sums::<T, F>())
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
    pub fn new<T: Element>(primitive: Primitive, length: usize) -> Plan {
        let mut plan = Plan {
            primitive,
            element: Policy::of::<T>(primitive),
            sums: Policy::of::<T::Accumulator>(primitive),
            accumulator_bytes: accumulator_layout::<T>().size(),
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
