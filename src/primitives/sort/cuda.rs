//! Sort for callers that bring their own stream, slices and workspace.

use super::MOST_VALUE;
use super::kernel::{self, GatherArguments, SortArguments, SortPlan, SortShape};
use super::launches::{SortWay, explain_argsort};
use super::order::{Order, Sortable};
use crate::cuda::checks::check_streams;
use crate::cuda::kernels::{Lazy, Loaded, context_multiprocessors};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, Workspace, check_context, context_machine};
use crate::engine::{Explanation, HEADER_BYTES};
use crate::render::{Named, WorkspaceArguments};
use crate::{Buffer, Element, Error, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice};
use std::marker::PhantomData;
use std::sync::Arc;

/// Sorts keys of type `K` on a GPU's stream. Cheap to clone.
///
/// ```no_run
/// use warpfold::{Order, cuda::{Sort, Workspace, cudarc::driver::CudaContext}};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let mut data = stream.clone_htod(&[3.0_f32, -1.0, 2.0])?;
/// let sort = Sort::<f32>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, sort.workspace_bytes(data.len()))?;
/// sort.enqueue_in_place(&stream, Order::descending(), &mut data, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&data)?, [3.0, 2.0, -1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Launches
///
/// As many keys as one block sorts take one launch. Some more take a few: blocks sort runs, and
/// each further launch merges several of them at a time. More keys take one launch that reads all
/// of them and counts their digits, and one for each byte of a key; a launch for a digit that all
/// keys share ends at once. One or two small launches come before these. Where one way ends and the
/// next begins depends on the size of a key; [`explain`](Sort::explain) says it for a length. The
/// algorithm is that of Adinets and Merrill, "Onesweep: a faster least significant digit radix sort
/// for GPUs" (2022).
///
/// # The workspace
///
/// As for [`Scan`](crate::cuda::Scan); they can share one. But here it also holds room for all
/// keys, 2 KiB for each byte of a key, and 2 KiB for each tile, which has some thousands of keys (4
/// KiB from 2^30 keys on).
#[derive(Debug, Clone)]
pub struct Sort<K: Sortable> {
    sorter: Sorter,
    key: Named<K>,
}

impl<K: Sortable> Sort<K> {
    /// Loads the kernels, two sources. Each takes under 1 µs if this process has it already, some
    /// 1 ms from the disk cache, and 0.3 to 1 s if it must be compiled. Numbers of one size share
    /// them, but floats and integers do not.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        let sorter = Sorter::lazily(context, SortShape::of_keys::<K>(), false)?;
        sorter.load()?;
        Ok(Sort {
            sorter,
            key: PhantomData,
        })
    }

    /// The bytes of a [`Workspace`] that a call with `len` keys needs.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        self.sorter.plan(len).workspace_bytes(false)
    }

    /// What a call of [`enqueue`](Sort::enqueue) for `len` keys does: launches, workspace, and what
    /// they depend on.
    ///
    /// # Errors
    ///
    /// Those of a call with so many keys; [`Error::Driver`].
    pub fn explain(&self, len: usize) -> Result<Explanation> {
        let way = SortWay {
            in_place: false,
            ..SortWay::in_place::<K>()
        };
        self.sorter.explain("sort", way, len)
    }

    /// What a call of [`enqueue_in_place`](Sort::enqueue_in_place) for `len` keys does.
    ///
    /// # Errors
    ///
    /// As [`explain`](Sort::explain).
    pub fn explain_in_place(&self, len: usize) -> Result<Explanation> {
        self.sorter.explain("sort", SortWay::in_place::<K>(), len)
    }

    /// Enqueues the sorted keys of `input` into `output`, which has as many.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if `output` has another length, [`Error::Workspace`] if `workspace` is too
    /// small, [`Error::WorkspaceStream`] if it serves another stream, [`Error::WrongDevice`] if
    /// something belongs to another context, [`Error::Driver`] if a launch fails.
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        order: Order,
        input: &impl DevicePtr<K>,
        output: &mut impl DevicePtrMut<K>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let len = input.len();
        let written = [("output", &**output.stream())];
        let workspace = self.sorter.check(stream, &written, len, workspace)?;
        check_context(&self.sorter.context, "input", input.stream().context())?;
        Error::check_length(len, output.len())?;
        let (input, _reading) = input.device_ptr(stream);
        let (output, _writing) = output.device_ptr_mut(stream);
        let call = Call::of_keys::<K>(order, input, output, len);
        // SAFETY: all was checked, and is borrowed until the launches are enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe { self.sorter.run_in(stream, &call, workspace) }
    }

    /// Enqueues the sorting of `data`.
    ///
    /// # Errors
    ///
    /// As [`enqueue`](Sort::enqueue).
    pub fn enqueue_in_place(
        &self,
        stream: &CudaStream,
        order: Order,
        data: &mut (impl DevicePtr<K> + DevicePtrMut<K>),
        workspace: &mut Workspace,
    ) -> Result<()> {
        let len = DeviceSlice::len(data);
        let written = [("data", &**DeviceSlice::stream(data))];
        let workspace = self.sorter.check(stream, &written, len, workspace)?;
        let (address, _writing) = data.device_ptr_mut(stream);
        let call = Call::of_keys::<K>(order, address, address, len);
        // SAFETY: as in `enqueue`.
        unsafe { self.sorter.run_in(stream, &call, workspace) }
    }
}

