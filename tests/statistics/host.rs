//! Statistics equal their definitions, one number after the other, and lose no digits where others
//! do.

use crate::support::data::{Random, assert_same, sample};
use crate::support::matrix::in_turn;
use crate::support::numbers::{Real, first, moments_of, numbers, told};
use crate::support::oracle;
use proptest::prelude::*;
use std::cmp::Ordering;
use warpfold::half::f16;
use warpfold::statistics::{
    Estimate, Moments, MomentsReducer, QuickMerge, QuickMoments, greatest_packed, least_packed,
    position_of, quickly_measured,
};
use warpfold::{
    Device, Element, Error, Function, Monoid, Scalar, all, any, arg_max, arg_min, bools, bytemuck,
    constant, count, function, map, max, mean, min, min_max, moments, ops, reduce, std_dev,
    strided, sum, variance, zip,
};

/// Lengths at the ends of runs, rows, blocks and chunks of the CPU.
const LENGTHS: &[usize] = &[
    0, 1, 2, 3, 31, 32, 33, 170, 171, 255, 256, 257, 1009, 1024, 1025, 4095, 4096, 4097, 32_767,
    32_769, 65_535, 65_537, 131_072, 131_073, 300_007,
];

fn check_extremes<T>()
where
    T: Real + Element<Accumulator: Scalar>,
    ops::Min: Monoid<T>,
    ops::Max: Monoid<T>,
{
    let cpu = Device::cpu();
    for (number, &length) in LENGTHS.iter().enumerate() {
        for odd_ones in [0, 3] {
            let data = numbers::<T>(length + 1, number as u64, odd_ones);
            // Unaligned, every other time.
            let data = &data[number % 2..][..length];
            let what = format!("{} × {length}", std::any::type_name::<T>());
            let buffer = cpu.upload(data).unwrap();
            let least = first(data, Ordering::Less);
            assert_eq!(arg_min(data), Ok(least), "{what}");
            assert_eq!(cpu.arg_min(&buffer), Ok(least), "{what}");
            let greatest = first(data, Ordering::Greater);
            assert_eq!(arg_max(data), Ok(greatest), "{what}");
            assert_eq!(cpu.arg_max(&buffer), Ok(greatest), "{what}");

            let expected = (length > 0).then(|| {
                let min = oracle::reduce::<T, ops::Min>(data, None);
                (min, oracle::reduce::<T, ops::Max>(data, None))
            });
            let as_slice = |pair: Option<(T, T)>| pair.map_or(vec![], |(min, max)| vec![min, max]);
            let expected = as_slice(expected);
            assert_same(&as_slice(min_max(data).unwrap()), &expected, &what);
            assert_same(&as_slice(cpu.min_max(&buffer).unwrap()), &expected, &what);
        }
    }
}

fn check_moments<T: Real>() {
    let cpu = Device::cpu();
    for (number, &length) in LENGTHS.iter().enumerate() {
        let name = format!("moments of {length} {}", std::any::type_name::<T>());
        for &odd_ones in in_turn(&name, &[0, 3]) {
            let data = numbers::<T>(length + 1, number as u64, odd_ones);
            let data = &data[number % 2..][..length];
            let what = format!("{} × {length}", std::any::type_name::<T>());
            let expected = told(&moments_of(data));
            let buffer = cpu.upload(data).unwrap();
            let got = [moments(data).unwrap(), cpu.moments(&buffer).unwrap()];
            assert_same(&got.map(|moments| told(&moments)), &[expected; 2], &what);
            assert_eq!(got[0].count(), length as u64, "{what}");
            let [_, _, of_mean, population, sample, spread, _] = expected;
            let got = [mean(data).unwrap(), cpu.mean(&buffer).unwrap()];
            assert_same(&got, &[of_mean; 2], &what);
            for (estimate, expected) in [
                (Estimate::Population, population),
                (Estimate::Sample, sample),
            ] {
                let got = [
                    variance(data, estimate).unwrap(),
                    cpu.variance(&buffer, estimate).unwrap(),
                ];
                assert_same(&got, &[expected; 2], &what);
            }
            let got = [
                std_dev(data, Estimate::Population).unwrap(),
                cpu.std_dev(&buffer, Estimate::Population).unwrap(),
            ];
            assert_same(&got, &[spread; 2], &what);

            let (mut pieces, mut on_cpu) = (MomentsReducer::new(), cpu.moments_reducer());
            for piece in data.chunks(length / 3 + 7) {
                pieces.push::<T>(piece).unwrap();
                on_cpu.push::<T>(&cpu.upload(piece).unwrap()).unwrap();
            }
            let got = [pieces.value(), on_cpu.value()].map(|moments| told(&moments));
            assert_same(&got, &[expected; 2], &what);
        }
    }
}

