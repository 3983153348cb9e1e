//! Shards of which each lies on a GPU of its own: the bits of one CPU, by every exchange.

use super::{LONG, bounds};
use crate::support::operators::Bracketing;
use crate::support::skips::skip;
use std::time::Duration;
use warpfold::ops::Add;
use warpfold::shards::{Communicator, Nccl, NcclId, Peers, Shard, Threads};
use warpfold::{Bins, Device, Prefixes, Result, function, inclusive_scan, reduce};

/// The exchanges between GPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Threads,
    Peers,
    Nccl,
}

/// What each rank gives, in a thread of its own, over an exchange between these GPUs.
pub(super) fn on_gpus<R: Send>(
    kind: Kind,
    gpus: &[Device],
    timeout: Duration,
    work: impl Fn(Communicator) -> Result<R> + Sync,
) -> Vec<Result<R>> {
    let ranks = gpus.len();
    let mut peers = match kind {
        Kind::Peers => Peers::group(gpus, timeout).unwrap().into_iter(),
        _ => Vec::new().into_iter(),
    };
    let mut threads = Threads::group(ranks, timeout).into_iter();
    let id = (kind == Kind::Nccl).then(|| NcclId::new().unwrap());
    let work = &work;
    std::thread::scope(|scope| {
        let ranks: Vec<_> = gpus
            .iter()
            .enumerate()
            .map(|(rank, gpu)| {
                let (peers, threads) = (peers.next(), threads.next().unwrap());
                scope.spawn(move || {
                    work(match (peers, id) {
                        (Some(peers), _) => Communicator::new(rank, ranks, peers)?,
                        (None, Some(id)) => {
                            let nccl = Nccl::new(gpu, rank, ranks, id, timeout)?;
                            Communicator::new(rank, ranks, nccl)?
                        }
                        (None, None) => Communicator::new(rank, ranks, threads)?,
                    })
                })
            })
            .collect();
        let results = ranks.into_iter().map(|rank| rank.join().unwrap());
        results.collect()
    })
}

#[function]
fn is_small(x: f32) -> bool {
    x < 0.3
}

/// What calls over an array give.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    /// One value each, as numbers.
    whole: Vec<u64>,
    /// The elements of arrays, as numbers.
    arrays: [Vec<u64>; 9],
    counts: Vec<u64>,
    /// Of weights, by bin.
    sums: Vec<u64>,
}

/// The arrays that calls work on.
pub(super) struct Input {
    floats: Vec<f32>,
    words: Vec<u64>,
    bytes: Vec<u8>,
}

impl Input {
    pub(super) fn new(len: usize) -> Input {
        let numbers = 0..len as u64;
        let mixed = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 40;
        Input {
            floats: numbers
                .clone()
                .map(|i| mixed(i) as f32 / (1 << 24) as f32)
                .collect(),
            words: numbers.clone().map(|i| mixed(i) | 1).collect(),
            // Runs of some thousands, and of one.
            bytes: numbers
                .map(|i| {
                    (i / 3000 % 5 * u64::from(i % 20_000 > 7) + u64::from(i % 9000 == 1)) as u8
                })
                .collect(),
        }
    }
}

fn bits(floats: &[f32]) -> Vec<u64> {
    floats.iter().map(|x| u64::from(x.to_bits())).collect()
}

/// The number of bins: their counts need a second exchange.
const BINS: usize = 3000;

fn bins() -> Bins<f32> {
    Bins::even(0.0, 1.0, BINS).unwrap()
}

/// What direct calls give on one device.
fn alone(device: &Device, input: &Input) -> Result<Found> {
    let floats = &device.upload(&input.floats)?;
    let words = &device.upload(&input.words)?;
    let bytes = &device.upload(&input.bytes)?;
    let scan = |prefixes| {
        let mut scanned = device.upload(&input.floats)?;
        device.scan_in_place::<f32, Add>(prefixes, &mut scanned)?;
        Ok::<_, warpfold::Error>(bits(&scanned.to_vec()?))
    };
    let mut scanned = device.upload(&input.words)?;
    device.scan_in_place::<u64, Bracketing>(Prefixes::inclusive(), &mut scanned)?;
    let (kept, others) = device.partition::<f32, is_small>(floats)?;
    let runs = device.runs(bytes)?;
    let wide = |bytes: Vec<u8>| bytes.into_iter().map(u64::from).collect();
    Ok(Found {
        whole: vec![
            device.reduce::<f32, Add>(floats)?.to_bits().into(),
            device
                .reduce_from::<f32, Add>(0.7, floats)?
                .to_bits()
                .into(),
            device.reduce::<u64, Bracketing>(words)?,
            device.sum(floats)?.to_bits(),
            device.mean(floats)?.to_bits(),
            device.max(floats)?.map_or(0, |max| max.to_bits().into()),
        ],
        arrays: [
            scan(Prefixes::inclusive())?,
            scan(Prefixes::exclusive().from(0.3).reverse())?,
            scanned.to_vec()?,
            bits(&device.select::<f32, is_small>(floats)?.to_vec()?),
            bits(&kept.to_vec()?),
            bits(&others.to_vec()?),
            wide(device.unique(bytes)?.to_vec()?),
            runs.starts.to_vec()?,
            runs.lengths.to_vec()?,
        ],
        counts: device.histogram::<u64, f32>(floats, &bins())?.to_vec()?,
        sums: bits(
            &device
                .histogram_weighted::<f32, f32>(floats, floats, &bins())?
                .to_vec()?,
        ),
    })
}

