//! The kernels of a segmented sort, and what they take.

use super::tuning::{BLOCKS, LONG_PART, MERGE_BLOCKS, WARPS, items_for};
use crate::definitions::Definitions;
use crate::engine::HEADER_BYTES;
use crate::primitives::segmented::Cut;
use crate::primitives::sort::{Kind, Sortable};
use crate::render::{Arguments, Function, Kernel, Named, Variables, arguments};

arguments! {
    /// What the kernels take.
    pub struct SegmentedSortArguments<C> {
        /// Where segments lie.
        pub segments: C => "Segments",
        /// The keys.
        pub keys: u64 => "Key*",
        /// Room for as many.
        pub room: u64 => "Key*",
        /// Where items stood in their segments.
        pub places: u64 => "u64*",
        /// Room for places, twice.
        pub place_rooms: u64 => "u8*",
        /// For each tile the segment that crosses its first position.
        pub crossings: u64 => "CrossingSegment*",
        /// The number of keys.
        pub length: u64 => "u64",
        /// `Order::code`.
        pub order: u32 => "u32",
        /// Runs of 2^level tiles are merged.
        pub level: u32 => "u32",
    }
}

/// The names of the functions: of keys alone, and with places.
pub(super) const TILES_NAMES: [&str; 2] =
    ["segmented_sort_tiles", "segmented_sort_tiles_with_places"];
/// See [`TILES_NAMES`].
pub(super) const MERGE_NAMES: [&str; 2] =
    ["segmented_sort_merge", "segmented_sort_merge_with_places"];

/// The kernels for keys of type `K`; `C` says how segments are given.
#[derive(Debug)]
pub struct SegmentedSort<K, C>(Named<(K, C)>);

impl<K: Sortable, C: Cut> SegmentedSort<K, C> {
    /// Sorts what segments have in a tile: of keys alone, and with places.
    pub const TILES: [Function<SegmentedSortArguments<C::Arguments>>; 2] =
        [Function::new(TILES_NAMES[0]), Function::new(TILES_NAMES[1])];
    /// Merges neighbouring runs of tiles.
    pub const MERGE: [Function<SegmentedSortArguments<C::Arguments>>; 2] =
        [Function::new(MERGE_NAMES[0]), Function::new(MERGE_NAMES[1])];

    /// The kernel.
    pub fn kernel(shape: SegmentedSortShape) -> Kernel {
        let functions = const {
            &[
                Self::TILES[0].name,
                Self::TILES[1].name,
                Self::MERGE[0].name,
                Self::MERGE[1].name,
            ]
        };
        Kernel::new("segmented_sort.cu.jinja", functions, &bind::<C>)
            .parameter("key_bytes", size_of::<K>() as u64)
            .parameter("place_bytes", shape.place_bytes as u64)
            .parameter("float", matches!(K::KIND, Kind::Float(_)).into())
            .parameter("warps", u64::from(shape.warps))
            .parameter("items", shape.items as u64)
            .parameter("long", shape.long() as u64)
            .parameter("blocks", BLOCKS[0])
            .parameter("blocks_with_places", BLOCKS[1])
            .parameter("merge_warps", u64::from(shape.merge_warps))
            .parameter("merge_items", shape.merge_items as u64)
            .parameter("merge_blocks", u64::from(MERGE_BLOCKS))
            .parameter("shared_bytes", shape.shared_bytes().into())
            .taking_all_shared_memory()
    }

    /// How the kernels are cut for so many items.
    pub fn shape(len: usize) -> SegmentedSortShape {
        shape_of(size_of::<K>(), len)
    }
}

/// See [`SegmentedSort::shape`].
pub(super) fn shape_of(key_bytes: usize, len: usize) -> SegmentedSortShape {
    let place_bytes = if u32::try_from(len).is_ok() { 4 } else { 8 };
    SegmentedSortShape::new(WARPS, items_for(key_bytes), key_bytes, place_bytes)
}

fn bind<C: Cut>(_: &mut Definitions) -> Variables {
    let arguments = SegmentedSortArguments::<C::Arguments>::cuda();
    minijinja::context! { arguments => arguments, segments => C::cuda() }
}

