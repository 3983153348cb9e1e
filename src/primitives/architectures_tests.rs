//! What is chosen for an architecture without tables of its own is sound there, too.

use super::sort::tuning;
use crate::codegen::kernels::{
    AxisPolicy, Expand, Kept, Nth, Places, SegmentedPolicy, SegmentedSort, Top,
};
use crate::codegen::{
    Explanation, HistogramCounters, HistogramMachine, HistogramPlan, HistogramPolicy, LookupBytes,
    Machine, MergeShape, RowPolicy, SortShape, TopPlan, TopWay, explain_reduce, explain_scan,
    explain_select,
};
use crate::ops::{Add, Max};
use crate::source::{Index, Map, NonZero, Slice, Zip};
use crate::{Candidate, Counted, Element, Monoid, OffsetsOf, Sortable, monoid};

/// An architecture: compute capability, multiprocessors of a GPU, the threads that one runs, and
/// the most shared memory of a block.
const MACHINES: [(u32, u32, u32, u32); 8] = [
    (75, 40, 1024, 64 << 10),
    (80, 108, 2048, 163 << 10),
    (86, 84, 1536, 99 << 10),
    (89, 128, 1536, 99 << 10),
    (90, 132, 2048, 227 << 10),
    (100, 148, 2048, 227 << 10),
    (120, 170, 1536, 99 << 10),
    // A small one of a new architecture.
    (120, 20, 1536, 99 << 10),
];

#[monoid(name = LogSum, identity = f32::NEG_INFINITY)]
fn log_sum(a: f32, b: f32) -> f32 {
    let most = a.max(b);
    most + ((a - most).exp() + (b - most).exp()).ln()
}

#[monoid(name = AllOf, identity = [0.0; 8])]
fn all_of(a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
    [
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
    ]
}

fn lengths() -> impl Iterator<Item = usize> {
    (1..34).flat_map(|log| [(1 << log) - 1, 1 << log, 3 << (log - 1)])
}

/// Blocks fit the GPU. Those that wait for each other, and do not take tiles in turns, are all
/// there at once: else a launch may never end.
fn assert_sound(explanation: &Explanation, machine: (u32, u32, u32, u32)) {
    let (capability, multiprocessors, threads, shared) = machine;
    let text = explanation.to_string();
    let engine = explanation.engine();
    assert!(
        engine != "wave" || (90..110).contains(&capability),
        "{machine:?}: {text}"
    );
    assert!(
        engine != "shares" || capability >= 80,
        "{machine:?}: {text}"
    );
    for launch in explanation.launches() {
        assert!((1..=1024).contains(&launch.threads), "{machine:?}: {text}");
        assert!(launch.shared_bytes <= shared, "{machine:?}: {text}");
        let held = u64::from(multiprocessors) * u64::from(threads / launch.threads);
        let waits = engine == "wave"
            || launch.function == "reduce_rows"
            || text.contains("holds all items at once");
        assert!(
            !waits || launch.blocks <= held,
            "{machine:?} holds {held}: {text}"
        );
    }
}

fn check<T: Element, Op: Monoid<T>>() {
    for machine in MACHINES {
        let asked = Machine {
            capability: machine.0,
            multiprocessors: machine.1,
        };
        let mut bytes = [0; 2];
        for len in lengths() {
            let scan = explain_scan::<T, Op>(asked, true, len).unwrap();
            let reduce = explain_reduce::<T, Op>(asked, len).unwrap();
            for (explanation, before) in [&scan, &reduce].into_iter().zip(&mut bytes) {
                assert_sound(explanation, machine);
                let now = explanation.workspace_bytes();
                assert!(*before <= now, "{len}: {now} of {before}");
                *before = now;
            }
        }
    }
}

#[test]
fn folds_are_sound_on_every_architecture() {
    check::<u8, Max>();
    check::<f32, Add>();
    check::<f32, LogSum>();
    check::<f64, Add>();
    check::<u128, Add>();
    check::<[f64; 8], AllOf>();
}

#[test]
fn selects_are_sound_on_every_architecture() {
    type Flags = Map<NonZero<u8>, Slice<u8>>;
    for machine in MACHINES {
        let asked = Machine {
            capability: machine.0,
            multiprocessors: machine.1,
        };
        for len in lengths() {
            let kept = explain_select::<u64, Zip<(Slice<u64>, Flags)>, Kept>(asked, len);
            assert_sound(&kept.unwrap(), machine);
            let places = explain_select::<u64, Zip<(Index, Flags)>, Places>(asked, len);
            assert_sound(&places.unwrap(), machine);
        }
    }
}

