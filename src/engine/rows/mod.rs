//! *Rows*: everything in one launch, in the registers of blocks. [`chunks`] cuts reductions up, and
//! [`tiles`] what has a result for each item.

pub(crate) mod chunks;
mod policy;
pub(crate) mod tiles;

pub(in crate::engine) use policy::run_of;
pub use policy::{ReducePolicy, RowPolicy, Way};