/// NaN, and then numbers from the least to the greatest: ranks grow with them, and fall.
fn check_ranks<T: Real>() {
    let mut data = [sample::<T>(50, 3), T::odd()].concat();
    data.retain(|x| !x.to_f64().is_nan());
    data.sort_by(|a, b| a.widen().partial_cmp(&b.widen()).unwrap());
    let is_float = T::odd().iter().any(|x| x.to_f64().is_nan());
    for pair in data.windows(2) {
        let [up, down] =
            [T::RankUp::call, T::RankDown::call].map(|of| [of((pair[0],)), of((pair[1],))]);
        let same = pair[0] == pair[1];
        assert!(
            if same { up[0] == up[1] } else { up[0] < up[1] },
            "{pair:?}"
        );
        assert!(
            if same {
                down[0] == down[1]
            } else {
                down[0] > down[1]
            },
            "{pair:?}"
        );
        assert!(!is_float || (up[0] > 0 && down[1] > 0), "{pair:?}");
    }
    for nan in T::odd().into_iter().filter(|x| x.to_f64().is_nan()) {
        assert_eq!((T::RankUp::call((nan,)), T::RankDown::call((nan,))), (0, 0));
    }
}

macro_rules! of_each_type {
    ($($number:ident)*) => {
        mod extremes {
            $(#[test]
            fn $number() {
                super::check_extremes::<super::types::$number>();
            })*
        }

        #[test]
        fn ranks_grow_and_fall_with_the_numbers() {
            $(check_ranks::<types::$number>();)*
        }

        mod moments_are_those_of_the_law {
            $(#[test]
            fn $number() {
                super::check_moments::<super::types::$number>();
            })*
        }
    };
}

/// The types by names that a macro can make tests of.
mod types {
    pub(super) use std::primitive::{f32, f64, i8, i16, i32, i64, u8, u16, u32, u64};
    pub(super) use warpfold::half::{bf16, f16};
}

of_each_type! { u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64 }

#[test]
fn nothing_has_no_extremes_and_no_mean() {
    let none: &[f32] = &[];
    assert_eq!(min_max(none), Ok(None));
    assert_eq!((arg_min(none), arg_max(none)), (Ok(None), Ok(None)));
    assert!(mean(none).unwrap().is_nan());
    for estimate in [Estimate::Population, Estimate::Sample] {
        assert!(variance(none, estimate).unwrap().is_nan());
        assert!(std_dev(none, estimate).unwrap().is_nan());
    }
    let moments = moments(none).unwrap();
    assert_eq!((moments.count(), moments.sum()), (0, 0.0));
    assert_eq!(moments.squared_deviations(), 0.0);
    assert_eq!(count(bools(&[])), Ok(0));
    assert_eq!((any(bools(&[])), all(bools(&[]))), (Ok(false), Ok(true)));
}

#[test]
fn one_number_has_a_variance_of_0_and_a_sample_of_one_has_none() {
    assert_eq!(variance(&[7.5_f32], Estimate::Population), Ok(0.0));
    assert!(variance(&[7.5_f32], Estimate::Sample).unwrap().is_nan());
    assert_eq!(variance(&[7_u8, 9], Estimate::Sample), Ok(2.0));
}

#[test]
fn what_is_not_finite_shows_as_in_numpy() {
    let inf = f64::INFINITY;
    let spread = |x: &[f64]| variance(x, Estimate::Population).unwrap();
    assert_eq!(mean(&[1.0, inf, 2.0]), Ok(inf));
    assert_eq!(moments(&[1.0, inf, 2.0]).unwrap().mean(), inf);
    assert!(spread(&[1.0, inf, 2.0]).is_nan());
    assert!(mean(&[inf, -inf, 2.0]).unwrap().is_nan());
    assert!(mean(&[1.0, f64::NAN]).unwrap().is_nan());
    assert!(spread(&[1.0, f64::NAN]).is_nan());
}

