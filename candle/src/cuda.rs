//! The operations on a GPU: warpfold's third level, on candle's stream and in candle's memory.
//!
//! Nothing here waits for the GPU but [`Gpu::host_count`], which asks for the length of a result.

use crate::dtype::{Number, Stored, fault};
use crate::functions::{
    careful_mean, chosen_variance, coordinate, flat, narrowed, next, one_if, quotient, rounded,
    row_of_packed, row_of_place, widened,
};
use crate::reduce::Measure;
use crate::segments::Fold;
use crate::steps::{GREATEST, Steps};
use candle_core::cuda_backend::CudaDevice;
use candle_core::{CudaStorage, DType, Result, Storage, Tensor};
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Display;
use std::ops::Range;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use warpfold::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView};
use warpfold::cuda::{
    AlongAxis, ArgSort, Collect, Expand, Histogram, Positions, Runs, Search, SegmentedReduce,
    SegmentedReduceVectors, SegmentedSort, Select, TopK, Workspace,
};
use warpfold::ops::{Add, Min};
use warpfold::source::{Source, flags};
use warpfold::statistics::{
    Estimate, First, Merge, Moments, Place, QuickMerge, QuickMoments, greatest, greatest_packed,
    least, least_packed, measured, quickly_measured,
};
use warpfold::{
    Axis, Binned, Bins, Candidate, Element, Indices, Integer, Monoid, Offset, Offsets, Order,
    Prefixes, Rows, Segments, SortKey, Sortable, Starts, gather, gather_rows, heads, index, map,
    map_with, zip,
};

pub(crate) use warpfold::cuda::cudarc::driver::DeviceRepr;

/// Numbers on a GPU.
pub(crate) type View<'a, T> = CudaView<'a, T>;

/// Memory of a GPU.
pub(crate) type Slice<T> = CudaSlice<T>;

/// Candle's device, for one operation.
#[derive(Debug)]
pub struct Gpu {
    device: CudaDevice,
    stream: Arc<CudaStream>,
    name: &'static str,
}

type Kernels = HashMap<(TypeId, usize), Arc<dyn Any + Send + Sync>>;

/// What has been loaded, by its type and the context. Kernels keep their context alive, so no other
/// can get its address.
static KERNELS: LazyLock<RwLock<Kernels>> = LazyLock::new(RwLock::default);

thread_local! {
    /// By context and stream. Candle's usual stream is another one in each thread, with one handle.
    static WORKSPACES: RefCell<HashMap<(usize, usize), Workspace>> = RefCell::default();
}

impl Gpu {
    pub(crate) fn of(device: &CudaDevice, name: &'static str) -> Gpu {
        Gpu {
            device: device.clone(),
            stream: device.cuda_stream(),
            name,
        }
    }

    fn context(&self) -> &Arc<CudaContext> {
        self.stream.context()
    }

    fn fault(&self, cause: impl Display) -> candle_core::Error {
        fault(self.name, cause)
    }

