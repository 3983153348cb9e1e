//! One GPU as a [`Device`](crate::Device): a context, a stream, and a workspace that is kept.

use super::kernels::{self, Shell};
use super::lanes::Lane;
use super::pinned::Pinned;
use super::pool::keep_freed_memory;
use super::{Workspace, driver_error, library::require_driver, workspace};
use crate::{Element, Error, Result};
use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, SyncOnDrop,
};
use cudarc::driver::{result, sys};
use std::any::Any;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A GPU in use. All work goes to one stream, so calls run in the order in which they were made.
#[derive(Debug, Clone)]
pub(crate) struct Gpu(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// Kept between calls. Calls can share it: once their launches are enqueued, the stream keeps
    /// them in order.
    workspace: Mutex<Option<Workspace>>,
    /// What streams of pieces left for the next one.
    lanes: Mutex<Vec<Lane>>,
    /// Pinned memory for one result each, which no call uses.
    results: Mutex<Vec<Pinned>>,
}

/// Elements in device memory. An empty array has no memory.
#[derive(Debug)]
pub(crate) struct DeviceArray<T> {
    memory: Option<Memory>,
    stream: Arc<CudaStream>,
    len: usize,
    element: PhantomData<T>,
}

/// Device memory, which is freed with this value unless somebody else's.
#[derive(Debug)]
struct Memory {
    slice: ManuallyDrop<CudaSlice<u8>>,
    is_borrowed: bool,
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it is taken once, here.
        let slice = unsafe { ManuallyDrop::take(&mut self.slice) };
        if self.is_borrowed {
            let _owner_frees_it = slice.leak();
            return;
        }
        // The handle of a default stream means that of the context that is bound. If it cannot be
        // bound, freeing fails, too, and the stream keeps the error.
        let _ = slice.context().bind_to_thread();
    }
}

impl Gpu {
    pub(crate) fn count() -> Result<usize> {
        require_driver()?;
        let count = CudaContext::device_count()
            .map_err(|error| driver_error("counting the GPUs", error))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// The GPU `ordinal`. The first call opens it, and later calls give the same one, so that all
    /// buffers of a process on one GPU can be used together.
    pub(crate) fn get(ordinal: usize) -> Result<Gpu> {
        static OPEN: Mutex<BTreeMap<usize, Gpu>> = Mutex::new(BTreeMap::new());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gpu) = open.get(&ordinal) {
            return Ok(gpu.clone());
        }
        let gpu = Gpu::open(ordinal)?;
        open.insert(ordinal, gpu.clone());
        Ok(gpu)
    }

    fn open(ordinal: usize) -> Result<Gpu> {
        let count = match Gpu::count() {
            // A driver without a GPU says so with an error.
            Err(Error::Driver { cause, .. }) if cause.contains("CUDA_ERROR_NO_DEVICE") => 0,
            count => count?,
        };
        if ordinal >= count {
            let gpus = (0..count).map(|ordinal| format!("cuda:{ordinal}"));
            let available: Vec<_> = std::iter::once("cpu".to_owned()).chain(gpus).collect();
            return Err(Error::NoDevice {
                requested: format!("cuda:{ordinal}"),
                available: available.join(", "),
            });
        }
        let failed = |error| driver_error(&format!("opening cuda:{ordinal}"), error);
        let context = CudaContext::new(ordinal).map_err(failed)?;
        // SAFETY: this context object has one stream for everything, so there is nothing to track.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(failed)?;
        Ok(Gpu::on(&stream))
    }

