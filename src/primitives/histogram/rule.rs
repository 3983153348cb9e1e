//! The rules by which kernels find the bins of items: those in `kernels/histogram/bins.cuh`.

use super::bins::{Bins, Rule};
use super::guess::{FixedGuess, Guess};
use super::lookup::{Lookup, LookupShape};
use super::number::Binned;
use super::plan::HistogramPlan;
use std::fmt::Debug;

/// How items get their bins: a type without values.
pub trait BinRule: Debug + 'static {
    /// Its name in `kernels/histogram/bins.cuh`.
    const CUDA: &'static str;
    /// Whether bins are looked up, or searched for.
    const SEARCHES: bool;

    /// What kernels are told of bins of numbers `V`, and no more than this rule needs: `Arguments`
    /// of the type in CUDA.
    type Arguments<V: Binned>: Copy + Debug + 'static;

    /// These of some bins, which have this rule.
    fn arguments<V: Binned>(
        bins: &Bins<V>,
        tables: TablesAt<'_>,
        plan: &HistogramPlan,
    ) -> Self::Arguments<V>;
}

/// Where a GPU has what it finds bins by.
#[derive(Debug, Clone, Copy)]
pub struct TablesAt<'a> {
    /// The address of the first number of each bin.
    pub firsts: u64,
    /// The lookup, if there is one, and the address of its words.
    pub lookup: Option<(&'a Lookup, u64)>,
}

/// `BinTable` in CUDA.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct TableArguments<V> {
    /// The address of the first number of each bin.
    firsts: u64,
    /// How many bins have one.
    known: u32,
    /// The first number that has a bin.
    first: V,
    /// The last one.
    last: V,
}

impl<V: Binned> TableArguments<V> {
    fn new(bins: &Bins<V>, tables: TablesAt<'_>) -> TableArguments<V> {
        let (first, last) = bins.ends();
        TableArguments {
            firsts: tables.firsts,
            known: bins.firsts().len() as u32,
            first,
            last,
        }
    }
}

/// `ByGuess` and `ByFixedGuess` in CUDA.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct GuessArguments<V, G> {
    table: TableArguments<V>,
    guess: G,
}

/// `BySearch::Arguments` in CUDA.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct SearchArguments<V> {
    table: TableArguments<V>,
    shape: LookupShape,
    /// The address of the words of the lookup.
    words: u64,
    /// A block has 2^log_copies copies of the cells of the lookup.
    log_copies: u32,
    /// Whether the first numbers are copied to shared memory.
    copies_table: u32,
}

/// A number is that of its bin.
#[derive(Debug)]
pub enum ByValue {}

/// A number is that of its bin, and every number of the type has one.
#[derive(Debug)]
pub enum ByAnyValue {}

/// By a lookup, and a binary search where that does not tell.
#[derive(Debug)]
pub enum BySearch {}

/// By a guess that is certain, or nearly right.
#[derive(Debug)]
pub enum ByGuess {}

/// By such a guess in fixed point, for integers of up to 32 bits.
#[derive(Debug)]
pub enum ByFixedGuess {}

macro_rules! by_number {
    ($($rule:ident),*) => {$(
        impl BinRule for $rule {
            const CUDA: &'static str = stringify!($rule);
            const SEARCHES: bool = false;
            /// The number of bins.
            type Arguments<V: Binned> = u32;

            fn arguments<V: Binned>(bins: &Bins<V>, _: TablesAt<'_>, _: &HistogramPlan) -> u32 {
                bins.count() as u32
            }
        }
    )*};
}

by_number! { ByValue, ByAnyValue }

macro_rules! by_guess {
    ($($rule:ident: $guess:ident in $kind:ident;)*) => {$(
        impl BinRule for $rule {
            const CUDA: &'static str = stringify!($rule);
            const SEARCHES: bool = false;
            type Arguments<V: Binned> = GuessArguments<V, $guess>;

            fn arguments<V: Binned>(
                bins: &Bins<V>,
                tables: TablesAt<'_>,
                _: &HistogramPlan,
            ) -> GuessArguments<V, $guess> {
                let Rule::$kind(_, guess, ..) = bins.rule() else {
                    unreachable!("bins have another rule than {}: {bins:?}", stringify!($rule));
                };
                GuessArguments {
                    table: TableArguments::new(bins, tables),
                    guess: *guess,
                }
            }
        }
    )*};
}

by_guess! {
    ByGuess: Guess in Guess;
    ByFixedGuess: FixedGuess in Fixed;
}

impl BinRule for BySearch {
    const CUDA: &'static str = "BySearch";
    const SEARCHES: bool = true;
    type Arguments<V: Binned> = SearchArguments<V>;

    fn arguments<V: Binned>(
        bins: &Bins<V>,
        tables: TablesAt<'_>,
        plan: &HistogramPlan,
    ) -> SearchArguments<V> {
        let (lookup, words) = tables.lookup.expect("bins that are searched have a lookup");
        SearchArguments {
            table: TableArguments::new(bins, tables),
            shape: lookup.shape,
            words,
            log_copies: plan.log_cell_copies,
            copies_table: u32::from(plan.copies_table),
        }
    }
}
