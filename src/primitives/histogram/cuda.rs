//! Histograms for callers that bring their own stream and slices.

use super::kernel::{
    self, BinRule, ByAnyValue, ByFixedGuess, ByGuess, BySearch, ByValue, HistogramArguments,
    PlacesOf, SumsOf, Weight, WeightedForm,
};
use super::{Binned, Bins, Count, Counted, Rule, check};
use crate::codegen::{
    Engine, HistogramMachine, HistogramPlan, HistogramPolicy, Kernels, Named, RowPolicy,
};
use crate::cuda::checks::bind;
use crate::cuda::kernels::{Loaded, Request};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{StreamBinder, check_context, context_capability, upload};
use crate::element::assert_element_size;
use crate::source::{Form, Slice, SliceArguments, Source, ZipArguments};
use crate::{Error, Result};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use std::marker::PhantomData;
use std::sync::Arc;

/// The histogram of some bins, loaded into a context, with counts of type `C`: `u32` or `u64`.
///
/// `F` is the [form](Form) of what is read. [`HistogramOf`] is the one for slices. If items are
/// arrays, each part has its own channel; see [`histogram`](crate::histogram()).
///
/// ```no_run
/// use warpfold::{Bins, cuda::{HistogramOf, cudarc::driver::CudaContext}};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let samples = stream.clone_htod(&[0.5_f32, 0.25, 0.9, 2.0])?;
///
/// let bins = Bins::even(0.0, 1.0, 2)?;
/// let histogram = HistogramOf::<u64, f32>::load(&stream, &bins)?;
/// let mut counts = stream.alloc_zeros::<u64>(histogram.counts())?;
/// histogram.enqueue(&stream, &samples, &mut counts)?;
/// assert_eq!(stream.clone_dtoh(&counts)?, [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Launches
///
/// A call enqueues two launches: one clears the counts, and one reads every item once and adds to
/// them. For up to 16,384 items and as many counters, over all channels, the second is enough: one
/// block stores what it counts. No call needs a workspace.
///
/// Blocks count in shared memory, each in counters of its own: with 227 KiB of it a block has room
/// for 58,111 of them. With up to 1815 of them and enough items, every lane of a warp has a copy of
/// its own, and then equal items take no longer than others. Private counters in shared memory are
/// those of Podlozhnyuk, "Histogram calculation in CUDA" (2007).
///
/// More counters than there is room for, or than a quarter of the items, are counted in global
/// memory, at the speed of its atomic additions. There each block has a cache of up to 16,384 of
/// them. Most likely they are those of the bins that come often, whose items do not wait for each
/// other then.
///
/// Bins of one width cost some operations on an item. For other edges each item takes a binary
/// search, in shared memory where there is room.
#[derive(Debug)]
pub struct Histogram<C: Count, F: Form<Item: Counted>> {
    loaded: LoadedFor<Value<F>>,
    policy: HistogramPolicy,
    bins: Bins<Value<F>>,
    channels: usize,
    count: Named<(C, F)>,
}

/// The histogram of a slice.
pub type HistogramOf<C, X> = Histogram<C, Slice<X>>;

/// What is counted of an item.
type Value<F> = <<F as Form>::Item as Counted>::Value;

impl<C: Count, F: Form<Item: Counted>> Clone for Histogram<C, F> {
    fn clone(&self) -> Self {
        Histogram {
            loaded: self.loaded.clone(),
            policy: self.policy,
            bins: self.bins.clone(),
            channels: self.channels,
            count: PhantomData,
        }
    }
}

impl<C: Count, F: Form<Item: Counted>> Histogram<C, F> {
    /// Loads the kernels, and copies the bins to the device, which waits for `stream`. The kernels
    /// take under 1 µs if this process has them already, some 2 ms from the disk cache, and 0.5 to
    /// 1 s if they must be compiled. Calls may be on other streams of the context.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Bins`] if the bins count more channels
    /// than items have, [`Error::Compile`] for a wrong function, [`Error::OutOfMemory`],
    /// [`Error::Driver`].
    pub fn load(stream: &Arc<CudaStream>, bins: &Bins<Value<F>>) -> Result<Self> {
        const { assert_element_size::<F::Item>() };
        require_driver()?;
        let channels = bins.channels_of(F::Item::CHANNELS)?;
        let capability = context_capability(stream.context())?;
        let rows = RowPolicy::for_histogram::<F>(capability);
        Ok(Histogram {
            loaded: LoadedFor::load::<Counts<C, F>>(stream, bins, rows)?,
            policy: HistogramPolicy::for_capability(capability),
            bins: bins.clone(),
            channels,
            count: PhantomData,
        })
    }

    /// The number of counts: the bins, times the channels.
    pub fn counts(&self) -> usize {
        self.channels * self.bins.count()
    }

