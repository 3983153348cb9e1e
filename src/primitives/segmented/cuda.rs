//! Segments for callers that bring their own stream and slices.

use super::OffsetsOf;
use super::kernel::{self, SegmentedArguments, SegmentedPolicy, SegmentedScratch};
use super::launches::Extent;
use super::segments::{Cut, Segments};
use crate::cuda::checks::{assert_length_is_known, bind, check_call};
use crate::cuda::kernels::{Loaded, Shell, clone_by_fields};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder, Workspace};
use crate::element::assert_element_size;
use crate::engine::{Explanation, HEADER_BYTES, accumulator_layout};
use crate::render::{Function, Kernel, Named};
use crate::source::{Form, Slice, Source};
use crate::{Element, Error, Monoid, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut};
use std::marker::PhantomData;
use std::sync::Arc;

/// The kernels of segmented reductions with `Op` of sources of the form `F`, loaded into a context.
/// `C` says how segments are given: [`OffsetsOf`] for offsets of a type, or
/// [`Rows`](crate::Rows). Cheap to clone.
///
/// ```no_run
/// use warpfold::{Offsets, OffsetsOf, ops::Add, source::Slice};
/// use warpfold::cuda::{SegmentedReduce, Workspace, cudarc::driver::CudaContext};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let values = stream.clone_htod(&[1.0_f32, 2.0, 3.0])?;
/// let offsets = stream.clone_htod(&[0_u32, 2, 3])?;
/// let mut sums = stream.alloc_zeros::<f32>(2)?;
///
/// let reduce = SegmentedReduce::<f32, Add, Slice<f32>, OffsetsOf<u32>>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, reduce.workspace_bytes(values.len()))?;
/// let segments = Offsets::unchecked(&offsets)?;
/// reduce.enqueue(&stream, &values, segments, &mut sums, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&sums)?, [3.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A call is two launches, and one for the shortest inputs. It reads each item once.
#[derive(Debug)]
pub struct SegmentedReduce<
    T: Element,
    Op: Monoid<T>,
    F: Form<Item = T> = Slice<T>,
    C: Cut = OffsetsOf<u64>,
> {
    core: Core,
    named: Named<(T, Op, F, C)>,
}

/// The kernels, which know no types.
#[derive(Debug, Clone)]
pub(crate) struct Core {
    kernels: Arc<Loaded>,
    policy: SegmentedPolicy,
    sum_bytes: usize,
}

clone_by_fields! {
    [T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut]
    SegmentedReduce<T, Op, F, C> { core, named }
}

/// What is reduced: the arguments of a source with `len` items and of `count` segments, and where
/// the results go.
pub(crate) struct Call<S, G> {
    pub(crate) source: S,
    pub(crate) segments: G,
    pub(crate) len: usize,
    pub(crate) count: usize,
    pub(crate) out: u64,
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut> SegmentedReduce<T, Op, F, C> {
    /// Loads the kernels.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong operator,
    /// [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        Ok(SegmentedReduce {
            core: Self::load_core(context)?,
            named: PhantomData,
        })
    }

    /// The bytes of a [`Workspace`] that `len` items need, whatever the segments.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        self.core.workspace_bytes(len)
    }

    /// What a call for `count` segments of `len` items does: launches, workspace, and what they
    /// depend on.
    ///
    /// # Errors
    ///
    /// Those of a call with so many items.
    pub fn explain(&self, len: usize, count: usize) -> Result<Explanation> {
        self.core.explain(Extent { len, count }, size_of::<T>())
    }

    /// Enqueues the fold of each segment of `input` into `output`, which must have as many elements
    /// as there are segments. Empty segments give the identity.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if `output` has another length, [`Error::Segments`] if the segments are
    /// known to pass the end of the input, [`Error::Workspace`] if `workspace` is too small,
    /// [`Error::WorkspaceStream`] if it serves another stream, [`Error::WrongDevice`] if something
    /// belongs to another context, [`Error::Zip`] if zipped sources have different lengths,
    /// [`Error::Items`] if there are more than 2^38 items, [`Error::Driver`] if a launch fails.
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        input: impl Source<CudaStream, Item = T, Form = F>,
        segments: impl Segments<CudaStream, Cut = C>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        self.enqueue_with(stream, None, input, segments, output, workspace)
    }

    /// Enqueues the fold of `init` and each segment of `input` into `output`. Empty segments give
    /// `init`.
    ///
    /// # Errors
    ///
    /// As [`enqueue`](SegmentedReduce::enqueue).
    pub fn enqueue_from(
        &self,
        stream: &CudaStream,
        init: T,
        input: impl Source<CudaStream, Item = T, Form = F>,
        segments: impl Segments<CudaStream, Cut = C>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        self.enqueue_with(stream, Some(init), input, segments, output, workspace)
    }

    fn enqueue_with(
        &self,
        stream: &CudaStream,
        init: Option<T>,
        input: impl Source<CudaStream, Item = T, Form = F>,
        segments: impl Segments<CudaStream, Cut = C>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let context = self.core.kernels.context();
        let mut binder = StreamBinder::new(stream, context);
        let (source, len) = bind(&mut binder, &input)?;
        let count = segments.count();
        let bound = segments.bind(&mut binder, len)?;
        Error::check_length(count, output.len())?;
        let written = [("output", &**output.stream())];
        let bytes = self.workspace_bytes(len);
        check_call(context, stream, &written, workspace, bytes)?;
        let (out, _writing) = output.device_ptr_mut(stream);
        let call = Call {
            source,
            segments: bound,
            len,
            count,
            out,
        };
        // SAFETY: all was checked, and is borrowed until the launches are enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe { self.run(stream, call, init, workspace) }
    }

    /// # Safety
    ///
    /// The arguments are of the kernels' context, and stay until the work on the stream is done;
    /// there is room for all results.
    pub(crate) unsafe fn run(
        &self,
        stream: &CudaStream,
        call: Call<F::Arguments, C::Arguments>,
        init: Option<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        // SAFETY: the caller's; these are the kernels of the types.
        unsafe { self.core.run(stream, call, seed::<T, Op>(init), workspace) }
    }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut> Shell for SegmentedReduce<T, Op, F, C> {
    type Core = Core;

    fn load_core(context: &Arc<CudaContext>) -> Result<Core> {
        const { assert_element_size::<T>() };
        const { assert_length_is_known::<F>() };
        let policy = SegmentedPolicy::of::<T>();
        let kernel = kernel::SegmentedReduce::<T, Op, F, C>::kernel(policy);
        Core::load(context, &kernel, policy, accumulator_layout::<T>().size())
    }
}

