//! Axes for callers that bring their own stream and slices.

use super::Axis;
use super::kernel::{self, AxisArguments};
use super::launches::{AxisLaunch, Explaining};
use super::plan::{AxisLevel, AxisPlan, AxisPolicy};
use crate::cpu::PrefixKind;
use crate::cuda::checks::{assert_length_is_known, bind, check_call};
use crate::cuda::kernels::{Loaded, Shell, clone_by_fields};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder, Workspace};
use crate::element::assert_element_size;
use crate::engine::{Explanation, HEADER_BYTES, accumulator_layout};
use crate::primitives::scan::Prefixes;
use crate::primitives::segmented::Rows;
use crate::primitives::segmented::cuda::SegmentedReduce;
use crate::primitives::segmented::kernel::SegmentedPolicy;
use crate::primitives::segmented::scan::cuda::SegmentedScan;
use crate::render::{Function, Kernel};
use crate::source::{Form, Slice, SliceArguments, Source};
use crate::{Element, Error, Monoid, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut};
use std::sync::Arc;

/// The kernels of reductions and scans along an axis with `Op`, of sources of the form `F`, loaded
/// into a context. Cheap to clone.
///
/// ```no_run
/// use warpfold::{Axis, Prefixes, ops::Add};
/// use warpfold::cuda::{AlongAxis, Workspace, cudarc::driver::CudaContext};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let matrix = stream.clone_htod(&[1.0_f32, 2.0, 3.0, 4.0])?;
/// let mut sums = stream.alloc_zeros::<f32>(2)?;
///
/// let along = AlongAxis::<f32, Add>::load(&context)?;
/// let axis = Axis::of(&[2, 2], 0)?;
/// let mut workspace = Workspace::new(&stream, along.workspace_bytes(axis))?;
/// along.enqueue_reduce(&stream, &matrix, axis, &mut sums, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&sums)?, [4.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A reduction of many lanes is one launch, and takes one more for every level of chunks that long
/// lanes are cut into. It reads each item once. A scan of lanes that are cut reads them twice.
#[derive(Debug)]
pub struct AlongAxis<T: Element, Op: Monoid<T>, F: Form<Item = T> = Slice<T>> {
    core: Core,
    rows: SegmentedReduce<T, Op, F, Rows>,
    scanned_rows: SegmentedScan<T, Op, F, Rows>,
}

/// The kernels for lanes that are no rows. They know no types.
#[derive(Debug, Clone)]
pub(crate) struct Core {
    loaded: Arc<Loaded>,
    policy: AxisPolicy,
    sum_bytes: usize,
}

