//! Level 1, and level 2 on the CPU.

use super::cases::{Case, Form, cases, long_cases};
use crate::support::data::{Sample, assert_same, sample};
use crate::support::operators::{
    Bicyclic, BicyclicProduct, Bracketing, Guarded, GuardedBracketing,
};
use half::f16;
use warpfold::ops::{Add, Max};
use warpfold::{
    Device, Error, Monoid, Offsets, Prefixes, Rows, Starts, flags, function, map, positions,
    reduce, reduce_by_key, reduce_by_key_with, scan_by_key, scan_by_key_with, segmented_reduce,
    segmented_reduce_from, zip,
};

/// All forms of all cases.
fn check<T: Sample, Op: Monoid<T>>(cases: &[Case]) {
    let device = Device::cpu();
    for case in cases {
        let what = format!("{}: {}", std::any::type_name::<Op>(), case.name);
        let items = sample::<T>(case.items, 7);
        let short: Vec<_> = case.offsets.iter().map(|&offset| offset as u32).collect();
        let offsets = Offsets::new(&case.offsets).unwrap();
        let expected = case.folds::<T, Op>(&items, None);
        let got = segmented_reduce::<T, Op>(&items, Offsets::new(&short).unwrap()).unwrap();
        assert_same(&got, &expected, &what);
        let init = sample::<T>(1, 8)[0];
        let expected_from = case.folds::<T, Op>(&items, Some(init));
        let got = segmented_reduce_from::<T, Op>(init, &items, offsets).unwrap();
        assert_same(&got, &expected_from, &what);

        let (items, offsets) = (
            device.upload(&items).unwrap(),
            device.upload(&short).unwrap(),
        );
        let offsets = device.offsets(&offsets).unwrap();
        let got = device.segmented_reduce::<T, Op>(&items, offsets).unwrap();
        assert_same(&got.to_vec().unwrap(), &expected, &what);
        let got = device
            .segmented_reduce_from::<T, Op>(init, &items, offsets)
            .unwrap();
        assert_same(&got.to_vec().unwrap(), &expected_from, &what);
    }
}

#[test]
fn each_segment_has_the_bits_of_a_reduction_of_its_own() {
    check::<f32, Add>(&cases(1024));
    check::<f16, Add>(&cases(1024));
    check::<u64, Bracketing>(&cases(1024));
    check::<Bicyclic, BicyclicProduct>(&cases(1024));
    check::<Guarded, GuardedBracketing>(&cases(512));
    check::<u8, Max>(&cases(1024));
}

