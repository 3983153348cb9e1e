//! Segmented scans for callers that bring their own stream and slices.

use crate::cpu::PrefixKind;
use crate::cuda::checks::{assert_length_is_known, bind, check_call};
use crate::cuda::kernels::Loaded;
use crate::cuda::launch::{Grid, blocks, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder, Workspace};
use crate::element::assert_element_size;
pub(super) use crate::primitives::segmented::cuda::Call;
use crate::primitives::segmented::cuda::MOST_ITEMS;
use crate::primitives::segmented::kernel::{self, SegmentedPolicy, SegmentedScanArguments};
use crate::primitives::segmented::segments::{Cut, OffsetsOf, Segments};
use crate::render::{Function, Named};
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
    context: Arc<CudaContext>,
    kernels: Arc<Loaded>,
    policy: SegmentedPolicy,
    named: Named<(Op, F, C)>,
    identity: fn() -> T,
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut> Clone for SegmentedScan<T, Op, F, C> {
    fn clone(&self) -> Self {
        SegmentedScan {
            context: self.context.clone(),
            kernels: self.kernels.clone(),
            named: PhantomData,
            ..*self
        }
    }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut> SegmentedScan<T, Op, F, C> {
    /// Loads the kernel.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong operator,
    /// [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        const { assert_element_size::<T>() };
        const { assert_length_is_known::<F>() };
        require_driver()?;
        let policy = SegmentedPolicy::of::<T>();
        let kernel = kernel::SegmentedScan::<T, Op, F, C>::kernel(policy, false);
        Ok(SegmentedScan {
            context: context.clone(),
            kernels: Loaded::get(&kernel, context)?,
            policy,
            named: PhantomData,
            identity: Op::identity,
        })
    }

    /// The bytes of a [`Workspace`] that `len` items need, whatever the segments.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        self.policy.scan_bytes::<T>(len)
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
        let mut binder = StreamBinder::new(stream, &self.context);
        let (source, len) = bind(&mut binder, &input)?;
        Error::check_length(len, output.len())?;
        let bound = segments.bind(&mut binder, len)?;
        let written = [("output", &**output.stream())];
        let bytes = self.workspace_bytes(len);
        check_call(&self.context, stream, &written, workspace, bytes)?;
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
        let mut kernels = &self.kernels;
        let reversed;
        if prefixes.reverse {
            let kernel = kernel::SegmentedScan::<T, Op, F, C>::kernel(self.policy, true);
            reversed = Loaded::get(&kernel, &self.context)?;
            kernels = &reversed;
        }
        let bytes = self.workspace_bytes(call.len);
        let init = prefixes.init.unwrap_or_else(self.identity).widen();
        let form = Asked {
            init,
            seeded: u32::from(prefixes.init.is_some()),
            inclusive: u32::from(prefixes.kind == PrefixKind::Inclusive),
        };
        let kernels = (&**kernels, self.policy);
        // SAFETY: the caller's; these are the kernels of the types.
        unsafe { run_kernel(kernels, stream, call, form, (workspace, bytes)) }
    }
}

/// Which prefixes a kernel gives.
struct Asked<A> {
    init: A,
    seeded: u32,
    inclusive: u32,
}

/// Compiled for the layouts of arguments, whatever the operator.
///
/// # Safety
///
/// As of [`SegmentedScan::run`]. The kernel takes these arguments.
unsafe fn run_kernel<S: Copy, G: Copy, A: Copy>(
    (kernels, policy): (&Loaded, SegmentedPolicy),
    stream: &CudaStream,
    call: Call<S, G>,
    form: Asked<A>,
    (workspace, bytes): (&mut Workspace, usize),
) -> Result<()> {
    let (len, most) = (call.len, MOST_ITEMS);
    if len as u64 > most {
        return Err(Error::Items { items: len, most });
    }
    if len == 0 {
        return Ok(());
    }
    let arguments = SegmentedScanArguments {
        source: call.source,
        segments: call.segments,
        out: call.out,
        workspace: workspace.arguments(stream, bytes)?,
        init: form.init,
        seeded: form.seeded,
        inclusive: form.inclusive,
    };
    let blocks = blocks(policy.tiles(len, call.count), len as u64)?;
    let grid = Grid::new(blocks, 32 * policy.warps, 0);
    // SAFETY: the caller's; the workspace has room for what the kernel keeps.
    unsafe {
        launch(
            kernels,
            stream,
            &Function::new(kernel::SCAN),
            grid,
            arguments,
        )
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
        let mut binder = StreamBinder::new(stream, &self.context);
        let (len, count) = (data.len(), segments.count());
        let bound = segments.bind(&mut binder, len)?;
        let written = [("data", &**data.stream())];
        let bytes = self.workspace_bytes(len);
        check_call(&self.context, stream, &written, workspace, bytes)?;
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
    let scan = gpu.kernels(SegmentedScan::<T, Op, F, C>::load)?;
    let bytes = scan.workspace_bytes(call.len);
    gpu.with_workspace(bytes, |stream, workspace| {
        // SAFETY: the caller's; the stream keeps calls and frees in order.
        unsafe { scan.run(stream, call, prefixes, workspace) }
    })
}
