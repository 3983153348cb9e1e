//! The launches of segmented reductions, scans and expansions, and what they say of themselves.

// Only launches read all of it.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

use super::kernel::{EXPAND, FINISH, REDUCE, SCAN, SegmentedPolicy, expand_grid};
use crate::engine::candidates::Blocks;
use crate::engine::{Explanation, HEADER_BYTES, Launched, Machine, accumulator_layout, sizes};
use crate::{Element, Error, Result};

/// The most items of a call: numbers of units have 32 bits.
const MOST_ITEMS: u64 = 1 << 38;

/// So many items of so many segments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) len: usize,
    pub(crate) count: usize,
}

impl Extent {
    /// # Errors
    ///
    /// [`Error::Items`] if there are more items than units can be counted of.
    pub(crate) fn check(self) -> Result<()> {
        let (items, most) = (self.len, MOST_ITEMS);
        match items as u64 > most {
            true => Err(Error::Items { items, most }),
            false => Ok(()),
        }
    }

    fn given(self) -> (String, u64) {
        let given = format!("{} items in {} segments", self.len, self.count);
        (given, self.len as u64)
    }
}

impl SegmentedPolicy {
    /// Blocks that have a tile each.
    fn tile_blocks(self, of: Extent) -> Blocks {
        Blocks::new(self.tiles(of.len, of.count), 32 * self.warps, 0)
    }

    /// The launches of a reduction: of tiles, and of what they leave of long segments.
    pub(crate) fn reduce_launches(
        self,
        of: Extent,
        multiprocessors: u32,
    ) -> impl Iterator<Item = Launched> {
        let there = of.count > 0;
        let tiles = there.then(|| (REDUCE, self.tile_blocks(of)));
        let units = (there && self.has_long(of.len)).then(|| {
            let threads = 32 * self.finish_warps;
            let groups = u64::from(threads / 8);
            let most = 2 * u64::from(multiprocessors);
            let blocks = self.most_long(of.len).div_ceil(groups).min(most);
            (FINISH, Blocks::new(blocks, threads, 0))
        });
        tiles.into_iter().chain(units)
    }

    /// The launch of a scan.
    pub(crate) fn scan_launch(self, of: Extent) -> Option<Launched> {
        (of.len > 0).then(|| (SCAN, self.tile_blocks(of)))
    }

    /// The bytes of a workspace for a reduction of so many items, whose sums have so many bytes.
    pub(crate) fn reduce_bytes_for(self, sum_bytes: usize, items: usize) -> usize {
        match self.has_long(items) {
            true => (self.scratch_for(sum_bytes, HEADER_BYTES as u64, items)).end as usize,
            false => HEADER_BYTES,
        }
    }

    /// What a reduction does.
    pub(crate) fn explain_reduce(
        self,
        sum_bytes: usize,
        of: Extent,
        (item_bytes, multiprocessors): (usize, u32),
    ) -> Result<Explanation> {
        of.check()?;
        let why = match self.has_long(of.len) {
            true => format!("a segment may have more than {} items", self.unit),
            false => format!("no segment has more than {} items", self.unit),
        };
        let launches = self.reduce_launches(of, multiprocessors);
        let bytes = self.reduce_bytes_for(sum_bytes, of.len);
        let name = "segmented reduce";
        let said = Explanation::new(name, of.given(), ("tiles", why), launches, bytes)?;
        let sum = ("bytes of a sum", sum_bytes.to_string());
        Ok(said.depending_on(sizes(item_bytes, multiprocessors).into_iter().chain([sum])))
    }

    /// What a scan does.
    pub(crate) fn explain_scan(
        self,
        sum_bytes: usize,
        of: Extent,
        item_bytes: usize,
    ) -> Result<Explanation> {
        of.check()?;
        let why = "one launch scans all segments, short and long".to_owned();
        let bytes = self.scan_bytes_for(sum_bytes, of.len);
        let launch = self.scan_launch(of);
        let name = "segmented scan";
        let said = Explanation::new(name, of.given(), ("tiles", why), launch, bytes)?;
        Ok(said.depending_on([
            ("bytes of an item", item_bytes.to_string()),
            ("bytes of a sum", sum_bytes.to_string()),
        ]))
    }
}

/// The launch of an expansion.
pub(super) fn expand_launch(of: Extent) -> Option<Launched> {
    let (tiles, threads) = expand_grid(of.len, of.count);
    (of.len > 0).then(|| (EXPAND, Blocks::new(tiles, threads, 0)))
}

/// What an expansion does.
///
/// # Errors
///
/// [`Error::Items`] if there are more than 2^38 items, [`Error::Codegen`] if a grid cannot hold so
/// many tiles.
pub fn explain_expand(len: usize, count: usize) -> Result<Explanation> {
    let of = Extent { len, count };
    of.check()?;
    let why = "one launch writes all items".to_owned();
    let launch = expand_launch(of);
    Explanation::new("expand", of.given(), ("tiles", why), launch, 0)
}

/// What a reduction of `count` segments of a slice of `len` items does on a GPU.
///
/// # Errors
///
/// [`Error::Items`] if there are more than 2^38 items, [`Error::Codegen`] if a grid cannot hold so
/// many tiles.
pub fn explain_segmented_reduce<T: Element>(
    machine: Machine,
    len: usize,
    count: usize,
) -> Result<Explanation> {
    let (policy, sum_bytes) = (SegmentedPolicy::of::<T>(), accumulator_layout::<T>().size());
    let of = Extent { len, count };
    policy.explain_reduce(sum_bytes, of, (size_of::<T>(), machine.multiprocessors))
}

/// What a scan of `count` segments of a slice of `len` items does on a GPU.
///
/// # Errors
///
/// [`Error::Items`] if there are more than 2^38 items, [`Error::Codegen`] if a grid cannot hold so
/// many tiles.
pub fn explain_segmented_scan<T: Element>(len: usize, count: usize) -> Result<Explanation> {
    let (policy, sum_bytes) = (SegmentedPolicy::of::<T>(), accumulator_layout::<T>().size());
    policy.explain_scan(sum_bytes, Extent { len, count }, size_of::<T>())
}
