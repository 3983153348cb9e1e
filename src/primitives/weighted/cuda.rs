//! Weighted histograms for callers that bring their own stream, slices and workspace.

use super::launches::{Cut, Narrow8, Narrow16, SortedPlan, Way, explain};
use super::sort_and_fold::SortAndFold;
use crate::cuda::checks::{assert_length_is_known, bind, check_streams};
use crate::cuda::library::require_driver;
use crate::cuda::{Collect, Gpu, StreamBinder, Workspace, check_context};
use crate::element::assert_element_size;
use crate::engine::{Explanation, RowPolicy};
use crate::ops::Add;
use crate::primitives::histogram::cuda::SumKernels;
use crate::primitives::histogram::{Bins, Counted};
use crate::source::{Form, Slice, SliceArguments, Source};
use crate::{Element, Error, Monoid, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut};
use std::sync::Arc;

/// The sums of the weights `W` of the items in each of some bins, loaded into a context.
///
/// `F` is the [form](Form) of the items. [`WeightedHistogramOf`] is the one for slices. See
/// [`histogram_weighted`](crate::histogram_weighted()) for what a sum is.
///
/// ```no_run
/// use warpfold::{Bins, cuda::{WeightedHistogramOf, Workspace, cudarc::driver::CudaContext}};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let samples = stream.clone_htod(&[0.5_f32, 0.25, 0.9, 2.0])?;
/// let weights = stream.clone_htod(&[1.0_f64, 2.0, 3.0, 4.0])?;
///
/// let bins = Bins::even(0.0, 1.0, 2)?;
/// let histogram = WeightedHistogramOf::<f64, f32>::load(&stream, &bins)?;
/// let mut workspace = Workspace::new(&stream, histogram.workspace_bytes(samples.len()))?;
/// let mut sums = stream.alloc_zeros::<f64>(histogram.sums())?;
/// histogram.enqueue(&stream, &samples, &weights, &mut sums, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&sums)?, [2.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// How weights are sorted depends on their number, so the host must know it: sources that a number
/// on the device limits ([`up_to`](crate::cuda::up_to)) do not compile here:
///
/// ```compile_fail,E0080
/// # use warpfold::{Bins, cuda::{UpTo, WeightedHistogram, cudarc::driver::CudaContext}};
/// # use warpfold::source::Slice;
/// # let stream = CudaContext::new(0)?.default_stream();
/// type Limited = WeightedHistogram<f32, UpTo<Slice<u8>>>;
/// let histogram = Limited::load(&stream, &Bins::values(3)?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Launches
///
/// Integers are added up by the launches of a [`Histogram`](crate::cuda::Histogram), and one more
/// if they have fewer than 32 bits. That takes the time of reading items and weights.
///
/// Weights of other types are [sorted](crate::cuda::SortPairs) by bin first, and then those of each
/// bin are folded as [segments](crate::cuda::SegmentedReduce). A launch before finds the bins, and
/// one between finds where each begins.
///
/// # The workspace
///
/// As for [`Scan`](crate::cuda::Scan); they can share one. But here it also holds what is sorted:
/// 12 bytes and two weights for each item, and 8 bytes for each bin. Weights of more than 16 bytes,
/// and those of items with several channels, stay where they are: then it is 28 bytes for each item
/// and channel. The sort takes what [`SortPairs`](crate::cuda::SortPairs) says besides.
pub struct WeightedHistogram<W: Element, F: Form<Item: Counted>>
where
    Add: Monoid<W>,
{
    context: Arc<CudaContext>,
    way: Way,
    kernels: Kernels<W, F>,
    parts: usize,
    all: usize,
}

/// The sums of the weights of a slice's elements.
pub type WeightedHistogramOf<W, X> = WeightedHistogram<W, Slice<X>>;

enum Kernels<W: Element, F: Form<Item: Counted>>
where
    Add: Monoid<W>,
{
    /// Integers, and what narrows their sums.
    AddUp(Box<SumKernels<F>>, Narrow),
    /// Sort and fold.
    Sort(Box<SortAndFold<W, F>>),
}

/// What narrows sums of 32 bits.
enum Narrow {
    Nothing,
    To8(Collect<Narrow8>),
    To16(Collect<Narrow16>),
}

