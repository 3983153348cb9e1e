//! The launches of a histogram, and what they say of themselves.

// Only launches read all of it.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

use super::kernel::{CLEAR, GLOBAL, NARROW, PLACES, SHARED, Weight, WeightedForm};
use super::plan::{
    HistogramCounters, HistogramMachine, HistogramPlace, HistogramPlan, HistogramPolicy,
};
use super::{Binned, Bins, Counted};
use crate::Result;
use crate::engine::candidates::Blocks;
use crate::engine::{Chosen, Explanation, Launched, Machine, RowPolicy};
use crate::source::Form;

impl HistogramMachine {
    /// A GPU of which no more is known: the most shared memory of a block is that of its compute
    /// capability, by NVIDIA's table.
    pub fn of(machine: Machine) -> HistogramMachine {
        let kib = match machine.capability {
            0..=69 => 48,
            70..=74 => 96,
            75..=79 => 64,
            80 | 87 => 163,
            81..=89 => 99,
            90..=119 => 227,
            _ => 99,
        };
        HistogramMachine {
            multiprocessors: machine.multiprocessors,
            shared_bytes: kib << 10,
        }
    }
}

impl HistogramPlan {
    /// The launches over so many counters: what clears them, if blocks add to them, and what
    /// counts.
    pub(crate) fn launches(
        &self,
        machine: HistogramMachine,
        counters: usize,
    ) -> impl Iterator<Item = Launched> + use<> {
        let clearing = HistogramPlan::clearing_blocks(machine, counters);
        let clearing = Blocks::new(clearing.into(), HistogramPlan::CLEARING_THREADS, 0);
        let function = match self.place {
            HistogramPlace::Shared => SHARED,
            HistogramPlace::Narrow => NARROW,
            HistogramPlace::Global => GLOBAL,
        };
        let counting = Blocks::new(self.blocks.into(), self.threads, self.shared_bytes);
        let clear = self.adds().then_some((CLEAR, clearing));
        clear.into_iter().chain([(function, counting)])
    }

    /// The launch that stores places.
    pub(crate) fn place_launch(&self) -> Launched {
        let blocks = Blocks::new(self.blocks.into(), self.threads, self.shared_bytes);
        (PLACES, blocks)
    }

    /// Where blocks count, and why.
    pub(crate) fn chosen(&self) -> Chosen {
        let (place, why) = match self.place {
            HistogramPlace::Shared if !self.adds() => ("shared", "one block counts all items"),
            HistogramPlace::Shared => ("shared", "a block has room for all counters"),
            HistogramPlace::Narrow => ("narrow", "a block has room for all counters of 16 bits"),
            HistogramPlace::Global => (
                "global",
                "there are more counters than a block has room for, or few items for each",
            ),
        };
        (place, why.to_owned())
    }

    /// What a call with so many items does, which have so many bytes each.
    pub(super) fn explain(
        &self,
        (len, item_bytes): (usize, usize),
        counters: HistogramCounters,
        machine: HistogramMachine,
    ) -> Result<Explanation> {
        let count = counters.count;
        let given = (format!("{len} items in {count} counters"), len as u64);
        let launches = self.launches(machine, count);
        let said = Explanation::new("histogram", given, self.chosen(), launches, 0)?;
        Ok(said.depending_on(facts(machine, item_bytes)))
    }
}

/// What histograms depend on, beside the bins.
pub(crate) fn facts(machine: HistogramMachine, item_bytes: usize) -> [(&'static str, String); 3] {
    let shared = format!("{} bytes", machine.shared_bytes);
    [
        ("bytes of an item", item_bytes.to_string()),
        ("multiprocessors", machine.multiprocessors.to_string()),
        ("shared memory of a block", shared),
    ]
}

/// The counters of weights `W`, and how warps read them and items.
pub(crate) fn summing<F: Form<Item: Counted>, W: Weight>(
    capability: u32,
    count: usize,
) -> (RowPolicy, HistogramCounters) {
    let counters = HistogramCounters {
        count,
        words: W::WORDS,
        once: false,
    };
    (
        RowPolicy::for_histogram::<WeightedForm<F, W>>(capability),
        counters,
    )
}

/// How weights `W` of `len` items are added up by some bins.
///
/// # Errors
///
/// [`Error::Bins`](crate::Error::Bins) if the bins count more channels than items have.
pub(crate) fn plan_of_sums<F: Form<Item: Counted>, W: Weight>(
    machine: Machine,
    bins: &Bins<<F::Item as Counted>::Value>,
    len: usize,
) -> Result<HistogramPlan> {
    let count = bins.channels_of(F::Item::CHANNELS)? * bins.count();
    let (rows, counters) = summing::<F, W>(machine.capability, count);
    Ok(plan_of(machine, bins, len, rows, counters))
}

/// How the places of `len` items are found by some bins.
pub(crate) fn plan_of_places<F: Form<Item: Counted>>(
    machine: Machine,
    bins: &Bins<<F::Item as Counted>::Value>,
    len: usize,
) -> HistogramPlan {
    let rows = RowPolicy::for_histogram::<F>(machine.capability);
    let machine = HistogramMachine::of(machine);
    let lookup = bins.lookup(&[HistogramPlan::lookup_room_of_places(machine)]);
    let lookup = lookup.map(|lookup| lookup.bytes()).unwrap_or_default();
    HistogramPlan::of_places(rows, machine, len, lookup)
}

fn plan_of<V: Binned>(
    machine: Machine,
    bins: &Bins<V>,
    len: usize,
    rows: RowPolicy,
    counters: HistogramCounters,
) -> HistogramPlan {
    let policy = HistogramPolicy::for_capability(machine.capability);
    let machine = HistogramMachine::of(machine);
    let lookup = bins.lookup(&HistogramPlan::lookup_rooms(rows, machine, counters));
    let lookup = lookup.map(|lookup| lookup.bytes()).unwrap_or_default();
    HistogramPlan::new(policy, rows, machine, len, counters, lookup)
}

/// What counting `len` items of a source by some bins does on a GPU.
///
/// # Errors
///
/// [`Error::Bins`](crate::Error::Bins) if the bins count more channels than items have.
pub fn explain_histogram<F: Form<Item: Counted>>(
    machine: Machine,
    bins: &Bins<<F::Item as Counted>::Value>,
    len: usize,
) -> Result<Explanation> {
    let rows = RowPolicy::for_histogram::<F>(machine.capability);
    let counters = HistogramCounters::of_items(bins.channels_of(F::Item::CHANNELS)? * bins.count());
    let plan = plan_of(machine, bins, len, rows, counters);
    let sizes = (len, size_of::<F::Item>());
    plan.explain(sizes, counters, HistogramMachine::of(machine))
}
