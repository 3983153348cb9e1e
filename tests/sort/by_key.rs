//! Sorts by keys: numbers and tuples, of items of any size.

use super::cases::{Key, ORDERS, PATTERNS, Pattern, by_places, compare, keys};
use crate::support::devices;
use std::cmp::Ordering;
use std::fmt::Debug;
use warpfold::{
    Device, Element, Order, SortKey, argsort, argsort_by_key, function, sort_by_key,
    sort_by_key_in_place, zip, zip3,
};

/// Columns whose first ones have few values, so that the next ones decide.
fn column<K: Key>(number: u64, len: usize) -> Vec<K> {
    let pattern = [
        Pattern::Two,
        Pattern::LowByte,
        Pattern::Random,
        Pattern::Skewed,
    ];
    keys(pattern[number as usize % 4], len, 100 + number)
}

/// The places in the order that `compare` says, by the standard library's stable sort.
fn places_by(len: usize, compare: impl Fn(usize, usize) -> Ordering) -> Vec<u64> {
    let mut places: Vec<u64> = (0..len as u64).collect();
    places.sort_by(|&a, &b| compare(a as usize, b as usize));
    places
}

const LENGTHS: [usize; 6] = [0, 1, 2, 33, 1000, 20_001];

fn check_pairs<A: Key, B: Key>(device: &Device)
where
    (A, B): SortKey,
{
    for (number, len) in LENGTHS.into_iter().enumerate() {
        let (a, b) = (column::<A>(number as u64, len), column::<B>(2, len));
        let (x, y) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
        for order in ORDERS {
            let expected = places_by(len, |i, j| {
                compare(order, a[i], a[j]).then(compare(order, b[i], b[j]))
            });
            let given = device.argsort(zip(&x, &y), order.0).unwrap();
            assert_eq!(
                given.to_vec().unwrap(),
                expected,
                "{device} {len} {order:?}"
            );
        }
    }
}

fn check_triples<A: Key, B: Key, C: Key>(device: &Device)
where
    (A, B, C): SortKey,
{
    for len in LENGTHS {
        let (a, b) = (column::<A>(0, len), column::<B>(0, len));
        let c = column::<C>(2, len);
        let (x, y) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
        let z = device.upload(&c).unwrap();
        for order in ORDERS {
            let expected = places_by(len, |i, j| {
                let first = compare(order, a[i], a[j]).then(compare(order, b[i], b[j]));
                first.then(compare(order, c[i], c[j]))
            });
            let given = device.argsort(zip3(&x, &y, &z), order.0).unwrap();
            assert_eq!(
                given.to_vec().unwrap(),
                expected,
                "{device} {len} {order:?}"
            );
        }
    }
}

/// One integer of 32, 64 and 128 bits.
#[test]
fn tuples_that_one_integer_holds_are_sorted_part_by_part() {
    for device in devices() {
        check_pairs::<u8, i8>(&device);
        check_pairs::<i16, f32>(&device);
        check_pairs::<f64, u64>(&device);
        check_triples::<warpfold::half::f16, u8, i32>(&device);
    }
}

#[test]
fn wider_tuples_are_sorted_part_by_part() {
    for device in devices() {
        check_pairs::<u128, u8>(&device);
        check_pairs::<u8, i128>(&device);
        check_triples::<f64, i128, f32>(&device);
        check_triples::<u64, f64, i64>(&device);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Element)]
#[repr(C)]
struct Small {
    a: u16,
    b: i16,
}

#[function]
fn small_key(x: Small) -> (i16, u16) {
    (x.b, x.a / 16)
}

#[derive(Debug, Clone, Copy, PartialEq, Element)]
#[repr(C)]
struct Large {
    a: f32,
    b: u32,
    rest: [u64; 7],
}

#[function]
fn large_key(x: Large) -> f32 {
    x.a
}

#[function]
fn wide_key(x: Large) -> (u128, f32, u32) {
    (x.b as u128 % 3, x.a, x.b)
}

