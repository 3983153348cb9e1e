//! Selects for callers that bring their own stream, slices and workspace.

use super::candidates;
use super::kernel::{self, Kept, Outputs, Places, RunParts, SelectArguments, Sides};
use super::{Target, Targets};
#[cfg(doc)]
use crate::Error;
use crate::cuda::checks::{bind, check_call, check_holds_one};
use crate::cuda::kernels::{Lazy, Shell, clone_by_fields, context_multiprocessors};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder, Workspace, check_context, context_capability};
use crate::element::assert_element_size;
use crate::engine::candidates::{Candidates, Extent};
use crate::engine::{Engine, Explanation, WavePolicy};
use crate::render::{Function, Kernels as _, Named, WorkspaceArguments, check};
use crate::source::{
    Equal, Flagged, Form, Heads, Index, IndexArguments, Slice, Source, Zip, ZipArguments,
};
use crate::{Element, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice};
use std::marker::PhantomData;
use std::sync::Arc;

/// The select of elements `T` by their flags, loaded into a context. Cheap to clone.
///
/// `F` is the [form](Form) of what is read: pairs of an element and a flag. [`SelectBy`] is the one
/// for slices and a predicate. The elements that have a flag come out in their order, one after the
/// other. Their number stays on the device.
///
/// `O` says what else is stored, or instead: [`Partition`], [`Positions`], [`Unique`] and [`Runs`]
/// are selects too.
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
pub struct Select<T: Element, F: Form<Item = (T, bool)>, O: Outputs = Kept> {
    core: Core,
    types: Named<(T, F, O)>,
}

/// The kernels, which know no types.
#[derive(Debug, Clone)]
pub(crate) struct Core {
    context: Arc<CudaContext>,
    candidates: Candidates<Lazy>,
    multiprocessors: u32,
}

/// The select of the elements of a slice that the predicate `P` holds for.
pub type SelectBy<T, P> = Select<T, Flagged<P, Slice<T>>>;

/// The partition of elements `T` by their flags: those that have one, and the others, both in their
/// order.
///
/// ```no_run
/// use warpfold::cuda::{PartitionBy, Workspace, cudarc::driver::CudaContext};
/// use warpfold::{flagged, function};
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
/// let mut others = stream.alloc_zeros::<f32>(samples.len())?;
/// let mut count = stream.alloc_zeros::<u64>(1)?;
///
/// let partition = PartitionBy::<f32, positive>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, partition.workspace_bytes(samples.len()))?;
/// let source = flagged::<positive, _>(&samples);
/// partition.enqueue(&stream, source, &mut kept, &mut others, &mut count, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&count)?, [2]);
/// assert_eq!(stream.clone_dtoh(&others)?[0], -2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Partition<T, F> = Select<T, F, Sides>;

/// The partition of the elements of a slice by the predicate `P`.
pub type PartitionBy<T, P> = Partition<T, Flagged<P, Slice<T>>>;

/// The positions of what is true in a source of `bool`s with the form `B`.
///
/// ```no_run
/// use warpfold::cuda::{Positions, Workspace, cudarc::driver::CudaContext};
/// use warpfold::flags;
/// use warpfold::source::{Map, NonZero, Slice};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let mask = stream.clone_htod(&[0_u8, 1, 1, 0, 1])?;
/// let mut positions = stream.alloc_zeros::<u64>(mask.len())?;
/// let mut count = stream.alloc_zeros::<u64>(1)?;
///
/// let find = Positions::<Map<NonZero<u8>, Slice<u8>>>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, find.workspace_bytes(mask.len()))?;
/// find.enqueue(&stream, flags(&mask), &mut positions, &mut count, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&positions)?[..3], [1, 2, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Positions<B> = Select<u64, Zip<(Index, B)>, Places>;

/// The select of the first number of each run of equal ones in a slice: its source is
/// [`heads`](crate::heads).
pub type Unique<T> = Select<T, Heads<Equal<T>, Slice<T>>>;

