//! The kernels of selects, and what they take.

use crate::Element;
use crate::definitions::Definitions;
use crate::engine::{Engine, RowPolicy, Shape, WavePolicy};
use crate::render::Named;
use crate::render::{
    Arguments, Binding, Function, Kernel, Kernels, Variables, WorkspaceArguments, arguments,
    bind_source,
};
use crate::source::{Form, Leaves};

/// What selects store: a type without values.
pub trait Outputs: std::fmt::Debug + 'static {
    /// The items that have a flag.
    const KEPT: bool;
    /// The other items.
    const OTHERS: bool;
    /// The positions of the items that have a flag.
    const PLACES: bool;
}

macro_rules! outputs {
    ($($(#[$doc:meta])* $name:ident: $kept:literal, $others:literal, $places:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $name {}

        impl Outputs for $name {
            const KEPT: bool = $kept;
            const OTHERS: bool = $others;
            const PLACES: bool = $places;
        }
    )*};
}

outputs! {
    /// What a select stores: the items that have a flag.
    Kept: true, false, false;
    /// What a partition stores: the items that have a flag, and the others.
    Sides: true, true, false;
    /// The positions of the items that have a flag.
    Places: false, false, true;
    /// What makes up runs: the items that have a flag, their positions, and how far it is from each
    /// to the next.
    RunParts: true, false, true;
}

/// The name of the rows engine's function.
pub(super) const ROWS: &str = "select_rows";
/// The name of the wave engine's function.
pub(super) const WAVE: &str = "select_wave";

/// The kernels of the selects from sources of a form.
#[derive(Debug)]
pub struct Select<T, F, O = Kept>(Named<(T, F, O)>);

arguments! {
    /// What a select takes.
    pub struct SelectArguments<S> {
        /// The items and their flags.
        pub source: S => "Source",
        /// The items that are kept.
        pub out: u64 => "Kept*",
        /// The other items.
        pub others: u64 => "Kept*",
        /// The positions of the items that are kept.
        pub places: u64 => "u64*",
        /// The distances between those positions.
        pub lengths: u64 => "u64*",
        /// How many there is room for in `out`, `places` and `lengths`. What comes after those is
        /// left out.
        pub capacity: u64 => "u64",
        /// How many there is room for in `others`.
        pub others_capacity: u64 => "u64",
        /// How many items are kept.
        pub count: u64 => "u64*",
        /// The number of items.
        pub length: u64 => "u64",
        /// Where blocks exchange counts.
        pub workspace: WorkspaceArguments => "Workspace",
        /// Whether blocks take tiles in the order in which they start. The wave engine always does.
        pub by_ticket: u32 => "u32",
    }
}

impl<T: Element, F: Form<Item = (T, bool)>, O: Outputs> Select<T, F, O> {
    /// Whether there are runs to measure.
    pub(super) const MEASURES: bool = O::KEPT && O::PLACES;

    /// The shared memory for what the warps of a block store, in bytes. A block can have 48 KiB
    /// without asking.
    const ROOM_BYTES: u64 = 47 << 10;

    /// The policy of the rows engine on GPUs of a compute capability, such as 90 for 9.0.
    pub fn rows_policy(capability: u32) -> RowPolicy {
        Self::with_room(RowPolicy::for_select::<F>(capability))
    }

    /// The policy for inputs that do not fit the GPU at once, where these have another one: where
    /// positions alone are stored.
    pub fn long_rows_policy(capability: u32) -> Option<RowPolicy> {
        (!O::KEPT).then(|| Self::with_room(RowPolicy::for_positions::<F>(capability)))
    }

    /// The policy for inputs that one block holds, if they have another one: a partition packs
    /// both sides, so many warps share what one warp would pack row by row.
    pub fn short_rows_policy(capability: u32) -> Option<RowPolicy> {
        let policy = Self::rows_policy(capability);
        let (rows, batch) = (1, 1);
        O::OTHERS.then_some(RowPolicy {
            rows,
            batch,
            ..policy
        })
    }

    /// The policy with as many of its rows as there is room for.
    fn with_room(mut policy: RowPolicy) -> RowPolicy {
        let of_item = |stored, bytes: usize| if stored { bytes as u64 } else { 0 };
        let bytes = of_item(O::KEPT, size_of::<T>()) + of_item(O::PLACES, size_of::<u16>());
        while policy.rows > 1
            && u64::from(policy.warps) * policy.elements() * bytes > Self::ROOM_BYTES
        {
            policy.rows /= 2;
            policy.batch = policy.batch.min(policy.rows);
        }
        policy
    }

    /// The policy of the wave engine; `None` if it cannot do the select.
    pub fn wave_policy(capability: u32) -> Option<WavePolicy> {
        let policy = match (O::OTHERS, Self::MEASURES) {
            (true, _) => WavePolicy::for_partition::<T, F>(capability),
            (_, true) => WavePolicy::for_runs::<T, F>(capability),
            _ => WavePolicy::for_select::<T, F>(capability),
        }?;
        Self::fault(Engine::Wave(policy))
            .is_none()
            .then_some(policy)
    }

    /// The rows engine's function.
    pub const ROWS: Function<SelectArguments<F::Arguments>> = Function::new(ROWS);
    /// The wave engine's function.
    pub const WAVE: Function<SelectArguments<F::Arguments>> = Function::new(WAVE);
}

fn bind<T: Element, F: Form<Item = (T, bool)>, O: Outputs>(
    definitions: &mut Definitions,
) -> Variables {
    fn bind(source: Variables, kept: &str, outputs: [bool; 3], arguments: &str) -> Variables {
        minijinja::context! {
            arguments => format!("using Kept = {kept};\n{arguments}"),
            outputs => outputs.map(|is_stored| is_stored.to_string()).join(", "),
            ..source
        }
    }
    bind(
        bind_source::<F>(definitions),
        &T::cuda_type(definitions),
        [O::KEPT, O::OTHERS, O::PLACES],
        &SelectArguments::<F::Arguments>::cuda(),
    )
}

impl<T: Element, F: Form<Item = (T, bool)>, O: Outputs> Kernels for Select<T, F, O> {
    const NAME: &'static str = "select";

    fn kernel(engine: Engine) -> Kernel {
        kernel_of(engine, Binding::of(&bind::<T, F, O>)).operator::<F>()
    }

    fn fault(engine: Engine) -> Option<&'static str> {
        let shape = match Self::MEASURES {
            true => Shape::of_runs::<T, F>(),
            false => Shape::of_select::<T, F>(),
        };
        fault_of(engine, F::LEAVES, [O::KEPT, O::OTHERS, O::PLACES], shape)
    }
}

