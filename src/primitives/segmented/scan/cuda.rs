//! Segmented scans for callers that bring their own stream and slices.

use crate::cpu::PrefixKind;
use crate::cuda::checks::{assert_length_is_known, bind, check_call};
use crate::cuda::kernels::{Lazy, Loaded, Shell, clone_by_fields};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder, Workspace};
use crate::element::assert_element_size;
use crate::engine::{Explanation, accumulator_layout};
pub(super) use crate::primitives::segmented::cuda::Call;
use crate::primitives::segmented::cuda::{Seed, seed};
use crate::primitives::segmented::kernel::{self, SegmentedPolicy, SegmentedScanArguments};
use crate::primitives::segmented::launches::Extent;
use crate::primitives::segmented::segments::{Cut, OffsetsOf, Segments};
use crate::render::{Function, Kernel, Named};
use crate::source::{Form, Slice, Source};
use crate::{Element, Error, Monoid, Prefixes, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut};
use std::marker::PhantomData;
use std::sync::Arc;

/// The kernel of segmented scans with `Op` of sources of the form `F`, loaded into a context. `C`
/// says how segments are given, as for [`SegmentedReduce`](crate::cuda::SegmentedReduce). Cheap to
/// clone.
///
/// ```no_run
/// use warpfold::{Offsets, OffsetsOf, Prefixes, ops::Add, source::Slice};
/// use warpfold::cuda::{SegmentedScan, Workspace, cudarc::driver::CudaContext};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let values = stream.clone_htod(&[1.0_f32, 2.0, 3.0])?;
/// let offsets = stream.clone_htod(&[0_u32, 2, 3])?;
/// let mut sums = stream.alloc_zeros::<f32>(3)?;
///
/// let scan = SegmentedScan::<f32, Add, Slice<f32>, OffsetsOf<u32>>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, scan.workspace_bytes(values.len()))?;
/// let segments = Offsets::unchecked(&offsets)?;
/// scan.enqueue(&stream, Prefixes::inclusive(), &values, segments, &mut sums, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&sums)?, [1.0, 3.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A call is one launch. It reads each item once, and writes each result once. The first scan
/// [in reverse](Prefixes::reverse) loads a kernel of its own.
#[derive(Debug)]
pub struct SegmentedScan<
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
    forwards: Arc<Loaded>,
    /// From the last item on.
    backwards: Lazy,
    policy: SegmentedPolicy,
    sum_bytes: usize,
}

clone_by_fields! {
    [T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut]
    SegmentedScan<T, Op, F, C> { core, named }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut> SegmentedScan<T, Op, F, C> {
    /// Loads the kernel.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong operator,
    /// [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        Ok(SegmentedScan {
            core: Self::load_core(context)?,
            named: PhantomData,
        })
    }

    /// The bytes of a [`Workspace`] that `len` items need, whatever the segments.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        self.core.workspace_bytes(len)
    }

    /// What a call for `count` segments of `len` items does: its launch, the workspace, and what
    /// they depend on.
    ///
    /// # Errors
    ///
    /// Those of a call with so many items.
    pub fn explain(&self, len: usize, count: usize) -> Result<Explanation> {
        let (core, of) = (&self.core, Extent { len, count });
        core.policy.explain_scan(core.sum_bytes, of, size_of::<T>())
    }

    /// Enqueues the scan of each segment of `input` into `output`, of the same length. Items that
    /// belong to no segment are copied.
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
        prefixes: Prefixes<T>,
        input: impl Source<CudaStream, Item = T, Form = F>,
        segments: impl Segments<CudaStream, Cut = C>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let context = self.core.forwards.context();
        let mut binder = StreamBinder::new(stream, context);
        let (source, len) = bind(&mut binder, &input)?;
        Error::check_length(len, output.len())?;
        let bound = segments.bind(&mut binder, len)?;
        let written = [("output", &**output.stream())];
        let bytes = self.workspace_bytes(len);
        check_call(context, stream, &written, workspace, bytes)?;
        let (out, _writing) = output.device_ptr_mut(stream);
        let call = Call {
            source,
            segments: bound,
            len,
            count: segments.count(),
            out,
        };
        // SAFETY: all was checked, and is borrowed until the launch is enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe { self.run(stream, call, prefixes, workspace) }
    }

    /// # Safety
    ///
    /// The arguments are of the kernel's context, and stay until the work on the stream is done;
    /// there is room for all results.
    unsafe fn run(
        &self,
        stream: &CudaStream,
        call: Call<F::Arguments, C::Arguments>,
        prefixes: Prefixes<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        // SAFETY: the caller's; these are the kernels of the types.
        unsafe {
            self.core
                .run(stream, call, asked::<T, Op>(&prefixes), workspace)
        }
    }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut> Shell for SegmentedScan<T, Op, F, C> {
    type Core = Core;

    fn load_core(context: &Arc<CudaContext>) -> Result<Core> {
        const { assert_element_size::<T>() };
        const { assert_length_is_known::<F>() };
        let policy = SegmentedPolicy::of::<T>();
        let kernel = |reverse| kernel::SegmentedScan::<T, Op, F, C>::kernel(policy, reverse);
        let sum_bytes = accumulator_layout::<T>().size();
        Core::load(context, [kernel(false), kernel(true)], policy, sum_bytes)
    }
}

