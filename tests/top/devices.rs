//! On every device that there is.

use crate::sort::cases::{
    Floats, Key, ORDERS, PATTERNS, Pattern, assert_bits, by_places, keys, oracle,
};
use crate::support::devices;
use crate::support::matrix::{has_turn, in_turn};
use warpfold::half::{bf16, f16};
use warpfold::{
    Candidate, Device, Error, Order, Rows, TopK, arg_max, arg_min, bottom_k, bottom_k_rows,
    flagged, flags, function, map, top_k, top_k_rows, zip,
};

/// Few, a part of what a thread takes, several parts; and of a GPU's ways.
const LENGTHS: [usize; 9] = [0, 1, 2, 33, 1000, 4097, 33_000, 70_001, 400_003];

/// As the order says, in a direction.
fn turned((order, _, floats): (Order, bool, Floats), descending: bool) -> (Order, bool, Floats) {
    (order, descending, floats)
}

fn check<K: Key + Candidate<Key = K>>(device: &Device)
where
    (K, bool): Candidate<Key = K>,
{
    for (seed, &len) in LENGTHS.iter().enumerate() {
        for (number, pattern) in PATTERNS.into_iter().enumerate() {
            let name = std::any::type_name::<K>();
            if len > 10_000 && !has_turn(&format!("top of {len} {name}"), number % 4, 4) {
                continue;
            }
            let order = ORDERS[(seed + number) % 6];
            let what = format!("{device} {name} {pattern:?} {len}");
            let keys: Vec<K> = keys(pattern, len, seed as u64);
            let buffer = device.upload(&keys).unwrap();
            let (first, last) = (
                oracle(turned(order, true), &keys),
                oracle(turned(order, false), &keys),
            );
            for k in [0, 1, 2, 100, 1025, len / 2, len, len + 3] {
                if len > 10_000 && k > 1025 && number % 2 == 1 {
                    continue;
                }
                let what = format!("{what} {k} {:?}", order.0);
                let (values, places) = device.top_k(&buffer, k, order.0).unwrap();
                let expected = &first[..k.min(len)];
                assert_eq!(places.to_vec().unwrap(), expected, "{what}");
                assert_bits(
                    &values.to_vec().unwrap(),
                    &by_places(&keys, expected),
                    &what,
                );
                let (values, places) = device.bottom_k(&buffer, k, order.0).unwrap();
                let expected = &last[..k.min(len)];
                assert_eq!(places.to_vec().unwrap(), expected, "{what}");
                assert_bits(
                    &values.to_vec().unwrap(),
                    &by_places(&keys, expected),
                    &what,
                );
            }
        }
    }
}

macro_rules! on_all_devices {
    ($($test:ident: $key:ty;)*) => {$(
        #[test]
        fn $test() {
            devices().iter().for_each(check::<$key>);
        }
    )*};
}

on_all_devices! {
    top_of_bytes_begins_the_stable_sort: u8;
    top_of_i16s_begins_the_stable_sort: i16;
    top_of_u32s_begins_the_stable_sort: u32;
    top_of_i64s_begins_the_stable_sort: i64;
    top_of_u128s_begins_the_stable_sort: u128;
    top_of_halves_begins_the_stable_sort: f16;
    top_of_bfloats_begins_the_stable_sort: bf16;
    top_of_floats_begins_the_stable_sort: f32;
    top_of_doubles_begins_the_stable_sort: f64;
}

#[function]
fn is_odd(x: i32) -> bool {
    x & 1 == 1
}

#[function]
fn negated(x: i32) -> i32 {
    x.wrapping_neg()
}

