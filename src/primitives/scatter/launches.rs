//! The launches of a scatter, and what they say of themselves.

// Only launches read all of it.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

use super::kernel::{CLAIM, CLEAR, STORE};
use super::tuning::THREADS;
use crate::Result;
use crate::engine::candidates::Blocks;
use crate::engine::{Explanation, HEADER_BYTES, Launched};

/// The launches that store so many values in so many places.
pub(super) fn launches(len: usize, places: usize) -> impl Iterator<Item = Launched> {
    let blocks = |count: usize| Blocks::new((count as u64).div_ceil(THREADS.into()), THREADS, 0);
    let (of_places, of_values) = (blocks(places), blocks(len));
    let all = [(CLEAR, of_places), (CLAIM, of_values), (STORE, of_places)];
    (len > 0 && places > 0).then_some(all).into_iter().flatten()
}

/// The bytes of a workspace for so many places: an owner of each.
pub(super) fn workspace_bytes(places: usize) -> usize {
    HEADER_BYTES.saturating_add(places.saturating_mul(size_of::<u64>()))
}

/// What storing `len` values in `places` places by their indices does on a GPU.
///
/// # Errors
///
/// Those of a call with so many values.
pub fn explain_scatter(len: usize, places: usize) -> Result<Explanation> {
    let why = "each place finds its last value before it is stored".to_owned();
    let given = format!("{len} values in {places} places");
    let (given, bytes) = ((given, len.max(places) as u64), workspace_bytes(places));
    Explanation::new(
        "scatter",
        given,
        ("owners", why),
        launches(len, places),
        bytes,
    )
}