/// The first elements of runs, where these start, and how long they are: run-length encoding.
///
/// `F` is the form of [`heads`](crate::heads()) or [`heads_by`](crate::heads_by).
///
/// ```no_run
/// use warpfold::cuda::{Runs, Workspace, cudarc::driver::CudaContext};
/// use warpfold::heads;
/// use warpfold::source::{Equal, Heads, Slice};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let x = stream.clone_htod(&[7_u32, 7, 2, 2, 2, 7])?;
/// let mut items = stream.alloc_zeros::<u32>(x.len())?;
/// let mut starts = stream.alloc_zeros::<u64>(x.len())?;
/// let mut lengths = stream.alloc_zeros::<u64>(x.len())?;
/// let mut count = stream.alloc_zeros::<u64>(1)?;
///
/// let runs = Runs::<u32, Heads<Equal<u32>, Slice<u32>>>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, runs.workspace_bytes(x.len()))?;
/// let (outputs, count) = ((&mut items, &mut starts, &mut lengths), &mut count);
/// runs.enqueue(&stream, heads(&x), outputs, count, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&items)?[..3], [7, 2, 7]);
/// assert_eq!(stream.clone_dtoh(&starts)?[..3], [0, 2, 5]);
/// assert_eq!(stream.clone_dtoh(&lengths)?[..3], [2, 3, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Runs<T, F> = Select<T, F, RunParts>;

clone_by_fields! {
    [T: Element, F: Form<Item = (T, bool)>, O: Outputs]
    Select<T, F, O> { core, types }
}

impl<T: Element, F: Form<Item = (T, bool)>, O: Outputs> Select<T, F, O> {
    /// Loads the kernels that calls of all lengths need. That takes under 1 µs if this process has
    /// them already, some 2 ms from the disk cache, and 0.5 to 1 s if they must be compiled.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong predicate,
    /// [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        Select::load_lazily(context)?.loaded()
    }

    /// Loads nothing yet. A call loads the kernels that its length needs, unless an earlier one
    /// has, as with [`Scan::load_lazily`](crate::cuda::Scan::load_lazily).
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without a driver, [`Error::Driver`].
    pub fn load_lazily(context: &Arc<CudaContext>) -> Result<Self> {
        Ok(Select {
            core: Self::load_core(context)?,
            types: PhantomData,
        })
    }

    /// Loads the kernels of one engine, which will be used for every length. With the wave engine,
    /// slices that do not start at a multiple of 16 bytes take the rows engine.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Select::load), and [`Error::Codegen`] for a policy that the engine cannot
    /// have.
    pub fn load_engine(context: &Arc<CudaContext>, engine: Engine) -> Result<Self> {
        const { assert_element_size::<T>() };
        require_driver()?;
        check::<kernel::Select<T, F, O>>(engine)?;
        let (rows, wave) = match engine {
            Engine::Rows(policy) => (policy, None),
            Engine::Wave(wave) => {
                let capability = context_capability(context)?;
                let rows = kernel::Select::<T, F, O>::rows_policy(capability);
                (rows, Some(wave))
            }
            Engine::Levels | Engine::Block(_) | Engine::Shares(_) => {
                unreachable!("`check` refuses them")
            }
        };
        let candidates = candidates::only::<T, F, O, _>(&Self::lazy, rows, wave);
        let select = Select {
            core: Core::new(context, candidates)?,
            types: PhantomData,
        };
        select.loaded()
    }

    fn lazy(engine: Engine) -> Lazy {
        Lazy::new(kernel::Select::<T, F, O>::kernel(engine))
    }

    /// This select, with all kernels loaded.
    fn loaded(self) -> Result<Self> {
        Lazy::load_all(self.core.candidates.kernels(), &self.core.context)?;
        Ok(self)
    }

    /// The bytes of a [`Workspace`] that `len` items need; they grow with `len`, and are below 1%
    /// of the items' size for long inputs.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        self.core.candidates.workspace_bytes(len)
    }

    /// What a call for `len` aligned items does: engine, launches, workspace, and what the choice
    /// depended on.
    ///
    /// # Errors
    ///
    /// Those of a call with so many items; [`Error::Driver`].
    pub fn explain(&self, len: usize) -> Result<Explanation> {
        let capability = context_capability(&self.core.context)?;
        let extent = self.core.extent(len, true);
        candidates::explain(&self.core.candidates, capability, extent)
    }

    /// What kernels are told of `workspace`, if all belongs to their context, and there is room for
    /// the count.
    fn check(
        &self,
        stream: &CudaStream,
        written: &[(&str, &CudaStream)],
        count: &impl DevicePtrMut<u64>,
        workspace: &Workspace,
        len: usize,
    ) -> Result<WorkspaceArguments> {
        check_holds_one(count)?;
        check_context(&self.core.context, "count", count.stream().context())?;
        let bytes = self.workspace_bytes(len);
        check_call(&self.core.context, stream, written, workspace, bytes)
    }

    /// Enqueues the launch, with the address of the count.
    ///
    /// # Safety
    ///
    /// `source` has the arguments of a source in the kernels' context with `len` items. The targets
    /// are there too, as is the count. Nothing else uses them before the work on the stream is
    /// done. The workspace is the stream's alone, with as many bytes as
    /// [`workspace_bytes`](Select::workspace_bytes) says.
    pub(crate) unsafe fn run(
        &self,
        stream: &CudaStream,
        (source, len): (F::Arguments, usize),
        targets: Targets,
        count: u64,
        workspace: WorkspaceArguments,
    ) -> Result<()> {
        let call = Call::of::<F, O>(source, len, targets, count, workspace);
        // SAFETY: the caller's.
        unsafe { self.core.run(stream, call) }
    }
}

