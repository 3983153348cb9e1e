//! Segmented scans at level 1, and at level 2 on the CPU.

use super::cases::{Case, Form, cases, long_cases};
use crate::support::data::{Sample, assert_same, sample};
use crate::support::matrix::in_turn;
use crate::support::operators::{
    Bicyclic, BicyclicProduct, Bracketing, Guarded, GuardedBracketing,
};
use half::f16;
use warpfold::ops::{Add, Max};
use warpfold::source::Host;
use warpfold::{
    Device, Monoid, Offsets, Prefixes, Rows, Starts, function, map, scan, segmented_scan,
    segmented_scan_in_place, segmented_scan_into, zip,
};

/// All forms of all cases, into a new vector, into another one and in place, at both levels.
fn check<T: Sample, Op: Monoid<T>>(cases: &[Case]) {
    let device = Device::cpu();
    for case in cases {
        let items = sample::<T>(case.items, 7);
        let offsets = Offsets::new(&case.offsets).unwrap();
        let (x, buffer) = (
            device.upload(&items).unwrap(),
            device.upload(&case.offsets).unwrap(),
        );
        let there = device.offsets(&buffer).unwrap();
        for form in Form::all(sample::<T>(1, 8)[0]) {
            let name = std::any::type_name::<Op>();
            let what = format!("{name}: {}, {form:?}", case.name);
            let prefixes = form.prefixes();
            let expected = case.scans::<T, Op>(&items, form);
            let got = segmented_scan::<T, Op>(prefixes, &items, offsets).unwrap();
            assert_same(&got, &expected, &what);
            let mut output = vec![sample::<T>(1, 9)[0]; case.items];
            segmented_scan_into::<T, Op>(prefixes, &items, offsets, &mut output).unwrap();
            assert_same(&output, &expected, &what);
            let mut data = items.clone();
            segmented_scan_in_place::<T, Op>(prefixes, &mut data, offsets).unwrap();
            assert_same(&data, &expected, &what);

            let got = device.segmented_scan::<T, Op>(prefixes, &x, there).unwrap();
            assert_same(&got.to_vec().unwrap(), &expected, &what);
            let mut output = device
                .upload(&vec![sample::<T>(1, 9)[0]; case.items])
                .unwrap();
            device
                .segmented_scan_into::<T, Op>(prefixes, &x, there, &mut output)
                .unwrap();
            assert_same(&output.to_vec().unwrap(), &expected, &what);
            let mut data = device.upload(&items).unwrap();
            device
                .segmented_scan_in_place::<T, Op>(prefixes, &mut data, there)
                .unwrap();
            assert_same(&data.to_vec().unwrap(), &expected, &what);
        }
    }
}

#[test]
fn each_segment_has_the_bits_of_a_scan_of_its_own() {
    check::<f32, Add>(&cases(1024));
    check::<f16, Add>(&cases(1024));
    check::<u64, Bracketing>(&cases(1024));
    check::<Bicyclic, BicyclicProduct>(&cases(512));
    check::<Guarded, GuardedBracketing>(&cases(512));
    check::<u8, Max>(&cases(1024));
}

#[test]
fn threads_share_out_scans_of_segments_of_any_lengths() {
    check::<f32, Add>(in_turn("long scans", &long_cases()));
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

#[test]
fn mapped_items_are_scanned_by_segment() {
    let long = long_cases();
    let long = in_turn("long mapped scans", &long);
    for case in cases(1024).iter().chain(long) {
        let (a, b) = (sample::<f32>(case.items, 1), sample::<f32>(case.items, 2));
        let products: Vec<_> = a.iter().zip(&b).map(|(x, y)| x * y).collect();
        let offsets = Offsets::new(&case.offsets).unwrap();
        let form = Form {
            inclusive: true,
            reverse: false,
            init: None,
        };
        let input = map::<product, _>(zip(&a, &b));
        let got = segmented_scan::<f32, Add>(form.prefixes(), input, offsets).unwrap();
        assert_same(&got, &case.scans::<f32, Add>(&products, form), case.name);
    }
}

#[test]
fn starts_and_rows_are_scanned_as_offsets_are() {
    for case in cases(1024).iter().filter(|case| case.reaches_the_end()) {
        let items = sample::<f32>(case.items, 5);
        for form in Form::all(2.5) {
            let starts = Starts::new(&case.offsets[..case.count()]).unwrap();
            let got = segmented_scan::<f32, Add>(form.prefixes(), &items, starts).unwrap();
            assert_same(&got, &case.scans::<f32, Add>(&items, form), case.name);
        }
    }
    for (count, len) in [(0, 0), (0, 7), (5, 0), (300, 7), (3, 5000), (4000, 1)] {
        let items = sample::<f32>(count * len, 3);
        let rows = Rows::new(count, len);
        let got = segmented_scan::<f32, Add>(Prefixes::exclusive(), &items, rows).unwrap();
        let row = |row| scan::<f32, Add>(&items[row * len..][..len]).unwrap();
        assert_same(&got, &(0..count).flat_map(row).collect::<Vec<_>>(), "rows");
    }
}

#[test]
fn wrong_segments_and_lengths_of_scans_are_refused() {
    let offsets = Offsets::new(&[0_u64, 3, 9]).unwrap();
    let mut data = [1_u8; 8];
    let error = segmented_scan_in_place::<u8, Add>(Prefixes::inclusive(), &mut data, offsets);
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("offsets[2] is 9, but there are 8 items"),
        "{message}"
    );
    assert_eq!(data, [1; 8]);
    let mut output = [7_u8; 4];
    let rows = Rows::new(1, 5);
    let error = segmented_scan_into::<u8, Add>(Prefixes::inclusive(), &[1; 5], rows, &mut output);
    let message = error.unwrap_err().to_string();
    assert!(message.contains('5') && message.contains('4'), "{message}");
    assert_eq!(output, [7; 4]);
}

/// Whatever the offsets are, every result is written, and nothing else.
#[test]
fn unchecked_offsets_of_scans_stay_within_the_items() {
    let items = [1_u32, 2, 3, 4];
    let sums = |items: &[u32], offsets: &[u64]| {
        let offsets = Offsets::unchecked::<Host, _>(offsets).unwrap();
        segmented_scan::<u32, Add>(Prefixes::inclusive(), items, offsets).unwrap()
    };
    assert_eq!(sums(&items, &[0, 3, u64::MAX]), [1, 3, 6, 4]);
    assert_eq!(sums(&items, &[1, 100, 200]), [1, 2, 5, 9]);
    assert_eq!(sums(&items, &[4, 0, 3, 1]).len(), 4);
    let items = vec![1; 200_000];
    for shift in 40..64 {
        let wild = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (shift + i % 3).min(63);
        let wild: Vec<_> = (0..50_000).map(wild).collect();
        assert_eq!(sums(&items, &wild).len(), 200_000);
    }
}
