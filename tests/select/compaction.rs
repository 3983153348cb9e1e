//! Partition, positions, unique and runs give what sequential loops give, on every device.

use crate::support::data::{Random, Sample, assert_same, sample};
use crate::support::matrix::in_turn;
use proptest::prelude::*;
use std::panic::catch_unwind;
use warpfold::half::{bf16, f16};
use warpfold::source::{Comparable, Feeds};
use warpfold::{
    Buffer, Device, Element, Error, Function, Runs, bools, constant, flags, function, heads,
    heads_by, map, ops::Add, partition, partition_flagged, positions, reduce, runs, runs_by,
    select_flagged, unique, unique_by, zip,
};

#[function]
fn starts_odd<const N: usize>(x: [u8; N]) -> bool {
    x[0] % 2 == 1
}

#[function]
fn even(x: u32) -> bool {
    x & 1 == 0
}

/// Elements with a share of odd first bytes: all, none, every other, half at random, and few.
fn with_shares<const N: usize>(length: usize) -> [Vec<[u8; N]>; 5] {
    let mut random = Random::new(length as u64);
    [1, 0, 2, 3, 20].map(|kind| {
        let mut input = sample::<[u8; N]>(length, 3);
        for (i, item) in input.iter_mut().enumerate() {
            let odd = match kind {
                0 => false,
                2 => i % 2 == 1,
                3 => random.next().is_multiple_of(2),
                one_in => random.next().is_multiple_of(one_in),
            };
            item[0] = item[0] & !1 | u8::from(odd);
        }
        input
    })
}

/// Where something changes for elements of so many bytes: on the CPU, and on a GPU if there is one.
fn lengths(bytes: usize) -> Vec<usize> {
    let (block, chunk) = ((1 << 10) / bytes, 1 << ((256 << 10) / bytes).ilog2());
    let mut lengths = vec![0, 1, 2, 31, 32, 33, 1000];
    for edge in [block, chunk, 2 * chunk] {
        lengths.extend([edge - 1, edge, edge + 1]);
    }
    lengths.push(5 * chunk + block + 7);
    if Device::available().len() > 1 {
        lengths.push(3_000_017 / bytes);
    }
    lengths
}

fn too_small<T>(input: usize, output: usize) -> Result<T, Error> {
    Err(Error::Length { input, output })
}

/// Every way to partition by `P`, and into every room that matters.
fn check_partition<T, P>(input: &[T], holds: impl Fn(&T) -> bool, what: &str)
where
    T: Sample + Feeds<P::Input>,
    P: Function<Output = bool>,
{
    let (kept, others): (Vec<T>, Vec<T>) = input.iter().copied().partition(|x| holds(x));
    let got = partition::<T, P>(input).unwrap();
    assert_same(&got.0, &kept, &format!("host, {what}"));
    assert_same(&got.1, &others, &format!("host, others, {what}"));
    let mask: Vec<bool> = input.iter().map(&holds).collect();
    let got = partition_flagged::<T>(zip(input, bools(&mask))).unwrap();
    assert_same(&got.0, &kept, &format!("by a mask, {what}"));
    assert_same(&got.1, &others, &format!("by a mask, others, {what}"));
    for device in Device::available() {
        let what = format!("{device}, {what}");
        let data = device.upload(input).unwrap();
        let got = device.partition::<T, P>(&data).unwrap();
        assert_same(&got.0.into_vec().unwrap(), &kept, &what);
        assert_same(&got.1.into_vec().unwrap(), &others, &what);

        let old = sample::<T>(input.len() + 3, 99);
        let rooms = |count: usize| [0, count.saturating_sub(1), count, count + 1];
        let (some, all) = (kept.len() / 2, input.len());
        let pairs = rooms(kept.len()).map(|room| (room, all)).into_iter();
        let pairs = pairs.chain(rooms(others.len()).map(|room| (all, room)));
        for (room, others_room) in pairs.chain([(some, some.min(others.len()))]) {
            let mut first = device.upload(&old[..room]).unwrap();
            let mut second = device.upload(&old[..others_room]).unwrap();
            let source = warpfold::flagged::<P, _>(&data);
            let result = device.partition_flagged_into::<T>(source, &mut first, &mut second);
            for (output, all, room) in [(first, &kept, room), (second, &others, others_room)] {
                let output = output.into_vec().unwrap();
                let written = all.len().min(room);
                assert_same(&output[..written], &all[..written], &what);
                assert_same(&output[written..], &old[written..room], &what);
            }
            let expected = if room < kept.len() {
                too_small(kept.len(), room)
            } else if others_room < others.len() {
                too_small(others.len(), others_room)
            } else {
                Ok(kept.len())
            };
            assert_eq!(result, expected, "{what}, into {room} and {others_room}");
        }
        check_joined::<T, P>(&data, &[&kept[..], &others].concat(), kept.len(), &what);
    }
}

