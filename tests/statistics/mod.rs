//! Statistics: on the CPU, in the emulator and on a GPU.

mod emulated;
mod host;
#[cfg(feature = "cuda")]
mod on_the_gpu;
