//! Select: the items that a predicate holds for, in their order.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod kernel;
