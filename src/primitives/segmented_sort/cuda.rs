//! Segmented sort for callers that bring their own stream, slices and workspace.

use super::kernel::{self, SegmentedSortArguments, SegmentedSortShape};
use crate::cuda::checks::check_streams;
use crate::cuda::kernels::Lazy;
use crate::cuda::launch::{Grid, blocks, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder, Workspace};
use crate::engine::HEADER_BYTES;
use crate::primitives::segmented::{Cut, OffsetsOf, Segments};
use crate::primitives::sort::cuda::SortPairs;
use crate::primitives::sort::{Order, Sortable};
use crate::render::{Function, Named, WorkspaceArguments};
use crate::{Error, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice};
use std::marker::PhantomData;
use std::sync::Arc;

/// Sorts each segment of keys of type `K` on a GPU's stream. `C` says how segments are given:
/// [`OffsetsOf`] for offsets of a type, or [`Rows`](crate::Rows). Cheap to clone.
///
/// ```no_run
/// use warpfold::{Order, Rows, cuda::{SegmentedSort, Workspace, cudarc::driver::CudaContext}};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let mut matrix = stream.clone_htod(&[3.0_f32, 1.0, 2.0, 9.0, 7.0, 8.0])?;
/// let sort = SegmentedSort::<f32, Rows>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, sort.workspace_bytes(matrix.len()))?;
/// let (rows, order) = (Rows::new(2, 3), Order::ascending());
/// sort.enqueue_in_place(&stream, order, &mut matrix, rows, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&matrix)?, [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Launches
///
/// Two sort short segments. If there are more items than a block sorts, three more and those of two
/// [`SortPairs`] sort long ones, as many as there are: the host need not know. Those end at once if
/// there are none.
///
/// # The workspace
///
/// As for [`Scan`](crate::cuda::Scan); they can share one. If there are more items than a block
/// sorts, it has room for all keys, 20 bytes for each, and what [`SortPairs`] needs for keys with
/// values of 8 bytes.
#[derive(Debug)]
pub struct SegmentedSort<K: Sortable, C: Cut = OffsetsOf<u64>> {
    context: Arc<CudaContext>,
    kernels: Lazy,
    by_key: SortPairs<K, u64>,
    by_number: SortPairs<u32, u64>,
    types: Named<(K, C)>,
}

impl<K: Sortable, C: Cut> Clone for SegmentedSort<K, C> {
    fn clone(&self) -> Self {
        SegmentedSort {
            context: self.context.clone(),
            kernels: self.kernels.clone(),
            by_key: self.by_key.clone(),
            by_number: self.by_number.clone(),
            types: PhantomData,
        }
    }
}

/// What a call sorts.
pub(super) struct Call<G> {
    pub(super) segments: G,
    pub(super) count: usize,
    pub(super) keys: u64,
    /// Where places go, or 0.
    pub(super) places: u64,
    pub(super) len: usize,
    pub(super) order: Order,
}

type Kernel<K, C> = kernel::SegmentedSort<K, C>;

