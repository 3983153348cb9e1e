//! The kernels of reductions, and what they take.

use crate::definitions::Definitions;
use crate::engine::Chunks;
use crate::engine::{Engine, Layouts, Order, Primitive, RowPolicy, Way};
use crate::render::Named;
use crate::render::{
    Arguments, Binding, Kernel, Kernels, Variables, WorkspaceArguments, arguments, bind_levels,
    bind_read, joined, level_functions,
};
use crate::source::{Form, Slice};
use crate::{Element, Monoid};

/// The kernels of the reductions of sources of a form with `Op`.
#[derive(Debug)]
pub struct Reduce<T, Op, F = Slice<T>>(Named<(T, Op, F)>);

arguments! {
    /// What a reduction in one launch takes.
    pub struct ReduceArguments<S, A> {
        /// What is reduced.
        pub source: S => "Source",
        /// The number of items.
        pub length: u64 => "u64",
        /// The result.
        pub out: u64 => "Element*",
        /// Where blocks exchange sums.
        pub workspace: WorkspaceArguments => "Workspace",
        /// What comes first; the result if there is no item.
        pub init: A => "Operand<T>::Type",
        /// Whether `init` comes first.
        pub seeded: u32 => "u32",
        /// How the input is cut up.
        pub chunks: Chunks => "Chunks",
    }
}

arguments! {
    /// What the fold of a piece of a stream takes.
    pub struct FoldArguments<S, A> {
        /// The piece.
        pub source: S => "Source",
        /// The number of items.
        pub length: u64 => "u64",
        /// Where blocks exchange sums.
        pub workspace: WorkspaceArguments => "Workspace",
        /// What stands where nothing is. It counts for nothing.
        pub init: A => "Operand<T>::Type",
        /// Where the piece starts in the stream.
        pub position: u64 => "u64",
        /// Where the sums of its largest aligned blocks go, from left to right.
        pub left: u64 => "Operand<T>::Type*",
        /// The first tile, by its place in the stream.
        pub first: u64 => "u64",
        /// The last tile.
        pub last: u64 => "u64",
        /// The logarithm of a tile's length.
        pub log_tile: u32 => "u32",
        /// The levels of nodes over tiles.
        pub levels: u32 => "u32",
        /// Bits below the level at which the ways up from before the piece and from behind it meet.
        pub below: u64 => "u64",
        /// Whether blocks take tiles in the order in which they start.
        pub by_ticket: u32 => "u32",
    }
}

/// The arguments of a reduction in one launch of a form `F`.
pub(crate) type ArgumentsOf<T, F> =
    ReduceArguments<<F as Form>::Arguments, <T as Element>::Accumulator>;

/// The name of the rows engine's function.
pub(super) const ROWS: &str = "reduce_rows";
/// The name of the block engine's function.
pub(super) const BLOCK: &str = "reduce_block";

/// The name of the function that folds a piece.
pub(super) const FOLD: &str = "fold_piece";

/// The kernel that folds a piece of a stream with `Op`, in one launch from any position on.
#[derive(Debug)]
pub struct PieceFold<T, Op, F = Slice<T>>(Named<(T, Op, F)>);

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> PieceFold<T, Op, F> {
    /// The kernel whose warps hold such rows: so many times, one after the other.
    pub fn kernel(policy: RowPolicy, per_warp: u32) -> Kernel {
        let binding = Binding::of(&bind_piece::<T, Op, F>);
        Kernel::bound("reduce/piece.cu.jinja", &[FOLD], binding)
            .engine(Engine::Rows(policy))
            .parameter("per_warp", per_warp.into())
            .operator::<Op>()
    }
}

fn bind_piece<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    definitions: &mut Definitions,
) -> Variables {
    let read = bind_read::<T, Op, F>(definitions);
    let arguments = FoldArguments::<F::Arguments, T::Accumulator>::cuda();
    joined(minijinja::context! { arguments => arguments }, read)
}

/// For the engines of one launch.
fn bind<T: Element, Op: Monoid<T>, F: Form<Item = T>>(definitions: &mut Definitions) -> Variables {
    fn bind(arguments: String, order: Order, read: Variables) -> Variables {
        minijinja::context! {
            arguments => arguments,
            any_order => order == Order::Any,
            ..read
        }
    }
    let read = bind_read::<T, Op, F>(definitions);
    bind(ArgumentsOf::<T, F>::cuda(), Order::of::<T, Op>(), read)
}

/// For the levels engine.
fn bind_for_levels<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    definitions: &mut Definitions,
) -> Variables {
    let read = bind_read::<T, Op, F>(definitions);
    joined(bind_levels::<T, F>(Primitive::Reduce), read)
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> Kernels for Reduce<T, Op, F> {
    const NAME: &'static str = "reduce";

    fn kernel(engine: Engine) -> Kernel {
        let bind = Binding::of(&bind::<T, Op, F>);
        let for_levels = Binding::of(&bind_for_levels::<T, Op, F>);
        kernel_of(engine, Layouts::of::<F>(), bind, for_levels).operator::<Op>()
    }

    fn fault(engine: Engine) -> Option<&'static str> {
        fault_in(engine, Order::of::<T, Op>(), Layouts::of::<F>())
    }
}

/// The kernel for an engine, by what binds for one launch and for the levels engine.
fn kernel_of(engine: Engine, layouts: Layouts, bind: Binding, for_levels: Binding) -> Kernel {
    let (template, functions, bind): (_, &[_], _) = match engine {
        Engine::Levels => {
            let functions = level_functions(Primitive::Reduce, layouts);
            ("reduce/levels.cu.jinja", functions, for_levels)
        }
        Engine::Block(_) => ("reduce/block.cu.jinja", &[BLOCK], bind),
        Engine::Rows(_) | Engine::Wave(_) | Engine::Shares(_) => {
            ("reduce/rows.cu.jinja", &[ROWS], bind)
        }
    };
    Kernel::bound(template, functions, bind).engine(engine)
}

/// What is wrong with an engine for a reduction in an order.
fn fault_in(engine: Engine, order: Order, layouts: Layouts) -> Option<&'static str> {
    match engine {
        Engine::Levels => None,
        Engine::Rows(RowPolicy { in_turn: true, .. }) if order == Order::Any => {
            Some("blocks take chunks in turn in the law's order only")
        }
        Engine::Rows(policy) => match (order, policy.way) {
            (Order::Law, Way::OneByOne) => Some("one by one is not the law's order"),
            (Order::Any, Way::Compact | Way::Grouped) => {
                Some("compact and grouped reductions are those in the law's order")
            }
            (order, _) => policy.fault(&RowPolicy::runs_of_reduce(layouts, order)),
        },
        Engine::Block(policy) => policy.fault(),
        Engine::Wave(_) | Engine::Shares(_) => Some("the engine scans only"),
    }
}
