//! Calls over shards, beside the law word for word.

use super::{RANKS, bounds, on_ranks};
use crate::support::data::{Sample, assert_same, sample};
use crate::support::operators::{Affine, Bicyclic, BicyclicProduct, Bracketing, Sums, Then};
use crate::support::{oracle, seed};
use half::f16;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use warpfold::ops::Add;
use warpfold::shards::Nodes;
use warpfold::statistics::Estimate;
use warpfold::{Device, Monoid, Prefixes, Scanner, function, map, zip};

/// All forms of scan.
fn forms<T: Copy>(init: T) -> [Prefixes<T>; 8] {
    let four = [
        Prefixes::exclusive(),
        Prefixes::inclusive(),
        Prefixes::exclusive().from(init),
        Prefixes::inclusive().from(init),
    ];
    let reversed = four.map(Prefixes::reverse);
    std::array::from_fn(|i| if i < 4 { four[i] } else { reversed[i - 4] })
}

/// What one rank alone must give for [`forms`].
fn expected<T: Sample, Op: Monoid<T>>(input: &[T], init: T) -> Vec<Vec<T>> {
    let mut reversed = input.to_vec();
    reversed.reverse();
    let mut all = Vec::new();
    for (input, turned) in [(input, false), (&reversed[..], true)] {
        for init in [None, Some(init)] {
            for mut prefixes in [
                oracle::exclusive::<T, Op>(input, init),
                oracle::inclusive::<T, Op>(input, init),
            ] {
                if turned {
                    prefixes.reverse();
                }
                all.push(prefixes);
            }
        }
    }
    all
}

/// Reduces and scans over shards in every way there is.
fn check<T: Sample, Op: Monoid<T>>(input: &[T], bounds: &[usize]) {
    let init = sample::<T>(1, 5)[0];
    let what = format!("{} in {bounds:?}", std::any::type_name::<(T, Op)>());
    let results = on_ranks(bounds.len() - 1, |communicator| {
        let rank = communicator.rank();
        let part = &input[bounds[rank]..bounds[rank + 1]];
        let shard = communicator.shard(part.len()).unwrap();
        let device = Device::cpu();
        let (buffer, on) = (device.upload(part).unwrap(), shard.clone().on(&device));
        let folds = [
            shard.reduce::<T, Op>(part).unwrap(),
            on.reduce::<T, Op>(&buffer).unwrap(),
            shard.reduce_from::<T, Op>(init, part).unwrap(),
            on.reduce_from::<T, Op>(init, &buffer).unwrap(),
        ];
        let scans = forms(init).map(|prefixes| {
            let new = shard.scan::<T, Op>(prefixes, part).unwrap();
            if communicator.ranks() > 8 {
                return new;
            }
            let (mut into, mut in_place) = (vec![init; part.len()], part.to_vec());
            shard.scan_into::<T, Op>(prefixes, part, &mut into).unwrap();
            shard
                .scan_in_place::<T, Op>(prefixes, &mut in_place)
                .unwrap();
            let mut buffer_into = device.upload(part).unwrap();
            on.scan_into::<T, Op>(prefixes, &buffer, &mut buffer_into)
                .unwrap();
            let mut buffer_in_place = device.upload(part).unwrap();
            on.scan_in_place::<T, Op>(prefixes, &mut buffer_in_place)
                .unwrap();
            for other in [
                into,
                in_place,
                on.scan::<T, Op>(prefixes, &buffer)
                    .unwrap()
                    .into_vec()
                    .unwrap(),
                buffer_into.into_vec().unwrap(),
                buffer_in_place.into_vec().unwrap(),
            ] {
                assert_same(&other, &new, "ways to scan");
            }
            new
        });
        (folds, scans)
    });
    let (fold, from) = (
        oracle::reduce::<T, Op>(input, None),
        oracle::reduce::<T, Op>(input, Some(init)),
    );
    for (folds, _) in &results {
        assert_same(folds, &[fold, fold, from, from], &what);
    }
    for (form, expected) in expected::<T, Op>(input, init).into_iter().enumerate() {
        let parts = results.iter().flat_map(|(_, scans)| &scans[form]);
        let got: Vec<T> = parts.copied().collect();
        assert_same(&got, &expected, &format!("{what}, form {form}"));
    }
}

