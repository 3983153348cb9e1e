//! The kernels of top-k, what they take, and how a call is cut up.

use super::Candidate;
use super::tuning::{
    CAPACITY, FILTER_BLOCKS, FILTER_THREADS, LANE_BYTES, LAUNCHES_ITEMS, MOST_ROWS, OF_ONE_BLOCK,
    ONCE_ITEMS, SORTED_PART, SPACING, THREADS,
};
use crate::definitions::Definitions;
use crate::engine::{HEADER_BYTES, RowPolicy};
use crate::primitives::sort::{Kind, Sortable};
use crate::render::{
    Arguments, Function, Kernel, Named, Variables, WorkspaceArguments, arguments, bind_source,
    with_texts,
};
use crate::source::Form;

arguments! {
    /// What the kernels take.
    pub struct TopArguments<S> {
        /// What is chosen from.
        pub source: S => "Source",
        /// The first k items.
        pub values: u64 => "Key*",
        /// Where they stand.
        pub places: u64 => "u64*",
        /// How many there are; or null.
        pub found: u64 => "u64*",
        /// The number of items of a row.
        pub length: u64 => "u64",
        /// How many are wanted of a row: at least 1.
        pub k: u64 => "u64",
        /// What bounds the candidates, and their number.
        pub state: u64 => "Call::State*",
        /// The samples.
        pub sample_ranks: u64 => "Bits*",
        /// Where these stand.
        pub sample_places: u64 => "u64*",
        /// The candidates.
        pub ranks: u64 => "Bits*",
        /// Where these stand.
        pub at: u64 => "u64*",
        /// The candidates that a row has room for.
        pub room: u64 => "u64",
        /// Where blocks count those that have ended.
        pub workspace: WorkspaceArguments => "Workspace",
        /// The row of the first block, or of all.
        pub row: u64 => "u64",
        /// `Order::code`.
        pub order: u32 => "u32",
        /// The samples of a group, as a power of 2.
        pub rounds: u32 => "u32",
        /// The lanes that take them, as a power of 2.
        pub lanes: u32 => "u32",
        /// 1: candidates are sorted by other launches. 2: the filter runs again.
        pub flags: u32 => "u32",
    }
}

/// The kernels that choose from sources of a form.
#[derive(Debug)]
pub struct Top<F>(Named<F>);

/// The functions.
impl<F: Form<Item: Candidate>> Top<F> {
    /// A block a row.
    pub const ROWS: Function<TopArguments<F::Arguments>> = Function::new("top_rows");
    /// A sample, a filter and a sort in one launch.
    pub const ONCE: Function<TopArguments<F::Arguments>> = Function::new("top_once");
    /// Finds a bound.
    pub const SAMPLE: Function<TopArguments<F::Arguments>> = Function::new("top_sample");
    /// Stores candidates.
    pub const FILTER: Function<TopArguments<F::Arguments>> = Function::new("top_filter");
    /// Sorts them in one block.
    pub const FINISH: Function<TopArguments<F::Arguments>> = Function::new("top_finish");
    /// Stores all items as candidates.
    pub const ALL: Function<TopArguments<F::Arguments>> = Function::new("top_all");
    /// Fills the room behind candidates up.
    pub const FILL: Function<TopArguments<F::Arguments>> = Function::new("top_fill");
    /// Stores the result, given sorted candidates.
    pub const STORE: Function<TopArguments<F::Arguments>> = Function::new("top_store");

    /// The kernel.
    pub fn kernel(shape: TopShape) -> Kernel {
        let functions = const {
            &[
                Self::ROWS.name,
                Self::ONCE.name,
                Self::SAMPLE.name,
                Self::FILTER.name,
                Self::FINISH.name,
                Self::ALL.name,
                Self::FILL.name,
                Self::STORE.name,
            ]
        };
        let kind = <<F::Item as Candidate>::Key as Sortable>::KIND;
        Kernel::new("top.cu.jinja", functions, &bind::<F>)
            .parameter("key_bytes", shape.key_bytes as u64)
            .parameter("float", matches!(kind, Kind::Float(_)).into())
            .parameter("run", shape.run.into())
            .parameter("rows", shape.rows.into())
            .parameter("threads", shape.threads.into())
            .parameter("capacity", shape.capacity.into())
            .parameter("shared_bytes", shape.shared_bytes().into())
            .parameter("state_bytes", STATE_BYTES as u64)
            .parameter("filter_threads", shape.filter_threads().into())
            .parameter("filter_blocks", FILTER_BLOCKS.into())
            .operator::<F>()
            .taking_all_shared_memory()
    }

