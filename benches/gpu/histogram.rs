//! Histograms, beside CUB: by the number of bins, of items that are spread and of equal ones.

use crate::arena::Arena;
use crate::bench::Bench;
use crate::compare::Check;
use crate::elements::{Sample, data};
use crate::measure::Contender;
use crate::record::Library;
use crate::trial::{Name, Trial};
use std::cell::RefCell;
use warpfold::cuda::HistogramOf;
use warpfold::cuda::cudarc::driver::{DevicePtr, DevicePtrMut};
use warpfold::{Binned, Bins, Counted};

const LENGTHS: &[usize] = &[1000, 1_000_000, 1 << 22, 1 << 24, 1 << 26, 1 << 28];

pub(crate) fn run(bench: &mut Bench) {
    let bytes = Bins::values(256).expect("bins");
    for spread in Spread::ALL {
        family::<u8>(bench, "u8", "256", spread, &bytes, Check::Bits);
        for count in [256, 4096] {
            let bins = Bins::even(0.0, 2.0_f64.powi(31), count).expect("bins");
            let name = count.to_string();
            family::<u32>(bench, "u32", &name, spread, &bins, Check::Bits);
        }
        // CUB rounds otherwise near edges.
        for count in [57_000, 1 << 20] {
            let bins = Bins::even(0.0, 1.0, count).expect("bins");
            let name = count.to_string();
            family::<f32>(bench, "f32", &name, spread, &bins, Check::Nothing);
        }
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
trait Ranged: Sample + Binned {
    fn of(part: f64) -> Self;
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
    bins: &Bins<T>,
    cub: Check,
) where
    T: Ranged + Counted<Value = T>,
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
    let longest = *LENGTHS.iter().max().expect("lengths");
    let items = items::<T>(longest, spread);
    let upload = stream.clone_htod(&items).expect("memory on the device");
    let arena = RefCell::new(Arena::new(&stream, upload, longest));
    let histogram = HistogramOf::<u32, T>::load(&stream, bins).expect("kernels");
    let counts = stream.alloc_zeros::<u32>(bins.count()).expect("memory");
    let counts = RefCell::new(counts);
    let function = format!("histogram_{element}_{bins_name}");
    for &length in LENGTHS {
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
                let all = vec![0xA5A5_A5A5_u32; bins.count()];
                let copied = stream.memcpy_htod(&all, &mut *counts.borrow_mut());
                copied.expect("a copy");
            }),
            fault: Box::new(|comparer, contender| {
                let (counts, all) = (counts.borrow(), ..bins.count());
                let (got, expected) = (counts.slice(all), expected.slice(all));
                let at = comparer.first_difference(contender.check, &got, &expected)?;
                Some(format!("differs at byte {at}"))
            }),
        };
        trial.hold(bench);
    }
}
