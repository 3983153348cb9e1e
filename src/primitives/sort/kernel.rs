//! The kernels of a sort, what they take, and how it is cut up. They know keys and values by their
//! sizes alone, so numbers of one size share them.

use super::order::{Kind, Sortable};
use super::tuning::{
    BLOCKS, COUNT_THREADS, COUNTER_BYTES, MERGE_THREADS, MOST_REGISTERS, RUN, WARPS, WAYS,
    most_in_runs,
};
use crate::Element;
use crate::definitions::Definitions;
use crate::engine::HEADER_BYTES;
use crate::render::{Arguments, Function, Kernel, Variables, WorkspaceArguments, arguments};

arguments! {
    /// What the kernels take.
    pub struct SortArguments<> {
        /// The keys.
        pub keys: u64 => "const Key*",
        /// Where they go; it may be where they are.
        pub keys_out: u64 => "Key*",
        /// Room for as many.
        pub keys_room: u64 => "Key*",
        /// The values; null for places.
        pub values: u64 => "const Value*",
        /// Where they go.
        pub values_out: u64 => "Value*",
        /// Room for as many.
        pub values_room: u64 => "Value*",
        /// The number of keys.
        pub length: u64 => "u64",
        /// How many keys have which digit.
        pub bins: u64 => "u64*",
        /// Which digits vary.
        pub varying: u64 => "u64*",
        /// What tiles tell each other.
        pub status: u64 => "Status*",
        /// Where blocks share out tiles.
        pub workspace: WorkspaceArguments => "Workspace",
        /// `Order::code`.
        pub order: u32 => "u32",
        /// The pass of this launch.
        pub pass: u32 => "u32",
        /// How many passes are launched.
        pub passes: u32 => "u32",
        /// Whether places of 64 bits are all that is stored.
        pub places_only: u32 => "u32",
    }
}

arguments! {
    /// What the kernel takes that moves values by their places.
    pub struct GatherArguments<> {
        /// The values.
        pub values: u64 => "const Value*",
        /// Which value goes where.
        pub places: u64 => "const u64*",
        /// Where they go.
        pub out: u64 => "Value*",
        /// The number of places.
        pub length: u64 => "u64",
    }
}

/// Moves values by their places.
pub const GATHER: Function<GatherArguments> = Function::new("sort_gather");

/// The kernel that moves values by their places.
pub fn gather<V: Element>() -> Kernel {
    fn bind(_: &mut Definitions) -> Variables {
        minijinja::context! { arguments => GatherArguments::cuda() }
    }
    const FUNCTIONS: &[&str] = &[GATHER.name];
    let (part, parts) = parts_of::<V>();
    Kernel::new("sort/gather.cu.jinja", FUNCTIONS, &bind)
        .parameter("value_part", part as u64)
        .parameter("value_parts", parts as u64)
}

/// The words that an element consists of, and how many of them.
fn parts_of<V: Element>() -> (usize, usize) {
    let part = align_of::<V>().min(16);
    (part, size_of::<V>() / part)
}

/// Sorts runs.
pub const RUNS: Function<SortArguments> = Function::new("sort_runs");
/// Merges them.
pub const MERGE: Function<SortArguments> = Function::new("sort_merge");
/// Clears counts.
pub const BEGIN: Function<SortArguments> = Function::new("sort_begin");
/// Counts the digits of all keys.
pub const COUNT: Function<SortArguments> = Function::new("sort_count");
/// Copies keys and values, if the passes of a sort in place are odd in number.
pub const COPY: Function<SortArguments> = Function::new("sort_copy");
/// Sorts by a digit.
pub const PASS: Function<SortArguments> = Function::new("sort_pass");

/// The values of a digit, which is a byte.
const DIGITS: usize = 256;

/// The sizes that kernels are made for, and the shape of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SortShape {
    key_bytes: usize,
    float: bool,
    /// The words that a value consists of, and how many of them.
    value_part: usize,
    value_parts: usize,
    rows: usize,
    /// The items of a run, how many runs are merged at once, and up to how many items are sorted
    /// so.
    run: usize,
    ways: usize,
    most_in_runs: usize,
}

