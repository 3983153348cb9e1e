//! Merge and merge sort for callers that bring their own stream, slices and workspace.

use super::kernel::{self, MergeArguments, MergeShape};
use super::launches::sort_bytes;
use crate::cuda::checks::{check_call, check_streams};
use crate::cuda::kernels::{Loaded, clone_by_fields};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, Workspace, check_context};
use crate::element::assert_element_size;
use crate::engine::{Explanation, HEADER_BYTES};
use crate::primitives::sort::{Order, Sortable};
use crate::render::{Function as KernelFunction, Kernel, Named};
use crate::{Buffer, Element, Error, Function, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice};
use std::marker::PhantomData;
use std::sync::Arc;

/// Merges sorted arrays of numbers on a GPU's stream. Cheap to clone.
///
/// ```no_run
/// use warpfold::{Order, cuda::{Merge, cudarc::driver::CudaContext}};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let (a, b) = (stream.clone_htod(&[1.0_f32, 4.0])?, stream.clone_htod(&[2.0_f32])?);
/// let mut merged = stream.alloc_zeros::<f32>(3)?;
/// Merge::<f32>::load(&context)?.enqueue(&stream, Order::ascending(), &a, &b, &mut merged)?;
/// assert_eq!(stream.clone_dtoh(&merged)?, [1.0, 2.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// One launch, and no workspace. [`merge`](crate::merge()) says what comes out.
#[derive(Debug, Clone)]
pub struct Merge<K: Sortable> {
    kernels: Arc<Loaded>,
    key: Named<K>,
}

impl<K: Sortable> Merge<K> {
    const SHAPE: MergeShape = MergeShape::of(size_of::<K>());

    /// Loads the kernel. That takes under 1 µs if this process has it already, some 1 ms from the
    /// disk cache, and 0.2 to 0.5 s if it must be compiled.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        require_driver()?;
        Ok(Merge {
            kernels: Loaded::get(&kernel::merge::<K>(Self::SHAPE), context)?,
            key: PhantomData,
        })
    }

    /// What a call for two arrays of `len` items together does.
    ///
    /// # Errors
    ///
    /// Those of a call with so many items.
    pub fn explain(&self, len: usize) -> Result<Explanation> {
        Self::SHAPE.explain_merge(len)
    }

    /// Enqueues the merge of two arrays, which are sorted by the order, into `output`, which has
    /// room for both and no more.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if `output` has not the length of both together, [`Error::WrongDevice`] if
    /// something belongs to another context, [`Error::Driver`] if the launch fails.
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        order: Order,
        first: &impl DevicePtr<K>,
        second: &impl DevicePtr<K>,
        output: &mut impl DevicePtrMut<K>,
    ) -> Result<()> {
        let context = self.kernels.context();
        check_streams(context, stream, &[("output", &**output.stream())])?;
        check_context(context, "first", first.stream().context())?;
        check_context(context, "second", second.stream().context())?;
        let (len, other) = (first.len(), second.len());
        Error::check_length(len.saturating_add(other), output.len())?;
        let (first, _first) = first.device_ptr(stream);
        let (second, _second) = second.device_ptr(stream);
        let (out, _output) = output.device_ptr_mut(stream);
        let call = Call {
            first: (first, len),
            second: (second, other),
            out,
        };
        // SAFETY: all was checked, and is borrowed until the launch is enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe { call.run(&self.kernels, stream, Self::SHAPE, order.code(K::KIND)) }
    }
}

/// Sorts items of type `T` by a comparison, on a GPU's stream. Cheap to clone.
///
/// ```no_run
/// use warpfold::{cuda::{SortBy, Workspace, cudarc::driver::CudaContext}, function};
///
/// #[function]
/// fn nearer(a: f32, b: f32) -> bool {
///     a.abs() < b.abs()
/// }
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let mut data = stream.clone_htod(&[-3.0_f32, 1.0, -2.0])?;
/// let sort = SortBy::<f32, nearer>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, sort.workspace_bytes(data.len()))?;
/// sort.enqueue_in_place(&stream, &mut data, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&data)?, [1.0, -2.0, -3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// One launch sorts tiles of some hundreds or thousands of items, and one more each time that
/// sorted runs double. [`sort_by`](crate::sort_by) says which functions are comparisons.
///
/// # The workspace
///
/// As for [`Scan`](crate::cuda::Scan); they can share one. But here it also holds room for all
/// items.
#[derive(Debug)]
pub struct SortBy<T: Element, Less> {
    kernels: Arc<Loaded>,
    types: Named<(T, Less)>,
}

clone_by_fields! {
    [T: Element, Less]
    SortBy<T, Less> { kernels, types }
}

