//! Scans of pieces of streams, by where they start, beside scans of whole arrays as long. Times are
//! by the host's clock, of calls one after the other.

use crate::bench::Bench;
use crate::elements::{Sample, data};
use crate::measure::{host_seconds, repeat};
use crate::record::{Piece, Spread};
use warpfold::ops::{Add, Max};
use warpfold::{Carry, Device, Monoid, Prefixes, Result, Scanner};

const CALLS: usize = 100;

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
        hold::<f32, Add>(bench, &device, "f32 add"),
        hold::<f64, Add>(bench, &device, "f64 add"),
        hold::<u32, Max>(bench, &device, "u32 max"),
    ];
    for error in measured.into_iter().filter_map(Result::err) {
        bench.run.missing.push(format!("pieces: {error}"));
    }
}

fn hold<T: Sample, Op: Monoid<T>>(bench: &mut Bench, device: &Device, name: &str) -> Result<()> {
    for bytes in [1 << 16, 8 << 20, 64 << 20, 1 << 30] {
        let length = bytes / size_of::<T>();
        let items = data::<T>(length);
        let input = device.upload(&items)?;
        let mut output = device.allocate::<T>(length)?;
        let prefixes = Prefixes::inclusive();
        // All work of the context.
        let wait = || bench.context.synchronize().expect("the device");
        let whole = calls(&wait, || {
            device.scan_into::<T, Op>(prefixes, &input, &mut output)
        })?;
        for (place, position) in POSITIONS {
            let sums = data::<T>(position.count_ones() as usize);
            let sums = sums.into_iter().map(T::widen).collect();
            let carry = Carry::<T, Op>::from_sums(position, sums)?;
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
            let row = Piece {
                name: name.to_owned(),
                from: place.to_owned(),
                length,
                us,
                beside_whole: whole.median / us.median,
            };
            println!(
                "pieces {:<10} from {:<16} {length:>11} {:>9.1} µs, {:.2} × a whole scan ({:.1} µs)",
                row.name, row.from, us.median, row.beside_whole, whole.median
            );
            bench.run.pieces.push(row);
        }
    }
    Ok(())
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