clone_by_fields! {
    [T: Element, Op: Monoid<T>, F: Form<Item = T>]
    AlongAxis<T, Op, F> { core, rows, scanned_rows }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> AlongAxis<T, Op, F> {
    /// Loads the kernels.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong operator,
    /// [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        Ok(AlongAxis {
            core: Self::load_core(context)?,
            rows: SegmentedReduce::load(context)?,
            scanned_rows: SegmentedScan::load(context)?,
        })
    }

    /// The bytes of a [`Workspace`] that calls along an axis need.
    pub fn workspace_bytes(&self, axis: Axis) -> usize {
        self.explaining().workspace_bytes(&axis)
    }

    fn explaining(&self) -> Explaining {
        self.core
            .explaining(size_of::<T>(), SegmentedPolicy::of::<T>())
    }

    /// What a reduction along an axis does: launches, workspace, and what they depend on.
    ///
    /// # Errors
    ///
    /// Those of a call along such an axis.
    pub fn explain_reduce(&self, axis: Axis) -> Result<Explanation> {
        self.explaining().explain(&axis, false)
    }

    /// What a scan along an axis does; as [`explain_reduce`](AlongAxis::explain_reduce).
    ///
    /// # Errors
    ///
    /// Those of a call along such an axis.
    pub fn explain_scan(&self, axis: Axis) -> Result<Explanation> {
        self.explaining().explain(&axis, true)
    }

    /// Enqueues the fold of each lane of `input` into `output`, which has an element for each lane.
    /// Lanes without items give the identity.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if `output` has another length, [`Error::Axis`] if the input does not hold
    /// the array, [`Error::Workspace`] if `workspace` is too small, [`Error::WorkspaceStream`] if
    /// it serves another stream, [`Error::WrongDevice`] if something belongs to another context,
    /// [`Error::Zip`] if zipped sources have different lengths, [`Error::Codegen`] for more lanes
    /// than a grid can hold, [`Error::Driver`] if a launch fails.
    pub fn enqueue_reduce(
        &self,
        stream: &CudaStream,
        input: impl Source<CudaStream, Item = T, Form = F>,
        axis: Axis,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        if axis.is_rows() {
            axis.check(input.items()?)?;
            let rows = Rows::new(axis.outer, axis.len);
            return self.rows.enqueue(stream, input, rows, output, workspace);
        }
        self.reduce(stream, None, input, axis, output, workspace)
    }

    /// Enqueues the fold of `init` and each lane. Lanes without items give `init`. Otherwise as
    /// [`enqueue_reduce`](AlongAxis::enqueue_reduce).
    ///
    /// # Errors
    ///
    /// As [`enqueue_reduce`](AlongAxis::enqueue_reduce).
    pub fn enqueue_reduce_from(
        &self,
        stream: &CudaStream,
        init: T,
        input: impl Source<CudaStream, Item = T, Form = F>,
        axis: Axis,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        if axis.is_rows() {
            axis.check(input.items()?)?;
            let rows = Rows::new(axis.outer, axis.len);
            let kernels = &self.rows;
            return kernels.enqueue_from(stream, init, input, rows, output, workspace);
        }
        self.reduce(stream, Some(init), input, axis, output, workspace)
    }

    fn reduce(
        &self,
        stream: &CudaStream,
        init: Option<T>,
        input: impl Source<CudaStream, Item = T, Form = F>,
        axis: Axis,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let mut binder = StreamBinder::new(stream, self.core.context());
        let (source, items) = bind(&mut binder, &input)?;
        axis.check(items)?;
        Error::check_length(axis.lanes(), output.len())?;
        let written = [("output", &**output.stream())];
        let bytes = self.workspace_bytes(axis);
        check_call(self.core.context(), stream, &written, workspace, bytes)?;
        let (out, _writing) = output.device_ptr_mut(stream);
        // SAFETY: all was checked, and is borrowed until the launches are enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe {
            let call = Call::of::<T, Op>(source, &axis, init);
            self.core.reduce(stream, call, out, workspace)
        }
    }

    /// Enqueues the scan of each lane of `input` into `output`, an array without gaps.
    ///
    /// # Errors
    ///
    /// As [`enqueue_reduce`](AlongAxis::enqueue_reduce); `output` has an element for each item.
    pub fn enqueue_scan(
        &self,
        stream: &CudaStream,
        prefixes: Prefixes<T>,
        input: impl Source<CudaStream, Item = T, Form = F>,
        axis: Axis,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        if axis.is_rows() {
            axis.check(input.items()?)?;
            let (kernels, rows) = (&self.scanned_rows, Rows::new(axis.outer, axis.len));
            return kernels.enqueue(stream, prefixes, input, rows, output, workspace);
        }
        let mut binder = StreamBinder::new(stream, self.core.context());
        let (source, items) = bind(&mut binder, &input)?;
        axis.check(items)?;
        Error::check_length(axis.items(), output.len())?;
        let written = [("output", &**output.stream())];
        let bytes = self.workspace_bytes(axis);
        check_call(self.core.context(), stream, &written, workspace, bytes)?;
        let (out, _writing) = output.device_ptr_mut(stream);
        let call = Call::of::<T, Op>(source, &axis, prefixes.init);
        let results = Results::of(&prefixes, out, axis.compact());
        // SAFETY: as for reductions.
        unsafe { self.core.scan(stream, call, results, workspace) }
    }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> Shell for AlongAxis<T, Op, F> {
    type Core = Core;

    fn load_core(context: &Arc<CudaContext>) -> Result<Core> {
        const { assert_element_size::<T>() };
        const { assert_length_is_known::<F>() };
        let policy = AxisPolicy::of::<T>();
        let kernel = kernel::AxisLanes::<T, Op, F>::kernel(policy);
        Core::load(context, &kernel, policy, accumulator_layout::<T>().size())
    }
}

/// What is folded or scanned: the arguments of a source that holds the array, and what comes first
/// in each lane, or else is shown where nothing does.
struct Call<'a, S, A> {
    source: S,
    axis: &'a Axis,
    init: A,
    seeded: u32,
}

impl<'a, S, A> Call<'a, S, A> {
    fn of<T: Element<Accumulator = A>, Op: Monoid<T>>(
        source: S,
        axis: &'a Axis,
        init: Option<T>,
    ) -> Self {
        Call {
            source,
            axis,
            init: init.unwrap_or_else(Op::identity).widen(),
            seeded: u32::from(init.is_some()),
        }
    }
}

/// What a scan gives: which prefixes, and where they lie.
struct Results {
    out: u64,
    to: Axis,
    inclusive: u32,
    reverse: u32,
}

impl Results {
    fn of<T>(prefixes: &Prefixes<T>, out: u64, to: Axis) -> Results {
        Results {
            out,
            to,
            inclusive: u32::from(prefixes.kind == PrefixKind::Inclusive),
            reverse: u32::from(prefixes.reverse),
        }
    }
}

