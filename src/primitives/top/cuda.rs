//! Top-k for callers that bring their own stream, slices and workspace.

use super::kernel::{Top, TopArguments, TopPlan, TopShape};
use super::launches::{TopAsked, TopFunction, TopStep};
use super::{Candidate, Choice};
use crate::cuda::checks::{bind, check_call, check_holds_one};
use crate::cuda::kernels::{Lazy, Loaded, clone_by_fields, context_multiprocessors};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder, Workspace, check_context};
use crate::engine::{Explanation, HEADER_BYTES};
use crate::primitives::segmented::Rows;
use crate::primitives::sort::cuda::SortPairs;
use crate::primitives::sort::{Order, Sortable};
use crate::render::{Function, Named, WorkspaceArguments};
use crate::source::{Form, Source};
use crate::{Buffer, Device, Error, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut};
use std::marker::PhantomData;
use std::sync::Arc;

/// The number that is chosen from a source of the form `F`.
type KeyOf<F> = <<F as Form>::Item as Candidate>::Key;
/// Its bits.
type BitsOf<F> = <KeyOf<F> as Sortable>::Bits;

/// Finds the greatest or the least items of sources of the form `F`, sorted, and where they stand,
/// on a GPU's stream: see [`top_k`](crate::top_k). Cheap to clone.
///
/// ```no_run
/// use warpfold::{Order, cuda::{TopK, Workspace, cudarc::driver::CudaContext}, source::Slice};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let scores = stream.clone_htod(&[0.5_f32, 3.0, -1.0, 3.0])?;
/// let (mut values, mut places) = (stream.alloc_zeros::<f32>(2)?, stream.alloc_zeros::<u64>(2)?);
/// let mut count = stream.alloc_zeros::<u64>(1)?;
///
/// let top = TopK::<Slice<f32>>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, top.workspace_bytes(scores.len(), 2))?;
/// let outputs = (&mut values, &mut places, &mut count);
/// top.enqueue_top(&stream, Order::default(), &scores, outputs, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&values)?, [3.0, 3.0]);
/// assert_eq!(stream.clone_dtoh(&places)?, [1, 3]);
/// assert_eq!(stream.clone_dtoh(&count)?, [2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Launches
///
/// Short inputs take one launch of one block, and rows one of a block a row. Middle lengths take
/// one launch, too. Longer inputs take three: the first draws a sample and bounds what can be among
/// the first `k`; the second reads all items once, and stores those within the bound; the third
/// sorts them. If the bound was wrong, which is less likely than 10^-9, the last one finds the
/// items by itself, slowly.
///
/// Where `k` is more than one block sorts, the candidates are sorted by a [`SortPairs`], by place
/// and by rank. Where it is a large part of the items, all are sorted.
///
/// # The workspace
///
/// As for [`Scan`](crate::cuda::Scan); they can share one. It has room for some ten thousand
/// candidates, of the size of an item and 8 bytes each, for each row that is found at once. With
/// sorts it has room for several times `k` more, or for all items, and for what [`SortPairs`] needs
/// for as many. [`workspace_bytes`](TopK::workspace_bytes) says how much that is.
#[derive(Debug)]
pub struct TopK<F: Form<Item: Candidate>> {
    context: Arc<CudaContext>,
    multiprocessors: u32,
    kernels: Lazy,
    by_place: SortPairs<u64, BitsOf<F>>,
    by_rank: SortPairs<BitsOf<F>, u64>,
    form: Named<F>,
}

clone_by_fields! {
    [F: Form<Item: Candidate>]
    TopK<F> { context, multiprocessors, kernels, by_place, by_rank, form }
}

/// What a call reads, and where its results go.
struct Call<S> {
    source: S,
    choice: Choice,
    values: u64,
    places: u64,
    found: u64,
}

