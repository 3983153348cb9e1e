//! Segments between begins and ends for callers that bring their own stream and slices.

use super::super::expand::SaturatingSum;
use super::super::segments::{Offset, Offsets, OffsetsOf};
use super::{check_lengths, shifted};
use crate::cuda::checks::check_streams;
use crate::cuda::kernels::clone_by_fields;
use crate::cuda::{Expand, Scan, Workspace, cudarc, driver_error};
use crate::engine::Explanation;
use crate::source::{
    Constant, Form, Gather, Index, Indices, Map, Slice, Source, Zip, constant, gather, index, map,
    zip, zip3,
};
use crate::{Error, Prefixes, Result};
use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, CudaViewMut, DevicePtrMut, DeviceSlice, result,
};
use std::fmt;
use std::sync::Arc;

type Lengths<I> = Map<<I as Offset>::Length, Zip<(Slice<I>, Slice<I>, Constant<u64>)>>;
type Shifts<I> = Map<<I as Offset>::Shift, Zip<(Slice<u64>, Slice<I>, Constant<u64>)>>;

/// The form of the items of segments between begins and ends, of a source of the form `F`:
/// [`in_ranges`] makes sources of it.
pub type InRanges<F> = Gather<F, Map<shifted, Zip<(Slice<u64>, Index)>>>;

/// Makes segments of begins and ends, loaded into a context: [`Ranges`](crate::Ranges) for callers
/// that bring their own stream and slices. Segment `i` has the items from `begins[i]` to `ends[i]`.
/// They may overlap, leave gaps, and lie in any order. `I` is the type of begins and ends. Cheap to
/// clone.
///
/// ```no_run
/// use warpfold::cuda::{
///     CutRanges, InRanges, SegmentedReduce, Workspace, cudarc::driver::CudaContext, in_ranges,
/// };
/// use warpfold::{Offsets, OffsetsOf, ops::Add, source::Slice};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let x = stream.clone_htod(&[1.0_f32, 2.0, 4.0, 8.0, 16.0])?;
/// // Windows that overlap.
/// let begins = stream.clone_htod(&[2_u32, 0, 1])?;
/// let ends = stream.clone_htod(&[5_u32, 3, 1])?;
/// // Where each lies among the items of all, and room for 6 of these.
/// let mut offsets = stream.alloc_zeros::<u64>(begins.len() + 1)?;
/// let mut shifts = stream.alloc_zeros::<u64>(6)?;
/// let mut sums = stream.alloc_zeros::<f32>(begins.len())?;
///
/// let cut = CutRanges::<u32>::load(&context)?;
/// let reduce = SegmentedReduce::<f32, Add, InRanges<Slice<f32>>, OffsetsOf<u64>>::load(&context)?;
/// let bytes = cut.workspace_bytes(begins.len()).max(reduce.workspace_bytes(shifts.len()));
/// let mut workspace = Workspace::new(&stream, bytes)?;
/// let ranges = (&begins, &ends, x.len());
/// cut.enqueue(&stream, ranges, &mut offsets, &mut shifts, &mut workspace)?;
/// let (items, segments) = (in_ranges(&x, &shifts), Offsets::unchecked(&offsets)?);
/// reduce.enqueue(&stream, items, segments, &mut sums, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&sums)?, [28.0, 7.0, 0.0]);
/// assert_eq!(stream.clone_dtoh(&offsets)?[3], 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What it makes serves any number of calls that take a source and segments. Each reads 8 bytes
/// more for an item.
///
/// A call clears one number, and is a launch of a [`Scan`] and one of an [`Expand`]. It allocates
/// nothing, waits for nothing, and graphs may capture it.
pub struct CutRanges<I: Offset = u64> {
    context: Arc<CudaContext>,
    lengths: Scan<u64, SaturatingSum, Lengths<I>>,
    shifts: Expand<u64, Shifts<I>, OffsetsOf<u64>>,
}

impl<I: Offset> fmt::Debug for CutRanges<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CutRanges").finish_non_exhaustive()
    }
}

clone_by_fields! {
    [I: Offset]
    CutRanges<I> { context, lengths, shifts }
}

