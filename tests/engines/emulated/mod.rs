//! What the emulator (`emulator/`) shows about the kernels of reductions and scans.

pub(crate) mod cases;
mod counters;
mod every_kernel;
mod layer;
mod long_shapes;
mod workspace;
