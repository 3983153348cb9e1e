//! The primitives, a room each. This list is the only one.

pub(crate) mod histogram;
pub(crate) mod reduce;
pub(crate) mod scan;
pub(crate) mod select;
