//! Speed of the CPU backend, beside what memory allows: a plain parallel read and a plain parallel
//! copy.
//!
//! `cargo bench --bench cpu`

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::hint::black_box;
use std::time::Duration;
use warpfold::ops::{Add, Max};
use warpfold::statistics::Estimate;
use warpfold::{
    Bins, Device, Element, Function, Monoid, Order, Prefixes, Reducer, Scanner, Sortable, arg_max,
    function, histogram, histogram_weighted, map, mean, min_max, reduce, scan, scan_in_place,
    scan_into, sort_in_place, variance, zip,
};

const BYTES: usize = 256 << 20;

/// Reads all of `data` in parallel, as fast as eight independent accumulators of 64 bits allow.
fn read(data: &[u64]) -> u64 {
    let fold = |part: &[u64]| {
        let mut sums = [0_u64; 64];
        let (parts, _) = part.as_chunks::<64>();
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, x)| *sum |= x);
        }
        sums.into_iter().fold(0, |a, b| a | b)
    };
    data.par_chunks(1 << 16)
        .map(fold)
        .reduce(|| 0, |a, b| a | b)
}

/// Copies in parallel, a large part to a thread, so that the C library may choose its fastest way.
fn copy(from: &[u64], to: &mut [u64]) {
    let part = from.len().div_ceil(rayon::current_num_threads());
    from.par_chunks(part)
        .zip(to.par_chunks_mut(part))
        .for_each(|(from, to)| to.copy_from_slice(from));
}

fn memory(c: &mut Criterion) {
    let data: Vec<u64> = (0..BYTES as u64 / 8).collect();
    let mut target = vec![0; data.len()];
    let mut group = c.benchmark_group("memory");
    group
        .sample_size(20)
        .throughput(Throughput::Bytes(BYTES as u64));
    group.bench_function("read", |b| b.iter(|| read(black_box(&data))));
    group.bench_function("copy", |b| b.iter(|| copy(black_box(&data), &mut target)));
    group.finish();
}

fn pair<T: Element, Op: Monoid<T>>(c: &mut Criterion, name: &str, from: impl Fn(usize) -> T) {
    let data: Vec<T> = (0..BYTES / size_of::<T>()).map(from).collect();
    let cpu = Device::cpu();
    let input = cpu.upload(&data).expect("memory");
    let mut output = cpu.allocate(data.len()).expect("memory");
    let mut group = c.benchmark_group(name);
    group
        .sample_size(20)
        .throughput(Throughput::Bytes(BYTES as u64));
    group.bench_function(BenchmarkId::from_parameter("reduce"), |b| {
        b.iter(|| reduce::<T, Op>(black_box(&data)))
    });
    group.bench_function(BenchmarkId::from_parameter("scan"), |b| {
        b.iter(|| cpu.scan_into::<T, Op>(Prefixes::exclusive(), black_box(&input), &mut output));
    });
    group.bench_function(
        BenchmarkId::from_parameter("inclusive scan in place"),
        |b| {
            b.iter(|| cpu.scan_in_place::<T, Op>(Prefixes::inclusive(), &mut output));
        },
    );
    group.finish();
}

