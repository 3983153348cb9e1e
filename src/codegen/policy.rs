//! The shape of a tile, by primitive and element size. [`tuning`](super::tuning) has the numbers.
//!
//! Only speed depends on these numbers. Results do not: the law fixes the bracketing.

use super::tuning::wave::{self, WaveRow};
use super::tuning::{row_for, rows};
use super::{Order, Primitive};
use crate::Element;
use crate::element::assert_element_size;
use crate::source::{Form, Leaves, Slice};

/// The shape of a tile: how many threads work on it, and how many elements each of them holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Threads of a block: 32, 64, … 1024.
    pub threads: u32,
    /// Elements of a thread, a power of two.
    pub items: u32,
}

/// (largest element in bytes, threads, bytes that a thread holds).
type Row = (u32, u32, u32);

/// A thread of a reduction keeps this many bytes in flight, to cover the latency of memory. The
/// levels engine is the specification, so it is the same on all architectures.
const REDUCE: &[Row] = &[(64, 256, 64)];

/// A scan also keeps a tree over its elements in registers, and the tile in shared memory.
const SCAN: &[Row] = &[(1, 64, 64), (4, 128, 64), (32, 128, 128), (64, 64, 256)];

impl Policy {
    /// The policy for elements of type `T`.
    pub fn of<T: Element>(primitive: Primitive) -> Policy {
        const { assert_element_size::<T>() };
        let size = size_of::<T>() as u32;
        let table = match primitive {
            Primitive::Reduce => REDUCE,
            Primitive::Scan => SCAN,
        };
        let (_, threads, bytes) = *row_for(table, |row| row.0, size);
        let items = (bytes / size).max(1);
        Policy {
            threads,
            items: 1 << items.ilog2(),
        }
    }

    /// The elements of a tile, a power of two.
    pub fn tile(self) -> u64 {
        u64::from(self.threads) * u64::from(self.items)
    }
}

/// What a warp of the rows engine ([`Engine::Rows`](super::Engine::Rows)) holds at once: rows of
/// 32 runs, one a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowPolicy {
    /// Elements of a run, a power of two.
    pub run: u32,
    /// Rows, a power of two up to 32.
    pub rows: u32,
    /// Rows whose trees a scan holds at a time, a power of two. If these are fewer than all, it
    /// makes each tree twice, and needs fewer registers.
    pub batch: u32,
    /// Blocks that a multiprocessor has registers for, if each has as many warps as it may.
    pub blocks: u32,
    /// The most warps of a block, a power of two.
    pub warps: u32,
    /// How many sums of other blocks a lane reads at once, a power of two.
    pub sums: u32,
    /// Whether a reduction in the law's order combines as seldom as it can, at the price of moving
    /// more: for costly operators.
    pub grouped: bool,
    /// Whether a reduction in the law's order folds by loops what is not in its inner loop. That is
    /// less code, which compiles faster: for costly operators on large elements.
    pub compact: bool,
}

/// The longest run, in bytes.
const RUN_BYTES: u32 = 64;

/// The compute capability that policies are for if no GPU is known: the first to run all engines.
const UNKNOWN: u32 = 90;
impl RowPolicy {
    /// The policy of a reduction of elements of type `T`, if no GPU is known.
    pub fn of_reduce<T: Element>(order: Order) -> RowPolicy {
        RowPolicy::for_reduce::<Slice<T>>(UNKNOWN, order)
    }

    /// The policy of a reduction of a form on GPUs of a compute capability, such as 90 for 9.0: how
    /// many bytes its warps have under way.
    pub fn for_reduce<F: Form<Item: Element>>(capability: u32, order: Order) -> RowPolicy {
        let (run, size) = (run_of::<F>(0), bytes_of::<F>());
        let table = rows::tables(capability);
        let cut = ReducePolicy::for_capability::<F::Item>(capability);
        let most = cut.most_threads / 32;
        let (bytes, warps, sums) = match order {
            Order::Any => (table.reduce_any / cut.most_threads, most, cut.sums_any),
            Order::Law => {
                let row = row_for(table.reduce_law, |row| row.element, size);
                // Large elements may be made of small ones.
                (row.bytes, row.warps.min(most), cut.sums_law)
            }
        };
        let rows = (bytes / (run * size)).max(1);
        let rows = 1 << rows.ilog2().min(5);
        RowPolicy::reducing(run, rows, warps, sums)
    }

