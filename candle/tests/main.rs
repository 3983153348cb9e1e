//! The operations beside plain programs: every dtype, every layout.

mod gpu;
mod gradients;
mod reductions;
mod sampling;
mod scans;
mod segments;
mod selections;
mod sorts;
mod support;
