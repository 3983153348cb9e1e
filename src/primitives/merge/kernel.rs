//! The kernels of a merge and of a merge sort, and what they take.

use super::tuning::tile_for;
use crate::definitions::Definitions;
use crate::primitives::sort::{Kind, Sortable};
use crate::render::{Arguments, Function as KernelFunction, Kernel, Variables, arguments};
use crate::{Element, Function};

arguments! {
    /// What the kernels take.
    pub struct MergeArguments<> {
        /// The first array; of a sort, what is read.
        pub first: u64 => "const Item*",
        /// The second array.
        pub second: u64 => "const Item*",
        /// Where items go.
        pub out: u64 => "Item*",
        /// The length of the first array.
        pub first_length: u64 => "u64",
        /// The length of the second array; of a sort, of all items.
        pub length: u64 => "u64",
        /// The length of sorted runs.
        pub run: u64 => "u64",
        /// `Order::code`.
        pub order: u32 => "u32",
        /// Nothing: the struct has no padding.
        pub unused: u32 => "u32",
    }
}

/// Merges two arrays.
pub const MERGE: KernelFunction<MergeArguments> = KernelFunction::new("merge_arrays");
/// Sorts tiles.
pub const SORT_TILES: KernelFunction<MergeArguments> = KernelFunction::new("merge_sort_tiles");
/// Merges neighbouring runs.
pub const SORT_RUNS: KernelFunction<MergeArguments> = KernelFunction::new("merge_sort_runs");

/// The tile of a merge: the threads of a block, and the items of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MergeShape {
    item_bytes: usize,
    threads: usize,
    items: usize,
}

impl MergeShape {
    /// For items of so many bytes.
    pub const fn of(item_bytes: usize) -> MergeShape {
        let (threads, items) = tile_for(item_bytes);
        MergeShape {
            item_bytes,
            threads,
            items,
        }
    }

    /// This shape with tiles of so many threads and items of each, for tests.
    #[must_use]
    pub const fn tile_of(self, threads: usize, items: usize) -> MergeShape {
        MergeShape {
            threads,
            items,
            ..self
        }
    }

    pub(super) fn item_bytes(self) -> usize {
        self.item_bytes
    }

    /// The threads of a block.
    pub fn threads(self) -> u32 {
        self.threads as u32
    }

    /// The items of a tile.
    pub fn tile(self) -> usize {
        self.threads * self.items
    }

    /// The shared memory of a block.
    pub fn tile_bytes(self) -> u32 {
        (16 + self.item_bytes * self.tile()).next_multiple_of(16) as u32
    }

    /// The number of tiles of so many items.
    pub fn tiles(self, len: usize) -> u64 {
        len.div_ceil(self.tile()) as u64
    }

    /// How many times a sort of so many items merges neighbouring runs.
    pub fn passes(self, len: usize) -> u32 {
        match self.tiles(len) {
            0 => 0,
            tiles => tiles.next_power_of_two().trailing_zeros(),
        }
    }

    fn shaped(self, kernel: Kernel) -> Kernel {
        kernel
            .parameter("item_bytes", self.item_bytes as u64)
            .parameter("threads", self.threads as u64)
            .parameter("items", self.items as u64)
            .parameter("tile_bytes", self.tile_bytes().into())
    }
}

/// Merges numbers.
pub fn merge<K: Sortable>(shape: MergeShape) -> Kernel {
    fn bind(_: &mut Definitions) -> Variables {
        minijinja::context! { arguments => MergeArguments::cuda() }
    }
    const FUNCTIONS: &[&str] = &[MERGE.name];
    let float = matches!(K::KIND, Kind::Float(_));
    shape
        .shaped(Kernel::new("merge/merge.cu.jinja", FUNCTIONS, &bind))
        .parameter("float", float.into())
}

fn bind_less<T: Element, Less>(definitions: &mut Definitions) -> Variables
where
    Less: Function<Input = (T, T), Output = bool>,
{
    let (item, less) = (T::cuda_type(definitions), Less::cuda(definitions));
    minijinja::context! { arguments => MergeArguments::cuda(), item => item, less => less }
}

/// Merges items by a comparison.
pub fn merge_by<T: Element, Less>(shape: MergeShape) -> Kernel
where
    Less: Function<Input = (T, T), Output = bool>,
{
    const FUNCTIONS: &[&str] = &[MERGE.name];
    let kernel = Kernel::new("merge/merge.cu.jinja", FUNCTIONS, &bind_less::<T, Less>);
    shape.shaped(kernel.operator::<Less>())
}

/// Sorts items by a comparison.
pub fn sort_by<T: Element, Less>(shape: MergeShape) -> Kernel
where
    Less: Function<Input = (T, T), Output = bool>,
{
    const FUNCTIONS: &[&str] = &[SORT_TILES.name, SORT_RUNS.name];
    let kernel = Kernel::new("merge/sort.cu.jinja", FUNCTIONS, &bind_less::<T, Less>);
    shape.shaped(kernel.operator::<Less>())
}