    /// The same in the law's order for inputs of up to so many bytes, if these have a policy of
    /// their own.
    pub fn for_short_reduce<F: Form<Item: Element>>(capability: u32) -> Option<(u64, RowPolicy)> {
        let (run, size) = (run_of::<F>(0), bytes_of::<F>());
        let mut table = rows::tables(capability).reduce_short.iter();
        let row = table.find(|row| [size, accumulator_bytes::<F::Item>()] == [row.element; 2])?;
        let rows = 1 << (row.bytes / (run * size)).max(1).ilog2();
        let long = RowPolicy::for_reduce::<F>(capability, Order::Law);
        let policy = RowPolicy {
            rows,
            batch: rows,
            ..long
        };
        Some((row.most, policy))
    }

    pub(super) fn reducing(run: u32, rows: u32, warps: u32, sums: u32) -> RowPolicy {
        RowPolicy {
            run,
            rows,
            batch: rows,
            blocks: 1,
            warps,
            sums,
            grouped: false,
            compact: false,
        }
    }

    /// The policy of a scan of elements of type `T`, if no GPU is known.
    pub fn of_scan<T: Element>(long: bool) -> RowPolicy {
        RowPolicy::for_scan::<Slice<T>>(UNKNOWN, long)
    }

    /// The policy of a scan of a form on GPUs of a compute capability. Short inputs fill the GPU
    /// less than once, so latency counts: their trees stay in registers. For long inputs it counts
    /// how much the GPU holds at once.
    pub fn for_scan<F: Form<Item: Element>>(capability: u32, long: bool) -> RowPolicy {
        let rows = rows::tables(capability).scan;
        let accumulator = accumulator_bytes::<F::Item>();
        let row = row_for(rows, |row| row.accumulator, accumulator);
        let run = RowPolicy::run_of_scan::<F>();
        // Never more elements than there are registers for.
        let fitting = |rows: u32, words: u32| rows.min(1 << (words / run).max(1).ilog2());
        let (rows, batch, blocks) = if long {
            let rows = fitting(row.long, 64);
            (rows, row.batch.min(rows), row.blocks)
        } else {
            let rows = fitting(row.short, 32 / accumulator.div_ceil(4));
            (rows, rows, 1)
        };
        RowPolicy {
            run,
            rows,
            batch,
            blocks,
            warps: row.warps[usize::from(long)],
            sums: row.sums,
            grouped: false,
            compact: false,
        }
    }

    /// The policy of a select from a form on GPUs of a compute capability.
    pub fn for_select<F: Form>(capability: u32) -> RowPolicy {
        RowPolicy::of_select::<F>(&rows::tables(capability).select)
    }

    /// The policy of a long select that stores positions alone.
    pub fn for_positions<F: Form>(capability: u32) -> RowPolicy {
        RowPolicy::of_select::<F>(&rows::tables(capability).positions)
    }

    fn of_select<F: Form>(row: &rows::SelectRow) -> RowPolicy {
        let (run, size) = (run_of::<F>(0), bytes_of::<F>());
        let rows = (row.bytes / (run * size)).min(row.items / run);
        let rows = 1 << rows.clamp(1, row.rows).ilog2();
        let holds_more = rows * run * size > row.bytes;
        RowPolicy {
            run,
            rows,
            batch: rows.min(row.batch),
            blocks: row.blocks[usize::from(holds_more)],
            warps: row.warps,
            sums: row.sums,
            grouped: false,
            compact: false,
        }
    }

