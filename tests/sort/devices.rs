//! On every device that there is.

use super::cases::{Key, ORDERS, PATTERNS, assert_bits, by_places, keys, oracle};
use crate::support::devices;
use warpfold::half::{bf16, f16};
use warpfold::{
    Device, Error, Order, argsort, argsort_into, function, map, sort, sort_in_place, sort_into,
    sort_pairs, sort_pairs_in_place,
};

/// Lengths on both sides of where the CPU changes its way: few, a part of a cache, several parts;
/// and of a GPU's tiles.
const LENGTHS: [usize; 11] = [0, 1, 2, 3, 31, 192, 193, 1000, 8192, 8193, 70_001];

fn check<K: Key>(device: &Device) {
    for (seed, &len) in LENGTHS.iter().enumerate() {
        for (number, pattern) in PATTERNS.into_iter().enumerate() {
            // Long ones in one order each.
            let seed = seed + number;
            let all = if len <= 1000 {
                &ORDERS[..]
            } else {
                &ORDERS[seed % 6..][..1]
            };
            for &order in all {
                let type_name = std::any::type_name::<K>();
                let what = format!("{device} {type_name} {pattern:?} {len} {order:?}");
                let keys: Vec<K> = keys(pattern, len, seed as u64);
                let places = oracle(order, &keys);
                let sorted = by_places(&keys, &places);

                let buffer = device.upload(&keys).unwrap();
                let given = device.sort(&buffer, order.0).unwrap().to_vec().unwrap();
                assert_bits(&given, &sorted, &what);
                let given = device.argsort(&buffer, order.0).unwrap().to_vec().unwrap();
                assert_eq!(given, places, "{what}");

                let values: Vec<[u16; 3]> =
                    (0..len).map(|i| [i as u16, 7, (i >> 16) as u16]).collect();
                let values = device.upload(&values).unwrap();
                let (given, moved) = device.sort_pairs(&buffer, &values, order.0).unwrap();
                assert_bits(&given.to_vec().unwrap(), &sorted, &what);
                let expected = by_places(&values.to_vec().unwrap(), &places);
                assert_eq!(moved.to_vec().unwrap(), expected, "{what}");
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
    bytes_are_sorted_as_by_the_standard_library: u8;
    signed_bytes_are_sorted_as_by_the_standard_library: i8;
    u16s_are_sorted_as_by_the_standard_library: u16;
    i16s_are_sorted_as_by_the_standard_library: i16;
    u32s_are_sorted_as_by_the_standard_library: u32;
    i32s_are_sorted_as_by_the_standard_library: i32;
    u64s_are_sorted_as_by_the_standard_library: u64;
    i64s_are_sorted_as_by_the_standard_library: i64;
    u128s_are_sorted_as_by_the_standard_library: u128;
    i128s_are_sorted_as_by_the_standard_library: i128;
    halves_are_sorted_as_by_the_standard_library: f16;
    bfloats_are_sorted_as_by_the_standard_library: bf16;
    floats_are_sorted_as_by_the_standard_library: f32;
    doubles_are_sorted_as_by_the_standard_library: f64;
}

/// More than a core's cache holds: buckets of the highest bits, in slices that start anywhere in a
/// line of the cache.
#[test]
fn slices_of_many_buckets_are_sorted_wherever_they_start() {
    let len = 300_007;
    for (number, pattern) in PATTERNS.into_iter().enumerate() {
        let order = ORDERS[number % 6];
        let keys: Vec<f32> = keys(pattern, len + number, number as u64);
        let mut data = keys.clone();
        let keys = &keys[number..];
        let places = oracle(order, keys);
        let what = format!("{pattern:?} from {number}");
        assert_eq!(argsort(keys, order.0).unwrap(), places, "{what}");
        let sorted = by_places(keys, &places);
        sort_in_place(&mut data[number..], order.0).unwrap();
        assert_bits(&data[number..], &sorted, &what);
        data.fill(0.5);
        sort_into(keys, order.0, &mut data[number..]).unwrap();
        assert_bits(&data[number..], &sorted, &what);
        // Pairs of six bytes fill no line.
        let values: Vec<u16> = (0..len).map(|i| i as u16).collect();
        let (given, moved) = sort_pairs(keys, &values, order.0).unwrap();
        assert_bits(&given, &sorted, &what);
        assert_eq!(moved, by_places(&values, &places), "{what}");
    }
}

/// Nearly all keys agree in their highest bits: so they are a bucket that fits no cache.
#[test]
fn a_bucket_of_nearly_all_keys_is_sorted() {
    let len = 700_003_u32;
    let keys: Vec<u32> = (0..len)
        .map(|i| match i % 1000 {
            0 => i.wrapping_mul(2_654_435_761),
            _ => i.wrapping_mul(2_654_435_761) >> 8,
        })
        .collect();
    for order in [ORDERS[0], ORDERS[1]] {
        let sorted = by_places(&keys, &oracle(order, &keys));
        assert_eq!(sort(&keys, order.0).unwrap(), sorted);
        let mut output = vec![0; keys.len()];
        sort_into(&keys, order.0, &mut output).unwrap();
        assert_eq!(output, sorted);
        output.copy_from_slice(&keys);
        sort_in_place(&mut output, order.0).unwrap();
        assert_eq!(output, sorted);
    }
}

/// Falling keys are turned round at once: equals among them stay in their order.
#[test]
fn equals_of_falling_keys_stay_in_their_order() {
    for len in [193, 1001, 300_000] {
        let keys: Vec<u32> = (0..len).map(|i| (len - i) / 3).collect();
        let values: Vec<u32> = (0..len).collect();
        for order in [ORDERS[0], ORDERS[1]] {
            let places = oracle(order, &keys);
            let (sorted, moved) = sort_pairs(&keys, &values, order.0).unwrap();
            assert_eq!(sorted, by_places(&keys, &places), "{len}");
            assert_eq!(moved, by_places(&values, &places), "{len}");
            assert_eq!(argsort(&keys, order.0).unwrap(), places, "{len}");
            let mut output = vec![0; keys.len()];
            sort_into(&keys, order.0, &mut output).unwrap();
            assert_eq!(output, sorted, "{len}");
        }
    }
}

/// Values of sizes that move with their keys, and of sizes that move once.
#[test]
fn values_of_any_size_move_with_their_keys() {
    fn check<V: warpfold::Element + PartialEq + std::fmt::Debug>(of: impl Fn(usize) -> V) {
        for device in devices() {
            for len in [0, 1, 5, 1000, 40_000] {
                let keys: Vec<u16> = keys(super::cases::Pattern::Random, len, 7);
                let values: Vec<V> = (0..len).map(&of).collect();
                let places = oracle(ORDERS[1], &keys);
                let mut sorted = device.upload(&keys).unwrap();
                let mut moved = device.upload(&values).unwrap();
                let order = Order::descending();
                device
                    .sort_pairs_in_place(&mut sorted, &mut moved, order)
                    .unwrap();
                assert_eq!(sorted.to_vec().unwrap(), by_places(&keys, &places));
                assert_eq!(moved.to_vec().unwrap(), by_places(&values, &places));
            }
        }
    }
    check(|i| i as u8);
    check(|i| [i as u8, 1, (i >> 8) as u8]);
    check(|i| i as u128);
    check(|i| [i as u32; 4]);
    check(|i| [i as u32; 5]);
    check(|i| [i as f64; 8]);
}

/// The forms on host data: into, in place, of sources.
#[test]
fn all_forms_on_host_data_agree() -> warpfold::Result<()> {
    #[function]
    fn negated(x: i32) -> i32 {
        x.wrapping_neg()
    }

    let keys: Vec<i32> = keys(super::cases::Pattern::Random, 3000, 1);
    let values: Vec<u64> = (0..3000).collect();
    let order = Order::descending();
    let places = oracle(ORDERS[1], &keys);
    let sorted = by_places(&keys, &places);
    assert_eq!(sort(&keys, order)?, sorted);
    let mut output = vec![0; 3000];
    sort_into(&keys, order, &mut output)?;
    assert_eq!(output, sorted);
    output.copy_from_slice(&keys);
    sort_in_place(&mut output, order)?;
    assert_eq!(output, sorted);
    assert_eq!(
        sort_pairs(&keys, &values, order)?,
        (sorted.clone(), places.clone())
    );
    let (mut k, mut v) = (keys.clone(), values.clone());
    sort_pairs_in_place(&mut k, &mut v, order)?;
    assert_eq!((k, v), (sorted, places.clone()));
    let mut output = vec![0; 3000];
    argsort_into(&keys, order, &mut output)?;
    assert_eq!(output, places);
    let ascending = argsort(map::<negated, _>(&keys), Order::ascending())?;
    let negative: Vec<i32> = keys.iter().map(|x| x.wrapping_neg()).collect();
    assert_eq!(ascending, oracle(ORDERS[0], &negative));
    Ok(())
}

#[test]
fn lengths_that_differ_are_refused_by_name() {
    let order = Order::ascending();
    let error = sort_pairs(&[1_u8, 2], &[1.0_f32], order).unwrap_err();
    assert_eq!(error, Error::Pairs { keys: 2, values: 1 });
    let text = error.to_string();
    assert!(
        text.contains("2 keys") && text.contains("1 values"),
        "{text}"
    );
    let (mut keys, mut values) = ([2_u8, 1], [1.0_f32]);
    let error = sort_pairs_in_place(&mut keys, &mut values, order).unwrap_err();
    assert_eq!(error, Error::Pairs { keys: 2, values: 1 });
    assert_eq!(keys, [2, 1], "as it was");
    let mut short = [9_u8];
    let error = sort_into(&[2_u8, 1], order, &mut short).unwrap_err();
    assert_eq!(
        error,
        Error::Length {
            input: 2,
            output: 1
        }
    );
    assert_eq!(short, [9], "as it was");
    let mut short = [9_u64; 3];
    let error = argsort_into(&[2_u8, 1], order, &mut short).unwrap_err();
    assert_eq!(
        error,
        Error::Length {
            input: 2,
            output: 3
        }
    );
}