fn pairs(c: &mut Criterion) {
    pair::<f32, Add>(c, "f32 add", |i| (i % 1000) as f32 * 0.001 - 0.5);
    pair::<u8, Add>(c, "u8 add", |i| i as u8);
    pair::<u32, Max>(c, "u32 max", |i| (i as u32).wrapping_mul(2_654_435_761));
    pair::<f64, Add>(c, "f64 add", |i| (i % 1000) as f64 * 0.001 - 0.5);
    pair::<warpfold::half::f16, Add>(c, "f16 add", |i| {
        warpfold::half::f16::from_f32((i % 100) as f32)
    });
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

#[function]
fn widen(byte: u8) -> u64 {
    byte as u64
}

#[function]
fn is_small(x: u32) -> u64 {
    (x < 1 << 30) as u64
}

/// What a loop adds up at a time, so that no sum waits for the one before it.
const LANES: usize = 64;

/// The items of a hand-written loop's part: as many bytes as a chunk of the library's.
const PART: usize = 1 << 17;

/// Mapped reductions, each beside the loop that one would write by hand.
fn sources(c: &mut Criterion) {
    let len = BYTES / 8;
    let a: Vec<f32> = (0..len).map(|i| (i % 1000) as f32 * 0.001 - 0.5).collect();
    let b: Vec<f32> = (0..len).map(|i| (i % 777) as f32 * 0.001 - 0.3).collect();
    let mut group = c.benchmark_group("dot");
    group
        .sample_size(20)
        .throughput(Throughput::Bytes(BYTES as u64));
    group.bench_function("reduce", |bench| {
        bench.iter(|| reduce::<f32, Add>(map::<product, _>(zip(black_box(&a), &b))));
    });
    let dot = |(a, b): (&[f32], &[f32])| {
        let mut sums = [0.0; LANES];
        for (a, b) in a
            .as_chunks::<LANES>()
            .0
            .iter()
            .zip(b.as_chunks::<LANES>().0)
        {
            for (sum, (x, y)) in sums.iter_mut().zip(a.iter().zip(b)) {
                *sum += x * y;
            }
        }
        sums.iter().sum::<f32>()
    };
    group.bench_function("by hand", |bench| {
        let parts = || black_box(&a).par_chunks(PART).zip(b.par_chunks(PART));
        bench.iter(|| parts().map(dot).sum::<f32>());
    });
    group.finish();
    drop((a, b));

    let bytes: Vec<u8> = (0..BYTES).map(|i| i as u8).collect();
    let mut group = c.benchmark_group("sum of bytes in u64");
    group
        .sample_size(20)
        .throughput(Throughput::Bytes(BYTES as u64));
    group.bench_function("reduce", |bench| {
        bench.iter(|| reduce::<u64, Add>(map::<widen, _>(black_box(&bytes))));
    });
    let sum = |part: &[u8]| part.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    group.bench_function("by hand", |bench| {
        bench.iter(|| black_box(&bytes).par_chunks(4 * PART).map(sum).sum::<u64>());
    });
    group.finish();
    drop(bytes);

    let numbers = random_numbers(BYTES / 4);
    let mut group = c.benchmark_group("count");
    group
        .sample_size(20)
        .throughput(Throughput::Bytes(BYTES as u64));
    group.bench_function("reduce", |bench| {
        bench.iter(|| reduce::<u64, Add>(map::<is_small, _>(black_box(&numbers))));
    });
    let count = |part: &[u32]| part.iter().map(|&x| u64::from(x < 1 << 30)).sum::<u64>();
    group.bench_function("by hand", |bench| {
        bench.iter(|| black_box(&numbers).par_chunks(PART).map(count).sum::<u64>());
    });
    group.finish();
}

#[function]
fn is_in_lower_half(x: u32) -> bool {
    x < 1 << 31
}

#[function]
fn is_in_lowest_twentieth(x: u32) -> bool {
    x < 214_748_365
}

/// Selections, beside their traffic's limit: a read of the input that also writes as much as is
/// kept. The throughput counts both.
fn selections(c: &mut Criterion) {
    let numbers = random_numbers(BYTES / 4);
    selection::<is_in_lower_half>(c, "select u32, 50% kept", &numbers);
    selection::<is_in_lowest_twentieth>(c, "select u32, 5% kept", &numbers);
}

fn selection<P>(c: &mut Criterion, name: &str, numbers: &[u32])
where
    P: Function<Input = (u32,), Output = bool>,
{
    let cpu = Device::cpu();
    let input = cpu.upload(numbers).expect("memory");
    let mut output = cpu.allocate::<u32>(numbers.len()).expect("memory");
    let count = cpu.select_into::<u32, P>(&input, &mut output);
    let count = count.expect("room for all");
    let mut group = c.benchmark_group(name);
    let bytes = (numbers.len() + count) * size_of::<u32>();
    group
        .sample_size(20)
        .throughput(Throughput::Bytes(bytes as u64));
    group.bench_function("select", |b| {
        b.iter(|| cpu.select_into::<u32, P>(black_box(&input), &mut output));
    });
    let words: Vec<u64> = (0..BYTES as u64 / 8).collect();
    let mut target = vec![0_u64; count / 2];
    group.bench_function("read and copy", |b| {
        b.iter(|| {
            let (copied, rest) = words.split_at(target.len());
            copy(black_box(copied), &mut target);
            read(black_box(rest))
        });
    });
    group.bench_function("by hand, sequential", |b| {
        let mut kept = Vec::<u32>::with_capacity(count);
        b.iter(|| {
            kept.clear();
            kept.extend(black_box(numbers).iter().filter(|x| P::call((**x,))));
            kept.len()
        });
    });
    group.finish();
}

/// Calls on short slices, beside the loop that one would write.
fn short(c: &mut Criterion) {
    short_of::<f32>(c, "f32", |i| (i % 1000) as f32 * 0.001 - 0.5, |a, b| a + b);
    short_of::<u32>(c, "u32", |i| i as u32, u32::wrapping_add);
}

fn short_of<T>(c: &mut Criterion, name: &str, from: impl Fn(usize) -> T, plus: impl Fn(T, T) -> T)
where
    T: Element + Default + std::iter::Sum<T>,
    Add: Monoid<T>,
{
    for len in [10, 1000, 100_000] {
        let data: Vec<T> = (0..len).map(&from).collect();
        let mut group = c.benchmark_group(format!("short {name} {len}"));
        group
            .sample_size(30)
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_millis(700));
        group.bench_function("reduce", |b| b.iter(|| reduce::<T, Add>(black_box(&data))));
        group.bench_function("sum by hand", |b| {
            b.iter(|| black_box(&data).iter().copied().sum::<T>());
        });
        group.bench_function("scan", |b| b.iter(|| scan::<T, Add>(black_box(&data))));
        group.bench_function("scan by hand", |b| {
            b.iter(|| {
                let running = black_box(&data).iter().scan(T::default(), |sum, &x| {
                    Some(std::mem::replace(sum, plus(*sum, x)))
                });
                running.collect::<Vec<T>>()
            });
        });
        group.finish();
    }
}

