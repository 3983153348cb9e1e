//! What `explain` says of launches is what the plans say.

use warpfold::Axis;
use warpfold::codegen::kernels::{AxisPlan, AxisPolicy, SegmentedPolicy};
use warpfold::codegen::{
    HEADER_BYTES, Machine, SortPlan, SortShape, explain_argsort, explain_reduce_axis,
    explain_scan_axis, explain_segmented_reduce, explain_segmented_scan, explain_sort,
};

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
