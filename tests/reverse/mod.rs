//! Scans from the last item on: bit for bit the scan of the reversed input, written in reverse. The
//! kernels run in `tests/engines/emulated/every_kernel.rs`.

mod host;
#[cfg(feature = "cuda")]
mod on_the_gpu;
