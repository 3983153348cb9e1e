//! On every device that there is.

use super::{MIXES, Mix, expected, offsets};
use crate::sort::cases::{Key, ORDERS, PATTERNS, Pattern, assert_bits, keys};
use crate::support::devices;
use crate::support::matrix::in_turn;
use warpfold::half::f16;
use warpfold::{
    Device, Error, Offsets, Order, Rows, Starts, function, map, segmented_argsort, segmented_sort,
};

fn check<K: Key>(device: &Device) {
    let mut seed = 0;
    for len in [0, 1, 7, 1000, 5000, 60_001] {
        for mix in MIXES {
            seed += 1;
            let order = ORDERS[seed as usize % 6];
            let pattern = PATTERNS[seed as usize % 8];
            let (keys, offsets) = (keys::<K>(pattern, len, seed), offsets(mix, len, seed));
            let name = std::any::type_name::<K>();
            let what = format!("{device} {name} {len} {mix:?} {pattern:?} {:?}", order.0);
            let (sorted, places) = expected(order, &keys, &offsets);
            let (mut buffer, bounds) = (
                device.upload(&keys).unwrap(),
                device.upload(&offsets).unwrap(),
            );
            let segments = device.offsets(&bounds).unwrap();
            let given = device
                .segmented_argsort(&buffer, segments, order.0)
                .unwrap();
            assert_eq!(given.to_vec().unwrap(), places, "{what}");
            let given = device.segmented_sort(&buffer, segments, order.0).unwrap();
            assert_bits(&given.to_vec().unwrap(), &sorted, &what);
            device
                .segmented_sort_in_place(&mut buffer, segments, order.0)
                .unwrap();
            assert_bits(&buffer.to_vec().unwrap(), &sorted, &what);
        }
    }
}

#[test]
fn segments_of_u32s_are_sorted_one_by_one() {
    devices().iter().for_each(check::<u32>);
}

#[test]
fn segments_of_floats_are_sorted_one_by_one() {
    for check in in_turn("segments of floats", &[check::<f32>, check::<f16>]) {
        devices().iter().for_each(check);
    }
}

#[test]
fn segments_of_other_sizes_are_sorted_one_by_one() {
    for check in in_turn("segments", &[check::<u8>, check::<i64>, check::<u128>]) {
        devices().iter().for_each(check);
    }
}

#[test]
fn rows_and_starts_are_segments_too() {
    for device in devices() {
        let x: Vec<i16> = keys(Pattern::Random, 3 * 4000, 1);
        let buffer = device.upload(&x).unwrap();
        for (rows, columns) in [(3, 4000), (12_000, 1), (1, 12_000), (2000, 6), (120, 100)] {
            let offsets: Vec<u64> = (0..=rows).map(|row| (row * columns) as u64).collect();
            let (sorted, places) = expected(ORDERS[1], &x, &offsets);
            let (rows, order) = (Rows::new(rows, columns), Order::descending());
            let given = device.segmented_sort(&buffer, rows, order).unwrap();
            assert_eq!(given.to_vec().unwrap(), sorted, "{device} {columns}");
            let given = device.segmented_argsort(&buffer, rows, order).unwrap();
            assert_eq!(given.to_vec().unwrap(), places, "{device} {columns}");
            let starts = device.upload(&offsets[..offsets.len() - 1]).unwrap();
            let starts = device.starts(&starts).unwrap();
            let given = device.segmented_argsort(&buffer, starts, order).unwrap();
            assert_eq!(given.to_vec().unwrap(), places, "{device} {columns}");
        }
    }
}

#[test]
fn mapped_sources_and_host_data_are_sorted_too() -> warpfold::Result<()> {
    #[function]
    fn negated(x: i32) -> i32 {
        x.wrapping_neg()
    }
    let x: Vec<i32> = keys(Pattern::Random, 5000, 1);
    let bounds = offsets(Mix::Hundreds, 5000, 2);
    let negative: Vec<i32> = x.iter().map(|&x| negated(x)).collect();
    let (sorted, places) = expected(ORDERS[0], &negative, &bounds);
    let (segments, order) = (Offsets::new(&bounds)?, Order::ascending());
    assert_eq!(
        segmented_sort(map::<negated, _>(&x), segments, order)?,
        sorted
    );
    assert_eq!(
        segmented_argsort(map::<negated, _>(&x), segments, order)?,
        places
    );
    Ok(())
}

#[test]
fn segments_beyond_the_items_are_refused_by_name() {
    let bounds = [0_u32, 2, 6];
    let segments = Offsets::new(&bounds).unwrap();
    let error = segmented_sort(&[1, 2, 3], segments, Order::ascending()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Segments {
                argument: "offsets",
                ..
            }
        ),
        "{error}"
    );
    let rows = Rows::new(2, 2);
    let error = segmented_argsort(&[1, 2, 3], rows, Order::ascending()).unwrap_err();
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
}

/// Unspecified, but within the items, and no panic.
#[test]
fn unchecked_offsets_that_fall_leave_every_item_there() {
    for device in devices() {
        let x: Vec<u32> = (0..50_000).map(|i| i * 7 % 1000).collect();
        let bounds = [40_000_u64, 10, 49_000, 49_000, 3, 9_999_999, 20_000];
        let (buffer, bounds) = (device.upload(&x).unwrap(), device.upload(&bounds).unwrap());
        let segments = Offsets::unchecked(&bounds).unwrap();
        let given = device
            .segmented_sort(&buffer, segments, Order::ascending())
            .unwrap();
        assert_eq!(given.to_vec().unwrap().len(), 50_000);
        let starts = Starts::unchecked(&bounds).unwrap();
        let given = device
            .segmented_argsort(&buffer, starts, Order::ascending())
            .unwrap();
        assert_eq!(given.to_vec().unwrap().len(), 50_000);
    }
}