impl<W: Element, F: Form<Item: Counted>> std::fmt::Debug for WeightedHistogram<W, F>
where
    Add: Monoid<W>,
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WeightedHistogram")
            .field("sums", &self.all)
            .finish_non_exhaustive()
    }
}

impl Narrow {
    fn policy(&self) -> Option<RowPolicy> {
        match self {
            Narrow::Nothing => None,
            Narrow::To8(collect) => Some(collect.policy()),
            Narrow::To16(collect) => Some(collect.policy()),
        }
    }
}

impl<W: Element, F: Form<Item: Counted>> WeightedHistogram<W, F>
where
    Add: Monoid<W>,
{
    /// Loads the kernels, and copies the bins to the device, which waits for `stream`. Integers
    /// take two kernels, and other weights some five, each of them some 1 ms from the disk cache,
    /// and 0.2 to 0.5 s if it must be compiled. Calls may be on other streams of the context.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Bins`] if the bins count more channels
    /// than items have, [`Error::Compile`] for a wrong function, [`Error::OutOfMemory`],
    /// [`Error::Driver`].
    pub fn load(
        stream: &Arc<CudaStream>,
        bins: &Bins<<F::Item as Counted>::Value>,
    ) -> Result<Self> {
        const { assert_element_size::<W>() };
        const { assert_length_is_known::<F>() };
        require_driver()?;
        let (context, parts) = (stream.context(), F::Item::CHANNELS);
        let all = bins.channels_of(parts)? * bins.count();
        // Sums of integers that wrap are the same with and without a sign.
        let way = Way::of::<W, F::Item>();
        let kernels = if let Way::Sort { moves } = way {
            Kernels::Sort(Box::new(SortAndFold::load(stream, bins, moves)?))
        } else {
            let (kernels, narrow) = match size_of::<W>() {
                1 => (
                    SumKernels::load::<u8>(stream, bins)?,
                    Narrow::To8(Collect::load(context)?),
                ),
                2 => (
                    SumKernels::load::<u16>(stream, bins)?,
                    Narrow::To16(Collect::load(context)?),
                ),
                4 => (SumKernels::load::<u32>(stream, bins)?, Narrow::Nothing),
                _ => (SumKernels::load::<u64>(stream, bins)?, Narrow::Nothing),
            };
            Kernels::AddUp(Box::new(kernels), narrow)
        };
        Ok(WeightedHistogram {
            context: context.clone(),
            way,
            kernels,
            parts,
            all,
        })
    }

    /// The number of sums: the bins, times the channels.
    pub fn sums(&self) -> usize {
        self.all
    }

    /// The bytes of a [`Workspace`] that a call with `len` items needs.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        self.way.workspace_bytes::<W>(len * self.parts, self.all)
    }

    fn shared_bytes(&self, len: usize) -> usize {
        self.way.shared_bytes::<W>(len * self.parts, self.all)
    }

    /// What a call needs besides, from an address on.
    fn scratch_bytes(&self, from: u64, len: usize) -> usize {
        (self.way).scratch_bytes::<W>(from, len * self.parts, self.all)
    }

    /// What a call for `len` items with their weights does: launches, workspace, and what they
    /// depend on, which is the bins, the bytes of items and weights, whether weights are integers,
    /// and the GPU.
    ///
    /// # Errors
    ///
    /// Those of a call with so many items.
    pub fn explain(&self, len: usize) -> Result<Explanation> {
        let (cut, machine) = match &self.kernels {
            Kernels::AddUp(kernels, narrow) => {
                let (plan, narrow) = (kernels.plan(len), narrow.policy());
                (Cut::AddUp { plan, narrow }, kernels.machine())
            }
            Kernels::Sort(sort) => {
                let cut = Cut::Sort {
                    plan: self.sorted(len),
                    places: sort.places().plan(len),
                    starts: sort.starts_policy(),
                };
                (cut, sort.places().machine())
            }
        };
        explain::<W, F>(&cut, len, self.all, machine)
    }

    fn sorted(&self, len: usize) -> SortedPlan {
        let moves = self.way == Way::Sort { moves: true };
        SortedPlan::of::<W>(moves, len.saturating_mul(self.parts), self.all)
    }

    /// Enqueues the sums of `weights` by the bins of `input` into `output`, which must have as many
    /// elements as there are [`sums`](WeightedHistogram::sums).
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if `output` has another length, [`Error::Zip`] if there are not as many
    /// weights as items, [`Error::Workspace`] if `workspace` is too small,
    /// [`Error::WorkspaceStream`] if it serves another stream, [`Error::WrongDevice`] if something
    /// belongs to another context, [`Error::Driver`] if a launch fails.
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        input: impl Source<CudaStream, Item = F::Item, Form = F>,
        weights: &impl DevicePtr<W>,
        output: &mut impl DevicePtrMut<W>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let mut binder = StreamBinder::new(stream, &self.context);
        let input = bind(&mut binder, &input)?;
        let len = input.1;
        check_streams(&self.context, stream, &[("output", &**output.stream())])?;
        check_context(&self.context, "weights", weights.stream().context())?;
        if weights.len() != len {
            return Err(Error::Zip {
                first: len,
                second: weights.len(),
            });
        }
        Error::check_length(self.all, output.len())?;
        let shared = self.shared_bytes(len);
        let given = workspace.arguments(stream, self.workspace_bytes(len))?;
        let (weights, _reading) = weights.device_ptr(stream);
        let (output, _writing) = output.device_ptr_mut(stream);
        let scratch = given.address + shared as u64;
        // SAFETY: all was checked, and is borrowed until the launches are enqueued. Afterwards the
        // stream's order and cudarc's events protect it. The scratch memory lies behind what
        // others use.
        unsafe { self.run(stream, input, (weights, output), scratch, workspace) }
    }

    /// Enqueues the launches, with the addresses of weights, sums and scratch memory.
    ///
    /// # Safety
    ///
    /// `source` has the arguments of a source in the kernels' context with `len` items, and there
    /// are as many weights, and room for all sums. There is as much scratch memory as
    /// [`scratch_bytes`](WeightedHistogram::scratch_bytes) says, outside of what others use of the
    /// workspace. Nothing else uses any of them before the work on the stream is done.
    unsafe fn run(
        &self,
        stream: &CudaStream,
        (source, len): (F::Arguments, usize),
        (weights, out): (u64, u64),
        scratch: u64,
        workspace: &mut Workspace,
    ) -> Result<()> {
        match &self.kernels {
            Kernels::Sort(sort) => {
                let (plan, weights) = (self.sorted(len), (weights, self.parts));
                // SAFETY: the caller's.
                unsafe {
                    sort.run(
                        stream,
                        (source, len),
                        weights,
                        plan,
                        (scratch, out),
                        workspace,
                    )
                }
            }
            Kernels::AddUp(kernels, narrow) => {
                let wide = scratch.next_multiple_of(256);
                let slice = SliceArguments { address: wide };
                let sums = (source, len);
                // SAFETY: the caller's.
                unsafe {
                    match narrow {
                        Narrow::Nothing => kernels.run(stream, sums, weights, out),
                        Narrow::To8(narrow) => {
                            kernels.run(stream, sums, weights, wide)?;
                            narrow.run(stream, slice, self.all, out, false)
                        }
                        Narrow::To16(narrow) => {
                            kernels.run(stream, sums, weights, wide)?;
                            narrow.run(stream, slice, self.all, out, false)
                        }
                    }
                }
            }
        }
    }
}

/// Writes the sum of the weights of each bin to `out`, on a GPU's stream.
///
/// # Safety
///
/// The items are those of a source in this GPU's memory, which stays borrowed. There is a weight
/// for each of them at `weights`, and room for the sums of all channels' bins at `out`.
pub(super) unsafe fn histogram_weighted<W: Element, F: Form<Item: Counted>>(
    gpu: &Gpu,
    (items, len): (F::Arguments, usize),
    (weights, out): (u64, u64),
    bins: &Bins<<F::Item as Counted>::Value>,
) -> Result<()>
where
    Add: Monoid<W>,
{
    let histogram = WeightedHistogram::<W, F>::load(gpu.stream(), bins)?;
    // The workspace is kept, and what is sorted is not.
    let scratch = gpu.allocate::<u8>(histogram.scratch_bytes(0, len))?;
    gpu.with_workspace(histogram.shared_bytes(len), |stream, workspace| {
        // SAFETY: the caller's; the stream keeps calls and frees in order. Memory of its own starts
        // at a multiple of 256.
        unsafe {
            histogram.run(
                stream,
                (items, len),
                (weights, out),
                scratch.address(),
                workspace,
            )
        }
    })
}
