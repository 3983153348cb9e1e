//! The launches of segmented sorts, and what they say of themselves.

// Only launches read all of it.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

use super::kernel::{MERGE_NAMES, SegmentedSortShape, TILES_NAMES, shape_of};
use super::tuning::MERGE_BLOCKS;
use crate::Result;
use crate::engine::candidates::Blocks;
use crate::engine::{Explanation, Launched, Machine};
use crate::primitives::sort::Sortable;

impl SegmentedSortShape {
    /// The launches: of tiles, and of what merges those that a segment crosses.
    pub(super) fn launches(
        self,
        len: usize,
        with_places: bool,
        multiprocessors: u32,
    ) -> impl Iterator<Item = Launched> {
        let form = usize::from(with_places);
        let (tiles, shared) = (self.tiles(len) as u64, self.shared_bytes());
        let sort = (
            TILES_NAMES[form],
            Blocks::new(tiles, self.threads(), shared),
        );
        // Blocks share the tiles out: most have nothing to merge.
        let most = u64::from(MERGE_BLOCKS) * u64::from(multiprocessors);
        let merging = Blocks::new(tiles.min(most), self.merge_threads(), shared);
        let merge = (0..self.levels(len)).map(move |_| (MERGE_NAMES[form], merging));
        (len > 0).then_some(sort).into_iter().chain(merge)
    }

    /// What a call does.
    pub(super) fn explain(
        self,
        len: usize,
        with_places: bool,
        multiprocessors: u32,
    ) -> Result<Explanation> {
        let why = match self.levels(len) {
            0 => "one tile holds all items".to_owned(),
            _ => format!(
                "{} tiles hold all items, and segments may cross them",
                self.tiles(len)
            ),
        };
        let (given, chosen) = ((format!("{len} items"), len as u64), ("tiles", why));
        let launches = self.launches(len, with_places, multiprocessors);
        let bytes = self.workspace_bytes(len);
        let said = Explanation::new("segmented sort", given, chosen, launches, bytes)?;
        Ok(said.depending_on([
            ("bytes of a key", self.key_bytes.to_string()),
            ("multiprocessors", multiprocessors.to_string()),
        ]))
    }
}

/// What a sort of segments of `len` items does on a GPU, whatever the segments.
///
/// # Errors
///
/// Those of a call with so many items.
pub fn explain_segmented_sort<K: Sortable>(machine: Machine, len: usize) -> Result<Explanation> {
    shape_of(size_of::<K>(), len).explain(len, false, machine.multiprocessors)
}
