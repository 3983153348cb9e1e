//! Counts, sums and squared deviations: mean, variance and standard deviation.

use super::extremes::min_max_on;
use super::on::{Alone, On};
use super::{Number, cpu};
use crate::cpu::mode::in_rust_mode;
use crate::cpu::short::is_short;
use crate::ops::Add;
use crate::source::ByReference;
use crate::source::{Map, Place, Slice, Source};
use crate::{Device, Element, Function, Monoid, Result, function, map, monoid};
use std::ops::ControlFlow;

/// What the numbers are, of which a variance is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Estimate {
    /// All there are. The squared deviations from the mean are divided by their count n: NumPy's
    /// `ddof=0`.
    Population,
    /// Some, drawn from others, whose variance is to be estimated without bias. The squared
    /// deviations are divided by n − 1 (Bessel's correction): NumPy's `ddof=1`.
    Sample,
}

impl Estimate {
    /// How much less than their count the squared deviations are divided by: NumPy's `ddof`.
    ///
    /// ```
    /// use warpfold::statistics::Estimate;
    ///
    /// assert_eq!(Estimate::Population.ddof(), 0);
    /// assert_eq!(Estimate::Sample.ddof(), 1);
    /// ```
    pub fn ddof(self) -> u32 {
        match self {
            Estimate::Population => 0,
            Estimate::Sample => 1,
        }
    }
}

/// The count, the sum, the mean, and the sum of squared deviations from the mean, of some numbers.
///
/// [`moments()`] computes them, and a [`MomentsReducer`](super::MomentsReducer) those of a stream.
/// Those of two groups of numbers give those of both together by [`merge`](Moments::merge).
///
/// The mean is kept as a first number and a distance from it, and distances in units of the
/// largest magnitude. So equal numbers have no deviations at all, numbers far from zero keep their
/// digits, integers of 64 bits too, and no square overflows.
#[derive(Debug, Clone, Copy, PartialEq, Element)]
#[repr(C)]
pub struct Moments {
    // A float, so that no kernel converts it. It is exact up to 2^53.
    pub(super) count: f64,
    pub(super) sum: f64,
    // One of the numbers.
    pub(super) origin: f64,
    // The mean less the origin, in units of the scale.
    pub(super) offset: f64,
    // In units of the scale's square. NaN or infinite if one of the numbers is.
    pub(super) deviations: f64,
    // A power of two.
    pub(super) scale: f64,
}

/// The least scale and the greatest. The inverse of either is a number.
const LEAST: f64 = f64::from_bits(23 << 52);
const GREATEST: f64 = f64::from_bits(2045 << 52);

impl Moments {
    /// Those of no number.
    pub const EMPTY: Moments = Moments {
        count: 0.0,
        sum: 0.0,
        origin: 0.0,
        offset: 0.0,
        deviations: 0.0,
        scale: LEAST,
    };

    /// Those of one number.
    pub fn of(x: f64) -> Moments {
        single(x, 0.0)
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.count as u64
    }

    /// Their sum, bracketed by [the law](crate#the-law). Infinite if no `f64` is as large.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Their mean, and NaN if there are none. It is finite if all numbers are.
    pub fn mean(&self) -> f64 {
        if self.sum.is_finite() || !self.deviations.is_finite() {
            return self.sum / self.count;
        }
        // The sum overflowed.
        (self.origin / self.scale + self.offset) * self.scale
    }

    /// The sum of their squared deviations from the mean. Infinite if no `f64` is as large.
    pub fn squared_deviations(&self) -> f64 {
        self.deviations * self.scale * self.scale
    }

    /// Their variance. NaN if there are none, for a [sample](Estimate::Sample) of one, and if one
    /// of them is not finite. Infinite if no `f64` is as large.
    pub fn variance(&self, estimate: Estimate) -> f64 {
        self.scaled_variance(estimate) * self.scale * self.scale
    }

    /// Their standard deviation: the square root of the variance. It is finite where the variance
    /// is too large for an `f64`.
    pub fn std_dev(&self, estimate: Estimate) -> f64 {
        self.scaled_variance(estimate).sqrt() * self.scale
    }

