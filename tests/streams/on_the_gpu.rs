//! Streams on a GPU have the bits of one call on the CPU, wherever their pieces end.

use crate::streams::host::{check_on, check_reversed_on, cuts};
use crate::support::data::{Random, Sample, assert_same, sample};
use crate::support::operators::{Affine, Bracketing, LogAddExp, Sums, Then};
use crate::support::{gpu, seed};
use half::f16;
use warpfold::cuda::cudarc::driver::CudaContext;
use warpfold::ops::{Add, Max};
use warpfold::{
    Device, Error, Monoid, Prefixes, Reducer, Scanner, inclusive_scan, map, reduce, zip,
};

/// Streams of some lengths, in pieces that end anywhere.
fn check<T: Sample, Op: Monoid<T>>(longest: usize, streams: u64) {
    let Some(device) = gpu(0) else { return };
    let mut random = Random::new(seed());
    for _ in 0..streams {
        let length = (random.next() >> 8) as usize % longest;
        let input = sample(length, random.next());
        check_on::<T, Op>(&device, &input, &cuts(length, 5, random.next()));
    }
}

#[test]
fn pieces_that_end_anywhere() {
    check::<u64, Bracketing>(300_000, 4);
    check::<f32, Add>(3_000_000, 3);
    check::<f32, LogAddExp>(100_000, 2);
    check::<i8, Max>(3_000_000, 2);
    check::<Affine, Then>(100_000, 2);
    check::<[u64; 8], Sums>(20_000, 2);
    check::<f16, Add>(300_000, 2);
}

/// So long that several chunks are under way at once.
#[test]
fn long_slices_go_in_chunks() {
    fn check<T: Sample, Op: Monoid<T>>(device: &Device, len: usize) {
        let input = sample::<T>(len, 7);
        check_on::<T, Op>(device, &input, &[12_345]);
    }
    let Some(device) = gpu(0) else { return };
    check::<f32, Add>(&device, (64 << 20) / 4 + 77);
    check::<u64, Bracketing>(&device, (40 << 20) / 8);
}

/// Short pieces, and some that go in chunks.
#[test]
fn pieces_in_reverse() {
    let Some(device) = gpu(0) else { return };
    let short = sample::<u64>(100_000, 3);
    check_reversed_on::<u64, Bracketing>(&device, &short, &[1, 65_536, 70_001]);
    let long = sample::<f32>((40 << 20) / 4 + 77, 5);
    check_reversed_on::<f32, Add>(&device, &long, &[12_345]);
}

/// So long that whole waves are scanned by an engine of their own, and that warps fold several
/// chunks before they meet.
#[test]
fn long_pieces() {
    fn check<T: Sample, Op: Monoid<T>>(device: &Device, len: usize, cut: usize) {
        let input = sample::<T>(len, 13);
        for prefixes in [Prefixes::inclusive(), Prefixes::exclusive()] {
            let expected = Scanner::<T, Op>::new(prefixes).scan(&input).unwrap();
            let mut scanner = device.scanner::<T, Op>(prefixes);
            let mut reducer = device.reducer::<T, Op>();
            let mut results = Vec::with_capacity(len);
            for piece in [&input[..cut], &input[cut..len - 5], &input[len - 5..]] {
                let mut piece = device.upload(piece).unwrap();
                reducer.push(&piece).unwrap();
                scanner.scan_in_place(&mut piece).unwrap();
                results.extend(piece.into_vec().unwrap());
            }
            assert_same(&results, &expected, std::any::type_name::<(T, Op)>());
            let sums = [
                Reducer::new().after(scanner.carry().unwrap()),
                Reducer::new().after(reducer.carry().clone()),
            ];
            let sums = sums.map(|sum: Reducer<T, Op>| sum.value());
            assert_same(&sums, &[reduce::<T, Op>(&input).unwrap(); 2], "the carry");
        }
    }
    let Some(device) = gpu(0) else { return };
    check::<f32, Add>(&device, 80_000_077, 1_234_567);
    check::<u64, Bracketing>(&device, 40_000_000, 1 << 20);
}

/// Pinned memory is copied from where it lies, and to there.
#[test]
fn pinned_slices_go_directly() {
    let Some(device) = gpu(0) else { return };
    let context = CudaContext::new(0).unwrap();
    let input = sample::<u64>((40 << 20) / 8 + 5, 11);
    // SAFETY: both are written before they are read.
    let pin = || unsafe { context.alloc_pinned::<u64>(input.len()) }.unwrap();
    let (mut pinned, mut back) = (pin(), pin());
    let from = pinned.as_mut_slice().unwrap();
    from.copy_from_slice(&input);
    let to = back.as_mut_slice().unwrap();
    let expected = inclusive_scan::<u64, Bracketing>(&input).unwrap();
    // Both sides, or one of them.
    for (is_from, is_to) in [(true, true), (true, false), (false, true)] {
        let mut pageable = vec![0; input.len()];
        to.fill(0);
        let source = if is_from { &from[..] } else { &input };
        let target = if is_to { &mut *to } else { &mut pageable[..] };
        let mut running = device.scanner::<u64, Bracketing>(Prefixes::inclusive());
        let (first, rest) = source.split_at(12_345);
        let (to_first, to_rest) = target.split_at_mut(12_345);
        running.scan_slice_into(first, to_first).unwrap();
        running.scan_slice_into(rest, to_rest).unwrap();
        assert_same(target, &expected, "prefixes");
        let mut sum = device.reducer::<u64, Bracketing>();
        sum.push_slice(source).unwrap();
        assert_same(&[sum.value()], &expected[input.len() - 1..], "sum");
    }
}

#[test]
fn pieces_that_are_computed() {
    #[warpfold::function]
    fn product(x: f32, y: f32) -> f32 {
        x * y
    }

    let Some(device) = gpu(0) else { return };
    let (x, y) = (sample::<f32>(200_003, 1), sample::<f32>(200_003, 2));
    let mut dot = device.reducer::<f32, Add>();
    let mut running = device.scanner::<f32, Add>(Prefixes::inclusive());
    let mut sums = Vec::new();
    for (x, y) in x.chunks(70_001).zip(y.chunks(70_001)) {
        let (x, y) = (device.upload(x).unwrap(), device.upload(y).unwrap());
        dot.push(map::<product, _>(zip(&x, &y))).unwrap();
        let prefixes = running.scan(map::<product, _>(zip(&x, &y))).unwrap();
        sums.extend(prefixes.into_vec().unwrap());
    }
    let products = || map::<product, _>(zip(&x, &y));
    assert_same(
        &[dot.value()],
        &[reduce::<f32, Add>(products()).unwrap()],
        "dot",
    );
    assert_same(
        &sums,
        &inclusive_scan::<f32, Add>(products()).unwrap(),
        "sums",
    );
}

/// What cannot be read is not taken in, and the reducer goes on.
#[test]
fn a_piece_that_cannot_be_read_is_not_taken_in() {
    let Some(device) = gpu(0) else { return };
    let input = sample::<u32>(12_000_000, 3);
    let mut sum = device.reducer::<u32, Add>();
    sum.push_slice(&input[..1000]).unwrap();
    let refused = Error::Codegen("no more".into());
    let failed = sum.push_read(input.len() - 1000, |start, to: &mut [u32]| {
        to.fill(1);
        match start < 9_000_000 {
            true => Ok(()),
            false => Err(refused.clone()),
        }
    });
    assert_eq!(failed, Err(refused));
    assert_eq!(sum.carry().position(), 1000);
    sum.push_slice(&input[1000..]).unwrap();
    assert_eq!(sum.value(), reduce::<u32, Add>(&input).unwrap());
}