    /// Enqueues the histogram of `input` into `output`, which must have as many elements as there
    /// are [`counts`](Histogram::counts).
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if `output` has another length, [`Error::Counts`] if there may be too many
    /// items for `u32`, [`Error::WrongDevice`] if something belongs to another context,
    /// [`Error::Zip`] if zipped sources have different lengths, [`Error::Driver`] if the launch
    /// fails.
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        input: impl Source<CudaStream, Item = F::Item, Form = F>,
        output: &mut impl DevicePtrMut<C>,
    ) -> Result<()> {
        let context = self.loaded.kernels.context();
        check_context(context, "stream", stream.context())?;
        check_context(context, "output", output.stream().context())?;
        let mut binder = StreamBinder::new(stream, context);
        let input = bind(&mut binder, &input)?;
        Error::check_length(check::<C, F::Item>(input.1, &self.bins)?, output.len())?;
        let (output, _writing) = output.device_ptr_mut(stream);
        // SAFETY: all was checked, and is borrowed until the launch is enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe { self.run(stream, input, output) }
    }

    /// Enqueues the launch, with the address of the counts.
    ///
    /// # Safety
    ///
    /// `source` has the arguments of a source in the kernels' context with `len` items. There are
    /// as many counts as [`counts`](Histogram::counts) says. Nothing else uses either before the
    /// work on the stream is done.
    pub(crate) unsafe fn run(
        &self,
        stream: &CudaStream,
        (source, len): (F::Arguments, usize),
        counts: u64,
    ) -> Result<()> {
        let of = Counting {
            policy: self.policy,
            bins: &self.bins,
            channels: self.channels,
            words: 1,
        };
        // SAFETY: the caller's.
        unsafe { self.loaded.count(stream, &of, source, len, counts) }
    }
}

/// The kernels of a primitive, one for each rule by which items get their bins.
pub(crate) trait ForEachRule {
    type Kernels<R: BinRule>: Kernels;
}

/// Those that count.
struct Counts<C, F>(Named<(C, F)>);

impl<C: Count, F: Form<Item: Counted>> ForEachRule for Counts<C, F> {
    type Kernels<R: BinRule> = kernel::Histogram<C, F, R>;
}

/// Those that store places.
struct Places<F>(Named<F>);

impl<F: Form<Item: Counted>> ForEachRule for Places<F> {
    type Kernels<R: BinRule> = PlacesOf<F, R>;
}

/// Those that add up weights.
struct Sums<F, W>(Named<(F, W)>);

impl<F: Form<Item: Counted>, W: Weight> ForEachRule for Sums<F, W> {
    type Kernels<R: BinRule> = SumsOf<F, R, W>;
}

/// Kernels for the rule of some bins of numbers `V`, and what they look at.
#[derive(Debug, Clone)]
struct LoadedFor<V> {
    kernels: Arc<Loaded>,
    rows: RowPolicy,
    /// The first number of each bin, if kernels look at it.
    firsts: Option<Arc<CudaSlice<V>>>,
}

/// What is counted, and how.
struct Counting<'a, V: Binned> {
    policy: HistogramPolicy,
    bins: &'a Bins<V>,
    channels: usize,
    /// The words of a counter in shared memory.
    words: usize,
}

impl<V: Binned> LoadedFor<V> {
    fn load<K: ForEachRule>(
        stream: &Arc<CudaStream>,
        bins: &Bins<V>,
        rows: RowPolicy,
    ) -> Result<LoadedFor<V>> {
        let (context, engine) = (stream.context(), Engine::Rows(rows));
        let request = match bins.rule() {
            Rule::Values if bins.have_all() => Request::of::<K::Kernels<ByAnyValue>>(),
            Rule::Values => Request::of::<K::Kernels<ByValue>>(),
            Rule::Search(..) => Request::of::<K::Kernels<BySearch>>(),
            Rule::Guess(..) => Request::of::<K::Kernels<ByGuess>>(),
            Rule::Fixed(..) => Request::of::<K::Kernels<ByFixedGuess>>(),
        };
        Ok(LoadedFor {
            kernels: Loaded::get(request, context, engine)?,
            rows,
            firsts: match bins.firsts() {
                [] => None,
                firsts => Some(Arc::new(upload(stream, firsts)?)),
            },
        })
    }

    /// Where the first number of each bin lies.
    fn firsts_at(&self, stream: &CudaStream) -> u64 {
        let firsts = self.firsts.as_ref();
        firsts.map_or(0, |firsts| firsts.device_ptr(stream).0)
    }

