//! What a run of the ladder reports, and how it is shown.

mod calls;
#[cfg(feature = "cuda")]
mod compiles;
mod pages;
mod reports;
mod support;
