//! The n-th item, and quantiles.

use crate::sort::cases::{ORDERS, PATTERNS, Pattern, keys, oracle};
use crate::support::devices;
use half::bf16;
use warpfold::{
    Error, Interpolation, Order, Sortable, function, map, quantiles, select_nth, select_nths, sort,
};

#[test]
fn the_nth_item_is_that_of_the_stable_sort() {
    for device in devices() {
        for (number, pattern) in PATTERNS.into_iter().enumerate() {
            for len in [1, 2, 1000, 70_003] {
                let order = ORDERS[number % 6];
                let keys: Vec<f32> = keys(pattern, len, number as u64);
                let buffer = device.upload(&keys).unwrap();
                let places = oracle(order, &keys);
                for n in [0, len / 100, len / 2, len - 1] {
                    let given = device.select_nth(&buffer, n, order.0).unwrap();
                    let expected = keys[places[n] as usize];
                    let what = format!("{device} {pattern:?} {len} {n} {:?}", order.0);
                    assert_eq!(given.to_bits(), expected.to_bits(), "{what}");
                }
            }
        }
    }
}

/// Bits are compared: of equals the first comes first, so zeros have signs and NaNs payloads.
#[test]
fn several_places_have_the_items_of_the_stable_sort() {
    fn check<K: Sortable + warpfold::Candidate<Key = K>>(keys: &[K], order: Order) {
        let len = keys.len();
        let mut places = vec![len - 1, 0, len / 2, len / 2 + 1, len / 2, len / 7, 5000];
        let sorted = sort(keys, order).unwrap();
        let expect = |places: &[usize]| -> Vec<K> { places.iter().map(|&n| sorted[n]).collect() };
        let bytes = |items: &[K]| warpfold::bytemuck::cast_slice::<K, u8>(items).to_vec();
        let check = |places: &[usize]| {
            let expected = bytes(&expect(places));
            let given = select_nths(keys, places, order).unwrap();
            assert_eq!(bytes(&given), expected, "{order:?} {places:?}");
            for device in devices().into_iter().filter(|device| !device.is_cpu()) {
                let buffer = device.upload(keys).unwrap();
                let given = device.select_nths(&buffer, places, order).unwrap();
                assert_eq!(bytes(&given), expected, "{device} {order:?} {places:?}");
            }
        };
        check(&places);
        // All neighbours of a place, and more places than there are tables.
        check(&(len / 2 - 10..len / 2 + 10).collect::<Vec<_>>());
        places.extend((0..len).step_by(len / 40));
        check(&places);
        check(&[]);
    }
    let len = 70_001;
    let mixed = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
    let (zero, nan) = (|i: usize| mixed(i) % 3, |i: usize| mixed(i) % 5 == 0);
    for order in ORDERS {
        let order = order.0;
        // Zeros of both signs, and NaNs of several payloads, among few numbers.
        let floats: Vec<f32> = (0..len)
            .map(|i| match (zero(i), nan(i)) {
                (_, true) => f32::from_bits(0x7fc0_0000 | (mixed(i) as u32 & 0x8000_00ff)),
                (0, _) => 0.0,
                (1, _) => -0.0,
                _ => (mixed(i) % 7) as f32 - 3.0,
            })
            .collect();
        check(&floats, order);
        let halves: Vec<bf16> = floats.iter().map(|&x| bf16::from_f32(x)).collect();
        check(&halves, order);
        check(
            &(0..len).map(|i| mixed(i) as f64).collect::<Vec<_>>(),
            order,
        );
        // Ranks that share all digits but the last, and such that share none.
        check(
            &(0..len)
                .map(|i| (mixed(i) % 9) as i64 - 4)
                .collect::<Vec<_>>(),
            order,
        );
        check(&(0..len).map(|i| mixed(i) as u8).collect::<Vec<_>>(), order);
        check(
            &(0..len)
                .map(|i| i128::from(mixed(i)) << 70)
                .collect::<Vec<_>>(),
            order,
        );
        check(&vec![-7_i16; len], order);
    }
    let error = select_nths(&[1, 2], &[0, 2], Order::default()).unwrap_err();
    assert!(
        error.to_string().contains("`places` have 2 at 1"),
        "{error}"
    );
}

