//! Histograms, beside CUB: by the number of bins, of items that are spread and of equal ones.

use crate::arena::Arena;
use crate::bench::Bench;
use crate::compare::Check;
use crate::elements::{Sample, data};
use crate::measure::Contender;
use crate::record::Library;
use crate::trial::{Name, Trial};
use std::cell::RefCell;
use warpfold::cuda::cudarc::driver::{DevicePtr, DevicePtrMut};
use warpfold::cuda::{HistogramOf, WeightedHistogramOf, Workspace};
use warpfold::ops::Add;
use warpfold::{Bins, Counted, Monoid, bytemuck};

const LENGTHS: &[usize] = &[1000, 1_000_000, 1 << 22, 1 << 24, 1 << 26, 1 << 28];
/// Of the types that only show what the item's size costs.
const FEW: &[usize] = &[1_000_000, 1 << 26];

pub(crate) fn run(bench: &mut Bench) {
    let bytes = Bins::values(256).expect("bins");
    for spread in Spread::ALL {
        family::<u8>(bench, "u8", "256", spread, &bytes, LENGTHS, Check::Bits);
        for count in [256, 4096] {
            let bins = Bins::even(0.0, 2.0_f64.powi(31), count).expect("bins");
            let name = count.to_string();
            family::<u32>(bench, "u32", &name, spread, &bins, LENGTHS, Check::Bits);
        }
        // CUB rounds otherwise near edges.
        for count in [57_000, 1 << 20] {
            let bins = Bins::even(0.0, 1.0, count).expect("bins");
            let name = count.to_string();
            family::<f32>(bench, "f32", &name, spread, &bins, LENGTHS, Check::Nothing);
        }
        others(bench, spread);
    }
    for spread in [Spread::Uniform, Spread::Equal] {
        for count in [256, 4096, 1 << 20] {
            weights::<f32>(bench, "f32", count, spread);
        }
        weights::<f64>(bench, "f64", 256, spread);
        weights::<u32>(bench, "u32", 256, spread);
        weights::<u64>(bench, "u64", 256, spread);
    }
}

/// Other numbers, and other bins.
fn others(bench: &mut Bench, spread: Spread) {
    let pixels = Bins::values(256).expect("bins");
    family::<[u8; 3]>(bench, "pixel", "256", spread, &pixels, FEW, Check::Nothing);
    let all = Bins::values(1 << 16).expect("bins");
    family::<u16>(bench, "u16", "65536", spread, &all, FEW, Check::Nothing);
    let hundred = Bins::even(0.0, 2.0_f64.powi(31), 100).expect("bins");
    family::<i32>(bench, "i32", "100", spread, &hundred, FEW, Check::Nothing);
    let thousand = Bins::even(0.0, 2.0_f64.powi(63), 1000).expect("bins");
    family::<u64>(bench, "u64", "1000", spread, &thousand, FEW, Check::Nothing);
    let few = Bins::even(0.0, 1.0, 10).expect("bins");
    family::<f32>(bench, "f32", "10", spread, &few, FEW, Check::Nothing);
    let thousand = Bins::even(0.0, 1.0, 1000).expect("bins");
    family::<f64>(bench, "f64", "1000", spread, &thousand, FEW, Check::Nothing);
    for count in [100, 10_000] {
        let part = |i: usize| (i as f64 / count as f64).powi(2);
        let edges: Vec<f64> = (0..=count).map(part).collect();
        let name = format!("{count} edges");
        let bins = Bins::with_edges(&edges).expect("bins");
        family::<f32>(bench, "f32", &name, spread, &bins, FEW, Check::Nothing);
        let bins = Bins::with_edges(&edges).expect("bins");
        family::<f64>(bench, "f64", &name, spread, &bins, FEW, Check::Nothing);
    }
}

/// How items are spread over the bins.
#[derive(Clone, Copy, PartialEq)]
enum Spread {
    Uniform,
    /// All in one bin.
    Equal,
    /// A few bins have most.
    Skewed,
}

impl Spread {
    const ALL: [Spread; 3] = [Spread::Uniform, Spread::Equal, Spread::Skewed];

