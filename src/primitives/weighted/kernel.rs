//! The kernels of weighted histograms, and what they take.

use crate::definitions::Definitions;
use crate::engine::{Engine, RowPolicy};
use crate::render::{
    Arguments, Function, Kernel, Kernels, Named, Variables, arguments, bind_monoid, bind_source,
};
use crate::source::Slice;
use crate::{Element, Monoid};

/// The kernels that add up the weights of each bin with `Op`, given the place of each item.
#[derive(Debug)]
pub struct Weighted<T, Op>(Named<(T, Op)>);

arguments! {
    /// What the kernels take.
    pub struct WeightedArguments<A> {
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
        /// How many weights each bin has.
        pub counts: u64 => "const u64*",
        /// Where the values of each bin start on each level.
        pub starts: u64 => "u64*",
        /// The values of levels above 0.
        pub sums: u64 => "T*",
        /// The number of places.
        pub length: u64 => "u64",
        /// The sum of a bin without weights.
        pub empty: A => "Operand<T>::Type",
        /// How many places have one weight.
        pub parts: u32 => "u32",
        /// The digit's lowest bit in a place.
        pub shift: u32 => "u32",
        /// The bits of the digit.
        pub bits: u32 => "u32",
        /// The number of bins.
        pub bins: u32 => "u32",
        /// The number of levels.
        pub levels: u32 => "u32",
        /// The level that a launch computes.
        pub level: u32 => "u32",
    }
}

impl<T: Element, Op: Monoid<T>> Weighted<T, Op> {
    /// The function that counts the digits of tiles.
    pub const COUNT: Function<WeightedArguments<T::Accumulator>> = Function::new("weighted_count");
    /// The one that moves tiles to where they go.
    pub const MOVE: Function<WeightedArguments<T::Accumulator>> = Function::new("weighted_move");
    /// The one that stores how many values each bin has on each level.
    pub const LENGTHS: Function<WeightedArguments<T::Accumulator>> =
        Function::new("weighted_lengths");
    /// The one that computes a level from the one below.
    pub const FOLD: Function<WeightedArguments<T::Accumulator>> = Function::new("weighted_fold");
    /// The one that stores the result.
    pub const FINISH: Function<WeightedArguments<T::Accumulator>> =
        Function::new("weighted_finish");

    /// The policy on GPUs of a compute capability, such as 90 for 9.0.
    pub fn rows_policy(capability: u32) -> RowPolicy {
        RowPolicy::for_weights::<T>(capability)
    }
}

fn bind<T: Element, Op: Monoid<T>>(definitions: &mut Definitions) -> Variables {
    let source = bind_source::<Slice<T>>(definitions);
    let monoid = bind_monoid::<T, Op>(definitions);
    let arguments = WeightedArguments::<T::Accumulator>::cuda();
    minijinja::context! { arguments => arguments, ..minijinja::context! { ..source, ..monoid } }
}

impl<T: Element, Op: Monoid<T>> Kernels for Weighted<T, Op> {
    const NAME: &'static str = "weighted";

    fn kernel(engine: Engine) -> Kernel {
        let functions = const {
            &[
                Self::COUNT.name,
                Self::MOVE.name,
                Self::LENGTHS.name,
                Self::FOLD.name,
                Self::FINISH.name,
            ]
        };
        Kernel::new("weighted.cu.jinja", functions, &bind::<T, Op>)
            .engine(engine)
            .operator::<Op>()
    }

    fn fault(engine: Engine) -> Option<&'static str> {
        match engine {
            Engine::Rows(policy) => policy.fault(&[1]),
            _ => Some("weighted histograms have the rows engine only"),
        }
    }
}
