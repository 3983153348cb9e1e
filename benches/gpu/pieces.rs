//! Scans and reductions of pieces of streams, by where they start, beside those of whole arrays as
//! long. Times are by the host's clock, of calls one after the other.

use crate::bench::Bench;
use crate::elements::{Sample, data};
use crate::measure::{host_seconds, repeat};
use crate::record::{Piece, Spread};
use half::f16;
use warpfold::ops::{Add, Max};
use warpfold::{Carry, Device, Monoid, Prefixes, Reducer, Result, Scanner};

const CALLS: usize = 100;

/// In bytes.
const LENGTHS: [usize; 5] = [64 << 10, 8 << 20, 32 << 20, 128 << 20, 1 << 30];

/// Where pieces start: at the beginning, at a far multiple of their lengths, and anywhere.
const POSITIONS: [(&str, u64); 3] = [
    ("the beginning", 0),
    ("2^33", 1 << 33),
    ("2^33 + 123,457", (1 << 33) + 123_457),
];

pub(crate) fn run(bench: &mut Bench) {
    if !bench.wants("pieces") {
        return;
    }
    let device = Device::cuda(0).expect("a GPU");
    let measured = [
        scans::<f32, Add>(bench, &device, "scan f32 add"),
        scans::<f64, Add>(bench, &device, "scan f64 add"),
        scans::<u32, Max>(bench, &device, "scan u32 max"),
        folds::<f32, Add>(bench, &device, "reduce f32 add"),
        folds::<f16, Add>(bench, &device, "reduce f16 add"),
        folds::<u64, Max>(bench, &device, "reduce u64 max"),
    ];
    for error in measured.into_iter().filter_map(Result::err) {
        bench.run.missing.push(format!("pieces: {error}"));
    }
}

fn scans<T: Sample, Op: Monoid<T>>(bench: &mut Bench, device: &Device, name: &str) -> Result<()> {
    for bytes in LENGTHS {
        let length = bytes / size_of::<T>();
        let items = data::<T>(length);
        let input = device.upload(&items)?;
        let mut output = device.allocate::<T>(length)?;
        let prefixes = Prefixes::inclusive();
        // All work of the context.
        let context = bench.context.clone();
        let wait = || context.synchronize().expect("the device");
        let whole = calls(&wait, || {
            device.scan_into::<T, Op>(prefixes, &input, &mut output)
        })?;
        for (place, position) in POSITIONS {
            let carry = made_up::<T, Op>(position)?;
            let mut expected = items.clone();
            let mut host = Scanner::new(prefixes).after(carry.clone());
            host.scan_in_place(&mut expected)?;
            let mut scanner = device.scanner::<T, Op>(prefixes).after(carry.clone());
            scanner.scan_into(&input, &mut output)?;
            let bits = |items: &[T]| warpfold::bytemuck::cast_slice::<T, u8>(items).to_vec();
            let is_right = bits(&output.to_vec()?) == bits(&expected)
                && bits_of(&scanner.carry()?) == bits_of(host.carry());
            if !is_right {
                let wrong = format!("pieces: {name}, {length} from {place}");
                bench.run.wrong.push(wrong);
                continue;
            }
            let us = calls(&wait, || scanner.scan_into(&input, &mut output))?;
            bench.piece(name, place, length, us, whole);
        }
    }
    Ok(())
}

/// Each call waits for its result, on a reducer and on the device.
fn folds<T: Sample, Op: Monoid<T>>(bench: &mut Bench, device: &Device, name: &str) -> Result<()> {
    for bytes in LENGTHS {
        let length = bytes / size_of::<T>();
        let items = data::<T>(length);
        let input = device.upload(&items)?;
        let whole = calls(&|| (), || device.reduce::<T, Op>(&input).map(drop))?;
        for (place, position) in POSITIONS {
            let mut host = Reducer::<T, Op>::new().after(made_up::<T, Op>(position)?);
            let mut reducer = device.reducer::<T, Op>().after(host.carry().clone());
            host.push(&items)?;
            reducer.push(&input)?;
            if bits_of(reducer.carry()) != bits_of(host.carry()) {
                let wrong = format!("pieces: {name}, {length} from {place}");
                bench.run.wrong.push(wrong);
                continue;
            }
            let us = calls(&|| (), || reducer.push(&input))?;
            bench.piece(name, place, length, us, whole);
        }
    }
    Ok(())
}

/// A carry of made-up sums.
fn made_up<T: Sample, Op: Monoid<T>>(position: u64) -> Result<Carry<T, Op>> {
    let sums = data::<T>(position.count_ones() as usize);
    Carry::from_sums(position, sums.into_iter().map(T::widen).collect())
}

impl Bench {
    fn piece(&mut self, name: &str, place: &str, length: usize, us: Spread, whole: Spread) {
        let row = Piece {
            name: name.to_owned(),
            from: place.to_owned(),
            length,
            us,
            beside_whole: whole.median / us.median,
        };
        println!(
            "pieces {:<15} from {:<16} {length:>11} {:>9.1} µs, {:.2} × a whole one ({:.1} µs)",
            row.name, row.from, us.median, row.beside_whole, whole.median
        );
        self.run.pieces.push(row);
    }
}

fn bits_of<T: Sample, Op>(carry: &Carry<T, Op>) -> &[u8] {
    warpfold::bytemuck::cast_slice(carry.sums())
}

/// The time of a call in µs, among many that do not wait for each other.
fn calls(wait: &dyn Fn(), mut call: impl FnMut() -> Result<()>) -> Result<Spread> {
    call()?;
    wait();
    let mut failed = Ok(());
    let spread = repeat(9, || {
        let seconds = host_seconds(|| {
            for _ in 0..CALLS {
                failed = failed.clone().and_then(|()| call());
            }
            wait();
        });
        seconds * 1e6 / CALLS as f64
    });
    failed.map(|()| spread)
}
