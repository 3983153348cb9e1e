//! What `explain` says of launches is what the plans say.

use warpfold::codegen::kernels::{
    AxisPlan, AxisPolicy, Collect, SegmentedPolicy, Top, WeightedForm,
};
use warpfold::codegen::{
    HEADER_BYTES, HistogramCounters, HistogramMachine, HistogramPlan, HistogramPolicy, LaunchShape,
    LookupBytes, Machine, RowPolicy, SortPlan, SortShape, TopPlan, TopWay, explain_argsort,
    explain_histogram_weighted, explain_reduce_axis, explain_scan_axis, explain_search,
    explain_segmented_reduce, explain_segmented_reduce_vectors, explain_segmented_scan,
    explain_sort, explain_top, explain_top_rows, search_kernels,
};
use warpfold::source::Slice;
use warpfold::{Axis, Bins, Element};

const MACHINE: Machine = Machine {
    capability: 90,
    multiprocessors: 132,
};

const LENGTHS: [usize; 8] = [0, 1, 1000, 1025, 65_536, 65_537, 1_000_003, 1 << 32];

#[test]
fn sorts_have_the_launches_of_their_plans() {
    for len in LENGTHS {
        let expected = |shape, copies: u32, passes: u32| {
            let plan = SortPlan::new(shape, len);
            match (len, plan.is_short()) {
                (0, _) => 0,
                (_, true) => plan.stages(),
                // One clears counts, and one counts.
                (_, false) => 2 + copies + passes,
            }
        };
        let launches = explain_sort::<u32>(MACHINE, len).unwrap().launches().len();
        let plan = expected(SortShape::of_keys::<u32>(), 1, 4);
        assert_eq!(launches, plan as usize, "{len}");
        let places = explain_argsort::<u64>(MACHINE, len).unwrap();
        let shape = match len >> 32 {
            0 => SortShape::of_pairs::<u64, u32>(),
            _ => SortShape::of_pairs::<u64, u64>(),
        };
        assert_eq!(places.launches().len(), expected(shape, 0, 8) as usize);
    }
}

#[test]
fn segments_have_the_launches_of_their_policy() {
    for len in LENGTHS {
        for count in [0, 1, 1000] {
            let reduce = explain_segmented_reduce::<f32>(MACHINE, len, count).unwrap();
            let policy = SegmentedPolicy::of::<f32>();
            let finishes = policy.has_long(len);
            let expected = if count == 0 {
                0
            } else {
                1 + usize::from(finishes)
            };
            assert_eq!(reduce.launches().len(), expected, "{len} {count}: {reduce}");
            if let [tiles, ..] = reduce.launches() {
                assert_eq!(tiles.blocks, policy.tiles(len, count), "{reduce}");
            }
            let scan = explain_segmented_scan::<f32>(len, count).unwrap();
            assert_eq!(scan.launches().len(), usize::from(len > 0), "{scan}");
        }
    }
    assert!(explain_segmented_scan::<f32>(usize::MAX, 1).is_err());
}

#[test]
fn axes_have_the_launches_of_their_plans() {
    for shape in [
        [1, 7, 3],
        [1, 1 << 26, 2],
        [3, 5000, 100],
        [1, 1 << 14, 1 << 14],
        [2, 0, 5],
    ] {
        let axis = Axis::of(&shape, 1).unwrap();
        let plan = AxisPlan::new::<f32>(AxisPolicy::of::<f32>(), &axis, HEADER_BYTES as u64);
        let levels = plan.levels.len();
        let reduce = explain_reduce_axis::<f32>(MACHINE, axis).unwrap();
        assert_eq!(reduce.launches().len(), levels, "{shape:?}: {reduce}");
        assert_eq!(reduce.workspace_bytes(), plan.end as usize, "{shape:?}");
        // Up to the level that is not cut, and down from there.
        let scan = explain_scan_axis::<f32>(MACHINE, axis).unwrap();
        let expected = if axis.items() == 0 { 0 } else { 2 * levels - 1 };
        assert_eq!(scan.launches().len(), expected, "{shape:?}: {scan}");
    }
    // Rows are segments.
    let axis = Axis::of(&[1000, 5000], 1).unwrap();
    let rows = explain_reduce_axis::<f32>(MACHINE, axis).unwrap();
    let segments = explain_segmented_reduce::<f32>(MACHINE, 5_000_000, 1000).unwrap();
    assert_eq!(rows.launches(), segments.launches());
    assert_eq!(rows.launches().len(), 2);
}