    /// The policy for storing the items of a form on GPUs of a compute capability.
    pub fn for_collect<F: Form>(capability: u32) -> RowPolicy {
        let row = &rows::tables(capability).collect;
        let run = RowPolicy::run_of_scan::<F>();
        let size = bytes_of::<F>().max(size_of::<F::Item>() as u32);
        let rows = 1 << (row.bytes / (run * size)).clamp(1, 32).ilog2();
        RowPolicy {
            run,
            rows,
            batch: rows,
            blocks: row.blocks,
            warps: row.warps,
            sums: 1,
            grouped: false,
            compact: false,
        }
    }

    /// The policy of a histogram of a form on GPUs of a compute capability: how many bytes its
    /// warps have under way. A block's counters may take all shared memory of a multiprocessor.
    pub fn for_histogram<F: Form>(capability: u32) -> RowPolicy {
        let row = &rows::tables(capability).histogram;
        let run = run_of::<F>(0);
        let rows = 1
            << (row.bytes / (run * bytes_of::<F>()))
                .clamp(1, row.rows)
                .ilog2();
        RowPolicy {
            run,
            rows,
            batch: rows,
            blocks: row.blocks,
            warps: row.warps,
            sums: 1,
            grouped: false,
            compact: false,
        }
    }

    /// The policy of a weighted histogram with weights of type `T` on GPUs of a compute capability:
    /// the tiles that are sorted.
    pub fn for_weights<T: Element>(capability: u32) -> RowPolicy {
        let row = &rows::tables(capability).weighted;
        let rows = (row.bytes / size_of::<T>() as u32).clamp(1, row.rows);
        let rows = 1 << rows.ilog2();
        RowPolicy {
            run: 1,
            rows,
            batch: rows,
            blocks: row.blocks,
            warps: row.warps,
            sums: 1,
            grouped: false,
            compact: false,
        }
    }

    /// The elements of a run of a reduction, a select or a histogram.
    pub(crate) fn run_of<F: Form>() -> u32 {
        run_of::<F>(0)
    }

    /// The elements of a run of what also holds results: a scan, or what is stored as it is.
    pub(crate) fn run_of_scan<F: Form>() -> u32 {
        run_of::<F>(size_of::<F::Item>())
    }

    /// What is wrong with a policy, if anything, where runs have `proper_run` elements.
    pub(crate) fn fault(self, proper_run: u32) -> Option<&'static str> {
        let RowPolicy {
            run,
            rows,
            batch,
            blocks,
            warps,
            sums,
            grouped,
            compact,
        } = self;
        let powers = [run, rows, batch, warps, sums];
        if !powers.iter().all(|n| n.is_power_of_two()) {
            Some("run, rows, batch, warps and sums are powers of two")
        } else if rows > 32 || batch > rows {
            Some("there are at most 32 rows, and a batch is at most all of them")
        } else if run != proper_run {
            Some("a run has as many elements as RowPolicy::of_scan and of_reduce say")
        } else if warps > 32 || sums > 4 {
            Some("a block has at most 32 warps, and a lane reads at most 4 sums at once")
        } else if grouped && compact {
            Some("a reduction is grouped or compact, not both")
        } else if blocks == 0 {
            Some("a multiprocessor runs a block at least")
        } else {
            None
        }
    }

    /// The elements that a warp holds, a power of two.
    pub fn elements(self) -> u64 {
        u64::from(32 * self.run * self.rows)
    }
}

/// The size of what an item becomes to be folded.
pub(super) fn accumulator_bytes<T: Element>() -> u32 {
    size_of::<T::Accumulator>() as u32
}

/// The items of a run: whole words of 16 bytes of every slice under a form, unless a lane would
/// have to hold too much of one of them, or of the `results`, in bytes.
pub(super) fn run_of<F: Form>(results: usize) -> u32 {
    let Leaves {
        granule, largest, ..
    } = F::LEAVES;
    let largest = largest.max(results) as u32;
    let mut run = if F::LEAVES.bytes == 0 {
        4
    } else {
        16 / granule as u32
    };
    while run > 1 && run * largest > RUN_BYTES {
        run /= 2;
    }
    run
}

