//! Top-k: the beginning of the standard library's stable sort, on every backend.

#[cfg(feature = "cuda")]
mod compiled;
mod devices;
mod emulated;
mod nth_emulated;
#[cfg(feature = "cuda")]
mod on_the_gpu;
mod quantiles;
