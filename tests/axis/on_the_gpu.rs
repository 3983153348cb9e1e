//! A GPU, at levels 2 and 3.

use super::cases::{Case, Form, cases};
use crate::support::data::{Sample, assert_same};
use crate::support::operators::{Bicyclic, BicyclicProduct, Bracketing, Sums};
use crate::support::{captured, gpu, stream};
use half::f16;
use warpfold::cuda::{AlongAxis, Workspace};
use warpfold::ops::Add;
use warpfold::{Monoid, Prefixes};

fn check<T: Sample, Op: Monoid<T>>(more: &[Case]) {
    let Some(device) = gpu(0) else {
        return;
    };
    let mut all = cases(5);
    all.extend(more);
    for case in all {
        let (axis, data) = (case.axis(), case.data::<T>());
        let input = device.upload(&data).unwrap();
        let folds = device.reduce_axis::<T, Op>(&input, axis).unwrap();
        let what = format!("{case:?}");
        assert_same(
            &folds.to_vec().unwrap(),
            &case.folds::<T, Op>(&data, None),
            &what,
        );
        for form in Form::all() {
            let what = format!("{case:?}, {form:?}");
            if let Some(init) = form.init {
                let folds = device
                    .reduce_axis_from::<T, Op>(init, &input, axis)
                    .unwrap();
                let expected = case.folds::<T, Op>(&data, Some(init));
                assert_same(&folds.to_vec().unwrap(), &expected, &what);
            }
            let scans = device
                .scan_axis::<T, Op>(form.prefixes(), &input, axis)
                .unwrap();
            let expected = case.scans::<T, Op>(&data, form, false);
            assert_same(&scans.to_vec().unwrap(), &expected, &what);
            let mut scans = device.upload(&data).unwrap();
            device
                .scan_axis_in_place::<T, Op>(form.prefixes(), axis, &mut scans)
                .unwrap();
            let expected = case.scans::<T, Op>(&data, form, true);
            assert_same(&scans.to_vec().unwrap(), &expected, &what);
        }
    }
}

#[test]
fn floats() {
    let more = [
        Case::new(1, 1000, 1000),
        Case::new(1, 300_007, 3),
        Case::new(300, 4000, 1),
        Case::new(40, 50, 60),
        Case {
            gaps: (3, 9),
            ..Case::new(3, 5000, 7)
        },
    ];
    check::<f32, Add>(&more);
}

macro_rules! types {
    ($($test:ident: $ty:ty, $op:ty;)*) => {$(
        #[test]
        fn $test() {
            check::<$ty, $op>(&[Case::new(1, 70_001, 2), Case::new(2, 600, 100)]);
        }
    )*};
}

types! {
    halves: f16, Add;
    bytes: u8, Bracketing;
    words: u64, Bracketing;
    ordered: Bicyclic, BicyclicProduct;
    triples: [u8; 3], Bracketing;
    long_elements: [u64; 8], Sums;
}

#[test]
fn graphs_capture_calls_along_axes() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let case = Case::new(2, 20_000, 5);
    let (axis, items) = (case.axis(), case.data::<f32>());
    let along = AlongAxis::<f32, Add>::load(&context).unwrap();
    let data = stream.clone_htod(&items).unwrap();
    let mut folds = stream.alloc_zeros::<f32>(axis.lanes()).unwrap();
    let mut scans = stream.alloc_zeros::<f32>(axis.items()).unwrap();
    let mut workspace = Workspace::new(&stream, along.workspace_bytes(axis)).unwrap();
    let form = Form {
        inclusive: true,
        reverse: false,
        init: None,
    };
    let graph = captured(&stream, || {
        along.enqueue_reduce(&stream, &data, axis, &mut folds, &mut workspace)?;
        let prefixes = Prefixes::inclusive();
        along.enqueue_scan(&stream, prefixes, &data, axis, &mut scans, &mut workspace)
    });
    for _ in 0..3 {
        graph.launch().unwrap();
        let got = stream.clone_dtoh(&folds).unwrap();
        assert_same(&got, &case.folds::<f32, Add>(&items, None), "folds");
        let got = stream.clone_dtoh(&scans).unwrap();
        assert_same(&got, &case.scans::<f32, Add>(&items, form, false), "scans");
    }
}

#[test]
fn lanes_are_folded_from_init_and_scanned_in_place() {
    let Some((context, stream)) = stream() else {
        return;
    };
    // Chunks of long lanes, lanes that are one chunk, and lanes that are rows.
    for case in [
        Case::new(2, 20_000, 5),
        Case::new(3, 7, 1000),
        Case::new(40, 300, 1),
    ] {
        let (axis, items) = (case.axis(), case.data::<f32>());
        let along = AlongAxis::<f32, Add>::load(&context).unwrap();
        let mut data = stream.clone_htod(&items).unwrap();
        let mut folds = stream.alloc_zeros::<f32>(axis.lanes()).unwrap();
        let mut workspace = Workspace::new(&stream, along.workspace_bytes(axis)).unwrap();
        along
            .enqueue_reduce_from(&stream, 0.5, &data, axis, &mut folds, &mut workspace)
            .unwrap();
        let got = stream.clone_dtoh(&folds).unwrap();
        assert_same(&got, &case.folds::<f32, Add>(&items, Some(0.5)), "folds");
        let form = Form {
            inclusive: false,
            reverse: true,
            init: Some(0.25),
        };
        let prefixes = Prefixes::exclusive().reverse().from(0.25);
        along
            .enqueue_scan_in_place(&stream, prefixes, axis, &mut data, &mut workspace)
            .unwrap();
        let got = stream.clone_dtoh(&data).unwrap();
        assert_same(
            &got,
            &case.scans::<f32, Add>(&items, form, true),
            "in place",
        );
    }
}