/// Compiled for the layouts of arguments, whatever the operator.
impl Core {
    fn load(
        context: &Arc<CudaContext>,
        kernel: &Kernel,
        policy: AxisPolicy,
        sum_bytes: usize,
    ) -> Result<Core> {
        require_driver()?;
        Ok(Core {
            loaded: Loaded::get(kernel, context)?,
            policy,
            sum_bytes,
        })
    }

    fn context(&self) -> &Arc<CudaContext> {
        self.loaded.context()
    }

    fn explaining(&self, item_bytes: usize, rows: SegmentedPolicy) -> Explaining {
        Explaining {
            policy: self.policy,
            rows,
            item_bytes,
            sum_bytes: self.sum_bytes,
            multiprocessors: self.loaded.multiprocessors(),
        }
    }

    fn plan(&self, axis: &Axis) -> AxisPlan {
        AxisPlan::for_sums(self.sum_bytes, self.policy, axis, HEADER_BYTES as u64)
    }

    fn workspace_bytes(&self, axis: &Axis) -> usize {
        self.plan(axis).end as usize
    }

    /// # Safety
    ///
    /// The arguments are of a source in the kernels' context that holds the array and stays until
    /// the work on the stream is done, and those that the kernels take; there is room for all
    /// results.
    unsafe fn reduce<S: Copy, A: Copy>(
        &self,
        stream: &CudaStream,
        call: Call<'_, S, A>,
        out: u64,
        workspace: &mut Workspace,
    ) -> Result<()> {
        if call.axis.lanes() == 0 {
            return Ok(());
        }
        let (axis, plan) = (call.axis, self.plan(call.axis));
        let workspace = workspace.arguments(stream, plan.end as usize)?.address;
        let run = Run {
            core: self,
            stream,
            call,
            plan: &plan,
            workspace,
        };
        for step in plan.reduce_launches(self.policy, axis) {
            let level = &plan.levels[step.level];
            let written = Written {
                out,
                sums: if level.is_last {
                    0
                } else {
                    workspace + level.sums
                },
                rests: workspace + plan.rests,
                ..Written::default()
            };
            // SAFETY: the caller's; the workspace has room for what the plan keeps.
            unsafe { run.launch(step, written)? };
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As for [`reduce`](Core::reduce). The results may replace the items.
    unsafe fn scan<S: Copy, A: Copy>(
        &self,
        stream: &CudaStream,
        call: Call<'_, S, A>,
        results: Results,
        workspace: &mut Workspace,
    ) -> Result<()> {
        if call.axis.items() == 0 {
            return Ok(());
        }
        let (axis, plan) = (call.axis, self.plan(call.axis));
        let inner = axis.inner as u64;
        let workspace = workspace.arguments(stream, plan.end as usize)?.address;
        let run = Run {
            core: self,
            stream,
            call,
            plan: &plan,
            workspace,
        };
        let of_level = |number| Written {
            reverse: if number == 0 { results.reverse } else { 0 },
            ..Written::default()
        };
        for step in plan.scan_launches(self.policy, axis) {
            let (number, level) = (step.level, &plan.levels[step.level]);
            if !step.scans {
                let written = Written {
                    sums: workspace + level.sums,
                    ..of_level(number)
                };
                // SAFETY: the caller's; the workspace has room for what the plan keeps.
                unsafe { run.launch(step, written)? };
                continue;
            }
            let seeded = Written {
                sums: if level.is_last {
                    0
                } else {
                    workspace + level.seeds
                },
                ..of_level(number)
            };
            let written = match number {
                0 => Written {
                    out: results.out,
                    inclusive: results.inclusive,
                    out_outer_stride: results.to.outer_stride as u64,
                    out_stride: results.to.stride as u64,
                    ..seeded
                },
                _ => Written {
                    out: workspace + plan.levels[number - 1].seeds,
                    closed: 1,
                    out_outer_stride: (level.length + 1) * inner,
                    out_stride: inner,
                    ..seeded
                },
            };
            // SAFETY: as above.
            unsafe { run.launch(step, written)? };
        }
        Ok(())
    }
}

/// What all launches of a call share.
struct Run<'a, S, A> {
    core: &'a Core,
    stream: &'a CudaStream,
    call: Call<'a, S, A>,
    plan: &'a AxisPlan,
    workspace: u64,
}

/// What a launch writes, and how: see [`AxisArguments`].
#[derive(Default)]
struct Written {
    out: u64,
    sums: u64,
    rests: u64,
    out_outer_stride: u64,
    out_stride: u64,
    reverse: u32,
    inclusive: u32,
    closed: u32,
}

impl<S: Copy, A: Copy> Run<'_, S, A> {
    /// # Safety
    ///
    /// The function takes such arguments, and the memory that is written is there.
    unsafe fn launch(&self, step: AxisLaunch, written: Written) -> Result<()> {
        let axis = self.call.axis;
        let strides = (axis.outer_stride, axis.stride);
        let (level, inner) = (&self.plan.levels[step.level], axis.inner);
        let Some(below) = step.level.checked_sub(1) else {
            let source = self.call.source;
            // SAFETY: the caller's.
            return unsafe { self.launch_from(step, level, source, strides, written) };
        };
        let address = self.workspace + self.plan.levels[below].sums;
        let (source, strides) = (
            SliceArguments { address },
            (level.length as usize * inner, inner),
        );
        // SAFETY: the caller's.
        unsafe { self.launch_from(step, level, source, strides, written) }
    }