/// The variance of integers over a power of two, computed in integers and rounded twice. `offset`
/// is taken off before they are squared.
fn exact_variance(integers: &[i64], offset: i64, log_scale: u32) -> f64 {
    let n = integers.len() as i128;
    let centred = || integers.iter().map(|&x| i128::from(x - offset));
    let (sum, squares) = (
        centred().sum::<i128>(),
        centred().map(|x| x * x).sum::<i128>(),
    );
    let deviations = (n * squares - sum * sum) as f64 / n as f64;
    deviations / n as f64 / f64::from(2 * log_scale).exp2()
}

/// Checks moments of integers over a power of two. The relative error of the variance does not
/// depend on the condition of the problem, root mean square over standard deviation.
fn check_digits(integers: &[i64], offset: i64, log_scale: u32) {
    let scale = f64::from(log_scale).exp2();
    let data: Vec<f64> = integers.iter().map(|&x| x as f64 / scale).collect();
    let (n, exact) = (
        data.len() as f64,
        exact_variance(integers, offset, log_scale),
    );
    let sum: i128 = integers.iter().map(|&x| i128::from(x)).sum();
    let exact_mean = sum as f64 / scale / n;
    let moments = moments(&data).unwrap();
    let error = (moments.mean() - exact_mean).abs() / exact_mean.abs();
    assert!(
        error < 2.0 * f64::EPSILON,
        "{n}: the mean is off by {error}"
    );
    let bound = 2.0_f64.powi(-44) * (n.log2() + 2.0);
    let check = |moments: Moments, what: &str| {
        let error = (moments.variance(Estimate::Population) - exact).abs() / exact;
        assert!(
            error < bound,
            "{n}, {what}: the variance is off by {error}, not by {bound}"
        );
    };
    check(moments, "at once");
    let (first, second) = data.split_at(data.len() / 3);
    let [first, second] = [first, second].map(|part| warpfold::moments(part).unwrap());
    check(first.merge(second), "merged");
    check(second.merge(first), "merged the other way round");
    let mut seen = MomentsReducer::new();
    for piece in data.chunks(777) {
        seen.push::<f64>(piece).unwrap();
    }
    assert_eq!(seen.value(), moments);
}

#[test]
fn variances_of_numbers_far_from_zero_keep_their_digits() {
    let mut random = Random::new(5);
    for length in [3, 1000, 65_536, 100_003] {
        // 10^8 and noise of ±1, in steps of 2^-20. The sum of squares minus the square of the sum
        // has no digit of it.
        let offset = 100_000_000 << 20;
        let mut noisy = |bits: u32| -> Vec<i64> {
            let noise = |_| offset + (random.next() >> (64 - bits)) as i64 - (1 << (bits - 1));
            (0..length).map(noise).collect()
        };
        check_digits(&noisy(21), offset, 20);
        // 10^8 and noise of ±10^-6.
        check_digits(&noisy(2), offset, 20);
        // Numbers that grow, and those of very different sizes.
        let growing: Vec<i64> = (0..length).map(|i| offset + i).collect();
        check_digits(&growing, offset, 0);
        let of_all_sizes: Vec<i64> = (0..length).map(|i| 1 << (i * 7 % 31)).collect();
        check_digits(&of_all_sizes, 0, 0);
    }
}

/// Checks that so many numbers, all `x`, have no deviations, also in pieces.
fn check_equal<T: Real>(x: T, length: usize) {
    let what = format!("{length} times {x:?}");
    let (data, estimate) = (vec![x; length], Estimate::Population);
    assert_eq!(std_dev(&data, estimate), Ok(0.0), "{what}");
    let of_mean = mean(&data).unwrap();
    let error = (of_mean - x.to_f64()).abs();
    assert!(
        error <= 4.0 * f64::EPSILON * of_mean.abs(),
        "{what}: {of_mean}"
    );
    let mut seen = MomentsReducer::new();
    let mut merged = Moments::EMPTY;
    for piece in data.chunks(length / 2 + 1) {
        seen.push::<T>(piece).unwrap();
        merged = merged.merge(moments(piece).unwrap());
    }
    for moments in [seen.value(), merged] {
        assert_eq!(moments.std_dev(estimate), 0.0, "{what}");
        assert_eq!(moments.squared_deviations(), 0.0, "{what}");
    }
}

