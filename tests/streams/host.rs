//! A stream has the bits of one call over everything, wherever its pieces end.

use crate::support::data::{Random, Sample, assert_same, sample};
use crate::support::operators::{Affine, Bracketing, Sums, Then};
use crate::support::seed;
use half::f16;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU8, Ordering};
use warpfold::ops::Add;
use warpfold::{
    Carry, Device, Error, Monoid, Prefixes, Reducer, Scanner, function, map, reduce, reduce_from,
    zip,
};

/// What one call gives, for every form of scan.
fn whole<T: Sample, Op: Monoid<T>>(prefixes: Prefixes<T>, input: &[T]) -> Vec<T> {
    let device = Device::cpu();
    let mut data = device.upload(input).unwrap();
    device.scan_in_place::<T, Op>(prefixes, &mut data).unwrap();
    data.into_vec().unwrap()
}

/// Reduces and scans `input` in pieces that end where `cuts` say, in every way there is.
fn check<T: Sample, Op: Monoid<T>>(input: &[T], cuts: &[usize]) {
    check_on::<T, Op>(&Device::cpu(), input, cuts);
}

/// Reduces and scans `input` in pieces, where what lies on a device lies on this one.
pub(crate) fn check_on<T: Sample, Op: Monoid<T>>(device: &Device, input: &[T], cuts: &[usize]) {
    let init = sample::<T>(1, 5)[0];
    let ends = cuts.iter().copied().chain([input.len()]);
    let pieces = || {
        let mut start = 0;
        ends.clone()
            .map(move |end| &input[std::mem::replace(&mut start, end)..end])
    };
    let what = format!("{} in {cuts:?}", std::any::type_name::<(T, Op)>());

    let (mut reducer, mut on_device) = (Reducer::<T, Op>::new(), device.reducer::<T, Op>());
    let (mut reading, mut of_slices) = (Reducer::<T, Op>::new(), device.reducer::<T, Op>());
    let mut read_for_device = device.reducer::<T, Op>();
    for piece in pieces() {
        reducer.push(piece).unwrap();
        let read = |start: usize, to: &mut [T]| {
            to.copy_from_slice(&piece[start..start + to.len()]);
        };
        let read_well = |start, to: &mut [T]| {
            read(start, to);
            Ok::<(), Infallible>(())
        };
        reading.push_read(piece.len(), read_well).unwrap();
        on_device.push(&device.upload(piece).unwrap()).unwrap();
        of_slices.push_slice(piece).unwrap();
        let read_well = |start, to: &mut [T]| {
            read(start, to);
            Ok::<(), Error>(())
        };
        read_for_device.push_read(piece.len(), read_well).unwrap();
    }
    let reduced = reduce::<T, Op>(input).unwrap();
    let values = [
        reducer.value(),
        on_device.value(),
        reading.value(),
        of_slices.value(),
        read_for_device.value(),
    ];
    assert_same(&values, &[reduced; 5], &what);
    let from = reduce_from::<T, Op>(init, input).unwrap();
    assert_same(&[reducer.value_from(init)], &[from], &what);
    assert_eq!(reducer.carry().position(), input.len() as u64);

    for prefixes in [
        Prefixes::exclusive(),
        Prefixes::inclusive(),
        Prefixes::exclusive().from(init),
        Prefixes::inclusive().from(init),
    ] {
        let new = || Scanner::<T, Op>::new(prefixes);
        let (mut allocating, mut into, mut in_place) = (new(), new(), new());
        let new = || device.scanner::<T, Op>(prefixes);
        let (mut to_buffer, mut into_buffer, mut buffer_in_place) = (new(), new(), new());
        let mut of_slices = new();
        let mut results: [Vec<T>; 7] = Default::default();
        for piece in pieces() {
            let mut output = vec![init; piece.len()];
            into.scan_into(piece, &mut output).unwrap();
            let mut data = piece.to_vec();
            in_place.scan_in_place(&mut data).unwrap();
            let source = device.upload(piece).unwrap();
            let mut buffer = device.allocate(piece.len()).unwrap();
            into_buffer.scan_into(&source, &mut buffer).unwrap();
            let new_buffer = to_buffer.scan(&source).unwrap();
            let mut buffer_data = source;
            buffer_in_place.scan_in_place(&mut buffer_data).unwrap();
            let mut by_device = vec![init; piece.len()];
            of_slices.scan_slice_into(piece, &mut by_device).unwrap();
            let of_piece = [
                allocating.scan(piece).unwrap(),
                output,
                by_device,
                data,
                buffer.into_vec().unwrap(),
                new_buffer.into_vec().unwrap(),
                buffer_data.into_vec().unwrap(),
            ];
            for (result, of_piece) in results.iter_mut().zip(of_piece) {
                result.extend(of_piece);
            }
        }
        let expected = whole::<T, Op>(prefixes, input);
        for result in &results {
            assert_same(result, &expected, &what);
        }
        let last = [
            allocating.carry().clone(),
            in_place.carry().clone(),
            buffer_in_place.carry().unwrap(),
            to_buffer.carry().unwrap(),
            of_slices.carry().unwrap(),
        ];
        for carry in last {
            assert_same(&[reducer_of(&carry).value()], &[reduced], &what);
        }
    }
}