impl<F: Form<Item: Candidate>> TopK<F> {
    /// Loads the kernels, but not those of the sorts for large `k`: the first call that needs them
    /// does. That takes under 1 µs if this process has them already, some 1 ms from the disk cache,
    /// and 0.5 to 1 s if they must be compiled.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong function,
    /// [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        let top = TopK::load_lazily(context)?;
        top.kernels.get(context)?;
        Ok(top)
    }

    fn load_lazily(context: &Arc<CudaContext>) -> Result<Self> {
        require_driver()?;
        Ok(TopK {
            context: context.clone(),
            multiprocessors: context_multiprocessors(context)?,
            kernels: Lazy::new(Top::<F>::kernel(Self::shape())),
            by_place: SortPairs::load_lazily(context)?,
            by_rank: SortPairs::load_lazily(context)?,
            form: PhantomData,
        })
    }

    fn shape() -> TopShape {
        Top::<F>::shape()
    }

    /// The bytes of a [`Workspace`] that a call for the first `k` of `len` items needs.
    pub fn workspace_bytes(&self, len: usize, k: usize) -> usize {
        self.bytes(self.plan(1, len, k))
    }

    /// The bytes of a [`Workspace`] that a call for the first `k` of each row of `columns` items
    /// needs.
    pub fn workspace_bytes_of_rows(&self, rows: usize, columns: usize, k: usize) -> usize {
        self.bytes(self.plan(rows, columns, k))
    }

    fn bytes(&self, plan: TopPlan) -> usize {
        Top::<F>::workspace_bytes(plan)
    }

    /// What a call for the first `k` of `len` items does: launches, workspace, and what they depend
    /// on.
    ///
    /// # Errors
    ///
    /// Those of a call with so many items.
    pub fn explain(&self, len: usize, k: usize) -> Result<Explanation> {
        Top::<F>::explain(self.plan(1, len, k), false, self.multiprocessors)
    }

    /// What a call for the first `k` of each row does: launches, workspace, and what they depend
    /// on, which is the bytes of an item and the GPU's multiprocessors. If rows are taken one by
    /// one, the launches are those of one of them, and [`times`](Explanation::times) says how many
    /// rows there are.
    ///
    /// # Errors
    ///
    /// Those of a call with so many rows.
    pub fn explain_rows(&self, rows: usize, columns: usize, k: usize) -> Result<Explanation> {
        const { Self::HAS_ROWS };
        Top::<F>::explain(self.plan(rows, columns, k), true, self.multiprocessors)
    }

    const HAS_ROWS: () = {
        assert!(
            !F::LEAVES.counted,
            "the length of rows must be known, so `up_to` is not for them"
        );
        assert!(
            !F::Item::FLAGGED,
            "rows have as many items each, so flags are not for them"
        );
    };

    /// Enqueues the greatest items of `input` into the first output, which has room for `k`, where
    /// they stand into the second one, and how many there are into the first element of the third.
    /// If there are fewer items than `k`, the rest of the outputs stays as it is.
    ///
    /// # Errors
    ///
    /// [`Error::Pairs`] if there is not as much room for places as for items, [`Error::Length`] if
    /// there is none for the number, [`Error::Workspace`] if `workspace` is too small,
    /// [`Error::WorkspaceStream`] if it serves another stream, [`Error::WrongDevice`] if something
    /// belongs to another context, [`Error::Zip`] if zipped sources have different lengths,
    /// [`Error::Driver`] if a launch fails.
    pub fn enqueue_top(
        &self,
        stream: &CudaStream,
        order: Order,
        input: impl Source<CudaStream, Item = F::Item, Form = F>,
        outputs: (
            &mut impl DevicePtrMut<KeyOf<F>>,
            &mut impl DevicePtrMut<u64>,
            &mut impl DevicePtrMut<u64>,
        ),
        workspace: &mut Workspace,
    ) -> Result<()> {
        self.enqueue(stream, order.turned(true), input, outputs, workspace)
    }

    /// Enqueues the least items of `input`. Otherwise as [`enqueue_top`](TopK::enqueue_top).
    ///
    /// # Errors
    ///
    /// As [`enqueue_top`](TopK::enqueue_top).
    pub fn enqueue_bottom(
        &self,
        stream: &CudaStream,
        order: Order,
        input: impl Source<CudaStream, Item = F::Item, Form = F>,
        outputs: (
            &mut impl DevicePtrMut<KeyOf<F>>,
            &mut impl DevicePtrMut<u64>,
            &mut impl DevicePtrMut<u64>,
        ),
        workspace: &mut Workspace,
    ) -> Result<()> {
        self.enqueue(stream, order.turned(false), input, outputs, workspace)
    }

    fn enqueue(
        &self,
        stream: &CudaStream,
        order: Order,
        input: impl Source<CudaStream, Item = F::Item, Form = F>,
        (values, places, found): (
            &mut impl DevicePtrMut<KeyOf<F>>,
            &mut impl DevicePtrMut<u64>,
            &mut impl DevicePtrMut<u64>,
        ),
        workspace: &mut Workspace,
    ) -> Result<()> {
        Error::check_pairs(values.len(), places.len())?;
        check_holds_one(found)?;
        check_context(&self.context, "count", found.stream().context())?;
        let mut binder = StreamBinder::new(stream, &self.context);
        let (source, len) = bind(&mut binder, &input)?;
        let choice = Choice::new(len, None, values.len(), order)?;
        let written = [
            ("values", &**values.stream()),
            ("places", &**places.stream()),
        ];
        let bytes = self.bytes(self.plan_of(choice));
        let workspace = check_call(&self.context, stream, &written, workspace, bytes)?;
        let (values, _writing) = values.device_ptr_mut(stream);
        let (places, _writing_places) = places.device_ptr_mut(stream);
        let (found, _writing_found) = found.device_ptr_mut(stream);
        let call = Call {
            source,
            choice,
            values,
            places,
            found,
        };
        let scratch = workspace.address + HEADER_BYTES as u64;
        // SAFETY: all was checked, and is borrowed until the launches are enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe { self.run(stream, call, scratch, workspace) }
    }

    /// Enqueues the `k` greatest items of each row of `input` into the first output, one row after
    /// the other, and where they stand in their rows into the second one. Each output has room for
    /// `k` of every row, or for all items if rows have fewer.
    ///
    /// # Errors
    ///
    /// As [`enqueue_top`](TopK::enqueue_top); [`Error::Length`] if an output has another length,
    /// [`Error::Segments`] if the rows do not have as many items as the source.
    #[allow(clippy::too_many_arguments)]
    pub fn enqueue_top_rows(
        &self,
        stream: &CudaStream,
        order: Order,
        input: impl Source<CudaStream, Item = F::Item, Form = F>,
        rows: Rows,
        k: usize,
        outputs: (
            &mut impl DevicePtrMut<KeyOf<F>>,
            &mut impl DevicePtrMut<u64>,
        ),
        workspace: &mut Workspace,
    ) -> Result<()> {
        let order = order.turned(true);
        self.enqueue_rows(stream, order, input, (rows, k), outputs, workspace)
    }

    /// Enqueues the `k` least items of each row of `input`. Otherwise as
    /// [`enqueue_top_rows`](TopK::enqueue_top_rows).
    ///
    /// # Errors
    ///
    /// As [`enqueue_top_rows`](TopK::enqueue_top_rows).
    #[allow(clippy::too_many_arguments)]
    pub fn enqueue_bottom_rows(
        &self,
        stream: &CudaStream,
        order: Order,
        input: impl Source<CudaStream, Item = F::Item, Form = F>,
        rows: Rows,
        k: usize,
        outputs: (
            &mut impl DevicePtrMut<KeyOf<F>>,
            &mut impl DevicePtrMut<u64>,
        ),
        workspace: &mut Workspace,
    ) -> Result<()> {
        let order = order.turned(false);
        self.enqueue_rows(stream, order, input, (rows, k), outputs, workspace)
    }

    fn enqueue_rows(
        &self,
        stream: &CudaStream,
        order: Order,
        input: impl Source<CudaStream, Item = F::Item, Form = F>,
        (rows, k): (Rows, usize),
        (values, places): (
            &mut impl DevicePtrMut<KeyOf<F>>,
            &mut impl DevicePtrMut<u64>,
        ),
        workspace: &mut Workspace,
    ) -> Result<()> {
        const { Self::HAS_ROWS };
        let mut binder = StreamBinder::new(stream, &self.context);
        let (source, len) = bind(&mut binder, &input)?;
        let choice = Choice::new(len, Some(rows), k, order)?;
        Error::check_length(choice.most(), values.len())?;
        Error::check_length(choice.most(), places.len())?;
        let written = [
            ("values", &**values.stream()),
            ("places", &**places.stream()),
        ];
        let bytes = self.bytes(self.plan_of(choice));
        let workspace = check_call(&self.context, stream, &written, workspace, bytes)?;
        let (values, _writing) = values.device_ptr_mut(stream);
        let (places, _writing_places) = places.device_ptr_mut(stream);
        let call = Call {
            source,
            choice,
            values,
            places,
            found: 0,
        };
        let scratch = workspace.address + HEADER_BYTES as u64;
        // SAFETY: as in `enqueue`.
        unsafe { self.run(stream, call, scratch, workspace) }
    }

    fn plan(&self, rows: usize, columns: usize, k: usize) -> TopPlan {
        TopPlan::new(Self::shape(), self.multiprocessors, rows, columns, k)
    }

    fn plan_of(&self, choice: Choice) -> TopPlan {
        self.plan(choice.rows, choice.columns, choice.k)
    }

    /// Enqueues the launches.
    ///
    /// # Safety
    ///
    /// The source is in the kernels' context, with as many items as the choice says, and so is room
    /// for the results. Scratch memory follows its address, as much as `bytes` says. All of it
    /// stays until the work on the stream is done. The workspace serves the stream.
    unsafe fn run(
        &self,
        stream: &CudaStream,
        call: Call<F::Arguments>,
        scratch: u64,
        workspace: WorkspaceArguments,
    ) -> Result<()> {
        let plan = self.plan_of(call.choice);
        if plan.rows == 0 || (plan.k == 0 && call.found == 0) {
            return Ok(());
        }
        let kernels = self.kernels.get(&self.context)?;
        let kept = plan.scratch(scratch);
        let [rounds, lanes] = plan.sampling();
        let mut arguments = TopArguments {
            source: call.source,
            values: call.values,
            places: call.places,
            found: call.found,
            length: plan.columns as u64,
            k: plan.k as u64,
            state: kept.state,
            sample_ranks: kept.sample_ranks,
            sample_places: kept.sample_places,
            ranks: kept.ranks,
            at: kept.at,
            room: kept.room as u64,
            workspace,
            order: call.choice.order.code(KeyOf::<F>::KIND),
            rounds,
            lanes,
            flags: 0,
            row: 0,
        };
        let asked = TopAsked {
            flagged: F::Item::FLAGGED,
            counts: call.found != 0,
            multiprocessors: kernels.multiprocessors(),
        };
        // A row after the other, if they are not in one launch.
        for row in 0..plan.times() {
            arguments.row = row as u64;
            for step in plan.steps(asked) {
                // SAFETY: the caller's.
                unsafe { self.step(stream, kernels, plan, (step, arguments), kept.end) }?;
            }
        }
        Ok(())
    }

    /// Enqueues a step.
    ///
    /// # Safety
    ///
    /// As for [`run`](TopK::run). From `scratch` on there is room for what sorts need.
    unsafe fn step(
        &self,
        stream: &CudaStream,
        kernels: &Loaded,
        plan: TopPlan,
        (step, arguments): (TopStep, TopArguments<F::Arguments>),
        scratch: u64,
    ) -> Result<()> {
        let scratch = scratch.next_multiple_of(256);
        let (ascending, room) = (Order::ascending(), plan.room());
        let (ranks, at) = ([arguments.ranks; 2], [arguments.at; 2]);
        let workspace = arguments.workspace;
        match step {
            TopStep::Launch(function, blocks, flags) => {
                let grid = Grid::of(blocks, plan.rows * plan.columns)?;
                let given = TopArguments { flags, ..arguments };
                // SAFETY: the caller's.
                unsafe { launch(kernels, stream, &function_of::<F>(function), grid, given) }
            }
            TopStep::SortByPlace => {
                let pairs = (at, ranks, room);
                let sort = &self.by_place;
                // SAFETY: the caller's; the candidates are the call's own.
                unsafe { sort.run(stream, ascending, pairs, u64::BITS, scratch, workspace) }
            }
            TopStep::SortByRank => {
                let bits = 8 * size_of::<BitsOf<F>>() as u32;
                let pairs = (ranks, at, room);
                let sort = &self.by_rank;
                // SAFETY: as above.
                unsafe { sort.run(stream, ascending, pairs, bits, scratch, workspace) }
            }
        }
    }
}

