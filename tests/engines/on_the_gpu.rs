//! A GPU gives the bits of the sequential oracle at every boundary of the tiles, and for the floats
//! that are unlike others.

use crate::support::data::{Random, Sample, assert_same, boundary_lengths, sample};
use crate::support::matrix::{self, Visitor, for_every_group};
use crate::support::{gpu, oracle};
use warpfold::codegen::{Policy, Primitive};
use warpfold::{Device, Monoid, Prefixes, ops};

/// Compares reduce and the forms of scan with the oracle at every boundary of the tiles.
struct Boundaries<'a>(&'a Device);

impl Visitor for Boundaries<'_> {
    fn visit<T: Sample, Op: Monoid<T>>(&mut self) {
        for primitive in Primitive::ALL {
            for length in boundary_lengths(Policy::of::<T>(primitive).tile() as usize) {
                check::<T, Op>(self.0, length);
            }
        }
    }
}

fn check<T: Sample, Op: Monoid<T>>(device: &Device, length: usize) {
    let input = sample::<T>(length, 1);
    let init = sample::<T>(1, 2)[0];
    let what = format!(
        "{} on {} × {length}",
        std::any::type_name::<Op>(),
        std::any::type_name::<T>()
    );
    let buffer = device.upload(&input).unwrap();

    let reduced = device.reduce::<T, Op>(&buffer).unwrap();
    assert_same(
        &[reduced],
        &[oracle::reduce::<T, Op>(&input, None)],
        &format!("reduce, {what}"),
    );
    let reduced = device.reduce_from::<T, Op>(init, &buffer).unwrap();
    assert_same(
        &[reduced],
        &[oracle::reduce::<T, Op>(&input, Some(init))],
        &format!("reduce_from, {what}"),
    );

    let scanned = device.scan::<T, Op>(&buffer).unwrap().into_vec().unwrap();
    assert_same(
        &scanned,
        &oracle::exclusive::<T, Op>(&input, None),
        &format!("scan, {what}"),
    );
    let scanned = device
        .inclusive_scan_from::<T, Op>(init, &buffer)
        .unwrap()
        .into_vec()
        .unwrap();
    let expected = oracle::inclusive::<T, Op>(&input, Some(init));
    assert_same(&scanned, &expected, &format!("inclusive_scan_from, {what}"));

    let mut into = device.upload(&vec![init; length]).unwrap();
    device
        .scan_into::<T, Op>(Prefixes::exclusive().from(init), &buffer, &mut into)
        .unwrap();
    let expected = oracle::exclusive::<T, Op>(&input, Some(init));
    assert_same(
        &into.into_vec().unwrap(),
        &expected,
        &format!("scan_from_into, {what}"),
    );
    let mut in_place = buffer;
    device
        .scan_in_place::<T, Op>(Prefixes::inclusive(), &mut in_place)
        .unwrap();
    let expected = oracle::inclusive::<T, Op>(&input, None);
    assert_same(
        &in_place.into_vec().unwrap(),
        &expected,
        &format!("inclusive_scan_in_place, {what}"),
    );
}

macro_rules! boundary_test {
    ($group:ident) => {
        #[test]
        fn $group() {
            if let Some(device) = gpu(0) {
                matrix::$group(&mut Boundaries(&device));
            }
        }
    };
}

mod at_every_boundary {
    use super::*;
    for_every_group!(boundary_test);
}

#[test]
fn special_floats_keep_their_meaning() {
    let Some(device) = gpu(0) else { return };
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MIN_POSITIVE / 4.0,
        f32::MAX,
    ];
    let mut random = Random::new(3);
    for length in [1, 2, 9, 100, 5000] {
        // Mostly zeros of both signs, for which an inexact identity would show.
        let pick = |random: &mut Random| match random.next() % 8 {
            0 => values[random.next() as usize % values.len()],
            n if n % 2 == 0 => -0.0,
            _ => 0.0,
        };
        let mixed: Vec<f32> = (0..length).map(|_| pick(&mut random)).collect();
        let negative_zeros = vec![-0.0_f32; length];
        for input in [mixed, negative_zeros] {
            let buffer = device.upload(&input).unwrap();
            macro_rules! compare {
                ($($op:ty),*) => {$(
                    let got = device.inclusive_scan::<f32, $op>(&buffer).unwrap().into_vec().unwrap();
                    let expected = oracle::inclusive::<f32, $op>(&input, None);
                    assert_same(&got, &expected, stringify!($op));
                )*};
            }
            compare!(ops::Add, ops::Mul, ops::Min, ops::Max);
        }
    }
}

/// What the memory checkers run: every kernel, small sizes, exact allocations.
#[test]
fn sanitized_sizes() {
    use crate::support::operators::{Bicyclic, BicyclicProduct, Sums};
    let Some(device) = gpu(0) else { return };
    for length in [1, 31, 1000, 8191, 8192, 8193, 70_001] {
        check::<f32, ops::Add>(&device, length);
        check::<u8, ops::Add>(&device, length);
        check::<half::f16, ops::Add>(&device, length);
        check::<Bicyclic, BicyclicProduct>(&device, length);
        check::<[u8; 33], Sums>(&device, length);
    }
}