/// How the kernels are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentedSortShape {
    /// The warps of a block that sorts a tile.
    pub warps: u32,
    /// The items that one of its threads has room for, an odd number below 32.
    pub items: usize,
    /// The warps of a block that merges.
    pub merge_warps: u32,
    /// The most items that one of its threads merges, an odd number. They have as many as a tile.
    pub merge_items: usize,
    /// The bytes of a key.
    pub key_bytes: usize,
    /// The bytes of a place while its segment moves.
    pub place_bytes: usize,
}

/// Where a call keeps what it needs in between, from some address on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentedSortScratch {
    /// See [`SegmentedSortArguments`].
    pub crossings: u64,
    /// See [`SegmentedSortArguments`].
    pub room: u64,
    /// See [`SegmentedSortArguments`].
    pub place_rooms: u64,
    /// The end.
    pub end: u64,
}

impl SegmentedSortShape {
    /// With so many warps that sort a tile, and that merge; and so many items a thread that sorts.
    pub fn new(
        [warps, merge_warps]: [u32; 2],
        items: usize,
        key_bytes: usize,
        place_bytes: usize,
    ) -> SegmentedSortShape {
        let mut shape = SegmentedSortShape {
            warps,
            items,
            merge_warps,
            merge_items: 0,
            key_bytes,
            place_bytes,
        };
        shape.merge_items = shape.tile().div_ceil(shape.merge_threads() as usize) | 1;
        shape
    }

    /// The threads of a block that sorts.
    pub fn threads(self) -> u32 {
        32 * self.warps
    }

    /// The threads of a block that merges.
    pub fn merge_threads(self) -> u32 {
        32 * self.merge_warps
    }

    /// The items that a block has room for.
    fn room(self) -> usize {
        self.threads() as usize * self.items
    }

    /// The most items of a short segment. Such a segment is all in the tile that it starts in.
    pub fn long(self) -> usize {
        self.room() / LONG_PART
    }

    /// The items of a tile.
    pub fn tile(self) -> usize {
        self.room() - self.long()
    }

    /// The shared memory of a block.
    pub fn shared_bytes(self) -> u32 {
        let room = self.room() * (self.key_bytes.max(4) + 2);
        let tile = 96 + (8 * self.room() / 32 + 4 * self.threads() as usize).next_multiple_of(16);
        let merge = 16 + (4 * self.merge_warps as usize).next_multiple_of(16);
        (room + tile.max(merge)).next_multiple_of(16) as u32
    }

    /// The tiles of so many items.
    pub fn tiles(self, len: usize) -> usize {
        len.div_ceil(self.tile())
    }

    /// How often runs of tiles double until there is one.
    pub fn levels(self, len: usize) -> u32 {
        self.tiles(len).next_power_of_two().ilog2()
    }

    /// What so many items take from an address on.
    pub fn scratch(self, from: u64, len: usize, with_places: bool) -> SegmentedSortScratch {
        let mut end = from;
        let mut room = |len: usize, bytes: usize| {
            let at = end.next_multiple_of(256);
            end = at + (len * bytes) as u64;
            at
        };
        // What one tile has does not move again.
        let items = if self.levels(len) > 0 { len } else { 0 };
        let scratch = SegmentedSortScratch {
            crossings: room(self.tiles(len), 24),
            room: room(items, self.key_bytes),
            place_rooms: room(if with_places { items } else { 0 }, 2 * self.place_bytes),
            end: 0,
        };
        SegmentedSortScratch { end, ..scratch }
    }

    /// The bytes of a workspace, wherever it lies.
    pub fn workspace_bytes(self, len: usize) -> usize {
        HEADER_BYTES + 256 + self.scratch(0, len, true).end as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_has_room_for_a_call_wherever_it_lies() {
        for key_bytes in [1, 2, 4, 8, 16] {
            let shape = SegmentedSortShape::new([8, 4], 5, key_bytes, 4);
            for len in [1, 1000, 1121, 500_000] {
                for address in [0, 8, 64, 192, 256, 1000] {
                    let from = address + HEADER_BYTES as u64;
                    let end = shape.scratch(from, len, true).end;
                    assert!(
                        end <= address + shape.workspace_bytes(len) as u64,
                        "{len} {address}"
                    );
                }
            }
        }
    }
}
