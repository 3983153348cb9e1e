//! How a histogram is cut up.

use crate::codegen::{HistogramPolicy, RowPolicy};

/// What a GPU has for a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistogramMachine {
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// The most bytes of shared memory of a block.
    pub shared_bytes: u32,
}

/// One histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistogramPlan {
    /// The number of blocks. If there are several, or counters are global, the counts are cleared
    /// before.
    pub blocks: u32,
    /// The number of threads of a block.
    pub threads: u32,
    /// The shared memory of a block: its counters or its cache, and the table that is searched.
    pub shared_bytes: u32,
    /// Whether counters are those in global memory.
    pub global: bool,
    /// Whether a unit is a row. Otherwise it is all that a warp holds at once.
    pub by_rows: bool,
    /// A block has 2^log_copies copies of its counters, or a cache of as many.
    pub log_copies: u32,
    /// After how many units of a warp they are added to the counts.
    pub units_a_round: u32,
    /// Whether the table is copied to shared memory.
    pub copies_table: bool,
}

/// How many items a cache counts for each slot before it is emptied, if all items are in it. What
/// comes often may change from part to part.
const ITEMS_A_SLOT: u64 = 8;

impl HistogramPlan {
    /// The threads of a block that clears counts.
    pub const CLEARING_THREADS: u32 = 256;

    /// The plan for `length` items and this many counters, over all channels. `table` are the bytes
    /// of the table that is searched, if one is. Shared memory has room for 64 bytes at least.
    pub fn new(
        policy: HistogramPolicy,
        rows: RowPolicy,
        machine: HistogramMachine,
        length: usize,
        counters: usize,
        table: usize,
    ) -> HistogramPlan {
        let (length, counters, table) = (length as u64, counters as u64, table as u64);
        let room = u64::from(machine.shared_bytes) / u64::from(rows.blocks);
        // One more than asked for, for what has no bin. The table is behind, at a multiple of 8.
        let counters_bytes =
            |log_copies: u32| ((counters + 1) << log_copies).next_multiple_of(2) * 4;
        let fits = counters_bytes(0) <= room;
        let alone = fits
            && length <= u64::from(policy.alone)
            && counters <= u64::from(policy.alone_counters);
        // For fewer items it would take longer to clear and to add counters than to count.
        let global =
            !alone && (!fits || length < counters.saturating_mul(policy.items_a_counter.into()));

        let resident = u64::from(machine.multiprocessors * rows.blocks);
        let most_blocks = match (alone, global) {
            (true, _) => 1,
            (_, true) => resident,
            // With b blocks, a block counts length / b items, and then b blocks add their counters.
            // Both take equally long if b is this.
            _ => (length * u64::from(policy.adds_an_item) / counters)
                .isqrt()
                .clamp(1, resident),
        };
        let most_warps = u64::from(rows.warps);
        let fewest_warps = u64::from(policy.fewest_warps).min(most_warps);
        let row = rows.elements() / u64::from(rows.rows);
        let by_rows = length.div_ceil(row) <= most_blocks * most_warps;
        let unit = if by_rows { row } else { rows.elements() };
        let units = length.div_ceil(unit).max(1);
        let blocks = units.div_ceil(fewest_warps).min(most_blocks);
        let share = length.div_ceil(blocks);

        let least = if global { 64 } else { counters_bytes(0) };
        let copies_table = table > 0 && least + table <= room;
        let table = if copies_table { table } else { 0 };
        // As many copies or slots as there is room for, and as there are items for: more would take
        // longer to clear and to add than they save.
        let bytes = |log_copies: u32| match global {
            true => 8 << log_copies,
            false => counters_bytes(log_copies),
        };
        let (most, words) = match global {
            true => (policy.log_slots, 1),
            false => (policy.log_copies, 2 * counters),
        };
        let log_copies = (0..=most)
            .rev()
            .find(|&log| bytes(log) + table <= room && words << log <= share)
            .unwrap_or(0);

        // Warps that get no unit help with the counters.
        let words = match global {
            true => 1 << log_copies,
            false => counters,
        };
        let warps = units
            .div_ceil(blocks)
            .max(words.div_ceil(32))
            .clamp(fewest_warps, most_warps);
        // No counter may overflow.
        let items_a_round = match global {
            true => ITEMS_A_SLOT << log_copies,
            false => 1 << 31,
        };
        HistogramPlan {
            blocks: blocks as u32,
            threads: 32 * warps as u32,
            shared_bytes: (bytes(log_copies) + table) as u32,
            global,
            by_rows,
            log_copies,
            units_a_round: (items_a_round / (unit * warps)).max(1) as u32,
            copies_table,
        }
    }

    /// Whether the counts must be clear before the launch.
    pub fn adds(&self) -> bool {
        self.global || self.blocks > 1
    }

    /// The blocks that clear this many counts.
    pub fn clearing_blocks(machine: HistogramMachine, counts: usize) -> u32 {
        let enough = counts.div_ceil(Self::CLEARING_THREADS as usize);
        enough.clamp(1, 8 * machine.multiprocessors as usize) as u32
    }
}
