//! Quantiles, with every interpolation that NumPy has a name for.

use super::Number;
use crate::device::OnDevice;
use crate::primitives::sort::{Order, Sortable};
use crate::primitives::top::{Candidate, nths_on};
use crate::source::{Host, Source};
use crate::{Device, Error, Function, Result};
use std::fmt;
use std::str::FromStr;

/// Which number stands for a quantile, given the sorted numbers: a rule by the name that NumPy
/// has for it.
///
/// For a level `q` of `n` numbers the rules compute a place in the sorted order, counted from 0.
/// The discrete ones choose a number there, and the others interpolate between the two beside it.
/// Hyndman and Fan, "Sample Quantiles in Statistical Packages" (1996), compare the first nine.
///
/// ```
/// use warpfold::Interpolation;
///
/// assert_eq!("median_unbiased".parse(), Ok(Interpolation::MedianUnbiased));
/// assert_eq!(Interpolation::default().to_string(), "linear");
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Interpolation {
    /// The first number that as many as `n q` numbers do not exceed. Discrete.
    InvertedCdf,
    /// The number of [`InvertedCdf`](Self::InvertedCdf); where `n q` is a whole number, the mean of
    /// it and the next.
    AveragedInvertedCdf,
    /// The number that is nearest to place `n q - 1/2`. Discrete.
    ClosestObservation,
    /// Place `n q - 1`.
    InterpolatedInvertedCdf,
    /// Place `n q - 1/2`.
    Hazen,
    /// Place `(n + 1) q - 1`.
    Weibull,
    /// Place `(n - 1) q`: the default.
    #[default]
    Linear,
    /// Place `(n + 1/3) q - 2/3`.
    MedianUnbiased,
    /// Place `(n + 1/4) q - 5/8`.
    NormalUnbiased,
    /// The number at or before place `(n - 1) q`. Discrete.
    Lower,
    /// The number at or behind place `(n - 1) q`. Discrete.
    Higher,
    /// The mean of these two.
    Midpoint,
    /// The nearer of these two, and of equally near ones that with an even place. Discrete.
    Nearest,
}

/// All rules, by their names.
const NAMES: [(Interpolation, &str); 13] = [
    (Interpolation::InvertedCdf, "inverted_cdf"),
    (Interpolation::AveragedInvertedCdf, "averaged_inverted_cdf"),
    (Interpolation::ClosestObservation, "closest_observation"),
    (
        Interpolation::InterpolatedInvertedCdf,
        "interpolated_inverted_cdf",
    ),
    (Interpolation::Hazen, "hazen"),
    (Interpolation::Weibull, "weibull"),
    (Interpolation::Linear, "linear"),
    (Interpolation::MedianUnbiased, "median_unbiased"),
    (Interpolation::NormalUnbiased, "normal_unbiased"),
    (Interpolation::Lower, "lower"),
    (Interpolation::Higher, "higher"),
    (Interpolation::Midpoint, "midpoint"),
    (Interpolation::Nearest, "nearest"),
];

impl fmt::Display for Interpolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = NAMES.iter().find(|(rule, _)| rule == self);
        f.write_str(named.expect("all rules have names").1)
    }
}

impl FromStr for Interpolation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Interpolation> {
        let named = NAMES.iter().find(|(_, name)| *name == text);
        named.map(|(rule, _)| *rule).ok_or_else(|| {
            let names = NAMES.map(|(_, name)| name).join(", ");
            Error::Argument {
                argument: "interpolation",
                fault: format!("is `{text}`, which is none\n  remedy: give one of {names}"),
            }
        })
    }
}

/// Where a quantile lies in the sorted order: between a place and the next one, and how far.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Between {
    places: [usize; 2],
    part: f64,
}

impl Interpolation {
    /// Where the quantile of a level from 0 to 1 lies among `len` numbers, of which there is one.
    fn place(self, level: f64, len: usize) -> Between {
        use Interpolation::*;
        let n = len as f64;
        // The operations are NumPy's, in its order.
        let by = |alpha: f64, beta: f64| n * level + (alpha + level * (1.0 - alpha - beta)) - 1.0;
        let span = (n - 1.0) * level;
        let discrete = |index: f64| {
            let place = (index.max(0.0) as usize).min(len - 1);
            Between {
                places: [place; 2],
                part: 0.0,
            }
        };
        let between = |index: f64, part: &dyn Fn(f64) -> f64| {
            let low = index.floor();
            let [first, last] = [0, len - 1];
            let (places, part) = if index >= n - 1.0 {
                ([last; 2], 0.0)
            } else if index < 0.0 {
                ([first; 2], 0.0)
            } else {
                ([low as usize, low as usize + 1], part(index - low))
            };
            Between { places, part }
        };
        let as_it_is = |part: f64| part;
        match self {
            InvertedCdf => {
                let index = n * level - 1.0;
                discrete(index.ceil())
            }
            ClosestObservation => {
                let index = n * level - 1.0 - 0.5;
                let is_odd = index.floor().rem_euclid(2.0) == 1.0;
                discrete(match index == index.floor() && is_odd {
                    true => index,
                    false => index.floor() + 1.0,
                })
            }
            AveragedInvertedCdf => between(n * level - 1.0, &|part| match part == 0.0 {
                true => 0.5,
                false => 1.0,
            }),
            InterpolatedInvertedCdf => between(by(0.0, 1.0), &as_it_is),
            Hazen => between(by(0.5, 0.5), &as_it_is),
            Weibull => between(by(0.0, 0.0), &as_it_is),
            Linear => between(span, &as_it_is),
            MedianUnbiased => between(by(1.0 / 3.0, 1.0 / 3.0), &as_it_is),
            NormalUnbiased => between(by(3.0 / 8.0, 3.0 / 8.0), &as_it_is),
            Lower => discrete(span.floor()),
            Higher => discrete(span.ceil()),
            Midpoint => between(0.5 * (span.floor() + span.ceil()), &|part| part),
            Nearest => discrete(span.round_ties_even()),
        }
    }
}

