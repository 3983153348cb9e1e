//! The blocks of scatters, for all GPUs.
//!
//! Measured: an NVIDIA H200, 2026-11-29, as a whole, by `bench-gpu scatter`. Not measured alone.

/// The threads of a block.
pub const THREADS: u32 = 256;