/// The bytes that are read for an item; for what is read nowhere, those of the item.
pub(super) fn bytes_of<F: Form>() -> u32 {
    match F::LEAVES.bytes {
        0 => size_of::<F::Item>() as u32,
        bytes => bytes.min(64) as u32,
    }
}

/// How a reduction in one launch is cut up, by the size of what is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReducePolicy {
    /// The most threads of a block, which have registers for what they hold. A reduction in the
    /// law's order may have fewer, which hold more.
    pub most_threads: u32,
    /// One block takes inputs of up to this many batches, a warp a batch.
    pub alone: u32,
    /// How many blocks share a multiprocessor, if there are as many. Each has a part of the most
    /// warps.
    pub blocks: u32,
    /// The most chunks: a block of 32 warps reads their sums at once. Longer inputs have longer
    /// chunks.
    pub chunks: u32,
    /// How many sums a lane reads at once, in any order.
    pub sums_any: u32,
    /// How many sums a lane reads at once, in the law's order.
    pub sums_law: u32,
    /// In the law's order each block has one group of chunks of inputs of up to this many bytes.
    /// Longer ones are handed out chunk by chunk.
    pub group_bytes: u64,
}

impl ReducePolicy {
    /// The policy for elements of type `T`, if no GPU is known.
    pub fn of<T: Element>() -> ReducePolicy {
        ReducePolicy::for_capability::<T>(UNKNOWN)
    }

    /// The policy for elements of type `T` on GPUs of a compute capability, such as 90 for 9.0.
    pub fn for_capability<T: Element>(capability: u32) -> ReducePolicy {
        const { assert_element_size::<T>() };
        let accumulator = size_of::<T::Accumulator>() as u32;
        row_for(rows::tables(capability).chunks, |row| row.0, accumulator).1
    }
}

/// How a histogram is cut up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistogramPolicy {
    /// One block takes inputs of up to this many items, if there are no more counters than the
    /// next number. It needs no counts that are clear before.
    pub alone: u32,
    /// The most counters of a block that is alone.
    pub alone_counters: u32,
    /// The fewest warps of a block.
    pub fewest_warps: u32,
    /// Where several blocks count in shared memory, there are at least this many items for each
    /// counter.
    pub items_a_counter: u32,
    /// The same for counters of 16 bits.
    pub items_a_narrow_counter: u32,
    /// How many counters the GPU adds to the counts while a block counts an item.
    pub adds_an_item: u32,
    /// A block has up to 2^log_copies copies of its counters.
    pub log_copies: u32,
    /// A block caches up to 2^log_slots counters that are in global memory.
    pub log_slots: u32,
}

impl HistogramPolicy {
    /// The policy on GPUs of a compute capability.
    pub fn for_capability(capability: u32) -> HistogramPolicy {
        rows::tables(capability).histogram.cut
    }
}

/// The shape of the wave engine's blocks, and of the tiles that they pass from warp to warp.
///
/// All numbers but `stages`, `loads` and `reducers` are powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WavePolicy {
    /// Warps that scan. Each has its share of a tile.
    pub warps: u32,
    /// Rows of a warp's share: 32 runs, one a lane.
    pub rows: u32,
    /// Elements of a run, which take a multiple of 16 bytes.
    pub run: u32,
    /// Tiles that a block holds.
    pub stages: u32,
    /// Tiles that a block fetches at a time.
    pub loads: u32,
    /// Tiles of a wave, a multiple of 32.
    pub wave: u32,
    /// Rows that a warp scans at once.
    pub batch: u32,
    /// Warps that add up tiles before they are scanned; a divisor of `warps`.
    pub reducers: u32,
    /// Whether input and output may start anywhere. If not, both start at multiples of 16 bytes.
    pub anywhere: bool,
}

