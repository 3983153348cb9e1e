//! What `docs/differences.md` says of this library: a test for each line, with the name that it
//! gives there.

use half::f16;
use warpfold::ops::{Add, Max, Min, Mul};
use warpfold::{
    Bins, arg_max, arg_min, flags, histogram, histogram_weighted, inclusive_scan, max, mean, min,
    positions, reduce, runs, unique,
};

fn ones(length: usize) -> Vec<f16> {
    vec![f16::ONE; length]
}

#[test]
fn running_sums_of_halves_go_on_beyond_2048() {
    let sums = inclusive_scan::<f16, Add>(&ones(5000)).unwrap();
    assert_eq!(sums[4999], f16::from_f32(5000.0));
}

#[test]
fn a_sum_is_the_last_running_sum_and_does_not_depend_on_threads() {
    let data: Vec<f32> = (0..100_003_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32)
        .collect();
    let sum = reduce::<f32, Add>(&data).unwrap();
    assert_eq!(
        inclusive_scan::<f32, Add>(&data).unwrap().last(),
        Some(&sum)
    );
    for threads in [1, 2, 3, 8] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        assert_eq!(
            pool.install(|| reduce::<f32, Add>(&data))
                .unwrap()
                .to_bits(),
            sum.to_bits()
        );
    }
}

#[test]
fn integers_wrap_in_their_own_type() {
    assert_eq!(reduce::<u8, Add>(&[200, 100]), Ok(44));
    assert_eq!(inclusive_scan::<i8, Add>(&[100, 100]).unwrap(), [100, -56]);
    assert_eq!(reduce::<i64, Mul>(&[i64::MAX, 2]), Ok(-2));
}

#[test]
fn running_sums_after_an_infinity_are_infinite() {
    let sums = inclusive_scan::<f64, Add>(&[1.0, f64::INFINITY, 1.0, 2.0]).unwrap();
    assert_eq!(sums, [1.0, f64::INFINITY, f64::INFINITY, f64::INFINITY]);
}

#[test]
fn extremes_with_a_nan_are_nan_from_there_on() {
    let data = [1.0, f64::NAN, 3.0];
    assert!(reduce::<f64, Max>(&data).unwrap().is_nan());
    assert!(reduce::<f64, Min>(&data).unwrap().is_nan());
    let running = inclusive_scan::<f64, Max>(&data).unwrap();
    assert!(running[0] == 1.0 && running[1].is_nan() && running[2].is_nan());
    assert!(min(&data).unwrap().unwrap().is_nan() && max(&data).unwrap().unwrap().is_nan());
    assert_eq!((arg_min(&data), arg_max(&data)), (Ok(Some(1)), Ok(Some(1))));
    assert!(mean(&data).unwrap().is_nan());
}

#[test]
fn minus_zero_is_less_than_zero_for_extremes_and_equal_for_places() {
    for data in [[0.0, -0.0], [-0.0, 0.0]] {
        assert!(reduce::<f64, Min>(&data).unwrap().is_sign_negative());
        assert!(reduce::<f64, Max>(&data).unwrap().is_sign_positive());
        assert_eq!((arg_min(&data), arg_max(&data)), (Ok(Some(0)), Ok(Some(0))));
    }
}

#[test]
fn each_nan_is_a_run_and_zeros_are_one() {
    assert_eq!(
        runs::<f64>(&[-0.0, 0.0, f64::NAN, f64::NAN])
            .unwrap()
            .lengths,
        [2, 1, 1]
    );
    let kept = unique::<f64>(&[-0.0, 0.0]).unwrap();
    assert!(kept.len() == 1 && kept[0].is_sign_negative());
}

#[test]
fn a_nan_is_a_flag_and_zeros_are_none() {
    assert_eq!(
        positions(flags(&[0.0, -0.0, f64::NAN, 1.0_f64])),
        Ok(vec![2, 3])
    );
}

#[test]
fn histograms_leave_nan_out_and_close_the_last_bin() {
    let bins = Bins::with_edges(&[0.0, 1.0, 2.0]).unwrap();
    assert_eq!(
        histogram::<u64, _>(&[f64::NAN, 0.0, 1.0, 2.0, 2.5, -0.5], &bins),
        Ok(vec![1, 2])
    );
}

#[test]
fn a_bin_has_the_sum_of_its_own_weights() {
    let bins = Bins::with_edges(&[0.0, 1.0, 2.0, 3.0]).unwrap();
    let sums = histogram_weighted(&[0.5, 1.5, 2.5], &[1e16, 1.0, 1.0], &bins);
    assert_eq!(sums, Ok(vec![1e16, 1.0, 1.0]));
}
