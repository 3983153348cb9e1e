//! The CPU, at levels 1 and 2, and streams.

use crate::support::data::{Sample, assert_same, boundary_lengths, sample};
use crate::support::operators::{Bicyclic, BicyclicProduct, Bracketing};
use crate::support::oracle;
use half::f16;
use warpfold::ops::{Add, Max};
use warpfold::{
    Device, Error, Monoid, Prefixes, Scanner, function, map, scan_in_place, scan_into, zip,
};

/// The four forms, in reverse.
fn forms<T: Sample>(init: T) -> [(Prefixes<T>, bool, Option<T>); 4] {
    [
        (Prefixes::exclusive(), false, None),
        (Prefixes::inclusive(), true, None),
        (Prefixes::exclusive().from(init), false, Some(init)),
        (Prefixes::inclusive().from(init), true, Some(init)),
    ]
    .map(|(prefixes, inclusive, init)| (prefixes.reverse(), inclusive, init))
}

/// The scan of the reversed items, in reverse.
pub(super) fn expected<T: Sample, Op: Monoid<T>>(
    items: &[T],
    inclusive: bool,
    init: Option<T>,
) -> Vec<T> {
    let reversed: Vec<T> = items.iter().rev().copied().collect();
    let mut results = match inclusive {
        true => oracle::inclusive::<T, Op>(&reversed, init),
        false => oracle::exclusive::<T, Op>(&reversed, init),
    };
    results.reverse();
    results
}

fn check<T: Sample, Op: Monoid<T>>() {
    let mut lengths = boundary_lengths(1 << 11);
    lengths.extend([300_007, 1 << 18]);
    for length in lengths {
        let items = sample::<T>(length, 3);
        for (prefixes, inclusive, init) in forms(sample::<T>(1, 9)[0]) {
            let expected = expected::<T, Op>(&items, inclusive, init);
            let what = format!("{length} items, {prefixes:?}");
            let mut results = sample::<T>(length, 4);
            scan_into::<T, Op>(prefixes, &items, &mut results).unwrap();
            assert_same(&results, &expected, &what);
            let mut data = items.clone();
            scan_in_place::<T, Op>(prefixes, &mut data).unwrap();
            assert_same(&data, &expected, &format!("{what}, in place"));
        }
    }
}

#[test]
fn a_reverse_scan_is_the_scan_of_the_reversed_input_in_reverse() {
    check::<f32, Add>();
    check::<f16, Add>();
    check::<u64, Bracketing>();
    check::<Bicyclic, BicyclicProduct>();
    check::<i32, Max>();
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

#[test]
fn sources_are_read_in_reverse() {
    for length in [0, 1, 1000, 100_003] {
        let (a, b) = (sample::<f32>(length, 1), sample::<f32>(length, 2));
        let products: Vec<_> = a.iter().zip(&b).map(|(&x, &y)| x * y).collect();
        for (prefixes, inclusive, init) in forms(0.5) {
            let mut results = vec![0.0; length];
            let source = map::<product, _>(zip(&a, &b));
            scan_into::<f32, Add>(prefixes, source, &mut results).unwrap();
            let expected = expected::<f32, Add>(&products, inclusive, init);
            assert_same(&results, &expected, &format!("{length} products"));
        }
    }
}

#[test]
fn pieces_of_a_reverse_stream_come_from_the_last_to_the_first() {
    let items = sample::<f32>(200_000, 5);
    for (prefixes, inclusive, init) in forms(2.5) {
        let expected = expected::<f32, Add>(&items, inclusive, init);
        let mut results = items.clone();
        let mut scanner = Scanner::<f32, Add>::new(prefixes);
        for (number, piece) in results.rchunks_mut(70_001).enumerate() {
            match number % 2 {
                0 => scanner.scan_in_place(piece).unwrap(),
                _ => piece.copy_from_slice(&scanner.scan(&*piece).unwrap()),
            }
        }
        assert_same(&results, &expected, "pieces");
    }
}

#[test]
fn buffers_of_the_cpu_are_scanned_in_reverse() {
    let device = Device::cpu();
    let items = sample::<f32>(100_000, 7);
    let expected = expected::<f32, Add>(&items, true, None);
    let input = device.upload(&items).unwrap();
    let mut output = device.upload(&vec![0.0; items.len()]).unwrap();
    let prefixes = Prefixes::inclusive().reverse();
    device
        .scan_into::<f32, Add>(prefixes, &input, &mut output)
        .unwrap();
    assert_same(&output.to_vec().unwrap(), &expected, "into");
    let mut short = device.upload(&[0.0]).unwrap();
    let refused = device.scan_into::<f32, Add>(prefixes, &input, &mut short);
    assert!(matches!(
        refused,
        Err(Error::Length {
            input: 100_000,
            output: 1
        })
    ));
}
