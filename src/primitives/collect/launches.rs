//! The launch that stores items, and what it says of itself.

// Only launches read all of it.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

use super::kernel::{Collect, ROWS};
use crate::engine::candidates::Blocks;
use crate::engine::{Explanation, Launched, Machine, RowPolicy};
use crate::source::Form;
use crate::{Element, Result};

/// The launch for so many items.
pub(crate) fn launch_of(policy: RowPolicy, len: usize) -> Option<Launched> {
    let tile = policy.elements() * u64::from(policy.warps);
    let blocks = (len as u64).div_ceil(tile);
    (len > 0).then(|| (ROWS, Blocks::new(blocks, 32 * policy.warps, 0)))
}

/// What the launch does.
pub(super) fn explain(policy: RowPolicy, item_bytes: usize, len: usize) -> Result<Explanation> {
    let why = "warps read rows, and store them".to_owned();
    let given = (format!("{len} items"), len as u64);
    let launch = launch_of(policy, len);
    let said = Explanation::new("collect", given, ("rows", why), launch, 0)?;
    Ok(said.depending_on([("bytes of an item", item_bytes.to_string())]))
}

/// What storing `len` items of a source does on a GPU.
///
/// # Errors
///
/// Those of a call with so many items.
pub fn explain_collect<F: Form<Item: Element>>(
    machine: Machine,
    len: usize,
) -> Result<Explanation> {
    let policy = Collect::<F>::rows_policy(machine.capability);
    explain(policy, size_of::<F::Item>(), len)
}
