//! Runs of equal keys for callers that bring their own stream and slices: their number stays on the
//! device.

use super::BeginsRun;
use crate::cuda::kernels::clone_by_fields;
use crate::cuda::{
    Positions, Runs, SegmentedReduce, SegmentedScan, StreamBinder, Workspace, cudarc,
};
use crate::element::assert_element_size;
use crate::engine::Explanation;
use crate::primitives::segmented::segments::{CountedArguments, CountedStartsOf, Offset, Segments};
use crate::source::{Equal, Form, Heads, Map, Slice, SliceArguments, Source};
use crate::{Element, Error, Function, Monoid, Prefixes, Result};
use crate::{heads_by, map};
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut};
use std::sync::Arc;

/// Segments that start where a source says, as many as a number in device memory says;
/// [`starts_up_to`] makes them.
#[derive(Debug)]
pub struct CountedStarts<'c, S, C> {
    starts: S,
    count: &'c C,
}

/// Segments that each go on to the next of the `starts`, as those of [`Starts`](crate::Starts) do:
/// as many as the first element of `count` says when the kernels run. So what one call counts cuts
/// the next one, and the host waits for neither.
///
/// If `count` says more than there is room for in `starts`, the segments are those that end by the
/// last start that there is. What comes behind it is not looked at. As
/// [`Starts::unchecked`](crate::Starts::unchecked), they are taken as they are.
///
/// ```no_run
/// use warpfold::cuda::{Positions, SegmentedReduce, Workspace, starts_up_to};
/// use warpfold::cuda::cudarc::driver::CudaContext;
/// use warpfold::{CountedStartsOf, flags, ops::Add};
/// use warpfold::source::{Map, NonZero, Slice};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let x = stream.clone_htod(&[1.0_f32, 2.0, 4.0, 8.0])?;
/// let heads = stream.clone_htod(&[1_u8, 0, 1, 0])?;
/// let mut starts = stream.alloc_zeros::<u64>(4)?;
/// let mut count = stream.alloc_zeros::<u64>(1)?;
/// let mut sums = stream.alloc_zeros::<f32>(4)?;
///
/// let find = Positions::<Map<NonZero<u8>, Slice<u8>>>::load(&context)?;
/// let reduce = SegmentedReduce::<f32, Add, Slice<f32>, CountedStartsOf<u64>>::load(&context)?;
/// let bytes = find.workspace_bytes(4).max(reduce.workspace_bytes(4));
/// let mut workspace = Workspace::new(&stream, bytes)?;
/// find.enqueue(&stream, flags(&heads), &mut starts, &mut count, &mut workspace)?;
/// let segments = starts_up_to(&starts, &count);
/// reduce.enqueue(&stream, &x, segments, &mut sums, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&sums)?[..2], [3.0, 12.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn starts_up_to<S, C: DevicePtr<u64>>(starts: S, count: &C) -> CountedStarts<'_, S, C> {
    CountedStarts { starts, count }
}

impl<I, S, C> Segments<CudaStream> for CountedStarts<'_, S, C>
where
    I: Offset,
    S: Source<CudaStream, Item = I, Form = Slice<I>>,
    C: DevicePtr<u64>,
{
    type Cut = CountedStartsOf<I>;

    /// As many as there is room for.
    fn count(&self) -> usize {
        self.starts.items().expect("a slice has a length")
    }

    fn bind<'a>(&'a self, binder: &mut StreamBinder<'a>, items: usize) -> Result<CountedArguments> {
        if self.count.len() == 0 {
            return Err(Error::Count);
        }
        let SliceArguments { address } = self.starts.bind(binder)?;
        Ok(CountedArguments {
            starts: address,
            room: self.count() as u64,
            items: items as u64,
            counted: binder.slice::<u64>(self.count)?.address,
        })
    }
}

/// What a [`ReduceByKey`] stores of each run.
#[derive(Debug)]
pub struct RunOutputs<K, S, L, T> {
    /// Its first key.
    pub keys: K,
    /// Where it starts.
    pub starts: S,
    /// How many items it has.
    pub lengths: L,
    /// The fold of its values.
    pub folds: T,
}