/// Scans pieces from the last one to the first, in reverse, on a device.
pub(crate) fn check_reversed_on<T: Sample, Op: Monoid<T>>(
    device: &Device,
    input: &[T],
    cuts: &[usize],
) {
    for prefixes in [Prefixes::exclusive(), Prefixes::inclusive()].map(Prefixes::reverse) {
        let mut scanners = [(); 2].map(|()| device.scanner::<T, Op>(prefixes));
        let mut results = [input.to_vec(), input.to_vec()];
        let mut end = input.len();
        for &start in cuts.iter().rev().chain([&0]) {
            let piece = &input[start..end];
            let mut buffer = device.upload(piece).unwrap();
            scanners[0].scan_in_place(&mut buffer).unwrap();
            results[0][start..end].copy_from_slice(&buffer.into_vec().unwrap());
            let output = &mut results[1][start..end];
            scanners[1].scan_slice_into(piece, output).unwrap();
            end = start;
        }
        let expected = whole::<T, Op>(prefixes, input);
        for result in &results {
            assert_same(result, &expected, &format!("in reverse, in {cuts:?}"));
        }
    }
}

#[test]
fn streams_in_reverse() {
    let input = sample::<u64>(100_000, 3);
    check_reversed_on::<u64, Bracketing>(&Device::cpu(), &input, &[1, 65_536, 70_001]);
}

/// A reducer that goes on from a carry that was stored.
fn reducer_of<T: Sample, Op: Monoid<T>>(carry: &Carry<T, Op>) -> Reducer<T, Op> {
    let stored = Carry::from_sums(carry.position(), carry.sums().to_vec()).unwrap();
    Reducer::new().after(stored)
}

/// Up to `count` cuts, most of them near multiples of powers of two.
pub(crate) fn cuts(len: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut draw = |below: usize| (random.next() >> 8) as usize % below.max(1);
    let mut cuts: Vec<_> = (0..draw(count + 1))
        .map(|_| {
            let at = draw(len + 1);
            let power = 1 << draw(20);
            match draw(4) {
                0 => at,
                1 => at / power * power,
                2 => (at / power * power + 1).min(len),
                _ => (at / power * power).saturating_sub(1),
            }
        })
        .collect();
    cuts.sort_unstable();
    cuts
}

#[test]
fn every_cut_of_a_short_stream() {
    for len in 0..=9 {
        let input = sample::<u64>(len, 3);
        for set in 0_usize..1 << len {
            let cuts: Vec<_> = (0..len).filter(|i| set >> i & 1 == 1).collect();
            check::<u64, Bracketing>(&input, &cuts);
            check::<f16, Add>(&sample(len, 4), &cuts);
            check::<u32, Add>(&sample(len, 4), &cuts);
        }
    }
}

