//! Histograms for callers that bring their own stream and slices.

use super::kernel::{self, HistogramArguments, PlacesOf, SumsOf, Weight};
use super::launches::summing;
use super::lookup::{Lookup, LookupBytes};
use super::plan::{HistogramCounters, HistogramMachine, HistogramPlan};
use super::rule::{BinRule, ByAnyValue, ByFixedGuess, ByGuess, BySearch, ByValue, TablesAt};
use super::{Binned, Bins, Count, Counted, Rule, check};
use crate::cuda::checks::bind;
use crate::cuda::kernels::{Loaded, clone_by_fields};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder, check_context, context_capability, upload};
use crate::element::assert_element_size;
use crate::engine::{Engine, Explanation, RowPolicy};
use crate::primitives::histogram::plan::HistogramPolicy;
use crate::render::{Function, Kernels, Named};
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
/// them. For few items and counters, over all channels, the second is enough: one block stores what
/// it counts. No call needs a workspace.
///
/// Blocks count in shared memory, each in counters of its own, of 4 bytes. How many it has room for
/// depends on the GPU. Where many copies of them have room, and there are enough items, every lane
/// of a warp has a copy of its own, and then equal items take no longer than others. Private
/// counters in shared memory are those of Podlozhnyuk, "Histogram calculation in CUDA" (2007).
///
/// Up to twice as many counters have 16 bits each there, if there are enough items for each. A
/// block adds what is more than that to the counts at once. Items of one bin would wait for each
/// other, so each warp counts the bin that comes most often by itself.
///
/// More counters than there is room for, or than pay for so few items, are counted in global
/// memory, at the speed of its atomic additions. There each block has a cache of some of them. Most
/// likely they are those of the bins that come often, whose items do not wait for each other then.
///
/// Bins of one width cost some operations on an item. Other edges have a lookup, which lies in
/// shared memory beside the counters. Where it has room to tell the edges apart, it gives the bin
/// of an item by two loads. Elsewhere a binary search follows, between the few edges that it does
/// not tell apart. On the device bins take the size of a number each, and the lookup no more than a
/// block's shared memory.
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

clone_by_fields! {
    [C: Count, F: Form<Item: Counted>]
    Histogram<C, F> { loaded, policy, bins, channels, count }
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
        let counters = HistogramCounters::of_items(channels * bins.count());
        let rooms = |machine| HistogramPlan::lookup_rooms(rows, machine, counters);
        Ok(Histogram {
            loaded: LoadedFor::load::<Counts<C, F>>(stream, bins, rows, rooms)?,
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

    /// What a call for `len` items does: launches, and what they depend on. It needs no workspace.
    ///
    /// # Errors
    ///
    /// Those of a call with so many items.
    pub fn explain(&self, len: usize) -> Result<Explanation> {
        let count = check::<C, F::Item>(len, &self.bins)?;
        let counters = HistogramCounters::of_items(count);
        let plan = self.loaded.plan(self.policy, counters, len);
        let sizes = (len, size_of::<F::Item>());
        plan.explain(sizes, counters, machine_of(&self.loaded.kernels))
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
            counters: HistogramCounters::of_items(self.counts()),
        };
        // SAFETY: the caller's.
        unsafe { self.loaded.count(stream, &of, source, len, counts) }
    }
}

/// Something for the rule of some bins, which is a type.
macro_rules! for_rule {
    ($bins:expr, $rule:ident => $body:expr) => {{
        let bins: &Bins<_> = $bins;
        match bins.rule() {
            Rule::Values if bins.have_all() => for_rule!(ByAnyValue as $rule => $body),
            Rule::Values => for_rule!(ByValue as $rule => $body),
            Rule::Search(..) => for_rule!(BySearch as $rule => $body),
            Rule::Guess(..) => for_rule!(ByGuess as $rule => $body),
            Rule::Fixed(..) => for_rule!(ByFixedGuess as $rule => $body),
        }
    }};
    ($type:ident as $rule:ident => $body:expr) => {{
        type $rule = $type;
        $body
    }};
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
    /// What bins are looked up in, without its words, and these.
    lookup: Option<Arc<(Lookup, CudaSlice<u32>)>>,
}

/// What is counted, and how.
struct Counting<'a, V: Binned> {
    policy: HistogramPolicy,
    bins: &'a Bins<V>,
    channels: usize,
    counters: HistogramCounters,
}

impl<V: Binned> LoadedFor<V> {
    /// `lookup_rooms` tells how many bytes a lookup may have.
    fn load<K: ForEachRule>(
        stream: &Arc<CudaStream>,
        bins: &Bins<V>,
        rows: RowPolicy,
        lookup_rooms: impl FnOnce(HistogramMachine) -> Vec<usize>,
    ) -> Result<LoadedFor<V>> {
        let (context, engine) = (stream.context(), Engine::Rows(rows));
        let kernel = for_rule!(bins, R => K::Kernels::<R>::kernel(engine));
        let kernels = Loaded::get(&kernel, context)?;
        let lookup = bins.lookup(&lookup_rooms(machine_of(&kernels)));
        Ok(LoadedFor {
            kernels,
            rows,
            firsts: match bins.firsts() {
                [] => None,
                firsts => Some(Arc::new(upload(stream, firsts)?)),
            },
            lookup: match lookup {
                None => None,
                Some(mut lookup) => {
                    let words = upload(stream, &lookup.take_words())?;
                    Some(Arc::new((lookup, words)))
                }
            },
        })
    }

