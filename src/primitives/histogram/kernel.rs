//! The kernels of histograms, and what they take.

use super::bins::{Bins, Rule};
use super::guess::{FixedGuess, Guess};
use super::lookup::{Lookup, LookupShape};
use super::number::{Binned, Count, Counted};
use super::plan::HistogramPlan;
use crate::codegen::{
    Arguments, Definitions, Engine, Function, Kernels, Named, RowPolicy, arguments,
};
use crate::source::{Form, Slice, Zip};
use crate::{CudaType, Element};

/// How items get their bins: a type without values.
pub trait BinRule: std::fmt::Debug + 'static {
    /// Its name in `kernels/histogram.cuh`.
    const CUDA: &'static str;
    /// Whether bins are looked up, or searched for.
    const SEARCHES: bool;
}

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident: $searches:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $name {}

        impl BinRule for $name {
            const CUDA: &'static str = stringify!($name);
            const SEARCHES: bool = $searches;
        }
    )*};
}

rules! {
    /// A number is that of its bin.
    ByValue: false;
    /// The same where every number of the type has a bin.
    ByAnyValue: false;
    /// By a lookup, and a binary search where that does not tell.
    BySearch: true;
    /// By a guess that is certain, or nearly right.
    ByGuess: false;
    /// The same in fixed point, for integers of up to 32 bits.
    ByFixedGuess: false;
}

/// The kernels of the histograms of a form, with counts of type `C`.
#[derive(Debug)]
pub struct Histogram<C, F, R>(Named<(C, F, R)>);

arguments! {
    /// What a histogram takes. `V` is the type of what is counted of an item.
    pub struct HistogramArguments<S, V> {
        /// The items.
        pub source: S => "Source",
        /// The number of items.
        pub length: u64 => "u64",
        /// The counts: those of each channel together. Several blocks add to them.
        pub counts: u64 => "Count*",
        /// The first number of each bin.
        pub firsts: u64 => "const Value*",
        /// The guess at a bin.
        pub guess: Guess => "Guess",
        /// The guess at a bin in fixed point.
        pub fixed: FixedGuess => "FixedGuess",
        /// What is looked up.
        pub lookup: LookupShape => "LookupShape",
        /// The words of the lookup.
        pub lookup_words: u64 => "const u32*",
        /// The first number that has a bin.
        pub first: V => "Value",
        /// The last one.
        pub last: V => "Value",
        /// How many bins have a first number.
        pub known: u32 => "u32",
        /// The number of bins.
        pub bins: u32 => "u32",
        /// How many parts of each item are counted.
        pub channels: u32 => "u32",
        /// A block has 2^log_copies copies of its counters, or a cache of as many. Narrow counters
        /// are full from that number on.
        pub log_copies: u32 => "u32",
        /// A block has as many copies of cells.
        pub log_cell_copies: u32 => "u32",
        /// After how many units of a warp they are added to the counts.
        pub units_a_round: u32 => "u32",
        /// Whether the first numbers are copied to shared memory.
        pub copies_table: u32 => "u32",
        /// Whether a unit is a row.
        pub by_rows: u32 => "u32",
    }
}

impl<V: Binned> HistogramArguments<(), V> {
    /// What the kernels are told of bins and of a plan. Where counts, first numbers and the words
    /// of the lookup lie, and how many items there are, is for the caller to say.
    pub fn new<S>(
        plan: &HistogramPlan,
        (bins, lookup): (&Bins<V>, Option<&Lookup>),
        channels: usize,
        source: S,
        length: usize,
        [counts, firsts, lookup_words]: [u64; 3],
    ) -> HistogramArguments<S, V> {
        let (first, last) = bins.ends();
        HistogramArguments {
            source,
            length: length as u64,
            counts,
            firsts,
            guess: match bins.rule() {
                Rule::Guess(_, guess, _) => *guess,
                _ => Guess::NONE,
            },
            fixed: match bins.rule() {
                Rule::Fixed(_, guess) => *guess,
                _ => FixedGuess::NONE,
            },
            lookup: lookup.map_or(LookupShape::NONE, |lookup| lookup.shape),
            lookup_words,
            first,
            last,
            known: bins.firsts().len() as u32,
            bins: bins.count() as u32,
            channels: channels as u32,
            log_copies: plan.log_copies,
            log_cell_copies: plan.log_cell_copies,
            units_a_round: plan.units_a_round,
            copies_table: u32::from(plan.copies_table),
            by_rows: u32::from(plan.by_rows),
        }
    }
}

