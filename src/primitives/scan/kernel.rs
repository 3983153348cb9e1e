//! The kernels of scans, and what they take.

use crate::definitions::Definitions;
use crate::engine::{Engine, Layouts, Primitive, RowPolicy, Shape, WavePolicy};
use crate::render::Named;
use crate::render::{
    Arguments, Binding, Kernel, Kernels, Variables, WorkspaceArguments, arguments, bind_levels,
    bind_read, joined, level_functions,
};
use crate::source::{Form, Slice};
use crate::{Element, Monoid};

/// The kernels of the scans of sources of a form with `Op`, from the first item on or in `REVERSE`.
#[derive(Debug)]
pub struct Scan<T, Op, F = Slice<T>, const REVERSE: bool = false>(Named<(T, Op, F)>);

arguments! {
    /// What a scan in one launch takes.
    pub struct ScanArguments<S, A> {
        /// What is scanned.
        pub source: S => "Source",
        /// The results.
        pub out: u64 => "Element*",
        /// The number of items.
        pub length: u64 => "u64",
        /// Where blocks exchange sums.
        pub workspace: WorkspaceArguments => "Workspace",
        /// What comes first, or else is shown where nothing does.
        pub init: A => "Operand<T>::Type",
        /// The operator's identity. Unaligned scans by exact operators start from it.
        pub identity: A => "Operand<T>::Type",
        /// Whether `init` comes first.
        pub seeded: u32 => "u32",
        /// Whether an item takes part in its own result.
        pub inclusive: u32 => "u32",
        /// Whether blocks take tiles in the order in which they start. The wave engine always does.
        pub by_ticket: u32 => "u32",
    }
}

arguments! {
    /// What the scan of a piece of a stream takes.
    pub struct PieceArguments<S, A> {
        /// The piece.
        pub source: S => "Source",
        /// The results.
        pub out: u64 => "Element*",
        /// The number of items.
        pub length: u64 => "u64",
        /// Where blocks exchange sums.
        pub workspace: WorkspaceArguments => "Workspace",
        /// What comes before the stream, or else is shown where nothing does.
        pub init: A => "Operand<T>::Type",
        /// Where the piece starts in the stream.
        pub position: u64 => "u64",
        /// The sums of the aligned blocks before it, by the logarithms of their lengths.
        pub before: u64 => "const Operand<T>::Type*",
        /// Where those before its end go.
        pub after: u64 => "Operand<T>::Type*",
        /// The first tile, by its place in the stream.
        pub first: u64 => "u64",
        /// The last tile.
        pub last: u64 => "u64",
        /// The logarithm of a tile's length.
        pub log_tile: u32 => "u32",
        /// The levels of nodes over tiles.
        pub levels: u32 => "u32",
        /// Whether `init` comes before the stream.
        pub seeded: u32 => "u32",
        /// Whether an item takes part in its own result.
        pub inclusive: u32 => "u32",
        /// Whether blocks take tiles in the order in which they start.
        pub by_ticket: u32 => "u32",
    }
}

/// The arguments of a scan in one launch of a form `F`.
pub(crate) type ArgumentsOf<T, F> =
    ScanArguments<<F as Form>::Arguments, <T as Element>::Accumulator>;

/// The name of the rows engine's function.
pub(super) const ROWS: &str = "scan_rows";
/// The name of the block engine's function.
pub(super) const BLOCK: &str = "scan_block";
/// The name of the wave engine's function.
pub(super) const WAVE: &str = "scan_wave";
/// The name of the shares engine's function.
pub(super) const SHARES: &str = "scan_shares";

/// The name of the function of an engine with one launch.
#[cfg(feature = "cuda")]
pub(super) fn function_of(engine: Engine) -> &'static str {
    match engine {
        Engine::Levels => unreachable!("levels have several"),
        Engine::Rows(_) => ROWS,
        Engine::Block(_) => BLOCK,
        Engine::Wave(_) => WAVE,
        Engine::Shares(_) => SHARES,
    }
}

/// The name of the function that scans a piece.
pub(super) const PIECE: &str = "scan_piece";

/// The kernels that scan a piece of a stream with `Op`, in one launch from any position on.
#[derive(Debug)]
pub struct Piece<T, Op, F = Slice<T>, const REVERSE: bool = false>(Named<(T, Op, F)>);

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, const REVERSE: bool> Piece<T, Op, F, REVERSE> {
    /// The kernel whose blocks hold such rows.
    pub fn kernel(policy: RowPolicy) -> Kernel {
        let binding = Binding::of(&bind_piece::<T, Op, F>);
        Kernel::bound("scan/piece.cu.jinja", &[PIECE], binding)
            .engine(Engine::Rows(policy))
            .parameter("reverse", REVERSE.into())
            .operator::<Op>()
    }

    /// The kernel that scans whole waves: from a multiple of a wave to another.
    pub fn of_waves(policy: WavePolicy) -> Kernel {
        let binding = Binding::of(&bind_piece::<T, Op, F>);
        Kernel::bound("scan/piece_wave.cu.jinja", &[PIECE], binding)
            .engine(Engine::Wave(policy))
            .operator::<Op>()
    }

    /// What is wrong with a policy for it, if anything.
    pub fn fault(policy: RowPolicy) -> Option<&'static str> {
        policy.fault(&[RowPolicy::run_of_scan(F::LEAVES, size_of::<T>())])
    }
}

