//! The CPU backend gives the bits of the sequential oracle: for every type and operator, at every
//! boundary.

use crate::support::data::{Sample, assert_same, boundary_lengths, sample};
use crate::support::matrix::{self, Visitor, for_every_group};
use crate::support::oracle;
use std::any::type_name;
use warpfold::Prefixes;
use warpfold::{Device, Monoid};

/// Compares all six functions, and the forms in place and into a given buffer, at one length.
fn check_length<T: Sample, Op: Monoid<T>>(length: usize) {
    let input = sample::<T>(length, 7);
    let init = sample::<T>(1, 8)[0];
    let what = format!("{} on {} × {length}", type_name::<Op>(), type_name::<T>());
    let cpu = Device::cpu();
    // Long inputs take turns.
    let inits = match (length * size_of::<T>() < 100_000, length % 2) {
        (true, _) => &[None, Some(init)][..],
        (false, 0) => &[None],
        (false, _) => &[Some(init)],
    };
    for &init in inits {
        let reduced = oracle::reduce::<T, Op>(&input, init);
        let exclusive = oracle::exclusive::<T, Op>(&input, init);
        let inclusive = oracle::inclusive::<T, Op>(&input, init);
        for (prefixes, expected) in [
            (Prefixes::exclusive(), &exclusive),
            (Prefixes::inclusive(), &inclusive),
        ] {
            let prefixes = init.map_or(prefixes, |init| prefixes.from(init));
            let (mut output, mut data) = (vec![sample::<T>(1, 9)[0]; length], input.clone());
            warpfold::scan_into::<T, Op>(prefixes, &input, &mut output).unwrap();
            warpfold::scan_in_place::<T, Op>(prefixes, &mut data).unwrap();
            assert_same(&output, expected, &format!("into a slice, {what}"));
            assert_same(&data, expected, &format!("slice in place, {what}"));
        }
        let buffer = cpu.upload(&input).unwrap();
        let mut into = cpu.upload(&input).unwrap();
        let mut in_place = cpu.upload(&input).unwrap();
        let mut in_place_inclusive = cpu.upload(&input).unwrap();
        let (got, got_exclusive, got_inclusive) = match init {
            None => {
                cpu.scan_into::<T, Op>(Prefixes::exclusive(), &buffer, &mut into)
                    .unwrap();
                cpu.scan_in_place::<T, Op>(Prefixes::exclusive(), &mut in_place)
                    .unwrap();
                cpu.scan_in_place::<T, Op>(Prefixes::inclusive(), &mut in_place_inclusive)
                    .unwrap();
                (
                    warpfold::reduce::<T, Op>(&input).unwrap(),
                    warpfold::scan::<T, Op>(&input).unwrap(),
                    warpfold::inclusive_scan::<T, Op>(&input).unwrap(),
                )
            }
            Some(init) => {
                cpu.scan_into::<T, Op>(Prefixes::exclusive().from(init), &buffer, &mut into)
                    .unwrap();
                cpu.scan_in_place::<T, Op>(Prefixes::exclusive().from(init), &mut in_place)
                    .unwrap();
                cpu.scan_in_place::<T, Op>(
                    Prefixes::inclusive().from(init),
                    &mut in_place_inclusive,
                )
                .unwrap();
                (
                    warpfold::reduce_from::<T, Op>(init, &input).unwrap(),
                    warpfold::scan_from::<T, Op>(init, &input).unwrap(),
                    warpfold::inclusive_scan_from::<T, Op>(init, &input).unwrap(),
                )
            }
        };
        assert_same(&[got], &[reduced], &format!("reduce, {what}"));
        assert_same(&got_exclusive, &exclusive, &format!("scan, {what}"));
        assert_same(
            &got_inclusive,
            &inclusive,
            &format!("inclusive scan, {what}"),
        );
        assert_same(
            &into.to_vec().unwrap(),
            &exclusive,
            &format!("scan into, {what}"),
        );
        assert_same(
            &in_place.into_vec().unwrap(),
            &exclusive,
            &format!("scan in place, {what}"),
        );
        let in_place_inclusive = in_place_inclusive.into_vec().unwrap();
        assert_same(
            &in_place_inclusive,
            &inclusive,
            &format!("inclusive scan in place, {what}"),
        );
    }
}

struct Boundaries;

impl Visitor for Boundaries {
    fn visit<T: Sample, Op: Monoid<T>>(&mut self) {
        // Blocks of the CPU backend hold 8 KiB of accumulators, chunks 128 and 512 KiB of elements.
        let block = (8192 / size_of::<T::Accumulator>()).next_power_of_two();
        let name = format!("{} {}", type_name::<T>(), type_name::<Op>());
        for (number, length) in boundary_lengths(block).into_iter().enumerate() {
            if length < block || matrix::has_turn(&name, number % 3, 3) {
                check_length::<T, Op>(length);
            }
        }
        let name = format!("chunks {name}");
        if !matrix::is_drawn(&name, matrix::is_in_every_run::<T, Op>()) {
            return;
        }
        for chunk in [(128 << 10) / size_of::<T>(), (512 << 10) / size_of::<T>()] {
            let chunk = 1 << chunk.ilog2();
            for length in [chunk - 1, chunk, chunk + 1, 3 * chunk + block + 5] {
                check_length::<T, Op>(length);
            }
        }
    }
}

macro_rules! boundary_test {
    ($group:ident) => {
        #[test]
        fn $group() {
            matrix::$group(&mut Boundaries);
        }
    };
}

for_every_group!(boundary_test);
