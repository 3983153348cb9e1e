//! The templating stage: a typed request in, CUDA source out.
//!
//! A [`Kernel`] is a value: a template, what it is bound to (a source, an operator), the engine with
//! its policy. The templates in `templates/` bind the names that the algorithms in `kernels/` are
//! written against. Everything here is pure: it needs no GPU, no CUDA and no file, and a kernel
//! always gives the same text.
//!
//! ```
//! use warpfold::{codegen::{Engine, kernels, source}, ops::Add};
//! let cuda = source::<kernels::Scan<f32, Add>>(Engine::Levels)?;
//! assert!(cuda.contains("scan_tiles"));
//! # Ok::<(), warpfold::Error>(())
//! ```

mod choice;
mod cost;
mod costly;
mod definitions;
mod extended;
mod kernel;
mod levels;
mod nearly;
mod pairs;
mod parts;
#[cfg(test)]
mod plan_tests;
mod policy;
pub(crate) mod template;
mod tokens;
#[doc(hidden)]
pub mod translated;
mod tuning;
mod wave_policy;
mod workspace;

#[doc(hidden)]
pub use crate::primitives::histogram::lookup::{Lookup, LookupBytes};
#[doc(hidden)]
pub use crate::primitives::histogram::plan::{
    HistogramCounters, HistogramMachine, HistogramPlace, HistogramPlan,
};
#[doc(hidden)]
pub use crate::primitives::reduce::plan::{Chunks, ReducePlan};
#[doc(hidden)]
pub use crate::primitives::scan::plan::{ScanPlan, SharePlan, WavePlan};
#[doc(hidden)]
pub use crate::primitives::weighted::plan::WeightedPlan;
pub use cost::cost;
pub use costly::{CostlyReducePolicy, CostlyScanPolicy, SharePolicy};
pub use definitions::Definitions;
#[doc(hidden)]
pub use kernel::{Arguments, Function, WorkspaceArguments};
pub use kernel::{Kernel, Kernels, check};
#[doc(hidden)]
pub use levels::{Launch, LevelArguments, Plan, Step, has_functions_of_sums};
pub use policy::{BlockPolicy, HistogramPolicy, Policy, ReducePolicy, RowPolicy, Way};
pub use wave_policy::WavePolicy;
#[doc(hidden)]
pub use workspace::{HEADER_BYTES, WorkspaceKey};

#[cfg(feature = "cuda")]
pub(crate) use kernel::Identity;
pub(crate) use kernel::{Field, Named, Variables, arguments, bind_source, struct_text};
pub(crate) use levels::{bind_levels, level_functions};
pub(crate) use policy::accumulator_layout;
pub(crate) use wave_policy::Shape;
pub(crate) use workspace::{MOST_AT_ONCE, sums_bytes};

use crate::{CudaType, Element, Monoid, Result};

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