fn function_of<F: Form<Item: Candidate>>(
    function: TopFunction,
) -> Function<TopArguments<F::Arguments>> {
    Function::new(Top::<F>::name(function))
}

/// The first items on a GPU's stream, in new buffers.
///
/// # Safety
///
/// The arguments are those of a source in this GPU's memory, with as many items as the choice says,
/// which stays borrowed.
pub(super) unsafe fn best<F: Form<Item: Candidate>>(
    device: &Device,
    gpu: &Gpu,
    source: F::Arguments,
    choice: Choice,
) -> Result<(Buffer<KeyOf<F>>, Buffer<u64>)> {
    let top = gpu.kernels(TopK::<F>::load_lazily)?;
    let mut values = Buffer::<KeyOf<F>>::reserve(device, choice.most())?;
    let mut places = Buffer::<u64>::reserve(device, choice.most())?;
    let flagged = F::Item::FLAGGED && choice.most() > 0;
    let found = gpu.allocate::<u64>(usize::from(flagged))?;
    // The workspace is kept, and this is not.
    let scratch = gpu.allocate::<u8>(top.bytes(top.plan_of(choice)))?;
    let call = Call {
        source,
        choice,
        values: values.address_mut(),
        places: places.address_mut(),
        found: if flagged { found.address() } else { 0 },
    };
    gpu.with_workspace(HEADER_BYTES, |stream, workspace| {
        let workspace = workspace.arguments(stream, HEADER_BYTES)?;
        // SAFETY: the caller's; the stream keeps calls and frees in order.
        unsafe { top.run(stream, call, scratch.address(), workspace) }
    })?;
    let stored = match flagged {
        true => gpu.download(&found, 0..1)?[0] as usize,
        false => choice.most(),
    };
    // SAFETY: so many are written.
    unsafe {
        values.set_len(stored);
        places.set_len(stored);
    }
    Ok((values, places))
}
