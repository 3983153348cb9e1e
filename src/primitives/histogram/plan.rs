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
    /// The number of blocks. If there are several, or counters are global, the counts are zero
    /// before the launch.
    pub blocks: u32,
    /// The number of threads of a block.
    pub threads: u32,
    /// The shared memory of a block: its counters, and the table that is searched.
    pub shared_bytes: u32,
    /// Whether counters are those in global memory.
    pub global: bool,
    /// A block has 2^log_copies copies of its counters.
    pub log_copies: u32,
    /// After how many batches of a warp they are added to the counts.
    pub batches_a_round: u32,
    /// Whether the table is copied to shared memory.
    pub copies_table: bool,
}

impl HistogramPlan {
    /// The plan for `length` items and this many counters, over all channels. `table` are the bytes
    /// of the table that is searched, if one is.
    pub fn new(
        policy: HistogramPolicy,
        rows: RowPolicy,
        machine: HistogramMachine,
        length: usize,
        counters: usize,
        table: usize,
    ) -> HistogramPlan {
        let batch = rows.elements();
        let batches = (length as u64).div_ceil(batch).max(1);
        let most_warps = u64::from(rows.warps);
        let (blocks, warps) = if batches <= u64::from(policy.alone) {
            (1, batches.min(most_warps))
        } else {
            let resident = u64::from(machine.multiprocessors * rows.blocks);
            let warps = batches
                .div_ceil(resident)
                .clamp(policy.fewest_warps.into(), most_warps);
            (batches.div_ceil(warps).min(resident), warps)
        };
        let share = (length as u64).div_ceil(blocks);
        let room = u64::from(machine.shared_bytes) / u64::from(rows.blocks);
        // One more than asked for, for what has no bin.
        let bytes = |log_copies: u32| (4 * (counters as u64 + 1)) << log_copies;
        // A block that counts few items would clear and add up counters for longer than it counts.
        let is_worth = |log_copies: u32| blocks == 1 || counters as u64 <= share >> log_copies;
        // The table is behind the counters, at a multiple of 8.
        let with_table = |log_copies| bytes(log_copies).next_multiple_of(8) + table as u64;
        let global = bytes(0) > room || !is_worth(0);
        let first = if global { 0 } else { with_table(0) };
        let copies_table = table > 0
            && if global {
                table as u64 <= room
            } else {
                first <= room
            };
        let taken = |log_copies| match copies_table {
            true => with_table(log_copies),
            false => bytes(log_copies),
        };
        let log_copies = (0..=policy.log_copies)
            .rev()
            .find(|&log_copies| taken(log_copies) <= room && is_worth(log_copies))
            .unwrap_or(0);
        let shared_bytes = match (global, copies_table) {
            (true, true) => table as u64,
            (true, false) => 0,
            (false, _) => taken(log_copies),
        };
        HistogramPlan {
            blocks: blocks as u32,
            threads: 32 * warps as u32,
            shared_bytes: shared_bytes as u32,
            global,
            log_copies: if global { 0 } else { log_copies },
            batches_a_round: ((1 << 31) / (batch * warps)) as u32,
            copies_table,
        }
    }

    /// Whether the counts must be zero before the launch.
    pub fn adds(&self) -> bool {
        self.global || self.blocks > 1
    }
}
