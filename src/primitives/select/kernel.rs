//! The kernels of selects, and what they take.

use crate::Element;
use crate::codegen::Named;
use crate::codegen::{
    Arguments, Definitions, Engine, Function, Kernels, RowPolicy, Shape, WorkspaceArguments,
    arguments, scan_sums_per_lane,
};
use crate::source::Form;

/// The kernels of the selects from sources of a form.
#[derive(Debug)]
pub struct Select<T, F>(Named<(T, F)>);

arguments! {
    /// What a select takes.
    pub struct SelectArguments<S> {
        /// The items and their flags.
        pub source: S => "Source",
        /// The items that are kept.
        pub out: u64 => "Kept*",
        /// How many items there is room for; the others are left out.
        pub capacity: u64 => "u64",
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

impl<T: Element, F: Form<Item = (T, bool)>> Select<T, F> {
    /// The most warps of a block.
    pub const MOST_WARPS: u32 = 8;

    /// The rows engine's function.
    pub const ROWS: Function<SelectArguments<F::Arguments>> = Function::new("select_rows");
    /// The wave engine's function.
    pub const WAVE: Function<SelectArguments<F::Arguments>> = Function::new("select_wave");
}

impl<T: Element, F: Form<Item = (T, bool)>> Kernels for Select<T, F> {
    const NAME: &'static str = "select";
    type Form = F;

    fn bind(_: Engine, definitions: &mut Definitions) -> minijinja::Value {
        let kept = T::cuda_type(definitions);
        let arguments = SelectArguments::<F::Arguments>::cuda();
        minijinja::context! {
            arguments => format!("using Kept = {kept};\n{arguments}"),
            most_warps => Self::MOST_WARPS,
            sums_per_lane => scan_sums_per_lane::<u64>(),
        }
    }

    fn fault(engine: Engine) -> Option<&'static str> {
        match engine {
            Engine::Levels => Some("the engine reduces and scans only"),
            Engine::Rows(policy) => policy.fault(RowPolicy::of_select_of::<F>()),
            Engine::Wave(_) if !F::LEAVES.kept => Some("the items are not those of a slice"),
            Engine::Wave(policy) if policy.anywhere => Some("the slice starts at a multiple of 16"),
            Engine::Wave(policy) => policy.fault(Shape::of_select::<T, F>()),
        }
    }

    fn functions(engine: Engine) -> Vec<&'static str> {
        match engine {
            Engine::Levels => Vec::new(),
            Engine::Rows(_) => vec![Self::ROWS.name],
            Engine::Wave(_) => vec![Self::WAVE.name],
        }
    }

    fn operator() -> &'static str {
        std::any::type_name::<F>()
    }
}