    /// The variance in units of the scale's square.
    fn scaled_variance(&self, estimate: Estimate) -> f64 {
        let divisor = match estimate {
            Estimate::Population => self.count,
            Estimate::Sample => self.count - 1.0,
        };
        if divisor > 0.0 && self.deviations.is_finite() {
            self.deviations / divisor
        } else {
            f64::NAN
        }
    }

    /// The moments of two groups of numbers together. The last digits may differ from those of one
    /// call over all; those of a [`MomentsReducer`](super::MomentsReducer) do not.
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
        in_rust_mode(|| Merge::combine(self, other))
    }

    /// The better of both, for the same numbers. `careful` is only asked if it is needed.
    pub(super) fn choose<E>(
        quick: QuickMoments,
        careful: impl FnOnce() -> std::result::Result<Moments, E>,
    ) -> std::result::Result<Moments, E> {
        if let Some(moments) = quick.trusted() {
            return Ok(moments);
        }
        let careful = careful()?;
        Ok(if careful.deviations.is_finite() {
            careful
        } else {
            quick.not_finite()
        })
    }

    /// The better of both for each of several groups of numbers. `careful` is only asked if one
    /// needs it.
    pub(super) fn choose_each(
        quick: Vec<QuickMoments>,
        careful: impl FnOnce() -> Result<Vec<Moments>>,
    ) -> Result<Vec<Moments>> {
        let trusted = quick.iter().map(|one| one.trusted());
        if let Some(all) = trusted.collect::<Option<Vec<_>>>() {
            return Ok(all);
        }
        let pairs = quick.into_iter().zip(careful()?);
        pairs
            .map(|(quick, careful)| Moments::choose(quick, || Ok(careful)))
            .collect()
    }
}

/// The moments of two groups of numbers together: Chan, Golub and LeVeque, "Algorithms for
/// Computing the Sample Variance" (The American Statistician 37, 1983), formula 2.1, with means as
/// distances from one of the numbers.
///
/// The relative error of the variance is within ε log n, whatever the numbers are. [`QuickMerge`]
/// takes half the time or less, and loses digits of numbers far from zero.
#[derive(Debug, Clone, Copy)]
pub struct Merge;

#[monoid]
impl Monoid<Moments> for Merge {
    fn identity() -> Moments {
        Moments::EMPTY
    }

    fn combine(a: Moments, b: Moments) -> Moments {
        if a.count == 0.0 {
            return b;
        }
        if b.count == 0.0 {
            return a;
        }
        let scale = if a.scale < b.scale { b.scale } else { a.scale };
        // The inverse of a power of two; exact.
        let inverse = f64::from_bits((2046 << 52) - scale.to_bits());
        let (of_a, of_b) = (a.scale * inverse, b.scale * inverse);
        let shift = b.origin * inverse - a.origin * inverse;
        let difference = (b.offset * of_b + shift) - a.offset * of_a;
        let count = a.count + b.count;
        let share = if a.count == b.count {
            0.5
        } else {
            b.count / count
        };
        let deviations = a.deviations * (of_a * of_a) + b.deviations * (of_b * of_b);
        Moments {
            count,
            sum: a.sum + b.sum,
            origin: a.origin,
            offset: a.offset * of_a + difference * share,
            deviations: deviations + difference * (difference * (a.count * share)),
            scale,
        }
    }
}

/// The moments of a number in two parts: `low` is less than the last digit of `high`.
#[doc(hidden)]
#[function]
pub fn single(high: f64, low: f64) -> Moments {
    let magnitude = f64::from_bits(high.to_bits() & 2047 << 52);
    let scale = magnitude.clamp(LEAST, GREATEST);
    Moments {
        count: 1.0,
        sum: high,
        origin: high,
        offset: low * f64::from_bits((2046 << 52) - scale.to_bits()),
        // NaN if the number is not finite.
        deviations: if magnitude > f64::MAX { f64::NAN } else { 0.0 },
        scale,
    }
}

/// The [form](crate::source::Form) of what [`measured`] gives.
pub type Measured<T, S = Slice<T>> = Map<<T as Number>::Measure, S>;

/// The moments of each number of `source`. Reduced with [`Merge`], they give those of all.
pub fn measured<T: Number, S>(source: S) -> Measured<T, S> {
    map(source)
}

