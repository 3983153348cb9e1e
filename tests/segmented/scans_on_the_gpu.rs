//! Segmented scans on a GPU have the bits of the CPU, at the second level and the third.

use super::cases::{Case, Form, cases, long_cases};
use crate::support::data::{Sample, assert_same, sample};
use crate::support::operators::{Bicyclic, BicyclicProduct, Bracketing, Sums};
use crate::support::{gpu, stream};
use half::f16;
use warpfold::cuda::cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use warpfold::cuda::{SegmentedScan, Workspace};
use warpfold::ops::{Add, Max};
use warpfold::source::Slice;
use warpfold::{Monoid, Offsets, OffsetsOf, Prefixes, Rows, function, map, segmented_scan, zip};

fn all_cases() -> Vec<Case> {
    let mut all = cases(1024);
    all.extend(cases(128));
    all.extend(long_cases());
    all
}

/// The second level, and the third in one workspace, of all forms of all cases.
fn check<T, Op>()
where
    T: Sample + DeviceRepr + ValidAsZeroBits,
    Op: Monoid<T>,
{
    let (Some(device), Some((context, stream))) = (gpu(0), stream()) else {
        return;
    };
    let scan = SegmentedScan::<T, Op, Slice<T>, OffsetsOf<u32>>::load(&context).unwrap();
    let mut workspace = Workspace::new(&stream, 64).unwrap();
    for case in all_cases().iter().filter(|case| case.items > 0) {
        let items = sample::<T>(case.items, 7);
        let init = sample::<T>(1, 8)[0];
        let (x, offsets) = (
            device.upload(&items).unwrap(),
            device.upload(&case.offsets).unwrap(),
        );
        let offsets = device.offsets(&offsets).unwrap();
        let short: Vec<_> = case.offsets.iter().map(|&offset| offset as u32).collect();
        let (x_there, short) = (
            stream.clone_htod(&items).unwrap(),
            stream.clone_htod(&short).unwrap(),
        );
        let segments = Offsets::unchecked(&short).unwrap();
        workspace.grow(scan.workspace_bytes(case.items)).unwrap();
        for form in Form::all(init) {
            let name = std::any::type_name::<(T, Op)>();
            let what = format!("{name}: {}, {form:?}", case.name);
            let prefixes = form.prefixes();
            let expected = case.scans::<T, Op>(&items, form);
            let got = device
                .segmented_scan::<T, Op>(prefixes, &x, offsets)
                .unwrap();
            assert_same(&got.to_vec().unwrap(), &expected, &what);
            let mut data = device.upload(&items).unwrap();
            device
                .segmented_scan_in_place::<T, Op>(prefixes, &mut data, offsets)
                .unwrap();
            assert_same(&data.to_vec().unwrap(), &expected, &what);

            let mut out = stream.clone_htod(&vec![init; case.items + 1]).unwrap();
            let mut view = out.slice_mut(..case.items);
            for _ in 0..2 {
                scan.enqueue(
                    &stream,
                    prefixes,
                    &x_there,
                    segments,
                    &mut view,
                    &mut workspace,
                )
                .unwrap();
            }
            let got = stream.clone_dtoh(&out).unwrap();
            assert_same(&got[..case.items], &expected, &what);
            assert!(got[case.items].same(init), "{what}: beyond the end");
            let mut data = x_there.try_clone().unwrap();
            scan.enqueue_in_place(&stream, prefixes, &mut data, segments, &mut workspace)
                .unwrap();
            assert_same(&stream.clone_dtoh(&data).unwrap(), &expected, &what);
        }
    }
}

macro_rules! types {
    ($($test:ident: $ty:ty, $op:ty;)*) => {$(
        #[test]
        fn $test() {
            check::<$ty, $op>();
        }
    )*};
}

