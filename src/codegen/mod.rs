//! The templating stage: a typed request in, CUDA source out.
//!
//! A request names a [`Primitive`], an element type and an operator. The primitive's template in
//! `templates/` binds the names that the algorithms in `kernels/` are written against: the types,
//! the operator, the [`Policy`] (the tile's shape). Everything here is pure: it needs no GPU, no
//! CUDA and no file, and the same request always gives the same text.
//!
//! ```
//! use warpfold::codegen::{Engine, Primitive, source};
//! let cuda = source::<f32, warpfold::ops::Add>(Primitive::Scan, Engine::Levels)?;
//! assert!(cuda.contains("scan_tiles"));
//! # Ok::<(), warpfold::Error>(())
//! ```

mod definitions;
mod levels;
#[cfg(test)]
mod plan_tests;
mod policy;
mod template;
#[doc(hidden)]
pub mod translated;
mod tuning;
mod workspace;

pub use crate::primitives::reduce::plan::ReducePlan;
pub use crate::primitives::scan::plan::{ScanPlan, WavePlan};
pub use definitions::Definitions;
pub use levels::{Kernel, Launch, Plan};
pub use policy::{Policy, ReducePolicy, RowPolicy, WavePolicy};
pub use workspace::{HEADER_BYTES, WorkspaceKey};

pub(crate) use policy::{scan_sums_per_lane, scan_warps};
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
pub enum Engine {
    /// *Levels*: Blelloch's tree over tiles, over their sums, and so on, with a launch for each
    /// level. Runs on every GPU.
    Levels,
    /// *Rows*: everything in one launch, in the registers of blocks. Runs on every GPU. Slices may
    /// start anywhere.
    Rows(RowPolicy),
    /// *Wave*: all tiles in one launch (scans only). Needs the copy engine, and as much shared
    /// memory as compute capability 9.0 to 10.x has.
    Wave(WavePolicy),
}

impl Engine {
    /// An error unless the engine computes `primitive` over `T`, with the policy that it has.
    ///
    /// # Errors
    ///
    /// [`Error::Codegen`](crate::Error::Codegen), which says what the policy has to be.
    pub fn check<T: Element>(self, primitive: Primitive) -> Result<()> {
        let fault = match (self, primitive) {
            (Engine::Levels, _) => None,
            (Engine::Rows(policy), _) => policy.fault::<T>(),
            (Engine::Wave(policy), Primitive::Scan) => policy.fault::<T>(),
            (Engine::Wave(_), Primitive::Reduce) => Some("the engine scans only"),
        };
        match fault {
            None => Ok(()),
            Some(fault) => Err(crate::Error::Codegen(format!("{self:?}: {fault}"))),
        }
    }

    /// Whether GPUs of a compute capability, such as 90 for 9.0, can run the engine.
    pub fn runs_on(self, capability: u32) -> bool {
        match self {
            Engine::Levels | Engine::Rows(_) => true,
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

/// The CUDA C++ source that computes `primitive` over `T` with `Op`.
///
/// The text is complete: it includes nothing, and any CUDA compiler takes it (`--std=c++20
/// --fmad=false`).
///
/// # Errors
///
/// [`Error::Codegen`](crate::Error::Codegen) if two different structs of one name meet, or
/// functions call each other in a circle.
///
/// # Panics
///
/// If the engine does not have the primitive.
pub fn source<T: Element, Op: Monoid<T>>(primitive: Primitive, engine: Engine) -> Result<String> {
    let mut definitions = Definitions::default();
    let element = T::cuda_type(&mut definitions);
    T::Accumulator::cuda_type(&mut definitions);
    let combine = Op::cuda(&mut definitions);
    template::render(&template::Request {
        primitive,
        engine,
        element,
        element_bytes: size_of::<T>(),
        element_align: align_of::<T>(),
        accumulator_bytes: size_of::<T::Accumulator>(),
        widens: widens::<T>(),
        combine,
        definitions: definitions.text()?,
        operator: std::any::type_name::<Op>(),
        exact: Op::EXACT,
        commutative: Op::COMMUTATIVE,
        tile: Policy::of::<T>(primitive),
        sums: Policy::of::<T::Accumulator>(primitive),
        order: Order::of::<T, Op>(),
        reduce: ReducePolicy::of::<T>(),
        scan_warps: policy::scan_warps::<T>(),
        scan_sums_per_lane: policy::scan_sums_per_lane::<T>(),
    })
}

/// Completes a CUDA source of yours. Where `text` includes a file of `kernels/` (`#include
/// "block/blelloch.cuh"`), it gets the text of that file, once. The result includes nothing. Messages of
/// the compiler call the source `name`.
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

/// Whether `T` is folded in a wider type. If so, the kernels exist twice.
pub(crate) fn widens<T: Element>() -> bool {
    std::any::TypeId::of::<T>() != std::any::TypeId::of::<T::Accumulator>()
}

/// The options that every compiler of generated sources must be given.
///
/// `--fmad=false` keeps `a * b + c` two roundings, as in Rust; the other float options are NVRTC's
/// defaults and are stated because bits depend on them.
pub const COMPILER_OPTIONS: [&str; 6] = [
    "--std=c++20",
    "--fmad=false",
    "--ftz=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "--device-as-default-execution-space",
];
