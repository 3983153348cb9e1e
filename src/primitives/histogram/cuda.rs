//! Histograms for callers that bring their own stream and slices.

use super::kernel::{
    self, BinRule, ByAnyValue, ByFixedGuess, ByGuess, BySearch, ByValue, HistogramArguments,
    PlacesOf,
};
use super::{Bins, Count, Counted, Rule, check};
use crate::codegen::{Engine, HistogramMachine, HistogramPlan, HistogramPolicy, RowPolicy};
use crate::cuda::checks::bind;
use crate::cuda::kernels::{Loaded, Request};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{StreamBinder, check_context, context_capability, upload};
use crate::element::assert_element_size;
use crate::source::{Form, Slice, Source};
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
    kernels: Arc<Loaded>,
    rows: RowPolicy,
    policy: HistogramPolicy,
    bins: Bins<Value<F>>,
    /// The first number of each bin, if kernels look at it.
    firsts: Option<Arc<CudaSlice<Value<F>>>>,
    channels: usize,
    count: PhantomData<fn() -> C>,
}

/// The histogram of a slice.
pub type HistogramOf<C, X> = Histogram<C, Slice<X>>;

/// What is counted of an item.
type Value<F> = <<F as Form>::Item as Counted>::Value;

impl<C: Count, F: Form<Item: Counted>> Clone for Histogram<C, F> {
    fn clone(&self) -> Self {
        Histogram {
            kernels: self.kernels.clone(),
            rows: self.rows,
            policy: self.policy,
            bins: self.bins.clone(),
            firsts: self.firsts.clone(),
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
        match bins.rule() {
            Rule::Values if bins.have_all() => Histogram::load_rule::<ByAnyValue>(stream, bins),
            Rule::Values => Histogram::load_rule::<ByValue>(stream, bins),
            Rule::Search(_) => Histogram::load_rule::<BySearch>(stream, bins),
            Rule::Guess(..) => Histogram::load_rule::<ByGuess>(stream, bins),
            Rule::Fixed(..) => Histogram::load_rule::<ByFixedGuess>(stream, bins),
        }
    }

    fn load_rule<R: BinRule>(stream: &Arc<CudaStream>, bins: &Bins<Value<F>>) -> Result<Self> {
        const { assert_element_size::<F::Item>() };
        require_driver()?;
        let channels = bins.channels_of(F::Item::CHANNELS)?;
        let capability = context_capability(stream.context())?;
        let rows = kernel::Histogram::<C, F, R>::rows_policy(capability);
        let engine = Engine::Rows(rows);
        let request = Request::of::<kernel::Histogram<C, F, R>>();
        let kernels = Loaded::get(request, stream.context(), engine)?;
        let firsts = bins.firsts();
        let firsts = match firsts.is_empty() {
            true => None,
            false => Some(Arc::new(upload(stream, firsts)?)),
        };
        Ok(Histogram {
            kernels,
            rows,
            policy: HistogramPolicy::for_capability(capability),
            bins: bins.clone(),
            firsts,
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
        let context = self.kernels.context();
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
        let machine = HistogramMachine {
            multiprocessors: self.kernels.multiprocessors(),
            shared_bytes: self.kernels.shared_bytes(),
        };
        let all = self.counts();
        let table = self.bins.searched_bytes();
        let plan = HistogramPlan::new(self.policy, self.rows, machine, len, all, table);
        let firsts = self.firsts.as_ref().map(|firsts| firsts.device_ptr(stream));
        let address = firsts.as_ref().map_or(0, |(address, _)| *address);
        let (bins, channels) = (&self.bins, self.channels);
        let arguments =
            HistogramArguments::new(&plan, bins, channels, source, len, [counts, address]);
        let grid = Grid {
            blocks: plan.blocks,
            threads: plan.threads,
            shared_bytes: plan.shared_bytes,
        };
        if plan.adds() {
            let clear = kernel::Histogram::<C, F, ByValue>::CLEAR;
            let grid = Grid {
                blocks: HistogramPlan::clearing_blocks(machine, all),
                threads: HistogramPlan::CLEARING_THREADS,
                shared_bytes: 0,
            };
            // SAFETY: the caller's.
            unsafe { launch(&self.kernels, stream, &clear, grid, arguments) }?;
        }
        let function = match plan.global {
            true => kernel::Histogram::<C, F, ByValue>::GLOBAL,
            false => kernel::Histogram::<C, F, ByValue>::SHARED,
        };
        // SAFETY: the caller's; the first numbers are this histogram's.
        unsafe { launch(&self.kernels, stream, &function, grid, arguments) }
    }
}

/// Enqueues the storing of the counter of each part of each item at `to`, as a `u32`. Those that
/// have none get the number of counters.
///
/// # Safety
///
/// `source` has the arguments of a source in the stream's context with `len` items. There is room
/// for all their parts. Nothing else uses either before the work on the stream is done.
pub(crate) unsafe fn store_places<F: Form<Item: Counted>>(
    stream: &Arc<CudaStream>,
    source: (F::Arguments, usize),
    bins: &Bins<Value<F>>,
    to: u64,
) -> Result<()> {
    // SAFETY: the caller's.
    unsafe {
        match bins.rule() {
            Rule::Values => store_places_by::<F, ByValue>(stream, source, bins, to),
            Rule::Search(_) => store_places_by::<F, BySearch>(stream, source, bins, to),
            Rule::Guess(..) => store_places_by::<F, ByGuess>(stream, source, bins, to),
            Rule::Fixed(..) => store_places_by::<F, ByFixedGuess>(stream, source, bins, to),
        }
    }
}

/// # Safety
///
/// As for [`store_places`].
unsafe fn store_places_by<F: Form<Item: Counted>, R: BinRule>(
    stream: &Arc<CudaStream>,
    (source, len): (F::Arguments, usize),
    bins: &Bins<Value<F>>,
    to: u64,
) -> Result<()> {
    let channels = bins.channels_of(F::Item::CHANNELS)?;
    let capability = context_capability(stream.context())?;
    let rows = kernel::Histogram::<u32, F, R>::rows_policy(capability);
    let request = Request::of::<PlacesOf<F, R>>();
    let kernels = Loaded::get(request, stream.context(), Engine::Rows(rows))?;
    // Freed in the order of the stream, after the launch.
    let firsts = match bins.firsts() {
        [] => None,
        firsts => Some(upload(stream, firsts)?),
    };
    let plan = HistogramPlan::of_places(rows, len, kernels.multiprocessors());
    let firsts_at = firsts
        .as_ref()
        .map_or(0, |firsts| firsts.device_ptr(stream).0);
    let places = [to, firsts_at];
    let arguments = HistogramArguments::new(&plan, bins, channels, source, len, places);
    let grid = Grid {
        blocks: plan.blocks,
        threads: plan.threads,
        shared_bytes: plan.shared_bytes,
    };
    // SAFETY: the caller's.
    unsafe { launch(&kernels, stream, &PlacesOf::<F, R>::STORE, grid, arguments) }
}
