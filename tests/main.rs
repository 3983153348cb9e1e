//! The tests of the library, in one binary: a folder for each room of `src/`, and a file for each
//! property that holds for all.

mod axis;
#[cfg(feature = "cuda")]
mod bad_input;
#[cfg(feature = "cuda")]
mod busy_gpu;
mod collect;
mod distinct;
mod documents;
mod engines;
#[cfg(feature = "cuda")]
mod every_kernel_compiles;
mod explained;
#[cfg(feature = "cuda")]
mod explained_calls;
#[cfg(feature = "cuda")]
mod explained_on_the_gpu;
#[cfg(feature = "cuda")]
mod explained_without_gpus;
mod golden;
mod histogram;
mod laws;
#[cfg(feature = "cuda")]
mod level_one_on_the_gpu;
mod math;
mod merge;
mod modes;
#[cfg(feature = "testing")]
mod operator_laws;
mod promises;
#[cfg(feature = "cuda")]
mod promises_on_the_gpu;
mod reverse;
mod rooms;
mod scatter;
mod search;
mod segmented;
mod segmented_sort;
mod select;
mod shards;
mod sort;
mod sources;
mod statistics;
mod streams;
#[cfg(feature = "cuda")]
mod streams_of_the_caller;
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