#[test]
fn threads_share_out_segments_of_any_lengths() {
    check::<f32, Add>(&long_cases());
    check::<u64, Add>(&long_cases());
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

/// Items that are evaluated give the same as those that lie in memory.
#[test]
fn mapped_items_are_folded_by_segment() {
    for case in cases(1024).iter().chain(&long_cases()) {
        let (a, b) = (sample::<f32>(case.items, 1), sample::<f32>(case.items, 2));
        let products: Vec<_> = a.iter().zip(&b).map(|(x, y)| x * y).collect();
        let offsets = Offsets::new(&case.offsets).unwrap();
        let input = map::<product, _>(zip(&a, &b));
        let got = segmented_reduce::<f32, Add>(input, offsets).unwrap();
        assert_same(&got, &case.folds::<f32, Add>(&products, None), case.name);
    }
}

#[test]
fn rows_are_segments_of_one_length() {
    for (count, len) in [
        (0, 0),
        (0, 7),
        (5, 0),
        (1, 1),
        (300, 7),
        (3, 5000),
        (4000, 1),
    ] {
        let items = sample::<f32>(count * len, 3);
        let got = segmented_reduce::<f32, Add>(&items, Rows::new(count, len)).unwrap();
        let row = |row| reduce::<f32, Add>(&items[row * len..][..len]).unwrap();
        assert_same(&got, &(0..count).map(row).collect::<Vec<_>>(), "rows");
    }
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(result: Result<T, Error>, parts: &[&str]) {
    let message = result.expect_err("it is refused").to_string();
    for part in parts {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn wrong_offsets_are_refused_with_their_place() {
    let device = Device::cpu();
    let falling = [0_u32, 3, 9, 8, 10];
    let parts = [
        "`offsets` fall",
        "offsets[3] is 8",
        "the 9 before it",
        "remedy",
    ];
    assert_refused(Offsets::new(&falling), &parts);
    assert_refused(device.offsets(&device.upload(&falling).unwrap()), &parts);
    // The first of several falls, wherever it lies.
    let mut far = vec![7_u64; 200_000];
    far[150_001..].fill(6);
    far[190_000..].fill(5);
    let parts = ["offsets[150001] is 6", "the 7 before it"];
    assert_refused(Offsets::new(&far), &parts);
    assert_refused(device.offsets(&device.upload(&far).unwrap()), &parts);

    assert_refused(
        Offsets::new::<u64>(&[][..]),
        &["`offsets` are none", "n + 1"],
    );
    assert_refused(
        device.offsets(&device.upload::<u64>(&[]).unwrap()),
        &["are none"],
    );

    let parts = ["pass the end", "offsets[2] is 9", "there are 8 items"];
    let items = [1_u8; 8];
    let offsets = Offsets::new(&[0_u64, 3, 9]).unwrap();
    assert_refused(segmented_reduce::<u8, Add>(&items, offsets), &parts);
    let (items, offsets) = (
        device.upload(&items).unwrap(),
        device.upload(&[0_u64, 3, 9]).unwrap(),
    );
    let offsets = device.offsets(&offsets).unwrap();
    assert_refused(device.segmented_reduce::<u8, Add>(&items, offsets), &parts);
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let parts = ["`rows` are 3 of 5 items", "there are 14 items"];
    assert_refused(
        segmented_reduce::<u8, Add>(&[0; 14], Rows::new(3, 5)),
        &parts,
    );
    let overflowing = Rows::new(usize::MAX, 2);
    assert_refused(
        segmented_reduce::<u8, Add>(&[0; 14], overflowing),
        &["`rows` are"],
    );
}

/// Offsets that nobody checked never lead out of the items, and those up to the end count.
#[test]
fn unchecked_offsets_stay_within_the_items() {
    let items = [1_u32, 2, 3, 4];
    let sums = |offsets: &[u64]| {
        let offsets = Offsets::unchecked::<warpfold::source::Host, _>(offsets).unwrap();
        segmented_reduce::<u32, Add>(&items, offsets).unwrap()
    };
    assert_eq!(sums(&[0, 3, u64::MAX]), [6, 4]);
    assert_eq!(sums(&[1, 100, 200]), [9, 0]);
    let falling = sums(&[4, 0, 3, 1]);
    assert_eq!(falling.len(), 3);
    let mut wild = vec![0; 10_000];
    for (i, offset) in wild.iter_mut().enumerate() {
        *offset = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 64);
    }
    assert_eq!(sums(&wild).len(), 9999);
}

/// Starts, and flags at the heads of segments, cut as offsets do.
#[test]
fn starts_and_head_flags_cut_as_offsets_do() {
    let device = Device::cpu();
    for case in cases(1024).iter().filter(|case| case.reaches_the_end()) {
        let items = sample::<f32>(case.items, 5);
        let expected = case.folds::<f32, Add>(&items, None);
        let starts = &case.offsets[..case.count()];
        let got = segmented_reduce::<f32, Add>(&items, Starts::new(starts).unwrap()).unwrap();
        assert_same(&got, &expected, case.name);
        let (items_there, starts_there) = (
            device.upload(&items).unwrap(),
            device.upload(starts).unwrap(),
        );
        let starts_there = device.starts(&starts_there).unwrap();
        let got = device
            .segmented_reduce::<f32, Add>(&items_there, starts_there)
            .unwrap();
        assert_same(&got.to_vec().unwrap(), &expected, case.name);

        // Flags cannot mark empty segments.
        if case.segments().any(|segment| segment.is_empty()) {
            continue;
        }
        let mut heads = vec![0_u8; case.items];
        starts.iter().for_each(|&start| heads[start as usize] = 1);
        let starts = positions(flags(&heads)).unwrap();
        let got = segmented_reduce::<f32, Add>(&items, Starts::new(&starts).unwrap()).unwrap();
        assert_same(&got, &expected, case.name);
    }
}

#[function]
fn same_half(a: u32, b: u32) -> bool {
    a / 2 == b / 2
}

#[test]
fn each_run_of_equal_keys_has_the_bits_of_a_reduction_of_its_own() {
    let device = Device::cpu();
    for case in cases(1024).iter().chain(&long_cases()) {
        let values = sample::<f32>(case.items, 6);
        // Keys that differ from run to run, though not in all.
        let mut keys = vec![u32::MAX - 9; case.items];
        for (number, segment) in case.segments().enumerate() {
            keys[segment].fill((number % 6) as u32);
        }
        for halved in [false, true] {
            let same = |a: u32, b: u32| if halved { a / 2 == b / 2 } else { a == b };
            let runs: Vec<_> = keys.chunk_by(|&a, &b| same(a, b)).collect();
            let firsts: Vec<_> = runs.iter().map(|run| run[0]).collect();
            let mut rest = &values[..];
            let mut folds = Vec::new();
            for run in runs {
                let (own, others) = rest.split_at(run.len());
                folds.push(crate::support::oracle::reduce::<f32, Add>(own, None));
                rest = others;
            }
            let (there, of_them) = (
                device.upload(&keys).unwrap(),
                device.upload(&values).unwrap(),
            );
            let (host, buffers) = match halved {
                false => (
                    reduce_by_key::<u32, f32, Add>(&keys, &values).unwrap(),
                    device
                        .reduce_by_key::<u32, f32, Add>(&there, &of_them)
                        .unwrap(),
                ),
                true => (
                    reduce_by_key_with::<u32, same_half, f32, Add>(&keys, &values).unwrap(),
                    device
                        .reduce_by_key_with::<u32, same_half, f32, Add>(&there, &of_them)
                        .unwrap(),
                ),
            };
            assert_eq!(host.0, firsts, "{}", case.name);
            assert_same(&host.1, &folds, case.name);
            assert_eq!(buffers.0.to_vec().unwrap(), firsts, "{}", case.name);
            assert_same(&buffers.1.to_vec().unwrap(), &folds, case.name);
        }
    }
}

#[test]
fn each_run_of_equal_keys_has_the_bits_of_a_scan_of_its_own() {
    let device = Device::cpu();
    for case in cases(1024).iter().chain(&long_cases()) {
        let values = sample::<f32>(case.items, 6);
        let mut keys = vec![u32::MAX - 9; case.items];
        for (number, segment) in case.segments().enumerate() {
            keys[segment].fill((number % 6) as u32);
        }
        for (halved, form) in [false, true]
            .into_iter()
            .zip(Form::all(0.75).into_iter().skip(1))
        {
            let same = |a: u32, b: u32| if halved { a / 2 == b / 2 } else { a == b };
            let mut expected = Vec::new();
            for run in keys.chunk_by(|&a, &b| same(a, b)) {
                let own = &values[expected.len()..][..run.len()];
                expected.extend(form.scan::<Add>(own));
            }
            let form = form.prefixes();
            let (there, of_them) = (
                device.upload(&keys).unwrap(),
                device.upload(&values).unwrap(),
            );
            let (host, buffer) = match halved {
                false => (
                    scan_by_key::<u32, f32, Add>(form, &keys, &values),
                    device.scan_by_key::<u32, f32, Add>(form, &there, &of_them),
                ),
                true => (
                    scan_by_key_with::<u32, same_half, f32, Add>(form, &keys, &values),
                    device.scan_by_key_with::<u32, same_half, f32, Add>(form, &there, &of_them),
                ),
            };
            assert_same(&host.unwrap(), &expected, case.name);
            assert_same(&buffer.unwrap().to_vec().unwrap(), &expected, case.name);
        }
    }
    let parts = ["3 items is zipped with one of 2"];
    let form = Prefixes::inclusive();
    assert_refused(
        scan_by_key::<u8, u8, Add>(form, &[1, 2, 3], &[1, 2]),
        &parts,
    );
}

#[test]
fn keys_that_are_nan_are_runs_of_their_own() {
    let keys = [f32::NAN, f32::NAN, 0.0, -0.0];
    let (keys, sums) = reduce_by_key::<f32, u32, Add>(&keys, &[1, 2, 3, 4]).unwrap();
    assert_eq!(sums, [1, 2, 7]);
    assert_eq!(keys.len(), 3);
}

#[test]
fn keys_without_values_and_falling_starts_are_refused() {
    let parts = ["3 items is zipped with one of 2"];
    assert_refused(reduce_by_key::<u8, u8, Add>(&[1, 2, 3], &[1, 2]), &parts);
    let device = Device::cpu();
    let (keys, values) = (
        device.upload(&[1_u8, 2, 3]).unwrap(),
        device.upload(&[1_u8, 2]).unwrap(),
    );
    assert_refused(device.reduce_by_key::<u8, u8, Add>(&keys, &values), &parts);

    let parts = ["`starts` fall", "starts[1] is 4, less than the 5 before it"];
    assert_refused(Starts::new(&[5_u32, 4]), &parts);
    assert_refused(device.starts(&device.upload(&[5_u32, 4]).unwrap()), &parts);
    let parts = [
        "`starts` pass the end",
        "starts[0] is 9",
        "there are 8 items",
    ];
    let starts = Starts::new(&[9_u32]).unwrap();
    assert_refused(segmented_reduce::<u8, Add>(&[0; 8], starts), &parts);
    let (items, starts) = (
        device.upload(&[0_u8; 8]).unwrap(),
        device.upload(&[9_u32]).unwrap(),
    );
    let starts = device.starts(&starts).unwrap();
    assert_refused(device.segmented_reduce::<u8, Add>(&items, starts), &parts);
}