/// Reductions and scans in pieces, beside one call over everything.
fn streams(c: &mut Criterion) {
    let data: Vec<f32> = (0..BYTES / 4).map(|i| (i % 1000) as f32 * 0.001).collect();
    let mut output = vec![0.0; data.len()];
    let mut group = c.benchmark_group("streams");
    group
        .sample_size(20)
        .throughput(Throughput::Bytes(BYTES as u64));
    // A first piece that is no multiple of anything moves all cuts.
    for (name, first, piece) in [
        ("one piece", 0, data.len()),
        ("pieces of 2^20", 0, 1 << 20),
        ("pieces of 2^20, after 12345", 12_345, 1 << 20),
        ("pieces of 2^24, after 12345", 12_345, 1 << 24),
    ] {
        group.bench_function(format!("reduce, {name}"), |b| {
            b.iter(|| {
                let (first, rest) = black_box(&data).split_at(first);
                let mut sum = Reducer::<f32, Add>::new();
                sum.push(first).expect("a piece");
                rest.chunks(piece)
                    .for_each(|x| sum.push(x).expect("a piece"));
                sum.value()
            });
        });
        group.bench_function(format!("scan, {name}"), |b| {
            b.iter(|| {
                let (first, rest) = black_box(&data).split_at(first);
                let (to_first, to_rest) = output.split_at_mut(first.len());
                let mut scanner = Scanner::<f32, Add>::new(Prefixes::inclusive());
                scanner.scan_into(first, to_first).expect("a piece");
                for (x, to) in rest.chunks(piece).zip(to_rest.chunks_mut(piece)) {
                    scanner.scan_into(x, to).expect("a piece");
                }
            });
        });
    }
    group.finish();
}

/// Slices of 2^25 `f32` at level 1: into a new vector, into a given slice, and in place.
fn slices(c: &mut Criterion) {
    let data = vec![0.25_f32; 1 << 25];
    let (mut output, mut in_place) = (data.clone(), vec![0.0; 1 << 25]);
    let mut group = c.benchmark_group("scan of 2^25 f32");
    group.sample_size(20);
    group.bench_function("new", |b| b.iter(|| scan::<f32, Add>(black_box(&data))));
    group.bench_function("into", |b| {
        b.iter(|| scan_into::<f32, Add>(Prefixes::exclusive(), black_box(&data), &mut output));
    });
    group.bench_function("in place", |b| {
        b.iter(|| scan_in_place::<f32, Add>(Prefixes::exclusive(), black_box(&mut in_place)));
    });
    group.finish();
}

