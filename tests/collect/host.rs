//! Collect: every item of a source at its position, on every device.

use crate::support::data::{assert_same, sample};
use crate::support::devices;
use warpfold::ops::Add;
use warpfold::{
    Device, Error, collect, constant, function, index, map, reduce, strided, zip, zip3,
};

/// Around blocks, chunks, and what goes past the caches.
const LENGTHS: &[usize] = &[
    0, 1, 2, 31, 33, 1000, 1023, 4097, 65_536, 131_073, 1_000_003, 6_000_001,
];

#[function]
fn sum(x: f32, y: f32, place: u64) -> f32 {
    x + y * place as f32
}

#[function]
fn tripled(x: u16) -> u16 {
    x.wrapping_mul(3)
}

#[test]
fn every_item_is_stored_at_its_position() {
    for &length in LENGTHS {
        let (a, b) = (sample::<f32>(length, 1), sample::<f32>(length, 2));
        let source = map::<sum, _>(zip3(&a, &b, index(length)));
        let all = a.iter().zip(&b).zip(0_u64..);
        let expected: Vec<f32> = all.map(|((&x, &y), i)| sum(x, y, i)).collect();
        assert_same(&collect(source).unwrap(), &expected, &length.to_string());
        for device in devices() {
            let (a, b) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
            let source = || map::<sum, _>(zip3(&a, &b, index(length)));
            let what = format!("{device}, {length} items");
            let got = device.collect(source()).unwrap();
            assert_same(&got.to_vec().unwrap(), &expected, &what);
            let mut output = device.upload(&vec![7.0; length]).unwrap();
            device.collect_into(source(), &mut output).unwrap();
            assert_same(&output.to_vec().unwrap(), &expected, &what);
        }
    }
}

#[test]
fn elements_are_replaced_in_place() {
    for &length in LENGTHS {
        let data = sample::<u16>(length, 3);
        let expected: Vec<u16> = data.iter().map(|&x| tripled(x)).collect();
        for device in devices() {
            let mut data = device.upload(&data).unwrap();
            device.map_in_place::<u16, tripled>(&mut data).unwrap();
            let what = format!("{device}, {length} items");
            assert_same(&data.to_vec().unwrap(), &expected, &what);
        }
    }
}

#[test]
fn slices_constants_and_columns_are_stored_too() {
    assert_eq!(collect(&[3_u8, 4]).unwrap(), [3, 4]);
    assert_eq!(collect(constant(7_i64, 3)).unwrap(), [7, 7, 7]);
    let matrix: Vec<u32> = (0..12).collect();
    assert_eq!(collect(strided(&matrix[1..], 1, 4)).unwrap(), [1, 5, 9]);
}

#[test]
fn parts_of_buffers_are_sources() {
    let data = sample::<u16>(100_003, 4);
    for device in devices() {
        let buffer = device.upload(&data).unwrap();
        for range in [0..0, 0..1, 1..2, 5..100_003, 31..4097, 100_003..100_003] {
            let what = format!("{device}, {range:?}");
            let part = buffer.slice(range.clone());
            assert_eq!(
                (part.len(), part.is_empty()),
                (range.len(), range.is_empty())
            );
            assert_same(&part.to_vec().unwrap(), &data[range.clone()], &what);
            let stored = device.collect(&part).unwrap();
            assert_same(&stored.to_vec().unwrap(), &data[range.clone()], &what);
            let sum = device
                .reduce::<u16, Add>(buffer.slice(range.clone()))
                .unwrap();
            assert_eq!(sum, reduce::<u16, Add>(&data[range]).unwrap(), "{what}");
        }
        assert_eq!(buffer.slice(..=2).len(), 3);
        assert_eq!(buffer.slice(..).len(), data.len());
    }
}

#[test]
#[should_panic(expected = "2..4 is no range of a buffer of 3 elements")]
fn a_part_that_is_not_there_is_named() {
    Device::cpu().upload(&[1_u8, 2, 3]).unwrap().slice(2..4);
}

#[test]
fn what_does_not_fit_is_an_error_and_nothing_is_written() {
    for device in devices() {
        let data = device.upload(&[1_u32, 2, 3]).unwrap();
        let mut output = device.upload(&[9_u32; 2]).unwrap();
        let error = device.collect_into(&data, &mut output).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Length {
                    input: 3,
                    output: 2
                }
            ),
            "{error}"
        );
        assert_eq!(output.to_vec().unwrap(), [9, 9]);
        let short = device.upload(&[1_u32]).unwrap();
        assert!(matches!(
            device.collect(map::<sum_of, _>(zip(&data, &short))),
            Err(Error::Zip { .. })
        ));
    }
}

#[function]
fn sum_of(x: u32, y: u32) -> u32 {
    x + y
}

#[test]
#[should_panic(expected = "attempt to divide by zero")]
fn a_function_that_panics_stops_the_call() {
    #[function]
    fn reciprocal(x: u32) -> u32 {
        100 / x
    }
    let mut data = vec![1_u32; 300_000];
    data[222_222] = 0;
    let data = Device::cpu().upload(&data).unwrap();
    let _ = Device::cpu().collect(map::<reciprocal, _>(&data));
}