fn check_items<T, F>(device: &Device, items: &[T], expected: &[T], order: Order)
where
    T: Element + PartialEq + Debug + warpfold::source::Feeds<F::Input>,
    F: warpfold::Function<Output: SortKey>,
{
    let buffer = device.upload(items).unwrap();
    let sorted = device.sort_by_key::<T, F>(&buffer, order).unwrap();
    assert_eq!(sorted.to_vec().unwrap(), expected, "{device}");
    let mut buffer = buffer;
    device
        .sort_by_key_in_place::<T, F>(&mut buffer, order)
        .unwrap();
    assert_eq!(buffer.to_vec().unwrap(), expected, "{device}");
}

#[test]
fn items_of_any_size_are_sorted_by_a_key() {
    for device in devices() {
        for len in LENGTHS {
            let (a, b) = (column::<u16>(2, len), column::<i16>(1, len));
            let items: Vec<Small> = a.iter().zip(&b).map(|(&a, &b)| Small { a, b }).collect();
            let places = places_by(len, |i, j| {
                let key = |i: usize| (items[i].b, items[i].a / 16);
                key(j).cmp(&key(i))
            });
            let expected = by_places(&items, &places);
            check_items::<Small, small_key>(&device, &items, &expected, Order::descending());

            let (a, b) = (column::<f32>(1, len), column::<u32>(2, len));
            let item = |i: usize| Large {
                a: if a[i].is_nan() { 0.5 } else { a[i] },
                b: b[i],
                rest: [i as u64; 7],
            };
            let items: Vec<Large> = (0..len).map(item).collect();
            let places = places_by(len, |i, j| items[i].a.partial_cmp(&items[j].a).unwrap());
            let expected = by_places(&items, &places);
            check_items::<Large, large_key>(&device, &items, &expected, Order::ascending());
            let places = places_by(len, |i, j| {
                let key = |i: usize| (items[i].b % 3, items[i].a, items[i].b);
                key(i).partial_cmp(&key(j)).unwrap()
            });
            let expected = by_places(&items, &places);
            check_items::<Large, wide_key>(&device, &items, &expected, Order::ascending());
        }
    }
}

#[function]
fn product(a: u32, b: u32) -> u64 {
    a as u64 * b as u64
}

#[test]
fn the_forms_by_keys_on_host_data_agree() -> warpfold::Result<()> {
    let (a, b) = (column::<u16>(2, 3000), column::<i16>(1, 3000));
    let items: Vec<Small> = a.iter().zip(&b).map(|(&a, &b)| Small { a, b }).collect();
    let order = Order::ascending();
    let sorted = sort_by_key::<Small, small_key>(&items, order)?;
    let places = argsort_by_key::<small_key>(&items, order)?;
    assert_eq!(by_places(&items, &places), sorted);
    let mut data = items.clone();
    sort_by_key_in_place::<Small, small_key>(&mut data, order)?;
    assert_eq!(data, sorted);

    let (x, y) = (column::<u32>(0, 3000), column::<u32>(2, 3000));
    let products: Vec<u64> = x.iter().zip(&y).map(|(&a, &b)| product(a, b)).collect();
    let places = argsort_by_key::<product>(zip(&x, &y), order)?;
    assert_eq!(places, argsort(&products, order)?);
    let error = argsort(zip(&x, &y[1..]), order).unwrap_err();
    assert!(error.to_string().contains("3000"), "{error}");
    Ok(())
}

#[test]
fn keys_of_one_part_are_sorted_as_numbers() -> warpfold::Result<()> {
    #[function]
    fn alone(x: f32) -> (f32,) {
        (x,)
    }
    for pattern in PATTERNS {
        let x: Vec<f32> = keys(pattern, 500, 3);
        for (order, ..) in ORDERS {
            assert_eq!(argsort_by_key::<alone>(&x, order)?, argsort(&x, order)?);
        }
    }
    Ok(())
}