/// What calls over shards give a rank, of which `at` is its part.
fn of_rank(shard: &Shard<'_, Device>, device: &Device, input: &Input) -> Result<Found> {
    let at = shard.range().start as usize..shard.range().end as usize;
    let floats = &device.upload(&input.floats[at.clone()])?;
    let words = &device.upload(&input.words[at.clone()])?;
    let bytes = &device.upload(&input.bytes[at])?;
    let scan = |prefixes| {
        let scanned = shard.scan::<f32, Add>(prefixes, floats)?;
        Ok::<_, warpfold::Error>(bits(&scanned.to_vec()?))
    };
    let scanned = shard.scan::<u64, Bracketing>(Prefixes::inclusive(), words)?;
    let (kept, others) = shard.partition::<f32, is_small>(floats)?;
    let runs = shard.runs(bytes)?.items;
    let wide = |bytes: Vec<u8>| bytes.into_iter().map(u64::from).collect();
    Ok(Found {
        whole: vec![
            shard.reduce::<f32, Add>(floats)?.to_bits().into(),
            shard.reduce_from::<f32, Add>(0.7, floats)?.to_bits().into(),
            shard.reduce::<u64, Bracketing>(words)?,
            shard.sum(floats)?.to_bits(),
            shard.mean(floats)?.to_bits(),
            shard.max(floats)?.map_or(0, |max| max.to_bits().into()),
        ],
        arrays: [
            scan(Prefixes::inclusive())?,
            scan(Prefixes::exclusive().from(0.3).reverse())?,
            scanned.to_vec()?,
            bits(&shard.select::<f32, is_small>(floats)?.items.to_vec()?),
            bits(&kept.items.to_vec()?),
            bits(&others.items.to_vec()?),
            wide(shard.unique(bytes)?.items.to_vec()?),
            runs.starts.to_vec()?,
            runs.lengths.to_vec()?,
        ],
        counts: shard.histogram::<u64, f32>(floats, &bins())?.to_vec()?,
        sums: bits(
            &shard
                .histogram_weighted::<f32, f32>(floats, floats, &bins())?
                .to_vec()?,
        ),
    })
}

/// Compares calls over shards with those of one CPU. Rank r has its exchange on `gpus[r]`, and its
/// part on `devices[r]`.
pub(super) fn check(
    kind: Kind,
    gpus: &[Device],
    devices: &[Device],
    input: &Input,
    bounds: &[usize],
) {
    let what = format!("{kind:?}, {} ranks, bounds {bounds:?}", gpus.len());
    let results = on_gpus(kind, gpus, LONG, |communicator| {
        let rank = communicator.rank();
        let shard = communicator.shard(bounds[rank + 1] - bounds[rank])?;
        let device = &devices[rank];
        of_rank(&shard.on(device), device, input)
    });
    let mut all = Found::default();
    for (rank, found) in results.into_iter().enumerate() {
        let found = found.unwrap_or_else(|error| panic!("{what}: {error}"));
        if rank > 0 {
            assert_eq!(found.whole, all.whole, "{what}, rank {rank}");
            assert_eq!(found.counts, all.counts, "{what}, rank {rank}");
            assert_eq!(found.sums, all.sums, "{what}, rank {rank}");
        }
        (all.whole, all.counts, all.sums) = (found.whole, found.counts, found.sums);
        for (all, part) in all.arrays.iter_mut().zip(found.arrays) {
            all.extend(part);
        }
    }
    let expected = alone(&Device::cpu(), input).unwrap();
    assert_eq!(all.whole, expected.whole, "{what}");
    assert_eq!(all.counts, expected.counts, "{what}");
    assert_eq!(all.sums, expected.sums, "{what}");
    for (number, (all, expected)) in all.arrays.iter().zip(&expected.arrays).enumerate() {
        let place = all.iter().zip(expected).position(|(a, b)| a != b);
        let lens = (all.len(), expected.len());
        assert!(
            all == expected,
            "{what}, array {number}: at {place:?} of {lens:?}"
        );
    }
}

