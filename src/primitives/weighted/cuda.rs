//! Weighted histograms for callers that bring their own stream, slices and workspace.

use super::kernel::{Weighted, WeightedArguments};
use super::plan::{Scratch, WeightedPlan};
use crate::cuda::checks::{assert_length_is_known, bind, check_streams};
use crate::cuda::kernels::Loaded;
use crate::cuda::launch::{Grid, blocks, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{
    Collect, Gpu, Histogram, Scan, StreamBinder, Workspace, check_context, context_capability,
    driver_error,
};
use crate::element::assert_element_size;
use crate::engine::{Engine, HEADER_BYTES, RowPolicy};
use crate::ops::Add;
use crate::primitives::histogram::cuda::{PlaceKernels, SumKernels};
use crate::primitives::histogram::{Bins, Counted};
use crate::primitives::segmented::cuda::{Call, SegmentedReduce};
use crate::primitives::segmented::{OffsetsArguments, OffsetsOf};
use crate::render::Kernels as _;
use crate::source::{Form, Map, Slice, SliceArguments, Source};
use crate::{Element, Error, Monoid, Prefixes, Result, function};
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut, result};
use std::any::TypeId;
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
/// Integers are added up by the launches of a [`Histogram`], and one more if they have fewer than
/// 32 bits. That takes the time of reading items and weights.
///
/// Weights of other types are sorted by bin first, stably, and then those of each bin are folded as
/// [segments](crate::cuda::SegmentedReduce). A call enqueues a launch that finds the bins, a
/// histogram, a scan, three launches for each 8 bits of the number of bins, and one or two that
/// fold. The sort is that of Merrill and Grimshaw, "High performance and scalable radix sorting"
/// (2011).
///
/// # The workspace
///
/// As for [`Scan`]; they can share one. But here it also holds what is sorted: for each item and
/// channel 8 to 24 bytes and one or two weights, and for each bin 8 to 16 bytes.
#[derive(Debug)]
pub struct WeightedHistogram<W: Element, F: Form<Item: Counted>>
where
    Add: Monoid<W>,
{
    context: Arc<CudaContext>,
    way: Way<W, F>,
    parts: usize,
    all: usize,
}

/// The sums of the weights of a slice's elements.
pub type WeightedHistogramOf<W, X> = WeightedHistogram<W, Slice<X>>;

#[derive(Debug)]
enum Way<W: Element, F: Form<Item: Counted>>
where
    Add: Monoid<W>,
{
    /// Integers, and what narrows their sums.
    AddUp(Box<SumKernels<F>>, Narrow),
    /// Sort and fold.
    Sort(Box<Sort<W, F>>),
}

/// What narrows sums of 32 bits.
enum Narrow {
    Nothing,
    To8(Collect<Map<narrow_8, Slice<u32>>>),
    To16(Collect<Map<narrow_16, Slice<u32>>>),
}

impl std::fmt::Debug for Narrow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Narrow::Nothing => "Nothing",
            Narrow::To8(_) => "To8",
            Narrow::To16(_) => "To16",
        })
    }
}

#[function]
fn narrow_8(sum: u32) -> u8 {
    sum as u8
}

#[function]
fn narrow_16(sum: u32) -> u16 {
    sum as u16
}