#[test]
fn rows_of_a_top_have_the_launches_of_their_plans() {
    let shape = Top::<Slice<f32>>::shape();
    let mut ways = Vec::new();
    for (rows, columns) in [
        (0, 100),
        (100, 0),
        (1, 100),
        (1, 100_000),
        (1000, 100),
        (3, 100_000),
        (1000, 100_000),
        (3, 10_000_000),
    ] {
        for k in [0, 1, 1000, 1500, 50_000, 5_000_000] {
            let said = explain_top_rows::<f32>(MACHINE, rows, columns, k).unwrap();
            let plan = TopPlan::new(shape, MACHINE.multiprocessors, rows, columns, k);
            if rows == 0 || plan.k == 0 {
                assert!(said.launches().is_empty() && said.times() == 1, "{said}");
            } else if plan.way() == TopWay::Rows {
                let [launch] = said.launches() else {
                    panic!("{said}")
                };
                assert_eq!(launch.function, Top::<Slice<f32>>::ROWS.name);
                let shared = (launch.blocks, launch.shared_bytes);
                assert_eq!(shared, (rows as u64, shape.shared_bytes()), "{said}");
                assert_eq!(said.times(), 1, "{said}");
            } else {
                // Each is found as if it was alone.
                let row = explain_top::<f32>(MACHINE, columns, k).unwrap();
                assert_eq!(row.launches(), said.launches(), "{said}");
                assert_eq!(row.workspace_bytes(), said.workspace_bytes(), "{said}");
                assert_eq!((said.times(), row.times()), (rows, 1), "{said}");
            }
            if !ways.contains(&plan.way()) {
                ways.push(plan.way());
            }
        }
    }
    assert_eq!(ways.len(), 5, "{ways:?}");
    // More rows than a grid has blocks.
    assert!(explain_top_rows::<f32>(MACHINE, 1 << 40, 100, 10).is_err());
    assert!(explain_top_rows::<f32>(MACHINE, usize::MAX, 100, 10).is_err());
}

#[test]
fn a_search_has_the_launch_of_its_kernel() {
    fn check<K: warpfold::Sortable>() {
        let [(_, policy), _] = search_kernels::<K>(MACHINE.capability);
        for needles in LENGTHS {
            let said = explain_search::<K>(MACHINE, needles).unwrap();
            let tile = policy.elements() * u64::from(policy.warps);
            let blocks: Vec<_> = said.launches().iter().map(|launch| launch.blocks).collect();
            match needles {
                0 => assert!(blocks.is_empty(), "{said}"),
                _ => assert_eq!(blocks, [(needles as u64).div_ceil(tile)], "{said}"),
            }
            assert_eq!(said.workspace_bytes(), 0);
        }
    }
    check::<u8>();
    check::<f32>();
    check::<u128>();
}

#[test]
fn vectors_have_a_thread_for_each_result() {
    for (count, inner) in [(0, 64), (64, 0), (1, 1), (1000, 64), (1 << 20, 1000)] {
        let said = explain_segmented_reduce_vectors(count, inner).unwrap();
        for policy in [AxisPolicy::of::<u8>(), AxisPolicy::of::<[f64; 4]>()] {
            let threads = policy.threads;
            let blocks = ((count * inner) as u64).div_ceil(threads.into());
            let found: Vec<_> = said
                .launches()
                .iter()
                .map(|l| (l.blocks, l.threads))
                .collect();
            match blocks {
                0 => assert!(found.is_empty(), "{said}"),
                _ => assert_eq!(found, [(blocks, threads)], "{said}"),
            }
        }
    }
    assert!(explain_segmented_reduce_vectors(usize::MAX, 2).is_err());
    assert!(explain_segmented_reduce_vectors(1 << 40, 1 << 10).is_err());
}

