//! Axes: each lane gets, bit for bit, what the law gives for it alone; on the CPU, in the emulator
//! and on a GPU.

mod cases;
#[cfg(feature = "cuda")]
mod compiled;
mod emulated;
mod host;
mod into;
mod moments;
#[cfg(feature = "cuda")]
mod on_the_gpu;
mod positions;
mod vectors;
