//! Numbers of all types, and what their statistics are, one number after the other.

use super::data::{Random, Sample, sample};
use super::oracle;
use half::{bf16, f16};
use std::cmp::Ordering;
use warpfold::Function;
use warpfold::statistics::{Estimate, Merge, Moments, Number, QuickMerge, QuickMoments};

/// A number as the oracles see it.
pub(crate) trait Real: Number + Sample {
    /// Rounded to nearest, as `as` does.
    fn to_f64(self) -> f64;

    /// −∞, ∞, NaN, both zeros: what there is of them.
    fn odd() -> Vec<Self>;
}

macro_rules! reals {
    ($($number:ty, |$x:ident| $f64:expr, $odd:expr;)*) => {$(
        impl Real for $number {
            fn to_f64(self) -> f64 {
                let $x = self;
                $f64
            }

            fn odd() -> Vec<$number> {
                $odd.into()
            }
        }
    )*};
}

macro_rules! of_floats {
    ($float:ident) => {
        [
            -<$float>::INFINITY,
            <$float>::INFINITY,
            <$float>::NAN,
            -<$float>::NAN,
            -<$float as num_traits::Zero>::zero(),
            <$float as num_traits::Zero>::zero(),
        ]
    };
}

reals! {
    u8, |x| x as f64, [u8::MIN, u8::MAX];
    i8, |x| x as f64, [i8::MIN, i8::MAX];
    u16, |x| x as f64, [u16::MIN, u16::MAX];
    i16, |x| x as f64, [i16::MIN, i16::MAX];
    u32, |x| x as f64, [u32::MIN, u32::MAX];
    i32, |x| x as f64, [i32::MIN, i32::MAX];
    u64, |x| x as f64, [u64::MIN, u64::MAX];
    i64, |x| x as f64, [i64::MIN, i64::MAX];
    f16, |x| x.to_f64(), of_floats!(f16);
    bf16, |x| x.to_f64(), of_floats!(bf16);
    f32, |x| x as f64, of_floats!(f32);
    f64, |x| x, of_floats!(f64);
}

/// Few different numbers, so that many are equal; now and then an odd one, if any.
pub(crate) fn numbers<T: Real>(length: usize, seed: u64, odd_ones: usize) -> Vec<T> {
    let (pool, odd) = (sample::<T>(20, seed), T::odd());
    let mut random = Random::new(seed + 1);
    let mut data: Vec<T> = (0..length)
        .map(|_| pool[(random.next() >> 40) as usize % pool.len()])
        .collect();
    for _ in 0..if length > 0 { odd_ones } else { 0 } {
        let (place, which) = (random.next() >> 20, random.next() >> 20);
        data[place as usize % length] = odd[which as usize % odd.len()];
    }
    data
}

/// The position of the first number that no other comes before, where NaN comes before all.
pub(crate) fn first<T: Real>(data: &[T], wanted: Ordering) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (i, x) in data.iter().enumerate() {
        let comes_before = best.is_none_or(|best: usize| {
            let (x, best) = (x.widen(), data[best].widen());
            #[allow(clippy::eq_op)]
            let (x_is_nan, best_is_nan) = (x != x, best != best);
            !best_is_nan && (x_is_nan || x.partial_cmp(&best) == Some(wanted))
        });
        if comes_before {
            best = Some(i);
        }
    }
    best
}

/// The moments by their definition: the law over the quick ones of each number, and if these will
/// not do, over those that are exact.
pub(crate) fn moments_of<T: Real>(data: &[T]) -> Moments {
    let quick: Vec<QuickMoments> = data.iter().map(|x| QuickMoments::of(x.to_f64())).collect();
    let quick = oracle::reduce::<QuickMoments, QuickMerge>(&quick, None);
    quick.trusted().unwrap_or_else(|| {
        let each: Vec<Moments> = data.iter().map(|&x| T::Measure::call((x,))).collect();
        oracle::reduce::<Moments, Merge>(&each, None)
    })
}

/// All that moments tell.
pub(crate) fn told(moments: &Moments) -> [f64; 7] {
    [
        moments.count() as f64,
        moments.sum(),
        moments.mean(),
        moments.variance(Estimate::Population),
        moments.variance(Estimate::Sample),
        moments.std_dev(Estimate::Population),
        moments.std_dev(Estimate::Sample),
    ]
}