/// Where a table says bytes of a whole input, a GPU with half of the multiprocessors changes its
/// kernel at half of the length, unless it has a table of its own.
#[test]
fn lengths_follow_the_number_of_multiprocessors() {
    let changes = |capability, multiprocessors| {
        let machine = Machine {
            capability,
            multiprocessors,
        };
        let policy = |len: usize| {
            let text = explain_reduce::<f32, Add>(machine, len)
                .unwrap()
                .to_string();
            let line = text
                .lines()
                .find(|line| line.starts_with("engine: "))
                .unwrap();
            line.to_owned()
        };
        let most: usize = policy(1 << 20).rsplit(' ').nth(1).unwrap().parse().unwrap();
        most
    };
    assert_eq!(changes(90, 132), changes(90, 66));
    assert_eq!(changes(86, 132), changes(90, 132));
    assert!(changes(86, 66) < changes(86, 132));
}

/// What each of the architectures has, and more on most: the shared memory that a block may have
/// without asking, the threads of a block, and those of a multiprocessor.
const LEAST_SHARED: usize = 48 << 10;
const MOST_THREADS: u32 = 1024;

fn assert_threads(what: &str, threads: u32) {
    let whole = threads.is_multiple_of(32);
    assert!(
        whole && (32..=MOST_THREADS).contains(&threads),
        "{what}: {threads}"
    );
}

/// Blocks and lookups depend on the multiprocessors and on the shared memory of a block.
#[test]
fn histograms_are_sound_on_every_architecture() {
    fn check<T: Counted>() {
        for (capability, multiprocessors, _, shared) in MACHINES {
            let (policy, rows) = (
                HistogramPolicy::for_capability(capability),
                RowPolicy::for_histogram::<Slice<T>>(capability),
            );
            let machine = HistogramMachine {
                multiprocessors,
                shared_bytes: shared - 64,
            };
            for count in [1, 256, 5000, 16_384, 30_000, 60_000, 1 << 17, 1 << 24] {
                for (words, once) in [(1, true), (1, false), (2, false)] {
                    let counters = HistogramCounters { count, words, once };
                    for len in lengths() {
                        let lookup = LookupBytes::default();
                        let plan = HistogramPlan::new(policy, rows, machine, len, counters, lookup);
                        let what = format!("{capability}, {len} in {count}: {plan:?}");
                        assert_threads(&what, plan.threads);
                        assert!(plan.shared_bytes <= machine.shared_bytes, "{what}");
                        let blocks = 1..=multiprocessors * rows.blocks;
                        assert!(blocks.contains(&plan.blocks), "{what}");
                    }
                }
            }
        }
    }
    check::<u8>();
    check::<f64>();
}

/// The multiprocessors decide whether rows take a block each. Blocks are the same on all GPUs.
#[test]
fn tops_are_sound_on_every_architecture() {
    fn check<T: Candidate<Key = T> + Sortable>() {
        let shape = Top::<Slice<T>>::shape();
        assert_threads("top", shape.threads);
        assert_threads("top's filter", shape.filter_threads());
        assert!(shape.shared_bytes() as usize <= LEAST_SHARED, "{shape:?}");
        for (_, multiprocessors, _, _) in MACHINES {
            let plan = |rows, columns, k| TopPlan::new(shape, multiprocessors, rows, columns, k);
            for k in [1, 100, 1024, 1025, 100_000] {
                for len in lengths().filter(|&len| len >= k) {
                    // One row has no need of several blocks at once.
                    assert_eq!(
                        plan(1, len, k).way(),
                        TopPlan::new(shape, 132, 1, len, k).way()
                    );
                    for rows in [1, 2, 100, 5000] {
                        let plan = plan(rows, len, k);
                        assert!((1..=len).contains(&plan.room().max(1)), "{plan:?}");
                        assert!(plan.sample_blocks() > 0, "{plan:?}");
                    }
                }
            }
            // A row each is faster as long as every multiprocessor has one, and no more.
            let way = |rows| plan(rows, 1 << 20, 100).way();
            assert_eq!(way(multiprocessors as usize), TopWay::Rows);
            assert_eq!(way(1), TopWay::Once);
        }
        for shape in Nth::<Slice<T>>::shapes() {
            assert_threads("nth", shape.threads);
            assert!(4 * shape.counts() <= LEAST_SHARED, "{shape:?}");
        }
    }
    check::<u8>();
    check::<f32>();
    check::<i128>();
}

