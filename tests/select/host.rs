//! Select keeps what a sequential filter keeps, wherever it writes to.

use crate::support::data::{Random, Sample, assert_same, sample};
use crate::support::matrix::in_turn;
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use warpfold::Prefixes;
use warpfold::half::f16;
use warpfold::ops::Add;
use warpfold::{
    Device, Element, Error, Function, Source, constant, function, index, map, select,
    select_flagged, strided, zip, zip3,
};

/// Every way to select by `P`, over `input` and at all rooms that matter, against `expected`.
fn check<T, P>(input: &[T], expected: &[T], what: &str)
where
    T: Sample + warpfold::source::Feeds<P::Input>,
    P: Function<Output = bool>,
{
    let cpu = Device::cpu();
    let host = select::<T, P>(input).unwrap();
    assert_same(&host, expected, &format!("host, {what}"));
    let mut buffer = cpu.upload(input).unwrap();
    let new = cpu.select::<T, P>(&buffer).unwrap();
    assert_same(&new.into_vec().unwrap(), expected, &format!("new, {what}"));

    // What is not written stays.
    let (count, old) = (expected.len(), sample::<T>(input.len() + 3, 99));
    for room in [0, count / 2, count.saturating_sub(1), count, count + 1] {
        let what = format!("into {room}, {what}");
        let mut output = cpu.upload(&old[..room]).unwrap();
        let result = cpu.select_into::<T, P>(&buffer, &mut output);
        let output = output.into_vec().unwrap();
        let written = count.min(room);
        assert_same(&output[..written], &expected[..written], &what);
        assert_same(&output[written..], &old[written..room], &what);
        if room < count {
            let too_small = Error::Length {
                input: count,
                output: room,
            };
            assert_eq!(result, Err(too_small), "{what}");
        } else {
            assert_eq!(result, Ok(count), "{what}");
        }
    }

    assert_eq!(cpu.select_in_place::<T, P>(&mut buffer), Ok(count));
    assert_eq!(buffer.len(), count, "{what}");
    let in_place = buffer.into_vec().unwrap();
    assert_same(&in_place, expected, &format!("in place, {what}"));
}

#[function]
fn starts_odd<const N: usize>(x: [u8; N]) -> bool {
    x[0] % 2 == 1
}