/// Reductions by key with `Op`, loaded into a context: [`reduce_by_key`](crate::reduce_by_key())
/// for callers that bring their own stream and slices. `Same` compares keys, and is [`Equal`]
/// unless you say otherwise. `F` and `G` are the [forms](Form) of keys and values. Cheap to clone.
///
/// ```no_run
/// use warpfold::cuda::{ReduceByKey, RunOutputs, Workspace, cudarc::driver::CudaContext};
/// use warpfold::ops::Add;
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let keys = stream.clone_htod(&[1_u32, 1, 4])?;
/// let values = stream.clone_htod(&[0.5_f32, 1.0, 2.0])?;
/// let (mut firsts, mut sums) = (stream.alloc_zeros::<u32>(3)?, stream.alloc_zeros::<f32>(3)?);
/// let (mut starts, mut lengths) = (stream.alloc_zeros::<u64>(3)?, stream.alloc_zeros::<u64>(3)?);
/// let mut count = stream.alloc_zeros::<u64>(1)?;
///
/// let reduce = ReduceByKey::<u32, f32, Add>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, reduce.workspace_bytes(keys.len()))?;
/// let outputs = RunOutputs {
///     keys: &mut firsts,
///     starts: &mut starts,
///     lengths: &mut lengths,
///     folds: &mut sums,
/// };
/// reduce.enqueue(&stream, &keys, &values, outputs, &mut count, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&count)?, [2]);
/// assert_eq!(stream.clone_dtoh(&sums)?[..2], [1.5, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A call is a launch of [`Runs`], and those of a [`SegmentedReduce`]. It allocates nothing, waits
/// for nothing, and graphs may capture it.
#[derive(Debug)]
pub struct ReduceByKey<
    K: Element,
    T: Element,
    Op: Monoid<T>,
    Same = Equal<K>,
    F: Form<Item = K> = Slice<K>,
    G: Form<Item = T> = Slice<T>,
> where
    Same: Function<Input = (K, K), Output = bool>,
{
    runs: Runs<K, Heads<Same, F>>,
    reduce: SegmentedReduce<T, Op, G, CountedStartsOf<u64>>,
}

clone_by_fields! {
    [K: Element, T: Element, Op: Monoid<T>, Same: Function<Input = (K, K), Output = bool>,
        F: Form<Item = K>, G: Form<Item = T>]
    ReduceByKey<K, T, Op, Same, F, G> { runs, reduce }
}

impl<K, T, Op, Same, F, G> ReduceByKey<K, T, Op, Same, F, G>
where
    K: Element,
    T: Element,
    Op: Monoid<T>,
    Same: Function<Input = (K, K), Output = bool> + 'static,
    F: Form<Item = K>,
    G: Form<Item = T>,
{
    /// Loads the kernels.
    ///
    /// # Errors
    ///
    /// Those of [`Select::load`](crate::cuda::Select::load) and [`SegmentedReduce::load`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        const { assert_element_size::<K>() };
        Ok(ReduceByKey {
            runs: Runs::load(context)?,
            reduce: SegmentedReduce::load(context)?,
        })
    }

    /// The bytes of a [`Workspace`] that `len` keys need.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        let (runs, reduce) = (&self.runs, &self.reduce);
        runs.workspace_bytes(len).max(reduce.workspace_bytes(len))
    }

    /// What a call for `len` keys does, with room for `room` runs: launches, workspace, and what
    /// they depend on.
    ///
    /// # Errors
    ///
    /// Those of a call with so many keys; [`Error::Driver`].
    pub fn explain(&self, len: usize, room: usize) -> Result<Explanation> {
        let runs = self.runs.explain(len)?;
        Ok(runs.then("reduce by key", self.reduce.explain(len, room)?))
    }

    /// Enqueues the fold of the values of each run of equal neighbouring keys, and stores what
    /// [`RunOutputs`] says of each run. Their number goes to the first element of `count`.
    ///
    /// Outputs may be shorter than the keys, but all must have one length. If there are more runs
    /// than that, the outputs get the first ones, and the folds one less. So compare, when you read
    /// the count.
    ///
    /// # Errors
    ///
    /// [`Error::Zip`] if there are not as many values as keys, [`Error::Length`] if the outputs
    /// differ in length, and those of [`Runs::enqueue`](crate::cuda::Select::enqueue) and
    /// [`SegmentedReduce::enqueue`]. If the lengths are wrong, nothing is enqueued.
    pub fn enqueue<L, S>(
        &self,
        stream: &CudaStream,
        keys: impl Source<CudaStream, Item = K, Form = F>,
        values: impl Source<CudaStream, Item = T, Form = G>,
        outputs: RunOutputs<&mut impl DevicePtrMut<K>, &mut S, &mut L, &mut impl DevicePtrMut<T>>,
        count: &mut cudarc::driver::CudaSlice<u64>,
        workspace: &mut Workspace,
    ) -> Result<()>
    where
        L: DevicePtrMut<u64>,
        S: DevicePtrMut<u64>,
        for<'a> &'a S: Source<CudaStream, Item = u64, Form = Slice<u64>>,
    {
        super::check_lengths(keys.items()?, values.items()?)?;
        let room = outputs.folds.len();
        Error::check_length(room, outputs.keys.len())?;
        Error::check_length(room, outputs.lengths.len())?;
        Error::check_length(room, outputs.starts.len())?;
        let heads = heads_by::<Same, _>(keys);
        let found = (outputs.keys, &mut *outputs.starts, outputs.lengths);
        self.runs.enqueue(stream, heads, found, count, workspace)?;
        let segments = starts_up_to(&*outputs.starts, &*count);
        let folds = outputs.folds;
        self.reduce
            .enqueue(stream, values, segments, folds, workspace)
    }
}