#[test]
fn equal_numbers_do_not_vary() {
    let long = in_turn("equal numbers", &[123_457, 1 << 18]);
    let lengths = [1, 2, 3, 4, 7, 500, 1000, 4096].iter().chain(long);
    for &length in lengths {
        for x in [
            0.0,
            0.1,
            1e8 + 0.1,
            -3e-300,
            5e-324,
            1e150,
            1e308,
            f64::MAX,
            20_150_515_061_816_532.0,
        ] {
            check_equal::<f64>(x, length);
        }
        for x in [0.1, 1e-45, 3e38] {
            check_equal::<f32>(x, length);
        }
        check_equal(f16::from_f32(65_504.0), length);
        for x in [20_150_515_061_816_532, i64::MIN, i64::MAX, i64::MAX - 1] {
            check_equal::<i64>(x, length);
        }
        for x in [u64::MAX, u64::MAX - 1, 1 << 63] {
            check_equal::<u64>(x, length);
        }
    }
}

#[test]
fn sums_are_added_up_in_64_bits_and_nothing_has_no_extremes() {
    assert_eq!(sum(&[200_u8, 100]), Ok(300));
    assert_eq!(sum(&[i8::MIN; 1000]), Ok(-128_000));
    assert_eq!(sum(&[u32::MAX; 3]), Ok(3 * u64::from(u32::MAX)));
    assert_eq!(sum(&[u64::MAX, 1]), Ok(0), "it wraps");
    assert_eq!(
        sum(&[f16::from_f32(60_000.0); 4]),
        Ok(f16::from_f32(60_000.0).to_f64() * 4.0)
    );
    let floats = sample::<f32>(100_003, 1);
    assert_eq!(sum(&floats), Ok(moments(&floats).unwrap().sum()));
    assert_eq!((sum::<i16>(&[]), sum::<f32>(&[])), (Ok(0), Ok(0.0)));

    let cpu = Device::cpu();
    let buffer = cpu.upload(&floats).unwrap();
    let [least, greatest] = [min(&floats).unwrap(), max(&floats).unwrap()];
    assert_eq!(least.zip(greatest), min_max(&floats).unwrap());
    assert_eq!(
        (cpu.min(&buffer), cpu.max(&buffer)),
        (Ok(least), Ok(greatest))
    );
    assert_eq!(cpu.sum(&buffer), sum(&floats));
    assert_eq!((min::<f32>(&[]), max::<u8>(&[])), (Ok(None), Ok(None)));
    assert_eq!(
        min(&[f16::from_f32(-0.0), f16::ZERO]),
        Ok(Some(f16::from_f32(-0.0)))
    );
    assert!(max(&[1.0, f64::NAN]).unwrap().unwrap().is_nan());
}

#[test]
fn squares_and_sums_beyond_the_range_of_floats_do_not_show() {
    let spread = |x: &[f64]| std_dev(x, Estimate::Population).unwrap();
    for x in [1e200, 1e308, f64::MAX, 1e-200, 1e-300] {
        for pairs in [1, 3, 1000] {
            let data = [x, -x].repeat(pairs);
            let close = (spread(&data) / x - 1.0).abs() < 1e-14;
            assert!(close, "±{x}: {}", spread(&data));
            assert_eq!(mean(&data), Ok(0.0), "±{x}");
        }
    }
    // Some are small, or come later, or stand in another piece.
    assert!((spread(&[1e200, 0.0, 1.0, -1e200]) / 1e200 - 0.5_f64.sqrt()).abs() < 1e-15);
    assert!((spread(&[1.0, 1e-200, 3.0]) - spread(&[1.0, 0.0, 3.0])).abs() < 1e-15);
    let both = moments(&[1.0, 2.0])
        .unwrap()
        .merge(moments(&[1e200, -1e200]).unwrap());
    assert!((both.std_dev(Estimate::Population) / 1e200 - 0.5_f64.sqrt()).abs() < 1e-15);
    // The variance itself is too large.
    assert_eq!(
        variance(&[1e200, -1e200], Estimate::Sample),
        Ok(f64::INFINITY)
    );

    assert_eq!(mean(&[1e308, 1e308, 1e308]), Ok(1e308));
    assert_eq!(mean(&[1e308, 1e308, -1e308, -1e308]), Ok(0.0));
    assert_eq!(moments(&[1e308, 1e308, 1e308]).unwrap().mean(), 1e308);
    assert_eq!(
        moments(&[1e308, 1e308, 1e308]).unwrap().sum(),
        f64::INFINITY
    );
}

