//! Selects, partitions, positions, runs: on the CPU, in the emulator and on a GPU.

mod compaction;
mod emulated;
mod host;
#[cfg(feature = "cuda")]
mod on_the_gpu;