/// Statistics and histograms, beside a read of as many bytes.
fn statistics(c: &mut Criterion) {
    let x: Vec<f32> = random_numbers(BYTES / 4)
        .into_iter()
        .map(|x| x as f32 / u32::MAX as f32)
        .collect();
    let bytes: Vec<u8> = random_numbers(BYTES).into_iter().map(|x| x as u8).collect();
    let bins = Bins::even(0.0, 1.0, 100).expect("bins");
    let mut group = c.benchmark_group("statistics");
    group
        .sample_size(10)
        .throughput(Throughput::Bytes(BYTES as u64));
    group.bench_function("mean", |b| b.iter(|| mean(black_box(&x))));
    group.bench_function("variance", |b| {
        b.iter(|| variance(black_box(&x), Estimate::Population));
    });
    let wide: Vec<f64> = x[..x.len() / 2].iter().map(|&x| f64::from(x)).collect();
    group.bench_function("mean f64", |b| b.iter(|| mean(black_box(&wide))));
    group.bench_function("variance f64", |b| {
        b.iter(|| variance(black_box(&wide), Estimate::Population));
    });
    group.bench_function("min_max", |b| b.iter(|| min_max(black_box(&x))));
    group.bench_function("arg_max", |b| b.iter(|| arg_max(black_box(&x))));
    group.bench_function("arg_max u8", |b| b.iter(|| arg_max(black_box(&bytes))));
    group.bench_function("histogram of f32 in 100 bins", |b| {
        b.iter(|| histogram::<u64, _>(black_box(&x), &bins));
    });
    let edges: Vec<f32> = (0..=100).map(|i| (i * i) as f32 / 1e4).collect();
    let by_edges = Bins::with_edges_of(&edges).expect("bins");
    group.bench_function("histogram of f32 between 101 edges", |b| {
        b.iter(|| histogram::<u64, _>(black_box(&x), &by_edges));
    });
    group.bench_function("f32 weights in 100 bins", |b| {
        b.iter(|| histogram_weighted(black_box(&x), &x, &bins));
    });
    let weights = random_numbers(BYTES / 4);
    group.bench_function("u32 weights in 100 bins", |b| {
        b.iter(|| histogram_weighted(black_box(&x), &weights, &bins));
    });
    let values = Bins::<u8>::values(256).expect("bins");
    group.bench_function("histogram of bytes", |b| {
        b.iter(|| histogram::<u64, _>(black_box(&bytes), &values));
    });
    group.finish();
}

/// Numbers without a pattern that a branch predictor could learn.
fn random_numbers(len: usize) -> Vec<u32> {
    (0..len as u64)
        .map(|i| {
            let mixed = (i ^ i >> 15).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) as u32
        })
        .map(|x| x ^ x >> 15)
        .collect()
}

/// Sorts of 2^24 numbers, beside rayon's.
fn sorts(c: &mut Criterion) {
    fn row<K: Sortable>(
        c: &mut Criterion,
        name: &str,
        data: &[K],
        compare: fn(&K, &K) -> Ordering,
    ) {
        let mut group = c.benchmark_group(format!("sort {name}"));
        let elements = Throughput::Elements(data.len() as u64);
        group.sample_size(10).throughput(elements);
        let order = Order::ascending();
        group.bench_function("ours", |b| {
            let sort = |mut data: Vec<K>| sort_in_place(black_box(&mut data), order);
            b.iter_batched(|| data.to_vec(), sort, BatchSize::LargeInput);
        });
        group.bench_function("rayon", |b| {
            let sort = |mut data: Vec<K>| black_box(&mut data).par_sort_unstable_by(compare);
            b.iter_batched(|| data.to_vec(), sort, BatchSize::LargeInput);
        });
        group.finish();
    }
    const LEN: usize = 1 << 24;
    let u32s = random_numbers(LEN);
    let wide: Vec<u64> = u32s
        .iter()
        .map(|&x| u64::from(x) << 32 | u64::from(!x))
        .collect();
    let floats: Vec<f32> = u32s.iter().map(|&x| x as f32 / 1e6 - 2e3).collect();
    // As often as 1 / x.
    let top = (LEN as f64).ln();
    let zipf: Vec<u32> = u32s
        .iter()
        .map(|&x| (f64::from(x) / 4294967296.0 * top).exp() as u32)
        .collect();
    let falling: Vec<u32> = (0..LEN as u32).rev().collect();
    row(c, "u32", &u32s, u32::cmp);
    row(c, "u64", &wide, u64::cmp);
    row(c, "f32", &floats, f32::total_cmp);
    row(c, "u32, Zipf", &zipf, u32::cmp);
    row(c, "u32, falling", &falling, u32::cmp);
}

criterion_group!(
    benches, memory, pairs, sources, selections, short, slices, streams, statistics, sorts
);
criterion_main!(benches);
