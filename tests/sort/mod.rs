//! Sort: the standard library's stable sort by the same order, on every backend.

mod cases;
#[cfg(feature = "cuda")]
mod compiled;
mod cpu;
mod emulated;
#[cfg(feature = "cuda")]
mod gpu;