#[test]
fn integers_of_64_bits_vary_exactly() {
    let spread = |x: &[u64]| std_dev(x, Estimate::Population);
    assert_eq!(spread(&[u64::MAX, u64::MAX - 1]), Ok(0.5));
    assert_eq!(spread(&[u64::MAX, 0]), Ok(2.0_f64.powi(63)));
    let spread = std_dev(&[i64::MIN, i64::MAX], Estimate::Population);
    assert_eq!(spread, Ok(2.0_f64.powi(63)));
    for start in [1_700_000_000_000_000_000, i64::MAX - 999, i64::MIN] {
        let stamps: Vec<i64> = (0..1000).map(|i| start + i).collect();
        let exact = exact_variance(&stamps, start, 0);
        let error = (variance(&stamps, Estimate::Population).unwrap() / exact - 1.0).abs();
        assert!(error < 1e-14, "from {start} on: off by {error}");
        let stamps: Vec<u64> = (0..1000).map(|i| u64::MAX - 3 * i).collect();
        let error = (variance(&stamps, Estimate::Population).unwrap() / (9.0 * exact) - 1.0).abs();
        assert!(error < 1e-14, "to 2^64: off by {error}");
    }
}

/// NumAcc2, 3 and 4 of NIST's Statistical Reference Datasets: mean and standard deviation are known
/// exactly.
#[test]
fn the_reference_data_of_nist() {
    for (offset, digits) in [(0.0, 1e-14), (999_999.0, 1e-9), (9_999_999.0, 1e-8)] {
        let around = |x: f64| offset + x;
        let mut data = vec![around(1.2)];
        for _ in 0..500 {
            data.extend([around(1.1), around(1.3)]);
        }
        let moments = moments(&data).unwrap();
        let spread = moments.std_dev(Estimate::Sample);
        assert!((moments.mean() - around(1.2)).abs() <= 1e-15 * around(1.2));
        assert!((spread - 0.1).abs() <= digits * 0.1, "{offset}: {spread}");
    }
    // NumAcc1.
    let spread = std_dev(&[10_000_001, 10_000_003, 10_000_002], Estimate::Sample);
    assert_eq!(spread, Ok(1.0));
}

#[test]
fn integers_and_halves_are_added_up_in_f64() {
    let bytes = sample::<u8>(1_000_003, 4);
    let sum: u64 = bytes.iter().map(|&x| u64::from(x)).sum();
    assert_eq!(moments(&bytes).unwrap().sum(), sum as f64);
    assert_eq!(mean(&bytes), Ok(sum as f64 / 1_000_003.0));
    let longs = vec![i64::MAX; 1024];
    assert_eq!(mean(&longs), Ok(2.0_f64.powi(63)));
    let halves = vec![f16::from_f32(0.1); 100_000];
    assert!((mean(&halves).unwrap() - f16::from_f32(0.1).to_f64()).abs() < 1e-15);
}

/// The general way to merge, without the shortcut for equal powers of two: sum and deviations.
fn merge([n, of_a, a]: [f64; 3], [m, of_b, b]: [f64; 3]) -> [f64; 3] {
    let difference = of_a / n - of_b / m;
    let deviations = (a + b) + difference * (difference * (n * m / (n + m)));
    [n + m, of_a + of_b, deviations]
}

