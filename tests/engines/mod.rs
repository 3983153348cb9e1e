//! The engines of reductions and scans: the bits of the sequential oracle, everywhere.

#[cfg(feature = "cuda")]
mod blocks_on_the_gpu;
pub(crate) mod emulated;
mod host;
#[cfg(feature = "cuda")]
mod large_on_the_gpu;
#[cfg(feature = "cuda")]
mod layer_on_the_gpu;
#[cfg(feature = "cuda")]
mod on_the_gpu;
#[cfg(feature = "cuda")]
mod reductions_on_the_gpu;
#[cfg(feature = "cuda")]
mod scans_on_the_gpu;