/// Sorts keys of type `K`, and moves values of type `V` along, on a GPU's stream. Cheap to clone.
///
/// Values have up to 16 bytes. Larger ones move once, by their places: see [`ArgSort`].
///
/// ```no_run
/// use warpfold::{Order, cuda::{SortPairs, Workspace, cudarc::driver::CudaContext}};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let mut keys = stream.clone_htod(&[3_u32, 1, 2, 1])?;
/// let mut values = stream.clone_htod(&[0.5_f64, 1.5, 2.5, 3.5])?;
/// let sort = SortPairs::<u32, f64>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, sort.workspace_bytes(keys.len()))?;
/// let order = Order::ascending();
/// sort.enqueue_in_place(&stream, order, &mut keys, &mut values, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&values)?, [1.5, 3.5, 2.5, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Launches and workspace are those of [`Sort`], and the workspace has room for all values, too.
#[derive(Debug, Clone)]
pub struct SortPairs<K: Sortable, V: Element> {
    sorter: Sorter,
    types: Named<(K, V)>,
}

impl<K: Sortable, V: Element> SortPairs<K, V> {
    const FITS: () = assert!(
        size_of::<V>() <= MOST_VALUE && size_of::<V>() > 0,
        "values that move with their keys have 1 to 16 bytes; sort the places of larger ones, with `ArgSort`"
    );

    /// Loads the kernels, as [`Sort::load`] does.
    ///
    /// # Errors
    ///
    /// As [`Sort::load`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        const { Self::FITS };
        SortPairs::load_unchecked(context)
    }

    /// As [`load`](SortPairs::load). The caller sees to it that values have up to [`MOST_VALUE`]
    /// bytes.
    pub(crate) fn load_unchecked(context: &Arc<CudaContext>) -> Result<Self> {
        let sort = SortPairs::load_lazily(context)?;
        sort.sorter.load()?;
        Ok(sort)
    }

    /// Kernels that are loaded when they are needed. Otherwise as
    /// [`load_unchecked`](SortPairs::load_unchecked).
    pub(crate) fn load_lazily(context: &Arc<CudaContext>) -> Result<Self> {
        Ok(SortPairs {
            sorter: Sorter::lazily(context, SortShape::of_pairs::<K, V>(), false)?,
            types: PhantomData,
        })
    }

    /// Enqueues the sorting of keys and values from their addresses to others, which may be the
    /// same: those of the keys in turn, then those of the values. For values at address 0 the
    /// places of the keys are taken. No key has more than so many bits.
    ///
    /// # Safety
    ///
    /// So many lie there, in the kernels' context. From `scratch` on, a multiple of 256, there are
    /// as many bytes as [`SortPlan::scratch`] says. All are the call's alone, and stay until the
    /// work on the stream is done. The workspace serves the stream. Where
    /// places are taken, values are `u32` or `u64`, and have room for them.
    pub(crate) unsafe fn run(
        &self,
        stream: &CudaStream,
        order: Order,
        (keys, values, len): ([u64; 2], [u64; 2], usize),
        bits: u32,
        scratch: u64,
        workspace: WorkspaceArguments,
    ) -> Result<()> {
        let call = Call {
            values: (values[0], values[1]),
            digits: bits.div_ceil(8),
            ..Call::of_keys::<K>(order, keys[0], keys[1], len)
        };
        // SAFETY: the caller's.
        unsafe { self.sorter.run(stream, &call, scratch, workspace) }
    }

    /// The bytes of a [`Workspace`] that a call with `len` pairs needs.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        self.sorter.plan(len).workspace_bytes(false)
    }

    /// What a call for `len` pairs does: launches, workspace, and what they depend on.
    ///
    /// # Errors
    ///
    /// Those of a call with so many pairs; [`Error::Driver`].
    pub fn explain(&self, len: usize) -> Result<Explanation> {
        let way = SortWay::in_place::<K>();
        self.sorter.explain("sort of pairs", way, len)
    }

    /// Enqueues the sorting of `keys`, and of as many `values` with them.
    ///
    /// # Errors
    ///
    /// [`Error::Pairs`] if there are not as many values as keys, and those of [`Sort::enqueue`].
    pub fn enqueue_in_place(
        &self,
        stream: &CudaStream,
        order: Order,
        keys: &mut (impl DevicePtr<K> + DevicePtrMut<K>),
        values: &mut (impl DevicePtr<V> + DevicePtrMut<V>),
        workspace: &mut Workspace,
    ) -> Result<()> {
        let len = DeviceSlice::len(keys);
        let written = [
            ("keys", &**DeviceSlice::stream(keys)),
            ("values", &**DeviceSlice::stream(values)),
        ];
        let workspace = self.sorter.check(stream, &written, len, workspace)?;
        Error::check_pairs(len, DeviceSlice::len(values))?;
        let (keys, _writing) = keys.device_ptr_mut(stream);
        let (values, _writing_values) = values.device_ptr_mut(stream);
        let call = Call {
            values: (values, values),
            ..Call::of_keys::<K>(order, keys, keys, len)
        };
        // SAFETY: as in `Sort::enqueue`.
        unsafe { self.sorter.run_in(stream, &call, workspace) }
    }
}

