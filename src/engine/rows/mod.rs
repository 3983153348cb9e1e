//! *Rows*: everything in one launch, in the registers of blocks. [`chunks`] cuts reductions up,
//! [`tiles`] what has a result for each item, and [`piece`] a piece of a stream.

pub(crate) mod chunks;
pub(crate) mod piece;
mod policy;
pub(crate) mod tiles;

pub(in crate::engine) use policy::run_of;
pub use policy::{ReducePolicy, RowPolicy, Way};
