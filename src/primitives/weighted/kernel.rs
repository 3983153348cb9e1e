//! The kernels of weighted histograms, and what they take.

use crate::Element;
use crate::definitions::Definitions;
use crate::engine::{Engine, RowPolicy};
use crate::render::{
    Arguments, Function, Kernel, Kernels, Named, Variables, arguments, bind_source,
};
use crate::source::Slice;

/// The kernels that sort weights by the bins of their items.
#[derive(Debug)]
pub struct Weighted<T>(Named<T>);

arguments! {
    /// What the kernels take.
    pub struct WeightedArguments<> {
        /// The bin of each weight, and the number of bins for those that have none.
        pub places: u64 => "const u32*",
        /// Where a pass of the sort stores places.
        pub places_to: u64 => "u32*",
        /// The weights.
        pub weights: u64 => "const Element*",
        /// Where a pass of the sort stores weights; at last the result.
        pub out: u64 => "Element*",
        /// How many items of each tile have each digit, and then where these go.
        pub digits: u64 => "u64*",
        /// How many places are left after the first pass; null for that one.
        pub kept: u64 => "const u64*",
        /// The number of places.
        pub length: u64 => "u64",
        /// How many places have one weight.
        pub parts: u32 => "u32",
        /// The digit's lowest bit in a place.
        pub shift: u32 => "u32",
        /// The bits of the digit.
        pub bits: u32 => "u32",
        /// The number of bins.
        pub bins: u32 => "u32",
    }
}

impl<T: Element> Weighted<T> {
    /// The function that counts the digits of tiles.
    pub const COUNT: Function<WeightedArguments> = Function::new("weighted_count");
    /// The one that moves tiles to where they go.
    pub const MOVE: Function<WeightedArguments> = Function::new("weighted_move");
    /// The policy on GPUs of a compute capability, such as 90 for 9.0.
    pub fn rows_policy(capability: u32) -> RowPolicy {
        RowPolicy::for_weights::<T>(capability)
    }
}

fn bind<T: Element>(definitions: &mut Definitions) -> Variables {
    let source = bind_source::<Slice<T>>(definitions);
    minijinja::context! { arguments => WeightedArguments::cuda(), ..source }
}

impl<T: Element> Kernels for Weighted<T> {
    const NAME: &'static str = "weighted";

    fn kernel(engine: Engine) -> Kernel {
        let functions = const { &[Self::COUNT.name, Self::MOVE.name] };
        Kernel::new("weighted.cu.jinja", functions, &bind::<T>).engine(engine)
    }

    fn fault(engine: Engine) -> Option<&'static str> {
        match engine {
            Engine::Rows(policy) => policy.fault(&[1]),
            _ => Some("weighted histograms have the rows engine only"),
        }
    }
}
