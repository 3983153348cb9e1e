//! What warps hold of a select, and of what is like it.
//!
//! Measured: an NVIDIA H200, 2026-11-24, `cargo bench --bench gpu -- select partition positions`,
//! by hand, and no number alone.

mod wave_sm_90;

use crate::Element;
use crate::engine::tuning::{Tables, WaveRow, choose};
use crate::engine::{RowPolicy, Shape, WavePolicy, bytes_read};
use crate::source::{Form, Leaves};

/// What warps hold of a select, or of what is like it. Counts are folded.
#[derive(Debug)]
struct SelectRow {
    /// The most bytes and the most items of a lane.
    bytes: u32,
    items: u32,
    /// The most rows.
    rows: u32,
    /// The rows that are packed at a time.
    batch: u32,
    /// Blocks of a multiprocessor: if lanes hold at most `bytes`, and if they hold more.
    blocks: [u32; 2],
    /// The most warps of a block.
    warps: u32,
    /// How many counts a lane of the look-back reads at once.
    sums: u32,
}

/// By compute capability, from which on each holds.
const ROWS: &Tables<SelectRow> = &[(
    90,
    &SelectRow {
        bytes: 128,
        items: 32,
        rows: 8,
        batch: 2,
        blocks: [3, 2],
        warps: 8,
        sums: 4,
    },
)];

/// Long selects that store positions alone.
const POSITIONS: &Tables<SelectRow> = &[(
    90,
    &SelectRow {
        bytes: 128,
        items: 128,
        rows: 8,
        batch: 1,
        blocks: [4, 4],
        warps: 4,
        sums: 4,
    },
)];

const WAVES: &Tables<[WaveRow]> = &[(90, wave_sm_90::SELECT)];
const PARTITIONS: &Tables<[WaveRow]> = &[(90, wave_sm_90::PARTITION)];

/// The longest run that a lane of the wave engine holds, in bytes.
const RUN_BYTES: u32 = 80;

impl RowPolicy {
    /// The policy of a select from a form on GPUs of a compute capability.
    pub fn for_select<F: Form>(capability: u32) -> RowPolicy {
        RowPolicy::of_select(choose(ROWS, capability), F::LEAVES, size_of::<F::Item>())
    }

    /// The policy of a long select that stores positions alone.
    pub fn for_positions<F: Form>(capability: u32) -> RowPolicy {
        RowPolicy::of_select(
            choose(POSITIONS, capability),
            F::LEAVES,
            size_of::<F::Item>(),
        )
    }

    fn of_select(row: &SelectRow, leaves: Leaves, item: usize) -> RowPolicy {
        let (run, size) = (RowPolicy::run_of(leaves), bytes_read(leaves, item));
        let rows = (row.bytes / (run * size)).min(row.items / run);
        let rows = 1 << rows.clamp(1, row.rows).ilog2();
        let holds_more = rows * run * size > row.bytes;
        RowPolicy {
            batch: rows.min(row.batch),
            blocks: row.blocks[usize::from(holds_more)],
            sums: row.sums,
            ..RowPolicy::in_one_batch(run, rows, row.warps)
        }
    }
}

impl WavePolicy {
    /// The policy for a select of items of type `T` from a form; `None` as for
    /// [`for_form`](WavePolicy::for_form), or if the items are not those of a slice.
    pub fn for_select<T: Element, F: Form>(capability: u32) -> Option<WavePolicy> {
        WavePolicy::for_packing(
            choose(WAVES, capability),
            F::LEAVES,
            Shape::of_select::<T, F>(),
        )
    }

    /// The policy for a partition: a select that stores the other items too.
    pub fn for_partition<T: Element, F: Form>(capability: u32) -> Option<WavePolicy> {
        let shape = Shape::of_select::<T, F>();
        let policy = WavePolicy::for_packing(choose(PARTITIONS, capability), F::LEAVES, shape)?;
        // A warp takes all its rows at once.
        Some(WavePolicy {
            batch: policy.rows,
            ..policy
        })
    }

    /// The policy for a select that stores positions and lengths of runs too.
    pub fn for_runs<T: Element, F: Form>(capability: u32) -> Option<WavePolicy> {
        WavePolicy::for_packing(
            choose(WAVES, capability),
            F::LEAVES,
            Shape::of_runs::<T, F>(),
        )
    }

    fn for_packing(table: &[WaveRow], leaves: Leaves, shape: Shape) -> Option<WavePolicy> {
        leaves.kept.then_some(())?;
        let policy = WavePolicy::for_shape(table, RUN_BYTES, shape)?;
        // A warp has few values to hold, and waits for shared memory most of the time: the more
        // rows it has under way, the better. Runs read their neighbours too.
        let batch = policy.rows.min((32 / policy.run).max(1));
        let reducers = match leaves.before {
            0 => policy.reducers,
            _ => policy.warps.min(8),
        };
        Some(WavePolicy {
            batch,
            reducers,
            ..policy
        })
    }
}
