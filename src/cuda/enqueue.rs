//! From a plan to launches on a stream.

use super::kernels::Kernels;
use super::launch::{Grid, arguments, launch};
use super::workspace::WorkspaceArguments;
use crate::codegen::{Kernel, Plan, ReducePlan, ScanPlan, WavePlan, WavePolicy};
use crate::{Element, Error, Result};
use cudarc::driver::CudaStream;

/// Addresses in device memory and values of one call. `input` may equal `output`.
pub(super) struct Call<A> {
    pub(super) input: u64,
    pub(super) output: u64,
    /// As large as the plan asks.
    pub(super) workspace: WorkspaceArguments,
    /// What comes first. Unless `seeded`, it is the identity, which is shown but not combined.
    pub(super) init: A,
    pub(super) seeded: bool,
    pub(super) inclusive: bool,
}

/// Enqueues the launches of `plan`, and nothing else.
///
/// # Safety
///
/// The addresses must be valid for the plan's lengths, in the stream's context, until the launches
/// are done; nothing else may write to them meanwhile. `kernels` must be those of the plan's types.
pub(super) unsafe fn enqueue<A: Element>(
    kernels: &Kernels,
    stream: &CudaStream,
    plan: &Plan,
    call: &Call<A>,
) -> Result<()> {
    let level = |level: usize, at_zero: u64| match level {
        0 => at_zero,
        level => call.workspace.address + plan.offset(level) as u64,
    };
    let seeded = u32::from(call.seeded);
    for step in plan.launches().filter(|launch| launch.blocks > 0) {
        let input = level(step.level, call.input);
        let output = level(step.level, call.output);
        let length = plan.length(step.level);
        let above = if step.level + 1 < plan.levels() {
            level(step.level + 1, 0)
        } else {
            0
        };
        let inclusive = u32::from(call.inclusive || step.level > 0);
        let sums = level(1, 0);
        let arguments: &mut [_] = match step.kernel {
            Kernel::ReduceTiles => arguments![input, above],
            Kernel::ReduceFinish => arguments![input, length, sums, output, call.init, seeded],
            Kernel::ScanTiles => {
                arguments![input, output, length, above, call.init, seeded, inclusive]
            }
            Kernel::ReduceOnce | Kernel::ScanOnce | Kernel::ScanWave => {
                unreachable!("a plan of levels has no such kernel")
            }
        };
        let grid = Grid {
            blocks: blocks(step.blocks, length)?,
            threads: step.threads,
            shared_bytes: 0,
        };
        // SAFETY: the arguments match the kernel's parameters, in the order and types that the
        // templates declare; the caller vouches for the addresses.
        unsafe { launch(kernels, stream, step.kernel, step.level, grid, arguments) }?;
    }
    Ok(())
}

/// Enqueues the one launch of a reduction by the rows engine (`Engine::Tiles`).
///
/// # Safety
///
/// As for [`enqueue`]; besides, the workspace must be a [`Workspace`](super::Workspace) that serves
/// the stream.
pub(super) unsafe fn enqueue_reduce<A: Element>(
    kernels: &Kernels,
    stream: &CudaStream,
    plan: &ReducePlan,
    length: usize,
    call: &Call<A>,
) -> Result<()> {
    let (length, seeded) = (length as u64, u32::from(call.seeded));
    let grid = Grid {
        blocks: plan.blocks,
        threads: plan.threads,
        shared_bytes: 0,
    };
    let arguments = arguments![
        call.input,
        length,
        call.output,
        call.workspace.address,
        call.workspace.key,
        call.init,
        seeded,
        plan.chunks,
        plan.log_chunk,
        plan.log_batches
    ];
    // SAFETY: the arguments match the kernel's parameters, in the order and types that the template
    // declares; the caller vouches for the addresses.
    unsafe { launch(kernels, stream, Kernel::ReduceOnce, 0, grid, arguments) }
}

/// Enqueues the one launch of a scan by the rows engine (`Engine::Tiles`).
///
/// # Safety
///
/// As for [`enqueue`]; besides, the workspace must be a [`Workspace`](super::Workspace) that serves
/// the stream.
pub(super) unsafe fn enqueue_tiles<A: Element>(
    kernels: &Kernels,
    stream: &CudaStream,
    plan: &ScanPlan,
    length: usize,
    call: &Call<A>,
) -> Result<()> {
    let grid = Grid {
        blocks: blocks(plan.blocks, length as u64)?,
        threads: 32 * plan.warps,
        shared_bytes: 0,
    };
    // SAFETY: the caller's.
    unsafe {
        enqueue_scan(
            kernels,
            stream,
            Kernel::ScanOnce,
            grid,
            length,
            call,
            plan.by_ticket,
        )
    }
}

/// Enqueues the one launch of a scan by the wave engine.
///
/// # Safety
///
/// As for [`enqueue`]. Also, input and output must start at multiples of 16, unless the kernels'
/// policy says `anywhere`; and the workspace must be a [`Workspace`](super::Workspace) that serves
/// the stream.
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
    let grid = Grid {
        blocks: blocks as u32,
        threads: plan.threads(),
        shared_bytes: WavePolicy::SHARED_BYTES,
    };
    // SAFETY: the caller's.
    unsafe { enqueue_scan(kernels, stream, Kernel::ScanWave, grid, length, call, false) }
}

/// Enqueues a kernel that scans in one launch.
///
/// # Safety
///
/// As for the engine's function above.
unsafe fn enqueue_scan<A: Element>(
    kernels: &Kernels,
    stream: &CudaStream,
    kernel: Kernel,
    grid: Grid,
    length: usize,
    call: &Call<A>,
    by_ticket: bool,
) -> Result<()> {
    if length == 0 {
        return Ok(());
    }
    let length = length as u64;
    let [seeded, inclusive, by_ticket] = [call.seeded, call.inclusive, by_ticket].map(u32::from);
    // ScanWave has all of these parameters but the last.
    let arguments = arguments![
        call.input,
        call.output,
        length,
        call.workspace.address,
        call.workspace.key,
        call.init,
        seeded,
        inclusive,
        by_ticket
    ];
    // SAFETY: the arguments match the kernel's parameters, in the order and types that the
    // templates declare; the caller vouches for the addresses.
    unsafe { launch(kernels, stream, kernel, 0, grid, arguments) }
}

/// The number of blocks of a grid, if there can be one.
fn blocks(blocks: u64, length: u64) -> Result<u32> {
    u32::try_from(blocks)
        .ok()
        .filter(|&blocks| blocks <= i32::MAX as u32)
        .ok_or_else(|| Error::Codegen(format!("{length} elements are more than a grid can hold")))
}
