//! Segmented sort for callers that bring their own stream, slices and workspace.

use super::kernel::{self, SegmentedSortArguments};
use crate::cuda::checks::check_streams;
use crate::cuda::kernels::{Lazy, clone_by_fields, context_multiprocessors};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder, Workspace};
use crate::engine::{Explanation, HEADER_BYTES};
use crate::primitives::segmented::{Cut, OffsetsOf, Segments};
use crate::primitives::sort::{Order, Sortable};
use crate::render::{Function, Named};
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
/// One sorts what segments have in tiles of some thousands of items. Each time that the tiles
/// double until there is one, one more merges those that a segment crosses. The host need not know
/// the segments. Launches that find nothing to merge end at once.
///
/// # The workspace
///
/// As for [`Scan`](crate::cuda::Scan); they can share one. If there are more items than a tile has,
/// it has room for all keys, and 8 bytes for each; 16 if there are 2^32 items and more.
#[derive(Debug)]
pub struct SegmentedSort<K: Sortable, C: Cut = OffsetsOf<u64>> {
    context: Arc<CudaContext>,
    /// Those for up to 2^32 items, and for more.
    kernels: [Lazy; 2],
    types: Named<(K, C)>,
}

clone_by_fields! {
    [K: Sortable, C: Cut]
    SegmentedSort<K, C> { context, kernels, types }
}

/// What a call sorts.
pub(super) struct Call<G> {
    pub(super) segments: G,
    pub(super) keys: u64,
    /// Where places go, or 0.
    pub(super) places: u64,
    pub(super) len: usize,
    pub(super) order: Order,
}

type Kernel<K, C> = kernel::SegmentedSort<K, C>;

impl<K: Sortable, C: Cut> SegmentedSort<K, C> {
    /// Loads the kernels, but not those for 2^32 items and more: the first call that has so many
    /// does.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        let sort = SegmentedSort::load_lazily(context)?;
        sort.kernels[0].get(context)?;
        Ok(sort)
    }

    fn load_lazily(context: &Arc<CudaContext>) -> Result<Self> {
        require_driver()?;
        let lazily = |len| Lazy::new(Kernel::<K, C>::kernel(Kernel::<K, C>::shape(len)));
        Ok(SegmentedSort {
            context: context.clone(),
            kernels: [lazily(0), lazily(usize::MAX)],
            types: PhantomData,
        })
    }

    /// The bytes of a [`Workspace`] that `len` items need, whatever the segments.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        Kernel::<K, C>::shape(len).workspace_bytes(len)
    }

    /// What a call of [`enqueue_in_place`](SegmentedSort::enqueue_in_place) for `len` items does,
    /// whatever the segments: launches, workspace, and what they depend on.
    ///
    /// # Errors
    ///
    /// Those of a call with so many items; [`Error::Driver`].
    pub fn explain(&self, len: usize) -> Result<Explanation> {
        let multiprocessors = context_multiprocessors(&self.context)?;
        Kernel::<K, C>::shape(len).explain(len, false, multiprocessors)
    }

    /// What a call of [`enqueue_with_places`](SegmentedSort::enqueue_with_places) for `len` items
    /// does.
    ///
    /// # Errors
    ///
    /// As [`explain`](SegmentedSort::explain).
    pub fn explain_with_places(&self, len: usize) -> Result<Explanation> {
        let multiprocessors = context_multiprocessors(&self.context)?;
        Kernel::<K, C>::shape(len).explain(len, true, multiprocessors)
    }

    /// Enqueues the sorting of each segment of `data`.
    ///
    /// # Errors
    ///
    /// [`Error::Segments`] if the segments are known to pass the end of the data,
    /// [`Error::Workspace`] if `workspace` is too small, [`Error::WorkspaceStream`] if it serves
    /// another stream, [`Error::WrongDevice`] if something belongs to another context,
    /// [`Error::Driver`] if a launch fails.
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
        let segments = segments.bind(&mut binder, len)?;
        let written = [("data", &**DeviceSlice::stream(data))];
        check_streams(&self.context, stream, &written)?;
        let workspace = workspace.arguments(stream, self.workspace_bytes(len))?;
        let (keys, _writing) = data.device_ptr_mut(stream);
        let call = Call {
            segments,
            keys,
            places: 0,
            len,
            order,
        };
        let scratch = workspace.address + HEADER_BYTES as u64;
        // SAFETY: all was checked, and is borrowed until the launches are enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe { self.run(stream, call, scratch) }
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
        let segments = segments.bind(&mut binder, len)?;
        let written = [
            ("data", &**DeviceSlice::stream(data)),
            ("places", &**places.stream()),
        ];
        check_streams(&self.context, stream, &written)?;
        let workspace = workspace.arguments(stream, self.workspace_bytes(len))?;
        let (keys, _writing) = data.device_ptr_mut(stream);
        let (places, _writing_places) = places.device_ptr_mut(stream);
        let call = Call {
            segments,
            keys,
            places,
            len,
            order,
        };
        let scratch = workspace.address + HEADER_BYTES as u64;
        // SAFETY: as in `enqueue_in_place`.
        unsafe { self.run(stream, call, scratch) }
    }

    /// Enqueues the launches.
    ///
    /// # Safety
    ///
    /// The addresses are of the kernels' context, with as many items as the call says; scratch
    /// memory follows its address, as much as the shape's `scratch` says. All of it is the call's
    /// alone, and stays until the work on the stream is done.
    unsafe fn run(
        &self,
        stream: &CudaStream,
        call: Call<C::Arguments>,
        scratch: u64,
    ) -> Result<()> {
        let len = call.len;
        if len == 0 {
            return Ok(());
        }
        let shape = Kernel::<K, C>::shape(len);
        let kernels = self.kernels[usize::from(shape.place_bytes > 4)].get(&self.context)?;
        let with_places = call.places != 0;
        let kept = shape.scratch(scratch, len, with_places);
        let mut arguments = SegmentedSortArguments {
            segments: call.segments,
            keys: call.keys,
            room: kept.room,
            places: call.places,
            place_rooms: kept.place_rooms,
            crossings: kept.crossings,
            length: len as u64,
            order: call.order.code(K::KIND),
            level: 0,
        };
        let launches = shape.launches(len, with_places, kernels.multiprocessors());
        for (number, (name, blocks)) in launches.enumerate() {
            // The first one sorts tiles, and reads no level.
            arguments.level = number.saturating_sub(1) as u32;
            let (grid, function) = (Grid::of(blocks, len)?, Function::new(name));
            // SAFETY: the caller's.
            unsafe { launch(kernels, stream, &function, grid, arguments) }?;
        }
        Ok(())
    }
}

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
    let shape = Kernel::<K, C>::shape(call.len);
    let scratch = gpu.allocate::<u8>(shape.scratch(0, call.len, call.places != 0).end as usize)?;
    // SAFETY: the caller's; the stream keeps calls and frees in order.
    unsafe { sort.run(gpu.stream(), call, scratch.address()) }
}
