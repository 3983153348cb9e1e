//! Select and its family, runs, and histograms over shards.

use super::{RANKS, bounds, on_ranks};
use crate::support::data::{Random, Sample, assert_same, sample};
use crate::support::seed;
use half::f16;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::ops::Range;
use warpfold::ops::Add;
use warpfold::shards::{Compacted, Shard};
use warpfold::{Bins, Device, Element, Monoid, Runs, flagged, function, map};

/// What the ranks have, one behind another. Each must know where its own stands.
#[track_caller]
fn joined<T: Clone>(parts: impl IntoIterator<Item = Compacted<Vec<T>>>) -> Vec<T> {
    let (mut all, mut totals) = (Vec::new(), Vec::new());
    for part in parts {
        assert_eq!(part.start, all.len() as u64);
        all.extend(part.items);
        totals.push(part.total);
    }
    assert!(totals.iter().all(|&total| total == all.len() as u64));
    all
}

fn to_vec<T: Element>(compacted: Compacted<warpfold::Buffer<T>>) -> Compacted<Vec<T>> {
    Compacted {
        items: compacted.items.to_vec().unwrap(),
        start: compacted.start,
        total: compacted.total,
    }
}

/// Calls `work` on each rank, with its shard and its part.
fn on_parts<R: Send>(
    bounds: &[usize],
    work: impl Fn(Shard<'_>, Range<usize>) -> R + Sync,
) -> Vec<R> {
    on_ranks(bounds.len() - 1, |communicator| {
        let part = bounds[communicator.rank()]..bounds[communicator.rank() + 1];
        work(communicator.shard(part.len()).unwrap(), part)
    })
}

#[function]
fn odd(x: u32) -> bool {
    x & 1 == 1
}

fn check_select(input: &[u32], bounds: &[usize]) {
    let device = Device::cpu();
    let parts = on_parts(bounds, |shard, part| {
        let (part, on) = (&input[part], shard.clone().on(&device));
        let buffer = device.upload(part).unwrap();
        let selected = [
            shard.select::<u32, odd>(part).unwrap(),
            shard.select_flagged(flagged::<odd, _>(part)).unwrap(),
            to_vec(on.select::<u32, odd>(&buffer).unwrap()),
        ];
        let (kept, others) = shard.partition::<u32, odd>(part).unwrap();
        let both = shard.partition_flagged(flagged::<odd, _>(part)).unwrap();
        assert_eq!((&kept, &others), (&both.0, &both.1));
        let both = on.partition::<u32, odd>(&buffer).unwrap();
        assert_eq!((&kept, &others), (&to_vec(both.0), &to_vec(both.1)));
        let positions = shard.positions(map::<odd, _>(part)).unwrap();
        let on_device = to_vec(on.positions(map::<odd, _>(&buffer)).unwrap());
        assert_eq!(positions, on_device);
        let balanced = shard.rebalance(part).unwrap();
        assert_eq!(balanced, to_vec(on.rebalance(&buffer).unwrap()));
        (selected, kept, others, positions, balanced)
    });
    let is_odd = |x: &u32| x % 2 == 1;
    let odd: Vec<_> = input.iter().copied().filter(is_odd).collect();
    let even: Vec<_> = input.iter().copied().filter(|x| !is_odd(x)).collect();
    let at = (0..input.len()).filter(|&at| is_odd(&input[at]));
    for way in 0..3 {
        let parts = parts.iter().map(|part| part.0[way].clone());
        assert!(joined(parts) == odd, "way {way} in {bounds:?}");
    }
    assert!(joined(parts.iter().map(|part| part.1.clone())) == odd);
    assert!(joined(parts.iter().map(|part| part.2.clone())) == even);
    assert!(
        at.map(|at| at as u64)
            .eq(joined(parts.iter().map(|part| part.3.clone())))
    );
    let lens = parts.iter().map(|part| part.4.items.len());
    let (least, most) = (lens.clone().min().unwrap(), lens.max().unwrap());
    assert!(most - least <= 1, "{least} to {most}");
    assert!(joined(parts.into_iter().map(|part| part.4)) == input);
}

/// Runs of mean length `mean`.
fn runs_of(len: usize, mean: u64, seed: u64) -> Vec<i32> {
    let mut random = Random::new(seed);
    let mut value = 0;
    (0..len)
        .map(|_| {
            if (random.next() >> 20).is_multiple_of(mean) {
                value += 1 + (random.next() >> 60) as i32;
            }
            value
        })
        .collect()
}

/// Not transitive: neighbours decide.
#[function]
fn near(a: i32, b: i32) -> bool {
    b - a < 5
}

type HostRuns = Runs<Vec<i32>, Vec<u64>>;

fn check_runs(input: &[i32], bounds: &[usize]) {
    let device = Device::cpu();
    let parts = on_parts(bounds, |shard, part| {
        let (part, on) = (&input[part], shard.clone().on(&device));
        let buffer = device.upload(part).unwrap();
        let runs = [
            shard.runs::<i32>(part).unwrap(),
            shard.runs_by::<i32, near>(part).unwrap(),
        ];
        let on_device = [
            on.runs::<i32>(&buffer).unwrap(),
            on.runs_by::<i32, near>(&buffer).unwrap(),
        ];
        for (host, other) in runs.iter().zip(on_device) {
            assert_eq!((host.start, host.total), (other.start, other.total));
            assert_eq!(host.items.items, other.items.items.to_vec().unwrap());
            assert_eq!(host.items.starts, other.items.starts.to_vec().unwrap());
            assert_eq!(host.items.lengths, other.items.lengths.to_vec().unwrap());
        }
        let unique = [
            shard.unique::<i32>(part).unwrap(),
            shard.unique_by::<i32, near>(part).unwrap(),
        ];
        assert_eq!(unique[0], to_vec(on.unique::<i32>(&buffer).unwrap()));
        (runs, unique)
    });
    let expected = [
        warpfold::runs::<i32>(input).unwrap(),
        warpfold::runs_by::<i32, near>(input).unwrap(),
    ];
    for (way, expected) in expected.iter().enumerate() {
        let of = |take: fn(&HostRuns) -> Vec<u64>| {
            joined(parts.iter().map(|part| Compacted {
                items: take(&part.0[way].items),
                start: part.0[way].start,
                total: part.0[way].total,
            }))
        };
        assert!(
            of(|runs| runs.starts.clone()) == expected.starts,
            "{bounds:?}"
        );
        assert!(
            of(|runs| runs.lengths.clone()) == expected.lengths,
            "{bounds:?}"
        );
        let items = |runs: &HostRuns| runs.items.iter().map(|&x| x as u64).collect();
        assert!(
            of(items)
                .iter()
                .map(|&x| x as i32)
                .eq(expected.items.iter().copied())
        );
        let unique = parts.iter().map(|part| part.1[way].clone());
        assert!(joined(unique) == expected.items);
    }
}

/// What each bin has, in order, folded by itself.
fn weighted_by_hand<W: Sample>(bins: usize, items: &[u8], weights: &[W]) -> Vec<W>
where
    Add: Monoid<W>,
{
    let of_bin = |bin: usize| -> Vec<W> {
        let both = items.iter().zip(weights);
        let of_bin = both.filter(|(item, _)| **item as usize == bin);
        of_bin.map(|(_, weight)| *weight).collect()
    };
    (0..bins)
        .map(|bin| crate::support::oracle::reduce::<W, Add>(&of_bin(bin), None))
        .collect()
}

fn check_weighted<W: Sample>(items: &[u8], weights: &[W], bounds: &[usize])
where
    Add: Monoid<W>,
{
    // Some items have no bin.
    let bins = Bins::values(200).unwrap();
    let device = Device::cpu();
    let parts = on_parts(bounds, |shard, part| {
        let (items, weights) = (&items[part.clone()], &weights[part]);
        let sums = shard.histogram_weighted(items, weights, &bins).unwrap();
        let (items, weights) = (
            device.upload(items).unwrap(),
            device.upload(weights).unwrap(),
        );
        let on = shard.on(&device);
        let other = on.histogram_weighted(&items, &weights, &bins).unwrap();
        assert_same(&other.to_vec().unwrap(), &sums, "on the device");
        sums
    });
    let expected = weighted_by_hand(200, items, weights);
    for sums in parts {
        assert_same(&sums, &expected, &format!("{bounds:?}"));
    }
}

fn check_counts(items: &[u8], bounds: &[usize]) {
    let (bins, even) = (
        Bins::values(256).unwrap(),
        Bins::even(0.0, 100.0, 7).unwrap(),
    );
    let pixels: Vec<[u8; 3]> = items.iter().map(|&x| [x, x / 2, x / 3]).collect();
    let channels = Bins::values(100).unwrap().channels(2);
    let device = Device::cpu();
    let parts = on_parts(bounds, |shard, part| {
        let all = (
            shard
                .histogram::<u64, u8>(&items[part.clone()], &bins)
                .unwrap(),
            shard
                .histogram::<u32, u8>(&items[part.clone()], &even)
                .unwrap(),
            shard
                .histogram::<u32, [u8; 3]>(&pixels[part.clone()], &channels)
                .unwrap(),
        );
        let buffer = device.upload(&items[part]).unwrap();
        let on = shard
            .on(&device)
            .histogram::<u64, u8>(&buffer, &bins)
            .unwrap();
        assert_eq!(on.to_vec().unwrap(), all.0);
        all
    });
    for counts in parts {
        assert_eq!(
            counts.0,
            warpfold::histogram::<u64, _>(items, &bins).unwrap()
        );
        assert_eq!(
            counts.1,
            warpfold::histogram::<u32, _>(items, &even).unwrap()
        );
        assert_eq!(
            counts.2,
            warpfold::histogram::<u32, _>(&pixels, &channels).unwrap()
        );
    }
}

#[test]
fn any_number_of_ranks() {
    for ranks in RANKS {
        let seed = ranks as u64;
        let bounds = bounds(3001, ranks, seed);
        check_select(&sample(3001, seed), &bounds);
        check_runs(&runs_of(3001, 300, seed), &bounds);
        check_counts(&sample(3001, seed), &bounds);
        check_weighted::<f32>(&sample(3001, seed), &sample(3001, !seed), &bounds);
    }
}

#[test]
fn every_cut_of_short_arrays() {
    for len in 0..=4 {
        for set in 0_usize..1 << len {
            let cuts = (0..len).filter(|i| set >> i & 1 == 1);
            let bounds: Vec<_> = std::iter::once(0).chain(cuts).chain([len]).collect();
            check_select(&sample(len, 7), &bounds);
            // All patterns of equal neighbours.
            for equal in 0..1 << len.saturating_sub(1) {
                let value = |i: usize| (equal & ((1_i32 << i) - 1)).count_ones() as i32;
                check_runs(&(0..len).map(value).collect::<Vec<_>>(), &bounds);
            }
            check_weighted::<f32>(&vec![7; len], &sample(len, 7), &bounds);
        }
    }
}

#[test]
fn a_run_spans_ranks_and_empty_ones_among_them() {
    check_runs(&[7; 10], &[0, 0, 3, 3, 3, 9, 9, 10, 10]);
    check_runs(&[1, 7, 7, 7, 7, 7, 7, 7, 7, 2], &[0, 2, 2, 5, 5, 9, 10]);
    check_runs(&[1, 7, 7, 7, 7, 7, 7, 7, 7, 7], &[0, 2, 2, 5, 5, 9, 10]);
    // −0 equals +0, and a NaN nothing.
    let x = [0.0_f64, -0.0, f64::NAN, f64::NAN, 0.0];
    let parts = on_parts(&[0, 1, 2, 3, 4, 5], |shard, part| {
        shard.runs::<f64>(&x[part]).unwrap().items
    });
    let lengths: Vec<_> = parts.iter().flat_map(|runs| runs.lengths.clone()).collect();
    assert_eq!(lengths, [2, 1, 1, 1]);
    assert!(parts[0].items[0].is_sign_positive());
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 8,
        rng_seed: RngSeed::Fixed(seed()),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn selects(len in 0_usize..60_000, ranks in 1_usize..9, seed: u64) {
        check_select(&sample(len, seed), &bounds(len, ranks, seed));
    }

    #[test]
    fn runs(len in 0_usize..30_000, ranks in 1_usize..9, mean in 1_u64..20_000, seed: u64) {
        check_runs(&runs_of(len, mean, seed), &bounds(len, ranks, seed));
    }

    #[test]
    fn histograms(len in 0_usize..50_000, ranks in 1_usize..9, seed: u64) {
        let (items, bounds) = (sample(len, seed), bounds(len, ranks, seed));
        check_counts(&items, &bounds);
        check_weighted::<f64>(&items, &sample(len, !seed), &bounds);
        check_weighted::<u32>(&items, &sample(len, !seed), &bounds);
        // Many in few bins.
        let few: Vec<u8> = items.iter().map(|item| item % 3).collect();
        check_weighted::<f16>(&few, &sample(len, seed), &bounds);
    }
}

/// More than goes through an exchange at a time.
#[test]
fn long_parts_are_rebalanced_in_pieces() {
    let data: Vec<u64> = (0..400_000).collect();
    let parts = on_parts(&[0, 10, 390_000, 400_000], |shard, part| {
        shard.rebalance(&data[part]).unwrap()
    });
    assert!(joined(parts) == data);
}

#[test]
fn a_histogram_is_refused_where_one_call_is() {
    let results = on_ranks(2, |communicator| {
        // 2^32 items in all, of which none is read.
        let shard = communicator.shard_with(&[1, u64::from(u32::MAX)]).unwrap();
        let counted = shard.histogram::<u32, u8>(&[1][..], &Bins::values(3).unwrap());
        counted.map(|_| ())
    });
    for result in results {
        let message = result.unwrap_err().to_string();
        assert!(
            message.contains("shards of given lengths") || message.contains("count in u64"),
            "{message}"
        );
    }
    let results = on_ranks(2, |communicator| {
        let shard = communicator.shard(2).unwrap();
        let bins = Bins::values(3 + communicator.rank()).unwrap();
        shard.histogram::<u64, u8>(&[1, 2], &bins).map(|_| ())
    });
    for result in results {
        let message = result.unwrap_err().to_string();
        assert!(message.contains("with other arguments"), "{message}");
    }
    let results = on_ranks(2, |communicator| {
        let shard = communicator.shard(2).unwrap();
        let weights = [1.0_f32; 3];
        let weights = &weights[..2 + communicator.rank()];
        shard
            .histogram_weighted(&[1_u8, 2], weights, &Bins::values(3).unwrap())
            .map(|_| ())
    });
    for result in results {
        let message = result.unwrap_err().to_string();
        assert!(
            message.contains("a source of 2 items is zipped with one of 3"),
            "{message}"
        );
    }
}