    /// A GPU whose work goes to this stream.
    pub(crate) fn on(stream: &Arc<CudaStream>) -> Gpu {
        // Without it calls take longer, and are as right.
        let _ = keep_freed_memory(stream.context());
        Gpu(Arc::new(Inner {
            context: stream.context().clone(),
            stream: stream.clone(),
            workspace: Mutex::new(None),
            lanes: Mutex::default(),
            results: Mutex::default(),
        }))
    }

    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        &self.0.context
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.0.stream
    }

    /// The kernels of a call, which are loaded when they are first asked for.
    pub(crate) fn kernels<K: Any + Send + Sync>(
        &self,
        load: impl FnOnce(&Arc<CudaContext>) -> Result<K>,
    ) -> Result<Arc<K>> {
        kernels::kept(self.context(), load)
    }

    /// The core of a shell's kernels, which is loaded when it is first asked for.
    pub(crate) fn core_of<S: Shell>(&self) -> Result<Arc<S::Core>> {
        kernels::core_of::<S>(self.context())
    }

    /// The lanes that no stream of pieces uses.
    pub(super) fn take_lanes(&self) -> Vec<Lane> {
        std::mem::take(&mut *self.lanes())
    }

    /// Keeps lanes for the next stream of pieces, unless another one left some meanwhile.
    pub(super) fn keep_lanes(&self, lanes: Vec<Lane>) {
        let mut kept = self.lanes();
        if kept.is_empty() {
            *kept = lanes;
        }
    }

    fn lanes(&self) -> MutexGuard<'_, Vec<Lane>> {
        self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ordinal(&self) -> usize {
        self.0.context.ordinal()
    }

    /// Whether both are one GPU.
    pub(crate) fn is_same(&self, other: &Gpu) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn description(&self) -> String {
        let context = &self.0.context;
        let name = context.name().unwrap_or_else(|_| "unknown GPU".into());
        let memory = context.total_mem().unwrap_or(0) as f64 / (1_u64 << 30) as f64;
        let (major, minor) = context.compute_capability().unwrap_or((0, 0));
        format!("{name}, {memory:.0} GiB, compute capability {major}.{minor}")
    }

    /// Device memory for `len` elements, not initialised.
    pub(crate) fn allocate<T: Element>(&self, len: usize) -> Result<DeviceArray<T>> {
        let memory = match len {
            0 => None,
            len => {
                let bytes = len.saturating_mul(size_of::<T>());
                Some(self.allocate_bytes(bytes)?)
            }
        };
        Ok(DeviceArray {
            memory,
            stream: self.0.stream.clone(),
            len,
            element: PhantomData,
        })
    }

    /// Device memory for `len` elements, all zero.
    pub(crate) fn allocate_zeroed<T: Element>(&self, len: usize) -> Result<DeviceArray<T>> {
        let mut array = self.allocate(len)?;
        if let Some(memory) = &mut array.memory {
            self.0
                .stream
                .memset_zeros(&mut *memory.slice)
                .map_err(|error| driver_error("clearing memory", error))?;
        }
        Ok(array)
    }

    fn allocate_bytes(&self, bytes: usize) -> Result<Memory> {
        let stream = &self.0.stream;
        let address = workspace::allocate(stream, bytes)?;
        // SAFETY: the memory is new, has this many bytes, and was allocated as `CudaSlice` frees
        // it. It is written before it is read: by an upload, or by the kernels that give a result.
        let slice = unsafe { stream.upgrade_device_ptr(address, bytes) };
        Ok(Memory {
            slice: ManuallyDrop::new(slice),
            is_borrowed: false,
        })
    }

    /// Elements in memory of somebody else, who frees it.
    ///
    /// # Safety
    ///
    /// At the address this GPU has so many elements, for as long as the value and its calls last.
    pub(crate) unsafe fn borrow<T: Element>(&self, address: u64, len: usize) -> DeviceArray<T> {
        let stream = &self.0.stream;
        let memory = (len > 0).then(|| Memory {
            // SAFETY: the caller's; and it is not freed.
            slice: ManuallyDrop::new(unsafe {
                stream.upgrade_device_ptr(address, len * size_of::<T>())
            }),
            is_borrowed: true,
        });
        DeviceArray {
            memory,
            stream: stream.clone(),
            len,
            element: PhantomData,
        }
    }

    pub(crate) fn upload<T: Element>(&self, data: &[T]) -> Result<DeviceArray<T>> {
        let mut array = self.allocate(data.len())?;
        if let Some(memory) = &mut array.memory {
            let stream = &self.0.stream;
            stream
                .memcpy_htod(bytemuck::cast_slice::<T, u8>(data), &mut *memory.slice)
                .and_then(|()| stream.synchronize())
                .map_err(|error| driver_error("copying to the device", error))?;
        }
        Ok(array)
    }

    pub(crate) fn download<T: Element>(
        &self,
        array: &DeviceArray<T>,
        range: Range<usize>,
    ) -> Result<Vec<T>> {
        let mut data = Vec::new();
        data.try_reserve_exact(range.len())
            .map_err(|_| Error::OutOfHostMemory {
                requested: range.len() * size_of::<T>(),
            })?;
        let Some(memory) = array.memory.as_ref().filter(|_| !range.is_empty()) else {
            return Ok(data);
        };
        assert!(range.end <= array.len);
        let stream = &self.0.stream;
        let (address, _reading) = memory.slice.device_ptr(stream);
        let source = address + (range.start * size_of::<T>()) as u64;
        let target = &mut data.spare_capacity_mut()[..range.len()];
        // SAFETY: source and target have the same number of bytes, and the target is not touched
        // until the copy is done. The stream's context is bound first. The slice of possibly
        // uninitialised elements is only written to.
        unsafe {
            self.0
                .context
                .bind_to_thread()
                .and_then(|()| result::memcpy_dtoh_async(target, source, stream.cu_stream()))
                .and_then(|()| stream.synchronize())
                .map_err(|error| {
                    driver_error("computing, or copying the result to the host", error)
                })?;
            data.set_len(range.len());
        }
        Ok(data)
    }

    /// Enqueues a copy within the memory of this GPU.
    ///
    /// # Safety
    ///
    /// At both addresses this GPU has so many bytes, freed on its stream. They do not overlap, and
    /// the target is borrowed for writing.
    pub(crate) unsafe fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let stream = self.0.stream.cu_stream();
        let bound = self.0.context.bind_to_thread();
        bound
            // SAFETY: the caller's.
            .and_then(|()| unsafe { result::memcpy_dtod_async(to, from, bytes, stream) })
            .map_err(|error| driver_error("copying on the device", error))
    }

    /// Calls `enqueue` with the address of room for an element, waits for the stream, and gives
    /// what is there. The room is pinned host memory. Kernels write to it, so nothing is copied
    /// from the GPU after them.
    pub(crate) fn one_result<T: Element>(
        &self,
        enqueue: impl FnOnce(u64) -> Result<()>,
    ) -> Result<T> {
        // What follows is compiled once.
        let (mut enqueue, mut result) = (Some(enqueue), T::zeroed());
        let mut enqueue = |address| match enqueue.take() {
            Some(enqueue) => enqueue(address),
            None => unreachable!("it is called once"),
        };
        self.copy_result(&mut enqueue, bytemuck::bytes_of_mut(&mut result))?;
        Ok(result)
    }

    /// Several results. `enqueue` gets the address of room for them.
    pub(crate) fn results_of<T: Element>(
        &self,
        count: usize,
        mut enqueue: impl FnMut(u64) -> Result<()>,
    ) -> Result<Vec<T>> {
        let mut results = vec![T::zeroed(); count];
        if size_of_val(&results[..]) <= RESULT_BYTES {
            let bytes = bytemuck::cast_slice_mut::<T, u8>(&mut results);
            self.copy_result(&mut enqueue, bytes)?;
            return Ok(results);
        }
        let room = self.allocate::<T>(count)?;
        enqueue(room.address())?;
        self.download(&room, 0..count)
    }

    /// Calls `enqueue` with the address of room, waits for the stream, and copies the first bytes.
    fn copy_result(
        &self,
        enqueue: &mut dyn FnMut(u64) -> Result<()>,
        result: &mut [u8],
    ) -> Result<()> {
        let kept = self.results().pop();
        let mut room = match kept {
            Some(room) => room,
            None => Pinned::new(self.context(), RESULT_BYTES)?,
        };
        let bytes = room.as_mut_slice::<u8>(result.len());
        let enqueued = enqueue(bytes.as_mut_ptr() as u64);
        let waited = self.0.stream.synchronize();
        result.copy_from_slice(room.as_mut_slice::<u8>(result.len()));
        enqueued?;
        waited.map_err(|error| driver_error("computing a result", error))?;
        self.results().push(room);
        Ok(())
    }

    fn results(&self) -> MutexGuard<'_, Vec<Pinned>> {
        let results = self.0.results.lock();
        results.unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `enqueue` with a workspace of at least `bytes` bytes.
    pub(crate) fn with_workspace(
        &self,
        bytes: usize,
        enqueue: impl FnOnce(&CudaStream, &mut Workspace) -> Result<()>,
    ) -> Result<()> {
        // What follows is compiled once.
        let mut enqueue = Some(enqueue);
        self.lend_workspace(bytes, &mut |stream, workspace| match enqueue.take() {
            Some(enqueue) => enqueue(stream, workspace),
            None => unreachable!("it is called once"),
        })
    }

    fn lend_workspace(
        &self,
        bytes: usize,
        enqueue: &mut dyn FnMut(&CudaStream, &mut Workspace) -> Result<()>,
    ) -> Result<()> {
        let mut kept = self.workspace(bytes)?;
        enqueue(&self.0.stream, kept.as_mut().expect("it was made"))
    }

    /// The workspace that is kept, with at least `bytes` bytes.
    fn workspace(&self, bytes: usize) -> Result<MutexGuard<'_, Option<Workspace>>> {
        let kept = self.0.workspace.lock();
        let mut kept = kept.unwrap_or_else(PoisonError::into_inner);
        if kept
            .as_ref()
            .is_none_or(|workspace| workspace.bytes() < bytes)
        {
            // Freed first: the old and the new one need not fit at once.
            *kept = None;
            *kept = Some(Workspace::new(&self.0.stream, bytes)?);
        }
        Ok(kept)
    }
}