/// Few cases: each compares a dozen ways to push and to scan.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 4,
        rng_seed: RngSeed::Fixed(seed()),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_bracketing_of_a_stream(length in 0_usize..300_000, count in 0_usize..12, seed: u64) {
        check::<u64, Bracketing>(&sample(length, seed), &cuts(length, count, seed));
    }

    #[test]
    fn operators_that_do_not_commute(length in 0_usize..100_000, count in 0_usize..12, seed: u64) {
        check::<Affine, Then>(&sample(length, seed), &cuts(length, count, seed));
    }

    #[test]
    fn streams_of_floats(length in 0_usize..500_000, count in 0_usize..12, seed: u64) {
        check::<f32, Add>(&sample(length, seed), &cuts(length, count, seed));
    }

    #[test]
    fn streams_of_halves(length in 0_usize..500_000, count in 0_usize..12, seed: u64) {
        check::<f16, Add>(&sample(length, seed), &cuts(length, count, seed));
    }

    #[test]
    fn streams_of_bytes(length in 0_usize..1_100_000, count in 0_usize..6, seed: u64) {
        check::<u8, Bracketing>(&sample(length, seed), &cuts(length, count, seed));
    }

    #[test]
    fn short_pieces(length in 0_usize..3_000, count in 0_usize..12, seed: u64) {
        check::<u64, Bracketing>(&sample(length, seed), &cuts(length, count, seed));
        check::<i32, Add>(&sample(length, seed), &cuts(length, count, seed));
    }

    #[test]
    fn streams_of_long_elements(length in 0_usize..20_000, count in 0_usize..12, seed: u64) {
        check::<[u64; 8], Sums>(&sample(length, seed), &cuts(length, count, seed));
    }

    #[test]
    fn pieces_that_are_computed(length in 0_usize..400_000, count in 0_usize..8, seed: u64) {
        let (x, y) = (sample::<f32>(length, seed), sample::<f32>(length, !seed));
        let mut dot = Reducer::<f32, Add>::new();
        let mut running = Scanner::<f32, Add>::new(Prefixes::inclusive());
        let (mut start, mut sums) = (0, Vec::new());
        for end in cuts(length, count, seed).into_iter().chain([length]) {
            let (x, y) = (&x[start..end], &y[start..end]);
            dot.push(map::<product, _>(zip(x, y))).unwrap();
            sums.extend(running.scan(map::<product, _>(zip(x, y))).unwrap());
            start = end;
        }
        let products = || map::<product, _>(zip(&x, &y));
        assert_same(&[dot.value()], &[reduce::<f32, Add>(products()).unwrap()], "dot");
        let expected = warpfold::inclusive_scan::<f32, Add>(products()).unwrap();
        assert_same(&sums, &expected, "running dot");
    }

    #[test]
    fn threads_do_not_show(length in 0_usize..300_000, threads in 1_usize..9, seed: u64) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (input, cuts) = (sample::<u64>(length, seed), cuts(length, 4, seed));
        pool.install(|| check::<u64, Bracketing>(&input, &cuts));
    }
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

/// As if 2^40 elements had come before: each of them 1, so every sum of a block is its length.
#[test]
fn a_stream_goes_on_where_no_array_ends() {
    let position = (1 << 40) + (1 << 21) + 12_345;
    let ones = |digits: u64| (0..64).rev().filter(move |bit| digits >> bit & 1 == 1);
    let sums: Vec<u64> = ones(position).map(|bit| 1 << bit).collect();
    let carry = Carry::<u64, Add>::from_sums(position, sums).unwrap();
    let mut reducer = Reducer::new().after(carry.clone());
    reducer.push(&vec![1; 3_000_000]).unwrap();
    assert_eq!(reducer.value(), position + 3_000_000);
    let end = position + 3_000_000;
    let sums: Vec<u64> = ones(end).map(|bit| 1 << bit).collect();
    assert_eq!(
        (reducer.carry().position(), reducer.carry().sums()),
        (end, &sums[..])
    );
    let mut scanner = Scanner::new(Prefixes::exclusive()).after(carry);
    let prefixes = scanner.scan(&vec![1; 1_000_000]).unwrap();
    assert!(prefixes.into_iter().eq(position..position + 1_000_000));
}

#[test]
fn what_is_no_carry_is_refused() {
    let error = Carry::<f32, Add>::from_sums(5, vec![1.0]).unwrap_err();
    assert!(matches!(
        error,
        Error::Carry {
            position: 5,
            sums: 1
        }
    ));
    assert!(
        error
            .to_string()
            .contains("remedy: give one sum for each one")
    );
    assert!(Carry::<f32, Add>::from_sums(1 << 63, vec![1.0]).is_err());
    assert!(Carry::<f32, Add>::from_sums(0, vec![]).is_ok());
}

