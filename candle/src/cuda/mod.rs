//! The operations on a GPU: warpfold's third level, on candle's stream and in candle's memory. Here
//! is what all of them need, and in each other file a family of them, as in the files beside this
//! folder, which have their work on the CPU.
//!
//! Nothing here waits for the GPU but [`Gpu::host_count`], which asks for the length of a result,
//! and calls that need a larger workspace than those before.

mod count;
mod reduce;
mod scan;
mod scatter;
mod segments;
mod select;
mod sort;

use crate::dtype::{Number, Stored, fault};
use crate::steps::{GREATEST, Steps};
use candle_core::cuda_backend::CudaDevice;
use candle_core::{CudaStorage, Result, Storage, Tensor};
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Display;
use std::ops::Range;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use warpfold::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView};
use warpfold::cuda::{Collect, Workspace};
use warpfold::source::Source;
use warpfold::{Axis, Candidate, Element, Monoid, Prefixes, Sortable};

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
    pub(crate) fn with<T: Number, R>(
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
    pub(crate) fn allocate<T: Element + DeviceRepr>(&self, len: usize) -> Result<CudaSlice<T>> {
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
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => place.insert(Workspace::new(&self.stream, bytes)?),
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

    /// One lane of so many items.
    pub(crate) fn all(&self, len: usize) -> Result<Axis> {
        Axis::new(1, len, 1).map_err(|error| self.fault(error))
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
