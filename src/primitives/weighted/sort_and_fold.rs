//! Weights on a GPU that are no integers: a stable sort by bin, and a fold of each bin's segment.

use crate::cuda::{Collect, Workspace};
use crate::engine::HEADER_BYTES;
use crate::ops::Add;
use crate::primitives::histogram::cuda::PlaceKernels;
use crate::primitives::histogram::{Bins, Counted};
use crate::primitives::search::{Bounds, bounds_of};
use crate::primitives::segmented::cuda::{Call, SegmentedReduce};
use crate::primitives::segmented::{OffsetsArguments, OffsetsOf};
use crate::primitives::sort::Order;
use crate::primitives::sort::cuda::{MOST_VALUE, SortPairs};
use crate::source::{
    Constant, ConstantArguments, Form, Gather, GatherArguments, Index, IndexArguments, Map, Slice,
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
    starts: Collect<Bounds<u32, Map<counter, Index>>>,
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

#[function]
fn counter(number: u64) -> u32 {
    number as u32
}

/// The item that the place at a position belongs to.
#[function]
fn item(position: u64, parts: u64) -> u64 {
    position / parts
}

/// Where a call keeps what it needs in between.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scratch {
    /// The places, as found and sorted.
    places: [u64; 2],
    /// The weights, or positions, in the order of their places.
    sorted: u64,
    /// Where each counter's segment begins, and the end of the last one.
    starts: u64,
    /// What the sort needs.
    sort: u64,
    pub(super) end: u64,
}

impl<W: Element, F: Form<Item: Counted>> SortAndFold<W, F>
where
    Add: Monoid<W>,
{
    pub(super) fn load(
        stream: &Arc<CudaStream>,
        bins: &Bins<<F::Item as Counted>::Value>,
    ) -> Result<Self> {
        let context = stream.context();
        let moves = F::Item::CHANNELS == 1 && size_of::<W>() <= MOST_VALUE;
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

    /// What the fold of so many places needs of a workspace.
    pub(super) fn fold_bytes(&self, places: usize) -> usize {
        let bytes = match &self.fold {
            Fold::Moved(_, fold) => fold.workspace_bytes(places),
            Fold::Read(_, fold) => fold.workspace_bytes(places),
        };
        bytes.max(HEADER_BYTES)
    }

    /// What a call of so many places and counters keeps from an address on.
    pub(super) fn scratch(&self, from: u64, places: usize, counters: usize) -> Scratch {
        let (bytes, sort) = match &self.fold {
            Fold::Moved(sort, _) => (size_of::<W>(), sort.scratch_bytes(places)),
            Fold::Read(sort, _) => (size_of::<u64>(), sort.scratch_bytes(places)),
        };
        let mut end = from;
        let mut room = |len: usize, bytes: usize| {
            let at = end.next_multiple_of(256);
            end = at + (len * bytes) as u64;
            at
        };
        let scratch = Scratch {
            places: [room(places, 4), room(places, 4)],
            sorted: room(places, bytes),
            starts: room(counters + 1, 8),
            sort: room(sort, 1),
            end: 0,
        };
        Scratch { end, ..scratch }
    }

    /// Enqueues the sums of the weights of each counter to `out`. An item has so many parts.
    ///
    /// # Safety
    ///
    /// `source` has the arguments of a source in the kernels' context with `len` items, and there
    /// are as many weights, and room for all sums. The scratch memory is that for as many places
    /// and counters, and apart from what the fold uses of the workspace. Nothing else uses any of
    /// them before the work on the stream is done.
    #[allow(clippy::too_many_arguments)]
    pub(super) unsafe fn run(
        &self,
        stream: &CudaStream,
        source: (F::Arguments, usize),
        (weights, parts): (u64, usize),
        (places, counters): (usize, usize),
        out: u64,
        scratch: &Scratch,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let [found, sorted] = scratch.places;
        let given = workspace.arguments(stream, HEADER_BYTES)?;
        let keys = scratch.places;
        // The number of all counters is a place, too.
        let bits = usize::BITS - counters.leading_zeros();
        let order = Order::ascending();
        let needles = IndexArguments { first: 0 };
        let starts = bounds_of(needles, (sorted, places), order, false);
        let segments = OffsetsArguments {
            offsets: scratch.starts,
            count: counters as u64,
            items: places as u64,
        };
        let slice = SliceArguments {
            address: scratch.sorted,
        };
        // SAFETY: the caller's. The sort leaves places in order, so the starts are offsets, and the
        // positions it leaves are those of places, whose items have weights.
        unsafe {
            self.places.run(stream, source, found)?;
            let find_starts = || {
                let (starts_of, to) = (&self.starts, scratch.starts);
                starts_of.run(stream, starts, counters + 1, to, false)
            };
            match &self.fold {
                Fold::Moved(sort, fold) => {
                    let pairs = (keys, [weights, scratch.sorted], places);
                    sort.run(stream, order, pairs, bits, scratch.sort, given)?;
                    find_starts()?;
                    let call = Call {
                        source: slice,
                        segments,
                        len: places,
                        count: counters,
                        out,
                    };
                    fold.run(stream, call, None, workspace)
                }
                Fold::Read(sort, fold) => {
                    let pairs = (keys, [0, scratch.sorted], places);
                    sort.run(stream, order, pairs, bits, scratch.sort, given)?;
                    find_starts()?;
                    let parts = ConstantArguments {
                        value: parts as u64,
                    };
                    let call = Call {
                        source: GatherArguments {
                            data: SliceArguments { address: weights },
                            index: ZipArguments(slice, parts),
                            last: (source.1 as u64).saturating_sub(1),
                        },
                        segments,
                        len: places,
                        count: counters,
                        out,
                    };
                    fold.run(stream, call, None, workspace)
                }
            }
        }
    }
}