#[test]
fn no_bit_tells_how_two_groups_were_merged() {
    let x = sample::<f64>(9000, 3);
    let quick =
        |x: &[f64]| reduce::<QuickMoments, QuickMerge>(quickly_measured::<f64, _>(x)).unwrap();
    for (first, second) in [
        (1, 1),
        (2, 2),
        (4096, 4096),
        (3, 3),
        (1, 2),
        (4096, 1),
        (5, 300),
    ] {
        let (a, b) = (quick(&x[..first]), quick(&x[first..first + second]));
        let both = QuickMerge::combine(a, b);
        let as_numbers = |moments| bytemuck::cast::<QuickMoments, [f64; 3]>(moments);
        assert_eq!(as_numbers(both), merge(as_numbers(a), as_numbers(b)));
        assert_same(&[QuickMerge::combine(b, a)], &[both], "the other way round");
        let empty = QuickMoments::EMPTY;
        let with_nothing = [QuickMerge::combine(a, empty), QuickMerge::combine(empty, a)];
        assert_same(&with_nothing, &[a; 2], "with nothing");
        let (a, b) = (
            moments(&x[..first]).unwrap(),
            moments(&x[first..][..second]).unwrap(),
        );
        assert_eq!(a.merge(b).count() as usize, first + second);
        let with_nothing = [a.merge(Moments::EMPTY), Moments::EMPTY.merge(a)];
        assert_same(&with_nothing, &[a; 2], "with nothing");
    }
}

#[function]
fn positive(x: f32) -> bool {
    x > 0.0
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

#[test]
fn flags_are_counted() {
    let cpu = Device::cpu();
    for &length in LENGTHS {
        let data = sample::<f32>(length, 8);
        let expected = data.iter().filter(|x| **x > 0.0).count();
        let buffer = cpu.upload(&data).unwrap();
        assert_eq!(count(map::<positive, _>(&data)), Ok(expected));
        assert_eq!(cpu.count(map::<positive, _>(&buffer)), Ok(expected));

        // One flag among all others, anywhere.
        for place in [0, length / 3, length.saturating_sub(1)] {
            let mut mask = vec![false; length];
            if length > 0 {
                mask[place] = true;
            }
            assert_eq!(count(bools(&mask)), Ok(length.min(1)));
            assert_eq!(any(bools(&mask)), Ok(length > 0));
            assert_eq!(all(bools(&mask)), Ok(length <= 1));
            mask.iter_mut().for_each(|flag| *flag = !*flag);
            assert_eq!(any(bools(&mask)), Ok(length > 1));
            assert_eq!(all(bools(&mask)), Ok(length == 0));
        }
        let all_of = map::<positive, _>(constant(1.0_f32, length));
        assert_eq!(cpu.all(all_of), Ok(true));
        assert_eq!(
            cpu.any(map::<positive, _>(constant(1.0_f32, length))),
            Ok(length > 0)
        );
    }
}

#[test]
fn every_source_has_statistics() {
    let (x, y) = (sample::<f32>(70_001, 23), sample::<f32>(70_001, 24));
    let products: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x * y).collect();
    let source = || map::<product, _>(zip(&x, &y));
    let extremes = |x: &[f32]| {
        let min = oracle::reduce::<f32, ops::Min>(x, None);
        Ok(Some((min, oracle::reduce::<f32, ops::Max>(x, None))))
    };
    assert_eq!(min_max(source()), extremes(&products));
    assert_eq!(mean(source()), Ok(moments_of(&products).mean()));
    assert_eq!(arg_min(source()), Ok(first(&products, Ordering::Less)));
    assert_same(
        &[told(&moments(source()).unwrap())],
        &[told(&moments_of(&products))],
        "products",
    );
    let columns: Vec<f32> = x
        .chunks_exact(7)
        .flat_map(|row| &row[..2])
        .copied()
        .collect();
    let source = || strided(&x[..70_000], 2, 7);
    assert_eq!(min_max(source()), extremes(&columns));
    assert_eq!(mean(source()), Ok(moments_of(&columns).mean()));
    assert_eq!(arg_max(source()), Ok(first(&columns, Ordering::Greater)));
    assert_same(
        &[told(&moments(source()).unwrap())],
        &[told(&moments_of(&columns))],
        "columns",
    );

    let unequal = || map::<product, _>(zip(&x, &y[1..]));
    let error = Error::Zip {
        first: 70_001,
        second: 70_000,
    };
    assert_eq!(min_max(unequal()), Err(error.clone()));
    assert_eq!(arg_min(unequal()), Err(error.clone()));
    assert_eq!(mean(unequal()), Err(error.clone()));
    assert_eq!(variance(unequal(), Estimate::Sample), Err(error.clone()));
    assert_eq!(count(map::<positive, _>(unequal())), Err(error));
}

/// A mean is a reduction's sum over the count, bit for bit.
#[test]
fn a_mean_is_the_sum_over_the_count() {
    let x = sample::<f64>(100_003, 1);
    let sum = reduce::<f64, ops::Add>(&x).unwrap();
    assert_eq!(mean(&x), Ok(sum / 100_003.0));
    assert_eq!(moments(&x).unwrap().sum(), sum);
}

