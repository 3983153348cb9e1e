//! Sort: the standard library's stable sort by the same order, on every backend.

mod by_key;
pub(crate) mod cases;
#[cfg(feature = "cuda")]
mod compiled;
mod cpu;
pub(crate) mod emulated;
#[cfg(feature = "cuda")]
mod gpu;