    fn name(self) -> &'static str {
        match self {
            Spread::Uniform => "uniform",
            Spread::Equal => "equal",
            Spread::Skewed => "skewed",
        }
    }
}

/// A number from 0 to 1 as one of the range of all bins.
trait Ranged: Sample + Counted {
    fn of(part: f64) -> Self;
}

impl Ranged for [u8; 3] {
    fn of(part: f64) -> [u8; 3] {
        [1.0, 7.0, 31.0].map(|times| u8::of((part * times).fract()))
    }
}

impl Ranged for u16 {
    fn of(part: f64) -> u16 {
        (part * 65536.0) as u16
    }
}

impl Ranged for i32 {
    fn of(part: f64) -> i32 {
        (part * 2.0_f64.powi(31)) as i32
    }
}

impl Ranged for u64 {
    fn of(part: f64) -> u64 {
        (part * 2.0_f64.powi(63)) as u64
    }
}

impl Ranged for f64 {
    fn of(part: f64) -> f64 {
        part
    }
}

impl Ranged for u8 {
    fn of(part: f64) -> u8 {
        (part * 256.0) as u8
    }
}

impl Ranged for u32 {
    fn of(part: f64) -> u32 {
        (part * 2.0_f64.powi(31)) as u32
    }
}

impl Ranged for f32 {
    fn of(part: f64) -> f32 {
        part as f32
    }
}

fn items<T: Ranged>(length: usize, spread: Spread) -> Vec<T> {
    let parts = data::<f64>(length);
    let part = |x: &f64| match spread {
        Spread::Uniform => (x.abs() - 0.5) * 0.999_999,
        Spread::Equal => 0.371,
        Spread::Skewed => (x.abs() - 0.5).powi(12) * 0.999_999,
    };
    parts.iter().map(|x| T::of(part(x))).collect()
}

fn family<T>(
    bench: &mut Bench,
    element: &'static str,
    bins_name: &str,
    spread: Spread,
    bins: &Bins<T::Value>,
    lengths: &[usize],
    cub: Check,
) where
    T: Ranged,
{
    let operator = format!("{bins_name} {}", spread.name());
    let name = Name {
        primitive: "histogram",
        element,
        operator: &operator,
    };
    if !bench.wants(&name.text()) {
        return;
    }
    let stream = bench.stream.clone();
    let longest = *lengths.iter().max().expect("lengths");
    let items = items::<T>(longest, spread);
    let upload = stream.clone_htod(&items).expect("memory on the device");
    let arena = RefCell::new(Arena::new(&stream, upload, longest));
    let histogram = HistogramOf::<u32, T>::load(&stream, bins).expect("kernels");
    let all = bins.count() * T::CHANNELS;
    let counts = stream.alloc_zeros::<u32>(all).expect("memory");
    let counts = RefCell::new(counts);
    let function = format!("histogram_{element}_{bins_name}");
    for &length in lengths {
        let expected = warpfold::histogram::<u32, _>(&items[..length], bins).expect("counts");
        let expected = stream.clone_htod(&expected).expect("memory");
        arena.borrow_mut().arrange(length, 0);
        let mut contenders = vec![Contender {
            library: Library::Warpfold,
            work: Box::new(|| {
                let mut arena = arena.borrow_mut();
                let (input, _) = arena.next();
                let enqueued = histogram.enqueue(&stream, &input, &mut *counts.borrow_mut());
                enqueued.expect("a launch");
            }),
            check: Check::Bits,
        }];
        let peer = bench.cub.as_ref();
        let peer = peer.and_then(|cub| cub.peer(&function, &stream, length));
        if let Some(mut peer) = peer {
            let (arena, counts, stream) = (&arena, &counts, &stream);
            contenders.push(Contender {
                library: Library::Cub,
                work: Box::new(move || {
                    let (mut arena, mut counts) = (arena.borrow_mut(), counts.borrow_mut());
                    let (input, _) = arena.next();
                    let (input, _reading) = input.device_ptr(stream);
                    let (counts, _writing) = counts.device_ptr_mut(stream);
                    peer(&[input], &[counts]);
                }),
                check: cub,
            });
        }
        let trial = Trial {
            name,
            element_bytes: size_of::<T>(),
            length,
            offset: 0,
            moved: Some(length * size_of::<T>()),
            contenders,
            poison: Box::new(|| {
                let all = vec![0xA5A5_A5A5_u32; all];
                let copied = stream.memcpy_htod(&all, &mut *counts.borrow_mut());
                copied.expect("a copy");
            }),
            fault: Box::new(|comparer, contender| {
                let (counts, all) = (counts.borrow(), ..all);
                let (got, expected) = (counts.slice(all), expected.slice(all));
                let at = comparer.first_difference(contender.check, &got, &expected)?;
                Some(format!("differs at byte {at}"))
            }),
        };
        trial.hold(bench);
    }
}