    /// Enqueues the launches that count, or add up, from nothing on.
    ///
    /// # Safety
    ///
    /// The kernels do that, and `source` has the arguments of what they read, in their context,
    /// with `len` items. There are as many counts as bins and channels. Nothing else uses either
    /// before the work on the stream is done.
    unsafe fn count<S: Copy>(
        &self,
        stream: &CudaStream,
        of: &Counting<'_, V>,
        source: S,
        len: usize,
        counts: u64,
    ) -> Result<()> {
        let machine = HistogramMachine {
            multiprocessors: self.kernels.multiprocessors(),
            shared_bytes: self.kernels.shared_bytes(),
        };
        let all = of.channels * of.bins.count();
        // A counter of two words takes the room of two. So does the one for what has no bin.
        let room = of.words * (all + 1) - 1;
        let table = of.bins.searched_bytes();
        let plan = HistogramPlan::new(of.policy, self.rows, machine, len, room, table);
        let places = [counts, self.firsts_at(stream)];
        let arguments = HistogramArguments::new(&plan, of.bins, of.channels, source, len, places);
        let grid = Grid {
            blocks: plan.blocks,
            threads: plan.threads,
            shared_bytes: plan.shared_bytes,
        };
        if plan.adds() {
            let grid = Grid {
                blocks: HistogramPlan::clearing_blocks(machine, all),
                threads: HistogramPlan::CLEARING_THREADS,
                shared_bytes: 0,
            };
            // SAFETY: the caller's.
            unsafe {
                launch(
                    &self.kernels,
                    stream,
                    &HistogramArguments::CLEAR,
                    grid,
                    arguments,
                )
            }?;
        }
        let function = match plan.global {
            true => HistogramArguments::GLOBAL,
            false => HistogramArguments::SHARED,
        };
        // SAFETY: the caller's; the first numbers are here.
        unsafe { launch(&self.kernels, stream, &function, grid, arguments) }
    }
}

/// The kernels that add up weights of some bins: integers without a sign, whose sums wrap.
#[derive(Debug, Clone)]
pub(crate) struct SumKernels<F: Form<Item: Counted>> {
    loaded: LoadedFor<Value<F>>,
    policy: HistogramPolicy,
    bins: Bins<Value<F>>,
    channels: usize,
    words: usize,
}

impl<F: Form<Item: Counted>> SumKernels<F> {
    pub(crate) fn load<W: Weight>(stream: &Arc<CudaStream>, bins: &Bins<Value<F>>) -> Result<Self> {
        let capability = context_capability(stream.context())?;
        let rows = RowPolicy::for_histogram::<WeightedForm<F, W>>(capability);
        Ok(SumKernels {
            loaded: LoadedFor::load::<Sums<F, W>>(stream, bins, rows)?,
            policy: HistogramPolicy::for_capability(capability),
            bins: bins.clone(),
            channels: bins.channels_of(F::Item::CHANNELS)?,
            words: W::WORDS,
        })
    }

    /// Enqueues the launches.
    ///
    /// # Safety
    ///
    /// `source` has the arguments of a source in the kernels' context with `len` items, and as many
    /// weights are at the address `weights`. There are as many sums, of the weights' type or of 32
    /// bits, as bins and channels. Nothing else uses any of them before the work on the stream is
    /// done.
    pub(crate) unsafe fn run(
        &self,
        stream: &CudaStream,
        (source, len): (F::Arguments, usize),
        weights: u64,
        sums: u64,
    ) -> Result<()> {
        let of = Counting {
            policy: self.policy,
            bins: &self.bins,
            channels: self.channels,
            words: self.words,
        };
        let source = ZipArguments(source, SliceArguments { address: weights });
        // SAFETY: the caller's.
        unsafe { self.loaded.count(stream, &of, source, len, sums) }
    }
}

/// The kernel that stores places: the counter of each part of each item, as a `u32`. Those that
/// have none get the number of counters.
#[derive(Debug, Clone)]
pub(crate) struct PlaceKernels<F: Form<Item: Counted>> {
    loaded: LoadedFor<Value<F>>,
    bins: Bins<Value<F>>,
    channels: usize,
}

impl<F: Form<Item: Counted>> PlaceKernels<F> {
    pub(crate) fn load(stream: &Arc<CudaStream>, bins: &Bins<Value<F>>) -> Result<Self> {
        let rows = RowPolicy::for_histogram::<F>(context_capability(stream.context())?);
        Ok(PlaceKernels {
            loaded: LoadedFor::load::<Places<F>>(stream, bins, rows)?,
            bins: bins.clone(),
            channels: bins.channels_of(F::Item::CHANNELS)?,
        })
    }

    /// Enqueues the launch.
    ///
    /// # Safety
    ///
    /// `source` has the arguments of a source in the kernels' context with `len` items. There is
    /// room for all their parts at `to`, a multiple of 16. Nothing else uses either before the work
    /// on the stream is done.
    pub(crate) unsafe fn run(
        &self,
        stream: &CudaStream,
        (source, len): (F::Arguments, usize),
        to: u64,
    ) -> Result<()> {
        let kernels = &self.loaded.kernels;
        let plan = HistogramPlan::of_places(self.loaded.rows, len, kernels.multiprocessors());
        let places = [to, self.loaded.firsts_at(stream)];
        let (bins, channels) = (&self.bins, self.channels);
        let arguments = HistogramArguments::new(&plan, bins, channels, source, len, places);
        let grid = Grid {
            blocks: plan.blocks,
            threads: plan.threads,
            shared_bytes: plan.shared_bytes,
        };
        // SAFETY: the caller's.
        unsafe {
            launch(
                kernels,
                stream,
                &HistogramArguments::PLACES,
                grid,
                arguments,
            )
        }
    }
}
