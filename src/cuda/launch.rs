//! One launch of a kernel on a stream.

use super::driver_error;
use super::kernels::Loaded;
use crate::Result;
use crate::engine::candidates::Blocks;
pub(crate) use crate::engine::candidates::blocks_of_grid as blocks;
use crate::render::{Arguments, Function};
use cudarc::driver::{CudaFunction, CudaStream, sys};
use std::ffi::c_void;
use std::ptr;

/// The blocks of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    /// Dynamic shared memory of a block.
    pub(crate) shared_bytes: u32,
    /// Whether blocks may start before what precedes the launch on the stream has ended.
    pub(crate) overlaps: bool,
}

impl Grid {
    /// Blocks of so many threads, with so many bytes of dynamic shared memory each.
    pub(crate) fn new(blocks: u32, threads: u32, shared_bytes: u32) -> Grid {
        Grid {
            blocks,
            threads,
            shared_bytes,
            overlaps: true,
        }
    }

    /// The grid of a launch over `length` items, if there can be one.
    pub(crate) fn of(launch: Blocks, length: usize) -> Result<Grid> {
        Ok(Grid {
            overlaps: launch.overlaps,
            ..Grid::new(
                blocks(launch.count, length as u64)?,
                launch.threads,
                launch.shared_bytes,
            )
        })
    }
}

/// Programmatic dependent launch: blocks may start before what precedes the launch on the stream
/// has ended.
const OVERLAP: sys::CUlaunchAttribute = sys::CUlaunchAttribute {
    id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
    pad: [0; 4],
    value: sys::CUlaunchAttributeValue {
        programmaticStreamSerializationAllowed: 1,
    },
};

/// Enqueues one launch.
///
/// # Safety
///
/// The kernel must be safe to run with the arguments, which are copied before this returns.
pub(crate) unsafe fn launch<A: Arguments>(
    kernels: &Loaded,
    stream: &CudaStream,
    function: &Function<A>,
    grid: Grid,
    mut arguments: A,
) -> Result<()> {
    let mut parameters = [(&raw mut arguments).cast::<c_void>()];
    let loaded = kernels.function(function);
    // SAFETY: `kernels` keeps the function loaded, and its one parameter is laid out as `A`. The
    // caller vouches for the rest.
    unsafe {
        launch_function(
            stream,
            (function.name, loaded),
            grid,
            kernels.overlap() && grid.overlaps,
            &mut parameters,
        )
    }
}

/// Enqueues one launch of a function. cudarc cannot: its launches have no attributes.
///
/// # Safety
///
/// There must be a pointer for each of the function's parameters, to a value of its type, and the
/// kernel must be safe to run with them. They are copied before this returns.
pub(crate) unsafe fn launch_function(
    stream: &CudaStream,
    (name, function): (&str, &CudaFunction),
    grid: Grid,
    overlap: bool,
    parameters: &mut [*mut c_void],
) -> Result<()> {
    let failed = |error| driver_error(&format!("launching {name}"), error);
    stream.context().bind_to_thread().map_err(failed)?;
    let mut attributes = [OVERLAP];
    let config = sys::CUlaunchConfig {
        gridDimX: grid.blocks,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: grid.threads,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: grid.shared_bytes,
        hStream: stream.cu_stream(),
        attrs: attributes.as_mut_ptr(),
        numAttrs: u32::from(overlap),
    };
    let function = function.cu_function();
    // SAFETY: the stream's context is current, the function is loaded, and the driver only reads
    // the attributes. The caller vouches for the rest.
    unsafe { sys::cuLaunchKernelEx(&config, function, parameters.as_mut_ptr(), ptr::null_mut()) }
        .result()
        .map_err(failed)
}