/// Finds where the keys of a sorted order stand, on a GPU's stream. Cheap to clone.
///
/// ```no_run
/// use warpfold::{Order, cuda::{ArgSort, Workspace, cudarc::driver::CudaContext}};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let keys = stream.clone_htod(&[3_u32, 1, 2, 1])?;
/// let mut places = stream.alloc_zeros::<u64>(4)?;
/// let sort = ArgSort::<u32>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, sort.workspace_bytes(keys.len()))?;
/// sort.enqueue(&stream, Order::ascending(), &keys, &mut places, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&places)?, [1, 3, 2, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Launches and workspace are those of [`Sort`]; the workspace has room for the keys once more, and
/// for a place of each, of 32 bits (of 64 from 2^32 keys on).
#[derive(Debug, Clone)]
pub struct ArgSort<K: Sortable> {
    narrow: Sorter,
    wide: Sorter,
    key: Named<K>,
}

impl<K: Sortable> ArgSort<K> {
    /// Loads the kernels, as [`Sort::load`] does.
    ///
    /// # Errors
    ///
    /// As [`Sort::load`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        let sort = ArgSort::load_lazily(context)?;
        sort.narrow.load()?;
        Ok(sort)
    }

    pub(crate) fn load_lazily(context: &Arc<CudaContext>) -> Result<Self> {
        Ok(ArgSort {
            narrow: Sorter::lazily(context, SortShape::of_pairs::<K, u32>(), true)?,
            wide: Sorter::lazily(context, SortShape::of_pairs::<K, u64>(), true)?,
            key: PhantomData,
        })
    }

    fn sorter(&self, len: usize) -> &Sorter {
        match u32::try_from(len) {
            Ok(_) => &self.narrow,
            Err(_) => &self.wide,
        }
    }

    /// The bytes of a [`Workspace`] that a call with `len` keys needs.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        self.sorter(len).plan(len).workspace_bytes(true)
    }

    /// What a call for `len` keys does: launches, workspace, and what they depend on.
    ///
    /// # Errors
    ///
    /// Those of a call with so many keys; [`Error::Driver`].
    pub fn explain(&self, len: usize) -> Result<Explanation> {
        explain_argsort::<K>(context_machine(&self.narrow.context)?, len)
    }

    /// Enqueues the places of the keys of `input` in sorted order into `output`.
    ///
    /// # Errors
    ///
    /// As [`Sort::enqueue`].
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        order: Order,
        input: &impl DevicePtr<K>,
        output: &mut impl DevicePtrMut<u64>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let len = input.len();
        let written = [("output", &**output.stream())];
        let sorter = self.sorter(len);
        let workspace = sorter.check(stream, &written, len, workspace)?;
        check_context(&sorter.context, "input", input.stream().context())?;
        Error::check_length(len, output.len())?;
        let (input, _reading) = input.device_ptr(stream);
        let (output, _writing) = output.device_ptr_mut(stream);
        let call = Call::of_places::<K>(order, input, output, len);
        // SAFETY: as in `Sort::enqueue`.
        unsafe { sorter.run_in(stream, &call, workspace) }
    }
}