impl SortShape {
    /// Of keys without values.
    pub fn of_keys<K: Sortable>() -> SortShape {
        SortShape::new::<K>(0, 0)
    }

    /// Of keys with values, which have up to 16 bytes.
    pub fn of_pairs<K: Sortable, V: Element>() -> SortShape {
        let (part, parts) = parts_of::<V>();
        SortShape::new::<K>(part, parts)
    }

    fn new<K: Sortable>(value_part: usize, value_parts: usize) -> SortShape {
        let key_bytes = size_of::<K>();
        // What a thread holds of an item, in registers: the key, its place, the value.
        let registers = key_bytes.div_ceil(4) + 1 + (value_part * value_parts).div_ceil(4);
        SortShape {
            key_bytes,
            float: matches!(K::KIND, Kind::Float(_)),
            value_part,
            value_parts,
            rows: MOST_REGISTERS / registers,
            run: RUN,
            ways: WAYS,
            most_in_runs: most_in_runs(key_bytes),
        }
    }

    /// This shape with tiles of so many rows, and short runs, for tests.
    #[must_use]
    pub fn rows(self, rows: usize) -> SortShape {
        SortShape {
            rows,
            run: 64,
            ways: 2,
            most_in_runs: 32 * WARPS * rows,
            ..self
        }
    }

    /// The threads of a block that has a tile.
    pub fn threads(self) -> u32 {
        32 * WARPS as u32
    }

    /// The items of a tile.
    pub fn tile(self) -> usize {
        32 * WARPS * self.rows
    }

    pub(super) fn value_bytes(self) -> usize {
        self.value_part * self.value_parts
    }

    /// The shared memory of a block that has a tile.
    pub fn tile_bytes(self) -> u32 {
        self.bytes_of(WARPS, self.rows)
    }

    /// The threads of a block that sorts a run.
    pub fn run_threads(self) -> u32 {
        self.run as u32
    }

    /// The shared memory of a block that sorts a run.
    pub fn run_bytes(self) -> u32 {
        ((2 * self.key_bytes + 4) * self.run + 32).next_multiple_of(16) as u32
    }

    fn bytes_of(self, warps: usize, rows: usize) -> u32 {
        let counts = 4 * DIGITS * warps;
        let items = (self.key_bytes + self.value_bytes()) * 32 * warps * rows;
        // Before keys, and before values, there may be a gap.
        let fixed = 8 * DIGITS + 8 * warps + 8 + 2 * 16;
        (fixed + counts.max(items)).next_multiple_of(16) as u32
    }

    /// The counters of each digit.
    fn columns(self) -> usize {
        COUNTER_BYTES / (4 * DIGITS * self.key_bytes)
    }

    /// The shared memory of a block that counts.
    pub fn count_bytes(self) -> u32 {
        (4 * DIGITS * self.key_bytes * self.columns() + 256) as u32
    }

    /// Up to so many items are sorted by runs.
    pub(super) fn most_in_runs(self) -> usize {
        self.most_in_runs
    }

    /// The number of digits of a key.
    pub fn passes(self) -> u32 {
        self.key_bytes as u32
    }

    /// The kernels that sort runs, and merge them.
    pub fn short(self) -> Kernel {
        const FUNCTIONS: &[&str] = &[RUNS.name, MERGE.name];
        let kernel = Kernel::new("sort/short.cu.jinja", FUNCTIONS, &bind)
            .parameter("run", self.run as u64)
            .parameter("ways", self.ways as u64)
            .parameter("run_bytes", self.run_bytes().into())
            .parameter("merge_threads", MERGE_THREADS.into());
        self.sized(kernel, 32)
    }

