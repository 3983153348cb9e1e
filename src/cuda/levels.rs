//! The levels engine: from its plan to launches on a stream.

use super::kernels::Kernels;
use super::launch::{Grid, arguments, launch};
use super::workspace::WorkspaceArguments;
use crate::codegen::{Kernel, Plan};
use crate::{Element, Error, Result};
use cudarc::driver::CudaStream;

/// Addresses in device memory and values of one call. `input` may equal `output`.
pub(crate) struct Call<A> {
    pub(crate) input: u64,
    pub(crate) output: u64,
    /// As large as the plan asks.
    pub(crate) workspace: WorkspaceArguments,
    /// What comes first. Unless `seeded`, it is the identity, which is shown but not combined.
    pub(crate) init: A,
    pub(crate) seeded: bool,
    pub(crate) inclusive: bool,
}

/// Enqueues the launches of `plan`, and nothing else.
///
/// # Safety
///
/// The addresses must be valid for the plan's lengths, in the stream's context, until the launches
/// are done; nothing else may write to them meanwhile. `kernels` must be those of the plan's types.
pub(crate) unsafe fn enqueue<A: Element>(
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
            Kernel::ReduceRows | Kernel::ScanRows | Kernel::ScanWave => {
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

/// The number of blocks of a grid, if there can be one.
pub(crate) fn blocks(blocks: u64, length: u64) -> Result<u32> {
    u32::try_from(blocks)
        .ok()
        .filter(|&blocks| blocks <= i32::MAX as u32)
        .ok_or_else(|| Error::Codegen(format!("{length} elements are more than a grid can hold")))
}
