//! How weights are added up, the launches, and what they say of themselves.

// Only launches read all of it.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

use crate::engine::{
    Chosen, Explanation, HEADER_BYTES, Launched, Machine, RowPolicy, accumulator_layout,
};
use crate::ops::Add;
use crate::primitives::collect::kernel::Collect;
use crate::primitives::collect::launches::launch_of;
use crate::primitives::histogram::kernel::Weight;
use crate::primitives::histogram::launches::{facts, plan_of_places, plan_of_sums};
use crate::primitives::histogram::plan::{HistogramMachine, HistogramPlan};
use crate::primitives::histogram::{Bins, Counted};
use crate::primitives::search::Bounds;
use crate::primitives::segmented::kernel::SegmentedPolicy;
use crate::primitives::segmented::launches::Extent;
use crate::primitives::sort::MOST_VALUE;
use crate::primitives::sort::kernel::{SortPlan, SortShape};
use crate::primitives::sort::launches::SortWay;
use crate::source::{Form, Index, Map, Slice};
use crate::{Element, Monoid, Result, function};
use std::any::TypeId;

/// How the weights of a type are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// They are integers, whose sums wrap: as a histogram counts. Those of fewer than 32 bits have
    /// sums of 32, which are narrowed.
    AddUp { narrows: bool },
    /// They are sorted by bin, and those of a bin are folded in their order. Either they move with
    /// their places, or they stay, and positions do.
    Sort { moves: bool },
}

/// What a call does that sorts weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It finds the place of each part of each item.
    Places,
    /// It sorts places.
    Sort,
    /// It finds where each counter's segment begins.
    Starts,
    /// It folds each segment.
    Fold,
}

impl Step {
    /// All, in their order.
    pub(super) const ALL: [Step; 4] = [Step::Places, Step::Sort, Step::Starts, Step::Fold];
}

/// Whether the type is a built-in integer, whose [`Add`] wraps.
fn is_integer<W: 'static>() -> bool {
    fn id<T: 'static>() -> TypeId {
        TypeId::of::<T>()
    }
    let unsigned = [id::<u8>(), id::<u16>(), id::<u32>(), id::<u64>()];
    let signed = [id::<i8>(), id::<i16>(), id::<i32>(), id::<i64>()];
    [unsigned, signed].as_flattened().contains(&id::<W>())
}

impl Way {
    pub(super) fn of<W: Element, X: Counted>() -> Way {
        match is_integer::<W>() {
            true => Way::AddUp {
                narrows: size_of::<W>() < 4,
            },
            false => Way::Sort {
                moves: X::CHANNELS == 1 && size_of::<W>() <= MOST_VALUE,
            },
        }
    }

    /// What of a workspace the launches of others use: the header at least, which later calls
    /// believe in.
    pub(super) fn shared_bytes<W: Element>(self, places: usize, counters: usize) -> usize {
        match self {
            Way::AddUp { .. } => HEADER_BYTES,
            Way::Sort { moves } => SortedPlan::of::<W>(moves, places, counters).fold_bytes(),
        }
    }

    /// What a call needs besides, from an address on.
    pub(super) fn scratch_bytes<W: Element>(
        self,
        from: u64,
        places: usize,
        counters: usize,
    ) -> usize {
        let end = match self {
            Way::AddUp { narrows: false } => from,
            Way::AddUp { narrows: true } => from.next_multiple_of(256) + 4 * counters as u64,
            Way::Sort { moves } => {
                let plan = SortedPlan::of::<W>(moves, places, counters);
                plan.scratch(from).end
            }
        };
        (end - from) as usize
    }

    /// The bytes of a workspace for both.
    pub(super) fn workspace_bytes<W: Element>(self, places: usize, counters: usize) -> usize {
        let shared = self.shared_bytes::<W>(places, counters);
        // Scratch memory starts at a multiple of 256, a workspace at any multiple of 16.
        shared + self.scratch_bytes::<W>(shared as u64, places, counters) + (256 - 16)
    }
}

/// The form of where segments begin: of each counter the first of its places.
pub(super) type Starts = Bounds<u32, Map<counter, Index>>;

#[function]
pub(super) fn counter(number: u64) -> u32 {
    number as u32
}