/// How a primitive is computed. The results are the same, bit for bit.
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
    /// *Shares*: all tiles in one launch, with the fewest combinations and little code: for costly
    /// operators (scans only). Needs the shared memory of compute capability 8.0 and above. Slices
    /// may start anywhere.
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

    /// What the templates name of the policy.
    fn variables(self) -> Variables {
        match self {
            Engine::Levels => minijinja::context! {},
            Engine::Rows(policy) => minijinja::context! {
                run => policy.run,
                rows => policy.rows,
                batch => policy.batch,
                blocks => policy.blocks,
                warps => policy.warps,
                sums => policy.sums,
                grouped => (policy.way == Way::Grouped).to_string(),
                compact => (policy.way == Way::Compact).to_string(),
                one_by_one => (policy.way == Way::OneByOne).to_string(),
                in_turn => policy.in_turn.to_string(),
            },
            Engine::Block(policy) => minijinja::context! {
                run => policy.run,
                warps => policy.warps,
            },
            Engine::Wave(policy) => minijinja::context! {
                warps => policy.warps,
                rows => policy.rows,
                run => policy.run,
                stages => policy.stages,
                loads => policy.loads,
                wave => policy.wave,
                batch => policy.batch,
                reducers => policy.reducers,
                anywhere => policy.anywhere.to_string(),
                shared_bytes => WavePolicy::SHARED_BYTES,
            },
            Engine::Shares(policy) => minijinja::context! {
                run => policy.run,
                rows => policy.rows,
                batch => policy.batch,
                warps => policy.warps,
                blocks => policy.blocks,
            },
        }
    }

    /// Whether kernels fold by an operator's fast paths ([`nearly`]) where it may be unsure. The
    /// benchmark compared results of reductions and scans by these engines; the others have not run
    /// so on a GPU.
    fn has_fast_paths(self) -> bool {
        matches!(self, Engine::Rows(_) | Engine::Block(_) | Engine::Shares(_))
    }

    /// Whether blocks may ask for all shared memory that there is.
    fn takes_all_shared_memory(self) -> bool {
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

/// The kernels of the primitives, as types for [`source`].
pub mod kernels {
    pub use crate::primitives::collect::kernel::{Collect, CollectArguments};
    pub use crate::primitives::histogram::guess::{FixedGuess, Guess};
    pub use crate::primitives::histogram::kernel::{
        Histogram, HistogramArguments, HistogramArgumentsOf, PlacesOf, SumsOf, Weight, WeightedForm,
    };
    pub use crate::primitives::histogram::lookup::LookupShape;
    pub use crate::primitives::histogram::rule::{
        BinRule, ByAnyValue, ByFixedGuess, ByGuess, BySearch, ByValue, GuessArguments,
        SearchArguments, TableArguments, TablesAt,
    };
    pub use crate::primitives::reduce::kernel::{Reduce, ReduceArguments};
    pub use crate::primitives::scan::kernel::{Scan, ScanArguments};
    pub use crate::primitives::select::kernel::{
        Kept, Outputs, Places, RunParts, Select, SelectArguments, Sides,
    };
    pub use crate::primitives::weighted::kernel::{Weighted, WeightedArguments};
}

/// The CUDA C++ source of a primitive's kernels, for an engine.
///
/// The text is complete: it includes nothing, and any CUDA compiler takes it (`--std=c++20
/// --fmad=false`).
///
/// # Errors
///
/// [`Error::Codegen`](crate::Error::Codegen) if the primitive does not have the engine, or a policy
/// that it cannot have; if two different structs of one name meet, or functions call each other in
/// a circle.
pub fn source<K: Kernels>(engine: Engine) -> Result<String> {
    check::<K>(engine)?;
    K::kernel(engine).source()
}

/// Other forms of an operator, which kernels may compute with: its translation was recognised, or
/// written again.
#[derive(Default)]
struct Forms {
    nearly: Option<String>,
    extended: Option<extended::Extended>,
    pairs: Option<&'static str>,
    parts: Option<String>,
    takes_second: Option<String>,
}

impl Forms {
    /// Those of the operator `combine` on elements of an alignment, which combines so many bytes.
    fn of(definitions: &mut Definitions, combine: &str, align: usize, bytes: usize) -> Forms {
        // Functions that call each other in a circle are not read: their text is an error.
        if definitions.is_wrong() {
            return Forms::default();
        }
        let parts = parts::operations(definitions, combine).map(|parts| parts.cuda());
        let pairs = pairs::operation(definitions, combine);
        // Other elements have a register for each of their parts.
        let is_held = align < 4;
        let takes_second = is_held.then(|| choice::takes_second(definitions, combine));
        let nearly = definitions.define_nearly(combine, bytes);
        // Kernels want one of the two.
        let extended = nearly
            .is_none()
            .then(|| definitions.define_extended(combine));
        Forms {
            nearly,
            extended: extended.flatten(),
            pairs,
            parts,
            takes_second: takes_second.flatten(),
        }
    }
}

/// What the templates name of an operator.
pub(crate) fn bind_monoid<T: Element, Op: Monoid<T>>(
    definitions: &mut Definitions,
) -> minijinja::Value {
    fn bind(
        combine: String,
        forms: Forms,
        operator: &str,
        (exact, commutative): (bool, bool),
        accumulator_bytes: usize,
    ) -> minijinja::Value {
        minijinja::context! {
            combine => combine,
            nearly => forms.nearly,
            extended => forms.extended.map(|written| written.variables()),
            operator => operator,
            exact => exact.to_string(),
            commutative => commutative.to_string(),
            accumulator_bytes => accumulator_bytes,
            pairs => forms.pairs,
            parts => forms.parts,
            takes_second => forms.takes_second,
        }
    }
    T::Accumulator::cuda_type(definitions);
    let combine = Op::cuda(definitions);
    let bytes = accumulator_layout::<T>().size();
    let forms = Forms::of(definitions, &combine, align_of::<T>(), bytes);
    let promises = (Op::EXACT, Op::COMMUTATIVE);
    bind(combine, forms, std::any::type_name::<Op>(), promises, bytes)
}

/// Completes a CUDA source of yours. Where `text` includes a file of `kernels/` (`#include
/// "block/blelloch.cuh"`), it gets the text of that file, once. The result includes nothing.
/// Messages of the compiler call the source `name`.
///
/// # Errors
///
/// [`Error::Codegen`](crate::Error::Codegen) if there is no such file.
///
/// ```
/// let cuda = warpfold::codegen::with_kernels("#include \"machine/words.cuh\"\n", "mine.cu")?;
/// assert!(cuda.contains("shuffle_xor"));
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn with_kernels(text: &str, name: &str) -> Result<String> {
    template::expand(text, name)
}

/// Whether `T` is folded in another type, which kernels must read from memory, too. If so, they
/// exist twice.
pub(crate) fn widens<T: Element>() -> bool {
    std::any::TypeId::of::<T>() != std::any::TypeId::of::<T::Accumulator>()
        || accumulator_layout::<T>().size() != size_of::<T>()
}

/// The options that every compiler of generated sources must be given.
///
/// `--fmad=false` keeps `a * b + c` two roundings, as in Rust; the other float options are NVRTC's
/// defaults and are stated because bits depend on them.
pub const COMPILER_OPTIONS: &[&str] = &[
    "--std=c++20",
    // NVRTC has integers of 128 bits on Linux only.
    #[cfg(target_os = "linux")]
    "--device-int128",
    "--fmad=false",
    "--ftz=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "--device-as-default-execution-space",
];