/// What a kernel takes, and whether the wave engine can have the source.
struct Call<S> {
    arguments: SelectArguments<S>,
    is_aligned: bool,
}

impl<S> Call<S> {
    fn of<F: Form<Arguments = S>, O: Outputs>(
        source: S,
        len: usize,
        targets: Targets,
        count: u64,
        workspace: WorkspaceArguments,
    ) -> Call<S> {
        Call {
            is_aligned: F::is_aligned(&source, WavePolicy::ALIGN),
            arguments: SelectArguments {
                source,
                out: targets.kept.address,
                others: targets.others.address,
                places: targets.places.address,
                lengths: targets.lengths.address,
                capacity: targets.capacity::<O>() as u64,
                others_capacity: targets.others.room as u64,
                count,
                length: len as u64,
                workspace,
                by_ticket: 1,
            },
        }
    }
}

impl<T: Element, F: Form<Item = (T, bool)>, O: Outputs> Shell for Select<T, F, O> {
    type Core = Core;

    fn load_core(context: &Arc<CudaContext>) -> Result<Core> {
        const { assert_element_size::<T>() };
        require_driver()?;
        let capability = context_capability(context)?;
        Core::new(
            context,
            candidates::for_outputs::<T, F, O, _>(&Self::lazy, capability),
        )
    }
}

impl Core {
    fn new(context: &Arc<CudaContext>, candidates: Candidates<Lazy>) -> Result<Core> {
        Ok(Core {
            context: context.clone(),
            candidates,
            multiprocessors: context_multiprocessors(context)?,
        })
    }

    fn extent(&self, len: usize, aligned: bool) -> Extent {
        Extent {
            len,
            inclusive: false,
            aligned,
            multiprocessors: self.multiprocessors,
        }
    }

    /// Compiled for the layouts of arguments, whatever the items and flags.
    ///
    /// # Safety
    ///
    /// As of [`Select::run`]. The kernels take these arguments.
    unsafe fn run<S: Copy>(&self, stream: &CudaStream, call: Call<S>) -> Result<()> {
        let mut arguments = call.arguments;
        let len = arguments.length as usize;
        let extent = self.extent(len, call.is_aligned);
        let chosen = self.candidates.choose(extent);
        let kernels = chosen.kernel.get(&self.context)?;
        let blocks = chosen.blocks(extent);
        let blocks = blocks.expect("a select takes one launch");
        arguments.by_ticket = u32::from(blocks.by_ticket);
        let grid = Grid::of(blocks, len)?;
        let name = match chosen.engine {
            Engine::Wave(_) => kernel::WAVE,
            _ => kernel::ROWS,
        };
        // SAFETY: the caller's. The wave engine got slices that are aligned.
        unsafe { launch(kernels, stream, &Function::new(name), grid, arguments) }
    }
}