/// The form of narrow sums.
pub(super) type Narrow8 = Map<narrow_8, Slice<u32>>;

/// As [`Narrow8`].
pub(super) type Narrow16 = Map<narrow_16, Slice<u32>>;

#[function]
pub(super) fn narrow_8(sum: u32) -> u8 {
    sum as u8
}

#[function]
pub(super) fn narrow_16(sum: u32) -> u16 {
    sum as u16
}

/// A call that sorts so many places of so many counters.
#[derive(Debug, Clone, Copy)]
pub(super) struct SortedPlan {
    sort: SortPlan,
    /// The bytes of what moves with a place.
    moved_bytes: usize,
    fold: SegmentedPolicy,
    sum_bytes: usize,
    pub(super) places: usize,
    pub(super) counters: usize,
}

/// Where a call keeps what it needs in between.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scratch {
    /// The places, as found and sorted.
    pub(super) places: [u64; 2],
    /// The weights, or positions, in the order of their places.
    pub(super) sorted: u64,
    /// Where each counter's segment begins, and the end of the last one.
    pub(super) starts: u64,
    /// What the sort needs.
    pub(super) sort: u64,
    pub(super) end: u64,
}

impl SortedPlan {
    pub(super) fn of<W: Element>(moves: bool, places: usize, counters: usize) -> SortedPlan {
        let (shape, moved_bytes) = match moves {
            true => (SortShape::of_pairs::<u32, W>(), size_of::<W>()),
            false => (SortShape::of_pairs::<u32, u64>(), size_of::<u64>()),
        };
        SortedPlan {
            sort: SortPlan::new(shape, places),
            moved_bytes,
            fold: SegmentedPolicy::of::<W>(),
            sum_bytes: accumulator_layout::<W>().size(),
            places,
            counters,
        }
    }

    /// The bits of a place. The number of all counters is one, too.
    pub(super) fn bits(self) -> u32 {
        usize::BITS - self.counters.leading_zeros()
    }

    /// How many starts there are, with the end of the last segment.
    pub(super) fn starts(self) -> usize {
        self.counters + 1
    }

    fn extent(self) -> Extent {
        Extent {
            len: self.places,
            count: self.counters,
        }
    }

    /// What the fold needs of a workspace.
    pub(super) fn fold_bytes(self) -> usize {
        let bytes = self.fold.reduce_bytes_for(self.sum_bytes, self.places);
        bytes.max(HEADER_BYTES)
    }

    /// What a call keeps from an address on.
    pub(super) fn scratch(self, from: u64) -> Scratch {
        let sort = self.sort.scratch(0, false).end as usize;
        let mut end = from;
        let mut room = |len: usize, bytes: usize| {
            let at = end.next_multiple_of(256);
            end = at + (len * bytes) as u64;
            at
        };
        let scratch = Scratch {
            places: [room(self.places, 4), room(self.places, 4)],
            sorted: room(self.places, self.moved_bytes),
            starts: room(self.starts(), 8),
            sort: room(sort, 1),
            end: 0,
        };
        Scratch { end, ..scratch }
    }

    /// The launches of a step.
    fn launches(
        self,
        step: Step,
        (places, starts): (HistogramPlan, RowPolicy),
        multiprocessors: u32,
    ) -> Vec<Launched> {
        match step {
            Step::Places => vec![places.place_launch()],
            Step::Sort => {
                let way = SortWay {
                    in_place: false,
                    digits: self.bits().div_ceil(8),
                    places_only: false,
                };
                self.sort.launched(way, multiprocessors).collect()
            }
            Step::Starts => launch_of(starts, self.starts()).into_iter().collect(),
            Step::Fold => {
                let launches = self.fold.reduce_launches(self.extent(), multiprocessors);
                launches.collect()
            }
        }
    }
}

/// How a call is cut up.
pub(super) enum Cut {
    AddUp {
        plan: HistogramPlan,
        /// How sums are narrowed, if they are.
        narrow: Option<RowPolicy>,
    },
    Sort {
        plan: SortedPlan,
        places: HistogramPlan,
        starts: RowPolicy,
    },
}

