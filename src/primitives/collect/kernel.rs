//! The kernel that stores the items of a source, and what it takes.

use crate::Element;
use crate::definitions::Definitions;
use crate::engine::{Engine, RowPolicy};
use crate::render::Named;
use crate::render::{
    Arguments, Function, Kernel, Kernels, Variables, arguments, bind_source, with_texts,
};
use crate::source::Form;

/// The kernel that stores the items of sources of a form.
#[derive(Debug)]
pub struct Collect<F>(Named<F>);

arguments! {
    /// What the kernel takes.
    pub struct CollectArguments<S> {
        /// What is stored.
        pub source: S => "Source",
        /// Where it goes.
        pub out: u64 => "Element*",
        /// The number of items.
        pub length: u64 => "u64",
        /// Whether the items are read from where they are stored.
        pub in_place: u32 => "u32",
        /// Nothing: the struct has no padding.
        pub unused: u32 => "u32",
    }
}

/// Its name.
pub(super) const ROWS: &str = "collect_rows";

impl<F: Form<Item: Element>> Collect<F> {
    /// The one function.
    pub const ROWS: Function<CollectArguments<F::Arguments>> = Function::new(ROWS);

    /// The policy on GPUs of a compute capability, such as 90 for 9.0.
    pub fn rows_policy(capability: u32) -> RowPolicy {
        RowPolicy::for_collect::<F>(capability)
    }
}

fn bind<F: Form<Item: Element>>(definitions: &mut Definitions) -> Variables {
    let arguments = CollectArguments::<F::Arguments>::cuda();
    with_texts(&[("arguments", &arguments)], bind_source::<F>(definitions))
}

impl<F: Form<Item: Element>> Kernels for Collect<F> {
    const NAME: &'static str = "collect";

    fn kernel(engine: Engine) -> Kernel {
        Kernel::new("collect.cu.jinja", &[Self::ROWS.name], &bind::<F>)
            .engine(engine)
            .operator::<F>()
    }

    fn fault(engine: Engine) -> Option<&'static str> {
        match engine {
            Engine::Rows(policy) => {
                policy.fault(&[RowPolicy::run_of_scan(F::LEAVES, size_of::<F::Item>())])
            }
            Engine::Levels | Engine::Block(_) | Engine::Wave(_) | Engine::Shares(_) => {
                Some("only rows are stored")
            }
        }
    }
}
