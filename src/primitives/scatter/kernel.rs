//! The kernels of scatter, and what they take.

use super::tuning::THREADS;
use crate::definitions::Definitions;
use crate::render::{
    Arguments, Function, Kernel, Named, Variables, arguments, bind_source, with_texts,
};
use crate::source::{Form, Slice};

/// The kernels that store the items of sources of the form `F` at indices of the form `I`.
#[derive(Debug)]
pub struct Scatter<F, I = Slice<u32>>(Named<(F, I)>);

arguments! {
    /// What the kernels take.
    pub struct ScatterArguments<S, I> {
        /// What is stored.
        pub source: S => "Source",
        /// Where.
        pub indices: I => "Indices",
        /// The first place.
        pub out: u64 => "Element*",
        /// For each place, the position after the last value that wants it.
        pub owners: u64 => "u64*",
        /// The number of values.
        pub length: u64 => "u64",
        /// The number of places.
        pub places: u64 => "u64",
    }
}

/// The arguments for two forms.
pub(crate) type ArgumentsOf<F, I> =
    ScatterArguments<<F as Form>::Arguments, <I as Form>::Arguments>;

/// The names of the functions.
pub(super) const CLEAR: &str = "scatter_clear";
/// See [`CLEAR`].
pub(super) const CLAIM: &str = "scatter_claim";
/// See [`CLEAR`].
pub(super) const STORE: &str = "scatter_store";

impl<F: Form, I: Form> Scatter<F, I> {
    /// The function that makes all places nobody's.
    pub const CLEAR: Function<ArgumentsOf<F, I>> = Function::new(CLEAR);
    /// The one that finds the last value for each place.
    pub const CLAIM: Function<ArgumentsOf<F, I>> = Function::new(CLAIM);
    /// The one that stores.
    pub const STORE: Function<ArgumentsOf<F, I>> = Function::new(STORE);

    /// The kernel.
    pub fn kernel() -> Kernel {
        let functions = const { &[Self::CLEAR.name, Self::CLAIM.name, Self::STORE.name] };
        Kernel::new("scatter.cu.jinja", functions, &bind::<F, I>)
            .parameter("threads", THREADS.into())
            .operator::<F>()
    }
}

fn bind<F: Form, I: Form>(definitions: &mut Definitions) -> Variables {
    let source = bind_source::<F>(definitions);
    let indices = I::cuda(definitions);
    let arguments = ArgumentsOf::<F, I>::cuda();
    with_texts(&[("arguments", &arguments), ("indices", &indices)], source)
}