    /// Where kernels find what they look at.
    fn tables_at(&self, stream: &CudaStream) -> TablesAt<'_> {
        let lookup = self.lookup.as_ref();
        TablesAt {
            firsts: (self.firsts.as_ref()).map_or(0, |firsts| firsts.device_ptr(stream).0),
            lookup: lookup.map(|lookup| (&lookup.0, lookup.1.device_ptr(stream).0)),
        }
    }

    fn lookup_bytes(&self) -> LookupBytes {
        let lookup = self.lookup.as_ref();
        lookup.map_or(LookupBytes::default(), |lookup| lookup.0.bytes())
    }

    fn plan(
        &self,
        policy: HistogramPolicy,
        counters: HistogramCounters,
        len: usize,
    ) -> HistogramPlan {
        let (machine, lookup) = (machine_of(&self.kernels), self.lookup_bytes());
        HistogramPlan::new(policy, self.rows, machine, len, counters, lookup)
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
        let machine = machine_of(&self.kernels);
        let plan = self.plan(of.policy, of.counters, len);
        let (kernels, input) = (&self.kernels, (source, len));
        for_rule!(of.bins, R => {
            let tables = self.tables_at(stream);
            let (bins, channels) = (of.bins, of.channels);
            let given =
                HistogramArguments::new::<R, V>(&plan, bins, tables, channels, input, counts);
            for (name, blocks) in plan.launches(machine, of.counters.count) {
                let (grid, function) = (Grid::of(blocks, len)?, Function::new(name));
                // SAFETY: the caller's; the tables are here.
                unsafe { launch(kernels, stream, &function, grid, given) }?;
            }
            Ok(())
        })
    }
}

fn machine_of(kernels: &Loaded) -> HistogramMachine {
    HistogramMachine {
        multiprocessors: kernels.multiprocessors(),
        shared_bytes: kernels.shared_bytes(),
    }
}

/// The kernels that add up weights of some bins: integers without a sign, whose sums wrap.
#[derive(Debug, Clone)]
pub(crate) struct SumKernels<F: Form<Item: Counted>> {
    loaded: LoadedFor<Value<F>>,
    policy: HistogramPolicy,
    bins: Bins<Value<F>>,
    channels: usize,
    counters: HistogramCounters,
}

impl<F: Form<Item: Counted>> SumKernels<F> {
    pub(crate) fn load<W: Weight>(stream: &Arc<CudaStream>, bins: &Bins<Value<F>>) -> Result<Self> {
        let capability = context_capability(stream.context())?;
        let channels = bins.channels_of(F::Item::CHANNELS)?;
        let (rows, counters) = summing::<F, W>(capability, channels * bins.count());
        let rooms = |machine| HistogramPlan::lookup_rooms(rows, machine, counters);
        Ok(SumKernels {
            loaded: LoadedFor::load::<Sums<F, W>>(stream, bins, rows, rooms)?,
            policy: HistogramPolicy::for_capability(capability),
            bins: bins.clone(),
            channels,
            counters,
        })
    }

    pub(crate) fn plan(&self, len: usize) -> HistogramPlan {
        self.loaded.plan(self.policy, self.counters, len)
    }

    pub(crate) fn machine(&self) -> HistogramMachine {
        machine_of(&self.loaded.kernels)
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
            counters: self.counters,
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
        let rooms = |machine| vec![HistogramPlan::lookup_room_of_places(machine)];
        Ok(PlaceKernels {
            loaded: LoadedFor::load::<Places<F>>(stream, bins, rows, rooms)?,
            bins: bins.clone(),
            channels: bins.channels_of(F::Item::CHANNELS)?,
        })
    }

    pub(crate) fn plan(&self, len: usize) -> HistogramPlan {
        let lookup = self.loaded.lookup_bytes();
        HistogramPlan::of_places(self.loaded.rows, self.machine(), len, lookup)
    }

    pub(crate) fn machine(&self) -> HistogramMachine {
        machine_of(&self.loaded.kernels)
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
        let (loaded, kernels) = (&self.loaded, &self.loaded.kernels);
        let plan = self.plan(len);
        let (name, blocks) = plan.place_launch();
        for_rule!(&self.bins, R => {
            let (grid, function) = (Grid::of(blocks, len)?, Function::new(name));
            let (bins, tables) = (&self.bins, loaded.tables_at(stream));
            let (channels, input) = (self.channels, (source, len));
            let given = HistogramArguments::new::<R, _>(&plan, bins, tables, channels, input, to);
            // SAFETY: the caller's.
            unsafe { launch(kernels, stream, &function, grid, given) }
        })
    }
}

impl Gpu {
    /// Writes how many items of a source fall into each bin to `counts`.
    ///
    /// # Safety
    ///
    /// The arguments are those of a source on this GPU with `len` items. What it reads is freed on
    /// this GPU's stream. The counts are in this GPU's memory, borrowed for writing,
    /// and as many as the histogram has.
    pub(crate) unsafe fn histogram<C: Count, F: Form<Item: Counted>>(
        &self,
        source: F::Arguments,
        len: usize,
        bins: &Bins<<F::Item as Counted>::Value>,
        counts: u64,
    ) -> Result<()> {
        let histogram = Histogram::<C, F>::load(self.stream(), bins)?;
        // SAFETY: the caller's; the stream keeps calls and frees in order.
        unsafe { histogram.run(self.stream(), (source, len), counts) }
    }
}