/// Scans by key with `Op`, loaded into a context: [`scan_by_key`](crate::scan_by_key()) for callers
/// that bring their own stream and slices. The parameters are those of [`ReduceByKey`]. Cheap to
/// clone.
///
/// ```no_run
/// use warpfold::cuda::{ScanByKey, Workspace, cudarc::driver::CudaContext};
/// use warpfold::{Prefixes, ops::Add};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let keys = stream.clone_htod(&[1_u32, 1, 4])?;
/// let values = stream.clone_htod(&[0.5_f32, 1.0, 2.0])?;
/// let mut sums = stream.alloc_zeros::<f32>(3)?;
/// let mut starts = stream.alloc_zeros::<u64>(3)?;
/// let mut count = stream.alloc_zeros::<u64>(1)?;
///
/// let scan = ScanByKey::<u32, f32, Add>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, scan.workspace_bytes(keys.len()))?;
/// let (form, runs) = (Prefixes::inclusive(), (&mut starts, &mut count));
/// scan.enqueue(&stream, form, &keys, &values, &mut sums, runs, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&sums)?, [0.5, 1.5, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A call is a launch of [`Positions`], and that of a [`SegmentedScan`]. It allocates nothing,
/// waits for nothing, and graphs may capture it.
#[derive(Debug)]
pub struct ScanByKey<
    K: Element,
    T: Element,
    Op: Monoid<T>,
    Same = Equal<K>,
    F: Form<Item = K> = Slice<K>,
    G: Form<Item = T> = Slice<T>,
> where
    Same: Function<Input = (K, K), Output = bool>,
{
    find: Positions<Map<BeginsRun<K>, Heads<Same, F>>>,
    scan: SegmentedScan<T, Op, G, CountedStartsOf<u64>>,
}

clone_by_fields! {
    [K: Element, T: Element, Op: Monoid<T>, Same: Function<Input = (K, K), Output = bool>,
        F: Form<Item = K>, G: Form<Item = T>]
    ScanByKey<K, T, Op, Same, F, G> { find, scan }
}

impl<K, T, Op, Same, F, G> ScanByKey<K, T, Op, Same, F, G>
where
    K: Element,
    T: Element,
    Op: Monoid<T>,
    Same: Function<Input = (K, K), Output = bool> + 'static,
    F: Form<Item = K>,
    G: Form<Item = T>,
{
    /// Loads the kernels.
    ///
    /// # Errors
    ///
    /// Those of [`Select::load`](crate::cuda::Select::load) and [`SegmentedScan::load`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        const { assert_element_size::<K>() };
        Ok(ScanByKey {
            find: Positions::load(context)?,
            scan: SegmentedScan::load(context)?,
        })
    }

    /// The bytes of a [`Workspace`] that `len` keys need.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        let (find, scan) = (&self.find, &self.scan);
        find.workspace_bytes(len).max(scan.workspace_bytes(len))
    }

    /// What a call for `len` keys does: launches, workspace, and what they depend on.
    ///
    /// # Errors
    ///
    /// Those of a call with so many keys; [`Error::Driver`].
    pub fn explain(&self, len: usize) -> Result<Explanation> {
        let find = self.find.explain(len)?;
        Ok(find.then("scan by key", self.scan.explain(len, len)?))
    }

    /// Enqueues the scan of the values of each run of equal neighbouring keys into `output`. Where
    /// runs start goes to `starts`, and their number to the first element of `count`. There must be
    /// room for as many starts as there are keys.
    ///
    /// # Errors
    ///
    /// [`Error::Zip`] if there are not as many values as keys, [`Error::Length`] if `output` or
    /// `starts` has another length, and those of [`Positions`] and [`SegmentedScan::enqueue`]. If
    /// the lengths are wrong, nothing is enqueued.
    #[expect(
        clippy::too_many_arguments,
        reason = "a call names all memory that it uses"
    )]
    pub fn enqueue<S>(
        &self,
        stream: &CudaStream,
        prefixes: Prefixes<T>,
        keys: impl Source<CudaStream, Item = K, Form = F>,
        values: impl Source<CudaStream, Item = T, Form = G>,
        output: &mut impl DevicePtrMut<T>,
        (starts, count): (&mut S, &mut cudarc::driver::CudaSlice<u64>),
        workspace: &mut Workspace,
    ) -> Result<()>
    where
        S: DevicePtrMut<u64>,
        for<'a> &'a S: Source<CudaStream, Item = u64, Form = Slice<u64>>,
    {
        let len = keys.items()?;
        super::check_lengths(len, values.items()?)?;
        Error::check_length(len, output.len())?;
        Error::check_length(len, starts.len())?;
        let flags = map::<BeginsRun<K>, _>(heads_by::<Same, _>(keys));
        self.find.enqueue(stream, flags, starts, count, workspace)?;
        let segments = starts_up_to(&*starts, &*count);
        self.scan
            .enqueue(stream, prefixes, values, segments, output, workspace)
    }
}