/// Sums of weights, of items that are the numbers of their bins.
fn weights<W: Sample>(bench: &mut Bench, element: &'static str, count: usize, spread: Spread)
where
    Add: Monoid<W>,
{
    let operator = format!("{count} {}", spread.name());
    let name = Name {
        primitive: "weights",
        element,
        operator: &operator,
    };
    if !bench.wants(&name.text()) {
        return;
    }
    let stream = bench.stream.clone();
    let longest = *LENGTHS.iter().max().expect("lengths");
    let bins = Bins::<u32>::values(count).expect("bins");
    let parts = data::<f64>(longest);
    let item = |x: &f64| match spread {
        Spread::Equal => count as u32 / 2,
        _ => ((x.abs() - 0.5) * 0.999_999 * count as f64) as u32,
    };
    let items: Vec<u32> = parts.iter().map(item).collect();
    let weights = data::<W>(longest);
    let of_items = stream.clone_htod(&items).expect("memory on the device");
    let of_weights = stream.clone_htod(&weights).expect("memory on the device");
    let of_items = RefCell::new(Arena::new(&stream, of_items, longest));
    let of_weights = RefCell::new(Arena::new(&stream, of_weights, longest));
    let histogram = WeightedHistogramOf::<W, u32>::load(&stream, &bins).expect("kernels");
    let bytes = histogram.workspace_bytes(longest);
    let workspace = RefCell::new(Workspace::new(&stream, bytes).expect("memory"));
    let sums = RefCell::new(stream.alloc_zeros::<W>(count).expect("memory"));
    for &length in LENGTHS {
        let (items, weights) = (&items[..length], &weights[..length]);
        let expected = warpfold::histogram_weighted(items, weights, &bins).expect("sums");
        let expected = stream.clone_htod(&expected).expect("memory");
        of_items.borrow_mut().arrange(length, 0);
        of_weights.borrow_mut().arrange(length, 0);
        let contenders = vec![Contender {
            library: Library::Warpfold,
            work: Box::new(|| {
                let (mut items, mut weights) = (of_items.borrow_mut(), of_weights.borrow_mut());
                let ((items, _), (weights, _)) = (items.next(), weights.next());
                let (sums, workspace) = (&mut *sums.borrow_mut(), &mut *workspace.borrow_mut());
                let enqueued = histogram.enqueue(&stream, &items, &weights, sums, workspace);
                enqueued.expect("launches");
            }),
            check: Check::Bits,
        }];
        let trial = Trial {
            name,
            element_bytes: size_of::<W>(),
            length,
            offset: 0,
            moved: Some(length * (size_of::<u32>() + size_of::<W>())),
            contenders,
            poison: Box::new(|| {
                let all = vec![0xA5_u8; count * size_of::<W>()];
                let all: Vec<W> = bytemuck::pod_collect_to_vec(&all);
                let copied = stream.memcpy_htod(&all, &mut *sums.borrow_mut());
                copied.expect("a copy");
            }),
            fault: Box::new(|comparer, contender| {
                let (sums, all) = (sums.borrow(), ..count);
                let (got, expected) = (sums.slice(all), expected.slice(all));
                let at = comparer.first_difference(contender.check, &got, &expected)?;
                Some(format!("differs at byte {at}"))
            }),
        };
        trial.hold(bench);
    }
}
