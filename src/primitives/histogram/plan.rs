//! How a histogram is cut up.

use super::lookup::LookupBytes;
use super::tuning::{self, ITEMS_A_SLOT, PLACING_BLOCKS};
use crate::engine::RowPolicy;

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
    /// At least this many where counters have 16 bits.
    pub items_a_narrow_counter: u32,
    /// How many counters the GPU adds to the counts while a block counts an item.
    pub adds_an_item: u32,
    /// A block has up to 2^log_copies copies of its counters.
    pub log_copies: u32,
    /// A block caches up to 2^log_slots counters that are in global memory.
    pub log_slots: u32,
}

/// What a GPU has for a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistogramMachine {
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// The most bytes of shared memory of a block.
    pub shared_bytes: u32,
}

/// The counters of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistogramCounters {
    /// How many there are, over all channels.
    pub count: usize,
    /// The words of a counter in shared memory.
    pub words: usize,
    /// Whether each item counts once, so that narrow counters can count them.
    pub once: bool,
}

impl HistogramCounters {
    /// Those of items that count once.
    pub fn of_items(count: usize) -> HistogramCounters {
        HistogramCounters {
            count,
            words: 1,
            once: true,
        }
    }

    /// The bytes of 2^log_copies copies, and as many for what has no bin. More comes behind them at
    /// a multiple of 16.
    fn bytes(&self, log_copies: u32) -> u64 {
        let words = (self.words * (self.count + 1)) as u64;
        (words << log_copies).next_multiple_of(4) * 4
    }

    /// The bytes of narrow ones, two in a word, and of one word for each lane.
    fn narrow_bytes(&self) -> Option<u64> {
        let words = (self.count as u64 + 1).div_ceil(2) + 32;
        self.once.then(|| words.next_multiple_of(4) * 4)
    }
}

/// Where a block counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistogramPlace {
    /// In shared memory.
    Shared,
    /// There too, in counters of 16 bits.
    Narrow,
    /// In global memory, with a cache in shared memory.
    Global,
}

/// One histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistogramPlan {
    /// The number of blocks. If there are several, or counters are not all in shared memory, the
    /// counts are cleared before.
    pub blocks: u32,
    /// The number of threads of a block.
    pub threads: u32,
    /// The shared memory of a block: its counters or its cache, and what bins are looked up in.
    pub shared_bytes: u32,
    /// Where counters are.
    pub place: HistogramPlace,
    /// Whether a unit is a row. Otherwise it is all that a warp holds at once.
    pub by_rows: bool,
    /// A block has 2^log_copies copies of its counters, or a cache of as many. Narrow counters are
    /// full from that number on.
    pub log_copies: u32,
    /// After how many units of a warp they are added to the counts.
    pub units_a_round: u32,
    /// A block has 2^log_cell_copies copies of the cells of its lookup.
    pub log_cell_copies: u32,
    /// Whether the first numbers of bins are copied to shared memory.
    pub copies_table: bool,
}

/// Narrow counters are full from 2^LOG_FULL on. So many more items can come before they are
/// emptied; `NarrowCounters` in `kernels/histogram/counters.cuh` says why.
const LOG_FULL: u32 = 15;

impl HistogramPlan {
    /// The threads of a block that clears counts.
    pub const CLEARING_THREADS: u32 = tuning::CLEARING_THREADS;

