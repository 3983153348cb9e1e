//! Axes for callers that bring their own stream and slices.

use super::Axis;
use super::kernel::{self, AxisArguments, AxisSegmentsArguments};
use super::plan::{AxisLevel, AxisPlan, AxisPolicy};
use super::segments::rows_of;
use crate::cpu::PrefixKind;
use crate::cuda::checks::{assert_length_is_known, bind, check_call, check_streams};
use crate::cuda::kernels::Loaded;
use crate::cuda::launch::{Grid, blocks, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder, Workspace};
use crate::element::assert_element_size;
use crate::engine::HEADER_BYTES;
use crate::primitives::scan::Prefixes;
use crate::primitives::segmented::cuda::SegmentedReduce;
use crate::primitives::segmented::scan::cuda::SegmentedScan;
use crate::primitives::segmented::{Cut, OffsetsOf, Rows, Segments};
use crate::render::{Function, Named};
use crate::source::{Form, Slice, SliceArguments, Source};
use crate::{Element, Error, Monoid, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut};
use std::marker::PhantomData;
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
    context: Arc<CudaContext>,
    kernels: AxisKernels<T, F>,
    rows: SegmentedReduce<T, Op, F, Rows>,
    scanned_rows: SegmentedScan<T, Op, F, Rows>,
}

/// The same, whatever the operator: this is compiled once for all of them.
#[derive(Debug)]
struct AxisKernels<T: Element, F: Form<Item = T>> {
    loaded: Arc<Loaded>,
    policy: AxisPolicy,
    identity: fn() -> T,
    named: Named<F>,
}

impl<T: Element, F: Form<Item = T>> Clone for AxisKernels<T, F> {
    fn clone(&self) -> Self {
        AxisKernels {
            loaded: self.loaded.clone(),
            ..*self
        }
    }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> Clone for AlongAxis<T, Op, F> {
    fn clone(&self) -> Self {
        AlongAxis {
            context: self.context.clone(),
            kernels: self.kernels.clone(),
            rows: self.rows.clone(),
            scanned_rows: self.scanned_rows.clone(),
        }
    }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> AlongAxis<T, Op, F> {
    /// Loads the kernels.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong operator,
    /// [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        const { assert_element_size::<T>() };
        const { assert_length_is_known::<F>() };
        require_driver()?;
        let policy = AxisPolicy::of::<T>();
        let kernel = kernel::AxisLanes::<T, Op, F>::kernel(policy);
        Ok(AlongAxis {
            context: context.clone(),
            kernels: AxisKernels {
                loaded: Loaded::get(&kernel, context)?,
                policy,
                identity: Op::identity,
                named: PhantomData,
            },
            rows: SegmentedReduce::load(context)?,
            scanned_rows: SegmentedScan::load(context)?,
        })
    }

    /// The bytes of a [`Workspace`] that calls along an axis need.
    pub fn workspace_bytes(&self, axis: Axis) -> usize {
        let of_rows = [
            self.rows.workspace_bytes(axis.items()),
            self.scanned_rows.workspace_bytes(axis.items()),
        ];
        let own = self.kernels.plan(&axis).end as usize;
        match axis.is_rows() {
            true => own.max(of_rows[0]).max(of_rows[1]),
            false => own,
        }
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
        let mut binder = StreamBinder::new(stream, &self.context);
        let (source, items) = bind(&mut binder, &input)?;
        axis.check(items)?;
        Error::check_length(axis.lanes(), output.len())?;
        let written = [("output", &**output.stream())];
        let bytes = self.workspace_bytes(axis);
        check_call(&self.context, stream, &written, workspace, bytes)?;
        let (out, _writing) = output.device_ptr_mut(stream);
        // SAFETY: all was checked, and is borrowed until the launches are enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe {
            self.kernels
                .run_reduce(stream, source, &axis, init, out, workspace)
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
        let mut binder = StreamBinder::new(stream, &self.context);
        let (source, items) = bind(&mut binder, &input)?;
        axis.check(items)?;
        Error::check_length(axis.items(), output.len())?;
        let written = [("output", &**output.stream())];
        let bytes = self.workspace_bytes(axis);
        check_call(&self.context, stream, &written, workspace, bytes)?;
        let (out, _writing) = output.device_ptr_mut(stream);
        let to = axis.compact();
        // SAFETY: as for reductions.
        unsafe {
            self.kernels
                .run_scan(stream, source, &axis, prefixes, (out, &to), workspace)
        }
    }
}

impl<T: Element, F: Form<Item = T>> AxisKernels<T, F> {
    const REDUCE: Function<kernel::ArgumentsOf<T, F>> = Function::new(kernel::REDUCE);
    const REDUCE_SUMS: Function<kernel::ArgumentsOfSums<T>> = Function::new(kernel::REDUCE_SUMS);
    const SCAN: Function<kernel::ArgumentsOf<T, F>> = Function::new(kernel::SCAN);
    const SCAN_SUMS: Function<kernel::ArgumentsOfSums<T>> = Function::new(kernel::SCAN_SUMS);

