//! A GPU gives the bits of the CPU, at the second level and the third.

use super::cases::{Case, cases, long_cases};
use crate::support::data::{Sample, assert_same, sample};
use crate::support::operators::{Bicyclic, BicyclicProduct, Bracketing, Sums};
use crate::support::{gpu, stream};
use half::f16;
use warpfold::cuda::cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use warpfold::cuda::{SegmentedReduce, Workspace};
use warpfold::ops::{Add, Max};
use warpfold::source::{Host, Slice};
use warpfold::{
    Monoid, Offsets, OffsetsOf, Rows, function, map, reduce_by_key, segmented_reduce,
    segmented_reduce_from, zip,
};

fn all_cases() -> Vec<Case> {
    let mut all = cases(1024);
    all.extend(cases(128));
    all.extend(long_cases());
    all
}

/// The second level, and the third in one workspace, of all cases.
fn check<T, Op>()
where
    T: Sample + DeviceRepr + ValidAsZeroBits,
    Op: Monoid<T>,
{
    let (Some(device), Some((context, stream))) = (gpu(0), stream()) else {
        return;
    };
    let reduce = SegmentedReduce::<T, Op, Slice<T>, OffsetsOf<u32>>::load(&context).unwrap();
    let mut workspace = Workspace::new(&stream, 64).unwrap();
    for case in all_cases() {
        let what = format!("{}: {}", std::any::type_name::<(T, Op)>(), case.name);
        let items = sample::<T>(case.items, 7);
        let init = sample::<T>(1, 8)[0];
        let expected = case.folds::<T, Op>(&items, None);
        let expected_from = case.folds::<T, Op>(&items, Some(init));

        let (x, offsets) = (
            device.upload(&items).unwrap(),
            device.upload(&case.offsets).unwrap(),
        );
        let offsets = device.offsets(&offsets).unwrap();
        let got = device.segmented_reduce::<T, Op>(&x, offsets).unwrap();
        assert_same(&got.to_vec().unwrap(), &expected, &what);
        let got = device
            .segmented_reduce_from::<T, Op>(init, &x, offsets)
            .unwrap();
        assert_same(&got.to_vec().unwrap(), &expected_from, &what);

        let short: Vec<_> = case.offsets.iter().map(|&offset| offset as u32).collect();
        workspace.grow(reduce.workspace_bytes(case.items)).unwrap();
        // Empty slices have no memory that could be uploaded.
        let x = stream.clone_htod(&[&items[..], &[init]].concat()).unwrap();
        let x = x.slice(..items.len());
        let offsets = stream.clone_htod(&short).unwrap();
        let offsets = Offsets::unchecked(&offsets).unwrap();
        let mut out = stream.clone_htod(&vec![init; case.count() + 1]).unwrap();
        let mut view = out.slice_mut(..case.count());
        for _ in 0..2 {
            reduce
                .enqueue(&stream, &x, offsets, &mut view, &mut workspace)
                .unwrap();
        }
        let got = stream.clone_dtoh(&view).unwrap();
        assert_same(&got, &expected, &what);
        reduce
            .enqueue_from(&stream, init, &x, offsets, &mut view, &mut workspace)
            .unwrap();
        let got = stream.clone_dtoh(&out).unwrap();
        assert_same(&got[..case.count()], &expected_from, &what);
        assert!(got[case.count()].same(init), "{what}: beyond the end");
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
fn products_by_segment_and_rows() {
    let Some(device) = gpu(0) else { return };
    for case in all_cases() {
        let (a, b) = (sample::<f32>(case.items, 1), sample::<f32>(case.items, 2));
        let offsets = Offsets::new(&case.offsets).unwrap();
        let input = map::<product, _>(zip(&a, &b));
        let expected = segmented_reduce::<f32, Add>(input, offsets).unwrap();
        let (a, b) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
        let offsets = device.upload(&case.offsets).unwrap();
        let offsets = device.offsets(&offsets).unwrap();
        let input = map::<product, _>(zip(&a, &b));
        let got = device.segmented_reduce::<f32, Add>(input, offsets).unwrap();
        assert_same(&got.to_vec().unwrap(), &expected, case.name);
    }
    for (count, len) in [
        (1, 1),
        (100_000, 3),
        (1000, 1000),
        (7, 100_000),
        (1, 3_000_001),
    ] {
        let x = sample::<f32>(count * len, 3);
        let expected = segmented_reduce_from::<f32, Add>(1.5, &x, Rows::new(count, len)).unwrap();
        let x = device.upload(&x).unwrap();
        let rows = Rows::new(count, len);
        let got = device
            .segmented_reduce_from::<f32, Add>(1.5, &x, rows)
            .unwrap();
        assert_same(&got.to_vec().unwrap(), &expected, "rows");
    }
}

#[test]
fn runs_of_equal_keys() {
    let Some(device) = gpu(0) else { return };
    for case in all_cases() {
        let values = sample::<f32>(case.items, 6);
        let mut keys = vec![u32::MAX; case.items];
        for (number, segment) in case.segments().enumerate() {
            keys[segment].fill((number % 6) as u32);
        }
        let expected = reduce_by_key::<u32, f32, Add>(&keys, &values).unwrap();
        let (keys, values) = (
            device.upload(&keys).unwrap(),
            device.upload(&values).unwrap(),
        );
        let got = device
            .reduce_by_key::<u32, f32, Add>(&keys, &values)
            .unwrap();
        assert_eq!(got.0.to_vec().unwrap(), expected.0, "{}", case.name);
        assert_same(&got.1.to_vec().unwrap(), &expected.1, case.name);
    }
}

/// More units than one round of the last launch folds.
#[test]
fn a_segment_of_several_hundred_million_items() {
    let Some(device) = gpu(0) else { return };
    let items = sample::<u8>((1 << 28) + (1 << 20) + 12_345, 4);
    let offsets = [5_u64, items.len() as u64 - 3];
    let expected =
        segmented_reduce::<u8, Bracketing>(&items, Offsets::new(&offsets).unwrap()).unwrap();
    let (items, offsets) = (
        device.upload(&items).unwrap(),
        device.upload(&offsets).unwrap(),
    );
    let offsets = device.offsets(&offsets).unwrap();
    let got = device
        .segmented_reduce::<u8, Bracketing>(&items, offsets)
        .unwrap();
    assert_eq!(got.to_vec().unwrap(), expected);
}

#[test]
fn wrong_offsets_in_device_memory_are_refused_with_their_place() {
    let Some(device) = gpu(0) else { return };
    let mut far = vec![7_u64; 200_000];
    far[150_001..].fill(6);
    far[190_000..].fill(5);
    let far = device.upload(&far).unwrap();
    let error = device.offsets(&far).unwrap_err().to_string();
    assert!(
        error.contains("offsets[150001] is 6, less than the 7 before it"),
        "{error}"
    );
}

/// Offsets that nobody checked lead nowhere; compute-sanitizer watches.
#[test]
fn wild_offsets_do_not_lead_out_of_bounds() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let reduce = SegmentedReduce::<f32, Add>::load(&context).unwrap();
    let items = sample::<f32>(100_000, 1);
    let x = stream.clone_htod(&items).unwrap();
    let mut workspace = Workspace::new(&stream, reduce.workspace_bytes(items.len())).unwrap();
    let wild: [fn(u64) -> u64; 4] = [
        |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 64),
        |i| 100_000_u64.saturating_sub(3 * i),
        |i| if i % 2 == 0 { 0 } else { u64::MAX },
        |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 100_001,
    ];
    for wild in wild {
        let offsets: Vec<u64> = (0..=50_000).map(wild).collect();
        let offsets = stream.clone_htod(&offsets).unwrap();
        let mut out = stream.alloc_zeros::<f32>(50_000).unwrap();
        let segments = Offsets::unchecked(&offsets).unwrap();
        reduce
            .enqueue(&stream, &x, segments, &mut out, &mut workspace)
            .unwrap();
        stream.synchronize().unwrap();
    }
    // The workspace is as it was.
    let offsets = [0_u64, 50_000, 100_000];
    let expected =
        segmented_reduce::<f32, Add>(&items, Offsets::unchecked::<Host, _>(&offsets).unwrap());
    let offsets = stream.clone_htod(&offsets).unwrap();
    let mut out = stream.alloc_zeros::<f32>(2).unwrap();
    let segments = Offsets::unchecked(&offsets).unwrap();
    reduce
        .enqueue(&stream, &x, segments, &mut out, &mut workspace)
        .unwrap();
    assert_same(
        &stream.clone_dtoh(&out).unwrap(),
        &expected.unwrap(),
        "after wild ones",
    );
}