#[test]
fn a_place_behind_the_last_item_is_refused_by_name() {
    let error = select_nth(&[1, 2, 3], 3, Order::default()).unwrap_err();
    assert!(
        matches!(error, Error::Argument { argument: "n", .. }),
        "{error}"
    );
    assert!(error.to_string().contains("there are 3 items"), "{error}");
    let empty: [f32; 0] = [];
    select_nth(&empty, 0, Order::default()).unwrap_err();
    for device in devices() {
        let buffer = device.upload(&[1_u8]).unwrap();
        device.select_nth(&buffer, 1, Order::default()).unwrap_err();
    }
}

#[test]
fn quantiles_are_those_of_numpy_by_every_name() {
    let number = |i: usize| ((i * 37) % 101) as f64 / 8.0 - 3.0;
    let of_bits = |text: &str| f64::from_bits(u64::from_str_radix(text, 16).unwrap());
    let mut names = std::collections::BTreeSet::new();
    for line in include_str!("../data/quantiles.txt").lines() {
        let [method, len, level, value] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let rule: Interpolation = method.parse().unwrap();
        assert_eq!(rule.to_string(), method);
        names.insert(method);
        let x: Vec<f64> = (0..len.parse().unwrap()).map(number).collect();
        let given = quantiles(&x, &[of_bits(level)], rule).unwrap()[0];
        let what = format!("{method} {len} {}", of_bits(level));
        assert_eq!(given.to_bits(), of_bits(value).to_bits(), "{what}: {given}");
    }
    assert_eq!(names.len(), 13);
}

#[test]
fn quantiles_on_devices_are_those_of_host_data() -> warpfold::Result<()> {
    #[function]
    fn halved(x: i32) -> f64 {
        x as f64 * 0.5
    }
    let levels = [0.001, 0.5, 0.25, 1.0];
    for device in devices() {
        let x: Vec<i32> = keys(Pattern::Random, 30_000, 2);
        let buffer = device.upload(&x)?;
        for rule in ["linear", "hazen", "lower"] {
            let rule = rule.parse()?;
            assert_eq!(
                device.quantiles(&buffer, &levels, rule)?,
                quantiles(&x, &levels, rule)?
            );
            let source = map::<halved, _>(&buffer);
            let halves: Vec<f64> = x.iter().map(|&x| halved(x)).collect();
            assert_eq!(
                device.quantiles(source, &levels, rule)?,
                quantiles(&halves, &levels, rule)?
            );
        }
        let sorted = sort(&x, Order::ascending())?;
        let median = quantiles(&x, &[0.5], Interpolation::Higher)?[0];
        assert_eq!(median, f64::from(sorted[15_000]));
    }
    Ok(())
}

#[test]
fn a_nan_or_nothing_makes_quantiles_nan_and_bad_levels_are_refused() -> warpfold::Result<()> {
    let rule = Interpolation::Linear;
    assert!(
        quantiles(&[1.0, f32::NAN, 2.0], &[0.0, 0.5], rule)?
            .iter()
            .all(|x| x.is_nan())
    );
    let empty: [f32; 0] = [];
    assert!(quantiles(&empty, &[0.5], rule)?[0].is_nan());
    assert!(quantiles(&[1.0_f32], &[], rule)?.is_empty());
    assert_eq!(
        quantiles(&[1.0, f32::INFINITY], &[0.5], rule)?,
        [f64::INFINITY]
    );
    for level in [-0.1, 1.5, f64::NAN] {
        let error = quantiles(&[1.0_f32], &[0.5, level], rule).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Argument {
                    argument: "levels",
                    ..
                }
            ),
            "{error}"
        );
        assert!(error.to_string().contains("at 1"), "{error}");
    }
    let error = "cubic".parse::<Interpolation>().unwrap_err();
    assert!(error.to_string().contains("median_unbiased"), "{error}");
    Ok(())
}
