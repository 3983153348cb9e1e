//! Histograms, weighted ones too: on the CPU, in the emulator and on a GPU.

mod counters_emulated;
mod emulated;
mod host;
#[cfg(feature = "cuda")]
mod on_the_gpu;
mod weighted_emulated;
