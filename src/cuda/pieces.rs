//! What scans and folds of pieces of streams share on a GPU: where a piece in host memory is cut,
//! and a launch over a piece.

use super::Gpu;
use super::checks::check_call;
use super::kernels::Lazy;
use super::lanes::CHUNK_BYTES;
use super::launch::{Grid, launch};
use crate::Result;
use crate::cpu::Parts;
use crate::engine::{PieceLaunch, PieceTiles};
use crate::render::{Arguments, Function, WorkspaceArguments};
use std::ops::Range;

/// Where `len` elements from a position on are cut, to be copied.
pub(crate) fn chunks_of<T>(position: u64, len: usize) -> Vec<Range<usize>> {
    let chunk = 1 << (CHUNK_BYTES / size_of::<T>()).ilog2();
    Parts::new(position, len, chunk).ranges().collect()
}

impl Gpu {
    /// Enqueues a launch over a piece of `len` items. `arguments` makes what the kernel takes of
    /// the workspace and the tiles.
    ///
    /// # Safety
    ///
    /// The launch is planned for a kernel with such a function, and for such a piece. Apart from
    /// the workspace and the tiles, the kernel must be safe to run with the arguments, whose memory
    /// is this GPU's and freed on its stream.
    pub(crate) unsafe fn launch_piece<A: Arguments>(
        &self,
        planned: PieceLaunch<'_, Lazy>,
        function: &Function<A>,
        len: usize,
        arguments: impl FnOnce(WorkspaceArguments, PieceTiles) -> A,
    ) -> Result<()> {
        let grid = Grid::of(planned.blocks, len)?;
        let bytes = planned.workspace_bytes;
        let loaded = planned.kernel.get(self.context())?;
        self.with_workspace(bytes, |stream, workspace| {
            let workspace = check_call(self.context(), stream, &[], workspace, bytes)?;
            let arguments = arguments(workspace, planned.tiles);
            // SAFETY: the caller's; the workspace is as large as the plan asks. The stream keeps
            // calls and frees in order.
            unsafe { launch(loaded, stream, function, grid, arguments) }
        })
    }
}
