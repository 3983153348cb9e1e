//! Reductions and scans that are fed in pieces, on the host and on a GPU.

mod emulated;
pub(crate) mod host;
#[cfg(feature = "cuda")]
mod on_the_gpu;