    /// The numbers of a range.
    pub(crate) fn view<'a, T>(
        &self,
        slice: &'a CudaSlice<T>,
        range: Range<usize>,
    ) -> Result<View<'a, T>> {
        let len = slice.len();
        slice
            .try_slice(range.clone())
            .ok_or_else(|| self.fault(format!("numbers {range:?} of a storage of {len}")))
    }

    /// The numbers as those of another type of the same size.
    pub(crate) fn cast<'a, T: Element, O: Element>(&self, x: &View<'a, T>) -> Result<View<'a, O>> {
        if size_of::<T>() != size_of::<O>() {
            return Err(self.fault("numbers are taken for those of another size"));
        }
        // SAFETY: elements of one size, of which every bit pattern is a value.
        let cast = unsafe { x.transmute::<O>(x.len()) };
        cast.ok_or_else(|| self.fault("numbers are taken for those of another size"))
    }

    /// Numbers as arrays of them.
    pub(crate) fn arrays<'a, T: Element, A: Element>(
        &self,
        x: &View<'a, T>,
    ) -> Result<View<'a, A>> {
        let len = x.len() * size_of::<T>() / size_of::<A>().max(1);
        // SAFETY: arrays of elements, of which every bit pattern is a value.
        let arrays = unsafe { x.transmute::<A>(len) };
        arrays.ok_or_else(|| self.fault("numbers are no arrays"))
    }

    /// Arrays as their numbers.
    pub(crate) fn numbers<A: Element, T: Element>(&self, arrays: CudaSlice<A>) -> CudaSlice<T> {
        let len = arrays.len() * size_of::<A>() / size_of::<T>();
        // SAFETY: the memory was allocated on this stream, and goes from one owner to the other.
        unsafe { self.stream.upgrade_device_ptr::<T>(arrays.leak(), len) }
    }

    /// The numbers of a contiguous tensor, for `f`.
    fn with<T: Number, R>(
        &self,
        x: &Tensor,
        f: impl FnOnce(&View<'_, T>) -> Result<R>,
    ) -> Result<R> {
        let (storage, layout) = x.storage_and_layout();
        let Storage::Cuda(numbers) = &*storage else {
            return Err(self.fault("the tensors are on different devices"));
        };
        let Some((start, end)) = layout.contiguous_offsets() else {
            return Err(self.fault("a tensor is not contiguous"));
        };
        f(&self.view(numbers.as_cuda_slice::<T>()?, start..end)?)
    }

    /// Memory that is written before it is read.
    fn allocate<T: Element + DeviceRepr>(&self, len: usize) -> Result<CudaSlice<T>> {
        if len == 0 {
            // CUDA allocates no empty memory.
            let empty = warpfold::cuda::allocate::<T>(&self.stream, 0);
            return empty.map_err(|error| self.fault(error));
        }
        // SAFETY: as the comment above says.
        unsafe { self.device.alloc::<T>(len) }
    }

    /// Memory of zeros.
    fn zeros<T: Element>(&self, len: usize) -> Result<CudaSlice<T>> {
        warpfold::cuda::allocate::<T>(&self.stream, len).map_err(|error| self.fault(error))
    }

    /// A result as candle's storage.
    pub(crate) fn store<T: Number>(&self, numbers: CudaSlice<T>) -> CudaStorage {
        T::wrap_cuda_slice(numbers, self.device.clone())
    }

    /// Numbers below 2^63 as candle stores them.
    fn store_signed(&self, numbers: CudaSlice<u64>) -> CudaStorage {
        self.store(self.numbers::<u64, i64>(numbers))
    }

    /// The kernels of a type, which are loaded when they are first asked for.
    fn kernels<K: Any + Send + Sync>(
        &self,
        load: impl FnOnce(&Arc<CudaContext>) -> warpfold::Result<K>,
    ) -> Result<Arc<K>> {
        let key = (TypeId::of::<K>(), self.context().cu_ctx() as usize);
        let known = KERNELS
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
            .cloned();
        let kernels = match known {
            Some(kernels) => kernels,
            None => {
                let loaded: Arc<dyn Any + Send + Sync> =
                    Arc::new(load(self.context()).map_err(|error| self.fault(error))?);
                let mut all = KERNELS.write().unwrap_or_else(PoisonError::into_inner);
                all.entry(key).or_insert(loaded).clone()
            }
        };
        Ok(kernels.downcast::<K>().expect("the key has the type"))
    }

    /// A call with a workspace of so many bytes.
    fn with_workspace(
        &self,
        bytes: usize,
        call: impl FnOnce(&mut Workspace) -> warpfold::Result<()>,
    ) -> Result<()> {
        let key = (
            self.context().cu_ctx() as usize,
            self.stream.cu_stream() as usize,
        );
        let run = || {
            WORKSPACES.with_borrow_mut(|all| {
                let workspace = match all.entry(key) {
                    std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                    std::collections::hash_map::Entry::Vacant(place) => {
                        place.insert(Workspace::new(&self.stream, bytes)?)
                    }
                };
                workspace.grow(bytes)?;
                call(workspace)
            })
        };
        run().map_err(|error| self.fault(error))
    }

    /// A count that the host needs: waits for the GPU.
    fn host_count(&self, count: &CudaSlice<u64>) -> Result<usize> {
        let count = warpfold::cuda::download(&self.stream, count);
        Ok(count.map_err(|error| self.fault(error))?[0] as usize)
    }

    /// The first `len` numbers in memory of their own.
    fn shrunk<T: Element + DeviceRepr>(
        &self,
        numbers: CudaSlice<T>,
        len: usize,
    ) -> Result<CudaSlice<T>> {
        if len == numbers.len() {
            return Ok(numbers);
        }
        let mut copy = self.allocate::<T>(len)?;
        if len > 0 {
            self.device.memcpy_dtod(&numbers.slice(..len), &mut copy)?;
        }
        Ok(copy)
    }

    pub(crate) fn scan<T, Op, S>(
        &self,
        prefixes: Prefixes<T>,
        source: S,
        axis: Axis,
    ) -> Result<CudaSlice<T>>
    where
        T: Element + DeviceRepr,
        Op: Monoid<T>,
        S: Source<CudaStream, Item = T>,
    {
        let mut results = self.allocate::<T>(axis.items())?;
        if axis.items() > 0 {
            let along = self.kernels(AlongAxis::<T, Op, S::Form>::load)?;
            self.with_workspace(along.workspace_bytes(axis), |workspace| {
                along.enqueue_scan(
                    &self.stream,
                    prefixes,
                    source,
                    axis,
                    &mut results,
                    workspace,
                )
            })?;
        }
        Ok(results)
    }

    pub(crate) fn reduce<T, Op, S>(&self, source: S, axis: Axis) -> Result<CudaSlice<T>>
    where
        T: Element + DeviceRepr,
        Op: Monoid<T>,
        S: Source<CudaStream, Item = T>,
    {
        let mut results = self.allocate::<T>(axis.lanes())?;
        if axis.lanes() > 0 {
            let along = self.kernels(AlongAxis::<T, Op, S::Form>::load)?;
            self.with_workspace(along.workspace_bytes(axis), |workspace| {
                along.enqueue_reduce(&self.stream, source, axis, &mut results, workspace)
            })?;
        }
        Ok(results)
    }

    /// The items of a source.
    fn collect<T, S>(&self, source: S) -> Result<CudaSlice<T>>
    where
        T: Element + DeviceRepr,
        S: Source<CudaStream, Item = T>,
    {
        let len = source.items().map_err(|error| self.fault(error))?;
        let mut items = self.allocate::<T>(len)?;
        if len > 0 {
            let collect = self.kernels(Collect::<S::Form>::load)?;
            let call = collect.enqueue(&self.stream, source, &mut items);
            call.map_err(|error| self.fault(error))?;
        }
        Ok(items)
    }

    pub(crate) fn measures<T: Number>(
        &self,
        x: &View<'_, T>,
        axis: Axis,
        measure: Measure,
    ) -> Result<[CudaStorage; 1]> {
        let len = axis.lane_len() as f64;
        let measures = match measure {
            Measure::Mean if T::DTYPE != DType::F64 => {
                let sums = self.reduce::<f64, Add, _>(map::<T::AsF64, _>(x), axis)?;
                self.collect(map_with::<quotient, _, _>(&sums, len))?
            }
            Measure::Mean => {
                let careful = self.reduce::<Moments, Merge, _>(measured::<T, _>(x), axis)?;
                // SAFETY: these are six `f64`s in a row.
                let careful = unsafe { careful.transmute::<[f64; 6]>(axis.lanes()) };
                self.collect(map::<careful_mean, _>(&careful.expect("of one size")))?
            }
            Measure::Variance(estimate) => {
                let quick = quickly_measured::<T, _>(x);
                let quick = self.reduce::<QuickMoments, QuickMerge, _>(quick, axis)?;
                let careful = self.reduce::<Moments, Merge, _>(measured::<T, _>(x), axis)?;
                // SAFETY: these are three, and six, `f64`s in a row.
                let both = unsafe {
                    let quick = quick.transmute::<[f64; 3]>(axis.lanes());
                    (
                        quick.expect("of one size"),
                        careful.transmute::<[f64; 6]>(axis.lanes()),
                    )
                };
                let both = zip(&both.0, both.1.as_ref().expect("of one size"));
                let divisor = match estimate {
                    Estimate::Population => len,
                    Estimate::Sample => len - 1.0,
                };
                self.collect(map_with::<chosen_variance, _, _>(both, divisor))?
            }
        };
        Ok([match crate::reduce::in_f64(T::DTYPE) {
            true => self.store(measures),
            false => self.store(self.collect(map::<rounded, _>(&measures))?),
        }])
    }

    /// Where extremes stand along lanes whose items are `strides` apart.
    pub(crate) fn places<T: Number>(
        &self,
        x: &View<'_, T>,
        (axis, strides): (Axis, [u64; 2]),
        top: bool,
    ) -> Result<[CudaStorage; 1]> {
        let len = x.len();
        let packed = match top {
            true => greatest_packed::<T, _>(x, len).map(|x| self.reduce::<u64, Min, _>(x, axis)),
            false => least_packed::<T, _>(x, len).map(|x| self.reduce::<u64, Min, _>(x, axis)),
        };
        let places = match packed {
            Some(packed) => self.collect(map_with::<row_of_packed, _, _>(&packed?, strides))?,
            None => {
                let places = match top {
                    true => self.reduce::<Place, First, _>(greatest::<T, _>(x, len), axis)?,
                    false => self.reduce::<Place, First, _>(least::<T, _>(x, len), axis)?,
                };
                // SAFETY: a place is a rank of two halves, and a position behind it.
                let places = unsafe { places.transmute::<[u64; 2]>(axis.lanes()) };
                let places = places.expect("of one size");
                self.collect(map_with::<row_of_place, _, _>(&places, strides))?
            }
        };
        Ok([self.store(places)])
    }

    pub(crate) fn argsort<T: Number>(
        &self,
        x: &View<'_, T>,
        rows: (usize, usize),
        order: Order,
    ) -> Result<[CudaStorage; 1]> {
        let mut places = self.allocate::<u64>(x.len())?;
        if !x.is_empty() && rows.0 == 1 {
            self.argsort_into(x, order, &mut places)?;
        } else if !x.is_empty() {
            let mut sorted = self.allocate::<T>(x.len())?;
            self.device.memcpy_dtod(x, &mut sorted)?;
            let sort = self.kernels(SegmentedSort::<T, Rows>::load)?;
            let rows = Rows::new(rows.0, rows.1);
            self.with_workspace(sort.workspace_bytes(x.len()), |workspace| {
                let (stream, places) = (&self.stream, &mut places);
                sort.enqueue_with_places(stream, order, &mut sorted, rows, places, workspace)
            })?;
        }
        Ok([self.store(self.collect(map::<narrowed, _>(&places))?)])
    }

    fn argsort_into<K: Sortable>(
        &self,
        x: &View<'_, K>,
        order: Order,
        places: &mut CudaSlice<u64>,
    ) -> Result<()> {
        let sort = self.kernels(ArgSort::<K>::load)?;
        self.with_workspace(sort.workspace_bytes(x.len()), |workspace| {
            sort.enqueue(&self.stream, order, x, places, workspace)
        })
    }

    /// The `k` best of each row, and where they stand.
    fn best_of<T, S>(
        &self,
        x: S,
        (rows, len): (usize, usize),
        k: usize,
        top: bool,
        order: Order,
    ) -> Result<(CudaSlice<T>, CudaSlice<u64>)>
    where
        T: Stored + Sortable + Candidate<Key = T>,
        S: Source<CudaStream, Item = T, Form = warpfold::source::Slice<T>>,
    {
        let mut values = self.allocate::<T>(rows * k)?;
        let mut places = self.allocate::<u64>(rows * k)?;
        if rows * k > 0 {
            let kernels = self.kernels(TopK::<warpfold::source::Slice<T>>::load)?;
            let bytes = kernels.workspace_bytes_of_rows(rows, len, k);
            let rows = Rows::new(rows, len);
            self.with_workspace(bytes, |workspace| {
                let (stream, outputs) = (&self.stream, (&mut values, &mut places));
                match top {
                    true => kernels.enqueue_top_rows(stream, order, x, rows, k, outputs, workspace),
                    false => {
                        kernels.enqueue_bottom_rows(stream, order, x, rows, k, outputs, workspace)
                    }
                }
            })?;
        }
        Ok((values, places))
    }

    pub(crate) fn best<T: Number>(
        &self,
        x: &View<'_, T>,
        rows: (usize, usize),
        k: usize,
        top: bool,
        order: Order,
    ) -> Result<[CudaStorage; 2]> {
        let (values, places) = self.best_of(x, rows, k, top, order)?;
        let places = self.collect(map::<narrowed, _>(&places))?;
        Ok([self.store(values), self.store(places)])
    }

    pub(crate) fn count<T: Number>(&self, mask: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        Ok([self.store_signed(self.count_of(mask)?)])
    }

    fn count_of<T: Number>(&self, mask: &View<'_, T>) -> Result<CudaSlice<u64>> {
        let ones = map::<one_if, _>(flags::<T, _>(mask));
        self.reduce::<u64, Add, _>(ones, self.all(mask.len())?)
    }

    /// One lane of so many items.
    pub(crate) fn all(&self, len: usize) -> Result<Axis> {
        Axis::new(1, len, 1).map_err(|error| self.fault(error))
    }

    pub(crate) fn masked<T: Number>(
        &self,
        x: &View<'_, T>,
        mask: &Tensor,
        room: usize,
    ) -> Result<[CudaStorage; 1]> {
        let mut kept = self.zeros::<T>(room)?;
        self.with::<u8, _>(mask, |mask| {
            if x.is_empty() || room == 0 {
                return Ok(());
            }
            self.select(zip(x, flags::<u8, _>(mask)), &mut kept)
        })?;
        Ok([self.store(kept)])
    }

    fn select<T, S>(&self, source: S, kept: &mut CudaSlice<T>) -> Result<()>
    where
        T: Element,
        S: Source<CudaStream, Item = (T, bool)>,
    {
        let len = source.items().map_err(|error| self.fault(error))?;
        let select = self.kernels(Select::<T, S::Form>::load)?;
        let mut count = self.allocate::<u64>(1)?;
        self.with_workspace(select.workspace_bytes(len), |workspace| {
            select.enqueue(&self.stream, source, kept, &mut count, workspace)
        })
    }

    /// The positions of what is not 0: all of them, or as many as there is room for, and zeros.
    pub(crate) fn nonzero<T: Number>(
        &self,
        x: &View<'_, T>,
        room: Option<usize>,
    ) -> Result<[CudaStorage; 1]> {
        let mut positions = match room {
            Some(room) => self.zeros::<u64>(room)?,
            None if x.is_empty() => self.allocate::<u64>(0)?,
            None => self.allocate::<u64>(self.host_count(&self.count_of(x)?)?)?,
        };
        if !positions.is_empty() && !x.is_empty() {
            self.positions_of(flags::<T, _>(x), &mut positions)?;
        }
        Ok([self.store_signed(positions)])
    }

    fn positions_of<S>(&self, flags: S, positions: &mut CudaSlice<u64>) -> Result<()>
    where
        S: Source<CudaStream, Item = bool>,
    {
        let len = flags.items().map_err(|error| self.fault(error))?;
        let find = self.kernels(Positions::<S::Form>::load)?;
        let mut count = self.allocate::<u64>(1)?;
        self.with_workspace(find.workspace_bytes(len), |workspace| {
            find.enqueue(&self.stream, flags, positions, &mut count, workspace)
        })
    }

    /// Places along a dimension, of flat ones.
    pub(crate) fn coordinates(
        &self,
        positions: &View<'_, i64>,
        stride: u64,
        len: u64,
    ) -> Result<[CudaStorage; 1]> {
        let positions = self.cast::<i64, u64>(positions)?;
        let places = map_with::<coordinate, _, _>(&positions, [stride.max(1), len.max(1)]);
        Ok([self.store_signed(self.collect(places)?)])
    }

    pub(crate) fn runs<T: Number>(&self, x: &View<'_, T>) -> Result<[CudaStorage; 3]> {
        let len = x.len();
        let mut items = self.allocate::<T>(len)?;
        let (mut starts, mut lengths) = (self.allocate::<u64>(len)?, self.allocate::<u64>(len)?);
        let mut inverse = self.allocate::<u64>(len)?;
        let mut found = 0;
        if len > 0 {
            let mut count = self.allocate::<u64>(1)?;
            let outputs = (&mut items, &mut starts, &mut lengths);
            self.runs_of(heads::<T, _>(x), outputs, &mut count)?;
            found = self.host_count(&count)?;
            let known = starts.slice(..found);
            let starts = Starts::unchecked::<CudaStream, u64>(&known);
            let starts = starts.map_err(|error| self.fault(error))?;
            self.expand(index(found), starts, 0, &mut inverse.slice_mut(..))?;
        }
        let (items, lengths) = (self.shrunk(items, found)?, self.shrunk(lengths, found)?);
        Ok([
            self.store(items),
            self.store_signed(inverse),
            self.store_signed(lengths),
        ])
    }

    fn runs_of<T, S>(
        &self,
        heads: S,
        outputs: (&mut CudaSlice<T>, &mut CudaSlice<u64>, &mut CudaSlice<u64>),
        count: &mut CudaSlice<u64>,
    ) -> Result<()>
    where
        T: Element,
        S: Source<CudaStream, Item = (T, bool)>,
    {
        let len = heads.items().map_err(|error| self.fault(error))?;
        let runs = self.kernels(Runs::<T, S::Form>::load)?;
        self.with_workspace(runs.workspace_bytes(len), |workspace| {
            runs.enqueue(&self.stream, heads, outputs, count, workspace)
        })
    }

    /// For each item the value of its segment.
    fn expand<S, G>(
        &self,
        values: S,
        segments: G,
        none: u64,
        output: &mut warpfold::cuda::cudarc::driver::CudaViewMut<'_, u64>,
    ) -> Result<()>
    where
        S: Source<CudaStream, Item = u64>,
        G: Segments<CudaStream>,
    {
        let expand = self.kernels(Expand::<u64, S::Form, G::Cut>::load)?;
        let call = expand.enqueue(&self.stream, values, segments, none, output);
        call.map_err(|error| self.fault(error))
    }

    pub(crate) fn values<T: Integer>(
        &self,
        x: &View<'_, T>,
        bins: usize,
    ) -> Result<[CudaStorage; 1]> {
        let bins = Bins::<T>::values(bins).map_err(|error| self.fault(error))?;
        self.histogram(x, &bins)
    }

    pub(crate) fn histogram<T: Binned>(
        &self,
        x: &View<'_, T>,
        bins: &Bins<T>,
    ) -> Result<[CudaStorage; 1]> {
        let mut counts = self.zeros::<u64>(bins.count())?;
        if !x.is_empty() {
            let mut run = || {
                let histogram =
                    Histogram::<u64, warpfold::source::Slice<T>>::load(&self.stream, bins)?;
                histogram.enqueue(&self.stream, x, &mut counts)
            };
            run().map_err(|error| self.fault(error))?;
        }
        Ok([self.store_signed(counts)])
    }

    pub(crate) fn search<T: Number>(
        &self,
        sorted: &View<'_, T>,
        needles: &Tensor,
        right: bool,
        rows: usize,
    ) -> Result<[CudaStorage; 1]> {
        self.with::<T, _>(needles, |needles| {
            let mut places = self.allocate::<u64>(needles.len())?;
            let (each, of_each) = (sorted.len() / rows.max(1), needles.len() / rows.max(1));
            if of_each == 0 {
                return Ok([self.store_signed(places)]);
            }
            let search = self.kernels(Search::<T>::load)?;
            let (stream, order) = (&self.stream, Order::ascending());
            for row in 0..rows {
                let sorted = sorted.slice(row * each..(row + 1) * each);
                let of_row = row * of_each..(row + 1) * of_each;
                let needles = needles.slice(of_row.clone());
                let places = &mut places.slice_mut(of_row);
                let call = match right {
                    true => search.enqueue_upper_bound(stream, order, &sorted, &needles, places),
                    false => search.enqueue_lower_bound(stream, order, &sorted, &needles, places),
                };
                call.map_err(|error| self.fault(error))?;
            }
            Ok([self.store_signed(places)])
        })
    }

    pub(crate) fn segments<T: Number>(
        &self,
        x: &View<'_, T>,
        offsets: &Tensor,
        extent: (usize, usize),
        fold: Fold,
    ) -> Result<[CudaStorage; 1]> {
        let folds = match offsets.dtype() {
            DType::U32 => self.with::<u32, _>(offsets, |offsets| {
                self.fold_segments(x, offsets, extent, fold)
            }),
            _ => self.with::<i64, _>(offsets, |offsets| {
                self.fold_segments(x, &self.cast::<i64, u64>(offsets)?, extent, fold)
            }),
        };
        Ok([self.store(folds?)])
    }

    fn fold_segments<T: Number, I: Offset>(
        &self,
        x: &View<'_, T>,
        offsets: &View<'_, I>,
        (count, inner): (usize, usize),
        fold: Fold,
    ) -> Result<CudaSlice<T>> {
        let segments = Offsets::unchecked::<CudaStream, I>(offsets);
        let segments = segments.map_err(|error| self.fault(error))?;
        let extent = (count, inner);
        match fold {
            Fold::Sum => self.vectors::<T, T::Add, _, _>(None, x, segments, extent),
            Fold::Max => self.vectors::<T, T::Greatest, _, _>(None, x, segments, extent),
            Fold::Min => self.vectors::<T, T::Least, _, _>(None, x, segments, extent),
        }
    }

    /// The folds of segments of rows. Those of single numbers are cut where they are long.
    fn vectors<T, Op, S, G>(
        &self,
        init: Option<T>,
        source: S,
        segments: G,
        (count, inner): (usize, usize),
    ) -> Result<CudaSlice<T>>
    where
        T: Number,
        Op: Monoid<T>,
        S: Source<CudaStream, Item = T>,
        G: Segments<CudaStream>,
    {
        let mut folds = self.allocate::<T>(count * inner)?;
        if count * inner == 0 {
            return Ok(folds);
        }
        let stream = &self.stream;
        if inner == 1 {
            let reduce = self.kernels(SegmentedReduce::<T, Op, S::Form, G::Cut>::load)?;
            let len = source.items().map_err(|error| self.fault(error))?;
            self.with_workspace(reduce.workspace_bytes(len), |workspace| match init {
                Some(init) => {
                    reduce.enqueue_from(stream, init, source, segments, &mut folds, workspace)
                }
                None => reduce.enqueue(stream, source, segments, &mut folds, workspace),
            })?;
            return Ok(folds);
        }
        let reduce = self.kernels(SegmentedReduceVectors::<T, Op, S::Form, G::Cut>::load)?;
        let call = match init {
            Some(init) => reduce.enqueue_from(stream, init, source, inner, segments, &mut folds),
            None => reduce.enqueue(stream, source, inner, segments, &mut folds),
        };
        call.map_err(|error| self.fault(error))?;
        Ok(folds)
    }

    /// The segment that each item belongs to, and the number of segments for those of none.
    pub(crate) fn segment_ids<T: Number>(
        &self,
        offsets: &View<'_, T>,
        items: usize,
    ) -> Result<[CudaStorage; 1]> {
        let mut ids = self.allocate::<u64>(items)?;
        if items > 0 {
            match T::DTYPE {
                DType::U32 => self.ids(&self.cast::<T, u32>(offsets)?, &mut ids)?,
                _ => self.ids(&self.cast::<T, u64>(offsets)?, &mut ids)?,
            }
        }
        Ok([self.store_signed(ids)])
    }

    fn ids<I: Offset>(&self, offsets: &View<'_, I>, ids: &mut CudaSlice<u64>) -> Result<()> {
        let segments = Offsets::unchecked::<CudaStream, I>(offsets);
        let segments = segments.map_err(|error| self.fault(error))?;
        let count = offsets.len() - 1;
        self.expand(index(count), segments, count as u64, &mut ids.slice_mut(..))
    }

    pub(crate) fn sums_by_number<T: Number>(
        &self,
        x: &View<'_, T>,
        ids: &Tensor,
        extent: (usize, usize),
    ) -> Result<[CudaStorage; 1]> {
        let sums = match ids.dtype() {
            DType::U32 => self.with::<u32, _>(ids, |ids| self.sums(x, ids, extent)),
            _ => self.with::<i64, _>(ids, |ids| {
                self.sums(x, &self.cast::<i64, u64>(ids)?, extent)
            }),
        };
        Ok([self.store(sums?)])
    }

    /// Rows are put in the order of their numbers. A negative number is a very large one.
    fn sums<T: Number, I>(
        &self,
        x: &View<'_, T>,
        ids: &View<'_, I>,
        (count, inner): (usize, usize),
    ) -> Result<CudaSlice<T>>
    where
        I: SortKey + Sortable + Offset + warpfold::IndexNumber + DeviceRepr,
    {
        let mut places = self.allocate::<u64>(ids.len())?;
        let mut offsets = self.zeros::<u64>(count + 1)?;
        if !ids.is_empty() && count > 0 {
            self.argsort_into(ids, Order::ascending(), &mut places)?;
            let sorted = self.collect(gather(ids, Indices::unchecked(&places)))?;
            let starts = Starts::unchecked::<CudaStream, I>(&sorted);
            let starts = starts.map_err(|error| self.fault(error))?;
            let numbers = map::<next, _>(index(ids.len()));
            self.expand(numbers, starts, 0, &mut offsets.slice_mut(1..))?;
        }
        let rows = gather_rows(x, inner.max(1), Indices::unchecked(&places));
        let segments = Offsets::unchecked::<CudaStream, u64>(&offsets);
        let segments = segments.map_err(|error| self.fault(error))?;
        // Nothing is added to −0 without a trace, and a sum that starts with it is as without it.
        let zero = Some(T::from_f64(-0.0));
        self.vectors::<T, T::Add, _, _>(zero, rows, segments, (count, inner))
    }

    pub(crate) fn flat_places<T: Number>(
        &self,
        indices: &View<'_, T>,
        (len, rows): (usize, usize),
        inner: usize,
    ) -> Result<[CudaStorage; 1]> {
        let numbers = index(indices.len());
        let shape = [
            len as u64,
            (rows * inner).max(1) as u64,
            inner.max(1) as u64,
        ];
        let places = match T::DTYPE {
            DType::U32 => {
                let indices = self.cast::<T, u32>(indices)?;
                let indices = zip(numbers, map::<widened, _>(&indices));
                self.collect(map_with::<flat, _, _>(indices, shape))?
            }
            _ => {
                let indices = self.cast::<T, u64>(indices)?;
                self.collect(map_with::<flat, _, _>(zip(numbers, &indices), shape))?
            }
        };
        Ok([self.store_signed(places)])
    }
}

