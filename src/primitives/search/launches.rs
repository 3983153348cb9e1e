//! What the launch of a search says of itself. It is that of a collect.

use super::Bounds;
use crate::engine::{Explanation, Machine, RowPolicy};
use crate::primitives::collect::kernel::Collect;
use crate::primitives::collect::launches::launch_of;
use crate::primitives::sort::Sortable;
use crate::source::Slice;
use crate::{Element, Result};

/// What a search for so many needles does.
pub(super) fn explain<K: Element>(policy: RowPolicy, needles: usize) -> Result<Explanation> {
    let why = "each lane searches for its needles by itself".to_owned();
    let given = (format!("{needles} needles"), needles as u64);
    let launch = launch_of(policy, needles);
    let said = Explanation::new("search", given, ("rows", why), launch, 0)?;
    Ok(said.depending_on([("bytes of a needle", size_of::<K>().to_string())]))
}

/// What a search for so many needles in a sorted slice does on a GPU, whatever the slice's length.
///
/// It depends on the bytes of a needle.
///
/// # Errors
///
/// Those of a call with so many needles.
pub fn explain_search<K: Sortable>(machine: Machine, needles: usize) -> Result<Explanation> {
    let policy = Collect::<Bounds<K, Slice<K>>>::rows_policy(machine.capability);
    explain::<K>(policy, needles)
}