/// The quantiles of a source at some levels from 0 to 1: NumPy's `quantile`, in `f64`. All are NaN
/// if there is a NaN, or no number.
///
/// ```
/// use warpfold::{Interpolation, quantiles};
///
/// let x = [7.0_f32, 1.0, 3.0, 5.0];
/// assert_eq!(quantiles(&x, &[0.0, 0.5, 0.9], Interpolation::Linear)?, [1.0, 4.0, 6.4]);
/// assert_eq!(quantiles(&x, &[0.5], Interpolation::Lower)?, [3.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Interpolation has the operations of NumPy for `f64`, in its order, with one exception: between a
/// number and an infinity lies the infinity, where NumPy has NaN for some levels.
///
/// Complexity and memory are those of [`select_nths`](crate::select_nths).
///
/// # Errors
///
/// [`Error::Argument`] if a level is not from 0 to 1; and those of [`sort`](crate::sort()).
pub fn quantiles<T: Number + Sortable + Candidate<Key = T>>(
    input: impl Source<Item = T>,
    levels: &[f64],
    interpolation: Interpolation,
) -> Result<Vec<f64>> {
    quantiles_on::<Host, T, _>(&Device::for_host_data()?, input, levels, interpolation)
}

impl Device {
    /// The quantiles of a source at some levels; see [`quantiles`](crate::quantiles). Waits for
    /// them.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if a level is not from 0 to 1; and those of [`Device::sort`].
    pub fn quantiles<T: Number + Sortable + Candidate<Key = T>>(
        &self,
        input: impl Source<Device, Item = T>,
        levels: &[f64],
        interpolation: Interpolation,
    ) -> Result<Vec<f64>> {
        quantiles_on::<Device, T, _>(self, input, levels, interpolation)
    }
}

fn quantiles_on<P, T, S>(
    device: &Device,
    input: S,
    levels: &[f64],
    interpolation: Interpolation,
) -> Result<Vec<f64>>
where
    P: OnDevice,
    T: Number + Sortable + Candidate<Key = T>,
    S: Source<P, Item = T>,
{
    check(levels)?;
    let mut len = 0;
    let numbers = nths_on::<P, T, S>(device, input, Order::ascending(), |items| {
        len = items;
        Ok(places(levels, interpolation, items))
    })?;
    Ok(values(&numbers, levels, interpolation, len))
}

fn check(levels: &[f64]) -> Result<()> {
    match levels.iter().position(|level| !(0.0..=1.0).contains(level)) {
        None => Ok(()),
        Some(i) => Err(Error::Argument {
            argument: "levels",
            fault: format!(
                "have {} at {i}\n  remedy: give levels from 0 to 1, such as 0.5 for the median",
                levels[i]
            ),
        }),
    }
}

/// The places whose numbers are wanted: the last one, which is NaN if one is, and two for each
/// level.
fn places(levels: &[f64], interpolation: Interpolation, len: usize) -> Vec<usize> {
    if len == 0 {
        return Vec::new();
    }
    let of_levels = levels
        .iter()
        .flat_map(|&level| interpolation.place(level, len).places);
    std::iter::once(len - 1).chain(of_levels).collect()
}

/// The quantiles, given the numbers at [`places`].
fn values<T: Number>(
    numbers: &[T],
    levels: &[f64],
    interpolation: Interpolation,
    len: usize,
) -> Vec<f64> {
    let mut numbers = numbers.iter().map(|&number| T::AsF64::call((number,)));
    let last = numbers.next().unwrap_or(f64::NAN);
    if last.is_nan() {
        return vec![f64::NAN; levels.len()];
    }
    let value = |&level: &f64| {
        let mut next = || numbers.next().expect("two for each level");
        let (low, high) = (next(), next());
        interpolated(low, high, interpolation.place(level, len).part)
    };
    levels.iter().map(value).collect()
}

/// From the nearer end, as NumPy does it. An infinite end takes all that is between.
fn interpolated(low: f64, high: f64, part: f64) -> f64 {
    if low == high || part == 0.0 {
        return low;
    }
    match (low.is_finite(), high.is_finite()) {
        (true, false) => high,
        (false, true) => low,
        (false, false) => high,
        _ if !(high - low).is_finite() => low * (1.0 - part) + high * part,
        _ if part < 0.5 => low + (high - low) * part,
        _ => high - (high - low) * (1.0 - part),
    }
}
