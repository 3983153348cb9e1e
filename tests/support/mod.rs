//! What the tests share: the sequential oracle, the test data, the operators, and the skips.

pub(crate) mod data;
pub(crate) mod operators;
pub(crate) mod oracle;
pub(crate) mod skips;

pub(crate) use skips::skip;