/// What is kept: all, nothing, every other, half of them at random, and few.
fn patterns(length: usize) -> [(&'static str, Vec<bool>); 5] {
    let mut random = Random::new(length as u64);
    let mut draw = |one_in: u64| {
        (0..length)
            .map(|_| random.next().is_multiple_of(one_in))
            .collect()
    };
    [
        ("all", vec![true; length]),
        ("none", vec![false; length]),
        ("every other", (0..length).map(|i| i % 2 == 1).collect()),
        ("half", draw(2)),
        ("few", draw(20)),
    ]
}

/// Elements of `N` bytes at the ends of vectors, blocks and chunks.
fn check_size<const N: usize>() {
    let block = (1 << 10) / N;
    let chunk = 1 << ((256 << 10) / N).ilog2();
    let mut lengths = vec![0, 1, 2, 3, 15, 16, 17, 63, 64, 65];
    for edge in [block, chunk, 2 * chunk] {
        lengths.extend([edge - 1, edge, edge + 1]);
    }
    lengths.push(5 * chunk + block + 7);
    for (turn, length) in lengths.into_iter().enumerate() {
        for (number, (name, kept)) in patterns(length).into_iter().enumerate() {
            // At long lengths the patterns take turns.
            if length > 10_000 && (number + turn) % 3 > 0 {
                continue;
            }
            let mut input = sample::<[u8; N]>(length, 3);
            for (item, &kept) in input.iter_mut().zip(&kept) {
                item[0] = item[0] & !1 | u8::from(kept);
            }
            let flagged = input.iter().zip(&kept).filter(|(_, kept)| **kept);
            let expected: Vec<_> = flagged.map(|(item, _)| *item).collect();
            let what = format!("{name} of {length} × {N} bytes");
            check::<[u8; N], starts_odd<N>>(&input, &expected, &what);
        }
    }
}

macro_rules! size_tests {
    ($($name:ident $($size:literal)*;)*) => {$(
        #[test]
        fn $name() {
            let sizes = in_turn(concat!(module_path!(), stringify!($name)), &[$($size),*]);
            $(if sizes.contains(&$size) {
                check_size::<$size>();
            })*
        }
    )*};
}

size_tests! {
    sizes_of_numbers 1 2 4 8;
    odd_sizes 3 5 7 12;
    large_sizes 16 24 33 64;
}

#[function]
fn positive(x: f32) -> bool {
    x > 0.0
}

#[function]
fn not_negative(x: f32) -> bool {
    x >= 0.0 || x.is_nan()
}

#[function]
fn is_nan(x: f64) -> bool {
    x.is_nan()
}

#[test]
fn what_does_not_compare_is_kept_as_the_predicate_says() {
    let nan = f32::from_bits(0x7fc0_1234);
    let x = [1.0, nan, -1.0, 0.0, -0.0, -nan, f32::MIN_POSITIVE / 2.0];
    let kept = select::<f32, positive>(&x).unwrap();
    assert_eq!(kept, [1.0, f32::MIN_POSITIVE / 2.0]);
    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let kept = select::<f32, not_negative>(&x).unwrap();
    // An item is copied, a NaN's payload too.
    let expected = [1.0, nan, 0.0, -0.0, -nan, f32::MIN_POSITIVE / 2.0];
    assert_eq!(bits(&kept), bits(&expected));
    assert_eq!(select::<f64, is_nan>(&[0.0, f64::NAN]).unwrap().len(), 1);
}

#[function]
fn above(x: f16, limit: f32) -> (f16, bool) {
    (x, f32::from(x) > limit)
}

#[function]
fn place_of_large(place: u64, x: u8, limit: u8) -> (u64, bool) {
    (place, x >= limit)
}

#[test]
fn a_predicate_has_parameters_and_keeps_other_things_than_it_looks_at() {
    for length in [0, 1, 2048, 65_537, 200_003] {
        let x = sample::<f16>(length, 21);
        let limited = zip(&x, constant(0.25_f32, length));
        let expected: Vec<f16> = x.iter().copied().filter(|x| x.to_f32() > 0.25).collect();
        let kept = select_flagged::<f16>(map::<above, _>(limited)).unwrap();
        assert_same(&kept, &expected, "above a limit");

        let x = sample::<u8>(length, 22);
        let places = |limit| zip3(index(length), &x, constant(limit, length));
        let expected: Vec<u64> = (0..).zip(&x).filter(|x| *x.1 >= 200).map(|x| x.0).collect();
        let kept = select_flagged::<u64>(map::<place_of_large, _>(places(200))).unwrap();
        assert_same(&kept, &expected, "places");

        let cpu = Device::cpu();
        let x = cpu.upload(&x).unwrap();
        let source = || {
            let limit = constant(200_u8, length);
            map::<place_of_large, _>(zip3(index(length), &x, limit))
        };
        let kept = cpu.select_flagged::<u64>(source()).unwrap();
        assert_same(&kept.into_vec().unwrap(), &expected, "places, new");
        let mut output = cpu.allocate::<u64>(length).unwrap();
        let count = cpu.select_flagged_into::<u64>(source(), &mut output);
        assert_eq!(count, Ok(expected.len()));
        let output = output.into_vec().unwrap();
        assert_same(&output[..expected.len()], &expected, "places, into");
    }
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

#[function]
fn even(x: u32) -> bool {
    x & 1 == 0
}

#[test]
fn any_source_can_be_selected_from() {
    let (a, b) = (sample::<f32>(70_001, 23), sample::<f32>(70_001, 24));
    let products = a.iter().zip(&b).map(|(a, b)| a * b);
    let expected: Vec<f32> = products.filter(|x| *x > 0.0).collect();
    let kept = select::<f32, positive>(map::<product, _>(zip(&a, &b))).unwrap();
    assert_same(&kept, &expected, "products");

    let x = sample::<u32>(70_001, 25);
    let columns = x.chunks_exact(7).flat_map(|row| &row[..2]);
    let expected: Vec<u32> = columns.copied().filter(|x| x % 2 == 0).collect();
    let kept = select::<u32, even>(strided(&x, 2, 7)).unwrap();
    assert_same(&kept, &expected, "columns");

    let unequal = map::<product, _>(zip(&a, &b[1..]));
    let error = Error::Zip {
        first: 70_001,
        second: 70_000,
    };
    assert_eq!(select::<f32, positive>(unequal), Err(error));
}

#[test]
fn what_was_selected_in_place_is_a_buffer_like_any_other() {
    let cpu = Device::cpu();
    let mut data = cpu.upload_vec((0..1000_u32).collect()).unwrap();
    assert_eq!(cpu.select_in_place::<u32, even>(&mut data), Ok(500));
    assert_eq!(cpu.reduce::<u32, Add>(&data), Ok(249_500));
    cpu.scan_in_place::<u32, Add>(Prefixes::exclusive(), &mut data)
        .unwrap();
    assert_eq!(data.len(), 500);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_number_of_threads_does_not_show_in_a_selection(
        length in 0_usize..300_000,
        threads in 1_usize..9,
        seed: u64,
    ) {
        let input = sample::<u32>(length, seed);
        let expected: Vec<u32> = input.iter().copied().filter(|x| x % 2 == 0).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let cpu = Device::cpu();
        let mut in_place = cpu.upload(&input).unwrap();
        let kept = pool.install(|| {
            cpu.select_in_place::<u32, even>(&mut in_place).unwrap();
            select::<u32, even>(&input).unwrap()
        });
        assert_same(&kept, &expected, "new");
        assert_same(&in_place.into_vec().unwrap(), &expected, "in place");
    }
}

#[function]
fn divides(x: u32) -> bool {
    100 / x > 3
}

/// A source whose type is written out, as a caller's function takes it.
fn count_of<T: Element>(source: impl Source<Item = (T, bool)>) -> usize {
    select_flagged::<T>(source).unwrap().len()
}

#[function]
fn flagged(x: u32) -> (u32, bool) {
    (x, 100 / x > 3)
}

#[test]
fn a_predicate_that_panics_stops_the_call_and_no_thread_waits() {
    let cpu = Device::cpu();
    let good: Vec<u32> = (0..1 << 20).map(|i| i % 50 + 1).collect();
    for place in [0, 17, 700_001, (1 << 20) - 1] {
        let mut bad = good.clone();
        bad[place] = 0;
        assert!(catch_unwind(|| select::<u32, divides>(&bad)).is_err());
        assert!(catch_unwind(|| count_of::<u32>(map::<flagged, _>(&bad))).is_err());
        let mut buffer = cpu.upload(&bad).unwrap();
        let in_place = || cpu.select_in_place::<u32, divides>(&mut buffer);
        assert!(catch_unwind(AssertUnwindSafe(in_place)).is_err());
        assert_eq!(buffer.len(), bad.len(), "as long as before");
    }
    let kept = good.iter().filter(|x| 100 / **x > 3).count();
    assert_eq!(select::<u32, divides>(&good).unwrap().len(), kept);
    assert_eq!(count_of::<u32>(map::<flagged, _>(&good)), kept);
}
