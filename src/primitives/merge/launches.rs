//! The launches of merges and merge sorts, and what they say of themselves.

// Only launches read all of it.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

use super::kernel::{MERGE, MergeShape, SORT_RUNS, SORT_TILES};
use crate::engine::candidates::Blocks;
use crate::engine::{Explanation, Launched};
use crate::primitives::sort::Sortable;
use crate::{Element, Result};

impl MergeShape {
    fn tile_blocks(self, len: usize) -> Blocks {
        Blocks::new(self.tiles(len), self.threads(), self.tile_bytes())
    }

    /// The launch of a merge of two arrays, which have so many items together.
    pub(super) fn merge_launch(self, len: usize) -> Option<Launched> {
        (len > 0).then(|| (MERGE.name, self.tile_blocks(len)))
    }

    /// The launches of a sort of so many items: of tiles, and of what merges them.
    pub(super) fn sort_launches(self, len: usize) -> impl Iterator<Item = Launched> {
        let blocks = self.tile_blocks(len);
        let tiles = (len > 0).then_some((SORT_TILES.name, blocks));
        let passes = (0..self.passes(len)).map(move |_| (SORT_RUNS.name, blocks));
        tiles.into_iter().chain(passes)
    }

    /// What a merge does.
    pub(super) fn explain_merge(self, len: usize) -> Result<Explanation> {
        let why = "each block finds its part of both arrays".to_owned();
        let given = (format!("{len} items of both arrays"), len as u64);
        let launch = self.merge_launch(len);
        let said = Explanation::new("merge", given, ("tiles", why), launch, 0)?;
        Ok(said.depending_on([("bytes of an item", self.item_bytes().to_string())]))
    }

    /// What a sort by a comparison does, with so many bytes of a workspace.
    pub(super) fn explain_sort(self, len: usize, workspace_bytes: usize) -> Result<Explanation> {
        let why = match self.passes(len) {
            0 => "one tile holds all items".to_owned(),
            1 => "two tiles hold all items, and are merged".to_owned(),
            passes => format!("{} tiles are merged {passes} times", self.tiles(len)),
        };
        let (given, chosen) = ((format!("{len} items"), len as u64), ("tiles", why));
        let launches = self.sort_launches(len);
        let said = Explanation::new(
            "sort by a comparison",
            given,
            chosen,
            launches,
            workspace_bytes,
        )?;
        Ok(said.depending_on([("bytes of an item", self.item_bytes().to_string())]))
    }
}

/// What a merge of two arrays of `len` items together does on a GPU.
///
/// # Errors
///
/// Those of a call with so many items.
pub fn explain_merge<K: Sortable>(len: usize) -> Result<Explanation> {
    MergeShape::of(size_of::<K>()).explain_merge(len)
}

/// What a sort of `len` items by a comparison does on a GPU.
///
/// # Errors
///
/// Those of a call with so many items.
pub fn explain_sort_by<T: Element>(len: usize) -> Result<Explanation> {
    let bytes = sort_bytes(size_of::<T>(), len);
    MergeShape::of(size_of::<T>()).explain_sort(len, bytes)
}

/// The bytes of a workspace for a sort by a comparison: room for all items.
pub(super) fn sort_bytes(item_bytes: usize, len: usize) -> usize {
    (crate::engine::HEADER_BYTES + 256).saturating_add(len.saturating_mul(item_bytes))
}
