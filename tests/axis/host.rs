//! Levels 1 and 2 on the CPU, and what is refused.

use super::cases::{Case, Form, cases};
use crate::support::data::{Sample, assert_same};
use crate::support::operators::{Bicyclic, BicyclicProduct, Bracketing};
use half::f16;
use warpfold::ops::{Add, Max};
use warpfold::{
    Axis, Device, Error, Monoid, Prefixes, function, map, reduce_axis, reduce_axis_from, scan_axis,
    scan_axis_in_place, zip,
};

/// Each case with one of `of` forms of scans, the next ones with the next case.
fn check<T: Sample, Op: Monoid<T>>(cases: &[Case], of: usize) {
    let device = Device::cpu();
    for (number, case) in cases.iter().enumerate() {
        let (axis, data) = (case.axis(), case.data::<T>());
        let buffer = device.upload(&data).unwrap();
        let what = format!("{case:?}");
        let expected = case.folds::<T, Op>(&data, None);
        assert_same(
            &reduce_axis::<T, Op>(&data, axis).unwrap(),
            &expected,
            &what,
        );
        let folds = device.reduce_axis::<T, Op>(&buffer, axis).unwrap();
        assert_same(&folds.to_vec().unwrap(), &expected, &what);
        for form in Form::all().into_iter().skip(number % of).step_by(of) {
            let what = format!("{case:?}, {form:?}");
            if let Some(init) = form.init {
                let expected = case.folds::<T, Op>(&data, Some(init));
                let folds = reduce_axis_from::<T, Op>(init, &data, axis).unwrap();
                assert_same(&folds, &expected, &what);
            }
            let expected = case.scans::<T, Op>(&data, form, false);
            let scans = scan_axis::<T, Op>(form.prefixes(), &data, axis).unwrap();
            assert_same(&scans, &expected, &what);
            let expected = case.scans::<T, Op>(&data, form, true);
            let mut scans = data.clone();
            scan_axis_in_place::<T, Op>(form.prefixes(), axis, &mut scans).unwrap();
            assert_same(&scans, &expected, &what);
            let mut scans = device.upload(&data).unwrap();
            device
                .scan_axis_in_place::<T, Op>(form.prefixes(), axis, &mut scans)
                .unwrap();
            assert_same(&scans.to_vec().unwrap(), &expected, &what);
        }
    }
}

#[test]
fn each_lane_gets_what_the_law_gives_for_it_alone() {
    check::<f32, Add>(&cases(5), 1);
    check::<u64, Bracketing>(&cases(5), 1);
    check::<f16, Add>(&cases(4), 1);
    check::<Bicyclic, BicyclicProduct>(&cases(4), 1);
    check::<i32, Max>(&cases(3), 1);
}

/// More items than one task takes: tall, wide and in the middle.
#[test]
fn tasks_share_long_lanes_and_many_lanes() {
    let cases = [
        Case::new(1, 50_001, 3),
        Case::new(1, 70, 3000),
        Case::new(300, 40, 17),
        Case::new(3, 20_000, 1),
        Case::new(1, 1 << 16, 2),
        Case {
            gaps: (5, 7),
            ..Case::new(2, 9000, 4)
        },
    ];
    check::<f32, Add>(&cases, 3);
    check::<u64, Bracketing>(&cases[..3], 3);
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

#[test]
fn sources_are_folded_and_scanned_along_axes() {
    for case in [
        Case::new(3, 50, 4),
        Case::new(1, 40_000, 3),
        Case::new(9, 30, 1),
    ] {
        let (x, axis) = (case.data::<f32>(), case.axis());
        let squares: Vec<_> = x.iter().map(|x| x * x).collect();
        let source = || map::<product, _>(zip(&x, &x));
        let folds = reduce_axis::<f32, Add>(source(), axis).unwrap();
        assert_same(&folds, &case.folds::<f32, Add>(&squares, None), "folds");
        let form = Form {
            inclusive: true,
            reverse: true,
            init: None,
        };
        let scans = scan_axis::<f32, Add>(form.prefixes(), source(), axis).unwrap();
        assert_same(
            &scans,
            &case.scans::<f32, Add>(&squares, form, false),
            "scans",
        );
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, parts: &[&str]) {
    let text = result.unwrap_err().to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
}

#[test]
fn wrong_axes_are_refused() {
    refused(
        Axis::of(&[2, 3], 2),
        &["axis 2 is not there", "0 to 1", "remedy"],
    );
    refused(Axis::of(&[], 0), &["axis 0 is not there", "none"]);
    refused(Axis::of(&[7], 1), &["axis 1 is not there", "axis 0 only"]);
    refused(Axis::of(&[usize::MAX, 2], 1), &["more than a position"]);
    refused(
        Axis::of(&[usize::MAX, 2, 3], 2),
        &["more items than a position"],
    );
    assert_eq!(Axis::of(&[usize::MAX, 2, 0], 1).unwrap().items(), 0);
    refused(Axis::new(usize::MAX, 2, 1), &["more than a position"]);
    let axis = Axis::new(2, 3, 4).unwrap();
    refused(axis.strides(12, 3), &["stride of 3 is less than the 4"]);
    refused(
        axis.strides(13, 5),
        &["outer stride of 13 is less than the 14"],
    );
    refused(axis.strides(usize::MAX, 5), &["beyond what a position"]);
    assert!(axis.strides(14, 5).is_ok());
}

#[test]
fn sources_of_another_size_are_refused() {
    let axis = Axis::new(2, 3, 4).unwrap();
    let parts = ["2 × 3 × 4 places take 24 items, but there are 23"];
    let data = vec![0_u32; 23];
    refused(reduce_axis::<u32, Add>(&data, axis), &parts);
    refused(
        scan_axis::<u32, Add>(Prefixes::inclusive(), &data, axis),
        &parts,
    );
    refused(reduce_axis::<u32, Add>(&[0; 25], axis), &["there are 25"]);
    let rows = Axis::new(3, 8, 1).unwrap();
    refused(reduce_axis::<u32, Add>(&data, rows), &["take 24 items"]);
    let padded = Axis::new(2, 3, 4).unwrap().strides(20, 5).unwrap();
    let mut short = vec![0_u32; 33];
    let result = scan_axis_in_place::<u32, Add>(Prefixes::inclusive(), padded, &mut short);
    refused(result, &["take 34 items"]);
    assert_eq!(reduce_axis::<u32, Add>(&[1; 34], padded).unwrap(), [3; 8]);
}