#[test]
fn every_cut_of_a_short_array() {
    for len in 0..=5 {
        let input = sample::<u64>(len, 3);
        for set in 0_usize..1 << len {
            let cuts = (0..len).filter(|i| set >> i & 1 == 1);
            let bounds: Vec<_> = std::iter::once(0).chain(cuts).chain([len]).collect();
            check::<u64, Bracketing>(&input, &bounds);
            check::<f16, Add>(&sample(len, 4), &bounds);
        }
    }
}

#[test]
fn any_number_of_ranks() {
    for ranks in RANKS {
        let input = sample::<u64>(10_007, ranks as u64);
        check::<u64, Bracketing>(&input, &bounds(input.len(), ranks, ranks as u64));
    }
}

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
    fn the_bracketing(len in 0_usize..150_000, ranks in 1_usize..9, seed: u64) {
        check::<u64, Bracketing>(&sample(len, seed), &bounds(len, ranks, seed));
    }

    #[test]
    fn bytes(len in 0_usize..300_000, ranks in 1_usize..9, seed: u64) {
        check::<u8, Bracketing>(&sample(len, seed), &bounds(len, ranks, seed));
    }

    #[test]
    fn floats_and_halves(len in 0_usize..100_000, ranks in 1_usize..9, seed: u64) {
        check::<f32, Add>(&sample(len, seed), &bounds(len, ranks, seed));
        check::<f16, Add>(&sample(len, seed), &bounds(len, ranks, seed));
    }

    #[test]
    fn operators_that_do_not_commute(len in 0_usize..50_000, ranks in 1_usize..9, seed: u64) {
        check::<Affine, Then>(&sample(len, seed), &bounds(len, ranks, seed));
        check::<Bicyclic, BicyclicProduct>(&sample(len, seed), &bounds(len, ranks, seed));
    }

    #[test]
    fn long_elements(len in 0_usize..20_000, ranks in 1_usize..9, seed: u64) {
        check::<[u64; 8], Sums>(&sample(len, seed), &bounds(len, ranks, seed));
    }
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

#[test]
fn sources_are_evaluated_on_the_way() {
    let (x, y) = (sample::<f32>(5000, 1), sample::<f32>(5000, 2));
    let whole = warpfold::reduce::<f32, Add>(map::<product, _>(zip(&x, &y))).unwrap();
    let bounds = bounds(5000, 5, 9);
    let dots = on_ranks(5, |communicator| {
        let part = bounds[communicator.rank()]..bounds[communicator.rank() + 1];
        let lengths: Vec<_> = bounds.windows(2).map(|b| (b[1] - b[0]) as u64).collect();
        let shard = communicator.shard_with(&lengths).unwrap();
        let products = map::<product, _>(zip(&x[part.clone()], &y[part]));
        shard.reduce::<f32, Add>(products).unwrap()
    });
    assert_same(&dots, &[whole; 5], "dot");
}

