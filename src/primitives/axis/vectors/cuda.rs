//! Segments of vectors for callers that bring their own stream and slices.

use super::launches::{explain, launch_of};
use super::rows_of;
use crate::cuda::checks::{assert_length_is_known, bind, check_streams};
use crate::cuda::kernels::{Loaded, Shell, clone_by_fields};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder};
use crate::element::assert_element_size;
use crate::engine::Explanation;
use crate::primitives::axis::kernel::{self, AxisSegmentsArguments};
use crate::primitives::axis::plan::AxisPolicy;
use crate::primitives::segmented::{Cut, OffsetsOf, Segments};
use crate::render::{Function, Kernel, Named};
use crate::source::{Form, Slice, Source};
use crate::{Element, Error, Monoid, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut};
use std::marker::PhantomData;
use std::sync::Arc;

/// The kernel that folds segments of rows with `Op`, of sources of the form `F`, loaded into a
/// context; `C` says how segments are given. Cheap to clone.
///
/// ```no_run
/// use warpfold::{Offsets, OffsetsOf, ops::Add, source::Slice};
/// use warpfold::cuda::{SegmentedReduceVectors, cudarc::driver::CudaContext};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let rows = stream.clone_htod(&[1.0_f32, 10.0, 2.0, 20.0])?;
/// let offsets = stream.clone_htod(&[0_u32, 2])?;
/// let mut sums = stream.alloc_zeros::<f32>(2)?;
///
/// let reduce = SegmentedReduceVectors::<f32, Add, Slice<f32>, OffsetsOf<u32>>::load(&context)?;
/// reduce.enqueue(&stream, &rows, 2, Offsets::unchecked(&offsets)?, &mut sums)?;
/// assert_eq!(stream.clone_dtoh(&sums)?, [3.0, 30.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A call is one launch, and takes no workspace.
#[derive(Debug)]
pub struct SegmentedReduceVectors<
    T: Element,
    Op: Monoid<T>,
    F: Form<Item = T> = Slice<T>,
    C: Cut = OffsetsOf<u64>,
> {
    core: Core,
    named: Named<(T, Op, F, C)>,
}

/// The kernel, which knows no types.
#[derive(Debug, Clone)]
pub(crate) struct Core {
    kernels: Arc<Loaded>,
    policy: AxisPolicy,
}

clone_by_fields! {
    [T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut]
    SegmentedReduceVectors<T, Op, F, C> { core, named }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut> SegmentedReduceVectors<T, Op, F, C> {
    /// Loads the kernel.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong operator,
    /// [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        Ok(SegmentedReduceVectors {
            core: Self::load_core(context)?,
            named: PhantomData,
        })
    }

    /// What a call for `count` segments of rows of `inner` items does, whatever the rows: the
    /// launch, which depends on these numbers alone. It needs no workspace.
    ///
    /// # Errors
    ///
    /// [`Error::Axis`] if there are more results than can be counted, [`Error::Codegen`] if a grid
    /// cannot hold a thread for each.
    pub fn explain(&self, count: usize, inner: usize) -> Result<Explanation> {
        explain(self.core.policy.threads, count, inner)
    }

    /// Enqueues the fold of each segment of rows of `inner` items into `output`, which has a row
    /// for each segment. Empty segments give the identity.
    ///
    /// # Errors
    ///
    /// [`Error::Axis`] if the items are no rows, [`Error::Length`] if `output` has another length,
    /// [`Error::Segments`] if the segments are known to pass the last row, [`Error::WrongDevice`]
    /// if something belongs to another context, [`Error::Zip`] if zipped sources have different
    /// lengths, [`Error::Driver`] if the launch fails.
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        input: impl Source<CudaStream, Item = T, Form = F>,
        inner: usize,
        segments: impl Segments<CudaStream, Cut = C>,
        output: &mut impl DevicePtrMut<T>,
    ) -> Result<()> {
        self.enqueue_with(stream, None, input, inner, segments, output)
    }

    /// Enqueues the fold of `init` and each column of each segment. Empty segments give `init`.
    /// Otherwise as [`enqueue`](SegmentedReduceVectors::enqueue).
    ///
    /// # Errors
    ///
    /// As [`enqueue`](SegmentedReduceVectors::enqueue).
    pub fn enqueue_from(
        &self,
        stream: &CudaStream,
        init: T,
        input: impl Source<CudaStream, Item = T, Form = F>,
        inner: usize,
        segments: impl Segments<CudaStream, Cut = C>,
        output: &mut impl DevicePtrMut<T>,
    ) -> Result<()> {
        self.enqueue_with(stream, Some(init), input, inner, segments, output)
    }

    fn enqueue_with(
        &self,
        stream: &CudaStream,
        init: Option<T>,
        input: impl Source<CudaStream, Item = T, Form = F>,
        inner: usize,
        segments: impl Segments<CudaStream, Cut = C>,
        output: &mut impl DevicePtrMut<T>,
    ) -> Result<()> {
        let context = self.core.kernels.context();
        let mut binder = StreamBinder::new(stream, context);
        let (source, items) = bind(&mut binder, &input)?;
        let (_, rows) = rows_of(items, inner)?;
        let bound = segments.bind(&mut binder, rows)?;
        Error::check_length(segments.count().saturating_mul(inner), output.len())?;
        check_streams(context, stream, &[("output", &**output.stream())])?;
        let results = output.len();
        let (out, _writing) = output.device_ptr_mut(stream);
        // SAFETY: all was checked, and is borrowed until the launch is enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe {
            let call = call::<T, Op, _, _>((source, bound), inner, results, init, out);
            self.core.run(stream, call)
        }
    }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut> Shell
    for SegmentedReduceVectors<T, Op, F, C>
{
    type Core = Core;

    fn load_core(context: &Arc<CudaContext>) -> Result<Core> {
        const { assert_element_size::<T>() };
        const { assert_length_is_known::<F>() };
        let policy = AxisPolicy::of::<T>();
        let kernel = kernel::AxisSegments::<T, Op, F, C>::kernel(policy);
        Core::load(context, &kernel, policy)
    }
}

