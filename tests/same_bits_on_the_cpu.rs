//! The CPU backend gives the bits of the sequential oracle: for every type and operator, at every boundary.

use crate::support::data::{Sample, assert_same, boundary_lengths, sample};
use crate::support::operators::{Affine, Bicyclic, BicyclicProduct, Bracketing, Sums, Then};
use crate::support::oracle;
use half::{bf16, f16};
use warpfold::ops::{Add, BitAnd, BitOr, BitXor, Max, Min, Mul};
use warpfold::{Device, Monoid};

/// Compares all six functions, and the forms in place and into a given buffer, at one length.
fn check_length<T: Sample, Op: Monoid<T>>(length: usize) {
    let input = sample::<T>(length, 7);
    let init = sample::<T>(1, 8)[0];
    let what = format!(
        "{} on {} × {length}",
        std::any::type_name::<Op>(),
        std::any::type_name::<T>()
    );
    let cpu = Device::cpu();
    for init in [None, Some(init)] {
        let reduced = oracle::reduce::<T, Op>(&input, init);
        let exclusive = oracle::exclusive::<T, Op>(&input, init);
        let inclusive = oracle::inclusive::<T, Op>(&input, init);
        let buffer = cpu.upload(&input).unwrap();
        let mut into = cpu.upload(&input).unwrap();
        let mut in_place = cpu.upload(&input).unwrap();
        let mut in_place_inclusive = cpu.upload(&input).unwrap();
        let (got, got_exclusive, got_inclusive) = match init {
            None => {
                cpu.scan_into::<T, Op>(&buffer, &mut into).unwrap();
                cpu.scan_in_place::<T, Op>(&mut in_place).unwrap();
                cpu.inclusive_scan_in_place::<T, Op>(&mut in_place_inclusive)
                    .unwrap();
                (
                    warpfold::reduce::<T, Op>(&input).unwrap(),
                    warpfold::scan::<T, Op>(&input).unwrap(),
                    warpfold::inclusive_scan::<T, Op>(&input).unwrap(),
                )
            }
            Some(init) => {
                cpu.scan_from_into::<T, Op>(init, &buffer, &mut into)
                    .unwrap();
                cpu.scan_from_in_place::<T, Op>(init, &mut in_place)
                    .unwrap();
                cpu.inclusive_scan_from_in_place::<T, Op>(init, &mut in_place_inclusive)
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

fn check<T: Sample, Op: Monoid<T>>() {
    // Blocks of the CPU backend hold 8 KiB of accumulators, chunks 128 and 512 KiB of elements.
    let block = (8192 / size_of::<T::Accumulator>()).next_power_of_two();
    for length in boundary_lengths(block) {
        check_length::<T, Op>(length);
    }
    for chunk in [(128 << 10) / size_of::<T>(), (512 << 10) / size_of::<T>()] {
        let chunk = 1 << chunk.ilog2();
        for length in [chunk - 1, chunk, chunk + 1, 3 * chunk + block + 5] {
            check_length::<T, Op>(length);
        }
    }
}

macro_rules! tests {
    ($($name:ident: $t:ty, [$($op:ty),*];)*) => {$(
        #[test]
        fn $name() {
            $(check::<$t, $op>();)*
        }
    )*};
}

tests! {
    on_u8: u8, [Add, Mul, Min, Max, BitAnd, BitOr, BitXor];
    on_i8: i8, [Add, Mul, Min, Max, BitAnd, BitOr, BitXor];
    on_u16: u16, [Add, Mul, Min, Max, BitAnd, BitOr, BitXor];
    on_i16: i16, [Add, Mul, Min, Max, BitAnd, BitOr, BitXor];
    on_u32: u32, [Add, Mul, Min, Max, BitAnd, BitOr, BitXor];
    on_i32: i32, [Add, Mul, Min, Max, BitAnd, BitOr, BitXor];
    on_u64: u64, [Add, Mul, Min, Max, BitAnd, BitOr, BitXor, Bracketing];
    on_i64: i64, [Add, Mul, Min, Max, BitAnd, BitOr, BitXor];
    on_f16: f16, [Add, Mul, Min, Max];
    on_bf16: bf16, [Add, Mul, Min, Max];
    on_f32: f32, [Add, Mul, Min, Max];
    on_f64: f64, [Add, Mul, Min, Max];
    on_structs_that_do_not_commute: Bicyclic, [BicyclicProduct];
    on_structs_of_floats: Affine, [Then];
    on_arrays_of_odd_sizes: [u8; 3], [Sums];
    on_arrays_of_33_bytes: [u8; 33], [Sums];
    on_arrays_of_12_bytes: [u32; 3], [Sums];
    on_arrays_of_64_bytes: [u32; 16], [Sums];
}

#[cfg(feature = "complex")]
tests! {
    on_complex_f32: num_complex::Complex<f32>, [Add, Mul];
    on_complex_f64: num_complex::Complex<f64>, [Add, Mul];
}
