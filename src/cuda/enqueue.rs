//! From a plan to launches on a stream.

use super::driver_error;
use super::kernels::Kernels;
use crate::codegen::{Kernel, Plan, ReducePlan, ScanPlan, WavePlan, WavePolicy};
use crate::{Element, Error, Result};
use cudarc::driver::{CudaStream, DeviceRepr, LaunchConfig, PushKernelArg};

/// A kernel's argument of an element type, passed by value.
#[repr(transparent)]
struct Value<T>(T);

// SAFETY: an element has the same layout in CUDA, and every bit pattern is a value.
unsafe impl<T: Element> DeviceRepr for Value<T> {}

/// Addresses in device memory and values of one call. `input` may equal `output`.
pub(super) struct Call<A> {
    pub(super) input: u64,
    pub(super) output: u64,
    /// A multiple of 16; as large as the plan asks.
    pub(super) workspace: u64,
    /// What comes first; or, unless `seeded`, the identity, which is shown but not combined.
    pub(super) init: A,
    pub(super) seeded: bool,
    pub(super) inclusive: bool,
}

/// Enqueues the launches of `plan`, and nothing else.
///
/// # Safety
///
/// The addresses must be valid for the plan's lengths, in the stream's context, until the launches are
/// done; nothing else may write to them meanwhile. `kernels` must be those of the plan's types.
pub(super) unsafe fn enqueue<A: Element>(
    kernels: &Kernels,
    stream: &CudaStream,
    plan: &Plan,
    call: &Call<A>,
) -> Result<()> {
    let level = |level: usize, at_zero: u64| match level {
        0 => at_zero,
        level => call.workspace + plan.offset(level) as u64,
    };
    let init = Value(call.init);
    let seeded = u32::from(call.seeded);
    for launch in plan.launches().filter(|launch| launch.blocks > 0) {
        let input = level(launch.level, call.input);
        let output = level(launch.level, call.output);
        let length = plan.length(launch.level);
        let above = if launch.level + 1 < plan.levels() {
            level(launch.level + 1, 0)
        } else {
            0
        };
        let inclusive = u32::from(call.inclusive || launch.level > 0);

        let sums = level(1, 0);
        let mut builder = stream.launch_builder(kernels.function(launch.kernel, launch.level));
        match launch.kernel {
            Kernel::ReduceTiles => builder.arg(&input).arg(&above),
            Kernel::ReduceFinish => builder
                .arg(&input)
                .arg(&length)
                .arg(&sums)
                .arg(&output)
                .arg(&init)
                .arg(&seeded),
            Kernel::ScanTiles => builder
                .arg(&input)
                .arg(&output)
                .arg(&length)
                .arg(&above)
                .arg(&init)
                .arg(&seeded)
                .arg(&inclusive),
            Kernel::ReduceShort | Kernel::ReduceOnce | Kernel::ScanOnce | Kernel::ScanWave => {
                unreachable!("a plan of levels has no such kernel")
            }
        };
        let blocks = grid(launch.blocks, length)?;
        let shape = LaunchConfig {
            grid_dim: (blocks, 1, 1),
            block_dim: (launch.threads, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the arguments match the kernel's parameters, in the order and types that the templates
        // declare; the caller vouches for the addresses.
        unsafe { builder.launch(shape) }
            .map_err(|error| driver_error(&format!("launching {:?}", launch.kernel), error))?;
    }
    Ok(())
}

/// Enqueues the one launch of a reduction by [`Engine::Tiles`](crate::codegen::Engine::Tiles).
///
/// # Safety
///
/// As for [`enqueue`]; besides, the start of the workspace must be as a launch left it, or zero.
pub(super) unsafe fn enqueue_reduce<A: Element>(
    kernels: &Kernels,
    stream: &CudaStream,
    plan: &ReducePlan,
    length: usize,
    call: &Call<A>,
) -> Result<()> {
    let (length, init) = (length as u64, Value(call.init));
    let seeded = u32::from(call.seeded);
    let mut builder = stream.launch_builder(kernels.function(plan.kernel, 0));
    match plan.kernel {
        Kernel::ReduceShort => builder
            .arg(&call.input)
            .arg(&length)
            .arg(&call.output)
            .arg(&call.workspace)
            .arg(&init)
            .arg(&seeded),
        _ => builder
            .arg(&call.input)
            .arg(&length)
            .arg(&call.output)
            .arg(&call.workspace)
            .arg(&init)
            .arg(&seeded)
            .arg(&plan.log_batches),
    };
    let shape = LaunchConfig {
        grid_dim: (plan.blocks, 1, 1),
        block_dim: (plan.threads, 1, 1),
        shared_mem_bytes: 0,
    };
    // SAFETY: the arguments match the kernel's parameters, in the order and types that the template
    // declares; the caller vouches for the addresses.
    unsafe { builder.launch(shape) }
        .map_err(|error| driver_error(&format!("launching {:?}", plan.kernel), error))?;
    Ok(())
}

/// Enqueues the one launch of a scan by [`Engine::Tiles`](crate::codegen::Engine::Tiles).
///
/// # Safety
///
/// As for [`enqueue`]; besides, the start of the workspace must be as a launch left it, or zero.
pub(super) unsafe fn enqueue_tiles<A: Element>(
    kernels: &Kernels,
    stream: &CudaStream,
    plan: &ScanPlan,
    length: usize,
    call: &Call<A>,
) -> Result<()> {
    if length == 0 {
        return Ok(());
    }
    let blocks = grid(plan.blocks, length as u64)?;
    let (length, init) = (length as u64, Value(call.init));
    let (seeded, inclusive) = (u32::from(call.seeded), u32::from(call.inclusive));
    let by_ticket = u32::from(plan.by_ticket);
    let mut builder = stream.launch_builder(kernels.function(Kernel::ScanOnce, 0));
    builder
        .arg(&call.input)
        .arg(&call.output)
        .arg(&length)
        .arg(&call.workspace)
        .arg(&init)
        .arg(&seeded)
        .arg(&inclusive)
        .arg(&by_ticket);
    let shape = LaunchConfig {
        grid_dim: (blocks, 1, 1),
        block_dim: (32 * plan.warps, 1, 1),
        shared_mem_bytes: 0,
    };
    // SAFETY: the arguments match the kernel's parameters, in the order and types that the template
    // declares; the caller vouches for the addresses.
    unsafe { builder.launch(shape) }.map_err(|error| driver_error("launching ScanOnce", error))?;
    Ok(())
}

/// The size of a grid, if there can be one.
fn grid(blocks: u64, length: u64) -> Result<u32> {
    u32::try_from(blocks)
        .ok()
        .filter(|&blocks| blocks <= i32::MAX as u32)
        .ok_or_else(|| Error::Codegen(format!("{length} elements are more than a grid can hold")))
}

/// Enqueues the one launch of a scan by the wave engine.
///
/// # Safety
///
/// As for [`enqueue`]; besides, the addresses of input and output must be multiples of 16 unless the kernels' policy says that they are
/// anywhere, and the start of the workspace as a launch of this engine left it, or zero.
pub(super) unsafe fn enqueue_wave<A: Element>(
    kernels: &Kernels,
    stream: &CudaStream,
    plan: &WavePlan,
    length: usize,
    call: &Call<A>,
) -> Result<()> {
    let blocks = plan
        .tiles(call.inclusive)
        .min(u64::from(kernels.multiprocessors()));
    if length == 0 {
        return Ok(());
    }
    let (length, init) = (length as u64, Value(call.init));
    let (seeded, inclusive) = (u32::from(call.seeded), u32::from(call.inclusive));
    let mut builder = stream.launch_builder(kernels.function(Kernel::ScanWave, 0));
    builder
        .arg(&call.input)
        .arg(&call.output)
        .arg(&length)
        .arg(&call.workspace)
        .arg(&init)
        .arg(&seeded)
        .arg(&inclusive);
    let shape = LaunchConfig {
        grid_dim: (blocks as u32, 1, 1),
        block_dim: (plan.threads(), 1, 1),
        shared_mem_bytes: WavePolicy::SHARED_BYTES,
    };
    // SAFETY: the arguments match the kernel's parameters, in the order and types that the template
    // declares; the caller vouches for the addresses.
    unsafe { builder.launch(shape) }.map_err(|error| driver_error("launching ScanWave", error))?;
    Ok(())
}
