//! Top-k: the beginning of the standard library's stable sort, on every backend.

#[cfg(feature = "cuda")]
mod compiled;
mod devices;
mod emulated;
#[cfg(feature = "cuda")]
mod gpu;
mod nth_emulated;
mod quantiles;
