//! Sort: the standard library's stable sort by the same order, on every backend.

mod by_key;
pub(crate) mod cases;
#[cfg(feature = "cuda")]
mod compiled;
mod devices;
pub(crate) mod emulated;
#[cfg(feature = "cuda")]
mod on_the_gpu;
