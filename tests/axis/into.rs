//! Results that go into the caller's buffers are those of the law, on the CPU and on a GPU.

use super::cases::{Case, Form, cases};
use crate::support::data::{Sample, assert_same};
use crate::support::devices;
use crate::support::operators::{Bicyclic, BicyclicProduct};
use warpfold::ops::{Add, Max};
use warpfold::{Error, Monoid, Prefixes};

fn check<T: Sample, Op: Monoid<T>>() {
    // One lane, which is an array of its own, and what has many.
    let mut all = cases(2);
    all.extend([
        Case::new(1, 100_003, 1),
        Case::new(1, 0, 1),
        Case::new(70, 900, 1),
    ]);
    for device in devices() {
        for (number, case) in all.iter().enumerate() {
            let (axis, data) = (case.axis(), case.data::<T>());
            let buffer = device.upload(&data).unwrap();
            for form in Form::all().into_iter().skip(number % 3).step_by(3) {
                let what = format!("{case:?}, {form:?} on {device}");
                let mut folds = device.allocate(axis.lanes()).unwrap();
                device
                    .reduce_axis_into::<T, Op>(form.init, &buffer, axis, &mut folds)
                    .unwrap();
                let expected = case.folds::<T, Op>(&data, form.init);
                assert_same(&folds.to_vec().unwrap(), &expected, &what);

                let mut scans = device.allocate(axis.items()).unwrap();
                device
                    .scan_axis_into::<T, Op>(form.prefixes(), &buffer, axis, &mut scans)
                    .unwrap();
                let expected = case.scans::<T, Op>(&data, form, false);
                assert_same(&scans.to_vec().unwrap(), &expected, &what);
            }
        }
    }
}

#[test]
fn results_in_buffers_of_the_caller_are_those_of_the_law() {
    check::<f32, Add>();
    check::<Bicyclic, BicyclicProduct>();
    check::<i32, Max>();
}

#[test]
fn buffers_of_another_length_are_refused_and_stay() {
    for device in devices() {
        let axis = Case::new(2, 3, 4).axis();
        let data = device.upload(&[1_u32; 24]).unwrap();
        let mut out = device.upload(&[7_u32; 9]).unwrap();
        let fault = device.reduce_axis_into::<u32, Add>(None, &data, axis, &mut out);
        assert!(matches!(fault, Err(Error::Length { .. })), "{fault:?}");
        let fault = device.scan_axis_into::<u32, Add>(Prefixes::inclusive(), &data, axis, &mut out);
        assert!(matches!(fault, Err(Error::Length { .. })), "{fault:?}");
        assert_eq!(out.to_vec().unwrap(), [7; 9]);
    }
}
