//! Selects for callers that bring their own stream, slices and workspace.

use super::kernel::{self, SelectArguments};
use crate::codegen::Named;
use crate::codegen::{Engine, RowPolicy, ScanPlan, WavePlan, WavePolicy, check};
use crate::cuda::checks::{bind, check_call, check_holds_one};
use crate::cuda::kernels::Loaded;
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{StreamBinder, Workspace, context_capability};
use crate::element::assert_element_size;
use crate::source::{Flagged, Form, Slice, Source};
use crate::{Element, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut};
use std::marker::PhantomData;
use std::sync::Arc;

/// The select of elements `T` by their flags, loaded into a context. Cheap to clone.
///
/// `F` is the [form](Form) of what is read: pairs of an element and a flag. [`SelectBy`] is the one
/// for slices and a predicate. The elements that have a flag come out in their order, one after the
/// other. Their number stays on the device.
///
/// ```no_run
/// use warpfold::{cuda::{SelectBy, Workspace, cudarc::driver::CudaContext}, flagged, function};
///
/// #[function]
/// fn positive(x: f32) -> bool {
///     x > 0.0
/// }
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let samples = stream.clone_htod(&[1.5_f32, -2.0, 0.5])?;
/// let mut kept = stream.alloc_zeros::<f32>(samples.len())?;
/// let mut count = stream.alloc_zeros::<u64>(1)?;
///
/// let select = SelectBy::<f32, positive>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, select.workspace_bytes(samples.len()))?;
/// let source = flagged::<positive, _>(&samples);
/// select.enqueue(&stream, source, &mut kept, &mut count, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&count)?, [2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Launches
///
/// A call enqueues one launch. It reads every item once, and writes what is kept once. From some
/// millions of elements on, slices that start at a multiple of 16 bytes are fastest.
///
/// The algorithm is Merrill and Garland's single-pass scan (NVR-2016-002) over the flags, with the
/// look-back of this crate's scans. A warp packs what it keeps before it stores it, as Billeter,
/// Olsson and Assarsson do ("Efficient Stream Compaction on Wide SIMD Many-Core Architectures", HPG
/// 2009).
///
/// # The workspace
///
/// As for [`Scan`](crate::cuda::Scan); they can share one.
#[derive(Debug)]
pub struct Select<T: Element, F: Form<Item = (T, bool)>> {
    context: Arc<CudaContext>,
    rows: Arc<Loaded>,
    policy: RowPolicy,
    wave: Option<(Arc<Loaded>, WavePolicy)>,
    /// Whether the wave engine is to take short inputs too.
    always: bool,
    types: Named<(T, F)>,
}

/// The select of the elements of a slice that the predicate `P` holds for.
pub type SelectBy<T, P> = Select<T, Flagged<P, Slice<T>>>;

impl<T: Element, F: Form<Item = (T, bool)>> Clone for Select<T, F> {
    fn clone(&self) -> Self {
        Select {
            context: self.context.clone(),
            rows: self.rows.clone(),
            policy: self.policy,
            wave: self.wave.clone(),
            always: self.always,
            types: PhantomData,
        }
    }
}