fn bind_piece<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    definitions: &mut Definitions,
) -> Variables {
    let read = bind_read::<T, Op, F>(definitions);
    let arguments = PieceArguments::<F::Arguments, T::Accumulator>::cuda();
    joined(minijinja::context! { arguments => arguments }, read)
}

/// Whether the first tile of the wave engine may start before an unaligned slice: a whole number of
/// elements before it, each of which the identity stands for.
fn leads<T: Element, Op: Monoid<T>, F: Form>() -> bool {
    let divides_words = align_of::<T>() == size_of::<T>() && size_of::<T>() < 16;
    Op::EXACT && F::of_address(0).is_some() && divides_words
}

/// For the engines of one launch.
fn bind<T: Element, Op: Monoid<T>, F: Form<Item = T>>(definitions: &mut Definitions) -> Variables {
    fn bind(arguments: String, read: Variables) -> Variables {
        minijinja::context! { arguments => arguments, ..read }
    }
    let read = bind_read::<T, Op, F>(definitions);
    bind(ArgumentsOf::<T, F>::cuda(), read)
}

/// For the levels engine.
fn bind_for_levels<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    definitions: &mut Definitions,
) -> Variables {
    let read = bind_read::<T, Op, F>(definitions);
    joined(bind_levels::<T, F>(Primitive::Scan), read)
}

/// The kernel for an engine, by what binds for one launch and for the levels engine.
fn kernel_of(
    engine: Engine,
    layouts: Layouts,
    (bind, for_levels): (Binding, Binding),
    leads: bool,
    reverse: bool,
) -> Kernel {
    let kernel = match engine {
        Engine::Levels => {
            let functions = level_functions(Primitive::Scan, layouts);
            Kernel::bound("scan/levels.cu.jinja", functions, for_levels)
        }
        Engine::Rows(_) => Kernel::bound("scan/rows.cu.jinja", &[ROWS], bind),
        Engine::Block(_) => Kernel::bound("scan/block.cu.jinja", &[BLOCK], bind),
        Engine::Wave(policy) => Kernel::bound("scan/wave.cu.jinja", &[WAVE], bind)
            .parameter("leads", (policy.anywhere && leads).into()),
        Engine::Shares(policy) => Kernel::bound("scan/shares.cu.jinja", &[SHARES], bind)
            .parameter("shared_bytes", policy.shared_bytes(layouts).into()),
    };
    kernel.engine(engine).parameter("reverse", reverse.into())
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, const REVERSE: bool> Kernels
    for Scan<T, Op, F, REVERSE>
{
    const NAME: &'static str = "scan";

    fn kernel(engine: Engine) -> Kernel {
        let bind = Binding::of(&bind::<T, Op, F>);
        let for_levels = Binding::of(&bind_for_levels::<T, Op, F>);
        let (bound, leads) = ((bind, for_levels), leads::<T, Op, F>());
        let layouts = match REVERSE {
            false => Layouts::of::<F>(),
            true => Layouts::of::<F>().in_reverse(),
        };
        kernel_of(engine, layouts, bound, leads, REVERSE).operator::<Op>()
    }

    fn fault(engine: Engine) -> Option<&'static str> {
        let run = RowPolicy::run_of_scan(F::LEAVES, size_of::<F::Item>());
        let layouts = [Layouts::of::<F>(), Layouts::of_slice::<T>()];
        fault_in(engine, layouts, run, REVERSE)
    }
}

/// What is wrong with an engine for a scan of a source, whose layouts come first, of items whose
/// layouts come second.
fn fault_in(
    engine: Engine,
    [of_source, of_items]: [Layouts; 2],
    run: u32,
    reverse: bool,
) -> Option<&'static str> {
    match engine {
        Engine::Levels => None,
        Engine::Rows(policy) => policy.fault(&[run]),
        Engine::Wave(_) if reverse => {
            Some("a scan in reverse takes another engine: the copy engine fetches forwards")
        }
        Engine::Wave(policy) => policy.fault(Shape::of_scan(of_source)),
        Engine::Shares(policy) => policy.fault(of_items, run),
        Engine::Block(policy) if policy.warps > 16 => Some("a block that scans has up to 16 warps"),
        Engine::Block(policy) => policy.fault(),
    }
}