#[derive(Debug)]
struct Sort<W: Element, F: Form<Item: Counted>>
where
    Add: Monoid<W>,
{
    places: PlaceKernels<F>,
    counts: Histogram<u64, Slice<u32>>,
    scan: Scan<u64, Add>,
    kernels: Arc<Loaded>,
    policy: RowPolicy,
    fold: SegmentedReduce<W, Add, Slice<W>, OffsetsOf<u64>>,
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

impl<W: Element, F: Form<Item: Counted>> WeightedHistogram<W, F>
where
    Add: Monoid<W>,
{
    /// Loads the kernels, and copies the bins to the device, which waits for `stream`. Integers
    /// take two kernels, and other weights some six, each of them some 1 ms from the disk cache,
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
        let way = if is_integer::<W>() {
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
            Way::AddUp(Box::new(kernels), narrow)
        } else {
            Way::Sort(Box::new(Sort::load(stream, bins, all)?))
        };
        Ok(WeightedHistogram {
            context: context.clone(),
            way,
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
        let scans = self.scan_bytes(len);
        // Scratch memory starts at a multiple of 256, a workspace at any multiple of 16.
        scans + self.scratch_bytes(scans as u64, len) + (256 - 16)
    }

    /// What the scans and the fold of a call need: the header at least, which other calls believe
    /// in.
    fn scan_bytes(&self, len: usize) -> usize {
        let Way::Sort(sort) = &self.way else {
            return HEADER_BYTES;
        };
        let plan = sort.plan(len * self.parts, self.all);
        let digits = plan.passes.iter().map(|&(_, bits)| plan.digits(bits));
        let longest = digits.fold(self.all + 1, usize::max);
        let scans = sort.scan.workspace_bytes(longest).max(HEADER_BYTES);
        scans.max(sort.fold.workspace_bytes(len * self.parts))
    }

    /// What a call needs besides, from an address on.
    fn scratch_bytes(&self, from: u64, len: usize) -> usize {
        let end = match &self.way {
            Way::AddUp(_, Narrow::Nothing) => from,
            Way::AddUp(..) => from.next_multiple_of(256) + 4 * self.all as u64,
            Way::Sort(sort) => sort.scratch(from, len * self.parts, self.all).end,
        };
        (end - from) as usize
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
        let scans = self.scan_bytes(len);
        let given = workspace.arguments(stream, self.workspace_bytes(len))?;
        let (weights, _reading) = weights.device_ptr(stream);
        let (output, _writing) = output.device_ptr_mut(stream);
        let scratch = given.address + scans as u64;
        // SAFETY: all was checked, and is borrowed until the launches are enqueued. Afterwards the
        // stream's order and cudarc's events protect it. The scratch memory lies behind what the
        // scans use.
        unsafe { self.run(stream, input, (weights, output), scratch, workspace) }
    }

    /// Enqueues the launches, with the addresses of weights, sums and scratch memory.
    ///
    /// # Safety
    ///
    /// `source` has the arguments of a source in the kernels' context with `len` items, and there
    /// are as many weights, and room for all sums. There is as much scratch memory as
    /// [`scratch_bytes`](WeightedHistogram::scratch_bytes) says, outside of what scans use of the
    /// workspace. Nothing else uses any of them before the work on the stream is done.
    unsafe fn run(
        &self,
        stream: &CudaStream,
        (source, len): (F::Arguments, usize),
        (weights, out): (u64, u64),
        scratch: u64,
        workspace: &mut Workspace,
    ) -> Result<()> {
        // SAFETY: the caller's.
        unsafe {
            let sort = match &self.way {
                Way::AddUp(kernels, narrow) => {
                    let wide = scratch.next_multiple_of(256);
                    let slice = SliceArguments { address: wide };
                    let (sums, all) = ((source, len), self.all);
                    return match narrow {
                        Narrow::Nothing => kernels.run(stream, sums, weights, out),
                        Narrow::To8(narrow) => {
                            kernels.run(stream, sums, weights, wide)?;
                            narrow.run(stream, slice, all, out, false)
                        }
                        Narrow::To16(narrow) => {
                            kernels.run(stream, sums, weights, wide)?;
                            narrow.run(stream, slice, all, out, false)
                        }
                    };
                }
                Way::Sort(sort) => sort,
            };
            let places = len * self.parts;
            let scratch = sort.scratch(scratch, places, self.all);
            let weights = (weights, self.parts);
            let sizes = (places, self.all);
            sort.run(
                stream,
                (source, len),
                weights,
                sizes,
                out,
                &scratch,
                workspace,
            )
        }
    }
}

impl<W: Element, F: Form<Item: Counted>> Sort<W, F>
where
    Add: Monoid<W>,
{
    fn load(
        stream: &Arc<CudaStream>,
        bins: &Bins<<F::Item as Counted>::Value>,
        all: usize,
    ) -> Result<Self> {
        let context = stream.context();
        let policy = Weighted::<W>::rows_policy(context_capability(context)?);
        let kernel = Weighted::<W>::kernel(Engine::Rows(policy));
        Ok(Sort {
            places: PlaceKernels::load(stream, bins)?,
            counts: Histogram::load(stream, &Bins::values(all)?)?,
            scan: Scan::load_lazily(context)?,
            kernels: Loaded::get(&kernel, context)?,
            policy,
            fold: SegmentedReduce::load(context)?,
        })
    }

    fn plan(&self, places: usize, all: usize) -> WeightedPlan {
        WeightedPlan::new(self.policy, places, all)
    }

    fn scratch(&self, from: u64, places: usize, all: usize) -> Scratch {
        let plan = self.plan(places, all);
        plan.scratch(from, (places, all), size_of::<W>())
    }

    /// Sorts the weights by the bins of their items, and folds those of each bin. `parts` places
    /// have one weight.
    ///
    /// # Safety
    ///
    /// As for [`WeightedHistogram::run`].
    #[allow(clippy::too_many_arguments)]
    unsafe fn run(
        &self,
        stream: &CudaStream,
        source: (F::Arguments, usize),
        (weights, parts): (u64, usize),
        (places, all): (usize, usize),
        out: u64,
        scratch: &Scratch,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let address = scratch.places[0];
        // SAFETY: the caller's; there is room for all places and counts, and for one more, which
        // becomes the end of the last bin.
        unsafe {
            self.places.run(stream, source, address)?;
            let slice = (SliceArguments { address }, places);
            self.counts.run(stream, slice, scratch.offsets)?;
            let end = scratch.offsets + 8 * all as u64;
            result::memset_d8_async(end, 0, 8, stream.cu_stream())
                .map_err(|error| driver_error("clearing memory", error))?;
            self.scan_in_place(stream, (scratch.offsets, all + 1), workspace)?;
            let sorted = self.sort(stream, (weights, parts), (places, all), scratch, workspace)?;
            let call = Call {
                source: SliceArguments { address: sorted },
                segments: OffsetsArguments {
                    offsets: scratch.offsets,
                    count: all as u64,
                    items: places as u64,
                },
                len: places,
                count: all,
                out,
            };
            self.fold.run(stream, call, None, workspace)
        }
    }

    /// Sorts weights by their places, and leaves out those that have no bin. Returns where they
    /// lie.
    ///
    /// # Safety
    ///
    /// As for [`WeightedHistogram::run`]. All places are known.
    unsafe fn sort(
        &self,
        stream: &CudaStream,
        (weights, parts): (u64, usize),
        (places, all): (usize, usize),
        scratch: &Scratch,
        workspace: &mut Workspace,
    ) -> Result<u64> {
        let plan = self.plan(places, all);
        let tiles = blocks(plan.tiles.max(1), places as u64)?;
        let grid = Grid::new(tiles, 32 * self.policy.warps, 0);
        let mut arguments = WeightedArguments {
            places: 0,
            places_to: 0,
            weights,
            out: 0,
            digits: 0,
            kept: 0,
            length: places as u64,
            parts: parts as u32,
            shift: 0,
            bits: 0,
            bins: all as u32,
        };
        for (pass, &(shift, bits)) in plan.passes.iter().enumerate() {
            // The first pass's digits say how many places are left, so they stay.
            let (digits, count) = (scratch.digits[pass.min(1)], plan.digits(bits));
            arguments = WeightedArguments {
                places: scratch.places[pass % 2],
                places_to: scratch.places[(pass + 1) % 2],
                out: scratch.weights[pass % 2],
                digits,
                shift,
                bits,
                ..arguments
            };
            // SAFETY: the caller's; the arguments are what the kernels are written for.
            unsafe {
                launch(
                    &self.kernels,
                    stream,
                    &Weighted::<W>::COUNT,
                    grid,
                    arguments,
                )?;
                self.scan_in_place(stream, (digits, count), workspace)?;
                launch(&self.kernels, stream, &Weighted::<W>::MOVE, grid, arguments)?;
            }
            (arguments.weights, arguments.parts) = (arguments.out, 1);
            if pass == 0 {
                arguments.kept = digits + 8 * (count as u64 - 1);
            }
        }
        Ok(arguments.weights)
    }

    /// Makes starts of counts.
    ///
    /// # Safety
    ///
    /// So many counts lie at the address, in the kernels' context, and are the call's alone.
    unsafe fn scan_in_place(
        &self,
        stream: &CudaStream,
        counts: (u64, usize),
        workspace: &mut Workspace,
    ) -> Result<()> {
        let (kernels, prefixes) = (&self.scan.kernels, Prefixes::exclusive());
        // SAFETY: the caller's; nothing but these numbers is read.
        unsafe { kernels.run_at(stream, prefixes, None, counts, workspace) }
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
    gpu.with_workspace(histogram.scan_bytes(len), |stream, workspace| {
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