impl<T: Element, F: Form<Item = (T, bool)>> Select<T, F> {
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
        let mut binder = StreamBinder::new(stream, &self.core.context);
        let input = bind(&mut binder, &input)?;
        let written = [("output", &**output.stream())];
        let workspace = self.check(stream, &written, count, workspace, input.1)?;
        let room = output.len();
        let (out, _writing) = output.device_ptr_mut(stream);
        let (count, _counting) = count.device_ptr_mut(stream);
        let targets = Targets {
            kept: Target::new(out, room),
            ..Targets::default()
        };
        // SAFETY: all was checked, and is borrowed until the launch is enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe { self.run(stream, input, targets, count, workspace) }
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
        let len = DeviceSlice::len(data);
        let written = [("data", &**DeviceSlice::stream(data))];
        let workspace = self.check(stream, &written, count, workspace, len)?;
        let (address, _writing) = data.device_ptr_mut(stream);
        let (count, _counting) = count.device_ptr_mut(stream);
        let source = Flagged::<P, Slice<T>>::of_address(address).expect("the form is a slice");
        let targets = Targets {
            kept: Target::new(address, len),
            ..Targets::default()
        };
        // SAFETY: as in `enqueue`. Nothing but the data is read.
        unsafe { self.run(stream, (source, len), targets, count, workspace) }
    }
}

impl<T: Element, F: Form<Item = (T, bool)>> Partition<T, F> {
    /// Enqueues the partition: the items of `input` that have a flag go into `kept`, in their
    /// order, the others into `others`, in theirs, and the number of the first into the first
    /// element of `count`. One launch.
    ///
    /// If an output is too short, it gets the first ones. So compare, when you read the count.
    /// Outputs as long as the input are always long enough.
    ///
    /// # Errors
    ///
    /// As [`Select::enqueue`](Select::enqueue).
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        input: impl Source<CudaStream, Item = (T, bool), Form = F>,
        kept: &mut impl DevicePtrMut<T>,
        others: &mut impl DevicePtrMut<T>,
        count: &mut impl DevicePtrMut<u64>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let mut binder = StreamBinder::new(stream, &self.core.context);
        let input = bind(&mut binder, &input)?;
        let written = [("kept", &**kept.stream()), ("others", &**others.stream())];
        let workspace = self.check(stream, &written, count, workspace, input.1)?;
        let rooms = (kept.len(), others.len());
        let (kept, _keeping) = kept.device_ptr_mut(stream);
        let (others, _writing) = others.device_ptr_mut(stream);
        let (count, _counting) = count.device_ptr_mut(stream);
        let targets = Targets {
            kept: Target::new(kept, rooms.0),
            others: Target::new(others, rooms.1),
            ..Targets::default()
        };
        // SAFETY: as in `Select::enqueue`.
        unsafe { self.run(stream, input, targets, count, workspace) }
    }
}

impl<B: Form<Item = bool>> Positions<B> {
    /// Enqueues the positions of what is true in `flags` into `positions`, in their order, and
    /// their number into the first element of `count`. One launch.
    ///
    /// If `positions` is shorter than that, it gets the first ones. So compare, when you read the
    /// count.
    ///
    /// # Errors
    ///
    /// As [`Select::enqueue`](Select::enqueue).
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        flags: impl Source<CudaStream, Item = bool, Form = B>,
        positions: &mut impl DevicePtrMut<u64>,
        count: &mut impl DevicePtrMut<u64>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let mut binder = StreamBinder::new(stream, &self.core.context);
        let (flags, len) = bind(&mut binder, &flags)?;
        let written = [("positions", &**positions.stream())];
        let workspace = self.check(stream, &written, count, workspace, len)?;
        let room = positions.len();
        let (positions, _writing) = positions.device_ptr_mut(stream);
        let (count, _counting) = count.device_ptr_mut(stream);
        let source = ZipArguments(IndexArguments { first: 0 }, flags);
        let targets = Targets {
            places: Target::new(positions, room),
            ..Targets::default()
        };
        // SAFETY: as in `Select::enqueue`.
        unsafe { self.run(stream, (source, len), targets, count, workspace) }
    }
}

