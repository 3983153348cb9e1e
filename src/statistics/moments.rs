//! Counts, sums and squared deviations: mean, variance and standard deviation.

use super::on::{HostData, On};
use super::{Number, cpu};
use crate::cpu::short::is_short;
use crate::ops::Add;
use crate::source::{Map, Place, Slice, Source};
use crate::{Device, Element, Monoid, Result, function, map, monoid};
use std::ops::ControlFlow;

/// What the numbers are, of which a variance is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Estimate {
    /// All there are. The squared deviations from the mean are divided by their count n: NumPy's
    /// `ddof=0`.
    Population,
    /// Some, drawn from others, whose variance is to be estimated without bias. The squared
    /// deviations are divided by n − 1 (Bessel's correction): NumPy's `ddof=1`.
    Sample,
}

/// The count, the sum, and the sum of squared deviations from the mean, of some numbers.
///
/// [`moments()`] computes them. Those of two groups of numbers give those of both together by
/// [`merge`](Moments::merge).
#[derive(Debug, Clone, Copy, PartialEq, Element)]
#[repr(C)]
pub struct Moments {
    // A float, so that no kernel converts it. It is exact up to 2^53.
    count: f64,
    sum: f64,
    deviations: f64,
}

impl Moments {
    /// Those of no number.
    pub const EMPTY: Moments = Moments {
        count: 0.0,
        sum: 0.0,
        deviations: 0.0,
    };

    /// Those of one number.
    pub fn of(x: f64) -> Moments {
        single(x)
    }

    /// Those of `count` numbers.
    pub(super) fn new(count: f64, sum: f64, deviations: f64) -> Moments {
        Moments {
            count,
            sum,
            deviations,
        }
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.count as u64
    }

    /// Their sum.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Their mean, and NaN if there are none.
    pub fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// The sum of their squared deviations from the mean.
    pub fn squared_deviations(&self) -> f64 {
        self.deviations
    }

    /// Their variance. NaN if there are none, for a [sample](Estimate::Sample) of one, and if their
    /// sum is not finite.
    pub fn variance(&self, estimate: Estimate) -> f64 {
        let divisor = match estimate {
            Estimate::Population => self.count,
            Estimate::Sample => self.count - 1.0,
        };
        if divisor > 0.0 && self.sum.is_finite() {
            self.deviations / divisor
        } else {
            f64::NAN
        }
    }

    /// Their standard deviation: the square root of the variance.
    pub fn std_dev(&self, estimate: Estimate) -> f64 {
        self.variance(estimate).sqrt()
    }

    /// The moments of two groups of numbers together.
    ///
    /// ```
    /// use warpfold::{moments, statistics::Estimate};
    ///
    /// let (morning, evening) = (moments(&[1.0, 2.0])?, moments(&[6.0])?);
    /// let day = morning.merge(evening);
    /// assert_eq!((day.count(), day.mean()), (3, 3.0));
    /// assert_eq!(day.variance(Estimate::Sample), 7.0);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn merge(self, other: Moments) -> Moments {
        Merge::combine(self, other)
    }
}

/// The moments of two groups of numbers together: Chan, Golub and LeVeque, "Algorithms for
/// Computing the Sample Variance" (The American Statistician 37, 1983), formula 2.1.
///
/// The tree of [the law](crate#the-law) nearly always merges blocks of one size, a power of two.
/// Then no division is needed.
#[derive(Debug, Clone, Copy)]
pub struct Merge;

#[monoid]
impl Monoid<Moments> for Merge {
    const COMMUTATIVE: bool = true;

    fn identity() -> Moments {
        Moments::EMPTY
    }

    fn combine(a: Moments, b: Moments) -> Moments {
        let count = a.count + b.count;
        let bits = a.count.to_bits();
        // How far the means lie apart, and what the square of that counts for. Of equal powers of
        // two, n, the difference of the sums will do. Its square counts for 1/2n, whose exponent
        // is that of n, negated. No bit tells which way was taken.
        let (difference, weight) = if a.count == b.count && bits << 12 == 0 {
            (a.sum - b.sum, f64::from_bits((2045 << 52) - bits))
        } else if a.count == 0.0 || b.count == 0.0 {
            (0.0, 0.0)
        } else {
            (a.sum / a.count - b.sum / b.count, a.count * b.count / count)
        };
        Moments {
            count,
            sum: a.sum + b.sum,
            deviations: (a.deviations + b.deviations) + difference * (difference * weight),
        }
    }
}

#[doc(hidden)]
#[function]
pub fn single(x: f64) -> Moments {
    Moments {
        count: 1.0,
        sum: x,
        deviations: 0.0,
    }
}

/// The [form](crate::source::Form) of what [`measured`] gives.
pub type Measured<T, S = Slice<T>> = Map<single, Map<<T as Number>::AsF64, S>>;

/// The moments of each number of `source`. Reduced with [`Merge`], they give those of all, as
/// [`moments()`].
pub fn measured<T: Number, S>(source: S) -> Measured<T, S> {
    map(map(source))
}

