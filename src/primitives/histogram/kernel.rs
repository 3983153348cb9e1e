//! The kernels of histograms, and what they take.

use super::bins::Bins;
use super::number::{Binned, Count, Counted};
use super::plan::HistogramPlan;
use super::rule::{BinRule, TablesAt};
use crate::definitions::Definitions;
use crate::engine::{Engine, RowPolicy};
use crate::render::{
    Arguments, Function, Kernel, Kernels, Named, Variables, arguments, bind_source,
};
use crate::source::{Form, Slice, Zip};
use crate::{CudaType, Element};

/// The kernels of the histograms of a form, with counts of type `C`.
#[derive(Debug)]
pub struct Histogram<C, F, R>(Named<(C, F, R)>);

arguments! {
    /// What a histogram takes. `R` is what its rule takes.
    pub struct HistogramArguments<S, R> {
        /// The items.
        pub source: S => "Source",
        /// The number of items.
        pub length: u64 => "u64",
        /// The counts: those of each channel together. Several blocks add to them.
        pub counts: u64 => "Count*",
        /// What items get their bins by.
        pub rule: R => "Rule::Arguments",
        /// The number of bins.
        pub bins: u32 => "u32",
        /// How many parts of each item are counted.
        pub channels: u32 => "u32",
        /// A block has 2^log_copies copies of its counters, or a cache of as many. Narrow counters
        /// are full from that number on.
        pub log_copies: u32 => "u32",
        /// After how many units of a warp they are added to the counts.
        pub units_a_round: u32 => "u32",
        /// Whether a unit is a row.
        pub by_rows: u32 => "u32",
    }
}

/// What kernels of a rule take.
pub type HistogramArgumentsOf<S, R, V> = HistogramArguments<S, <R as BinRule>::Arguments<V>>;

impl<S, A> HistogramArguments<S, A> {
    /// What the kernels are told of bins and of a plan. The counts lie at the address `counts`.
    pub fn new<R: BinRule<Arguments<V> = A>, V: Binned>(
        plan: &HistogramPlan,
        bins: &Bins<V>,
        tables: TablesAt<'_>,
        channels: usize,
        (source, length): (S, usize),
        counts: u64,
    ) -> Self {
        HistogramArguments {
            source,
            length: length as u64,
            counts,
            rule: R::arguments(bins, tables, plan),
            bins: bins.count() as u32,
            channels: channels as u32,
            log_copies: plan.log_copies,
            units_a_round: plan.units_a_round,
            by_rows: u32::from(plan.by_rows),
        }
    }
}

/// The names of the functions that count, and of the one that clears.
pub(super) const SHARED: &str = "histogram_shared";
/// See [`SHARED`].
pub(super) const NARROW: &str = "histogram_narrow";
/// See [`SHARED`].
pub(super) const GLOBAL: &str = "histogram_global";
/// See [`SHARED`].
pub(super) const CLEAR: &str = "histogram_clear";
/// What stores places.
pub(super) const PLACES: &str = "histogram_places";

impl<S: Copy, R: Copy> HistogramArguments<S, R> {
    /// The function that counts in shared memory.
    pub const SHARED: Function<Self> = Function::new(SHARED);
    /// The one that counts there in counters of 16 bits.
    pub const NARROW: Function<Self> = Function::new(NARROW);
    /// The one that counts in global memory.
    pub const GLOBAL: Function<Self> = Function::new(GLOBAL);
    /// The one that clears the counts before several blocks add to them.
    pub const CLEAR: Function<Self> = Function::new(CLEAR);
    /// The one that stores places where others count.
    pub const PLACES: Function<Self> = Function::new(PLACES);
}

const TEMPLATE: &str = "histogram.cu.jinja";
/// The names of the functions that add up.
const ADDING_UP: &[&str] = &["histogram_shared", "histogram_global", "histogram_clear"];
/// Those that count, one of which is for items that count once.
const COUNTING: &[&str] = &[
    "histogram_shared",
    "histogram_global",
    "histogram_clear",
    "histogram_narrow",
];

impl<C: Count, F: Form<Item: Counted>, R: BinRule> Histogram<C, F, R> {
    /// The policy on GPUs of a compute capability, such as 90 for 9.0.
    pub fn rows_policy(capability: u32) -> RowPolicy {
        RowPolicy::for_histogram::<F>(capability)
    }
}

impl<C: Count, F: Form<Item: Counted>, R: BinRule> Kernels for Histogram<C, F, R> {
    const NAME: &'static str = "histogram";

    fn kernel(engine: Engine) -> Kernel {
        Kernel::new(TEMPLATE, COUNTING, &bind_to_count::<C, F, R>)
            .engine(engine)
            .operator::<F>()
            .taking_all_shared_memory()
    }

    fn fault(engine: Engine) -> Option<&'static str> {
        match engine {
            Engine::Rows(policy) => policy.fault(&[RowPolicy::run_of(F::LEAVES)]),
            _ => Some("histograms have the rows engine only"),
        }
    }
}

