//! Segments: each gets, bit for bit, what the law gives for it alone; on the CPU, in the emulator
//! and on a GPU.

mod cases;
mod emulated;
mod expansion;
mod host;
#[cfg(feature = "cuda")]
mod keys_on_the_gpu;
#[cfg(feature = "cuda")]
mod on_the_gpu;
mod ranges;
mod scans_emulated;
mod scans_host;
#[cfg(feature = "cuda")]
mod scans_on_the_gpu;
mod statistics;
