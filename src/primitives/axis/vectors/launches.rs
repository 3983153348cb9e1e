//! The launch of segments of vectors, and what it says of itself.

// Only launches read all of it.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

use super::results_of;
use crate::Result;
use crate::engine::candidates::Blocks;
use crate::engine::{Explanation, Launched};
use crate::primitives::axis::kernel::SEGMENTS;
use crate::primitives::axis::plan::AxisPolicy;

/// The launch for so many results, by blocks of so many threads.
pub(super) fn launch_of(threads: u32, results: u64) -> Option<Launched> {
    let blocks = Blocks::new(results.div_ceil(threads.into()), threads, 0);
    (results > 0).then_some((SEGMENTS, blocks))
}

/// What a call does by blocks of so many threads.
pub(super) fn explain(threads: u32, count: usize, inner: usize) -> Result<Explanation> {
    let results = results_of(count, inner)? as u64;
    let why = "each column of a segment has a thread".to_owned();
    let given = format!("{count} segments of rows of {inner} items");
    let (given, launch) = ((given, results), launch_of(threads, results));
    let name = "segmented reduce of vectors";
    Explanation::new(name, given, ("columns", why), launch, 0)
}

/// What a reduction of `count` segments of rows of `inner` items does on a GPU, whatever the items
/// and the number of rows.
///
/// It depends on these numbers alone.
///
/// # Errors
///
/// [`Error::Axis`](crate::Error::Axis) if there are more results than can be counted,
/// [`Error::Codegen`](crate::Error::Codegen) if a grid cannot hold a thread for each.
pub fn explain_segmented_reduce_vectors(count: usize, inner: usize) -> Result<Explanation> {
    explain(AxisPolicy::THREADS, count, inner)
}