/// What the shape of a wave engine's blocks depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    leaves: Leaves,
    /// The bytes of a result.
    item: u32,
    /// The size and the alignment of what is folded.
    accumulator: (u32, u32),
    /// Of a select, the bytes for each item of a tile that warps hold beside the stages.
    select: Option<u32>,
}

impl Shape {
    pub(crate) fn of_scan<F: Form<Item: Element>>() -> Shape {
        Shape::of::<F, F::Item, <F::Item as Element>::Accumulator>()
    }

    /// What is folded are counts of 64 bits.
    pub(crate) fn of_select<T: Element, F: Form>() -> Shape {
        Shape {
            select: Some(0),
            ..Shape::of::<F, T, u64>()
        }
    }

    /// The position of the last item goes with the count. Warps hold positions of 16 bits.
    pub(crate) fn of_runs<T: Element, F: Form>() -> Shape {
        Shape {
            select: Some(2),
            ..Shape::of::<F, T, [u64; 2]>()
        }
    }

    fn of<F: Form, T, A>() -> Shape {
        Shape {
            leaves: F::LEAVES,
            item: size_of::<T>() as u32,
            accumulator: (size_of::<A>() as u32, align_of::<A>() as u32),
            select: None,
        }
    }
}

/// The longest run that a lane of the wave engine holds, in bytes: of a scan, and of a select.
const SCAN_RUN_BYTES: u32 = 160;
const SELECT_RUN_BYTES: u32 = 80;

/// Runs of items of more than 16 bytes have this many at least: lanes exchange the sums of runs,
/// which takes the longer the larger these are.
const LONG_RUN_BYTES: u32 = 48;

impl WavePolicy {
    /// The shared memory that a block asks for: all that a multiprocessor gives to one.
    pub const SHARED_BYTES: u32 = 227 << 10;

    /// Addresses are multiples of this many bytes, unless the policy says `anywhere`.
    #[cfg(feature = "cuda")]
    pub(crate) const ALIGN: u64 = 16;

    /// The policy for elements of type `T` if no GPU is known: that for compute capability 9.0, the
    /// first to run the engine. `None` as for [`for_capability`](WavePolicy::for_capability).
    pub fn of<T: Element>() -> Option<WavePolicy> {
        WavePolicy::for_capability::<T>(UNKNOWN)
    }

    /// The policy for elements of type `T` on GPUs of a compute capability, such as 90 for 9.0.
    /// `None` as for [`for_form`](WavePolicy::for_form).
    pub fn for_capability<T: Element>(capability: u32) -> Option<WavePolicy> {
        WavePolicy::for_form::<Slice<T>>(capability)
    }

    /// The policy for a scan of a form on GPUs of a compute capability. `None` if items have more
    /// than 40 bytes, which leave a block too few registers; if no short run takes a multiple of 16
    /// bytes of every slice and of the results; or if the copy engine cannot fetch the form.
    pub fn for_form<F: Form<Item: Element>>(capability: u32) -> Option<WavePolicy> {
        const { assert_element_size::<F::Item>() };
        WavePolicy::for_shape(
            wave::scans(capability),
            SCAN_RUN_BYTES,
            Shape::of_scan::<F>(),
        )
    }

    /// The same for an operator of some [`cost`](super::cost): dearer ones may want another shape.
    #[cfg(feature = "cuda")]
    pub(crate) fn for_operator<F: Form<Item: Element>>(
        capability: u32,
        cost: u32,
    ) -> Option<WavePolicy> {
        let size = (F::LEAVES.bytes as u32).max(size_of::<F::Item>() as u32);
        let mut rows = wave::dear_scans(capability).iter();
        match rows.position(|row| cost >= wave::DEAR_COST && row.element == size) {
            Some(row) => WavePolicy::for_shape(
                &wave::dear_scans(capability)[row..],
                SCAN_RUN_BYTES,
                Shape::of_scan::<F>(),
            ),
            None => WavePolicy::for_form::<F>(capability),
        }
    }

