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

    /// The plan for storing places: nothing is counted.
    pub fn of_places(rows: RowPolicy, length: usize, multiprocessors: u32) -> HistogramPlan {
        let batch = rows.elements() * u64::from(rows.warps);
        let enough = (length as u64).div_ceil(batch).max(1);
        HistogramPlan {
            blocks: enough.min((2 * multiprocessors).into()) as u32,
            threads: 32 * rows.warps,
            shared_bytes: 0,
            global: true,
            by_rows: false,
            log_copies: 0,
            units_a_round: 1,
            copies_table: false,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Slice;

    const H200: HistogramMachine = HistogramMachine {
        multiprocessors: 132,
        shared_bytes: 227 << 10,
    };

    fn plan_of<T: crate::Element>(length: usize, counters: usize) -> HistogramPlan {
        let (policy, rows) = (
            HistogramPolicy::for_capability(90),
            RowPolicy::for_histogram::<Slice<T>>(90),
        );
        HistogramPlan::new(policy, rows, H200, length, counters, 0)
    }

    /// All lengths and counters that matter, by powers and some neighbours.
    fn all_plans(check: impl Fn(usize, usize, HistogramPlan)) {
        for counters in [
            1,
            256,
            4096,
            16_384,
            16_385,
            57_000,
            58_111,
            58_112,
            1 << 24,
        ] {
            for length in (0..34).flat_map(|log| [(1 << log) - 1, 1 << log, (1_usize << log) + 1]) {
                check(length, counters, plan_of::<u8>(length, counters));
                check(length, counters, plan_of::<f32>(length, counters));
            }
        }
    }

    #[test]
    fn blocks_can_start() {
        all_plans(|length, counters, plan| {
            let what = format!("{length} in {counters}: {plan:?}");
            assert!((1..=132).contains(&plan.blocks), "{what}");
            assert!((32..=1024).contains(&plan.threads), "{what}");
            assert!(plan.threads.is_multiple_of(32), "{what}");
            assert!(plan.shared_bytes <= H200.shared_bytes, "{what}");
            let words = match plan.global {
                true => 2 << plan.log_copies,
                false => (counters + 1) << plan.log_copies,
            };
            assert!(4 * words <= plan.shared_bytes as usize, "{what}");
        });
    }

    /// A block adds its counters before one can overflow.
    #[test]
    fn counters_of_32_bits_do_not_overflow() {
        let (bytes, floats) = ([2048, 512], [512, 128]);
        for length in [1000, 1 << 20, 1 << 33] {
            for counters in [256, 57_000, 1 << 20] {
                for (units, plan) in [
                    (bytes, plan_of::<u8>(length, counters)),
                    (floats, plan_of::<f32>(length, counters)),
                ] {
                    let warps = u64::from(plan.threads / 32);
                    let items = units[usize::from(plan.by_rows)] * warps;
                    assert!(plan.units_a_round > 0, "{plan:?}");
                    let items = items * u64::from(plan.units_a_round);
                    assert!(items < 1 << 32, "{length} in {counters}: {plan:?}");
                }
            }
        }
    }

    /// What a block spends on counters is no more than some operations for each item, unless it is
    /// one block in place of two launches.
    #[test]
    fn counters_cost_no_more_than_items() {
        all_plans(|length, counters, plan| {
            let share = length / plan.blocks as usize;
            let words = match plan.global {
                true => 1 << plan.log_copies,
                false => counters << plan.log_copies,
            };
            let what = format!("{length} in {counters}: {plan:?}");
            match plan.adds() {
                true => assert!(words <= 16 * share.max(1), "{what}"),
                false => assert!(plan.log_copies == 0 || words <= share, "{what}"),
            }
        });
    }

    #[test]
    fn short_inputs_take_one_launch() {
        for (length, counters) in [(0, 256), (1000, 256), (1000, 4096), (16_384, 16_384)] {
            let plan = plan_of::<u8>(length, counters);
            assert!(!plan.adds() && plan.blocks == 1, "{plan:?}");
            assert!(plan.threads as usize >= counters.min(1024), "{plan:?}");
        }
    }

    #[test]
    fn very_many_counters_are_in_global_memory() {
        for (length, counters, global) in [
            (1000, 57_000, true),
            (1_000_000, 57_000, false),
            (1 << 28, 58_111, false),
            (1 << 28, 58_112, true),
            (1000, 1 << 20, true),
        ] {
            let plan = plan_of::<f32>(length, counters);
            assert_eq!(plan.global, global, "{length} in {counters}: {plan:?}");
        }
    }

    /// With few counters every lane of a warp has a copy of its own.
    #[test]
    fn long_inputs_fill_the_machine() {
        for counters in [1, 256, 1815] {
            let plan = plan_of::<u8>(1 << 28, counters);
            assert_eq!((plan.blocks, plan.threads, plan.log_copies), (132, 1024, 5));
        }
        let plan = plan_of::<f32>(1 << 28, 1 << 20);
        assert_eq!(
            (plan.blocks, plan.threads, plan.log_copies),
            (132, 1024, 14)
        );
    }
}
