//! From a kernel to CUDA source: templates are rendered, and get the files of `kernels/` that they
//! include. Pure: no GPU, no CUDA, no file.

mod arguments;
mod kernel;
mod levels;
pub(crate) mod template;

pub use arguments::{Arguments, Function, WorkspaceArguments};
pub(crate) use arguments::{Field, Named, arguments, struct_text};
#[cfg(feature = "cuda")]
pub(crate) use kernel::Identity;
pub(crate) use kernel::{Binding, Variables, bind_source, joined, with_texts};
pub use kernel::{Kernel, Kernels, check};
pub use levels::LevelArguments;
pub(crate) use levels::{bind_levels, level_functions};

use crate::definitions::Definitions;
use crate::engine::{Engine, accumulator_layout};
use crate::operator::Forms;
use crate::source::Form;
use crate::{CudaType, Element, Monoid, Result};

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
    source_of(engine, K::fault, K::kernel)
}

/// Compiled once for all kernels.
fn source_of(
    engine: Engine,
    fault: fn(Engine) -> Option<&'static str>,
    kernel: fn(Engine) -> Kernel,
) -> Result<String> {
    kernel::check_fault(engine, fault(engine))?;
    kernel(engine).source()
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
            fast_path => forms.fast_path,
            register_width => forms.register_width.map(|written| written.variables()),
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

/// What the templates name of an operator, and of the source that it reads.
pub(crate) fn bind_read<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    definitions: &mut Definitions,
) -> Variables {
    let source = bind_source::<F>(definitions);
    joined(source, bind_monoid::<T, Op>(definitions))
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