    /// Whether the engine is the fastest for long scans of a form by an operator that does not
    /// commute, of some [`cost`](super::cost).
    #[cfg(feature = "cuda")]
    pub(crate) fn is_for_ordered<F: Form<Item: Element>>(cost: u32) -> bool {
        let (_, most) = *row_for(wave::ORDERED, |row| row.0, accumulator_bytes::<F::Item>());
        cost <= most
    }

    /// The policy for a select of items of type `T` from a form; `None` as for
    /// [`for_form`](WavePolicy::for_form), or if the items are not those of a slice.
    pub fn for_select<T: Element, F: Form>(capability: u32) -> Option<WavePolicy> {
        WavePolicy::for_packing::<F>(wave::selects(capability), Shape::of_select::<T, F>())
    }

    /// The same for a select that stores the other items too: a partition.
    pub fn for_partition<T: Element, F: Form>(capability: u32) -> Option<WavePolicy> {
        let shape = Shape::of_select::<T, F>();
        let policy = WavePolicy::for_packing::<F>(wave::partitions(capability), shape)?;
        // A warp takes all its rows at once.
        Some(WavePolicy {
            batch: policy.rows,
            ..policy
        })
    }

    /// The same for a select that stores positions and lengths of runs too.
    pub fn for_runs<T: Element, F: Form>(capability: u32) -> Option<WavePolicy> {
        WavePolicy::for_packing::<F>(wave::selects(capability), Shape::of_runs::<T, F>())
    }

    fn for_packing<F: Form>(table: &[WaveRow], shape: Shape) -> Option<WavePolicy> {
        F::LEAVES.kept.then_some(())?;
        let policy = WavePolicy::for_shape(table, SELECT_RUN_BYTES, shape)?;
        // A warp has few values to hold, and waits for shared memory most of the time: the more
        // rows it has under way, the better. Runs read their neighbours too.
        let batch = policy.rows.min((32 / policy.run).max(1));
        let reducers = match F::LEAVES.before {
            0 => policy.reducers,
            _ => policy.warps.min(8),
        };
        Some(WavePolicy {
            batch,
            reducers,
            ..policy
        })
    }

    fn for_shape(table: &[WaveRow], longest_run: u32, shape: Shape) -> Option<WavePolicy> {
        let Shape { leaves, item, .. } = shape;
        let size = leaves.bytes as u32;
        if !leaves.fetched {
            return None;
        }
        let run = (0..5).map(|power| 1 << power).find(|run| {
            (run * leaves.granule as u32).is_multiple_of(16)
                && (run * item).is_multiple_of(16)
                && (item <= 16 || run * item >= LONG_RUN_BYTES)
        })?;
        if run * item.max(leaves.largest as u32) > longest_run {
            return None;
        }
        let row = table.iter().find(|row| size.max(item) <= row.element)?;
        let rows = row.tile / (row.warps * 32 * run * size);
        let rows = 1 << rows.max(1).ilog2();
        let policy = WavePolicy {
            warps: row.warps,
            rows,
            run,
            stages: row.stages,
            loads: row.loads,
            wave: row.wave,
            batch: row.batch.min(rows),
            reducers: row.reducers,
            anywhere: false,
        };
        // Items may need more room than those that the row was measured with: if their size is no
        // power of two, or if they are folded in a much wider type.
        policy.fitted_to(shape)
    }

    /// The policy for input and output that start anywhere; `None` as for
    /// [`fitted`](WavePolicy::fitted).
    pub fn anywhere<T: Element>(self) -> Option<WavePolicy> {
        self.anywhere_of::<Slice<T>>()
    }

    /// The same for a form.
    pub fn anywhere_of<F: Form<Item: Element>>(self) -> Option<WavePolicy> {
        let anywhere = true;
        WavePolicy { anywhere, ..self }.fitted_to(Shape::of_scan::<F>())
    }