/// Which prefixes a kernel gives.
struct Asked<A> {
    seed: Seed<A>,
    inclusive: u32,
    reverse: bool,
}

fn asked<T: Element, Op: Monoid<T>>(prefixes: &Prefixes<T>) -> Asked<T::Accumulator> {
    Asked {
        seed: seed::<T, Op>(prefixes.init),
        inclusive: u32::from(prefixes.kind == PrefixKind::Inclusive),
        reverse: prefixes.reverse,
    }
}

impl Core {
    fn load(
        context: &Arc<CudaContext>,
        [forwards, backwards]: [Kernel; 2],
        policy: SegmentedPolicy,
        sum_bytes: usize,
    ) -> Result<Core> {
        require_driver()?;
        Ok(Core {
            forwards: Loaded::get(&forwards, context)?,
            backwards: Lazy::new(backwards),
            policy,
            sum_bytes,
        })
    }

    fn workspace_bytes(&self, len: usize) -> usize {
        self.policy.scan_bytes_for(self.sum_bytes, len)
    }

    /// Compiled for the layouts of arguments, whatever the operator.
    ///
    /// # Safety
    ///
    /// As of [`SegmentedScan::run`]. The kernels take these arguments.
    unsafe fn run<S: Copy, G: Copy, A: Copy>(
        &self,
        stream: &CudaStream,
        call: Call<S, G>,
        asked: Asked<A>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let kernels = match asked.reverse {
            false => &self.forwards,
            true => self.backwards.get(self.forwards.context())?,
        };
        let (len, count) = (call.len, call.count);
        let of = Extent { len, count };
        of.check()?;
        let Some((name, blocks)) = self.policy.scan_launch(of) else {
            return Ok(());
        };
        let arguments = SegmentedScanArguments {
            source: call.source,
            segments: call.segments,
            out: call.out,
            workspace: workspace.arguments(stream, self.workspace_bytes(len))?,
            init: asked.seed.init,
            seeded: asked.seed.seeded,
            inclusive: asked.inclusive,
        };
        let (grid, function) = (Grid::of(blocks, len)?, &Function::new(name));
        // SAFETY: the caller's; the workspace has room for what the kernel keeps.
        unsafe { launch(kernels, stream, function, grid, arguments) }
    }
}

impl<T: Element, Op: Monoid<T>, C: Cut> SegmentedScan<T, Op, Slice<T>, C> {
    /// Enqueues the scan of each segment of `data`, in its place.
    ///
    /// # Errors
    ///
    /// As [`enqueue`](SegmentedScan::enqueue).
    pub fn enqueue_in_place(
        &self,
        stream: &CudaStream,
        prefixes: Prefixes<T>,
        data: &mut impl DevicePtrMut<T>,
        segments: impl Segments<CudaStream, Cut = C>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let context = self.core.forwards.context();
        let mut binder = StreamBinder::new(stream, context);
        let (len, count) = (data.len(), segments.count());
        let bound = segments.bind(&mut binder, len)?;
        let written = [("data", &**data.stream())];
        let bytes = self.workspace_bytes(len);
        check_call(context, stream, &written, workspace, bytes)?;
        let (out, _writing) = data.device_ptr_mut(stream);
        let call = Call {
            source: crate::source::SliceArguments { address: out },
            segments: bound,
            len,
            count,
            out,
        };
        // SAFETY: as for `enqueue`; nothing but the data is read.
        unsafe { self.run(stream, call, prefixes, workspace) }
    }
}

/// Scans each segment on a GPU's stream.
///
/// # Safety
///
/// The arguments are those of a source and of segments in this GPU's memory, which stay borrowed.
/// There is room for all results.
pub(super) unsafe fn scan_on<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut>(
    gpu: &Gpu,
    call: Call<F::Arguments, C::Arguments>,
    prefixes: Prefixes<T>,
) -> Result<()> {
    let core = gpu.core_of::<SegmentedScan<T, Op, F, C>>()?;
    // SAFETY: the caller's; these are the kernels of the types.
    unsafe { run_on(gpu, &core, call, asked::<T, Op>(&prefixes)) }
}

/// # Safety
///
/// As for [`scan_on`]. The kernels take these arguments.
unsafe fn run_on<S: Copy, G: Copy, A: Copy>(
    gpu: &Gpu,
    core: &Core,
    call: Call<S, G>,
    asked: Asked<A>,
) -> Result<()> {
    gpu.with_workspace(core.workspace_bytes(call.len), |stream, workspace| {
        // SAFETY: the caller's; the stream keeps calls and frees in order.
        unsafe { core.run(stream, call, asked, workspace) }
    })
}
