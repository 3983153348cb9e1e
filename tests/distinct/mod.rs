//! Distinct values and groups: what the standard library's stable sort and a walk over it give.

use crate::sort::cases::{
    Floats, Key, ORDERS, PATTERNS, assert_bits, by_places, compare, keys, oracle,
};
use crate::support::devices;
use std::cmp::Ordering;
use warpfold::half::f16;
use warpfold::ops::{Add, Max};
use warpfold::{Device, Error, Order, group_by, lower_bound, reduce, unique_counts, unique_sorted};

/// The places of each distinct key's items, in the order of the input.
fn groups<K: Key>(order: (Order, bool, Floats), keys: &[K]) -> Vec<Vec<u64>> {
    let mut groups: Vec<Vec<u64>> = Vec::new();
    for place in oracle(order, keys) {
        let key = keys[place as usize];
        match groups.last_mut() {
            Some(group) if compare(order, keys[group[0] as usize], key) == Ordering::Equal => {
                group.push(place);
            }
            _ => groups.push(vec![place]),
        }
    }
    groups
}

fn check<K: Key>(device: &Device) {
    for (number, len) in [0, 1, 2, 33, 1000, 5003].into_iter().enumerate() {
        for pattern in PATTERNS {
            let data: Vec<K> = keys(pattern, len, number as u64);
            let values: Vec<f32> = (0..len).map(|i| (i as f32).sin() * 1e3).collect();
            let x = device.upload(&data).unwrap();
            let y = device.upload(&values).unwrap();
            for order in ORDERS {
                let what = format!("{device} {pattern:?} {len} {order:?}");
                let groups = groups(order, &data);
                let firsts: Vec<u64> = groups.iter().map(|group| group[0]).collect();
                let counts: Vec<u64> = groups.iter().map(|group| group.len() as u64).collect();
                let distinct = by_places(&data, &firsts);

                let given = device.unique_sorted(&x, order.0).unwrap();
                assert_bits(&given.to_vec().unwrap(), &distinct, &what);
                let given = device.unique_counts(&x, order.0).unwrap();
                assert_bits(&given.values.to_vec().unwrap(), &distinct, &what);
                assert_eq!(given.counts.to_vec().unwrap(), counts, "{what}");
                assert_eq!(given.firsts.to_vec().unwrap(), firsts, "{what}");

                let folds: Vec<f32> = groups
                    .iter()
                    .map(|group| reduce::<f32, Add>(&by_places(&values, group)).unwrap())
                    .collect();
                let given = device.group_by::<K, f32, Add>(&x, &y, order.0).unwrap();
                assert_bits(&given.keys.to_vec().unwrap(), &distinct, &what);
                assert_bits(&given.folds.to_vec().unwrap(), &folds, &what);
                assert_eq!(given.counts.to_vec().unwrap(), counts, "{what}");
            }
        }
    }
}

/// Floats too: what is equal to the order is one value, and a sum has the bits of its values alone.
#[test]
fn values_that_the_order_calls_equal_are_one() {
    for device in devices() {
        check::<u16>(&device);
        check::<i64>(&device);
        check::<f32>(&device);
        check::<f16>(&device);
    }
}

#[test]
fn the_forms_on_host_data_agree() -> warpfold::Result<()> {
    let x: Vec<i16> = keys(crate::sort::cases::Pattern::LowByte, 3000, 1);
    let order = Order::descending();
    let distinct = unique_counts(&x, order)?;
    assert_eq!(unique_sorted(&x, order)?, distinct.values);
    let inverse = lower_bound(&distinct.values, &x, order)?;
    assert_eq!(by_places(&distinct.values, &inverse), x);
    let values: Vec<u128> = (0..3000).map(|i| i * i).collect();
    let groups = group_by::<i16, u128, Max>(&x, &values, order)?;
    assert_eq!(
        (groups.keys, groups.counts),
        (distinct.values, distinct.counts)
    );
    let error = group_by::<i16, u128, Max>(&x, &values[1..], order).unwrap_err();
    let expected = Error::Pairs {
        keys: 3000,
        values: 2999,
    };
    assert_eq!(error, expected);
    Ok(())
}