/// Room for an element: they have fewer bytes.
const RESULT_BYTES: usize = 4096;

impl<T> DeviceArray<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether somebody else frees the memory.
    pub(crate) fn is_borrowed(&self) -> bool {
        self.memory
            .as_ref()
            .is_some_and(|memory| memory.is_borrowed)
    }

    /// Gives up all elements from `len` on. The memory stays.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Where the elements lie. Work on them is ordered by the device's one stream.
    pub(crate) fn address(&self) -> u64 {
        let memory = self.memory.as_ref();
        memory.map_or(0, |memory| memory.slice.device_ptr(&self.stream).0)
    }
}

impl<T> DeviceArray<T> {
    /// As many arrays as the elements fill, in the same memory.
    pub(crate) fn into_chunks<const N: usize>(self) -> DeviceArray<[T; N]> {
        DeviceArray {
            memory: self.memory,
            stream: self.stream,
            len: self.len / N,
            element: PhantomData,
        }
    }
}

impl<T, const N: usize> DeviceArray<[T; N]> {
    /// The elements of all arrays, in the same memory.
    pub(crate) fn into_flattened(self) -> DeviceArray<T> {
        DeviceArray {
            memory: self.memory,
            stream: self.stream,
            // The memory has as many bytes, so their number is none too large.
            len: self.len * N,
            element: PhantomData,
        }
    }
}

impl<T> DeviceSlice<T> for DeviceArray<T> {
    fn len(&self) -> usize {
        self.len
    }

    fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }
}

impl<T> DevicePtr<T> for DeviceArray<T> {
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        match &self.memory {
            Some(memory) => memory.slice.device_ptr(stream),
            None => (0, SyncOnDrop::Sync(None)),
        }
    }
}

impl<T> DevicePtrMut<T> for DeviceArray<T> {
    fn device_ptr_mut<'a>(
        &'a mut self,
        stream: &'a CudaStream,
    ) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        match &mut self.memory {
            Some(memory) => memory.slice.device_ptr_mut(stream),
            None => (0, SyncOnDrop::Sync(None)),
        }
    }
}
