//! What follows from the law, for random inputs.

use crate::support::data::{assert_same, sample};
use crate::support::operators::{Affine, Bracketing, Then};
use crate::support::seed;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use warpfold::ops::Add;
use warpfold::{inclusive_scan, inclusive_scan_from, reduce, reduce_from, scan, scan_from};

/// Inputs are alike in every run, unless `WARPFOLD_SEED` says otherwise. A failure names its input.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 64,
        rng_seed: RngSeed::Fixed(seed()),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_inclusive_element_is_the_next_exclusive_one(length in 1_usize..50_000, seed: u64) {
        let input = sample::<f32>(length, seed);
        let exclusive = scan::<f32, Add>(&input).unwrap();
        let inclusive = inclusive_scan::<f32, Add>(&input).unwrap();
        assert_same(&inclusive[..length - 1], &exclusive[1..], "inclusive[i] = exclusive[i + 1]");
        let reduced = reduce::<f32, Add>(&input).unwrap();
        assert_same(&[reduced], &inclusive[length - 1..], "reduce = last inclusive");

        let init = input[0];
        let exclusive = scan_from::<f32, Add>(init, &input).unwrap();
        let inclusive = inclusive_scan_from::<f32, Add>(init, &input).unwrap();
        assert_same(&exclusive[..1], &[init], "the first is the init");
        let (but_last, but_first) = (&inclusive[..length - 1], &exclusive[1..]);
        assert_same(but_last, but_first, "inclusive[i] = exclusive[i + 1], with init");
        let reduced = reduce_from::<f32, Add>(init, &input).unwrap();
        assert_same(&[reduced], &inclusive[length - 1..], "reduce = last inclusive, with init");
    }

    #[test]
    fn appending_changes_nothing_before(
        length in 1_usize..30_000,
        more in 0_usize..30_000,
        seed: u64,
    ) {
        let mut input = sample::<Affine>(length, seed);
        let before = inclusive_scan::<Affine, Then>(&input).unwrap();
        input.extend(sample::<Affine>(more, !seed));
        let after = inclusive_scan::<Affine, Then>(&input).unwrap();
        assert_same(&after[..length], &before, "the first outputs");
    }

    #[test]
    fn the_number_of_threads_does_not_show(
        length in 0_usize..200_000,
        threads in 1_usize..9,
        seed: u64,
    ) {
        let input = sample::<u64>(length, seed);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (reduced, scanned) = pool.install(|| {
            (reduce::<u64, Bracketing>(&input).unwrap(), scan::<u64, Bracketing>(&input).unwrap())
        });
        assert_same(&[reduced], &[reduce::<u64, Bracketing>(&input).unwrap()], "reduce");
        assert_same(&scanned, &scan::<u64, Bracketing>(&input).unwrap(), "scan");
    }
}

#[test]
fn the_error_of_a_float_sum_grows_slowly() {
    // One after the other, the sum soon absorbs a part of every element; in the tree, equals meet
    // equals.
    let input = vec![1.1_f32; 1 << 24];
    let exact = f64::from(1.1_f32) * f64::from(1 << 24);
    let tree = f64::from(reduce::<f32, Add>(&input).unwrap());
    let sequential = f64::from(input.iter().sum::<f32>());
    assert!((tree - exact).abs() / exact < 24.0 * f64::from(f32::EPSILON));
    assert!((sequential - exact).abs() > 100.0 * (tree - exact).abs());
}

/// An operator that panics unwinds to the caller, and leaves no thread waiting for it.
#[test]
fn a_panic_in_an_operator_reaches_the_caller() {
    struct Panics;
    impl warpfold::Monoid<u32> for Panics {
        fn identity() -> u32 {
            0
        }
        fn combine(a: u32, b: u32) -> u32 {
            assert!(b != 77, "an element that the operator does not like");
            a.wrapping_add(b)
        }
        fn cuda(_: &mut warpfold::codegen::Definitions) -> String {
            "rust::wrapping_add".into()
        }
    }
    let mut input = vec![1_u32; 1 << 20];
    input[700_001] = 77;
    let result = std::panic::catch_unwind(|| scan::<u32, Panics>(&input));
    assert!(result.is_err());
}