impl<T, Less> SortBy<T, Less>
where
    T: Element,
    Less: Function<Input = (T, T), Output = bool>,
{
    const SHAPE: MergeShape = MergeShape::of(size_of::<T>());

    /// Loads the kernels, as [`Merge::load`] does.
    ///
    /// # Errors
    ///
    /// As [`Merge::load`], and [`Error::Compile`] if a function's CUDA text is wrong.
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        const { assert_element_size::<T>() };
        require_driver()?;
        Ok(SortBy {
            kernels: Loaded::get(&kernel::sort_by::<T, Less>(Self::SHAPE), context)?,
            types: PhantomData,
        })
    }

    /// The bytes of a [`Workspace`] that a call with `len` items needs.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        sort_bytes(size_of::<T>(), len)
    }

    /// What a call for `len` items does: launches, workspace, and what they depend on.
    ///
    /// # Errors
    ///
    /// Those of a call with so many items.
    pub fn explain(&self, len: usize) -> Result<Explanation> {
        Self::SHAPE.explain_sort(len, self.workspace_bytes(len))
    }

    /// Enqueues the sorting of `data`.
    ///
    /// # Errors
    ///
    /// [`Error::Workspace`] if `workspace` is too small, [`Error::WorkspaceStream`] if it serves
    /// another stream, [`Error::WrongDevice`] if something belongs to another context,
    /// [`Error::Driver`] if a launch fails.
    pub fn enqueue_in_place(
        &self,
        stream: &CudaStream,
        data: &mut (impl DevicePtr<T> + DevicePtrMut<T>),
        workspace: &mut Workspace,
    ) -> Result<()> {
        let len = DeviceSlice::len(data);
        let written = [("data", &**DeviceSlice::stream(data))];
        let bytes = self.workspace_bytes(len);
        let room = check_call(self.kernels.context(), stream, &written, workspace, bytes)?;
        let room = (room.address + HEADER_BYTES as u64).next_multiple_of(256);
        let (address, _writing) = data.device_ptr_mut(stream);
        // SAFETY: as in `Merge::enqueue`; the workspace has room for all items behind its header.
        unsafe { self.run(stream, address, room, len) }
    }

    /// Enqueues the launches: tiles are sorted to where the last merge ends at the data.
    ///
    /// # Safety
    ///
    /// There are so many items at the first address, in the kernels' context, and there is room for
    /// them at the second. They are the call's alone, and stay until the work on the stream is
    /// done.
    unsafe fn run(&self, stream: &CudaStream, data: u64, room: u64, len: usize) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let shape = Self::SHAPE;
        let passes = shape.passes(len);
        let (mut from, mut to) = match passes % 2 {
            0 => (data, room),
            _ => (room, data),
        };
        let mut arguments = MergeArguments {
            first: data,
            second: 0,
            out: from,
            first_length: 0,
            length: len as u64,
            run: shape.tile() as u64,
            order: 0,
            unused: 0,
        };
        for (pass, (name, blocks)) in shape.sort_launches(len).enumerate() {
            if pass > 0 {
                (arguments.first, arguments.out) = (from, to);
                std::mem::swap(&mut from, &mut to);
            }
            let (grid, function) = (Grid::of(blocks, len)?, KernelFunction::new(name));
            // SAFETY: the caller's; each block reads its tile before it writes it.
            unsafe { launch(&self.kernels, stream, &function, grid, arguments) }?;
            if pass > 0 {
                arguments.run *= 2;
            }
        }
        Ok(())
    }
}

/// Sorts a buffer by a comparison.
pub(super) fn sort_buffer<T, Less>(gpu: &Gpu, data: &mut Buffer<T>) -> Result<()>
where
    T: Element,
    Less: Function<Input = (T, T), Output = bool>,
{
    let sort = gpu.kernels(SortBy::<T, Less>::load)?;
    let room = gpu.allocate::<T>(data.len())?;
    // SAFETY: the buffer and the room are on this GPU, and freed on its stream.
    unsafe { sort.run(gpu.stream(), data.address_mut(), room.address(), data.len()) }
}

/// What a merge reads and writes: addresses, and lengths.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) first: (u64, usize),
    pub(super) second: (u64, usize),
    pub(super) out: u64,
}

impl Call {
    /// # Safety
    ///
    /// So many items lie at the addresses, in the kernels' context, and there is room for both at
    /// the third one. They stay until the work on the stream is done.
    unsafe fn run(
        self,
        kernels: &Loaded,
        stream: &CudaStream,
        shape: MergeShape,
        order: u32,
    ) -> Result<()> {
        let len = self.first.1 + self.second.1;
        let Some((name, blocks)) = shape.merge_launch(len) else {
            return Ok(());
        };
        let (grid, function) = (Grid::of(blocks, len)?, KernelFunction::new(name));
        let arguments = MergeArguments {
            first: self.first.0,
            second: self.second.0,
            out: self.out,
            first_length: self.first.1 as u64,
            length: self.second.1 as u64,
            run: 0,
            order,
            unused: 0,
        };
        // SAFETY: the caller's.
        unsafe { launch(kernels, stream, &function, grid, arguments) }
    }
}

/// Merges arrays of items of so many bytes.
///
/// # Safety
///
/// As for [`Call::run`], for this GPU's stream. The kernel is one for such items.
pub(super) unsafe fn merge(
    gpu: &Gpu,
    kernel: fn(MergeShape) -> Kernel,
    item_bytes: usize,
    order: u32,
    call: Call,
) -> Result<()> {
    let shape = MergeShape::of(item_bytes);
    let kernels = Loaded::get(&kernel(shape), gpu.stream().context())?;
    // SAFETY: the caller's.
    unsafe { call.run(&kernels, gpu.stream(), shape, order) }
}
