//! On every device that there is.

use crate::sort::cases::{Key, ORDERS, PATTERNS, Pattern, by_places, compare, keys, oracle};
use crate::support::devices;
use std::cmp::Ordering;
use warpfold::half::bf16;
use warpfold::{
    Device, Order, function, is_sorted, is_sorted_until, lower_bound, map, upper_bound,
};

/// How many of the sorted numbers come before each needle, and how many come before it or are
/// equal.
pub(crate) fn counted<K: Key>(
    order: (Order, bool, crate::sort::cases::Floats),
    sorted: &[K],
    needles: &[K],
) -> [Vec<u64>; 2] {
    [false, true].map(|equals| {
        let comes_before = |x: K, needle: K| match compare(order, x, needle) {
            Ordering::Less => true,
            Ordering::Equal => equals,
            Ordering::Greater => false,
        };
        let count = |&needle: &K| sorted.partition_point(|&x| comes_before(x, needle)) as u64;
        needles.iter().map(count).collect()
    })
}

fn check<K: Key>(device: &Device) {
    for (number, len) in [0, 1, 2, 3, 31, 32, 33, 1000, 4097].into_iter().enumerate() {
        for pattern in PATTERNS {
            let data: Vec<K> = keys(pattern, len, number as u64);
            let mut needles: Vec<K> = keys(Pattern::Random, 200, 77);
            needles.extend(data.iter().step_by(7));
            let x = device.upload(&needles).unwrap();
            for order in ORDERS {
                let what = format!("{device} {pattern:?} {len} {order:?}");
                let sorted = by_places(&data, &oracle(order, &data));
                let [lower, upper] = counted(order, &sorted, &needles);
                let sorted = device.upload(&sorted).unwrap();
                let given = device.lower_bound(&sorted, &x, order.0).unwrap();
                assert_eq!(given.to_vec().unwrap(), lower, "{what}");
                let given = device.upper_bound(&sorted, &x, order.0).unwrap();
                assert_eq!(given.to_vec().unwrap(), upper, "{what}");

                assert!(device.is_sorted(&sorted, order.0).unwrap(), "{what}");
                let until = data
                    .windows(2)
                    .position(|pair| compare(order, pair[1], pair[0]) == Ordering::Less);
                let until = until.map_or(len as u64, |place| place as u64 + 1);
                let buffer = device.upload(&data).unwrap();
                let given = device.is_sorted_until(&buffer, order.0).unwrap();
                assert_eq!(given, until, "{what}");
                let given = device.is_sorted(&buffer, order.0).unwrap();
                assert_eq!(given, until == len as u64, "{what}");
            }
        }
    }
}

#[test]
fn bounds_are_counts_of_what_comes_before() {
    for device in devices() {
        check::<u8>(&device);
        check::<i64>(&device);
        check::<f32>(&device);
        check::<bf16>(&device);
        check::<u128>(&device);
    }
}

#[function]
fn halved(x: i32) -> i32 {
    x / 2
}

/// Sources that are no slices, on host data.
#[test]
fn sorted_numbers_and_needles_may_be_any_sources() -> warpfold::Result<()> {
    let (sorted, needles) = ([-4, 0, 2, 6, 7, 20], [-2, 3, 11]);
    let order = Order::ascending();
    assert_eq!(
        lower_bound(map::<halved, _>(&sorted), &needles, order)?,
        [0, 3, 6]
    );
    assert_eq!(
        upper_bound(&sorted, map::<halved, _>(&needles), order)?,
        [1, 2, 3]
    );
    assert!(is_sorted(map::<halved, _>(&sorted), order)?);
    assert_eq!(is_sorted_until(map::<halved, _>(&[8, 9, 4, 1]), order)?, 2);
    Ok(())
}

/// The documentation promises a place, and one for all devices.
#[test]
fn in_unsorted_numbers_all_devices_find_one_place() {
    let data: Vec<f32> = keys(Pattern::Random, 3000, 5);
    let needles: Vec<f32> = keys(Pattern::Random, 3000, 6);
    let order = Order::descending();
    let expected = lower_bound(&data, &needles, order).unwrap();
    assert!(expected.iter().all(|&place| place <= 3000));
    for device in devices() {
        let (data, needles) = (
            device.upload(&data).unwrap(),
            device.upload(&needles).unwrap(),
        );
        let given = device.lower_bound(&data, &needles, order).unwrap();
        assert_eq!(given.to_vec().unwrap(), expected, "{device}");
    }
}
