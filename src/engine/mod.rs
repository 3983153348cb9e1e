//! How tiles move from a source to a sink: the engines, a room each, with its policy and its plan.
//! [`candidates`] choose among them. Pure: no GPU, no text. Only speed depends on what stands here;
//! the law fixes the bits.

pub(crate) mod block;
pub(crate) mod candidates;
pub(crate) mod compute_bound;
mod explanation;
mod layouts;
pub(crate) mod levels;
pub(crate) mod rows;
pub(crate) mod shares;
#[cfg(test)]
mod tests;
pub(crate) mod tuning;
pub(crate) mod wave;
mod workspace;

pub use block::BlockPolicy;
pub use compute_bound::{ComputeBoundReduce, ComputeBoundScan};
pub(crate) use explanation::{Chosen, Launched, facts, sizes};
pub use explanation::{Explanation, LaunchShape};
pub use layouts::Layouts;
pub(crate) use layouts::bytes_read;
pub use levels::{Launch, Plan, Policy, Step};
pub use rows::chunks::{Chunks, ReducePlan};
#[cfg(feature = "cuda")]
pub(crate) use rows::piece::{PieceKernels, PieceLaunch, PieceTiles};
pub use rows::piece::{PiecePlan, lengths_of_blocks};
pub use rows::tiles::ScanPlan;
pub use rows::{ReducePolicy, RowPolicy, Way};
pub use shares::{SharePlan, SharePolicy};
pub(crate) use wave::Shape;
pub use wave::{WavePlan, WavePolicy};
pub use workspace::{HEADER_BYTES, WorkspaceKey};
pub(crate) use workspace::{MOST_AT_ONCE, sums_bytes};

use crate::{Element, Monoid};
use std::alloc::Layout;
use std::any::TypeId;

/// The compute capability that policies are for if no GPU is known: the first to run all engines.
const UNKNOWN: u32 = 90;

/// What a kernel source computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// The fold of a whole array.
    Reduce,
    /// All its prefixes.
    Scan,
}

impl Primitive {
    /// Every primitive.
    pub const ALL: [Primitive; 2] = [Primitive::Reduce, Primitive::Scan];

    /// The primitive's name, also that of its template.
    pub fn name(self) -> &'static str {
        match self {
            Primitive::Reduce => "reduce",
            Primitive::Scan => "scan",
        }
    }
}

/// A GPU, as far as the choice of an engine depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// The compute capability, such as 90 for 9.0.
    pub capability: u32,
    /// The number of multiprocessors.
    pub multiprocessors: u32,
}

/// How a primitive is computed. The results are the same, bit for bit.
///
/// It is a value, and no trait: lists hold kernels of any engine, and a kernel's identity has its
/// engine. What an engine does stands in its room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Engine {
    /// *Levels*: Blelloch's tree over tiles, over their sums, and so on, with a launch for each
    /// level. Runs on every GPU.
    Levels,
    /// *Rows*: everything in one launch, in the registers of blocks. Runs on every GPU. Slices may
    /// start anywhere.
    Rows(RowPolicy),
    /// *Block*: short inputs, by one block, with little code (reductions and scans). Runs on every
    /// GPU. Slices may start anywhere.
    Block(BlockPolicy),
    /// *Wave*: all tiles in one launch (scans only). Needs the copy engine, and as much shared
    /// memory as compute capability 9.0 to 10.x has.
    Wave(WavePolicy),
    /// *Shares*: all tiles in one launch, with the fewest combinations and little code: for
    /// operators bound by computing (scans only). Needs the shared memory of compute capability 8.0
    /// and above. Slices may start anywhere.
    Shares(SharePolicy),
}

impl Engine {
    /// The engine's name, also that of its template.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Levels => "levels",
            Engine::Rows(_) => "rows",
            Engine::Block(_) => "block",
            Engine::Wave(_) => "wave",
            Engine::Shares(_) => "shares",
        }
    }

    /// Whether kernels fold by an operator's fast paths where it may be unsure. The
    /// benchmark compared results of reductions and scans by these engines; the others have not run
    /// so on a GPU.
    pub(crate) fn has_fast_paths(self) -> bool {
        matches!(self, Engine::Rows(_) | Engine::Block(_) | Engine::Shares(_))
    }

    /// Whether blocks may ask for all shared memory that there is.
    pub(crate) fn takes_all_shared_memory(self) -> bool {
        matches!(self, Engine::Wave(_) | Engine::Shares(_))
    }

    /// Whether GPUs of a compute capability, such as 90 for 9.0, can run the engine.
    pub fn runs_on(self, capability: u32) -> bool {
        match self {
            Engine::Levels | Engine::Rows(_) | Engine::Block(_) => true,
            Engine::Shares(_) => capability >= 80,
            Engine::Wave(_) => (90..110).contains(&capability),
        }
    }
}

/// The order in which a reduction combines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// The law's: one tree over all elements, on which the bits of a result depend.
    Law,
    /// Any, whichever is fastest: the operator is exact and commutes, so no bit tells.
    Any,
}

impl Order {
    /// The order of a reduction of `T` by `Op`.
    pub fn of<T: Element, Op: Monoid<T>>() -> Order {
        if Op::EXACT && Op::COMMUTATIVE {
            Order::Any
        } else {
            Order::Law
        }
    }
}

/// Whether `T` is folded in another type, which kernels must read from memory, too. If so, they
/// exist twice.
pub(crate) fn widens<T: Element>() -> bool {
    std::any::TypeId::of::<T>() != std::any::TypeId::of::<T::Accumulator>()
        || accumulator_layout::<T>().size() != size_of::<T>()
}

/// The layout of what an item becomes to be folded, on a GPU. Elements of parts shorter than a
/// register become words: `Held` in `kernels/machine/types.cuh`.
pub(crate) fn accumulator_layout<T: Element>() -> Layout {
    let layout = Layout::new::<T::Accumulator>();
    let numbers = [TypeId::of::<u16>(), TypeId::of::<i16>()];
    let is_number = layout.size() < 2 || numbers.contains(&TypeId::of::<T::Accumulator>());
    let words = layout.align_to(4).map(|layout| layout.pad_to_align());
    match words {
        Ok(words) if !is_number => words,
        _ => layout,
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
