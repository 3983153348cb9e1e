//! What is read: slices, maps, zips and their like, everywhere.

mod concat;
pub(crate) mod emulated;
mod host;
#[cfg(feature = "cuda")]
mod joined_on_the_gpu;
#[cfg(feature = "cuda")]
mod on_the_gpu;
mod slices;