/// The names and blocks of launches.
fn named(launches: &[LaunchShape]) -> Vec<(&str, u64)> {
    let launches = launches.iter();
    launches
        .map(|launch| (&*launch.function, launch.blocks))
        .collect()
}

#[test]
fn integer_weights_are_added_up_as_their_plan_says() {
    fn check<W: Element, U: warpfold::codegen::kernels::Weight>()
    where
        warpfold::ops::Add: warpfold::Monoid<W>,
    {
        let machine = HistogramMachine::of(MACHINE);
        let rows = RowPolicy::for_histogram::<WeightedForm<Slice<f32>, U>>(MACHINE.capability);
        let policy = HistogramPolicy::for_capability(MACHINE.capability);
        for (len, count) in LENGTHS
            .into_iter()
            .flat_map(|len| [(len, 20), (len, 100_000)])
        {
            let bins = Bins::even(0.0, 1.0, count).unwrap();
            let said = explain_histogram_weighted::<W, Slice<f32>>(MACHINE, &bins, len).unwrap();
            let counters = HistogramCounters {
                count,
                words: size_of::<U>().div_ceil(4),
                once: false,
            };
            let lookup = LookupBytes::default();
            let plan = HistogramPlan::new(policy, rows, machine, len, counters, lookup);
            let clearing = HistogramPlan::clearing_blocks(machine, count);
            let mut blocks = vec![u64::from(plan.blocks)];
            if plan.adds() {
                blocks.insert(0, clearing.into());
            }
            if size_of::<W>() < 4 {
                // Sums of 32 bits are narrowed.
                let policy = Collect::<Slice<u32>>::rows_policy(MACHINE.capability);
                let tile = policy.elements() * u64::from(policy.warps);
                blocks.push((count as u64).div_ceil(tile));
            }
            let found: Vec<_> = said.launches().iter().map(|launch| launch.blocks).collect();
            assert_eq!(found, blocks, "{said}");
        }
    }
    check::<u8, u8>();
    check::<i16, u16>();
    check::<i32, u32>();
    check::<u64, u64>();
}

#[test]
fn other_weights_are_sorted_and_folded() {
    let bins = Bins::even(0.0, 1.0, 1000).unwrap();
    let explain = |len| {
        let said = explain_histogram_weighted::<f64, Slice<f32>>(MACHINE, &bins, len);
        said.unwrap()
    };
    for len in LENGTHS {
        let said = explain(len);
        let launches = named(said.launches());
        let ((first, _), last) = (launches[0], launches[launches.len() - 1]);
        assert_eq!(first, "histogram_places");
        let plan = SortPlan::new(SortShape::of_pairs::<u32, f64>(), len);
        let sorts = match (len, plan.is_short()) {
            (0, _) => 0,
            (_, true) => plan.stages() as usize,
            // A place has two bytes that vary, up to the number of bins.
            (_, false) => 2 + 2,
        };
        let fold = SegmentedPolicy::of::<f64>();
        let folds = 1 + usize::from(fold.has_long(len));
        assert_eq!(launches.len(), 1 + sorts + 1 + folds, "{said}");
        assert_eq!(launches[1 + sorts].0, "collect_rows", "{said}");
        let tiles = launches[launches.len() - folds];
        assert_eq!(
            tiles,
            ("segmented_reduce", fold.tiles(len, bins.count())),
            "{said}"
        );
        assert!(last.1 > 0);
        let kept = len * (12 + 2 * 8) + 1001 * 8;
        assert!(said.workspace_bytes() >= kept.min(len * 12), "{said}");
    }
    let many = explain_histogram_weighted::<f64, Slice<f32>>(MACHINE, &bins, usize::MAX);
    assert!(many.is_err());
}
