//! Weights on a GPU that are no integers: a stable sort by bin, and a fold of each bin's segment.

use super::launches::{SortedPlan, Starts, Step};
use crate::cuda::{Collect, Workspace};
use crate::engine::{HEADER_BYTES, RowPolicy};
use crate::ops::Add;
use crate::primitives::histogram::cuda::PlaceKernels;
use crate::primitives::histogram::{Bins, Counted};
use crate::primitives::search::bounds_of;
use crate::primitives::segmented::cuda::{Call, SegmentedReduce};
use crate::primitives::segmented::{OffsetsArguments, OffsetsOf};
use crate::primitives::sort::Order;
use crate::primitives::sort::cuda::SortPairs;
use crate::source::{
    Constant, ConstantArguments, Form, Gather, GatherArguments, IndexArguments, Map, Slice,
    SliceArguments, Zip, ZipArguments,
};
use crate::{Element, Monoid, Result, function};
use cudarc::driver::CudaStream;
use std::sync::Arc;

/// The kernels of a call.
///
/// Each part of an item has a *place*: the number of the counter that its weight goes to, or the
/// number of all counters if it has none. So those without one come last, in no segment.
pub(super) struct SortAndFold<W: Element, F: Form<Item: Counted>>
where
    Add: Monoid<W>,
{
    places: PlaceKernels<F>,
    starts: Collect<Starts>,
    fold: Fold<W>,
}

/// How weights come into the order of their places.
enum Fold<W: Element>
where
    Add: Monoid<W>,
{
    /// They move with the places.
    Moved(SortPairs<u32, W>, SegmentedReduce<W, Add>),
    /// They stay, as large ones do, and those that several places have. Positions are sorted.
    Read(
        SortPairs<u32, u64>,
        SegmentedReduce<W, Add, WeightsAt<W>, OffsetsOf<u64>>,
    ),
}

/// The form of the weights of places at some positions.
type WeightsAt<W> = Gather<Slice<W>, Map<item, Zip<(Slice<u64>, Constant<u64>)>>>;

/// The item that the place at a position belongs to.
#[function]
fn item(position: u64, parts: u64) -> u64 {
    position / parts
}

impl<W: Element, F: Form<Item: Counted>> SortAndFold<W, F>
where
    Add: Monoid<W>,
{
    pub(super) fn load(
        stream: &Arc<CudaStream>,
        bins: &Bins<<F::Item as Counted>::Value>,
        moves: bool,
    ) -> Result<Self> {
        let context = stream.context();
        Ok(SortAndFold {
            places: PlaceKernels::load(stream, bins)?,
            starts: Collect::load(context)?,
            fold: match moves {
                true => Fold::Moved(
                    SortPairs::load_unchecked(context)?,
                    SegmentedReduce::load(context)?,
                ),
                false => Fold::Read(
                    SortPairs::load_unchecked(context)?,
                    SegmentedReduce::load(context)?,
                ),
            },
        })
    }

    pub(super) fn starts_policy(&self) -> RowPolicy {
        self.starts.policy()
    }

    pub(super) fn places(&self) -> &PlaceKernels<F> {
        &self.places
    }

    /// Enqueues the sums of the weights of each counter to `out`. An item has so many parts.
    ///
    /// # Safety
    ///
    /// `source` has the arguments of a source in the kernels' context with `len` items, and there
    /// are as many weights, and room for all sums. The plan is that of these weights, for as many
    /// places and counters. From the address `scratch` on there is what it keeps, apart from what
    /// the fold uses of the workspace. Nothing else uses any of them before the work on the stream
    /// is done.
    pub(super) unsafe fn run(
        &self,
        stream: &CudaStream,
        source: (F::Arguments, usize),
        (weights, parts): (u64, usize),
        plan: SortedPlan,
        (scratch, out): (u64, u64),
        workspace: &mut Workspace,
    ) -> Result<()> {
        let kept = plan.scratch(scratch);
        let (keys, places, counters) = (kept.places, plan.places, plan.counters);
        let given = workspace.arguments(stream, HEADER_BYTES)?;
        let order = Order::ascending();
        let slice = SliceArguments {
            address: kept.sorted,
        };
        for step in Step::ALL {
            // SAFETY: the caller's. The sort leaves places in order, so the starts are offsets, and
            // the positions it leaves are those of places, whose items have weights.
            unsafe {
                match (step, &self.fold) {
                    (Step::Places, _) => self.places.run(stream, source, keys[0])?,
                    (Step::Sort, Fold::Moved(sort, _)) => {
                        let pairs = (keys, [weights, kept.sorted], places);
                        sort.run(stream, order, pairs, plan.bits(), kept.sort, given)?;
                    }
                    (Step::Sort, Fold::Read(sort, _)) => {
                        let pairs = (keys, [0, kept.sorted], places);
                        sort.run(stream, order, pairs, plan.bits(), kept.sort, given)?;
                    }
                    (Step::Starts, _) => {
                        let needles = IndexArguments { first: 0 };
                        let starts = bounds_of(needles, (keys[1], places), order, false);
                        let (count, to) = (plan.starts(), kept.starts);
                        self.starts.run(stream, starts, count, to, false)?;
                    }
                    (Step::Fold, Fold::Moved(_, fold)) => {
                        let call = call_of(slice, kept.starts, (places, counters), out);
                        fold.run(stream, call, None, workspace)?;
                    }
                    (Step::Fold, Fold::Read(_, fold)) => {
                        let parts = ConstantArguments {
                            value: parts as u64,
                        };
                        let source = GatherArguments {
                            data: SliceArguments { address: weights },
                            index: ZipArguments(slice, parts),
                            last: (source.1 as u64).saturating_sub(1),
                        };
                        let call = call_of(source, kept.starts, (places, counters), out);
                        fold.run(stream, call, None, workspace)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The fold of each counter's segment, given the address of where they start.
fn call_of<S>(
    source: S,
    starts: u64,
    (places, counters): (usize, usize),
    out: u64,
) -> Call<S, OffsetsArguments> {
    Call {
        source,
        segments: OffsetsArguments {
            offsets: starts,
            count: counters as u64,
            items: places as u64,
        },
        len: places,
        count: counters,
        out,
    }
}
