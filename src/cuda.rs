//! NVIDIA GPUs: for programs that use [`cudarc`] themselves.
//!
//! [`Reduce`], [`Scan`], [`Select`] and the others hold the kernels of one primitive, loaded into a
//! context: for one element type and operator, predicate or form of source. Their methods
//! *enqueue*: on your stream, over your slices or views, with your [`Workspace`] if they need one.
//! They allocate nothing on the device, synchronise nothing, and copy nothing to the host. So a
//! CUDA graph can capture them. One call may load kernels: the first long scan of slices that do
//! not start at a multiple of 16 bytes, as [`Scan`] says.
//!
//! On GPUs of compute capability 9.0 or later, with a driver for CUDA 12.3 or later, a launch
//! overlaps the end of what precedes it on the stream, by *programmatic dependent launch*, in
//! graphs too. It waits for that end before it touches memory. Meanwhile it has the L2 cache fetch
//! what it will read first. If you launch a kernel of yours in that way, it must wait as well.
//!
//! ```no_run
//! use warpfold::{Prefixes, cuda::{Scan, Workspace, cudarc::driver::CudaContext}, ops::Add};
//!
//! let context = CudaContext::new(0)?;
//! let stream = context.default_stream();
//! let samples = stream.clone_htod(&vec![1.0_f32; 1 << 20])?;
//! let mut sums = stream.alloc_zeros::<f32>(samples.len())?;
//!
//! let scan = Scan::<f32, Add>::load(&context)?; // compiles, or finds the kernels in the cache
//! let mut workspace = Workspace::new(&stream, scan.workspace_bytes(samples.len()))?;
//! scan.enqueue(&stream, Prefixes::inclusive(), &samples, &mut sums, &mut workspace)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Blocks that wait for each other
//!
//! Blocks of one launch wait for sums that other blocks of it publish. Still, one free
//! multiprocessor is enough for a launch to end, whatever other work holds the rest, and however
//! long. Two things make that so:
//!
//! - Scans that do not fit the GPU at once take their tiles in the order in which their blocks
//!   start.
//! - All other launches have no more blocks than the GPU can hold. They rely on the order in which
//!   the GPU starts the blocks of a launch: by index, as every GPU so far does. On a GPU that did
//!   not, such a launch would wait for as long as other work keeps its first blocks from starting,
//!   and for ever if that work waited for the launch.
//!
//! # Memory
//!
//! Slices may lie in any memory that kernels can access, managed memory and pinned host memory
//! included. If it is not the GPU's own, the way there decides the speed.
//!
//! Use the `cudarc` that is re-exported here, or the same version. For its slices of `f16` and
//! `bf16` there is the feature `cuda-f16`. While its event tracking is on, it makes events for
//! every slice, and waiting for them breaks a graph's capture. So switch tracking off
//! (`CudaContext::disable_event_tracking`) before you allocate what a graph works on, and before
//! you make streams: a context's first `new_stream` waits for the whole GPU then, which is an error
//! while another thread captures, and ends that capture.

pub(crate) mod checks;
mod disk_cache;
mod gpu;
pub(crate) mod kernels;
pub(crate) mod lanes;
pub(crate) mod launch;
pub(crate) mod levels;
pub(crate) mod library;
pub(crate) mod links;
mod memory;
pub(crate) mod nccl;
pub mod nvrtc;
mod nvrtc_library;
pub(crate) mod pieces;
mod pinned;
mod pool;
mod source;
pub(crate) mod staging;
mod workspace;

pub use crate::primitives::axis::cuda::AlongAxis;
pub use crate::primitives::axis::vectors::cuda::SegmentedReduceVectors;
pub use crate::primitives::collect::cuda::Collect;
pub use crate::primitives::histogram::cuda::{Histogram, HistogramOf};
pub use crate::primitives::merge::cuda::{Merge, SortBy};
pub use crate::primitives::reduce::cuda::Reduce;
pub use crate::primitives::scan::cuda::Scan;
pub use crate::primitives::scatter::cuda::Scatter;
pub use crate::primitives::search::cuda::Search;
pub use crate::primitives::segmented::cuda::SegmentedReduce;
pub use crate::primitives::segmented::expand::cuda::Expand;
pub use crate::primitives::segmented::keys::cuda::{
    CountedStarts, ReduceByKey, RunOutputs, ScanByKey, starts_up_to,
};
pub use crate::primitives::segmented::ranges::cuda::{CutRanges, InRanges, in_ranges};
pub use crate::primitives::segmented::scan::cuda::SegmentedScan;
pub use crate::primitives::segmented_sort::cuda::SegmentedSort;
pub use crate::primitives::select::cuda::{
    Partition, PartitionBy, Positions, Runs, Select, SelectBy, Unique,
};
pub use crate::primitives::sort::cuda::{ArgSort, Sort, SortPairs};
pub use crate::primitives::top::cuda::TopK;
pub use crate::primitives::weighted::cuda::{WeightedHistogram, WeightedHistogramOf};
pub use cudarc;
pub use disk_cache::without_disk_cache;
pub use kernels::unload;
#[doc(hidden)]
pub use library::require_timing;
pub use links::{Link, links};
pub use memory::{allocate, download, upload};
#[doc(hidden)]
pub use source::StreamBinder;
pub use source::{UpTo, up_to};
pub use workspace::Workspace;

pub(crate) use gpu::{DeviceArray, Gpu};

use crate::engine::Machine;
use crate::{Error, Result};
use cudarc::driver::{CudaContext, DriverError};

/// The compute capability of a context's device as one number: 90 for 9.0.
pub(crate) fn context_capability(context: &CudaContext) -> Result<u32> {
    let (major, minor) = context
        .compute_capability()
        .map_err(|error| driver_error("asking for the compute capability", error))?;
    Ok((major * 10 + minor).unsigned_abs())
}

/// A context's GPU, as far as choices depend on it.
pub(crate) fn context_machine(context: &CudaContext) -> Result<Machine> {
    Ok(Machine {
        capability: context_capability(context)?,
        multiprocessors: kernels::context_multiprocessors(context)?,
    })
}

/// An error unless `given`, the context of `what`, is the context `ours`.
pub(crate) fn check_context(ours: &CudaContext, what: &str, given: &CudaContext) -> Result<()> {
    if given.cu_ctx() == ours.cu_ctx() {
        return Ok(());
    }
    Err(Error::WrongDevice {
        buffer: format!("another context ({what}, on cuda:{})", given.ordinal()),
        device: format!("cuda:{}, where the kernels were loaded", ours.ordinal()),
    })
}

/// A driver's error with what was being done.
pub(crate) fn driver_error(action: &str, error: DriverError) -> Error {
    let text = |text: Result<&std::ffi::CStr, DriverError>| {
        text.map_or_else(
            |_| "unknown".into(),
            |text| text.to_string_lossy().into_owned(),
        )
    };
    Error::Driver {
        action: action.to_owned(),
        cause: format!(
            "{} ({})",
            text(error.error_string()),
            text(error.error_name())
        ),
    }
}
