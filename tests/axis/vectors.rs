//! Segments of rows of several items: each column of each gets what the law gives for it alone.

use crate::emulator::{Argument, Grid, Script, Toolchain, address, base_seed};
use crate::support::data::{Random, Sample, assert_same, sample};
use crate::support::devices;
use crate::support::matrix::is_drawn;
use crate::support::operators::{Bicyclic, BicyclicProduct, Bracketing, Sums};
use crate::support::oracle;
use std::ops::Range;
use warpfold::codegen::kernels::{AxisPolicy, AxisSegments, AxisSegmentsArguments};
use warpfold::ops::Add;
use warpfold::source::{Slice, SliceArguments};
use warpfold::{
    Error, Indices, Monoid, Offsets, OffsetsArguments, OffsetsOf, bytemuck, collect, function,
    gather_rows, map, segmented_reduce_vectors, segmented_reduce_vectors_from,
};

/// Offsets of rows, of many lengths, and some empty ones.
fn offsets(segments: usize, most: usize, seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    let mut offsets = vec![2];
    for i in 0..segments {
        let length = match i % 5 {
            0 => 0,
            1 => 1,
            _ => random.next() as usize % most,
        };
        offsets.push(offsets[i] + length as u64);
    }
    offsets
}

fn expected<T: Sample, Op: Monoid<T>>(
    items: &[T],
    inner: usize,
    offsets: &[u64],
    init: Option<T>,
) -> Vec<T> {
    let segments = offsets
        .windows(2)
        .map(|pair| pair[0] as usize..pair[1] as usize);
    let column = |rows: &Range<usize>, i: usize| -> Vec<T> {
        rows.clone().map(|row| items[row * inner + i]).collect()
    };
    segments
        .flat_map(|rows| {
            (0..inner)
                .map(|i| oracle::reduce::<T, Op>(&column(&rows, i), init))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn check<T: Sample, Op: Monoid<T>>(shapes: &[(usize, usize, usize)]) {
    for &(segments, most, inner) in shapes {
        let offsets = offsets(segments, most, inner as u64);
        let rows = offsets[segments] as usize + 3;
        let items = sample::<T>(rows * inner, 5);
        let init = sample::<T>(1, 9)[0];
        let what = format!("{segments} segments of up to {most} rows of {inner}");
        let folds = expected::<T, Op>(&items, inner, &offsets, None);
        let got = segmented_reduce_vectors::<T, Op>(&items, inner, Offsets::new(&offsets).unwrap());
        assert_same(&got.unwrap(), &folds, &what);
        let from = expected::<T, Op>(&items, inner, &offsets, Some(init));
        let some = Offsets::new(&offsets).unwrap();
        let got = segmented_reduce_vectors_from::<T, Op>(init, &items, inner, some).unwrap();
        assert_same(&got, &from, &what);
        for device in devices() {
            let items = device.upload(&items).unwrap();
            let offsets = device.upload(&offsets).unwrap();
            let some = device.offsets(&offsets).unwrap();
            let got = device
                .segmented_reduce_vectors::<T, Op>(&items, inner, some)
                .unwrap();
            assert_same(&got.to_vec().unwrap(), &folds, &format!("{what}, {device}"));
            let got = device
                .segmented_reduce_vectors_from::<T, Op>(init, &items, inner, some)
                .unwrap();
            assert_same(&got.to_vec().unwrap(), &from, &format!("{what}, {device}"));
        }
    }
}

#[test]
fn columns_of_segments_have_the_bits_of_reductions_of_their_own() {
    let shapes = [
        (0, 5, 3),
        (1, 9, 4),
        (40, 30, 7),
        (9, 9000, 3),
        (300, 20, 64),
    ];
    check::<f32, Add>(&shapes);
    check::<u64, Bracketing>(&shapes);
    check::<Bicyclic, BicyclicProduct>(&shapes);
    check::<[u64; 8], Sums>(&shapes[..3]);
}

/// More items than one thread takes.
#[test]
fn threads_share_a_long_segment() {
    let items = sample::<f32>(3 * 100_000, 1);
    let offsets = [0_u64, 5, 99_000, 99_000, 100_000];
    let got = segmented_reduce_vectors::<f32, Add>(&items, 3, Offsets::new(&offsets).unwrap());
    let expected = expected::<f32, Add>(&items, 3, &offsets, None);
    assert_same(&got.unwrap(), &expected, "a long one");
}

#[test]
fn rows_are_gathered() {
    let items = sample::<f32>(500 * 6 + 2, 1);
    let order: Vec<u16> = sample::<u64>(700, 2)
        .iter()
        .map(|x| (x % 500) as u16)
        .collect();
    let row = |&row: &u16| items[usize::from(row) * 6..][..6].to_vec();
    let expected: Vec<f32> = order.iter().flat_map(row).collect();
    let got = collect(gather_rows(&items, 6, Indices::new(&order).unwrap())).unwrap();
    assert_same(&got, &expected, "rows");
    for device in devices() {
        let (x, order) = (
            device.upload(&items).unwrap(),
            device.upload(&order).unwrap(),
        );
        let indices = device.indices(&order).unwrap();
        let got = device.collect(gather_rows(&x, 6, indices)).unwrap();
        assert_same(&got.to_vec().unwrap(), &expected, "rows of a device");
    }
    let wild = [i64::MIN, 0, 499, 500, i64::MAX];
    let got = collect(gather_rows(&items, 6, Indices::unchecked(&wild))).unwrap();
    assert_same(&got[..6], &items[..6], "the first row");
    assert_same(&got[24..], &items[499 * 6..500 * 6], "the last row");
}

/// The CPU reads a row where it lies, if what is read lies in one row.
#[test]
fn gathered_rows_are_folded_as_their_copy() {
    let items = sample::<f32>(500 * 12 + 5, 1);
    let order: Vec<i64> = sample::<u64>(700, 2)
        .iter()
        .map(|x| (x % 520) as i64 - 10)
        .collect();
    // What is read has rows of `inner` items, and what is gathered rows of `width`.
    for (width, inner) in [(12, 12), (12, 6), (12, 24), (12, 8), (1, 4), (5, 7)] {
        let order = Indices::unchecked(&order[..]);
        let copy = collect(gather_rows(&items, width, order)).unwrap();
        let rows = copy.len() / inner;
        let offsets = [0, 3, 3, 50, rows as u64];
        let offsets = Offsets::new(&offsets).unwrap();
        let expected = segmented_reduce_vectors::<f32, Add>(&copy, inner, offsets).unwrap();
        let rows = gather_rows(&items, width, order);
        let got = segmented_reduce_vectors::<f32, Add>(rows, inner, offsets).unwrap();
        assert_same(
            &got,
            &expected,
            &format!("rows of {width} as rows of {inner}"),
        );
        // Of what lies nowhere.
        let twice = map::<doubled, _>(&items);
        let got =
            segmented_reduce_vectors::<f32, Add>(gather_rows(twice, width, order), inner, offsets);
        let expected: Vec<f32> = expected.iter().map(|x| 2.0 * x).collect();
        assert_same(&got.unwrap(), &expected, "doubled rows");
    }
}

#[function]
fn doubled(x: f32) -> f32 {
    2.0 * x
}

#[test]
fn what_are_no_rows_is_refused() {
    fn refused<T: std::fmt::Debug>(result: Result<T, Error>, part: &str) {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(part), "{text}");
    }
    let offsets = Offsets::new(&[0_u32, 2]).unwrap();
    let items = [1_u32; 7];
    refused(
        segmented_reduce_vectors::<u32, Add>(&items, 3, offsets),
        "7 items are no rows of 3",
    );
    refused(
        segmented_reduce_vectors::<u32, Add>(&items, 0, offsets),
        "no rows of 0",
    );
    refused(
        segmented_reduce_vectors::<u32, Add>(&items, 7, offsets),
        "offsets[1] is 2",
    );
    let order = Indices::new(&[0_u32, 2]).unwrap();
    refused(
        collect(gather_rows(&items, 3, order)),
        "indices[1] is 2, but there are 2 items",
    );
}

fn emulate<T: Sample, Op: Monoid<T>>(name: &str, always: bool) {
    let Some(toolchain) = Toolchain::get().filter(|_| is_drawn(name, always)) else {
        return;
    };
    type Kernel<T, Op> = AxisSegments<T, Op, Slice<T>, OffsetsOf<u64>>;
    let usual = AxisPolicy::of::<T>();
    let policy = AxisPolicy {
        log_most: usual.log_most.min(usual.log_group + 1),
        threads: 64,
        ..usual
    };
    let kernel = Kernel::<T, Op>::kernel(policy);
    let text = kernel.source().expect("a source");
    let module = toolchain.module(name, &text, kernel.functions());
    let wild: Vec<u64> = sample::<u64>(60, 3).iter().map(|x| x >> (x % 64)).collect();
    let shapes = [(1, 9, 4), (40, 30, 7), (9, 300, 3), (30, 20, 33)];
    let cases = shapes.map(|(segments, most, inner)| (offsets(segments, most, 1), inner, true));
    let cases = cases.into_iter().chain([(wild, 5, false)]);
    for (number, (offsets, inner, checked)) in cases.enumerate() {
        let segments = offsets.len() - 1;
        let rows = if checked {
            offsets[segments] as usize
        } else {
            100
        };
        let items = sample::<T>(rows * inner, 5);
        let mut script = Script::new();
        script.seed(base_seed() + number as u64);
        script.file("items", bytemuck::cast_slice(&items));
        script.filled(
            "items",
            number % 3 * align_of::<T>(),
            size_of_val(&*items),
            "items",
        );
        script.file("offsets", bytemuck::cast_slice(&offsets));
        script.filled("offsets", 0, size_of_val(&*offsets), "offsets");
        script.buffer("out", 0, segments * inner * size_of::<T>());
        let given = AxisSegmentsArguments {
            source: SliceArguments {
                address: address("items", 0),
            },
            segments: OffsetsArguments {
                offsets: address("offsets", 0),
                count: segments as u64,
                items: rows as u64,
            },
            out: address("out", 0),
            inner: inner as u64,
            threads: (segments * inner) as u64,
            seeded: 0,
            unused: 0,
            init: Op::identity().widen(),
        };
        let grid = Grid::new(given.threads.div_ceil(64), 64);
        script.launch(
            Kernel::<T, Op>::REDUCE.name,
            grid,
            &[Argument::of_struct(&given)],
        );
        script.save("out");
        let what = format!("{name}, case {number}");
        let got: Vec<T> = bytemuck::pod_collect_to_vec(&script.run_to_the_end(&what, &module));
        if checked {
            let expected = expected::<T, Op>(&items, inner, &offsets, None);
            assert_same(&got, &expected, &what);
        }
    }
}

/// The last case has offsets that nobody checked: what is read stays within the items.
#[test]
fn emulated() {
    emulate::<f32, Add>("vectors f32", true);
    emulate::<Bicyclic, BicyclicProduct>("vectors ordered", false);
    emulate::<[u64; 8], Sums>("vectors of long elements", false);
}