/// The count, the sum, and the sum of squared deviations from the mean, of some numbers: half as
/// large as [`Moments`], and good for numbers whose deviations are not small beside their mean.
///
/// [`moments()`] computes them first, and asks [`trusted`](QuickMoments::trusted) whether they
/// will do.
#[derive(Debug, Clone, Copy, PartialEq, Element)]
#[repr(C)]
pub struct QuickMoments {
    pub(super) count: f64,
    pub(super) sum: f64,
    pub(super) deviations: f64,
}

impl QuickMoments {
    /// Those of no number.
    pub const EMPTY: QuickMoments = QuickMoments {
        count: 0.0,
        sum: 0.0,
        deviations: 0.0,
    };

    /// Those of one number.
    pub fn of(x: f64) -> QuickMoments {
        quick_single(x)
    }

    /// Those of `count` numbers.
    pub(super) fn new(count: f64, sum: f64, deviations: f64) -> QuickMoments {
        QuickMoments {
            count,
            sum,
            deviations,
        }
    }

    /// The moments, if these have nearly all digits of them: if mean and standard deviation are far
    /// from the limits of `f64`, and the mean is at most 256 times the standard deviation.
    /// Otherwise reduce the numbers once more, [`measured`], with [`Merge`]: so does [`moments()`].
    pub fn trusted(&self) -> Option<Moments> {
        if self.count == 0.0 {
            return Some(Moments::EMPTY);
        }
        let (mean, variance) = (self.sum / self.count, self.deviations / self.count);
        let (least, greatest) = (2_f64.powi(-800), 2_f64.powi(800));
        let is_trusted =
            variance > least && variance < greatest && mean.abs() < 256.0 * variance.sqrt();
        is_trusted.then(|| Moments {
            count: self.count,
            sum: self.sum,
            origin: mean,
            offset: mean.mul_add(-self.count, self.sum) / self.count,
            deviations: self.deviations,
            scale: 1.0,
        })
    }

    /// The moments of numbers of which one is not finite.
    pub(super) fn not_finite(&self) -> Moments {
        Moments {
            count: self.count,
            sum: self.sum,
            deviations: f64::NAN,
            ..Moments::EMPTY
        }
    }
}

/// The [quick moments](QuickMoments) of two groups of numbers together: Chan, Golub and LeVeque's
/// formula with sums.
///
/// The tree of [the law](crate#the-law) nearly always merges blocks of one size, a power of two.
/// Then no division is needed. The relative error of the variance is within κ ε log n, where κ is
/// the root mean square over the standard deviation.
#[derive(Debug, Clone, Copy)]
pub struct QuickMerge;

#[monoid]
impl Monoid<QuickMoments> for QuickMerge {
    const COMMUTATIVE: bool = true;

    fn identity() -> QuickMoments {
        QuickMoments::EMPTY
    }

    fn combine(a: QuickMoments, b: QuickMoments) -> QuickMoments {
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
        QuickMoments {
            count,
            sum: a.sum + b.sum,
            deviations: (a.deviations + b.deviations) + difference * (difference * weight),
        }
    }
}

#[doc(hidden)]
#[function]
pub fn quick_single(x: f64) -> QuickMoments {
    QuickMoments {
        count: 1.0,
        sum: x,
        deviations: 0.0,
    }
}

/// The [form](crate::source::Form) of what [`quickly_measured`] gives.
pub type QuicklyMeasured<T, S = Slice<T>> = Map<quick_single, Map<<T as Number>::AsF64, S>>;