    /// The policy with as many of its stages as there is room for; `None` if its blocks cannot
    /// start with any number of them.
    pub fn fitted<T: Element>(self) -> Option<WavePolicy> {
        self.fitted_to(Shape::of_scan::<Slice<T>>())
    }

    fn fitted_to(self, shape: Shape) -> Option<WavePolicy> {
        (self.loads..=self.stages)
            .rev()
            .map(|stages| WavePolicy { stages, ..self })
            .find(|policy| policy.fits(shape))
    }

    /// What is wrong with the policy for a kernel, if anything.
    pub(crate) fn fault(self, shape: Shape) -> Option<&'static str> {
        let powers = [self.warps, self.rows, self.run, self.wave, self.batch];
        let tiles_words = |size: usize| (self.run as usize * size).is_multiple_of(16);
        if !powers.iter().all(|n| n.is_power_of_two()) {
            Some("warps, rows, run, wave and batch are powers of two")
        } else if !shape.leaves.fetched {
            Some("the copy engine cannot fetch the source")
        } else if !tiles_words(shape.leaves.granule) || !tiles_words(shape.item as usize) {
            Some("a run takes a multiple of 16 bytes")
        } else if self.wave < 32 {
            Some("a wave has at least 32 tiles")
        } else if self.loads == 0 || self.loads > self.stages {
            Some("a block fetches at least one tile, and no more than it has stages")
        } else if self.reducers == 0 || !self.fits(shape) {
            Some(
                "reducers divide the warps, there are at most 32 rows and 1024 threads, and the stages fit into shared memory",
            )
        } else {
            None
        }
    }

    /// Whether the kernel compiles with this policy, and its blocks can start.
    fn fits(self, shape: Shape) -> bool {
        self.rows <= 32
            && self.warps.is_multiple_of(self.reducers)
            && self.threads() <= 1024
            && self.shared_bytes_of(shape) <= Self::SHARED_BYTES
    }

    /// What a block uses of its shared memory for elements of type `T`.
    pub fn shared_bytes<T: Element>(self) -> u32 {
        self.shared_bytes_of(Shape::of_scan::<Slice<T>>())
    }

    /// What a block uses of its shared memory: the size of `WaveEngine::Shared` in
    /// `kernels/engines/wave.cuh`, or a little more if the source is not a slice.
    fn shared_bytes_of(self, shape: Shape) -> u32 {
        let (leaves, (size, align)) = (shape.leaves, shape.accumulator);
        let align = align.max(8);
        let spare = if self.anywhere || !leaves.plain {
            16
        } else {
            0
        };
        let tile = self.tile() as u32 * leaves.bytes as u32 + spare * leaves.count as u32;
        // Of runs, what comes before the tile.
        let tile = tile + (leaves.before as u32).next_multiple_of(16);
        // In this order: the tile's number, a sum for each row or a flag for each item, a sum for
        // each warp, two prefixes, six barriers.
        let of_rows = match shape.select {
            None => self.warps * self.rows * size,
            Some(_) => self.warps * (self.rows * self.run).div_ceil(32) * 32 * 4,
        };
        let notes = (align + of_rows + (self.warps + 2) * size).next_multiple_of(8) + 6 * 8;
        let launch = 8 + self.tile() as u32 * shape.select.unwrap_or(0);
        let all = self.stages * (tile + notes.next_multiple_of(align)) + launch;
        // Tiles are aligned to words of 16.
        all.next_multiple_of(align.max(16))
    }

    /// The elements of a tile.
    pub fn tile(self) -> u64 {
        u64::from(self.warps * self.rows * 32 * self.run)
    }

    /// The threads of a block: the warps that scan, those that add up, and four more, which fetch
    /// and carry sums.
    pub fn threads(self) -> u32 {
        (self.warps + self.reducers + 4) * 32
    }
}