/// Parts that come piece by piece.
#[test]
fn streams_and_shards_together() {
    let input = sample::<u64>(20_011, 4);
    let bounds = bounds(input.len(), 5, 21);
    let results = on_ranks(5, |communicator| {
        let part = bounds[communicator.rank()]..bounds[communicator.rank() + 1];
        let shard = communicator.shard(part.len()).unwrap();
        let mut own = Nodes::<u64, Bracketing>::new();
        let mut start = shard.range().start;
        for piece in input[part.clone()].chunks(777) {
            own.merge(&Nodes::of(start, piece).unwrap()).unwrap();
            start += piece.len() as u64;
        }
        let whole = shard.gather(&own).unwrap();
        let before = shard.gather_before(&own).unwrap();
        assert_eq!(before.position(), shard.range().start);
        let mut scanner = Scanner::new(Prefixes::inclusive()).after(before);
        let pieces = input[part].chunks(777);
        let prefixes = pieces.map(|piece| scanner.scan(piece).unwrap());
        (
            whole.value(20_011).unwrap(),
            prefixes.collect::<Vec<_>>().concat(),
        )
    });
    let fold = oracle::reduce::<u64, Bracketing>(&input, None);
    assert!(results.iter().all(|(value, _)| *value == fold));
    let prefixes: Vec<u64> = results
        .into_iter()
        .flat_map(|(_, prefixes)| prefixes)
        .collect();
    let expected = oracle::inclusive::<u64, Bracketing>(&input, None);
    assert_same(&prefixes, &expected, "piece by piece");
}

/// All statistics of one input, by the same names.
macro_rules! statistics {
    ($on:expr, $input:expr, $flags:expr) => {{
        let (input, flags) = ($input, $flags);
        let moments = $on.moments(input).unwrap();
        format!(
            "{:?}",
            (
                $on.sum(input).unwrap(),
                $on.min(input).unwrap(),
                $on.max(input).unwrap(),
                $on.min_max(input).unwrap(),
                $on.arg_min(input).unwrap().map(|at| at as u64),
                $on.arg_max(input).unwrap().map(|at| at as u64),
                $on.mean(input).unwrap().to_bits(),
                $on.variance(input, Estimate::Sample).unwrap().to_bits(),
                $on.std_dev(input, Estimate::Population).unwrap().to_bits(),
                (moments.count(), moments.mean().to_bits()),
                $on.count(warpfold::flags(flags)).unwrap() as u64,
                (
                    $on.any(warpfold::flags(flags)).unwrap(),
                    $on.all(warpfold::flags(flags)).unwrap()
                ),
            )
        )
    }};
}

fn check_statistics<T: Sample + warpfold::statistics::Number>(input: &[T], bounds: &[usize])
where
    T::Sum: std::fmt::Debug,
{
    let flags: Vec<u8> = (0..input.len()).map(|i| (i % 7 == 3).into()).collect();
    let device = Device::cpu();
    let whole = statistics!(
        device,
        &device.upload(input).unwrap(),
        &device.upload(&flags).unwrap()
    );
    let results = on_ranks(bounds.len() - 1, |communicator| {
        let part = bounds[communicator.rank()]..bounds[communicator.rank() + 1];
        let shard = communicator.shard(part.len()).unwrap();
        let (input, flags) = (&input[part.clone()], &flags[part]);
        let host = statistics!(shard, input, flags);
        let shard = shard.on(&device);
        let (input, flags) = (device.upload(input).unwrap(), device.upload(flags).unwrap());
        (host, statistics!(shard, &input, &flags))
    });
    for (host, on_device) in results {
        assert_eq!((&host, &on_device), (&whole, &whole), "{bounds:?}");
    }
}

#[test]
fn statistics_have_the_bits_of_one_call() {
    for ranks in [1, 2, 5] {
        for (len, seed) in [(0, 1), (1, 2), (1000, 3), (70_001, 4)] {
            let bounds = bounds(len, ranks, seed);
            check_statistics::<f32>(&sample(len, seed), &bounds);
            check_statistics::<i64>(&sample(len, seed), &bounds);
            check_statistics::<u8>(&sample(len, seed), &bounds);
            check_statistics::<f16>(&sample(len, seed), &bounds);
        }
    }
    // Far from zero, infinite, and not a number: other passes.
    let far: Vec<f64> = sample(3001, 7).into_iter().map(|x: f64| x + 1e9).collect();
    check_statistics(&far, &[0, 1000, 1001, 1001, 3001]);
    check_statistics(&vec![f64::MAX; 300], &[0, 100, 300]);
    check_statistics(&[1.0_f32, f32::NAN, f32::INFINITY, 0.0], &[0, 0, 3, 4]);
}