    /// # Safety
    ///
    /// As of [`launch`](Run::launch).
    unsafe fn launch_from<R: Copy>(
        &self,
        step: AxisLaunch,
        level: &AxisLevel,
        source: R,
        (outer_stride, stride): (usize, usize),
        written: Written,
    ) -> Result<()> {
        let axis = self.call.axis;
        let (lanes, chunks) = (axis.lanes() as u64, level.chunks());
        let given = AxisArguments {
            source,
            out: written.out,
            sums: written.sums,
            rests: written.rests,
            length: level.length,
            inner: axis.inner as u64,
            outer_stride: outer_stride as u64,
            stride: stride as u64,
            chunks,
            threads: lanes * chunks,
            whole_length: axis.len as u64,
            lanes,
            out_outer_stride: written.out_outer_stride,
            out_stride: written.out_stride,
            log_chunk: level.log_chunk,
            shift: level.shift,
            reverse: written.reverse,
            seeded: self.call.seeded,
            inclusive: written.inclusive,
            closed: written.closed,
            init: self.call.init,
        };
        let grid = Grid::of(step.blocks, given.threads as usize)?;
        let function = Function::new(step.function());
        // SAFETY: the caller's.
        unsafe { launch(&self.core.loaded, self.stream, &function, grid, given) }
    }
}

impl<T: Element, Op: Monoid<T>> AlongAxis<T, Op> {
    /// Enqueues the scan of each lane of `data`, in its place.
    ///
    /// # Errors
    ///
    /// As [`enqueue_scan`](AlongAxis::enqueue_scan).
    pub fn enqueue_scan_in_place(
        &self,
        stream: &CudaStream,
        prefixes: Prefixes<T>,
        axis: Axis,
        data: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        axis.check(data.len())?;
        if axis.is_rows() {
            let (kernels, rows) = (&self.scanned_rows, Rows::new(axis.outer, axis.len));
            return kernels.enqueue_in_place(stream, prefixes, data, rows, workspace);
        }
        let written = [("data", &**data.stream())];
        let bytes = self.workspace_bytes(axis);
        check_call(self.core.context(), stream, &written, workspace, bytes)?;
        let (address, _writing) = data.device_ptr_mut(stream);
        let call = Call::of::<T, Op>(SliceArguments { address }, &axis, prefixes.init);
        let results = Results::of(&prefixes, address, axis);
        // SAFETY: as for other scans. A thread reads its rows before it writes there.
        unsafe { self.core.scan(stream, call, results, workspace) }
    }
}

/// Folds each lane on a GPU's stream.
///
/// # Safety
///
/// The arguments are those of a source in this GPU's memory that holds the array and stays
/// borrowed. There is room for all results.
pub(super) unsafe fn reduce_on<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    gpu: &Gpu,
    source: F::Arguments,
    axis: &Axis,
    init: Option<T>,
    out: u64,
) -> Result<()> {
    let core = gpu.core_of::<AlongAxis<T, Op, F>>()?;
    let call = Call::of::<T, Op>(source, axis, init);
    gpu.with_workspace(core.workspace_bytes(axis), |stream, workspace| {
        // SAFETY: the caller's; the stream keeps calls and frees in order.
        unsafe { core.reduce(stream, call, out, workspace) }
    })
}

/// Scans each lane on a GPU's stream. The results lie as `to` says.
///
/// # Safety
///
/// As for [`reduce_on`]. The results may replace the items.
pub(super) unsafe fn scan_on<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    gpu: &Gpu,
    source: F::Arguments,
    axis: &Axis,
    prefixes: Prefixes<T>,
    (out, to): (u64, &Axis),
) -> Result<()> {
    let core = gpu.core_of::<AlongAxis<T, Op, F>>()?;
    let call = Call::of::<T, Op>(source, axis, prefixes.init);
    let results = Results::of(&prefixes, out, *to);
    gpu.with_workspace(core.workspace_bytes(axis), |stream, workspace| {
        // SAFETY: as above.
        unsafe { core.scan(stream, call, results, workspace) }
    })
}