impl<K: Sortable, C: Cut> SegmentedSort<K, C> {
    /// Loads the kernels, but not those of the sorts for long segments: the first call that may
    /// have some does.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        let sort = SegmentedSort::load_lazily(context)?;
        sort.kernels.get(context)?;
        Ok(sort)
    }

    fn load_lazily(context: &Arc<CudaContext>) -> Result<Self> {
        require_driver()?;
        Ok(SegmentedSort {
            context: context.clone(),
            kernels: Lazy::new(Kernel::<K, C>::kernel(Self::shape())),
            by_key: SortPairs::load_lazily(context)?,
            by_number: SortPairs::load_lazily(context)?,
            types: PhantomData,
        })
    }

    fn shape() -> SegmentedSortShape {
        Kernel::<K, C>::shape()
    }

    /// The bytes of a [`Workspace`] that `len` items need, whatever the segments.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        let shape = Self::shape();
        let sorts = match shape.has_long(len) {
            true => self
                .by_key
                .scratch_bytes(len)
                .max(self.by_number.scratch_bytes(len)),
            false => 0,
        };
        shape.workspace_bytes(len) + 256 + sorts
    }

    /// Enqueues the sorting of each segment of `data`.
    ///
    /// # Errors
    ///
    /// [`Error::Segments`] if the segments are known to pass the end of the data,
    /// [`Error::Workspace`] if `workspace` is too small, [`Error::WorkspaceStream`] if it serves
    /// another stream, [`Error::WrongDevice`] if something belongs to another context,
    /// [`Error::Items`] if there are more than 2^35 items, [`Error::Driver`] if a launch fails.
    pub fn enqueue_in_place(
        &self,
        stream: &CudaStream,
        order: Order,
        data: &mut (impl DevicePtr<K> + DevicePtrMut<K>),
        segments: impl Segments<CudaStream, Cut = C>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let len = DeviceSlice::len(data);
        let mut binder = StreamBinder::new(stream, &self.context);
        let (count, bound) = (segments.count(), segments.bind(&mut binder, len)?);
        let written = [("data", &**DeviceSlice::stream(data))];
        check_streams(&self.context, stream, &written)?;
        let workspace = workspace.arguments(stream, self.workspace_bytes(len))?;
        let (keys, _writing) = data.device_ptr_mut(stream);
        let call = Call {
            segments: bound,
            count,
            keys,
            places: 0,
            len,
            order,
        };
        let scratch = workspace.address + HEADER_BYTES as u64;
        // SAFETY: all was checked, and is borrowed until the launches are enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe { self.run(stream, call, scratch, workspace) }
    }

    /// Enqueues the sorting of each segment of `data`, and where the items stood in their segments
    /// into `places`; see [`segmented_argsort`](crate::segmented_argsort).
    ///
    /// # Errors
    ///
    /// As [`enqueue_in_place`](SegmentedSort::enqueue_in_place), and [`Error::Length`] if there is
    /// not as much room for places as there are items.
    pub fn enqueue_with_places(
        &self,
        stream: &CudaStream,
        order: Order,
        data: &mut (impl DevicePtr<K> + DevicePtrMut<K>),
        segments: impl Segments<CudaStream, Cut = C>,
        places: &mut impl DevicePtrMut<u64>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let len = DeviceSlice::len(data);
        Error::check_length(len, places.len())?;
        let mut binder = StreamBinder::new(stream, &self.context);
        let (count, bound) = (segments.count(), segments.bind(&mut binder, len)?);
        let written = [
            ("data", &**DeviceSlice::stream(data)),
            ("places", &**places.stream()),
        ];
        check_streams(&self.context, stream, &written)?;
        let workspace = workspace.arguments(stream, self.workspace_bytes(len))?;
        let (keys, _writing) = data.device_ptr_mut(stream);
        let (places, _writing_places) = places.device_ptr_mut(stream);
        let call = Call {
            segments: bound,
            count,
            keys,
            places,
            len,
            order,
        };
        let scratch = workspace.address + HEADER_BYTES as u64;
        // SAFETY: as in `enqueue_in_place`.
        unsafe { self.run(stream, call, scratch, workspace) }
    }

    /// Enqueues the launches.
    ///
    /// # Safety
    ///
    /// The addresses are of the kernels' context, with as many items as the call says; scratch
    /// memory follows its address, as much as `workspace_bytes` says. All of it stays until the
    /// work on the stream is done. The workspace serves the stream.
    unsafe fn run(
        &self,
        stream: &CudaStream,
        call: Call<C::Arguments>,
        scratch: u64,
        workspace: WorkspaceArguments,
    ) -> Result<()> {
        let (len, most) = (call.len, MOST_ITEMS);
        if len as u64 > most {
            return Err(Error::Items { items: len, most });
        }
        if len == 0 {
            return Ok(());
        }
        let kernels = self.kernels.get(&self.context)?;
        let shape = Self::shape();
        let kept = shape.scratch(scratch, len);
        let arguments = SegmentedSortArguments {
            segments: call.segments,
            keys: call.keys,
            places: call.places,
            length: len as u64,
            counter: kept.counter,
            limit: kept.limit,
            list: kept.list,
            capacity: shape.most_long(len) as u64,
            gathered: kept.gathered,
            tags: kept.tags,
            numbers: kept.numbers,
            which: kept.which,
            order: call.order.code(K::KIND).into(),
        };
        let run = |function: &Function<SegmentedSortArguments<C::Arguments>>, grid| {
            // SAFETY: the caller's.
            unsafe { launch(kernels, stream, function, grid, arguments) }
        };
        let most = 8 * u64::from(kernels.multiprocessors());
        let shared_out = Grid::new((len as u64).div_ceil(256).min(most) as u32, 256, 0);
        run(&Kernel::<K, C>::BEGIN, shared_out)?;
        if call.count == 0 {
            return Ok(());
        }
        let tiles = blocks(shape.tiles(len), len as u64)?;
        let tiles = Grid::new(tiles, shape.tile.threads(), shape.shared_bytes());
        run(&Kernel::<K, C>::TILES, tiles)?;
        if !shape.has_long(len) {
            return Ok(());
        }
        run(&Kernel::<K, C>::GATHER, shared_out)?;
        let (limit, scratch) = (Some(kept.limit), kept.end.next_multiple_of(256));
        let gathered = (kept.gathered, kept.tags, len);
        // SAFETY: the caller's; what is sorted is the call's own.
        unsafe {
            self.by_key
                .run_in_place(stream, call.order, gathered, limit, scratch, workspace)?;
        }
        run(&Kernel::<K, C>::NUMBER, shared_out)?;
        let (numbered, ascending) = ((kept.numbers, kept.which, len), Order::ascending());
        // SAFETY: as above.
        unsafe {
            self.by_number
                .run_in_place(stream, ascending, numbered, limit, scratch, workspace)?;
        }
        run(&Kernel::<K, C>::SCATTER, shared_out)
    }
}

/// The most items of a call: numbers of long segments have 24 bits.
const MOST_ITEMS: u64 = 1 << 35;

/// Sorts each segment on a GPU's stream.
///
/// # Safety
///
/// The addresses are in this GPU's memory, with as many items as the call says, and stay borrowed.
pub(super) unsafe fn sort_on<K: Sortable, C: Cut>(
    gpu: &Gpu,
    call: Call<C::Arguments>,
) -> Result<()> {
    let sort = gpu.kernels(SegmentedSort::<K, C>::load_lazily)?;
    // The workspace is kept, and this is not.
    let scratch = gpu.allocate::<u8>(sort.workspace_bytes(call.len))?;
    gpu.with_workspace(HEADER_BYTES, |stream, workspace| {
        let workspace = workspace.arguments(stream, HEADER_BYTES)?;
        // SAFETY: the caller's; the stream keeps calls and frees in order.
        unsafe { sort.run(stream, call, scratch.address(), workspace) }
    })
}