    /// How the kernels are cut.
    pub fn shape() -> TopShape {
        let run = RowPolicy::run_of_scan(F::LEAVES, size_of::<F::Item>());
        let size = (F::LEAVES.bytes.max(size_of::<F::Item>())) as u32;
        TopShape {
            key_bytes: size_of::<<F::Item as Candidate>::Key>(),
            run,
            rows: 1 << (LANE_BYTES / (run * size)).clamp(1, MOST_ROWS).ilog2(),
            threads: THREADS,
            capacity: CAPACITY,
        }
    }
}

fn bind<F: Form<Item: Candidate>>(definitions: &mut Definitions) -> Variables {
    let arguments = TopArguments::<F::Arguments>::cuda();
    with_texts(&[("arguments", &arguments)], bind_source::<F>(definitions))
}

/// What is known of the candidates: the bytes of the kernel's `State`.
const STATE_BYTES: usize = 64;

/// How the kernels are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopShape {
    key_bytes: usize,
    /// The items of a run, and the runs of a lane.
    run: u32,
    rows: u32,
    /// The threads of a block that sorts.
    pub threads: u32,
    /// How many it sorts, and how many groups of samples there are.
    pub capacity: u32,
}

impl TopShape {
    /// This shape with smaller blocks, for tests.
    #[must_use]
    pub fn small(self) -> TopShape {
        TopShape {
            threads: 64,
            capacity: 64,
            ..self
        }
    }

    /// The shared memory of a block that sorts.
    pub fn shared_bytes(self) -> u32 {
        let candidates = self.capacity * (self.key_bytes as u32 + 8);
        let (digits, warps) = (4 * 256, self.threads / 32);
        let fixed = 64 + digits + warps * (2 * self.key_bytes as u32 + 8);
        (candidates + fixed + 64).next_multiple_of(16)
    }

    /// The threads of a block that samples, and of one that filters.
    pub fn filter_threads(self) -> u32 {
        self.threads.min(FILTER_THREADS)
    }

    /// The items that a warp of the filter reads at once.
    pub fn chunk(self) -> u64 {
        u64::from(32 * self.run * self.rows)
    }
}

/// How the first k of so many items are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopPlan {
    shape: TopShape,
    /// The rows, and their items.
    pub rows: usize,
    /// The items of a row.
    pub columns: usize,
    /// How many are wanted of each.
    pub k: usize,
    multiprocessors: usize,
}

/// What does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopWay {
    /// A block a row.
    Rows,
    /// One launch of as many blocks as there are multiprocessors.
    Once,
    /// A sample, a filter, and one block that sorts.
    Filter,
    /// A sample and a filter. Other launches sort the candidates.
    FilterAndSort,
    /// All items are sorted.
    Sort,
}

/// Where a call keeps what it needs in between, from some address on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopScratch {
    /// See [`TopArguments`].
    pub state: u64,
    /// See [`TopArguments`].
    pub sample_ranks: u64,
    /// See [`TopArguments`].
    pub sample_places: u64,
    /// See [`TopArguments`].
    pub ranks: u64,
    /// See [`TopArguments`].
    pub at: u64,
    /// The candidates that a row has room for.
    pub room: usize,
    /// The end.
    pub end: u64,
}

impl TopPlan {
    /// For rows of so many items, `k` of each, on a GPU with so many multiprocessors.
    pub fn new(
        shape: TopShape,
        multiprocessors: u32,
        rows: usize,
        columns: usize,
        k: usize,
    ) -> TopPlan {
        TopPlan {
            shape,
            rows,
            columns,
            k: k.min(columns),
            multiprocessors: multiprocessors.max(1) as usize,
        }
    }