/// The mean, in `f64`: the sum of all numbers, bracketed by [the law](crate#the-law), over their
/// count. NaN if there are none.
///
/// ```
/// use warpfold::mean;
/// assert_eq!(mean(&[1_u8, 2, 4])?, 7.0 / 3.0);
/// assert!(mean::<f32>(&[])?.is_nan());
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// The sum's error grows with log n. Sums of integers are exact within ±2^53. The module
/// [`statistics`](crate::statistics) has the costs.
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn mean<T: Number>(input: impl Source<Item = T>) -> Result<f64> {
    mean_on(&HostData, input)
}

/// The variance of a [population or of a sample](Estimate), in `f64`. NaN if there are no numbers,
/// for a sample of one, and if the sum is not finite.
///
/// ```
/// use warpfold::{statistics::Estimate, variance};
/// assert_eq!(variance(&[1, 2, 3, 4], Estimate::Population)?, 1.25);
/// assert_eq!(variance(&[1.0, 2.0, 6.0], Estimate::Sample)?, 7.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// One pass merges the [moments](Moments) of neighbouring blocks, as [`Merge`] says. It keeps its
/// digits where the numbers lie far from zero and differ little: the relative error is within κ ε
/// log n, where κ is the root mean square over the standard deviation and ε is 2^-52. The sum of
/// squares minus the square of the sum would lose κ² ε. The module
/// [`statistics`](crate::statistics) has the costs.
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn variance<T: Number>(input: impl Source<Item = T>, estimate: Estimate) -> Result<f64> {
    Ok(moments(input)?.variance(estimate))
}

/// The standard deviation of a [population or of a sample](Estimate): the square root of the
/// [`variance`].
///
/// ```
/// use warpfold::{statistics::Estimate, std_dev};
/// assert_eq!(std_dev(&[2, 4, 4, 4, 5, 5, 7, 9], Estimate::Population)?, 2.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn std_dev<T: Number>(input: impl Source<Item = T>, estimate: Estimate) -> Result<f64> {
    Ok(moments(input)?.std_dev(estimate))
}

/// Count, sum, mean and variance at once; see [`Moments`]. The mean has the bits of [`mean`].
///
/// ```
/// use warpfold::{moments, statistics::Estimate};
///
/// let heights = moments(&[1.5_f32, 1.75, 2.0])?;
/// assert_eq!((heights.count(), heights.mean()), (3, 1.75));
/// assert_eq!(heights.std_dev(Estimate::Sample), 0.25);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn moments<T: Number>(input: impl Source<Item = T>) -> Result<Moments> {
    moments_on(&HostData, input)
}

/// # Statistics: moments
///
/// Each is one [reduction](Device::reduce), with its costs and errors, and waits for the result.
impl Device {
    /// The mean; see [`mean`](crate::mean()).
    pub fn mean<T: Number>(&self, input: impl Source<Device, Item = T>) -> Result<f64> {
        mean_on(self, input)
    }

    /// The variance of a population or of a sample; see [`variance`](crate::variance()).
    pub fn variance<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
        estimate: Estimate,
    ) -> Result<f64> {
        Ok(self.moments(input)?.variance(estimate))
    }

    /// The standard deviation of a population or of a sample; see [`std_dev`](crate::std_dev()).
    pub fn std_dev<T: Number>(
        &self,
        input: impl Source<Device, Item = T>,
        estimate: Estimate,
    ) -> Result<f64> {
        Ok(self.moments(input)?.std_dev(estimate))
    }

    /// Count, sum, mean and variance at once; see [`moments`](crate::moments()).
    ///
    /// ```
    /// use warpfold::{Device, statistics::Estimate};
    ///
    /// let device = Device::cpu();
    /// let samples = device.upload(&[1_i16, 2, 6])?;
    /// let moments = device.moments(&samples)?;
    /// assert_eq!((moments.mean(), moments.variance(Estimate::Sample)), (3.0, 7.0));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn moments<T: Number>(&self, input: impl Source<Device, Item = T>) -> Result<Moments> {
        moments_on(self, input)
    }
}

fn mean_on<P: Place, T: Number>(on: &impl On<P>, input: impl Source<P, Item = T>) -> Result<f64> {
    let len = input.items()?;
    let sum = if len as u64 <= T::MOST_EXACT {
        on.reduce::<i64, Add>(map::<T::AsI64, _>(input))? as f64
    } else {
        on.reduce::<f64, Add>(map::<T::AsF64, _>(input))?
    };
    Ok(sum / len as f64)
}

fn moments_on<P: Place, T: Number>(
    on: &impl On<P>,
    input: impl Source<P, Item = T>,
) -> Result<Moments> {
    if is_short::<Moments>(input.items()?) {
        return on.reduce::<Moments, Merge>(measured::<T, _>(input));
    }
    match on.on_cpu(input, cpu::moments)? {
        ControlFlow::Break(moments) => Ok(moments),
        ControlFlow::Continue(input) => on.reduce::<Moments, Merge>(measured::<T, _>(input)),
    }
}