impl<S: Copy, V: Copy> HistogramArguments<S, V> {
    /// The function that counts in shared memory.
    pub const SHARED: Function<Self> = Function::new("histogram_shared");
    /// The one that counts there in counters of 16 bits.
    pub const NARROW: Function<Self> = Function::new("histogram_narrow");
    /// The one that counts in global memory.
    pub const GLOBAL: Function<Self> = Function::new("histogram_global");
    /// The one that clears the counts before several blocks add to them.
    pub const CLEAR: Function<Self> = Function::new("histogram_clear");
    /// The one that stores places where others count.
    pub const PLACES: Function<Self> = Function::new("histogram_places");
}

/// The names of the functions that count, and of one for items that count once.
const COUNTING: [&str; 3] = ["histogram_shared", "histogram_global", "histogram_clear"];
const NARROW: &str = "histogram_narrow";

impl<C: Count, F: Form<Item: Counted>, R: BinRule> Histogram<C, F, R> {
    /// The policy on GPUs of a compute capability, such as 90 for 9.0.
    pub fn rows_policy(capability: u32) -> RowPolicy {
        RowPolicy::for_histogram::<F>(capability)
    }
}

impl<C: Count, F: Form<Item: Counted>, R: BinRule> Kernels for Histogram<C, F, R> {
    const NAME: &'static str = "histogram";
    type Form = F;

    fn bind(_: Engine, definitions: &mut Definitions) -> minijinja::Value {
        let arguments = HistogramArguments::<F::Arguments, <F::Item as Counted>::Value>::cuda();
        bind::<C, F::Item, R>(definitions, arguments, Does::Count)
    }

    fn fault(engine: Engine) -> Option<&'static str> {
        match engine {
            Engine::Rows(policy) => policy.fault(RowPolicy::run_of::<F>()),
            _ => Some("histograms have the rows engine only"),
        }
    }

    fn functions(_: Engine) -> Vec<&'static str> {
        [&COUNTING[..], &[NARROW]].concat()
    }

    fn takes_all_shared_memory(_: Engine) -> bool {
        true
    }

    fn operator() -> &'static str {
        std::any::type_name::<F>()
    }
}

/// The kernel that stores the counter of each part of each item of a form, as a number.
#[derive(Debug)]
pub struct PlacesOf<F, R>(Named<(F, R)>);

impl<F: Form<Item: Counted>, R: BinRule> Kernels for PlacesOf<F, R> {
    const NAME: &'static str = "histogram";
    type Form = F;

    fn bind(_: Engine, definitions: &mut Definitions) -> minijinja::Value {
        let arguments = HistogramArguments::<F::Arguments, <F::Item as Counted>::Value>::cuda();
        bind::<u32, F::Item, R>(definitions, arguments, Does::Place)
    }

    fn fault(engine: Engine) -> Option<&'static str> {
        Histogram::<u32, F, R>::fault(engine)
    }

    fn functions(_: Engine) -> Vec<&'static str> {
        vec!["histogram_places"]
    }

    fn takes_all_shared_memory(_: Engine) -> bool {
        true
    }

    fn operator() -> &'static str {
        std::any::type_name::<F>()
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
    type Form = WeightedForm<F, W>;

    fn bind(_: Engine, definitions: &mut Definitions) -> minijinja::Value {
        let arguments = HistogramArguments::<
            ArgumentsOf<WeightedForm<F, W>>,
            <F::Item as Counted>::Value,
        >::cuda();
        bind::<W::Sum, F::Item, R>(definitions, arguments, Does::AddUp)
    }

    fn fault(engine: Engine) -> Option<&'static str> {
        match engine {
            Engine::Rows(policy) => policy.fault(RowPolicy::run_of::<Self::Form>()),
            _ => Some("histograms have the rows engine only"),
        }
    }

    fn functions(_: Engine) -> Vec<&'static str> {
        COUNTING.to_vec()
    }

    fn takes_all_shared_memory(_: Engine) -> bool {
        true
    }

    fn operator() -> &'static str {
        std::any::type_name::<Self::Form>()
    }
}

type ArgumentsOf<F> = <F as Form>::Arguments;

/// What kernels do with items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Count,
    AddUp,
    Place,
}

fn bind<C: Count, X: Counted, R: BinRule>(
    definitions: &mut Definitions,
    arguments: String,
    does: Does,
) -> minijinja::Value {
    fn bind(
        [value, count, arguments]: [String; 3],
        rule: &str,
        parts: usize,
        does: Does,
    ) -> minijinja::Value {
        minijinja::context! {
            arguments => format!("using Count = {count};\nusing Value = {value};\n{arguments}"),
            rule => rule,
            parts => parts,
            places => does == Does::Place,
            narrow => does == Does::Count,
        }
    }
    let value = X::Value::cuda_type(definitions);
    let texts = [value, C::cuda_type(definitions), arguments];
    bind(texts, R::CUDA, X::CHANNELS, does)
}