#[test]
fn a_piece_that_is_refused_was_not_taken_in() {
    let mut reducer = Reducer::<f32, Add>::new();
    reducer.push(&[1.0, 2.0, 4.0]).unwrap();
    let uneven = || map::<product, _>(zip(&[1.0_f32, 2.0], &[3.0_f32]));
    assert!(matches!(
        reducer.push(uneven()),
        Err(Error::Zip {
            first: 2,
            second: 1
        })
    ));
    assert_eq!((reducer.carry().position(), reducer.value()), (3, 7.0));

    let mut scanner = Scanner::<f32, Add>::new(Prefixes::inclusive());
    scanner.scan(&[1.0, 2.0, 4.0]).unwrap();
    let mut output = [9.0; 3];
    assert!(matches!(scanner.scan(uneven()), Err(Error::Zip { .. })));
    assert!(matches!(
        scanner.scan_into(uneven(), &mut output),
        Err(Error::Zip { .. })
    ));
    let error = scanner.scan_into(&[1.0, 2.0], &mut output).unwrap_err();
    assert!(matches!(
        error,
        Error::Length {
            input: 2,
            output: 3
        }
    ));
    assert_eq!((scanner.carry().position(), output), (3, [9.0; 3]));
    assert_eq!(scanner.scan(&[1.0]).unwrap(), [8.0]);

    let device = Device::cpu();
    let mut scanner = device.scanner::<f32, Add>(Prefixes::inclusive());
    let piece = device.upload(&[1.0, 2.0]).unwrap();
    let mut output = device.upload(&[9.0; 3]).unwrap();
    let error = scanner.scan_into(&piece, &mut output).unwrap_err();
    assert!(matches!(
        error,
        Error::Length {
            input: 2,
            output: 3
        }
    ));
    assert_eq!(
        (
            scanner.carry().unwrap().position(),
            output.to_vec().unwrap()
        ),
        (0, vec![9.0; 3])
    );
}

/// More than a thousand chunks: sums are taken in before all is read.
#[test]
fn what_is_read_is_read_once() {
    let len = (1024 << 13) + 5;
    let (seen, mut sum) = (
        Vec::from_iter((0..len).map(|_| AtomicU8::new(0))),
        Sum::new(),
    );
    type Sum = Reducer<[u64; 8], Sums>;
    sum.push_read(len, |start, to| {
        for (seen, to) in seen[start..].iter().zip(to) {
            seen.fetch_add(1, Ordering::Relaxed);
            *to = [1; 8];
        }
        Ok::<(), Infallible>(())
    })
    .unwrap();
    assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed) == 1));
    assert_eq!(sum.value(), [len as u64; 8]);
}

#[test]
fn a_piece_that_cannot_be_read_was_not_taken_in() {
    let mut sum = Reducer::<u32, Add>::new();
    sum.push(&[1, 2]).unwrap();
    let (len, bad) = (3_000_000, 2_000_000);
    let read = |start: usize, to: &mut [u32]| {
        to.fill(1);
        match (start..start + to.len()).contains(&bad) {
            true => Err(format!("element {bad}")),
            false => Ok(()),
        }
    };
    assert_eq!(sum.push_read(len, read), Err("element 2000000".into()));
    assert_eq!((sum.carry().position(), sum.value()), (2, 3));
    sum.push_read(bad, read).unwrap();
    assert_eq!(
        (sum.carry().position(), sum.value()),
        (2_000_002, 2_000_003)
    );
}

/// Panics where it sees a 13.
#[warpfold::monoid(identity = 0)]
fn no_thirteen(a: u32, b: u32) -> u32 {
    let unlucky = [0_u32; 2];
    a + b + unlucky[(a == 13 || b == 13) as usize * 2]
}

#[test]
fn a_panic_leaves_the_stream_as_it_was() {
    let mut reducer = Reducer::<u32, NoThirteen>::new();
    let mut scanner = Scanner::<u32, NoThirteen>::new(Prefixes::inclusive());
    reducer.push(&[1, 2]).unwrap();
    scanner.scan(&[1, 2]).unwrap();
    let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reducer.push(&[5, 13])));
    assert!(attempt.is_err());
    let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| scanner.scan(&[5, 13])));
    assert!(attempt.is_err());
    reducer.push(&[4]).unwrap();
    assert_eq!((reducer.carry().position(), reducer.value()), (3, 7));
    assert_eq!(scanner.scan(&[4]).unwrap(), [7]);
}
