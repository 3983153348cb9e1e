//! Functions such as `exp`: within their bounds, and the same bits everywhere.

pub(crate) mod emulated;
mod host;