/// The quick moments of each number of `source`. Reduced with [`QuickMerge`], they give those of
/// all.
pub fn quickly_measured<T: Number, S>(source: S) -> QuicklyMeasured<T, S> {
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
/// The sum's error grows with log n. Sums of integers are exact within ±2^53. If the sum of finite
/// numbers overflows, two more passes find their mean. The module [`statistics`](crate::statistics)
/// has the costs.
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn mean<T: Number>(input: impl Source<Item = T>) -> Result<f64> {
    mean_on(&Alone::host()?, input)
}

/// The variance of a [population or of a sample](Estimate), in `f64`. NaN if there are no numbers,
/// for a sample of one, and if one of them is not finite.
///
/// ```
/// use warpfold::{statistics::Estimate, variance};
/// assert_eq!(variance(&[1, 2, 3, 4], Estimate::Population)?, 1.25);
/// assert_eq!(variance(&[1.0, 2.0, 6.0], Estimate::Sample)?, 7.0);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// The relative error is within 2^-44 log n, also where the numbers lie far from zero and differ
/// little: one pass merges [quick moments](QuickMoments), and a second one [moments](Moments) of
/// distances if the first [lost digits](QuickMoments::trusted). That is so for numbers whose mean
/// is more than 256 times their standard deviation, and for those that are all equal: these have a
/// variance of exactly 0. The module [`statistics`](crate::statistics) has the costs.
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn variance<T: Number>(input: impl Source<Item = T>, estimate: Estimate) -> Result<f64> {
    Ok(moments(input)?.variance(estimate))
}

/// The standard deviation of a [population or of a sample](Estimate): the square root of the
/// [`variance`]. It is finite for all finite numbers, also where the variance is not.
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

/// Count, sum, mean and variance at once; see [`Moments`]. The mean has the bits of [`mean()`].
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
    moments_on(&Alone::host()?, input)
}

/// # Statistics: moments
///
/// Each is one [reduction](Device::reduce), with its costs and errors, and waits for the result.
impl Device {
    /// The mean; see [`mean`](crate::mean()).
    pub fn mean<T: Number>(&self, input: impl Source<Device, Item = T>) -> Result<f64> {
        mean_on(&Alone::on(self), input)
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
        moments_on(&Alone::on(self), input)
    }
}

pub(crate) fn mean_on<P: Place, T: Number>(
    on: &impl On<P>,
    input: impl Source<P, Item = T>,
) -> Result<f64> {
    let len = on.whole(input.items()?);
    let items = ByReference(&input);
    if len as u64 <= T::MOST_EXACT {
        return Ok(on.reduce::<i64, Add>(map::<T::AsI64, _>(items))? as f64 / len as f64);
    }
    let sum = on.reduce::<f64, Add>(map::<T::AsF64, _>(items))?;
    if sum.is_finite() || !are_finite::<P, T>(on, items)? {
        return Ok(sum / len as f64);
    }
    // The sum overflowed.
    Ok(careful_on::<P, T>(on, items)?.mean())
}

/// Whether all numbers are finite.
fn are_finite<P: Place, T: Number>(
    on: &impl On<P>,
    input: impl Source<P, Item = T>,
) -> Result<bool> {
    let is_finite = |x: T| T::AsF64::call((x,)).is_finite();
    Ok(min_max_on(on, input)?.is_none_or(|(min, max)| is_finite(min) && is_finite(max)))
}

pub(crate) fn moments_on<P: Place, T: Number>(
    on: &impl On<P>,
    input: impl Source<P, Item = T>,
) -> Result<Moments> {
    let items = ByReference(&input);
    let quick = quick_on::<P, T>(on, items)?;
    if !quick.deviations.is_finite() && !are_finite::<P, T>(on, items)? {
        return Ok(quick.not_finite());
    }
    Moments::choose(quick, || careful_on::<P, T>(on, items))
}

fn quick_on<P: Place, T: Number>(
    on: &impl On<P>,
    input: impl Source<P, Item = T>,
) -> Result<QuickMoments> {
    let reduce = |input| on.reduce::<QuickMoments, QuickMerge>(quickly_measured::<T, _>(input));
    if is_short::<QuickMoments>(input.items()?) {
        return reduce(ByReference(&input));
    }
    match on.on_cpu(ByReference(&input), cpu::moments)? {
        ControlFlow::Break(moments) => Ok(moments),
        ControlFlow::Continue(input) => reduce(input),
    }
}

fn careful_on<P: Place, T: Number>(
    on: &impl On<P>,
    input: impl Source<P, Item = T>,
) -> Result<Moments> {
    let reduce = |input| on.reduce::<Moments, Merge>(measured::<T, _>(input));
    if is_short::<Moments>(input.items()?) {
        return reduce(ByReference(&input));
    }
    match on.on_cpu(ByReference(&input), cpu::careful_moments)? {
        ControlFlow::Break(moments) => Ok(moments),
        ControlFlow::Continue(input) => reduce(input),
    }
}
