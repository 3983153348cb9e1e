//! The workspace: device memory through which the blocks of a call exchange sums.

use super::driver_error;
use crate::engine::{HEADER_BYTES, WorkspaceKey};
use crate::render::WorkspaceArguments;
use crate::{Error, Result};
use cudarc::driver::{CudaStream, DriverError, result, sys};
use std::sync::Arc;
use std::thread::{self, ThreadId};

/// Device memory in which the blocks of a call share out their work and exchange sums. Calls on one
/// stream can share a workspace, whatever their primitive, type, operator and length.
///
/// - It is *zeroed* when it is made, and has a random key of its own. So no result can depend on
///   what lay in that memory before: neither on data, nor on what another workspace left there.
/// - It *serves one stream*, the one that it was made for. A call on another one is an error;
///   [`move_to`](Workspace::move_to) changes the stream, in order. For two streams at a time use
///   two workspaces.
/// - It *grows* only by [`grow`](Workspace::grow). A call never allocates; if the workspace is too
///   small, it is an error. `workspace_bytes` of [`Reduce`](super::Reduce) and
///   [`Scan`](super::Scan) says how much they need.
/// - *Graphs* may capture calls with it; several graphs may share one workspace. Each replay goes
///   on where the last one stopped. A graph keeps the memory's address. So as long as such a graph
///   may still be launched, do not drop, move or grow the workspace, and launch the graph on the
///   stream that the workspace serves.
///
/// ```no_run
/// use warpfold::{Prefixes, cuda::{Scan, Workspace, cudarc::driver::CudaContext}, ops::Add};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let scan = Scan::<u32, Add>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, scan.workspace_bytes(1 << 20))?;
/// let mut counts = stream.clone_htod(&vec![1_u32; 1 << 20])?;
/// scan.enqueue_in_place(&stream, Prefixes::inclusive(), &mut counts, &mut workspace)?;
/// scan.enqueue_in_place(&stream, Prefixes::inclusive(), &mut counts, &mut workspace)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Bytes alone are no workspace:
///
/// ```compile_fail,E0308
/// # use warpfold::{Prefixes, cuda::{Scan, cudarc::driver::CudaContext}, ops::Add};
/// # let context = CudaContext::new(0)?;
/// # let stream = context.default_stream();
/// # let scan = Scan::<u32, Add>::load(&context)?;
/// # let mut counts = stream.clone_htod(&vec![1_u32; 1 << 20])?;
/// let mut bytes = stream.alloc_zeros::<u8>(scan.workspace_bytes(1 << 20))?;
/// scan.enqueue_in_place(&stream, Prefixes::inclusive(), &mut counts, &mut bytes)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Workspace {
    stream: Arc<CudaStream>,
    serves: StreamIdentity,
    address: sys::CUdeviceptr,
    bytes: usize,
    /// Whether the memory is freed with the workspace.
    owned: bool,
    key: u64,
}

/// What tells streams apart: CUDA's handle. The per-thread default stream has the same handle in
/// all threads, so there the thread counts too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StreamIdentity {
    context: usize,
    handle: usize,
    thread: Option<ThreadId>,
}

impl StreamIdentity {
    /// `CU_STREAM_PER_THREAD`.
    const PER_THREAD: usize = 2;

    fn of(stream: &CudaStream) -> StreamIdentity {
        let handle = stream.cu_stream() as usize;
        StreamIdentity {
            context: stream.context().cu_ctx() as usize,
            handle,
            thread: (handle == Self::PER_THREAD).then(|| thread::current().id()),
        }
    }
}

impl Workspace {
    /// The start of a workspace is a multiple of this many bytes.
    const ALIGN: u64 = 16;

    /// A workspace of at least `bytes` bytes, for calls on `stream`. It is cleared on that stream;
    /// its memory comes from the stream's pool.
    ///
    /// # Errors
    ///
    /// [`Error::Capturing`] while the stream is captured into a graph; [`Error::OutOfMemory`], with
    /// the sizes; [`Error::Driver`].
    pub fn new(stream: &Arc<CudaStream>, bytes: usize) -> Result<Workspace> {
        Workspace::check_not_captured(stream)?;
        let bytes = bytes.max(HEADER_BYTES);
        let workspace = Workspace {
            stream: stream.clone(),
            serves: StreamIdentity::of(stream),
            address: allocate(stream, bytes)?,
            bytes,
            owned: true,
            key: 0,
        };
        workspace.cleared()
    }

    /// A workspace in memory of yours. It is cleared on `stream`, and never freed.
    ///
    /// # Errors
    ///
    /// [`Error::Workspace`] if an aligned header does not fit, and those of
    /// [`new`](Workspace::new).
    ///
    /// # Safety
    ///
    /// - The `bytes` bytes from `address` on are device memory that the stream's context can write
    ///   to. They stay allocated until the last call with this workspace has ended, and so has the
    ///   last launch of each graph that captured one.
    /// - From this call on until then nothing else reads or writes them: no other workspace, no
    ///   copy, no `memset`, and none of these in a graph.
    pub unsafe fn from_raw(
        stream: &Arc<CudaStream>,
        address: sys::CUdeviceptr,
        bytes: usize,
    ) -> Result<Workspace> {
        Workspace::check_not_captured(stream)?;
        let aligned = address.next_multiple_of(Self::ALIGN);
        let room = bytes.saturating_sub((aligned - address) as usize);
        if room < HEADER_BYTES {
            return Err(Error::Workspace {
                needed: HEADER_BYTES + (aligned - address) as usize,
                given: bytes,
            });
        }
        let workspace = Workspace {
            stream: stream.clone(),
            serves: StreamIdentity::of(stream),
            address: aligned,
            bytes: room,
            owned: false,
            key: 0,
        };
        workspace.cleared()
    }