/// One policy for all: it depends on sizes alone, so it must suit the least of these GPUs.
#[test]
fn sorts_suit_the_least_gpu() {
    fn check(what: &str, shape: SortShape) {
        let least = MACHINES.map(|(_, _, _, shared)| shared).into_iter().min();
        let bytes = [shape.tile_bytes(), shape.run_bytes(), shape.count_bytes()];
        // They ask for more than a block has without asking.
        assert!(bytes.into_iter().max() <= least, "{what}: {bytes:?}");
        assert_threads(what, shape.threads());
        assert_threads(what, shape.run_threads());
        // A thread of a tile's block has a digit.
        assert!(shape.threads() >= 256 && shape.tile() > 0, "{what}");
    }
    assert_threads("sort", tuning::MERGE_THREADS);
    assert_threads("sort", tuning::COUNT_THREADS);
    check("u8", SortShape::of_keys::<u8>());
    check("f32", SortShape::of_keys::<f32>());
    check("i128", SortShape::of_keys::<i128>());
    check("u8 by u8", SortShape::of_pairs::<u8, u8>());
    check("u8 by u128", SortShape::of_pairs::<u8, u128>());
    check("f32 by u32", SortShape::of_pairs::<f32, u32>());
    check("u16 by [u8; 15]", SortShape::of_pairs::<u16, [u8; 15]>());
    check("u128 by u128", SortShape::of_pairs::<u128, u128>());
}

/// One policy for all, as for sorts.
#[test]
fn merges_suit_the_least_gpu() {
    for item_bytes in 1..=64 {
        let shape = MergeShape::of(item_bytes);
        assert_threads("merge", shape.threads());
        assert!(shape.tile_bytes() as usize <= LEAST_SHARED, "{shape:?}");
    }
}

/// One policy for all, as for sorts. Only the number of items decides on the size of places.
#[test]
fn segmented_sorts_suit_the_least_gpu() {
    fn check<K: Sortable>() {
        for len in [1000, 1 << 33] {
            let shape = SegmentedSort::<K, OffsetsOf<u64>>::shape(len);
            assert_threads("segmented sort", shape.threads());
            assert_threads("segmented sort", shape.merge_threads());
            assert!(shape.shared_bytes() as usize <= LEAST_SHARED, "{shape:?}");
            assert!(shape.items % 2 == 1 && shape.items < 32, "{shape:?}");
            let merged = shape.merge_items * shape.merge_threads() as usize;
            assert!(
                shape.merge_items % 2 == 1 && merged >= shape.tile(),
                "{shape:?}"
            );
        }
    }
    check::<u8>();
    check::<f32>();
    check::<u64>();
    check::<i128>();
}

/// One policy for all, as for sorts.
#[test]
fn segments_suit_the_least_gpu() {
    fn check<T: Element>() {
        let policy = SegmentedPolicy::of::<T>();
        assert_threads("segments", 32 * policy.warps);
        assert_threads("segments", 32 * policy.finish_warps);
        let tile = policy.rows * policy.warps * 32;
        // Beside the items of a tile there is a bit for each entry, and more.
        assert!(
            tile as usize * size_of::<T>() <= LEAST_SHARED / 2,
            "{policy:?}"
        );
        let unit = policy.unit;
        assert!(unit.is_power_of_two() && (128..=1024).contains(&unit) && unit <= tile);
        // A multiprocessor has threads for all of the blocks that it has registers for.
        let least = MACHINES.map(|(_, _, threads, _)| threads).into_iter().min();
        assert!(Some(policy.blocks * policy.warps * 32) <= least);
        let (_, threads) = Expand::<T>::grid(1 << 20, 1000);
        assert_threads("expansion", threads);
    }
    check::<u8>();
    check::<f32>();
    check::<f64>();
    check::<u128>();
    check::<[f64; 3]>();
    check::<[f64; 8]>();
}

/// One policy for all, as for sorts. Axes take no shared memory but for what warps exchange.
#[test]
fn axes_suit_the_least_gpu() {
    fn check<T: Element>() {
        let policy = AxisPolicy::of::<T>();
        assert_threads("axes", policy.threads);
        assert!(policy.log_group <= policy.log_most, "{policy:?}");
        // What a thread has under way is in registers, with the tree of its chunk: 4 bytes each of
        // the 255 that it may have.
        let size = size_of::<T::Accumulator>();
        let held = (policy.group() + policy.log_most) as usize * size;
        assert!(held <= 4 * 255 / 2, "{policy:?}: {held}");
        // Chunks are enough for the threads of the largest GPU.
        let threads = MACHINES.map(|(_, count, threads, _)| u64::from(count * threads));
        assert!(
            threads
                .into_iter()
                .all(|threads| threads < 2 * policy.wanted)
        );
    }
    check::<u8>();
    check::<f32>();
    check::<f64>();
    check::<u128>();
    check::<[f64; 3]>();
    check::<[f64; 8]>();
}