impl<I: Offset> CutRanges<I> {
    /// Loads the kernels.
    ///
    /// # Errors
    ///
    /// Those of [`Scan::load`] and [`Expand::load`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        Ok(CutRanges {
            context: context.clone(),
            lengths: Scan::load(context)?,
            shifts: Expand::load(context)?,
        })
    }

    /// The bytes of a [`Workspace`] that `count` segments need.
    pub fn workspace_bytes(&self, count: usize) -> usize {
        self.lengths.workspace_bytes(count)
    }

    /// What a call for `count` segments does, with room for the items of all: launches, workspace,
    /// and what they depend on. What clears a number is no launch.
    ///
    /// # Errors
    ///
    /// Those of a call with so many segments and items; [`Error::Driver`].
    pub fn explain(&self, count: usize, room: usize) -> Result<Explanation> {
        // Sums follow the first offset, so they start at no multiple of 16 bytes.
        let lengths = self.lengths.explain_of(count, true, false)?;
        let said = lengths.then("cut ranges", self.shifts.explain(room, count)?);
        Ok(Explanation {
            given: format!("{count} segments, with room for {room} items"),
            ..said
        })
    }

    /// Enqueues what makes segments of begins and ends, for sources of so many `items`: `offsets`
    /// gets where each segment lies among the items of all, and is one longer than the begins;
    /// `shifts` gets what [`in_ranges`] reads, and has room for the items of all segments.
    ///
    /// Begins and ends are taken as they are, and nothing leads outside of the source: those beyond
    /// the items count as their end, and a segment that ends before it begins is empty. The last
    /// offset says how many items all segments have. If there is no room for so many, segments are
    /// cut off where it ends. So compare, when you read that offset.
    ///
    /// # Errors
    ///
    /// [`Error::Zip`] if there are not as many ends as begins, [`Error::Length`] if `offsets` has
    /// another length, and those of [`Scan::enqueue`] and [`Expand::enqueue`]. If the lengths are
    /// wrong, nothing is enqueued.
    pub fn enqueue<B, E>(
        &self,
        stream: &CudaStream,
        (begins, ends, items): (B, E, usize),
        offsets: &mut CudaSlice<u64>,
        shifts: &mut impl DevicePtrMut<u64>,
        workspace: &mut Workspace,
    ) -> Result<()>
    where
        B: Source<CudaStream, Item = I, Form = Slice<I>> + Copy,
        E: Source<CudaStream, Item = I, Form = Slice<I>>,
    {
        let count = begins.items()?;
        check_lengths(count, ends.items()?)?;
        Error::check_length(count + 1, offsets.len())?;
        let items = constant(items as u64, count);
        self.clear(stream, &mut offsets.slice_mut(..1))?;
        let lengths = map::<I::Length, _>(zip3(begins, ends, items));
        let sums = &mut offsets.slice_mut(1..);
        self.lengths
            .enqueue(stream, Prefixes::inclusive(), lengths, sums, workspace)?;
        let places = offsets.slice(..count);
        let moved = map::<I::Shift, _>(zip3(&places, begins, items));
        let segments = Offsets::unchecked(&*offsets)?;
        self.shifts.enqueue(stream, moved, segments, 0, shifts)
    }

    /// Enqueues a 0 for the first offset.
    fn clear(&self, stream: &CudaStream, first: &mut CudaViewMut<'_, u64>) -> Result<()> {
        check_streams(&self.context, stream, &[("offsets", first.stream())])?;
        let (address, _writing) = first.device_ptr_mut(stream);
        let bound = self.context.bind_to_thread();
        bound
            // SAFETY: it is borrowed for writing, and has 8 bytes.
            .and_then(|()| unsafe { result::memset_d8_async(address, 0, 8, stream.cu_stream()) })
            .map_err(|error| driver_error("clearing memory", error))
    }
}

/// The items of the segments of a source that [`CutRanges`] made, one segment after the other: as
/// many as there are `shifts`. Those behind the last segment are any of the source.
///
/// A call that reads it fails with [`Error::Indices`] if there are shifts and no items.
pub fn in_ranges<S, V>(
    source: S,
    shifts: V,
) -> impl Source<CudaStream, Item = S::Item, Form = InRanges<S::Form>>
where
    S: Source<CudaStream, Form: Form>,
    V: Source<CudaStream, Item = u64, Form = Slice<u64>>,
{
    let len = shifts.items().expect("a slice has a length");
    let places = map::<shifted, _>(zip(shifts, index(len)));
    gather(source, Indices::unchecked(places))
}
