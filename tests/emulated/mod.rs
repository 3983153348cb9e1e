//! What the emulator (`emulator/`) shows about the kernels.

mod cases;
mod counters;
mod every_kernel;
mod harder;
mod histogram;
mod layer;
mod select;
mod sources;
mod workspace;
