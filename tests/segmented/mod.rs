//! Segments: each gets, bit for bit, what the law gives for it alone; on the CPU, in the emulator
//! and on a GPU.

mod cases;
mod emulated;
mod expansion;
#[cfg(feature = "cuda")]
mod keys_on_the_gpu;
#[cfg(feature = "cuda")]
mod on_the_gpu;
mod on_the_host;
mod ranges;
mod scans_emulated;
#[cfg(feature = "cuda")]
mod scans_on_the_gpu;
mod scans_on_the_host;
mod statistics;
