//! What the emulator (`emulator/`) shows about the kernels.

mod cases;
mod collect;
mod counters;
mod every_kernel;
mod harder;
mod histogram;
mod histogram_counters;
mod layer;
pub(crate) mod math;
mod select;
mod sources;
mod statistics;
mod weighted;
mod workspace;
