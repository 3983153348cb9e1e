//! Search in sorted data: counts of what comes before, one number after the other, by the order.

mod emulated;
pub(crate) mod host;
