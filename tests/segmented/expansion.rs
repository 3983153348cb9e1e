//! Run-length decoding, and ways to write down segments: on the CPU and in the emulator.

use super::cases::{Case, cases, long_cases};
use super::emulated::{counted, counted_arguments};
use crate::emulator::{Argument, Grid, Script, Toolchain, address, base_seed};
use crate::support::data::{Sample, assert_same, sample};
use crate::support::matrix::is_drawn;
use warpfold::codegen::kernels::{Expand, ExpandArguments};
use warpfold::source::{Slice, SliceArguments};
use warpfold::{
    CountedStartsOf, Device, Error, Offsets, OffsetsArguments, OffsetsOf, Rows, bytemuck, decode,
    decode_into, function, map, offsets_from_ids, offsets_from_lengths, runs, segment_ids,
};

fn lengths(case: &Case) -> Vec<u32> {
    case.segments()
        .map(|segment| segment.len() as u32)
        .collect()
}

/// What the definition gives, one item after the other.
fn decoded<T: Sample>(values: &[T], counts: &[u32]) -> Vec<T> {
    let pairs = values.iter().zip(counts);
    let items = pairs.flat_map(|(&value, &count)| std::iter::repeat_n(value, count as usize));
    items.collect()
}

fn check<T: Sample>(case: &Case) {
    let device = Device::cpu();
    let (values, counts) = (sample::<T>(case.count(), 3), lengths(case));
    let expected = decoded(&values, &counts);
    assert_same(&decode(&values, &counts).unwrap(), &expected, case.name);
    let mut output = sample::<T>(expected.len() + 2, 4);
    let behind = output[expected.len()..].to_vec();
    let count = decode_into(&values, &counts, &mut output).unwrap();
    assert_eq!(count, expected.len());
    assert_same(&output[..count], &expected, case.name);
    assert_same(&output[count..], &behind, case.name);

    let long: Vec<_> = counts.iter().map(|&count| u64::from(count)).collect();
    let (x, n) = (
        device.upload(&values).unwrap(),
        device.upload(&long).unwrap(),
    );
    let got = device.decode(&x, &n).unwrap();
    assert_same(&got.to_vec().unwrap(), &expected, case.name);
    let mut output = device.upload(&output).unwrap();
    assert_eq!(device.decode_into(&x, &n, &mut output).unwrap(), count);
    assert_same(&output.to_vec().unwrap()[..count], &expected, case.name);
}

#[test]
fn decoding_repeats_each_value() {
    for case in cases(1024).iter().chain(&long_cases()) {
        check::<f32>(case);
        check::<u8>(case);
        check::<[u8; 33]>(case);
    }
}

#[function]
fn squared(x: u64) -> u64 {
    x * x
}

#[test]
fn values_and_counts_may_be_any_source() {
    let x = decode(
        map::<squared, _>(warpfold::index(4)),
        map::<squared, _>(&[1, 0, 2, 1]),
    );
    assert_eq!(x.unwrap(), [0, 4, 4, 4, 4, 9]);
}

#[test]
fn decoding_undoes_run_length_encoding() {
    let x: Vec<u32> = sample::<u32>(100_000, 1).iter().map(|x| x % 2).collect();
    let found = runs::<u32>(&x).unwrap();
    assert_eq!(decode(&found.items, &found.lengths).unwrap(), x);
}