    /// The plan for `length` items and these counters. `lookup` is what bins are looked up in.
    /// Shared memory has room for 64 bytes beside it.
    pub fn new(
        policy: HistogramPolicy,
        rows: RowPolicy,
        machine: HistogramMachine,
        length: usize,
        counters: HistogramCounters,
        lookup: LookupBytes,
    ) -> HistogramPlan {
        let length = length as u64;
        // Clearing and adding counters take as long as these many words of one.
        let words = (counters.words * counters.count) as u64;
        let room = u64::from(machine.shared_bytes) / u64::from(rows.blocks);
        let least = lookup.least() as u64;
        let fits = |bytes: u64| bytes + least <= room;
        let fits_wide = fits(counters.bytes(0));
        let fits_narrow = counters.narrow_bytes().is_some_and(fits);
        let alone = fits_wide
            && length <= u64::from(policy.alone)
            && words <= u64::from(policy.alone_counters);
        // For fewer items it would take longer to clear and to add counters than to count.
        let few = !alone && length < words.saturating_mul(policy.items_a_counter.into());
        // Narrow counters take longer to clear and to add: nearly all of a block's shared memory.
        let few_for_narrow = length < words.saturating_mul(policy.items_a_narrow_counter.into());
        let place = match (few, fits_wide) {
            (false, true) => HistogramPlace::Shared,
            (false, false) if fits_narrow && !few_for_narrow => HistogramPlace::Narrow,
            _ => HistogramPlace::Global,
        };
        let is_global = place == HistogramPlace::Global;

        let resident = u64::from(machine.multiprocessors * rows.blocks);
        let most_blocks = match (alone, is_global) {
            (true, _) => 1,
            (_, true) => resident,
            // With b blocks, a block counts length / b items, and then b blocks add their counters.
            // Both take equally long if b is this.
            _ => (length * u64::from(policy.adds_an_item) / words)
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

        // As many copies or slots as there is room for, and as there are items for: more would take
        // longer to clear and to add than they save.
        let bytes = |log_copies: u32| match place {
            HistogramPlace::Shared => counters.bytes(log_copies),
            HistogramPlace::Narrow => counters.narrow_bytes().unwrap_or(0),
            HistogramPlace::Global => (8_u64 << log_copies).next_multiple_of(16),
        };
        let (most, copied) = match place {
            HistogramPlace::Shared => (policy.log_copies, 2 * words),
            HistogramPlace::Narrow => (0, 0),
            HistogramPlace::Global => (policy.log_slots, 1),
        };
        let log_copies = (0..=most)
            .rev()
            .find(|&log| fits(bytes(log)) && copied << log <= share)
            .unwrap_or(0);
        // What is left is for first numbers, and for copies of cells.
        let counter_bytes = bytes(log_copies);
        let left = room - counter_bytes - least;
        let firsts = lookup.firsts as u64;
        let copies_table = firsts > 0 && firsts <= left;
        let left = if copies_table { left - firsts } else { left };
        let cells = lookup.cells as u64;
        let log_cell_copies = (0..=policy.log_copies)
            .rev()
            .find(|&log| (cells << log) - cells <= left && cells << log <= share)
            .unwrap_or(0);
        let lookup_bytes = lookup.segments as u64 + (cells << log_cell_copies);
        let table = if copies_table { firsts } else { 0 };

        // Warps that get no unit help with the counters.
        let words = if is_global { 1 << log_copies } else { words };
        let warps = units
            .div_ceil(blocks)
            .max(words.div_ceil(32))
            .clamp(fewest_warps, most_warps);
        // No counter may overflow.
        let items_a_round = if is_global {
            ITEMS_A_SLOT << log_copies
        } else {
            1 << 31
        };
        HistogramPlan {
            blocks: blocks as u32,
            threads: 32 * warps as u32,
            shared_bytes: (counter_bytes + lookup_bytes + table) as u32,
            place,
            by_rows,
            log_copies: match place {
                HistogramPlace::Narrow => LOG_FULL,
                _ => log_copies,
            },
            units_a_round: (items_a_round / (unit * warps)).max(1) as u32,
            log_cell_copies,
            copies_table,
        }
    }

    /// The bytes of shared memory that are left for a lookup: beside wide counters, beside narrow
    /// ones, and the most there can be. A lookup that is too large for all of these is cut to fit
    /// the last.
    pub fn lookup_rooms(
        rows: RowPolicy,
        machine: HistogramMachine,
        counters: HistogramCounters,
    ) -> Vec<usize> {
        let room = u64::from(machine.shared_bytes) / u64::from(rows.blocks);
        let beside = |bytes: u64| room.checked_sub(bytes);
        let wide = beside(counters.bytes(0));
        let narrow = counters.narrow_bytes().and_then(beside);
        // Where counters leave too little, they are those in global memory.
        let most = narrow.max(wide).unwrap_or(0);
        let last = if most >= room / 4 { most } else { room / 2 };
        let rooms = wide.into_iter().chain(narrow).chain([last]);
        rooms.map(|room| room as usize).collect()
    }

    /// The plan for storing places: nothing is counted.
    pub fn of_places(
        rows: RowPolicy,
        machine: HistogramMachine,
        length: usize,
        lookup: LookupBytes,
    ) -> HistogramPlan {
        let batch = rows.elements() * u64::from(rows.warps);
        let enough = (length as u64).div_ceil(batch).max(1);
        let room = machine.shared_bytes as usize / PLACING_BLOCKS as usize;
        let copies_table = lookup.firsts > 0 && lookup.least() + lookup.firsts <= room;
        let firsts = if copies_table { lookup.firsts } else { 0 };
        HistogramPlan {
            blocks: enough.min((PLACING_BLOCKS * machine.multiprocessors).into()) as u32,
            threads: 32 * rows.warps,
            shared_bytes: (lookup.least() + firsts) as u32,
            place: HistogramPlace::Global,
            by_rows: false,
            log_copies: 0,
            units_a_round: 1,
            log_cell_copies: 0,
            copies_table,
        }
    }

    /// How many bytes a lookup may have where places are stored.
    pub fn lookup_room_of_places(machine: HistogramMachine) -> usize {
        (machine.shared_bytes / PLACING_BLOCKS) as usize
    }

    /// Whether the counts must be clear before the launch.
    pub fn adds(&self) -> bool {
        self.place != HistogramPlace::Shared || self.blocks > 1
    }

    /// The blocks that clear this many counts.
    pub fn clearing_blocks(machine: HistogramMachine, counts: usize) -> u32 {
        let enough = counts.div_ceil(Self::CLEARING_THREADS as usize);
        enough.clamp(1, 8 * machine.multiprocessors as usize) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::super::bins::Bins;
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
        let counters = HistogramCounters::of_items(counters);
        HistogramPlan::new(policy, rows, H200, length, counters, LookupBytes::default())
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
            116_158,
            116_159,
            116_160,
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
            let words = match plan.place {
                HistogramPlace::Global => 2 << plan.log_copies,
                HistogramPlace::Shared => (counters + 1) << plan.log_copies,
                HistogramPlace::Narrow => (counters + 2) / 2 + 32,
            };
            assert!(4 * words <= plan.shared_bytes as usize, "{what}");
        });
    }

    /// A block adds its counters before one can overflow.
    #[test]
    fn counters_of_32_bits_do_not_overflow() {
        let (bytes, floats) = ([2048, 512], [512, 128]);
        for length in [1000, 1 << 20, 1 << 33] {
            for counters in [256, 57_000, 65_536, 1 << 20] {
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
            let words = match plan.place {
                HistogramPlace::Global => 1 << plan.log_copies,
                HistogramPlace::Shared => counters << plan.log_copies,
                HistogramPlace::Narrow => counters,
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

    /// What fits is in shared memory, in counters of 16 bits if no others fit, and if there are
    /// items enough for each.
    #[test]
    fn counters_are_where_there_is_room() {
        use HistogramPlace::{Global, Narrow, Shared};
        let policy = HistogramPolicy {
            alone: 3000,
            alone_counters: 2000,
            items_a_counter: 5,
            items_a_narrow_counter: 50,
            ..HistogramPolicy::for_capability(90)
        };
        let rows = RowPolicy::for_histogram::<Slice<f32>>(90);
        // 227 KiB have room for 58,111 counters of 4 bytes and one more, and for twice as many.
        for (length, counters, place, is_alone) in [
            (3000, 2000, Shared, true),
            (3001, 2000, Global, false),
            (3000, 2001, Global, false),
            (5 * 57_000 - 1, 57_000, Global, false),
            (5 * 57_000, 57_000, Shared, false),
            (1 << 28, 58_111, Shared, false),
            (1 << 28, 58_112, Narrow, false),
            (50 * 65_536 - 1, 65_536, Global, false),
            (50 * 65_536, 65_536, Narrow, false),
            (1 << 28, 116_159, Narrow, false),
            (1 << 28, 116_160, Global, false),
        ] {
            let items = HistogramCounters::of_items(counters);
            let plan =
                HistogramPlan::new(policy, rows, H200, length, items, LookupBytes::default());
            assert_eq!(plan.place, place, "{length} in {counters}: {plan:?}");
            assert_eq!(!plan.adds(), is_alone, "{length} in {counters}: {plan:?}");
            assert_eq!(place == Narrow, plan.log_copies == LOG_FULL, "{plan:?}");
        }
    }

    /// Weights have no narrow counters.
    #[test]
    fn weights_are_not_added_up_in_16_bits() {
        let (policy, rows) = (
            HistogramPolicy::for_capability(90),
            RowPolicy::for_histogram::<Slice<f32>>(90),
        );
        for (words, count) in [(1, 58_112), (2, 29_056)] {
            let counters = HistogramCounters {
                count,
                words,
                once: false,
            };
            let lookup = LookupBytes::default();
            let plan = |counters| HistogramPlan::new(policy, rows, H200, 1 << 28, counters, lookup);
            assert_eq!(plan(counters).place, HistogramPlace::Global);
            let fewer = HistogramCounters {
                count: count - 1,
                ..counters
            };
            assert_eq!(plan(fewer).place, HistogramPlace::Shared);
        }
    }

    /// A lookup lies beside counters of 32 bits, or else of 16 bits, as long as it is whole.
    #[test]
    fn lookups_fit_beside_counters() {
        let policy = HistogramPolicy::for_capability(90);
        let rows = RowPolicy::for_histogram::<Slice<f32>>(90);
        for (edges, place) in [
            (2, HistogramPlace::Shared),
            (100, HistogramPlace::Shared),
            (10_000, HistogramPlace::Shared),
            (40_000, HistogramPlace::Narrow),
            (80_000, HistogramPlace::Narrow),
            (100_000, HistogramPlace::Global),
            (1 << 20, HistogramPlace::Global),
        ] {
            let part = |i: usize| (i as f64 / edges as f64).powi(2);
            let edges: Vec<f64> = (0..=edges).map(part).collect();
            let bins = Bins::<f64>::with_edges_of(&edges).unwrap();
            let counters = HistogramCounters::of_items(bins.count());
            let rooms = HistogramPlan::lookup_rooms(rows, H200, counters);
            let lookup = bins.lookup(&rooms).unwrap().bytes();
            for length in [0, 1000, 1_000_000, 1 << 28] {
                let plan = HistogramPlan::new(policy, rows, H200, length, counters, lookup);
                let what = format!("{length} in {}: {plan:?}, {lookup:?}", bins.count());
                assert!(plan.shared_bytes <= H200.shared_bytes, "{what}");
                assert!(plan.shared_bytes as usize > lookup.least(), "{what}");
                if length == 1 << 28 {
                    assert_eq!(plan.place, place, "{what}");
                    let is_small = lookup.cells << 5 < 64 << 10;
                    assert!(!is_small || plan.log_cell_copies == 5, "{what}");
                }
            }
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