impl<T: Element, F: Form<Item = (T, bool)>> Select<T, F> {
    /// Loads the kernels. That takes under 1 µs if this process has them already, some 2 ms from
    /// the disk cache, and 0.5 to 1 s if they must be compiled.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong predicate,
    /// [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        require_driver()?;
        let capability = context_capability(context)?;
        let wave = WavePolicy::for_select::<T, F>(capability);
        let wave = wave.filter(|&policy| Engine::Wave(policy).runs_on(capability));
        Select::with(context, RowPolicy::of_select_of::<F>(), wave, false)
    }

    /// Loads the kernels of one engine, which will be used for every length. With the wave engine,
    /// slices that do not start at a multiple of 16 bytes take the rows engine.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Select::load), and [`Error::Codegen`] for a policy that the engine cannot
    /// have.
    pub fn load_engine(context: &Arc<CudaContext>, engine: Engine) -> Result<Self> {
        require_driver()?;
        check::<kernel::Select<T, F>>(engine)?;
        match engine {
            Engine::Rows(policy) => Select::with(context, policy, None, false),
            Engine::Wave(wave) => {
                let rows = RowPolicy::of_select_of::<F>();
                Select::with(context, rows, Some(wave), true)
            }
            Engine::Levels => unreachable!("`check` refuses it"),
        }
    }

    fn with(
        context: &Arc<CudaContext>,
        policy: RowPolicy,
        wave: Option<WavePolicy>,
        always: bool,
    ) -> Result<Self> {
        const { assert_element_size::<T>() };
        let (rows, wave) = match wave {
            None => (
                Loaded::get::<kernel::Select<T, F>>(context, Engine::Rows(policy))?,
                None,
            ),
            Some(wave) => {
                let engines = [Engine::Rows(policy), Engine::Wave(wave)];
                let [rows, kernels] = Loaded::get_all::<kernel::Select<T, F>, 2>(context, engines)?;
                (rows, Some((kernels, wave)))
            }
        };
        Ok(Select {
            context: context.clone(),
            rows,
            policy,
            wave,
            always,
            types: PhantomData,
        })
    }

    /// The bytes of a [`Workspace`] that `len` items need; they grow with `len`, and are below 1%
    /// of the items' size for long inputs.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        let tiles = ScanPlan::most_tiles(self.policy, kernel::Select::<T, F>::MOST_WARPS, len);
        let rows = tiles.map_or(0, ScanPlan::workspace_bytes_for::<u64>);
        let wave = self.wave.as_ref();
        let wave = wave.map(|&(_, policy)| WavePlan::new(policy, len).workspace_bytes::<u64>());
        rows.max(wave.unwrap_or(0))
    }

    /// Enqueues the select from `input` into `output`, and the number of items that are kept into
    /// the first element of `count`.
    ///
    /// If `output` is shorter than that, it gets the first ones. So compare, when you read the
    /// count. An output as long as the input is always long enough.
    ///
    /// # Errors
    ///
    /// [`Error::Workspace`] if `workspace` is too small, [`Error::Length`] if `count` is empty,
    /// [`Error::WorkspaceStream`] if the workspace serves another stream, [`Error::WrongDevice`] if
    /// something belongs to another context, [`Error::Zip`] if zipped sources have different
    /// lengths, [`Error::Driver`] if the launch fails.
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        input: impl Source<CudaStream, Item = (T, bool), Form = F>,
        output: &mut impl DevicePtrMut<T>,
        count: &mut impl DevicePtrMut<u64>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let mut binder = StreamBinder::new(stream, &self.context);
        let input = bind(&mut binder, &input)?;
        // SAFETY: the binder keeps what the source reads borrowed until the launch is enqueued.
        unsafe { self.run(stream, Some(input), output, count, workspace) }
    }

    /// # Safety
    ///
    /// `input` has the arguments of a source in the kernels' context, and its number of items.
    /// Nothing else writes to it before the work on the stream is done. Without `input` the output
    /// is read.
    pub(crate) unsafe fn run(
        &self,
        stream: &CudaStream,
        input: Option<(F::Arguments, usize)>,
        output: &mut impl DevicePtrMut<T>,
        count: &mut impl DevicePtrMut<u64>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        check_holds_one(count)?;
        let capacity = output.len();
        let len = input.map_or(capacity, |(_, len)| len);
        let written = [("output", &**output.stream()), ("count", &**count.stream())];
        let bytes = self.workspace_bytes(len);
        let workspace = check_call(&self.context, stream, &written, workspace, bytes)?;
        let (out, _writing) = output.device_ptr_mut(stream);
        let (count, _counting) = count.device_ptr_mut(stream);
        let source = match input {
            Some((source, _)) => source,
            None => F::of_address(out).expect("only slices are selected from in place"),
        };
        let mut arguments = SelectArguments {
            source,
            out,
            others: 0,
            places: 0,
            capacity: capacity as u64,
            others_capacity: 0,
            count,
            length: len as u64,
            workspace,
            by_ticket: 1,
        };
        let multiprocessors = self.rows.multiprocessors();
        let most = kernel::Select::<T, F>::MOST_WARPS;
        let plan = ScanPlan::with_most_warps(self.policy, most, len, false, multiprocessors);
        if let Some((kernels, policy)) = &self.wave
            && len > 0
            && (self.always || plan.is_long(multiprocessors))
            && F::is_aligned(&arguments.source, WavePolicy::ALIGN)
        {
            let plan = WavePlan::new(*policy, len);
            let grid = Grid::of_wave(&plan, false, multiprocessors);
            let function = &kernel::Select::<T, F>::WAVE;
            // SAFETY: the caller's; output and count are borrowed until the launch is enqueued, and
            // afterwards the stream's order and cudarc's events protect them. The workspace is this
            // stream's alone, and as large as the plan asks. The slice is aligned.
            return unsafe { launch(kernels, stream, function, grid, arguments) };
        }
        arguments.by_ticket = u32::from(plan.by_ticket);
        let grid = Grid::of_rows(&plan, len)?;
        let function = &kernel::Select::<T, F>::ROWS;
        // SAFETY: as above.
        unsafe { launch(&self.rows, stream, function, grid, arguments) }
    }
}

impl<T: Element, P> SelectBy<T, P>
where
    Flagged<P, Slice<T>>: Form<Item = (T, bool)>,
{
    /// Enqueues the select from `data` to its start, and the number of elements that are kept into
    /// the first element of `count`. What comes after those is unspecified.
    ///
    /// # Errors
    ///
    /// As [`enqueue`](Select::enqueue).
    pub fn enqueue_in_place(
        &self,
        stream: &CudaStream,
        data: &mut (impl DevicePtr<T> + DevicePtrMut<T>),
        count: &mut impl DevicePtrMut<u64>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        // SAFETY: nothing but the data is read.
        unsafe { self.run(stream, None, data, count, workspace) }
    }
}