#[test]
fn lengths_offsets_and_ids_say_the_same() {
    let device = Device::cpu();
    for case in cases(1024).iter().chain(&long_cases()) {
        let before = case.offsets[0];
        let offsets: Vec<_> = case.offsets.iter().map(|offset| offset - before).collect();
        let lengths = lengths(case);
        assert_eq!(
            offsets_from_lengths(&lengths).unwrap(),
            offsets,
            "{}",
            case.name
        );
        let there = device.upload(&lengths).unwrap();
        let got = device.offsets_from_lengths(&there).unwrap();
        assert_eq!(got.to_vec().unwrap(), offsets, "{}", case.name);

        let mut ids = vec![u64::MAX; case.items];
        for (number, segment) in case.segments().enumerate() {
            ids[segment].fill(number as u64);
        }
        let segments = Offsets::new(&case.offsets).unwrap();
        let got = segment_ids(segments, case.items).unwrap();
        assert_eq!(got, ids, "{}", case.name);
        let there = device.upload(&case.offsets).unwrap();
        let segments = device.offsets(&there).unwrap();
        let got = device.segment_ids(segments, case.items).unwrap();
        assert_eq!(got.to_vec().unwrap(), ids, "{}", case.name);

        ids.retain(|&id| id != u64::MAX);
        let got = offsets_from_ids(&ids, case.count()).unwrap();
        assert_eq!(got, offsets, "{}", case.name);
        let there = device.upload(&ids).unwrap();
        let got = device.offsets_from_ids(&there, case.count()).unwrap();
        assert_eq!(got.to_vec().unwrap(), offsets, "{}", case.name);
    }
    // Items of later segments belong to none.
    assert_eq!(
        offsets_from_ids(&[0_u32, 1, 1, 7, 9], 3).unwrap(),
        [0, 1, 3, 3]
    );
    assert_eq!(segment_ids(Rows::new(2, 2), 4).unwrap(), [0, 0, 1, 1]);
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(result: Result<T, Error>, parts: &[&str]) {
    let message = result.expect_err("it is refused").to_string();
    for part in parts {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn wrong_counts_rooms_and_ids_are_refused() {
    let device = Device::cpu();
    let mut output = [1_u8; 4];
    let too_many = decode_into(&[9_u8, 8], &[2_u32, 3], &mut output);
    assert_refused(too_many, &["5", "4"]);
    assert_eq!(output, [1; 4]);
    assert_refused(
        decode(&[9_u8, 8], &[2_u32]),
        &["2 items is zipped with one of 1"],
    );
    let (x, n) = (
        device.upload(&[9_u8, 8]).unwrap(),
        device.upload(&[2_u32, 3]).unwrap(),
    );
    let mut room = device.upload(&[1_u8; 4]).unwrap();
    assert_refused(device.decode_into(&x, &n, &mut room), &["5", "4"]);
    assert_eq!(room.to_vec().unwrap(), [1; 4]);
    // Counts that no memory holds, and such as a sum of 64 bits does not.
    for counts in [[1_u64 << 62, 5], [u64::MAX, 9]] {
        assert_refused(decode(&[9_u8, 8], &counts), &["out of host memory"]);
    }

    let parts = ["`ids` fall", "ids[2] is 1, less than the 3 before it"];
    assert_refused(offsets_from_ids(&[0_u32, 3, 1], 4), &parts);
    let ids = device.upload(&[0_u32, 3, 1]).unwrap();
    assert_refused(device.offsets_from_ids(&ids, 4), &parts);
    let offsets = Offsets::new(&[0_u32, 9]).unwrap();
    assert_refused(
        segment_ids(offsets, 8),
        &["offsets[1] is 9", "there are 8 items"],
    );
}

/// The kernel, which also gives something to items of no segment.
fn check_emulated<T: Sample>(name: &str, all: &[(Vec<u64>, usize)]) {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let name = format!("segmented expand {name}");
    if !is_drawn(&name, name.ends_with("words")) {
        return;
    }
    type Kernel<T> = Expand<T, Slice<T>, OffsetsOf<u64>>;
    let kernel = Kernel::<T>::kernel();
    let text = kernel.source().expect("a source");
    let module = toolchain.module(&name, &text, kernel.functions());
    for (number, (offsets, items)) in all.iter().enumerate() {
        let count = offsets.len() - 1;
        let values = sample::<T>(count + 1, 5);
        let mut script = Script::new();
        script.seed(base_seed() + number as u64);
        script.file("values", bytemuck::cast_slice(&values[..count]));
        script.filled("values", 0, count * size_of::<T>(), "values");
        script.file("offsets", bytemuck::cast_slice(offsets));
        script.filled("offsets", 0, offsets.len() * 8, "offsets");
        script.buffer("out", number % 3 * align_of::<T>(), items * size_of::<T>());
        let none = values[count];
        let given = ExpandArguments {
            values: SliceArguments {
                address: address("values", 0),
            },
            segments: OffsetsArguments {
                offsets: address("offsets", 0),
                count: count as u64,
                items: *items as u64,
            },
            out: address("out", 0),
            none,
        };
        let (tiles, threads) = Kernel::<T>::grid(*items, count);
        let grid = Grid::new(tiles, threads);
        script.launch("segmented_expand", grid, &[Argument::of_struct(&given)]);
        script.save("out");
        let got: Vec<T> = bytemuck::pod_collect_to_vec(&script.run_to_the_end(&name, &module));
        if !offsets.is_sorted() {
            assert_eq!(got.len(), *items);
            continue;
        }
        let mut expected = vec![none; *items];
        for (pair, &value) in offsets.windows(2).zip(&values) {
            let bound = |offset: u64| (offset as usize).min(*items);
            expected[bound(pair[0])..bound(pair[1])].fill(value);
        }
        assert_same(
            &got,
            &expected,
            &format!("{name} {number}: {:?}", &offsets[..2.min(count)]),
        );
    }
}

fn all_offsets() -> Vec<(Vec<u64>, usize)> {
    let cases = cases(1024).into_iter().filter(|case| case.items > 0);
    let mut all: Vec<_> = cases.map(|case| (case.offsets, case.items)).collect();
    all.push((vec![3, 100_000], 5000));
    all
}

/// As many starts as memory says, with more room, with just as much, and with less.
#[test]
fn emulated_counted_starts() {
    type Kernel = Expand<u32, Slice<u32>, CountedStartsOf<u64>>;
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let kernel = Kernel::kernel();
    let text = kernel.source().expect("a source");
    let module = toolchain.module("segmented expand counted", &text, kernel.functions());
    let cases = cases(1024);
    let some = cases.iter().filter(|case| case.reaches_the_end());
    for (number, case) in some.enumerate().filter(|(_, case)| case.items > 0) {
        let count = case.count();
        let room = [count + 700, count, count.div_ceil(2)][number % 3];
        let values = sample::<u32>(room, 5);
        let mut script = Script::new();
        script.seed(base_seed() + number as u64);
        script.file("values", bytemuck::cast_slice(&values));
        script.filled("values", 0, 4 * room, "values");
        let numbers = counted(case, room);
        script.file("starts", &numbers);
        script.filled("starts", 0, numbers.len(), "starts");
        let mut expected = vec![7; case.items];
        script.file("out", bytemuck::cast_slice(&expected));
        script.filled("out", 0, 4 * case.items, "out");
        let given = ExpandArguments {
            values: SliceArguments {
                address: address("values", 0),
            },
            segments: counted_arguments(case, room),
            out: address("out", 0),
            none: 9,
        };
        let (tiles, threads) = Kernel::grid(case.items, room);
        let grid = Grid::new(tiles, threads);
        script.launch("segmented_expand", grid, &[Argument::of_struct(&given)]);
        script.save("out");
        let what = format!("counted: {}, room for {room}", case.name);
        let got: Vec<u32> = bytemuck::pod_collect_to_vec(&script.run_to_the_end(&what, &module));
        // Where there is no room for all starts, nothing behind the last one is looked at.
        let stored = if room < count { room - 1 } else { count };
        expected[..case.offsets[stored] as usize].fill(9);
        for (segment, &value) in case.segments().take(stored).zip(&values) {
            expected[segment].fill(value);
        }
        assert_same(&got, &expected, &what);
    }
}

#[test]
fn emulated_words() {
    check_emulated::<u32>("words", &all_offsets());
}

#[test]
fn emulated_bytes() {
    check_emulated::<u8>("bytes", &all_offsets());
}

#[test]
fn emulated_long_arrays() {
    check_emulated::<[u8; 33]>("long arrays", &all_offsets());
}

#[test]
fn emulated_wild_offsets_do_not_lead_out_of_bounds() {
    let far = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let wild: [fn(u64) -> u64; 4] = [
        |i| 7000_u64.saturating_sub(13 * i),
        |i| i << (i % 60),
        |i| u64::MAX - i,
        |i| if i % 350 < 100 { 0 } else { i },
    ];
    let mut all: Vec<(Vec<u64>, usize)> =
        wild.map(|wild| ((0..700).map(wild).collect(), 7000)).into();
    all.push(((0..700).map(|i| far(i) >> 51).collect(), 7000));
    check_emulated::<f32>("wild", &all);
}
