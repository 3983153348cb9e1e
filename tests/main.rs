//! The tests of the library, in one binary; each file is named for the property it holds.

mod axis;
#[cfg(feature = "cuda")]
mod bad_days_on_the_gpu;
#[cfg(feature = "cuda")]
mod bad_input;
mod collect;
mod compaction;
#[cfg(feature = "cuda")]
mod compaction_on_the_gpu;
mod concat;
mod distinct;
mod emulated;
#[cfg(feature = "cuda")]
mod every_kernel_compiles;
mod golden;
mod histogram;
#[cfg(feature = "cuda")]
mod histograms_on_the_gpu;
#[cfg(feature = "cuda")]
mod joined_on_the_gpu;
mod laws;
#[cfg(feature = "cuda")]
mod layer_on_the_gpu;
mod math;
mod merge;
#[cfg(feature = "testing")]
mod operator_laws;
mod promises;
#[cfg(feature = "cuda")]
mod promises_on_the_gpu;
mod reverse;
mod rooms;
mod same_bits_on_the_cpu;
#[cfg(feature = "cuda")]
mod same_bits_on_the_gpu;
mod scatter;
mod search;
mod segmented;
mod segmented_sort;
mod select;
mod slices;
mod sort;
mod sources;
#[cfg(feature = "cuda")]
mod sources_on_the_gpu;
mod statistics;
#[cfg(feature = "cuda")]
mod statistics_on_the_gpu;
mod streams;
#[cfg(feature = "cuda")]
mod streams_of_the_caller;
#[cfg(feature = "cuda")]
mod streams_on_the_gpu;
mod support;
mod top;
mod where_rust_panics;
#[cfg(feature = "cuda")]
mod workspaces_on_the_gpu;

/// The emulator, as the tests use it.
mod emulator {
    pub(crate) use crate::support::emulator::Toolchain;
    pub(crate) use warpfold_emulator::{Argument, Grid, Module, Script, Tally, address, base_seed};
}