/// What a call sorts: addresses of what is read and of what is written, which may be one.
#[derive(Debug, Clone, Copy)]
struct Call {
    keys: (u64, u64),
    values: (u64, u64),
    len: usize,
    order: u32,
    /// The bytes of a key that may vary, from the lowest on.
    digits: u32,
}

impl Call {
    fn of_keys<K: Sortable>(order: Order, keys: u64, keys_out: u64, len: usize) -> Call {
        Call {
            keys: (keys, keys_out),
            values: (0, 0),
            len,
            order: order.code(K::KIND),
            digits: size_of::<K>() as u32,
        }
    }

    fn of_places<K: Sortable>(order: Order, keys: u64, places: u64, len: usize) -> Call {
        Call {
            values: (0, places),
            ..Call::of_keys::<K>(order, keys, 0, len)
        }
    }
}

/// The kernels for keys and values of some sizes.
#[derive(Debug, Clone)]
struct Sorter {
    context: Arc<CudaContext>,
    shape: SortShape,
    short: Lazy,
    /// With numbers of 32 and of 64 bits.
    long: [Lazy; 2],
    places_only: bool,
}

impl Sorter {
    fn lazily(context: &Arc<CudaContext>, shape: SortShape, places_only: bool) -> Result<Sorter> {
        require_driver()?;
        Ok(Sorter {
            context: context.clone(),
            shape,
            short: Lazy::new(shape.short()),
            long: [32, 64].map(|bits| Lazy::new(shape.long(bits))),
            places_only,
        })
    }

    fn load(&self) -> Result<()> {
        Lazy::load_all([&self.short, &self.long[0]], &self.context)
    }

    fn plan(&self, len: usize) -> SortPlan {
        SortPlan::new(self.shape, len)
    }

    fn explain(&self, name: &'static str, way: SortWay, len: usize) -> Result<Explanation> {
        let multiprocessors = context_multiprocessors(&self.context)?;
        self.plan(len).explain(name, way, multiprocessors)
    }

    fn check(
        &self,
        stream: &CudaStream,
        written: &[(&str, &CudaStream)],
        len: usize,
        workspace: &Workspace,
    ) -> Result<WorkspaceArguments> {
        check_streams(&self.context, stream, written)?;
        let bytes = self.plan(len).workspace_bytes(self.places_only);
        workspace.arguments(stream, bytes)
    }

    /// With what it needs in between behind the workspace's header.
    ///
    /// # Safety
    ///
    /// As for [`run`](Sorter::run).
    unsafe fn run_in(
        &self,
        stream: &CudaStream,
        call: &Call,
        workspace: WorkspaceArguments,
    ) -> Result<()> {
        let scratch = workspace.address + HEADER_BYTES as u64;
        // SAFETY: the caller's; `workspace_bytes` counts the scratch memory and its alignment.
        unsafe { self.run(stream, call, scratch, workspace) }
    }

    /// Enqueues the launches.
    ///
    /// # Safety
    ///
    /// The addresses are of arrays in the kernels' context, of the call's length and the shape's
    /// sizes; scratch memory follows its address, as much as the plan says. They are the call's
    /// alone, and stay until the work on the stream is done. The workspace serves the stream.
    unsafe fn run(
        &self,
        stream: &CudaStream,
        call: &Call,
        scratch: u64,
        workspace: WorkspaceArguments,
    ) -> Result<()> {
        let plan = self.plan(call.len);
        if call.len == 0 {
            return Ok(());
        }
        let scratch = plan.scratch(scratch, self.places_only);
        let keys_out = if self.places_only {
            scratch.keys[1]
        } else {
            call.keys.1
        };
        let arguments = SortArguments {
            keys: call.keys.0,
            keys_out,
            keys_room: scratch.keys[0],
            values: call.values.0,
            values_out: call.values.1,
            values_room: scratch.values,
            length: call.len as u64,
            bins: scratch.bins,
            varying: scratch.varying,
            status: scratch.status,
            workspace,
            order: call.order,
            pass: 0,
            passes: call.digits,
            places_only: self.places_only.into(),
        };
        let (kernels, passes) = match plan.is_short() {
            true => (&self.short, plan.stages()),
            false => (
                &self.long[usize::from(plan.status_bits() == 64)],
                call.digits,
            ),
        };
        let kernels = kernels.get(&self.context)?;
        let way = SortWay {
            digits: call.digits,
            in_place: call.keys.0 == keys_out,
            places_only: self.places_only,
        };
        for step in plan.launches(way, kernels.multiprocessors()) {
            let grid = Grid::of(step.blocks, call.len)?;
            let pass = step.pass;
            let given = SortArguments {
                pass,
                passes,
                ..arguments
            };
            // SAFETY: the caller's; the arguments are what the kernels are written for.
            unsafe { launch(kernels, stream, step.function, grid, given) }?;
        }
        Ok(())
    }