    pub(super) fn shape(self) -> TopShape {
        self.shape
    }

    /// What does the work. Several rows each take a call of their own unless it is
    /// [`Rows`](TopWay::Rows).
    pub fn way(self) -> TopWay {
        let capacity = self.shape.capacity as usize;
        if self.k > capacity {
            return match self.columns / SORTED_PART < self.k {
                true => TopWay::Sort,
                false => TopWay::FilterAndSort,
            };
        }
        let alone = match self.columns <= ONCE_ITEMS {
            true => TopWay::Once,
            false => TopWay::Filter,
        };
        // A multiprocessor has one block that sorts rows. All together read so many times as fast.
        let at_once = self.multiprocessors;
        let in_blocks = self.columns.saturating_mul(self.rows.div_ceil(at_once));
        let in_launches = (self.rows).saturating_mul(LAUNCHES_ITEMS + self.columns / at_once);
        let is_faster = self.rows > 1 && in_blocks <= in_launches;
        // A block counts candidates in 32 bits.
        let is_counted = u32::try_from(self.columns).is_ok();
        match self.columns <= OF_ONE_BLOCK * capacity || (is_faster && is_counted) {
            true => TopWay::Rows,
            false => alone,
        }
    }

    /// The samples of a group, and the lanes that take them, as powers of 2.
    pub fn sampling(self) -> [u32; 2] {
        let groups = self.shape.capacity as usize;
        // So many items come between two samples.
        let (least, most) = (SPACING / 16, SPACING / 2);
        let rounds = (self.columns / groups / least).max(1);
        let rounds = match self.way() {
            TopWay::Rows => rounds,
            TopWay::Once => (self.columns / groups / (SPACING / 8)).clamp(1, 8),
            _ => rounds.min((self.columns / groups / most).max(512)),
        };
        let rounds = rounds.next_power_of_two().ilog2();
        let lanes = self.shape.filter_threads().ilog2().min(rounds).min(5);
        [rounds, lanes]
    }

    /// The blocks that sample.
    pub fn sample_blocks(self) -> u32 {
        let [_, lanes] = self.sampling();
        (self.shape.capacity << lanes) / self.shape.filter_threads()
    }

    /// The candidates that a row has room for.
    pub fn room(self) -> usize {
        let capacity = self.shape.capacity as usize;
        match self.way() {
            TopWay::Rows if self.columns <= OF_ONE_BLOCK * capacity => 0,
            TopWay::Rows => (8 * capacity).min(self.columns),
            TopWay::Once | TopWay::Filter => (32 * capacity).min(self.columns),
            TopWay::FilterAndSort => (3 * self.k + 32 * capacity).min(self.columns),
            TopWay::Sort => self.columns,
        }
    }

    /// What a call takes from an address on.
    pub fn scratch(self, from: u64) -> TopScratch {
        let mut end = from;
        let mut room = |len: usize, bytes: usize| {
            let at = end.next_multiple_of(256);
            end = at + (len * bytes) as u64;
            at
        };
        let key = self.shape.key_bytes;
        let groups = self.shape.capacity as usize;
        let way = self.way();
        let rows = if way == TopWay::Rows { self.rows } else { 1 };
        let in_memory = matches!(way, TopWay::Filter | TopWay::FilterAndSort);
        let groups = if in_memory { groups } else { 0 };
        let candidates = rows * self.room();
        let scratch = TopScratch {
            state: room(1, STATE_BYTES),
            sample_ranks: room(groups, key),
            sample_places: room(groups, 8),
            ranks: room(candidates, key),
            at: room(candidates, 8),
            room: self.room(),
            end: 0,
        };
        TopScratch { end, ..scratch }
    }

    /// The bytes of a workspace, without what sorts need.
    pub fn workspace_bytes(self) -> usize {
        HEADER_BYTES + 256 + self.scratch(0).end as usize
    }
}
