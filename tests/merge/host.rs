//! On every device that there is.

use super::{Fraction, fractions, lengths, less, merged, sorted};
use crate::sort::cases::{Key, ORDERS, PATTERNS, assert_bits, by_places, keys, oracle};
use crate::support::devices;
use std::fmt::Debug;
use warpfold::half::f16;
use warpfold::{Device, Element, Order, function, map, merge, merge_by, sort_by, sort_in_place_by};

fn check<K: Key>(device: &Device) {
    for (number, (len, other)) in lengths(2816).into_iter().enumerate() {
        for (pattern, order) in PATTERNS
            .into_iter()
            .zip(ORDERS.into_iter().cycle().skip(number))
        {
            let [a, b] = [(len, 1), (other, 2)].map(|(len, seed)| {
                let data: Vec<K> = keys(pattern, len, seed);
                by_places(&data, &oracle(order, &data))
            });
            let expected = merged(order, &a, &b);
            let (x, y) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
            let given = device.merge(&x, &y, order.0).unwrap();
            let what = format!("{device} {pattern:?} {len} {other} {order:?}");
            assert_bits(&given.to_vec().unwrap(), &expected, &what);
        }
    }
}

/// Bits too: of zeros and NaNs, those of the first array come first.
#[test]
fn a_merge_is_the_stable_sort_of_both_arrays() {
    for device in devices() {
        check::<u8>(&device);
        check::<i32>(&device);
        check::<f32>(&device);
        check::<f64>(&device);
        check::<f16>(&device);
        check::<u128>(&device);
    }
}

#[test]
fn a_sort_by_a_comparison_is_the_stable_one() {
    for device in devices() {
        for len in [0, 1, 2, 3, 33, 895, 897, 2000, 20_000, 100_003] {
            let data = fractions(len, len as u64);
            let expected = sorted(data.clone());
            let mut buffer = device.upload(&data).unwrap();
            let given = device.sort_by::<Fraction, less>(&buffer).unwrap();
            assert_eq!(given.to_vec().unwrap(), expected, "{device} {len}");
            device
                .sort_in_place_by::<Fraction, less>(&mut buffer)
                .unwrap();
            assert_eq!(buffer.to_vec().unwrap(), expected, "{device} {len}");

            let (a, b) = (sorted(fractions(len, 1)), sorted(fractions(len / 3, 2)));
            let expected = sorted([&a[..], &b].concat());
            let (a, b) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
            let given = device.merge_by::<Fraction, less>(&a, &b).unwrap();
            assert_eq!(given.to_vec().unwrap(), expected, "{device} {len}");
        }
    }
}

macro_rules! by_first {
    ($($name:ident: $type:ty;)*) => {$(
        #[function]
        fn $name(a: $type, b: $type) -> bool {
            a[0] < b[0]
        }
    )*};
}

by_first! { bytes: [u8; 3]; words: [u16; 5]; long: [u64; 3]; longest: [f32; 16]; }

#[test]
fn items_of_any_size_are_sorted_by_a_comparison() {
    fn check<T, Less>(of: impl Fn(usize) -> T)
    where
        T: Element + PartialEq + Debug,
        Less: warpfold::Function<Input = (T, T), Output = bool>,
    {
        for device in devices() {
            let data: Vec<T> = (0..5000).map(&of).collect();
            let mut expected = data.clone();
            expected.sort_by(|&a, &b| Less::call((b, a)).cmp(&Less::call((a, b))));
            let given = device.upload(&data).unwrap();
            let given = device.sort_by::<T, Less>(&given).unwrap();
            assert_eq!(given.to_vec().unwrap(), expected, "{device}");
        }
    }
    let hash = |i: usize| (i as u32).wrapping_mul(0x9E37_79B1) >> 20;
    check::<_, bytes>(|i| [hash(i) as u8, i as u8, (i >> 8) as u8]);
    check::<_, words>(|i| [hash(i) as u16, 1, 2, 3, i as u16]);
    check::<_, long>(|i| [hash(i).into(), 0, i as u64]);
    check::<_, longest>(|i| [hash(i) as f32; 16]);
}

#[function]
fn negated(x: i32) -> i32 {
    x.wrapping_neg()
}

/// Sources that are no slices, on host data, and the forms in place.
#[test]
fn the_forms_of_merges_on_host_data_agree() -> warpfold::Result<()> {
    let (a, b) = ([5, 1, -3], [-2, -1, 4]);
    let given = merge(map::<negated, _>(&a), &b, Order::ascending())?;
    assert_eq!(given, [-5, -2, -1, -1, 3, 4]);
    let data = fractions(3000, 1);
    let expected = sorted(data.clone());
    assert_eq!(sort_by::<Fraction, less>(&data)?, expected);
    let mut in_place = data.clone();
    sort_in_place_by::<Fraction, less>(&mut in_place)?;
    assert_eq!(in_place, expected);
    let given = merge_by::<Fraction, less>(&expected, &[] as &[Fraction])?;
    assert_eq!(given, expected);
    Ok(())
}

#[function]
fn below(a: f32, b: f32) -> bool {
    a < b
}

/// `<` is no comparison of NaN. The documentation promises nothing then but an end.
#[test]
fn what_is_no_comparison_ends() {
    let data: Vec<f32> = keys(PATTERNS[0], 20_000, 3);
    for device in devices() {
        let buffer = device.upload(&data).unwrap();
        assert_eq!(device.sort_by::<f32, below>(&buffer).unwrap().len(), 20_000);
        assert_eq!(
            device
                .merge_by::<f32, below>(&buffer, &buffer)
                .unwrap()
                .len(),
            40_000
        );
    }
}