/// Also where fewer have a flag than are wanted, and where none has.
#[test]
fn items_without_a_flag_are_passed_over_and_places_are_of_the_whole_source() {
    for device in devices() {
        for len in [0, 5, 3000, 60_000, 400_000] {
            let keys: Vec<i32> = keys(Pattern::Skewed, len, 3);
            let buffer = device.upload(&keys).unwrap();
            let all = oracle(ORDERS[1], &keys);
            let expected: Vec<u64> = all
                .into_iter()
                .filter(|&place| is_odd(keys[place as usize]))
                .collect();
            for k in [0, 1, 70, 2000, len / 3, len] {
                let source = flagged::<is_odd, _>(&buffer);
                let (values, places) = device.top_k(source, k, Order::default()).unwrap();
                let expected = &expected[..k.min(expected.len())];
                assert_eq!(places.to_vec().unwrap(), expected, "{device} {len} {k}");
                assert_eq!(values.to_vec().unwrap(), by_places(&keys, expected));
            }
            let none = device.upload(&vec![0_u8; len]).unwrap();
            let source = zip(&buffer, flags(&none));
            let (values, places) = device.bottom_k(source, 10, Order::default()).unwrap();
            assert!(values.is_empty() && places.is_empty());
            // One of many.
            if len > 0 {
                let mut mask = vec![0_u8; len];
                mask[len / 2] = 1;
                let mask = device.upload(&mask).unwrap();
                let source = zip(&buffer, flags(&mask));
                let (_, places) = device.bottom_k(source, 10, Order::default()).unwrap();
                assert_eq!(places.to_vec().unwrap(), [len as u64 / 2], "{device} {len}");
            }
        }
    }
}

#[test]
fn a_mapped_source_is_chosen_from_by_what_the_function_gives() {
    for device in devices() {
        let keys: Vec<i32> = keys(Pattern::Random, 50_000, 4);
        let buffer = device.upload(&keys).unwrap();
        let negative: Vec<i32> = keys.iter().map(|&x| negated(x)).collect();
        let (values, places) = device
            .top_k(map::<negated, _>(&buffer), 40, Order::default())
            .unwrap();
        let expected = &oracle(ORDERS[1], &negative)[..40];
        assert_eq!(places.to_vec().unwrap(), expected);
        assert_eq!(values.to_vec().unwrap(), by_places(&negative, expected));
    }
}

#[test]
fn the_first_place_is_that_of_arg_max_and_of_arg_min() -> warpfold::Result<()> {
    for pattern in PATTERNS {
        let keys: Vec<f32> = keys(pattern, 5000, 9);
        let order = Order::default();
        assert_eq!(
            top_k(&keys, 1, order)?.1,
            [arg_max(&keys)?.unwrap() as u64],
            "{pattern:?}"
        );
        // `arg_min` takes a NaN where there is one.
        let numbers: Vec<f32> = keys.into_iter().filter(|x| !x.is_nan()).collect();
        assert_eq!(
            bottom_k(&numbers, 1, order)?.1,
            [arg_min(&numbers)?.unwrap() as u64]
        );
    }
    Ok(())
}

#[test]
fn each_row_of_a_matrix_is_chosen_from_by_itself() {
    for device in devices() {
        for (rows, columns) in [
            (0, 5),
            (5, 0),
            (1, 1),
            (7, 33),
            (300, 100),
            (3, 70_001),
            (2, 600_000),
        ] {
            let keys: Vec<f32> = keys(Pattern::Random, rows * columns, 5);
            let matrix = device.upload(&keys).unwrap();
            let all = [0, 1, 50, 3000];
            let some = match columns {
                0..10_000 => &all[..],
                _ => in_turn(&format!("rows of {columns}"), &all),
            };
            for &k in some {
                let what = format!("{device} {rows} {columns} {k}");
                let shape = Rows::new(rows, columns);
                for descending in [true, false] {
                    let (values, places) = match descending {
                        true => device.top_k_rows(&matrix, shape, k, Order::default()),
                        false => device.bottom_k_rows(&matrix, shape, k, Order::default()),
                    }
                    .unwrap();
                    let (mut expected, mut expected_values) = (Vec::new(), Vec::new());
                    for row in keys.chunks_exact(columns.max(1)) {
                        let order = oracle(ORDERS[usize::from(descending)], row);
                        let first = &order[..k.min(columns)];
                        expected.extend_from_slice(first);
                        expected_values.extend(by_places(row, first));
                    }
                    assert_eq!(places.to_vec().unwrap(), expected, "{what}");
                    assert_bits(&values.to_vec().unwrap(), &expected_values, &what);
                }
            }
        }
    }
}