/// The words of `least_packed` and `greatest_packed` lead to the places that `arg_min` and
/// `arg_max` give.
fn check_packed<T: Real>() {
    for length in [1, 2, 33, 1000] {
        let data = numbers::<T>(length, 3, 2);
        let lowest = least_packed::<T, _>(&data[..], length).unwrap();
        let highest = greatest_packed::<T, _>(&data[..], length).unwrap();
        let least = position_of(reduce::<u64, ops::Min>(lowest).unwrap());
        let greatest = position_of(reduce::<u64, ops::Min>(highest).unwrap());
        let what = format!("{} × {length}", std::any::type_name::<T>());
        assert_eq!(Some(least as usize), first(&data, Ordering::Less), "{what}");
        assert_eq!(
            Some(greatest as usize),
            first(&data, Ordering::Greater),
            "{what}"
        );
    }
}

#[test]
fn a_rank_and_a_position_in_one_word_are_compared_as_both_are() {
    check_packed::<i8>();
    check_packed::<u16>();
    check_packed::<i32>();
    check_packed::<f16>();
    check_packed::<f32>();
}

#[test]
fn places_that_do_not_fit_are_not_packed() {
    let bytes: &[u8] = &[];
    assert!(least_packed::<u8, _>(bytes, 1 << 32).is_some());
    assert!(least_packed::<u8, _>(bytes, (1 << 32) + 1).is_none());
    assert!(greatest_packed::<u8, _>(bytes, (1 << 32) + 1).is_none());
    assert!(greatest_packed::<u64, _>(&[1_u64][..], 1).is_none());
    assert!(least_packed::<f64, _>(&[1.0][..], 1).is_none());
}

/// NVRTC takes the kernels of numbers of every kind.
#[cfg(feature = "cuda")]
#[test]
fn the_kernels_of_statistics_compile() {
    use crate::support::matrix::is_drawn;
    use crate::support::skip;
    use warpfold::codegen::{Engine, Layouts, Order, RowPolicy, kernels, source};
    use warpfold::cuda::nvrtc::{self, Target};
    use warpfold::ops::Min;
    use warpfold::source::{Form, Slice};
    use warpfold::statistics::{
        Extremes, First, Measured, Merge, Number, Packed, Place, QuicklyMeasured, Ranked, Twice,
    };
    if let Err(error) = nvrtc::version() {
        return skip("nvrtc", &error.to_string());
    }

    fn compile<T: Element, Op: Monoid<T>, F: Form<Item = T>>() {
        let policy = RowPolicy::for_reduce(Layouts::of::<F>(), 90, Order::of::<T, Op>());
        let text = source::<kernels::Reduce<T, Op, F>>(Engine::Rows(policy)).unwrap();
        let name = std::any::type_name::<F>();
        if !is_drawn(name, false) {
            return;
        }
        if let Err(error) = nvrtc::compile(&text, name, Target::Cubin(90)) {
            panic!("{name}: {error}");
        }
    }

    fn compile_all<T: Number>() {
        compile::<Moments, Merge, Measured<T>>();
        compile::<QuickMoments, QuickMerge, QuicklyMeasured<T>>();
        compile::<[T::Accumulator; 2], Extremes, Twice<T>>();
        compile::<Place, First, Ranked<T::RankUp, Slice<T>>>();
        compile::<Place, First, Ranked<T::RankDown, Slice<T>>>();
        compile::<u64, Min, Packed<T::RankUp, Slice<T>>>();
        compile::<u64, Min, Packed<T::RankDown, Slice<T>>>();
    }

    compile_all::<u8>();
    compile_all::<i64>();
    compile_all::<f16>();
    compile_all::<f32>();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_number_of_threads_does_not_show_in_moments(
        length in 0_usize..400_000,
        threads in 1_usize..9,
        seed: u64,
    ) {
        let data = sample::<f32>(length, seed);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (got, least) = pool.install(|| (moments(&data).unwrap(), arg_min(&data).unwrap()));
        assert_same(&[told(&got)], &[told(&moments_of(&data))], "moments");
        prop_assert_eq!(least, first(&data, Ordering::Less));
    }
}