impl Cut {
    fn chosen(&self) -> Chosen {
        let Cut::AddUp { plan, .. } = self else {
            let why =
                "the order shows in sums of these weights, so those of a bin are folded in it";
            return ("sort and fold", why.to_owned());
        };
        let (place, why) = plan.chosen();
        (place, format!("weights are integers, and {why}"))
    }

    fn launches(&self, counters: usize, machine: HistogramMachine) -> Vec<Launched> {
        match *self {
            Cut::AddUp { plan, narrow } => {
                let narrowing = narrow.and_then(|policy| launch_of(policy, counters));
                plan.launches(machine, counters).chain(narrowing).collect()
            }
            Cut::Sort {
                plan,
                places,
                starts,
            } => {
                let launches = |step| {
                    let policies = (places, starts);
                    plan.launches(step, policies, machine.multiprocessors)
                };
                Step::ALL.into_iter().flat_map(launches).collect()
            }
        }
    }
}

/// What a call for `len` items of the form `F` does, with weights `W`.
pub(super) fn explain<W: Element, F: Form<Item: Counted>>(
    cut: &Cut,
    len: usize,
    counters: usize,
    machine: HistogramMachine,
) -> Result<Explanation> {
    if let Cut::Sort { plan, .. } = cut {
        plan.extent().check()?;
    }
    let way = Way::of::<W, F::Item>();
    let places = len.saturating_mul(F::Item::CHANNELS);
    let bytes = way.workspace_bytes::<W>(places, counters);
    let given = format!("{len} items with weights in {counters} counters");
    let (given, launches) = ((given, len as u64), cut.launches(counters, machine));
    let name = "weighted histogram";
    let said = Explanation::new(name, given, cut.chosen(), launches, bytes)?;
    let integers = if is_integer::<W>() { "yes" } else { "no" };
    let of_weights = [
        ("bytes of a weight", size_of::<W>().to_string()),
        ("integer weights", integers.to_owned()),
    ];
    let facts = facts(machine, size_of::<F::Item>());
    Ok(said.depending_on(facts.into_iter().chain(of_weights)))
}

/// What adding up the weights `W` of `len` items of a source by some bins does on a GPU.
///
/// It depends on the bins, on the bytes of items and weights, on whether weights are integers, and
/// on the GPU: its multiprocessors, and the shared memory of a block.
///
/// # Errors
///
/// [`Error::Bins`](crate::Error::Bins) if the bins count more channels than items have,
/// [`Error::Items`](crate::Error::Items) if there are more than 2^38 items whose weights are sorted.
pub fn explain_histogram_weighted<W: Element, F: Form<Item: Counted>>(
    machine: Machine,
    bins: &Bins<<F::Item as Counted>::Value>,
    len: usize,
) -> Result<Explanation>
where
    Add: Monoid<W>,
{
    fn sums<F: Form<Item: Counted>, W: Weight>(
        machine: Machine,
        bins: &Bins<<F::Item as Counted>::Value>,
        len: usize,
        narrow: Option<RowPolicy>,
    ) -> Result<Cut> {
        let plan = plan_of_sums::<F, W>(machine, bins, len)?;
        Ok(Cut::AddUp { plan, narrow })
    }
    let counters = bins.channels_of(F::Item::CHANNELS)? * bins.count();
    let capability = machine.capability;
    let cut = match (Way::of::<W, F::Item>(), size_of::<W>()) {
        (Way::Sort { moves }, _) => {
            let places = len.saturating_mul(F::Item::CHANNELS);
            Cut::Sort {
                plan: SortedPlan::of::<W>(moves, places, counters),
                places: plan_of_places::<F>(machine, bins, len),
                starts: Collect::<Starts>::rows_policy(capability),
            }
        }
        (_, 1) => {
            let narrow = Collect::<Narrow8>::rows_policy(capability);
            sums::<F, u8>(machine, bins, len, Some(narrow))?
        }
        (_, 2) => {
            let narrow = Collect::<Narrow16>::rows_policy(capability);
            sums::<F, u16>(machine, bins, len, Some(narrow))?
        }
        (_, 4) => sums::<F, u32>(machine, bins, len, None)?,
        _ => sums::<F, u64>(machine, bins, len, None)?,
    };
    explain::<W, F>(&cut, len, counters, HistogramMachine::of(machine))
}