#[test]
fn functions_on_host_data_give_what_devices_give() -> warpfold::Result<()> {
    let keys: Vec<f64> = keys(Pattern::Random, 6000, 5);
    let device = Device::cpu();
    let (buffer, order, rows) = (
        device.upload(&keys)?,
        Order::default().nan_last(),
        Rows::new(6, 1000),
    );
    let of = |pair: (warpfold::Buffer<f64>, warpfold::Buffer<u64>)| {
        (
            pair.0
                .to_vec()
                .unwrap()
                .iter()
                .map(|x| x.to_bits())
                .collect::<Vec<_>>(),
            pair.1.to_vec().unwrap(),
        )
    };
    let bits = |pair: (Vec<f64>, Vec<u64>)| {
        (
            pair.0.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            pair.1,
        )
    };
    assert_eq!(
        bits(top_k(&keys, 9, order)?),
        of(device.top_k(&buffer, 9, order)?)
    );
    assert_eq!(
        bits(bottom_k(&keys, 9, order)?),
        of(device.bottom_k(&buffer, 9, order)?)
    );
    assert_eq!(
        bits(top_k_rows(&keys, rows, 9, order)?),
        of(device.top_k_rows(&buffer, rows, 9, order)?)
    );
    assert_eq!(
        bits(bottom_k_rows(&keys, rows, 9, order)?),
        of(device.bottom_k_rows(&buffer, rows, 9, order)?)
    );
    Ok(())
}

/// The direction of the order does not turn the top into the bottom.
#[test]
fn top_is_the_greatest_in_either_direction() -> warpfold::Result<()> {
    for order in [Order::ascending(), Order::descending()] {
        assert_eq!(top_k(&[3, 9, 4], 2, order)?, (vec![9, 4], vec![1, 2]));
        assert_eq!(bottom_k(&[3, 9, 4], 2, order)?, (vec![3, 4], vec![0, 2]));
    }
    Ok(())
}

#[test]
fn a_stream_gives_what_one_call_gives_wherever_pieces_end() -> warpfold::Result<()> {
    for pattern in PATTERNS {
        let keys: Vec<f32> = keys(pattern, 9000, 6);
        let ks = [0, 1, 7, 500, 10_000];
        for &k in in_turn(&format!("streams of {pattern:?}"), &ks) {
            for piece in [1, 13, 1000, 8999, 9000] {
                if piece == 1 && k > 7 {
                    continue;
                }
                let order = Order::default();
                let (mut top, mut bottom) = (TopK::top(k, order), TopK::bottom(k, order));
                for piece in keys.chunks(piece) {
                    top.push(piece)?;
                    bottom.push(piece)?;
                }
                let what = format!("{pattern:?} {k} {piece}");
                assert_eq!(top.items(), 9000);
                for (stream, (values, places)) in [
                    (top, top_k(&keys, k, order)?),
                    (bottom, bottom_k(&keys, k, order)?),
                ] {
                    assert_eq!(stream.places(), places, "{what}");
                    assert_bits(stream.values(), &values, &what);
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_stream_on_a_device_gives_what_one_call_gives() -> warpfold::Result<()> {
    for device in devices() {
        let keys: Vec<i32> = keys(Pattern::Skewed, 50_000, 6);
        let buffer = device.upload(&keys)?;
        let mut odd = device.top_k_stream::<i32>(70, Order::default());
        let mut least = device.bottom_k_stream::<i32>(70, Order::default());
        for start in (0..keys.len()).step_by(7000) {
            let piece = buffer.slice(start..keys.len().min(start + 7000));
            odd.push(flagged::<is_odd, _>(&piece))?;
            least.push(&piece)?;
        }
        let (values, places) = top_k(flagged::<is_odd, _>(&keys), 70, Order::default())?;
        assert_eq!((odd.values(), odd.places()), (&values[..], &places[..]));
        let (values, places) = bottom_k(&keys, 70, Order::default())?;
        assert_eq!((least.values(), least.places()), (&values[..], &places[..]));
    }
    Ok(())
}

#[test]
fn rows_that_do_not_fit_are_refused_by_name() {
    let error = top_k_rows(&[1, 2, 3, 4, 5], Rows::new(2, 2), 1, Order::default()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Segments {
                argument: "rows",
                ..
            }
        ),
        "{error}"
    );
    let (zipped, fewer) = ([1, 2, 3], [1_u8]);
    let error = top_k(zip(&zipped, flags(&fewer)), 1, Order::default()).unwrap_err();
    assert_eq!(
        error,
        Error::Zip {
            first: 3,
            second: 1
        }
    );
}