impl Steps for Gpu {
    type Place = CudaStream;
    type Array<T: Stored> = CudaSlice<T>;

    fn fault(&self, cause: impl Display) -> candle_core::Error {
        Gpu::fault(self, cause)
    }

    fn read<T: Stored>(
        array: &CudaSlice<T>,
    ) -> impl Source<CudaStream, Item = T, Form = warpfold::source::Slice<T>> + Copy {
        array
    }

    fn collect<T: Stored, S: Source<CudaStream, Item = T>>(
        &self,
        source: S,
    ) -> Result<CudaSlice<T>> {
        Gpu::collect(self, source)
    }

    fn prefixes<T: Stored, Op: Monoid<T>, S: Source<CudaStream, Item = T>>(
        &self,
        source: S,
        axis: Axis,
    ) -> Result<CudaSlice<T>> {
        self.scan::<T, Op, S>(Prefixes::inclusive(), source, axis)
    }

    fn fold<T: Stored, Op: Monoid<T>, S: Source<CudaStream, Item = T>>(
        &self,
        source: S,
        axis: Axis,
    ) -> Result<CudaSlice<T>> {
        self.reduce::<T, Op, S>(source, axis)
    }

    fn greatest<T, S>(
        &self,
        source: S,
        rows: (usize, usize),
        k: usize,
    ) -> Result<(CudaSlice<T>, CudaSlice<u64>)>
    where
        T: Stored + Sortable + Candidate<Key = T>,
        S: Source<CudaStream, Item = T, Form = warpfold::source::Slice<T>>,
    {
        self.best_of(source, rows, k, true, GREATEST)
    }
}