impl<T: Element, F: Form<Item = (T, bool)>> Runs<T, F> {
    /// Enqueues the items of `input` that have a head flag, the positions at which their runs
    /// start, and the lengths of the runs into the three outputs, and the number of runs into the
    /// first element of `count`. One launch.
    ///
    /// If an output is shorter than that, all get the first ones only, as many as there is room for
    /// in the shortest. So compare, when you read the count.
    ///
    /// # Errors
    ///
    /// As [`Select::enqueue`](Select::enqueue).
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        input: impl Source<CudaStream, Item = (T, bool), Form = F>,
        (items, starts, lengths): (
            &mut impl DevicePtrMut<T>,
            &mut impl DevicePtrMut<u64>,
            &mut impl DevicePtrMut<u64>,
        ),
        count: &mut impl DevicePtrMut<u64>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let mut binder = StreamBinder::new(stream, &self.core.context);
        let input = bind(&mut binder, &input)?;
        let written = [
            ("items", &**items.stream()),
            ("starts", &**starts.stream()),
            ("lengths", &**lengths.stream()),
        ];
        let workspace = self.check(stream, &written, count, workspace, input.1)?;
        let rooms = [items.len(), starts.len(), lengths.len()];
        let (items, _keeping) = items.device_ptr_mut(stream);
        let (starts, _starting) = starts.device_ptr_mut(stream);
        let (lengths, _measuring) = lengths.device_ptr_mut(stream);
        let (count, _counting) = count.device_ptr_mut(stream);
        let targets = Targets {
            kept: Target::new(items, rooms[0]),
            places: Target::new(starts, rooms[1]),
            lengths: Target::new(lengths, rooms[2]),
            ..Targets::default()
        };
        // SAFETY: as in `Select::enqueue`.
        unsafe { self.run(stream, input, targets, count, workspace) }
    }
}

impl Gpu {
    /// Selects from a source of items and flags, and returns the number of flags that are set.
    ///
    /// # Safety
    ///
    /// The arguments are those of a source on this GPU with `len` items. What it reads is freed on
    /// this GPU's stream. The targets are in this GPU's memory, and borrowed for
    /// writing.
    pub(crate) unsafe fn select<T: Element, F: Form<Item = (T, bool)>, O: Outputs>(
        &self,
        source: F::Arguments,
        len: usize,
        targets: Targets,
    ) -> Result<usize> {
        let core = self.core_of::<Select<T, F, O>>()?;
        let bytes = core.candidates.workspace_bytes(len);
        let count = self.one_result::<u64>(|count| {
            self.with_workspace(bytes, |stream, workspace| {
                let workspace = workspace.arguments(stream, bytes)?;
                let call = Call::of::<F, O>(source, len, targets, count, workspace);
                // SAFETY: the caller's; the stream keeps calls and frees in order. The pinned
                // memory has room for the count.
                unsafe { core.run(stream, call) }
            })
        })?;
        Ok(count as usize)
    }

    /// Partitions a source of items and flags to an address: the items that have one, and behind
    /// them the others. Returns the number of the first.
    ///
    /// The others wait in memory of their own until that number is known.
    ///
    /// # Safety
    ///
    /// The arguments are those of a source on this GPU with `len` items. What it reads is freed on
    /// this GPU's stream. At `out` this GPU has room for all items, borrowed for
    /// writing.
    pub(crate) unsafe fn partition_joined<T: Element, F: Form<Item = (T, bool)>>(
        &self,
        source: F::Arguments,
        len: usize,
        out: u64,
    ) -> Result<usize> {
        let others = self.allocate::<T>(len)?;
        let targets = Targets {
            kept: Target::new(out, len),
            others: Target::new(others.address(), len),
            ..Targets::default()
        };
        // SAFETY: the caller's. The others are as many as are not kept. The stream keeps the
        // partition, the copy and the end of their memory in order.
        unsafe {
            let count = self.select::<T, F, Sides>(source, len, targets)?;
            let behind = out + (count * size_of::<T>()) as u64;
            self.copy(others.address(), behind, (len - count) * size_of::<T>())?;
            Ok(count)
        }
    }
}