/// Every way to partition into one buffer, and into every room that matters.
fn check_joined<T, P>(data: &Buffer<T>, expected: &[T], kept: usize, what: &str)
where
    T: Sample + Feeds<P::Input>,
    P: Function<Output = bool>,
{
    let (device, all) = (data.device(), data.len());
    let (joined, count) = device.partition_joined::<T, P>(data).unwrap();
    assert_eq!(count, kept, "joined, {what}");
    assert_same(&joined.into_vec().unwrap(), expected, what);
    let source = || warpfold::flagged::<P, _>(data);
    let (joined, count) = device.partition_flagged_joined::<T>(source()).unwrap();
    assert_eq!(count, kept, "joined by flags, {what}");
    assert_same(&joined.into_vec().unwrap(), expected, what);

    let old = sample::<T>(all + 3, 98);
    for room in [all.saturating_sub(1), all, all + 3] {
        let outputs = [0, 1].map(|_| device.upload(&old[..room]).unwrap());
        let [mut first, mut second] = outputs;
        let results = [
            device.partition_joined_into::<T, P>(data, &mut first),
            device.partition_flagged_joined_into::<T>(source(), &mut second),
        ];
        for (result, output) in results.into_iter().zip([first, second]) {
            let output = output.into_vec().unwrap();
            if room < all {
                assert_eq!(result, too_small(all, room), "{what}");
                assert_same(&output, &old[..room], what);
            } else {
                assert_eq!(result, Ok(kept), "{what}, into {room}");
                assert_same(&output[..all], expected, what);
                assert_same(&output[all..], &old[all..room], what);
            }
        }
    }
}