    fn plan(&self, axis: &Axis) -> AxisPlan {
        AxisPlan::new::<T>(self.policy, axis, HEADER_BYTES as u64)
    }

    /// # Safety
    ///
    /// The arguments are of a source in the kernels' context that holds the array and stays until
    /// the work on the stream is done; there is room for all results.
    unsafe fn run_reduce(
        &self,
        stream: &CudaStream,
        source: F::Arguments,
        axis: &Axis,
        init: Option<T>,
        out: u64,
        workspace: &mut Workspace,
    ) -> Result<()> {
        if axis.lanes() == 0 {
            return Ok(());
        }
        let plan = self.plan(axis);
        let workspace = workspace.arguments(stream, plan.end as usize)?.address;
        let call = Call {
            axis,
            plan: &plan,
            workspace,
            init: init.map(T::widen),
        };
        for (number, level) in plan.levels.iter().enumerate() {
            let last = (!level.is_last).then_some(());
            let sums = last.map_or(0, |()| workspace + level.sums);
            let rests = workspace + plan.rests;
            // SAFETY: the caller's; the workspace has room for what the plan keeps.
            unsafe {
                match number {
                    0 => {
                        let strides = (axis.outer_stride, axis.stride);
                        let given = AxisArguments {
                            out,
                            sums,
                            rests,
                            ..self.arguments(&call, level, source, strides)
                        };
                        launch(
                            &self.loaded,
                            stream,
                            &Self::REDUCE,
                            self.grid(&given)?,
                            given,
                        )?;
                    }
                    _ => {
                        let given = AxisArguments {
                            out,
                            sums,
                            rests,
                            ..self.arguments_of_sums(&call, number)
                        };
                        let function = &Self::REDUCE_SUMS;
                        launch(&self.loaded, stream, function, self.grid(&given)?, given)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As for [`run_reduce`](AxisKernels::run_reduce). The results may replace the items.
    unsafe fn run_scan(
        &self,
        stream: &CudaStream,
        source: F::Arguments,
        axis: &Axis,
        prefixes: Prefixes<T>,
        (out, to): (u64, &Axis),
        workspace: &mut Workspace,
    ) -> Result<()> {
        if axis.items() == 0 {
            return Ok(());
        }
        let plan = self.plan(axis);
        let workspace = workspace.arguments(stream, plan.end as usize)?.address;
        let call = Call {
            axis,
            plan: &plan,
            workspace,
            init: prefixes.init.map(T::widen),
        };
        let reverse = u32::from(prefixes.reverse);
        let strides = (axis.outer_stride, axis.stride);
        let items = |level| AxisArguments {
            reverse,
            ..self.arguments(&call, level, source, strides)
        };
        // SAFETY: the caller's; the workspace has room for what the plan keeps.
        unsafe {
            // Up: the sums of whole chunks.
            for (number, level) in plan.levels.iter().enumerate() {
                if level.is_last {
                    continue;
                }
                let sums = workspace + level.sums;
                match number {
                    0 => {
                        let given = AxisArguments {
                            sums,
                            ..items(level)
                        };
                        let function = &Self::REDUCE;
                        launch(&self.loaded, stream, function, self.grid(&given)?, given)?;
                    }
                    _ => {
                        let given = AxisArguments {
                            sums,
                            ..self.arguments_of_sums(&call, number)
                        };
                        let function = &Self::REDUCE_SUMS;
                        launch(&self.loaded, stream, function, self.grid(&given)?, given)?;
                    }
                }
            }
            // Down: prefixes of sums, which seed the level below.
            for (number, level) in plan.levels.iter().enumerate().rev() {
                let seeds = if level.is_last {
                    0
                } else {
                    workspace + level.seeds
                };
                if number == 0 {
                    let given = AxisArguments {
                        out,
                        sums: seeds,
                        inclusive: u32::from(prefixes.kind == PrefixKind::Inclusive),
                        out_outer_stride: to.outer_stride as u64,
                        out_stride: to.stride as u64,
                        ..items(level)
                    };
                    let function = &Self::SCAN;
                    launch(&self.loaded, stream, function, self.grid(&given)?, given)?;
                } else {
                    let inner = axis.inner as u64;
                    let given = AxisArguments {
                        out: workspace + plan.levels[number - 1].seeds,
                        sums: seeds,
                        closed: 1,
                        out_outer_stride: (level.length + 1) * inner,
                        out_stride: inner,
                        ..self.arguments_of_sums(&call, number)
                    };
                    let function = &Self::SCAN_SUMS;
                    launch(&self.loaded, stream, function, self.grid(&given)?, given)?;
                }
            }
        }
        Ok(())
    }

    fn grid<S>(&self, given: &AxisArguments<S, T::Accumulator>) -> Result<Grid> {
        let threads = self.policy.threads;
        let blocks = blocks(given.threads.div_ceil(threads.into()), given.threads)?;
        Ok(Grid::new(blocks, threads, 0))
    }

    /// What a launch over the sums of the level below takes.
    fn arguments_of_sums(
        &self,
        call: &Call<'_, T::Accumulator>,
        number: usize,
    ) -> kernel::ArgumentsOfSums<T> {
        let (level, inner) = (&call.plan.levels[number], call.axis.inner);
        let address = call.workspace + call.plan.levels[number - 1].sums;
        let source = SliceArguments { address };
        let strides = (level.length as usize * inner, inner);
        self.arguments(call, level, source, strides)
    }

    fn arguments<S>(
        &self,
        call: &Call<'_, T::Accumulator>,
        level: &AxisLevel,
        source: S,
        (outer_stride, stride): (usize, usize),
    ) -> AxisArguments<S, T::Accumulator> {
        let axis = call.axis;
        let (lanes, chunks) = (axis.lanes() as u64, level.chunks());
        AxisArguments {
            source,
            out: 0,
            sums: 0,
            rests: 0,
            length: level.length,
            inner: axis.inner as u64,
            outer_stride: outer_stride as u64,
            stride: stride as u64,
            chunks,
            threads: lanes * chunks,
            whole_length: axis.len as u64,
            lanes,
            out_outer_stride: 0,
            out_stride: 0,
            log_chunk: level.log_chunk,
            shift: level.shift,
            reverse: 0,
            seeded: u32::from(call.init.is_some()),
            inclusive: 0,
            closed: 0,
            init: call.init.unwrap_or_else(|| (self.identity)().widen()),
        }
    }
}

/// What all launches of a call share.
struct Call<'a, A> {
    axis: &'a Axis,
    plan: &'a AxisPlan,
    workspace: u64,
    init: Option<A>,
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
        check_call(&self.context, stream, &written, workspace, bytes)?;
        let (address, _writing) = data.device_ptr_mut(stream);
        let source = SliceArguments { address };
        // SAFETY: as for other scans. A thread reads its rows before it writes there.
        unsafe {
            self.kernels
                .run_scan(stream, source, &axis, prefixes, (address, &axis), workspace)
        }
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
    let along = gpu.kernels(AlongAxis::<T, Op, F>::load)?;
    gpu.with_workspace(along.workspace_bytes(*axis), |stream, workspace| {
        // SAFETY: the caller's; the stream keeps calls and frees in order.
        unsafe {
            along
                .kernels
                .run_reduce(stream, source, axis, init, out, workspace)
        }
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
    let along = gpu.kernels(AlongAxis::<T, Op, F>::load)?;
    gpu.with_workspace(along.workspace_bytes(*axis), |stream, workspace| {
        // SAFETY: as above.
        unsafe {
            along
                .kernels
                .run_scan(stream, source, axis, prefixes, (out, to), workspace)
        }
    })
}

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
    context: Arc<CudaContext>,
    kernels: Arc<Loaded>,
    policy: AxisPolicy,
    named: Named<(T, Op, F, C)>,
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut> Clone
    for SegmentedReduceVectors<T, Op, F, C>
{
    fn clone(&self) -> Self {
        SegmentedReduceVectors {
            context: self.context.clone(),
            kernels: self.kernels.clone(),
            ..*self
        }
    }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut> SegmentedReduceVectors<T, Op, F, C> {
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
        let policy = AxisPolicy::of::<T>();
        let kernel = kernel::AxisSegments::<T, Op, F, C>::kernel(policy);
        Ok(SegmentedReduceVectors {
            context: context.clone(),
            kernels: Loaded::get(&kernel, context)?,
            policy,
            named: PhantomData,
        })
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
        let mut binder = StreamBinder::new(stream, &self.context);
        let (source, items) = bind(&mut binder, &input)?;
        let (_, rows) = rows_of(items, inner)?;
        let bound = segments.bind(&mut binder, rows)?;
        Error::check_length(segments.count().saturating_mul(inner), output.len())?;
        check_streams(&self.context, stream, &[("output", &**output.stream())])?;
        let results = output.len();
        let (out, _writing) = output.device_ptr_mut(stream);
        // SAFETY: all was checked, and is borrowed until the launch is enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe { self.run(stream, (source, bound), inner, results, init, out) }
    }

    /// # Safety
    ///
    /// The arguments are of the kernel's context, and stay until the work on the stream is done;
    /// there is room for all results, a row of `inner` for each segment.
    unsafe fn run(
        &self,
        stream: &CudaStream,
        (source, segments): (F::Arguments, C::Arguments),
        inner: usize,
        results: usize,
        init: Option<T>,
        out: u64,
    ) -> Result<()> {
        if results == 0 {
            return Ok(());
        }
        let given = AxisSegmentsArguments {
            source,
            segments,
            out,
            inner: inner as u64,
            threads: results as u64,
            seeded: u32::from(init.is_some()),
            unused: 0,
            init: init.unwrap_or_else(Op::identity).widen(),
        };
        let threads = self.policy.threads;
        let blocks = blocks((results as u64).div_ceil(threads.into()), results as u64)?;
        let function = &kernel::AxisSegments::<T, Op, F, C>::REDUCE;
        let grid = Grid::new(blocks, threads, 0);
        // SAFETY: the caller's.
        unsafe { launch(&self.kernels, stream, function, grid, given) }
    }
}

/// Folds segments of rows on a GPU's stream.
///
/// # Safety
///
/// The arguments are those of a source and of segments of its rows in this GPU's memory, which stay
/// borrowed. There is room for all results.
pub(super) unsafe fn reduce_segments_on<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut>(
    gpu: &Gpu,
    bound: (F::Arguments, C::Arguments),
    inner: usize,
    results: usize,
    init: Option<T>,
    out: u64,
) -> Result<()> {
    let reduce = gpu.kernels(SegmentedReduceVectors::<T, Op, F, C>::load)?;
    // SAFETY: the caller's; the stream keeps calls and frees in order.
    unsafe { reduce.run(gpu.stream(), bound, inner, results, init, out) }
}