/// The kernel for an engine.
fn kernel_of(engine: Engine, bind: Binding) -> Kernel {
    let kernel = match engine {
        Engine::Wave(_) => Kernel::bound("select/wave.cu.jinja", &[WAVE], bind),
        _ => Kernel::bound("select/rows.cu.jinja", &[ROWS], bind),
    };
    kernel.engine(engine)
}

/// What is wrong with an engine for a select that stores what its outputs say.
fn fault_of(
    engine: Engine,
    leaves: Leaves,
    [kept, others, places]: [bool; 3],
    shape: Shape,
) -> Option<&'static str> {
    match engine {
        Engine::Levels | Engine::Block(_) => Some("the engine reduces and scans only"),
        Engine::Shares(_) => Some("the engine scans only"),
        Engine::Rows(policy) => policy.fault(&[RowPolicy::run_of(leaves)]),
        Engine::Wave(_) if !leaves.kept => Some("the items are not those of a slice"),
        Engine::Wave(_) if places && !kept => Some("the items are positions"),
        Engine::Wave(policy) if policy.anywhere => Some("the slice starts at a multiple of 16"),
        Engine::Wave(policy) if others && policy.batch < policy.rows => {
            Some("a partition takes all rows of a warp at once")
        }
        Engine::Wave(policy) => policy.fault(shape),
    }
}