/// Where shards begin: even, at odd places, empty, all in one, and anywhere.
pub(super) fn cuts(len: usize, ranks: usize) -> Vec<Vec<usize>> {
    let even = (0..=ranks).map(|rank| len * rank / ranks);
    let odd = (0..=ranks).map(|rank| match rank {
        0 => 0,
        rank if rank == ranks => len,
        rank => (len * rank / ranks + 1).min(len),
    });
    let first = (0..=ranks).map(|rank| if rank == 0 { 0 } else { len });
    let last = (0..=ranks).map(|rank| if rank == ranks { len } else { 0 });
    let anywhere = [1, 2].map(|seed| bounds(len, ranks, seed));
    let mut all = vec![
        even.collect(),
        odd.collect(),
        first.collect(),
        last.collect(),
    ];
    all.extend(anywhere);
    all
}

/// The first `count` GPUs, or a skip.
fn gpus(count: usize) -> Option<Vec<Device>> {
    let gpus: Result<Vec<_>> = (0..count).map(Device::cuda).collect();
    gpus.map_err(|error| skip(if count > 1 { "gpus" } else { "cuda" }, &error.to_string()))
        .ok()
}

fn check_all(kind: Kind, gpus: &[Device], lens: &[usize]) {
    for &len in lens {
        let input = Input::new(len);
        for bounds in cuts(len, gpus.len()) {
            check(kind, gpus, gpus, &input, &bounds);
        }
    }
}

const LENS: [usize; 5] = [0, 1, 1000, 100_003, 1 << 20];

/// The tests' own way, where there is no GPU.
#[test]
fn cpus_that_are_devices() {
    for ranks in [1, 2, 3] {
        let devices = vec![Device::cpu(); ranks];
        check_all(Kind::Threads, &devices, &LENS[..4]);
    }
}

/// Two ranks share it.
#[test]
fn one_gpu_by_threads_and_by_peer_memory() {
    if let Some(gpus) = gpus(1) {
        let both = [gpus[0].clone(), gpus[0].clone()];
        check_all(Kind::Threads, &both, &LENS);
        check_all(Kind::Peers, &both, &LENS);
        let expected = alone(&Device::cpu(), &Input::new(100_003)).unwrap();
        assert_eq!(alone(&gpus[0], &Input::new(100_003)).unwrap(), expected);
    }
}

/// Long parts are reduced block by block.
#[test]
fn long_shards_at_odd_places_have_the_bits_of_one_cpu() {
    let Some(gpus) = gpus(1) else { return };
    let input = Input::new((1 << 23) + 12_347);
    let (floats, words) = (&input.floats[..], &input.words[..]);
    let sum = reduce::<f32, Add>(floats).unwrap().to_bits();
    let expected = (sum, reduce::<u64, Bracketing>(words).unwrap());
    let prefixes = inclusive_scan::<u64, Bracketing>(words).unwrap();
    let both = [gpus[0].clone(), gpus[0].clone()];
    for cut in [(1 << 22) + 1, (1 << 22) + (1 << 21) - 77] {
        let bounds = [0, cut, floats.len()];
        let results = on_gpus(Kind::Threads, &both, LONG, |communicator| {
            let at = bounds[communicator.rank()]..bounds[communicator.rank() + 1];
            let device = &both[communicator.rank()];
            let shard = communicator.shard(at.len())?.on(device);
            let floats = &device.upload(&floats[at.clone()])?;
            let words = &device.upload(&words[at])?;
            let sums = (
                shard.reduce::<f32, Add>(floats)?.to_bits(),
                shard.reduce::<u64, Bracketing>(words)?,
            );
            let scanned = shard.scan::<u64, Bracketing>(Prefixes::inclusive(), words)?;
            Ok((sums, scanned.to_vec()?))
        });
        let mut scanned = Vec::new();
        for result in results {
            let (sums, part) = result.unwrap();
            assert_eq!(sums, expected, "{cut}");
            scanned.extend(part);
        }
        assert!(scanned == prefixes, "{cut}");
    }
}

#[test]
fn one_gpu_by_nccl() {
    if let Some(gpus) = gpus(1)
        && has_nccl()
    {
        check_all(Kind::Nccl, &gpus, &LENS);
    }
}

/// On the first 2, 3, … GPUs: all there are.
fn check_several(kind: Kind) {
    let Some(mut all) = gpus(2) else { return };
    all.extend((2..).map_while(|ordinal| Device::cuda(ordinal).ok()));
    for count in 2..=all.len() {
        check_all(kind, &all[..count], &LENS);
    }
}

#[test]
fn several_gpus_by_threads() {
    check_several(Kind::Threads);
}

#[test]
fn several_gpus_by_peer_memory() {
    check_several(Kind::Peers);
}

#[test]
fn several_gpus_by_nccl() {
    if has_nccl() {
        check_several(Kind::Nccl);
    }
}

fn has_nccl() -> bool {
    Nccl::version()
        .map_err(|error| skip("nccl", &error.to_string()))
        .is_ok()
}