types! {
    floats: f32, Add;
    halves: f16, Add;
    bytes: u8, Max;
    brackets: u64, Bracketing;
    bracketed_bytes: u8, Bracketing;
    bracketed_arrays: [u8; 24], Bracketing;
    ordered: Bicyclic, BicyclicProduct;
    long_elements: [u64; 8], Sums;
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

#[test]
fn products_and_rows_are_scanned() {
    let Some(device) = gpu(0) else { return };
    for case in all_cases() {
        let (a, b) = (sample::<f32>(case.items, 1), sample::<f32>(case.items, 2));
        let offsets = Offsets::new(&case.offsets).unwrap();
        let input = map::<product, _>(zip(&a, &b));
        let expected = segmented_scan::<f32, Add>(Prefixes::inclusive(), input, offsets).unwrap();
        let (a, b) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
        let offsets = device.upload(&case.offsets).unwrap();
        let offsets = device.offsets(&offsets).unwrap();
        let input = map::<product, _>(zip(&a, &b));
        let got = device
            .segmented_scan::<f32, Add>(Prefixes::inclusive(), input, offsets)
            .unwrap();
        assert_same(&got.to_vec().unwrap(), &expected, case.name);
    }
    for (count, len) in [
        (1, 1),
        (100_000, 3),
        (1000, 1000),
        (5, 100_000),
        (1, 3_000_001),
    ] {
        let items = sample::<f32>(count * len, 3);
        let rows = Rows::new(count, len);
        let expected = segmented_scan::<f32, Add>(Prefixes::exclusive(), &items, rows).unwrap();
        let x = device.upload(&items).unwrap();
        let got = device
            .segmented_scan::<f32, Add>(Prefixes::exclusive(), &x, rows)
            .unwrap();
        assert_same(&got.to_vec().unwrap(), &expected, "rows");
    }
}

/// Nodes of 32³ units, and tiles in the order in which they start.
#[test]
fn a_scan_of_several_ten_million_items() {
    let Some(device) = gpu(0) else { return };
    let items = sample::<u8>((1 << 26) + 12_345, 4);
    let offsets = [5_u64, items.len() as u64 - 3];
    let form = Prefixes::inclusive();
    let expected =
        segmented_scan::<u8, Bracketing>(form, &items, Offsets::new(&offsets).unwrap()).unwrap();
    let (items, offsets) = (
        device.upload(&items).unwrap(),
        device.upload(&offsets).unwrap(),
    );
    let offsets = device.offsets(&offsets).unwrap();
    let got = device
        .segmented_scan::<u8, Bracketing>(form, &items, offsets)
        .unwrap();
    assert!(got.to_vec().unwrap() == expected);
}

/// Offsets that nobody checked lead nowhere, and no block waits for ever.
#[test]
fn wild_offsets_end_a_scan() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let scan = SegmentedScan::<f32, Add>::load(&context).unwrap();
    let items = sample::<f32>(100_000, 1);
    let x = stream.clone_htod(&items).unwrap();
    let mut workspace = Workspace::new(&stream, scan.workspace_bytes(items.len())).unwrap();
    let mut out = stream.alloc_zeros::<f32>(items.len()).unwrap();
    let wild: [fn(u64) -> u64; 6] = [
        |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 64),
        |i| 100_000_u64.saturating_sub(3 * i),
        |i| if i % 2 == 0 { 0 } else { u64::MAX },
        |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 100_001,
        |i| if i == 700 { 3 } else { 1000 + i / 600 * 1500 },
        |i| i * 2 - if i % 5000 == 4999 { 9000.min(i) } else { 0 },
    ];
    let mut scan_by = |offsets: &[u64]| {
        let offsets = stream.clone_htod(offsets).unwrap();
        let segments = Offsets::unchecked(&offsets).unwrap();
        let form = Prefixes::inclusive();
        scan.enqueue(&stream, form, &x, segments, &mut out, &mut workspace)
            .unwrap();
        stream.clone_dtoh(&out).unwrap()
    };
    for wild in wild {
        let offsets: Vec<u64> = (0..=50_000).map(wild).collect();
        scan_by(&offsets);
    }
    // The workspace is as it was.
    let offsets = [0_u64, 50_000, 100_000];
    let form = Prefixes::inclusive();
    let expected =
        segmented_scan::<f32, Add>(form, &items, Offsets::new(&offsets).unwrap()).unwrap();
    assert_same(&scan_by(&offsets), &expected, "after wild ones");
}