    /// How many bytes calls can use.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The stream that it serves.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Makes room for `bytes` bytes. Does nothing if there is room already. Otherwise it allocates
    /// and clears new memory, and frees the old in the order of the stream.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Workspace::new), [`Error::Borrowed`] if [`from_raw`](Workspace::from_raw)
    /// made the workspace, and [`Error::WorkspaceStream`] if it serves the per-thread default
    /// stream of another thread. Then the workspace is as it was.
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        if bytes <= self.bytes {
            return Ok(());
        }
        if !self.owned {
            return Err(Error::Borrowed {
                given: self.bytes,
                needed: bytes,
            });
        }
        if self.is_of_another_thread() {
            return Err(Error::WorkspaceStream);
        }
        *self = Workspace::new(&self.stream, bytes)?;
        Ok(())
    }

    /// From now on the workspace serves `stream`, of the same context. That stream waits for the
    /// calls so far. If they are on the per-thread default stream of another thread, it waits for
    /// all streams that the legacy default stream waits for.
    ///
    /// # Errors
    ///
    /// [`Error::WrongDevice`] if the stream belongs to another context, [`Error::Capturing`] while
    /// either stream is captured, [`Error::Driver`]. Then the workspace is as it was.
    pub fn move_to(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        super::check_context(self.stream.context(), "stream", stream.context())?;
        Workspace::check_not_captured(&self.stream)?;
        Workspace::check_not_captured(stream)?;
        stream
            .join(&self.named_stream())
            .map_err(|error| driver_error("having a stream wait for another one", error))?;
        self.stream = stream.clone();
        self.serves = StreamIdentity::of(stream);
        Ok(())
    }

    /// What kernels on `stream` are told of the workspace. An error unless it serves the stream and
    /// has this many bytes.
    pub(crate) fn arguments(
        &self,
        stream: &CudaStream,
        needed: usize,
    ) -> Result<WorkspaceArguments> {
        super::check_context(stream.context(), "workspace", self.stream.context())?;
        if self.serves != StreamIdentity::of(stream) {
            return Err(Error::WorkspaceStream);
        }
        if self.bytes < needed {
            return Err(Error::Workspace {
                needed,
                given: self.bytes,
            });
        }
        Ok(WorkspaceArguments {
            address: self.address,
            key: self.key,
        })
    }

    /// Whether it serves the per-thread default stream of another thread.
    fn is_of_another_thread(&self) -> bool {
        let thread = self.serves.thread;
        thread.is_some_and(|thread| thread != thread::current().id())
    }

    /// A stream that waits for the calls so far. A thread cannot name the per-thread default stream
    /// of another one, but the legacy default stream waits for it.
    fn named_stream(&self) -> Arc<CudaStream> {
        match self.is_of_another_thread() {
            true => self.stream.context().default_stream(),
            false => self.stream.clone(),
        }
    }

    /// Clears the memory, and gives it a key of its own.
    fn cleared(mut self) -> Result<Workspace> {
        let failed = |error| driver_error("clearing a workspace", error);
        let key = WorkspaceKey::random();
        let header = key.header();
        let stream = self.stream.cu_stream();
        self.stream.context().bind_to_thread().map_err(failed)?;
        // SAFETY: the memory is this workspace's, and large enough for the header. The copy has
        // read the header when the stream is done, which is waited for.
        unsafe {
            result::memset_d8_async(self.address, 0, self.bytes, stream)
                .and_then(|()| result::memcpy_htod_async(self.address, &header, stream))
        }
        .and_then(|()| self.stream.synchronize())
        .map_err(failed)?;
        self.key = key.key;
        Ok(self)
    }

    /// Memory that is allocated during a capture would belong to the graph.
    fn check_not_captured(stream: &CudaStream) -> Result<()> {
        let status = stream
            .capture_status()
            .map_err(|error| driver_error("asking whether a stream is captured", error))?;
        match status {
            sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE => Ok(()),
            _ => Err(Error::Capturing),
        }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        let (context, stream) = (self.stream.context(), self.named_stream());
        let freed = context.bind_to_thread().and_then(|()| {
            // SAFETY: the memory was allocated for this workspace alone, from the pool if there is
            // one. Its calls are on this stream, or the stream waits for them.
            unsafe {
                if context.has_async_alloc() {
                    result::free_async(self.address, stream.cu_stream())
                } else {
                    stream.synchronize()?;
                    result::free_sync(self.address)
                }
            }
        });
        if let Err(error) = freed {
            log::warn!("{}", driver_error("freeing a workspace", error));
        }
    }
}

/// Device memory in the order of the stream, not initialised.
pub(crate) fn allocate(stream: &CudaStream, bytes: usize) -> Result<sys::CUdeviceptr> {
    let context = stream.context();
    let once = || {
        context.bind_to_thread()?;
        // SAFETY: any size is allowed but zero. Nobody reads the memory before it is written.
        unsafe {
            if context.has_async_alloc() {
                result::malloc_async(stream.cu_stream(), bytes)
            } else {
                result::malloc_sync(bytes)
            }
        }
    };
    let out_of_memory = DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    let mut memory = once();
    if memory.as_ref().err() == Some(&out_of_memory) {
        // What was freed on the stream comes back when the stream gets there.
        stream
            .synchronize()
            .map_err(|error| driver_error("waiting for the stream", error))?;
        memory = once();
    }
    memory.map_err(|error| {
        if error != out_of_memory {
            return driver_error("allocating device memory", error);
        }
        let (free, total) = context.mem_get_info().unwrap_or((0, 0));
        Error::OutOfMemory {
            requested: bytes,
            free,
            total,
        }
    })
}
