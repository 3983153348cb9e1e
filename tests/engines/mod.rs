//! The engines of reductions and scans: the bits of the sequential oracle, everywhere.

pub(crate) mod emulated;
#[cfg(feature = "cuda")]
mod layer_on_the_gpu;
#[cfg(feature = "cuda")]
mod on_the_gpu;
mod on_the_host;