fn check_size<const N: usize>() {
    for (turn, length) in lengths(N).into_iter().enumerate() {
        for (number, input) in with_shares::<N>(length).iter().enumerate() {
            // At long lengths the shares take turns.
            if length > 10_000 && (number + turn) % 3 > 0 {
                continue;
            }
            let what = format!("{length} × {N} bytes, shares {number}");
            check_partition::<[u8; N], starts_odd<N>>(input, |x| x[0] % 2 == 1, &what);
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
    partitions_of_numbers 1 2 4 8;
    partitions_of_odd_sizes 3 12;
    partitions_of_large_sizes 24 64;
}

#[function]
fn has_zero(x: u32, bit: u32) -> bool {
    x >> bit & 1 == 0
}

/// A partition for each bit sorts, between two buffers.
#[test]
fn partitions_follow_each_other_without_the_host() {
    for length in [0, 1, 2, 3, 1000, 100_003, 1_000_000] {
        let input: Vec<u32> = sample::<u32>(length, 8).iter().map(|x| x >> 20).collect();
        let mut expected = input.clone();
        expected.sort_unstable();
        for device in Device::available() {
            let mut x = device.upload(&input).unwrap();
            let mut parted = device.allocate::<u32>(length).unwrap();
            for bit in 0..12 {
                let zeros = map::<has_zero, _>(zip(&x, constant(bit, length)));
                let zeros = zip(&x, zeros);
                let count = device.partition_flagged_joined_into(zeros, &mut parted);
                let zeros = input.iter().filter(|x| *x >> bit & 1 == 0).count();
                assert_eq!(count, Ok(zeros), "{device}");
                std::mem::swap(&mut x, &mut parted);
            }
            assert_same(&x.into_vec().unwrap(), &expected, &format!("{device}"));
        }
    }
}

#[test]
fn positions_are_those_of_what_is_true() {
    for length in lengths(1).into_iter().chain(lengths(8)) {
        for &one_in in in_turn(&format!("positions in {length}"), &[1, 2, 20]) {
            let mask: Vec<u8> = sample::<u64>(length, one_in)
                .iter()
                .map(|x| if x.is_multiple_of(one_in) { 7 } else { 0 })
                .collect();
            let set: Vec<bool> = mask.iter().map(|&flag| flag != 0).collect();
            let expected: Vec<u64> = (0..).zip(&set).filter(|x| *x.1).map(|x| x.0).collect();
            assert_eq!(positions(bools(&set)).unwrap(), expected);
            assert_eq!(positions(flags(&mask)).unwrap(), expected);
            for device in Device::available() {
                let mask = device.upload(&mask).unwrap();
                let got = device.positions(flags(&mask)).unwrap();
                assert_eq!(got.into_vec().unwrap(), expected, "{device}");
                let old = sample::<u64>(expected.len() + 2, 5);
                for room in [0, expected.len() / 2, expected.len(), old.len()] {
                    let mut output = device.upload(&old[..room]).unwrap();
                    let result = device.positions_into(flags(&mask), &mut output);
                    let written = expected.len().min(room);
                    let output = output.into_vec().unwrap();
                    assert_eq!(output[..written], expected[..written], "{device}");
                    assert_eq!(output[written..], old[written..room], "{device}");
                    if room < expected.len() {
                        assert_eq!(result, too_small(expected.len(), room));
                    } else {
                        assert_eq!(result, Ok(expected.len()));
                    }
                }
            }
        }
    }
}

#[test]
fn every_number_but_zero_is_a_flag() {
    let nan = f32::NAN;
    assert_eq!(positions(flags(&[0.0, -0.0, 1e-45, nan])).unwrap(), [2, 3]);
    assert_eq!(positions(flags(&[0_i64, i64::MIN])).unwrap(), [1]);
    let halves = [f16::ZERO, -f16::ZERO, f16::from_bits(1)];
    assert_eq!(positions(flags(&halves)).unwrap(), [2]);
    assert_eq!(positions(bools(&[])).unwrap(), [0_u64; 0]);
}

/// Runs of equal numbers, of one to `longest` numbers.
fn in_runs<T: Sample>(length: usize, longest: u64) -> Vec<T> {
    let mut random = Random::new(length as u64 + longest);
    let mut data = sample::<T>(length, 4);
    for i in 1..length {
        if !random.next().is_multiple_of(longest) {
            data[i] = data[i - 1];
        }
    }
    data
}

fn check_runs<T: Sample + Comparable>(data: &[T]) {
    let starts: Vec<usize> = (0..data.len())
        .filter(|&i| i == 0 || data[i] != data[i - 1])
        .collect();
    let ends = starts.iter().skip(1).copied().chain([data.len()]);
    let expected = Runs {
        items: starts.iter().map(|&i| data[i]).collect::<Vec<T>>(),
        starts: starts.iter().map(|&i| i as u64).collect::<Vec<_>>(),
        lengths: starts
            .iter()
            .zip(ends)
            .map(|(s, e)| (e - s) as u64)
            .collect(),
    };
    let what = format!("{} × {}", data.len(), std::any::type_name::<T>());
    assert_same(&unique::<T>(data).unwrap(), &expected.items, &what);
    let got = runs::<T>(data).unwrap();
    assert_same(&got.items, &expected.items, &what);
    assert_eq!(
        (got.starts, got.lengths),
        (expected.starts.clone(), expected.lengths.clone())
    );
    for device in Device::available() {
        let what = format!("{device}, {what}");
        let data = device.upload(data).unwrap();
        let got = device.unique::<T>(&data).unwrap();
        assert_same(&got.into_vec().unwrap(), &expected.items, &what);
        let got = device.runs::<T>(&data).unwrap();
        assert_same(&got.items.into_vec().unwrap(), &expected.items, &what);
        assert_eq!(got.starts.into_vec().unwrap(), expected.starts, "{what}");
        assert_eq!(got.lengths.into_vec().unwrap(), expected.lengths, "{what}");
    }
}

#[test]
fn runs_of_integers() {
    for length in lengths(4) {
        for &longest in in_turn(&format!("runs of {length}"), &[1, 4, 1000]) {
            check_runs(&in_runs::<u32>(length, longest));
            check_runs(&in_runs::<u8>(length, longest));
            check_runs(&in_runs::<i64>(length, longest));
        }
    }
    check_runs(&vec![7_u16; 300_001]);
}

#[test]
fn runs_of_floats() {
    for length in lengths(8) {
        check_runs(&in_runs::<f64>(length, 3));
        check_runs(&in_runs::<f16>(length, 3));
        check_runs(&in_runs::<bf16>(length, 3));
    }
    #[cfg(feature = "complex")]
    check_runs(&in_runs::<num_complex::Complex<f32>>(70_001, 3));
    let nan = f32::NAN;
    let x = [nan, nan, 0.0, -0.0, 0.0, 1.0];
    let got = runs::<f32>(&x).unwrap();
    assert_eq!(
        (got.starts, got.lengths),
        (vec![0, 1, 2, 5], vec![1, 1, 3, 1])
    );
}

#[derive(Debug, Clone, Copy, PartialEq, Element)]
#[repr(C)]
struct Entry {
    key: u32,
    value: f32,
}

#[function]
fn same_key(a: Entry, b: Entry) -> bool {
    a.key == b.key
}

#[function]
fn rises(before: u32, x: u32) -> bool {
    before <= x
}

#[test]
fn runs_are_what_a_function_says() {
    let keys = in_runs::<u32>(200_003, 5);
    let entries: Vec<Entry> = keys
        .iter()
        .enumerate()
        .map(|(i, &key)| Entry {
            key,
            value: i as f32,
        })
        .collect();
    let by_key = runs::<u32>(&keys).unwrap();
    let expected: Vec<Entry> = by_key.starts.iter().map(|&i| entries[i as usize]).collect();
    assert_eq!(unique_by::<Entry, same_key>(&entries).unwrap(), expected);
    let got = runs_by::<Entry, same_key>(&entries).unwrap();
    assert_eq!((got.items, got.starts), (expected.clone(), by_key.starts));
    assert_eq!(got.lengths, by_key.lengths);
    for device in Device::available() {
        let entries = device.upload(&entries).unwrap();
        let got = device.unique_by::<Entry, same_key>(&entries).unwrap();
        assert_eq!(got.into_vec().unwrap(), expected, "{device}");
        let got = device.runs_by::<Entry, same_key>(&entries).unwrap();
        assert_eq!(got.lengths.into_vec().unwrap(), by_key.lengths, "{device}");
    }
    // The function takes the item before first.
    let x = [1, 2, 5, 3, 4, 4, 0];
    assert_eq!(unique_by::<u32, rises>(&x).unwrap(), [1, 3, 0]);
}

#[function]
fn counted(_: u32, head: bool) -> u64 {
    head as u64
}

/// Heads are a source for every primitive, not only for selects.
#[test]
fn heads_can_be_counted_and_combined() {
    for length in [0, 1, 5, 1000, 65_537, 1_000_003] {
        let x = in_runs::<u32>(length, 4);
        let count = runs::<u32>(&x).unwrap().items.len() as u64;
        let ones = map::<counted, _>(heads::<u32, _>(&x));
        assert_eq!(reduce::<u64, Add>(ones).unwrap(), count);
        for device in Device::available() {
            let x = device.upload(&x).unwrap();
            let ones = map::<counted, _>(heads::<u32, _>(&x));
            assert_eq!(device.reduce::<u64, Add>(ones), Ok(count), "{device}");
        }
    }
    let (x, y) = ([1_u32, 1, 2], [5_u32, 5, 5]);
    let both = zip(heads::<u32, _>(&x), heads::<u32, _>(&y));
    assert_eq!(reduce::<u64, Add>(map::<in_both, _>(both)).unwrap(), 1);
}

#[function]
fn in_both(a: (u32, bool), b: (u32, bool)) -> u64 {
    (a.1 && b.1) as u64
}

#[test]
fn sources_of_unequal_lengths_are_an_error() {
    let error = Error::Zip {
        first: 3,
        second: 2,
    };
    let (x, mask) = ([1, 2, 3], [true, false]);
    assert_eq!(
        partition_flagged::<i32>(zip(&x, bools(&mask))),
        Err(error.clone())
    );
    assert_eq!(
        select_flagged::<i32>(zip(&x, bools(&mask))),
        Err(error.clone())
    );
    let pairs = zip(&x, constant(1, 2));
    assert_eq!(positions(map::<differ, _>(pairs)), Err(error));
}

#[function]
fn differ(a: i32, b: i32) -> bool {
    a != b
}

#[function]
fn divides(x: u32) -> bool {
    100 / x > 3
}

#[function]
fn same_quotient(a: u32, b: u32) -> bool {
    100 / a == 100 / b
}

#[test]
fn a_function_that_panics_stops_the_call_and_no_thread_waits() {
    let good: Vec<u32> = (0..1 << 20).map(|i| i % 50 + 1).collect();
    for place in [0, 17, 700_001, (1 << 20) - 1] {
        let mut bad = good.clone();
        bad[place] = 0;
        assert!(catch_unwind(|| partition::<u32, divides>(&bad)).is_err());
        let cpu = Device::cpu();
        let data = cpu.upload(&bad).unwrap();
        assert!(catch_unwind(|| cpu.partition_joined::<u32, divides>(&data)).is_err());
        assert!(catch_unwind(|| positions(map::<divides, _>(&bad))).is_err());
        assert!(catch_unwind(|| runs_by::<u32, same_quotient>(&bad)).is_err());
    }
    assert_eq!(
        partition::<u32, divides>(&good).unwrap().0.len(),
        select(&good)
    );
}

fn select(x: &[u32]) -> usize {
    x.iter().filter(|x| 100 / **x > 3).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_number_of_threads_does_not_show(
        length in 0_usize..300_000,
        threads in 1_usize..9,
        seed: u64,
    ) {
        let input = sample::<u32>(length, seed);
        let (kept, others): (Vec<u32>, Vec<u32>) = input.iter().partition(|x| **x % 2 == 0);
        let starts: Vec<u64> = (0..length as u64)
            .filter(|&i| i == 0 || input[i as usize] % 4 != input[i as usize - 1] % 4)
            .collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let cpu = Device::cpu();
        let data = cpu.upload(&input).unwrap();
        let (sides, joined, found) = pool.install(|| {
            (
                partition::<u32, even>(&input).unwrap(),
                cpu.partition_joined::<u32, even>(&data).unwrap(),
                runs_by::<u32, same_rest>(&input).unwrap(),
            )
        });
        prop_assert_eq!(joined.1, kept.len());
        prop_assert_eq!(joined.0.into_vec().unwrap(), [&kept[..], &others].concat());
        prop_assert_eq!(sides, (kept, others));
        prop_assert_eq!(found.starts, starts);
    }
}

#[function]
fn same_rest(a: u32, b: u32) -> bool {
    a % 4 == b % 4
}

/// What a form is does not depend on where its data lies.
#[test]
fn heads_compose() {
    let x = [1.0_f32, 1.25, 7.0, 7.5, 2.0];
    let heads = heads_by::<close, _>(map::<doubled, _>(&x));
    assert_eq!(select_flagged::<f32>(heads).unwrap(), [2.0, 14.0, 4.0]);
}

#[function]
fn doubled(x: f32) -> f32 {
    x * 2.0
}

#[function]
fn close(before: f32, x: f32) -> bool {
    (x - before).abs() <= 1.0
}