    /// With scratch memory of its own.
    ///
    /// # Safety
    ///
    /// As for [`run`](Sorter::run). What is read and written is freed on this GPU's stream.
    unsafe fn run_on(&self, gpu: &Gpu, call: &Call) -> Result<()> {
        let bytes = self.plan(call.len).scratch(0, self.places_only).end as usize;
        // The workspace is kept, and this is not.
        let scratch = gpu.allocate::<u8>(bytes)?;
        gpu.with_workspace(HEADER_BYTES, |stream, workspace| {
            let workspace = workspace.arguments(stream, HEADER_BYTES)?;
            // SAFETY: the caller's; the stream keeps calls and frees in order. Memory of its own
            // starts at a multiple of 256.
            unsafe { self.run(stream, call, scratch.address(), workspace) }
        })
    }
}

/// Sorts keys from one address to another, or in place.
///
/// # Safety
///
/// So many keys lie at the first address, in this GPU's memory, and there is room for them at the
/// second one. Both are borrowed, and freed on this GPU's stream.
pub(super) unsafe fn sort<K: Sortable>(
    gpu: &Gpu,
    order: Order,
    (keys, keys_out): (u64, u64),
    len: usize,
) -> Result<()> {
    let sorter = Sorter::lazily(gpu.stream().context(), SortShape::of_keys::<K>(), false)?;
    let call = Call::of_keys::<K>(order, keys, keys_out, len);
    // SAFETY: the caller's.
    unsafe { sorter.run_on(gpu, &call) }
}

/// Sorts keys in place, and values with them. Values of more than 16 bytes move once.
pub(super) fn sort_buffers<K: Sortable, V: Element>(
    gpu: &Gpu,
    order: Order,
    keys: &mut Buffer<K>,
    values: &mut Buffer<V>,
) -> Result<()> {
    let (address, len) = (keys.address_mut(), keys.len());
    if const { size_of::<V>() <= MOST_VALUE } {
        let shape = SortShape::of_pairs::<K, V>();
        let sorter = Sorter::lazily(gpu.stream().context(), shape, false)?;
        let to = values.address_mut();
        let call = Call {
            values: (to, to),
            ..Call::of_keys::<K>(order, address, address, len)
        };
        // SAFETY: the buffers are on this GPU, borrowed for writing, and of one length.
        return unsafe { sorter.run_on(gpu, &call) };
    }
    let device = keys.device().clone();
    let places = device.argsort(&*keys, order)?;
    let sorted = gathered(gpu, keys, &places)?;
    values.replace(gathered(gpu, values, &places)?)?;
    keys.replace(sorted)
}

/// The elements of a buffer by their places, in a new one.
fn gathered<V: Element>(gpu: &Gpu, values: &Buffer<V>, places: &Buffer<u64>) -> Result<Buffer<V>> {
    let len = places.len();
    let mut moved = Buffer::<V>::reserve(values.device(), len)?;
    if len > 0 {
        let (stream, arguments) = (
            gpu.stream(),
            GatherArguments {
                values: values.address(),
                places: places.address(),
                out: moved.address_mut(),
                length: len as u64,
            },
        );
        let kernels = Loaded::get(&kernel::gather::<V>(), stream.context())?;
        let most = 8 * kernels.multiprocessors();
        let grid = Grid::new(len.div_ceil(256).min(most as usize) as u32, 256, 0);
        // SAFETY: places are below the number of values, and there is room for as many. All is on
        // this GPU, and freed on its stream.
        unsafe { launch(&kernels, stream, &kernel::GATHER, grid, arguments)? };
    }
    // SAFETY: all of them are written.
    unsafe { moved.set_len(len) };
    Ok(moved)
}

/// Finds the places of keys in sorted order.
///
/// # Safety
///
/// As for [`sort`]; there is room for as many places.
pub(super) unsafe fn argsort<K: Sortable>(
    gpu: &Gpu,
    order: Order,
    (keys, places): (u64, u64),
    len: usize,
) -> Result<()> {
    let sort = gpu.kernels(ArgSort::<K>::load_lazily)?;
    let call = Call::of_places::<K>(order, keys, places, len);
    // SAFETY: the caller's.
    unsafe { sort.sorter(len).run_on(gpu, &call) }
}