/// The arguments of a call of so many results.
fn call<T: Element, Op: Monoid<T>, S, G>(
    (source, segments): (S, G),
    inner: usize,
    results: usize,
    init: Option<T>,
    out: u64,
) -> AxisSegmentsArguments<S, G, T::Accumulator> {
    AxisSegmentsArguments {
        source,
        segments,
        out,
        inner: inner as u64,
        threads: results as u64,
        seeded: u32::from(init.is_some()),
        unused: 0,
        init: init.unwrap_or_else(Op::identity).widen(),
    }
}

impl Core {
    fn load(context: &Arc<CudaContext>, kernel: &Kernel, policy: AxisPolicy) -> Result<Core> {
        require_driver()?;
        Ok(Core {
            kernels: Loaded::get(kernel, context)?,
            policy,
        })
    }

    /// Compiled for the layouts of arguments, whatever the operator.
    ///
    /// # Safety
    ///
    /// The arguments are the kernel's, of its context, and stay until the work on the stream is
    /// done; there is room for all results, a row of `inner` for each segment.
    unsafe fn run<S: Copy, G: Copy, A: Copy>(
        &self,
        stream: &CudaStream,
        call: AxisSegmentsArguments<S, G, A>,
    ) -> Result<()> {
        let Some((name, blocks)) = launch_of(self.policy.threads, call.threads) else {
            return Ok(());
        };
        let grid = Grid::of(blocks, call.threads as usize)?;
        let function = Function::new(name);
        // SAFETY: the caller's.
        unsafe { launch(&self.kernels, stream, &function, grid, call) }
    }
}

/// Folds segments of rows on a GPU's stream.
///
/// # Safety
///
/// The arguments are those of a source and of segments of its rows in this GPU's memory, which stay
/// borrowed. There is room for all results.
pub(super) unsafe fn reduce_on<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut>(
    gpu: &Gpu,
    bound: (F::Arguments, C::Arguments),
    inner: usize,
    results: usize,
    init: Option<T>,
    out: u64,
) -> Result<()> {
    let core = gpu.core_of::<SegmentedReduceVectors<T, Op, F, C>>()?;
    let call = call::<T, Op, _, _>(bound, inner, results, init, out);
    // SAFETY: the caller's; the stream keeps calls and frees in order.
    unsafe { core.run(gpu.stream(), call) }
}