    /// The kernels that sort more, of which so many bits count all items.
    pub fn long(self, status_bits: u64) -> Kernel {
        const FUNCTIONS: &[&str] = &[BEGIN.name, COUNT.name, COPY.name, PASS.name];
        let kernel = Kernel::new("sort/long.cu.jinja", FUNCTIONS, &bind)
            .parameter("columns", self.columns() as u64)
            .parameter("blocks", BLOCKS)
            .parameter("tile_bytes", self.tile_bytes().into())
            .parameter("count_bytes", self.count_bytes().into())
            .parameter("count_threads", COUNT_THREADS.into());
        self.sized(kernel, status_bits)
            .parameter("warps", WARPS as u64)
            .parameter("rows", self.rows as u64)
    }

    fn sized(self, kernel: Kernel, status_bits: u64) -> Kernel {
        kernel
            .parameter("key_bytes", self.key_bytes as u64)
            .parameter("float", self.float.into())
            .parameter("value_part", self.value_part as u64)
            .parameter("value_parts", self.value_parts as u64)
            .parameter("status_bits", status_bits)
            .taking_all_shared_memory()
    }
}

fn bind(_: &mut Definitions) -> Variables {
    minijinja::context! { arguments => SortArguments::cuda() }
}

/// Where a call keeps what it needs in between, from some address on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortScratch {
    /// See [`SortArguments`].
    pub bins: u64,
    /// See [`SortArguments`].
    pub varying: u64,
    /// See [`SortArguments`].
    pub status: u64,
    /// Room for keys, and again where they are no result.
    pub keys: [u64; 2],
    /// Room for values.
    pub values: u64,
    /// The end.
    pub end: u64,
}

/// How a sort of so many items is cut up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortPlan {
    shape: SortShape,
    len: usize,
}

impl SortPlan {
    /// For so many items.
    pub fn new(shape: SortShape, len: usize) -> SortPlan {
        SortPlan { shape, len }
    }

    pub(super) fn shape(self) -> SortShape {
        self.shape
    }

    pub(super) fn len(self) -> usize {
        self.len
    }

    /// Whether runs are sorted and merged.
    pub fn is_short(self) -> bool {
        self.len <= self.shape.most_in_runs
    }

    /// The launches of a short sort: one for runs, and those that merge them.
    pub fn stages(self) -> u32 {
        let (mut run, mut stages) = (self.shape.run, 1);
        while run < self.len {
            (run, stages) = (run * self.shape.ways, stages + 1);
        }
        stages
    }

    /// The number of runs.
    pub fn runs(self) -> u64 {
        self.len.div_ceil(self.shape.run) as u64
    }

    /// The number of tiles.
    pub fn tiles(self) -> u64 {
        self.len.div_ceil(self.shape.tile()) as u64
    }

    /// The bits of what tiles tell each other: two for what it is, the rest for a number of items.
    pub fn status_bits(self) -> u64 {
        if self.len < 1 << 30 { 32 } else { 64 }
    }

    /// The parts of the workspace that a call uses, from an address on. With `places_only` keys are
    /// no result, so the sorted ones lie there, too.
    pub fn scratch(self, from: u64, places_only: bool) -> SortScratch {
        let mut end = from;
        let mut room = |len: usize, bytes: usize| {
            let at = end.next_multiple_of(256);
            end = at + (len * bytes) as u64;
            at
        };
        let shape = self.shape;
        let len = if self.stages() == 1 { 0 } else { self.len };
        let status = 2 * self.tiles() as usize * DIGITS;
        let scratch = SortScratch {
            bins: room(DIGITS * shape.passes() as usize, 8),
            varying: room(1, 8),
            status: room(
                if self.is_short() { 0 } else { status },
                self.status_bits() as usize / 8,
            ),
            keys: [
                room(len, shape.key_bytes),
                room(if places_only { len } else { 0 }, shape.key_bytes),
            ],
            values: room(len, shape.value_bytes()),
            end: 0,
        };
        SortScratch { end, ..scratch }
    }

    /// The bytes of a workspace: a header, and behind it what is aligned to 256.
    pub fn workspace_bytes(self, places_only: bool) -> usize {
        HEADER_BYTES + 256 + self.scratch(0, places_only).end as usize
    }
}
