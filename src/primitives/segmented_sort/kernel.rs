//! The kernels of a segmented sort, and what they take.

use crate::definitions::Definitions;
use crate::engine::HEADER_BYTES;
use crate::primitives::segmented::Cut;
use crate::primitives::sort::kernel::SortShape;
use crate::primitives::sort::{Kind, Sortable};
use crate::render::{Arguments, Function, Kernel, Named, Variables, arguments};

arguments! {
    /// What the kernels take.
    pub struct SegmentedSortArguments<C> {
        /// Where segments lie.
        pub segments: C => "Segments",
        /// The keys.
        pub keys: u64 => "Key*",
        /// Where items stood in their segments; or null.
        pub places: u64 => "u64*",
        /// The number of keys.
        pub length: u64 => "u64",
        /// How many long segments there are, and how many items they have.
        pub counter: u64 => "u64*",
        /// The latter alone.
        pub limit: u64 => "u64*",
        /// Long segments.
        pub list: u64 => "LongSorted*",
        /// How many have room there.
        pub capacity: u64 => "u64",
        /// Their keys.
        pub gathered: u64 => "Key*",
        /// For each the number of its segment, and its place there.
        pub tags: u64 => "u64*",
        /// The number alone.
        pub numbers: u64 => "u32*",
        /// Which key it is.
        pub which: u64 => "u64*",
        /// `Order::code`.
        pub order: u64 => "u64",
    }
}

/// The kernels for keys of type `K`; `C` says how segments are given.
#[derive(Debug)]
pub struct SegmentedSort<K, C>(Named<(K, C)>);

impl<K: Sortable, C: Cut> SegmentedSort<K, C> {
    /// Clears the counter, and places.
    pub const BEGIN: Function<SegmentedSortArguments<C::Arguments>> =
        Function::new("segmented_sort_begin");
    /// Sorts short segments.
    pub const TILES: Function<SegmentedSortArguments<C::Arguments>> =
        Function::new("segmented_sort_tiles");
    /// Puts long ones side by side.
    pub const GATHER: Function<SegmentedSortArguments<C::Arguments>> =
        Function::new("segmented_sort_gather");
    /// Numbers them.
    pub const NUMBER: Function<SegmentedSortArguments<C::Arguments>> =
        Function::new("segmented_sort_number");
    /// Moves them back.
    pub const SCATTER: Function<SegmentedSortArguments<C::Arguments>> =
        Function::new("segmented_sort_scatter");

    /// The kernel.
    pub fn kernel(shape: SegmentedSortShape) -> Kernel {
        let functions = const {
            &[
                Self::BEGIN.name,
                Self::TILES.name,
                Self::GATHER.name,
                Self::NUMBER.name,
                Self::SCATTER.name,
            ]
        };
        Kernel::new("segmented_sort.cu.jinja", functions, &bind::<C>)
            .parameter("key_bytes", size_of::<K>() as u64)
            .parameter("float", matches!(K::KIND, Kind::Float(_)).into())
            .parameter("warps", u64::from(shape.tile.threads() / 32))
            .parameter("rows", shape.rows as u64)
            .parameter("blocks", BLOCKS)
            .parameter("shared_bytes", shape.shared_bytes().into())
            .taking_all_shared_memory()
    }

    /// How the kernels are cut.
    pub fn shape() -> SegmentedSortShape {
        SegmentedSortShape::of::<K>(if size_of::<K>() <= 4 { 16 } else { 8 })
    }
}

fn bind<C: Cut>(_: &mut Definitions) -> Variables {
    let arguments = SegmentedSortArguments::<C::Arguments>::cuda();
    minijinja::context! { arguments => arguments, segments => C::cuda() }
}

/// The blocks that are to have room on a multiprocessor.
const BLOCKS: u64 = 3;

/// How the kernels are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentedSortShape {
    /// The tile, of keys with a word each.
    pub tile: SortShape,
    rows: usize,
    key_bytes: usize,
}

/// Where a call keeps what it needs in between, from some address on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentedSortScratch {
    /// See [`SegmentedSortArguments`].
    pub counter: u64,
    /// See [`SegmentedSortArguments`].
    pub limit: u64,
    /// See [`SegmentedSortArguments`].
    pub list: u64,
    /// See [`SegmentedSortArguments`].
    pub gathered: u64,
    /// See [`SegmentedSortArguments`].
    pub tags: u64,
    /// See [`SegmentedSortArguments`].
    pub numbers: u64,
    /// See [`SegmentedSortArguments`].
    pub which: u64,
    /// The end.
    pub end: u64,
}

impl SegmentedSortShape {
    /// With tiles of so many rows.
    pub fn of<K: Sortable>(rows: usize) -> SegmentedSortShape {
        SegmentedSortShape {
            tile: SortShape::of_pairs::<K, u32>().rows(rows),
            rows,
            key_bytes: size_of::<K>(),
        }
    }

    /// The items in which a block's segments start, and the most of a short segment.
    pub fn stride(self) -> usize {
        self.tile.tile() / 2
    }

    /// The shared memory of a block: the tile, and three words for every 32 items.
    pub fn shared_bytes(self) -> u32 {
        self.tile.tile_bytes() + 12 * (self.tile.tile() / 32) as u32 + 16
    }

    /// The blocks that sort short segments.
    pub fn tiles(self, len: usize) -> u64 {
        len.div_ceil(self.stride()) as u64
    }

    /// Whether one of so many items can be a long segment.
    pub fn has_long(self, len: usize) -> bool {
        len > self.stride()
    }

    /// The most long segments.
    pub fn most_long(self, len: usize) -> usize {
        len / self.stride() + 1
    }

    /// What so many items take from an address on.
    pub fn scratch(self, from: u64, len: usize) -> SegmentedSortScratch {
        let mut end = from;
        let mut room = |len: usize, bytes: usize| {
            let at = end.next_multiple_of(256);
            end = at + (len * bytes) as u64;
            at
        };
        let (most, items) = match self.has_long(len) {
            true => (self.most_long(len), len),
            false => (0, 0),
        };
        let scratch = SegmentedSortScratch {
            counter: room(1, 8),
            limit: room(1, 8),
            list: room(most, 16),
            gathered: room(items, self.key_bytes),
            tags: room(items, 8),
            numbers: room(items, 4),
            which: room(items, 8),
            end: 0,
        };
        SegmentedSortScratch { end, ..scratch }
    }

    /// The bytes of a workspace, without what sorts need.
    pub fn workspace_bytes(self, len: usize) -> usize {
        HEADER_BYTES + 256 + self.scratch(0, len).end as usize
    }
}
