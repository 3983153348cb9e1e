//! What the emulator (`tests/emulator/`) shows about the kernels, and what it catches.

mod bad_compilers;
mod counters;
mod every_kernel;
mod layer;
mod planted_faults;
mod workspace;
