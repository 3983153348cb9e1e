//! The launches of a histogram, and what they say of themselves.

// Only launches read all of it.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

use super::kernel::{CLEAR, GLOBAL, NARROW, SHARED};
use super::plan::{
    HistogramCounters, HistogramMachine, HistogramPlace, HistogramPlan, HistogramPolicy,
};
use super::{Bins, Counted};
use crate::Result;
use crate::engine::candidates::Blocks;
use crate::engine::{Explanation, Launched, Machine, RowPolicy};
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
    pub(super) fn launches(
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

    /// What a call with so many items does.
    pub(super) fn explain(
        &self,
        name: &'static str,
        len: usize,
        counters: HistogramCounters,
        machine: HistogramMachine,
    ) -> Result<Explanation> {
        let chosen = match self.place {
            HistogramPlace::Shared if !self.adds() => ("shared", "one block counts all items"),
            HistogramPlace::Shared => ("shared", "a block has room for all counters"),
            HistogramPlace::Narrow => ("narrow", "a block has room for all counters of 16 bits"),
            HistogramPlace::Global => (
                "global",
                "there are more counters than a block has room for, or few items for each",
            ),
        };
        let (chosen, count) = ((chosen.0, chosen.1.to_owned()), counters.count);
        let given = (format!("{len} items in {count} counters"), len as u64);
        let said = Explanation::new(name, given, chosen, self.launches(machine, count), 0)?;
        Ok(said.depending_on([
            ("multiprocessors", machine.multiprocessors.to_string()),
            (
                "shared memory of a block",
                format!("{} bytes", machine.shared_bytes),
            ),
        ]))
    }
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
    let policy = HistogramPolicy::for_capability(machine.capability);
    let counters = HistogramCounters::of_items(bins.channels_of(F::Item::CHANNELS)? * bins.count());
    let machine = HistogramMachine::of(machine);
    let lookup = bins.lookup(&HistogramPlan::lookup_rooms(rows, machine, counters));
    let lookup = lookup.map(|lookup| lookup.bytes()).unwrap_or_default();
    let plan = HistogramPlan::new(policy, rows, machine, len, counters, lookup);
    plan.explain("histogram", len, counters, machine)
}