/// The kernel that stores the counter of each part of each item of a form, as a number.
#[derive(Debug)]
pub struct PlacesOf<F, R>(Named<(F, R)>);

impl<F: Form<Item: Counted>, R: BinRule> Kernels for PlacesOf<F, R> {
    const NAME: &'static str = "histogram";

    fn kernel(engine: Engine) -> Kernel {
        Kernel::new(TEMPLATE, &["histogram_places"], &bind_to_place::<F, R>)
            .engine(engine)
            .operator::<F>()
            .taking_all_shared_memory()
    }

    fn fault(engine: Engine) -> Option<&'static str> {
        Histogram::<u32, F, R>::fault(engine)
    }
}

/// The kernels that add up weights: integers without a sign, whose sums wrap. They are the
/// histogram's, of pairs of an item and its weight.
#[derive(Debug)]
pub struct SumsOf<F, R, W>(Named<(F, R, W)>);

/// The form of what [`SumsOf`] reads.
pub type WeightedForm<F, W> = Zip<(F, Slice<W>)>;

/// What a weight is added up as.
pub trait Weight: Element {
    /// The type of the sums.
    type Sum: Count;

    /// The words of a counter in shared memory.
    const WORDS: usize = size_of::<Self::Sum>() / 4;
}

impl Weight for u8 {
    type Sum = u32;
}
impl Weight for u16 {
    type Sum = u32;
}
impl Weight for u32 {
    type Sum = u32;
}
impl Weight for u64 {
    type Sum = u64;
}

impl<F: Form<Item: Counted>, R: BinRule, W: Weight> Kernels for SumsOf<F, R, W> {
    const NAME: &'static str = "histogram";

    fn kernel(engine: Engine) -> Kernel {
        Kernel::new(TEMPLATE, ADDING_UP, &bind_to_add_up::<F, R, W>)
            .engine(engine)
            .operator::<WeightedForm<F, W>>()
            .taking_all_shared_memory()
    }

    fn fault(engine: Engine) -> Option<&'static str> {
        match engine {
            Engine::Rows(policy) => {
                policy.fault(&[RowPolicy::run_of(<WeightedForm<F, W> as Form>::LEAVES)])
            }
            _ => Some("histograms have the rows engine only"),
        }
    }
}

/// What kernels do with items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Count,
    AddUp,
    Place,
}

fn bind_to_count<C: Count, F: Form<Item: Counted>, R: BinRule>(
    definitions: &mut Definitions,
) -> Variables {
    bind::<C, F, F::Item, R>(definitions, Does::Count)
}

fn bind_to_place<F: Form<Item: Counted>, R: BinRule>(definitions: &mut Definitions) -> Variables {
    bind::<u32, F, F::Item, R>(definitions, Does::Place)
}

fn bind_to_add_up<F: Form<Item: Counted>, R: BinRule, W: Weight>(
    definitions: &mut Definitions,
) -> Variables {
    bind::<W::Sum, WeightedForm<F, W>, F::Item, R>(definitions, Does::AddUp)
}

fn bind<C: Count, F: Form, X: Counted, R: BinRule>(
    definitions: &mut Definitions,
    does: Does,
) -> Variables {
    fn bind(
        source: Variables,
        [value, count, arguments]: [String; 3],
        rule: &str,
        parts: usize,
        does: Does,
    ) -> Variables {
        let types = format!("using Count = {count};\nusing Value = {value};");
        minijinja::context! {
            arguments => format!("{types}\nusing Rule = {rule}<Value>;\n{arguments}"),
            parts => parts,
            places => does == Does::Place,
            narrow => does == Does::Count,
            ..source
        }
    }
    let source = bind_source::<F>(definitions);
    let value = X::Value::cuda_type(definitions);
    let arguments = HistogramArgumentsOf::<F::Arguments, R, X::Value>::cuda();
    let texts = [value, C::cuda_type(definitions), arguments];
    bind(source, texts, R::CUDA, X::CHANNELS, does)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::histogram::rule::{
        ByAnyValue, ByFixedGuess, ByGuess, BySearch, ByValue,
    };
    use crate::source::SliceArguments;

    /// Where kernels take more, NVCC and NVRTC unroll no loop whose length they do not know. That
    /// cost up to a fifth of the time.
    #[test]
    fn arguments_have_at_most_128_bytes() {
        fn bytes<R: BinRule>() -> usize {
            size_of::<HistogramArgumentsOf<SliceArguments, R, f64>>()
        }
        let all = [
            bytes::<ByValue>(),
            bytes::<ByAnyValue>(),
            bytes::<BySearch>(),
            bytes::<ByGuess>(),
            bytes::<ByFixedGuess>(),
        ];
        assert!(all.iter().all(|&bytes| bytes <= 128), "{all:?}");
    }
}
