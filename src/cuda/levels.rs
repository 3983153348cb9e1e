//! The levels engine: from its plan to launches on a stream.

use super::kernels::Loaded;
use super::launch::{Grid, blocks, launch};
use crate::Result;
use crate::engine::{Layouts, Plan, Step};
use crate::render::{Arguments, Function, LevelArguments, WorkspaceArguments};
use crate::source::SliceArguments;
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
    /// Whether it is a scan from the last item on.
    pub(crate) reverse: bool,
}

/// Enqueues the launches of `plan`, and nothing else.
///
/// # Safety
///
/// The addresses must be valid for the plan's lengths, in the stream's context, until the launches
/// are done; nothing else may write to them meanwhile. `kernels` must be those of the plan's types.
pub(crate) unsafe fn enqueue<S: Copy, A: Copy>(
    kernels: &Loaded,
    stream: &CudaStream,
    plan: &Plan,
    layouts: Layouts,
    call: &Call<S, A>,
) -> Result<()> {
    let layouts = match call.reverse {
        false => layouts,
        true => layouts.in_reverse(),
    };
    let sums = layouts.has_functions_of_sums();
    each_launch(plan, call.workspace.address, &mut |launch| {
        let Launched {
            function,
            grid,
            length,
            level,
            above,
        } = launch;
        let seeded = u32::from(call.seeded);
        // SAFETY: the arguments are what the function takes; the caller vouches for the addresses.
        unsafe {
            match level {
                None => {
                    let arguments = LevelArguments {
                        source: call.source,
                        length,
                        out: call.output,
                        above,
                        init: call.init,
                        seeded,
                        inclusive: u32::from(call.inclusive),
                    };
                    run(kernels, stream, function.function(false), grid, arguments)
                }
                Some(address) => {
                    let arguments = LevelArguments {
                        source: SliceArguments { address },
                        length,
                        out: address,
                        above,
                        init: call.init,
                        seeded,
                        inclusive: 1,
                    };
                    run(kernels, stream, function.function(sums), grid, arguments)
                }
            }
        }
    })
}

/// One launch of a plan.
struct Launched {
    function: Step,
    grid: Grid,
    length: u64,
    /// Where the level lies that is read, unless it is the input.
    level: Option<u64>,
    /// Where the level above lies; 0 if there is none.
    above: u64,
}

/// Calls `enqueue` with the launches of a plan whose levels lie in a workspace. It is compiled once
/// for all types.
fn each_launch(
    plan: &Plan,
    workspace: u64,
    enqueue: &mut dyn FnMut(Launched) -> Result<()>,
) -> Result<()> {
    let address = |level: usize| workspace + plan.offset(level) as u64;
    for launch in plan.launches().filter(|launch| launch.blocks > 0) {
        let (level, length) = (launch.level, plan.length(launch.level));
        let above = level + 1;
        enqueue(Launched {
            function: launch.step,
            grid: Grid::new(blocks(launch.blocks, length)?, launch.threads, 0),
            length,
            level: (level > 0).then(|| address(level)),
            above: if above < plan.levels() {
                address(above)
            } else {
                0
            },
        })?;
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
