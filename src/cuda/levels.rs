//! The levels engine: from its plan to launches on a stream.

use super::kernels::Loaded;
use super::launch::{Grid, blocks, launch};
use crate::engine::{Plan, has_functions_of_sums};
use crate::render::{Arguments, Function, LevelArguments, WorkspaceArguments};
use crate::source::{Form, SliceArguments};
use crate::{Element, Result};
use cudarc::driver::CudaStream;

/// What one call reads and writes. `S` is a form's arguments.
#[derive(Clone, Copy)]
pub(crate) struct Call<S, A> {
    pub(crate) source: S,
    /// The address of the results. They may replace the source.
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
pub(crate) unsafe fn enqueue<T: Element, F: Form<Item = T>>(
    kernels: &Loaded,
    stream: &CudaStream,
    plan: &Plan,
    call: &Call<F::Arguments, T::Accumulator>,
) -> Result<()> {
    let address = |level: usize| call.workspace.address + plan.offset(level) as u64;
    for launched in plan.launches().filter(|launch| launch.blocks > 0) {
        let (level, length) = (launched.level, plan.length(launched.level));
        let grid = Grid::new(blocks(launched.blocks, length)?, launched.threads, 0);
        let above = if level + 1 < plan.levels() {
            address(level + 1)
        } else {
            0
        };
        let seeded = u32::from(call.seeded);
        let inclusive = u32::from(call.inclusive || level > 0);
        // SAFETY: the arguments are what the function takes; the caller vouches for the addresses.
        unsafe {
            if level == 0 {
                let arguments = LevelArguments {
                    source: call.source,
                    length,
                    out: call.output,
                    above,
                    init: call.init,
                    seeded,
                    inclusive,
                };
                run(
                    kernels,
                    stream,
                    launched.step.function(false),
                    grid,
                    arguments,
                )?;
            } else {
                let arguments = LevelArguments {
                    source: SliceArguments {
                        address: address(level),
                    },
                    length,
                    out: address(level),
                    above,
                    init: call.init,
                    seeded,
                    inclusive,
                };
                let name = launched.step.function(has_functions_of_sums::<T, F>());
                run(kernels, stream, name, grid, arguments)?;
            }
        }
    }
    Ok(())
}

unsafe fn run<A: Arguments>(
    kernels: &Loaded,
    stream: &CudaStream,
    name: &'static str,
    grid: Grid,
    arguments: A,
) -> Result<()> {
    // SAFETY: the caller's.
    unsafe { launch(kernels, stream, &Function::new(name), grid, arguments) }
}