/// What comes first in each segment, or else is shown where nothing does.
pub(crate) struct Seed<A> {
    pub(crate) init: A,
    pub(crate) seeded: u32,
}

/// `init`, or the operator's identity.
pub(crate) fn seed<T: Element, Op: Monoid<T>>(init: Option<T>) -> Seed<T::Accumulator> {
    Seed {
        init: init.unwrap_or_else(Op::identity).widen(),
        seeded: u32::from(init.is_some()),
    }
}

impl Core {
    fn load(
        context: &Arc<CudaContext>,
        kernel: &Kernel,
        policy: SegmentedPolicy,
        sum_bytes: usize,
    ) -> Result<Core> {
        require_driver()?;
        Ok(Core {
            kernels: Loaded::get(kernel, context)?,
            policy,
            sum_bytes,
        })
    }

    fn scratch(&self, start: u64, len: usize) -> SegmentedScratch {
        self.policy.scratch_for(self.sum_bytes, start, len)
    }

    fn workspace_bytes(&self, len: usize) -> usize {
        self.policy.reduce_bytes_for(self.sum_bytes, len)
    }

    fn explain(&self, of: Extent, item_bytes: usize) -> Result<Explanation> {
        let sizes = (item_bytes, self.kernels.multiprocessors());
        self.policy.explain_reduce(self.sum_bytes, of, sizes)
    }

    /// Compiled for the layouts of arguments, whatever the operator.
    ///
    /// # Safety
    ///
    /// As of [`SegmentedReduce::run`]. The kernels take these arguments.
    unsafe fn run<S: Copy, G: Copy, A: Copy>(
        &self,
        stream: &CudaStream,
        call: Call<S, G>,
        seed: Seed<A>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let (kernels, policy) = (&*self.kernels, self.policy);
        let (len, count) = (call.len, call.count);
        let of = Extent { len, count };
        of.check()?;
        if count == 0 {
            return Ok(());
        }
        let workspace = workspace.arguments(stream, self.workspace_bytes(len))?;
        let scratch = self.scratch(workspace.address + HEADER_BYTES as u64, len);
        let arguments = SegmentedArguments {
            source: call.source,
            segments: call.segments,
            out: call.out,
            workspace,
            sums: scratch.sums,
            tails: scratch.tails,
            list: scratch.list,
            capacity: policy.most_long(len) as u32,
            seeded: seed.seeded,
            init: seed.init,
        };
        for (name, blocks) in policy.reduce_launches(of, kernels.multiprocessors()) {
            let (grid, function) = (Grid::of(blocks, len)?, Function::new(name));
            // SAFETY: the caller's; the workspace has room for what the kernels keep.
            unsafe { launch(kernels, stream, &function, grid, arguments)? };
        }
        Ok(())
    }
}

/// Folds each segment on a GPU's stream.
///
/// # Safety
///
/// The arguments are those of a source and of segments in this GPU's memory, which stay borrowed.
/// There is room for all results.
pub(super) unsafe fn reduce_on<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut>(
    gpu: &Gpu,
    call: Call<F::Arguments, C::Arguments>,
    init: Option<T>,
) -> Result<()> {
    let core = gpu.core_of::<SegmentedReduce<T, Op, F, C>>()?;
    // SAFETY: the caller's; these are the kernels of the types.
    unsafe { run_on(gpu, &core, call, seed::<T, Op>(init)) }
}

/// # Safety
///
/// As for [`reduce_on`]. The kernels take these arguments.
unsafe fn run_on<S: Copy, G: Copy, A: Copy>(
    gpu: &Gpu,
    core: &Core,
    call: Call<S, G>,
    seed: Seed<A>,
) -> Result<()> {
    gpu.with_workspace(core.workspace_bytes(call.len), |stream, workspace| {
        // SAFETY: the caller's; the stream keeps calls and frees in order.
        unsafe { core.run(stream, call, seed, workspace) }
    })
}
