//! What the kernels of the levels engine take, and what their templates name.

use super::Variables;
use super::arguments::{Arguments, arguments};
use crate::Element;
use crate::engine::{Layouts, Policy, Primitive};
use crate::source::{Form, SliceArguments};

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

/// The functions of a primitive's source.
pub(crate) fn level_functions(primitive: Primitive, layouts: Layouts) -> &'static [&'static str] {
    match (primitive, layouts.has_functions_of_sums()) {
        (Primitive::Reduce, false) => &["reduce_tiles", "reduce_finish"],
        (Primitive::Reduce, true) => &["reduce_tiles", "reduce_finish", "reduce_sums"],
        (Primitive::Scan, false) => &["reduce_tiles", "scan_tiles"],
        (Primitive::Scan, true) => &["reduce_tiles", "scan_tiles", "reduce_sums", "scan_sums"],
    }
}

/// The variables of the levels engine's templates.
pub(crate) fn bind_levels<T: Element, F: Form<Item = T>>(primitive: Primitive) -> Variables {
    fn bind(
        [tiles, sums]: [Policy; 2],
        [arguments, arguments_of_sums]: [String; 2],
        has_functions_of_sums: bool,
    ) -> Variables {
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
    bind(
        policies,
        arguments,
        Layouts::of::<F>().has_functions_of_sums(),
    )
}
