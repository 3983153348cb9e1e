//! One launch of a kernel on a stream.

use super::driver_error;
use super::kernels::Kernels;
use crate::Result;
use crate::codegen::Kernel;
use cudarc::driver::{CudaStream, sys};
use std::ffi::c_void;
use std::ptr;

/// The blocks of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    /// Dynamic shared memory of a block.
    pub(crate) shared_bytes: u32,
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

/// The arguments of [`launch`]: the addresses of these variables.
macro_rules! arguments {
    ($($variable:expr),*) => {
        &mut [$((&raw const $variable).cast_mut().cast::<std::ffi::c_void>()),*]
    };
}
pub(crate) use arguments;

/// Enqueues one launch. Not by cudarc: it cannot give a launch an attribute, and it collects the
/// arguments on the heap.
///
/// # Safety
///
/// `arguments` must point to values of the types of the kernel's parameters, in their order. More
/// values than parameters are allowed; the rest is ignored. The kernel must be safe to run with
/// them. The values are copied before this returns.
pub(crate) unsafe fn launch(
    kernels: &Kernels,
    stream: &CudaStream,
    kernel: Kernel,
    level: usize,
    grid: Grid,
    arguments: &mut [*mut c_void],
) -> Result<()> {
    let failed = |error| driver_error(&format!("launching {kernel:?}"), error);
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
        numAttrs: u32::from(kernels.overlap()),
    };
    let function = kernels.function(kernel, level).cu_function();
    // SAFETY: the stream's context is current, `kernels` keeps the function loaded, and the driver
    // only reads the attributes; the caller vouches for the rest.
    unsafe { sys::cuLaunchKernelEx(&config, function, arguments.as_mut_ptr(), ptr::null_mut()) }
        .result()
        .map_err(failed)
}
