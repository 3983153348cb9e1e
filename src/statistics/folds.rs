//! The sum, the least and the greatest number: folds by one word.

use super::Number;
use super::on::{Alone, On};
use crate::source::{Place, Source};
use crate::{Device, Result, map};

/// The sum of all numbers, added up in 64 bits, and 0 if there are none: `u64` of unsigned
/// integers, `i64` of signed ones, `f64` of floats.
///
/// ```
/// use warpfold::sum;
/// assert_eq!(sum(&[200_u8, 100])?, 300_u64);
/// assert_eq!(sum(&[-3_i32, 1])?, -2_i64);
/// assert_eq!(sum(&[0.5_f32, 0.25])?, 0.75_f64);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Sums of 64-bit integers wrap, as NumPy's do. Those of floats are bracketed by [the
/// law](crate#the-law), and have the bits of [`moments`](crate::moments())'s. For a sum in the
/// type of the numbers, [`reduce`](crate::reduce()) with [`ops::Add`](crate::ops::Add).
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn sum<T: Number>(input: impl Source<Item = T>) -> Result<T::Sum> {
    sum_on(&Alone::host()?, input)
}

/// The least number, and `None` if there is none. NaN if one of the numbers is; −0 is less than +0.
///
/// ```
/// use warpfold::min;
/// assert_eq!(min(&[3, -7, 5])?, Some(-7));
/// assert_eq!(min::<f32>(&[])?, None);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// It is a reduction by [`ops::Min`](crate::ops::Min), which gives that operator's identity of
/// nothing. [`min_max`](crate::min_max()) finds both extremes in one pass.
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn min<T: Number>(input: impl Source<Item = T>) -> Result<Option<T>> {
    min_on(&Alone::host()?, input)
}

/// The greatest number, and `None` if there is none. NaN if one of the numbers is; +0 is greater
/// than −0.
///
/// ```
/// use warpfold::max;
/// assert_eq!(max(&[3, -7, 5])?, Some(5));
/// assert!(max(&[1.0, f64::NAN])?.is_some_and(f64::is_nan));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Otherwise as [`min`].
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn max<T: Number>(input: impl Source<Item = T>) -> Result<Option<T>> {
    max_on(&Alone::host()?, input)
}

/// # Statistics: sums and extremes
///
/// Each is one [reduction](Device::reduce), with its costs and errors, and waits for the result.
impl Device {
    /// The sum, added up in 64 bits; see [`sum`](crate::sum()).
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::cpu();
    /// let x = device.upload(&[200_u8, 100])?;
    /// assert_eq!(device.sum(&x)?, 300);
    /// assert_eq!((device.min(&x)?, device.max(&x)?), (Some(100), Some(200)));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn sum<T: Number>(&self, input: impl Source<Device, Item = T>) -> Result<T::Sum> {
        sum_on(&Alone::on(self), input)
    }

    /// The least number; see [`min`](crate::min()).
    pub fn min<T: Number>(&self, input: impl Source<Device, Item = T>) -> Result<Option<T>> {
        min_on(&Alone::on(self), input)
    }

    /// The greatest number; see [`max`](crate::max()).
    pub fn max<T: Number>(&self, input: impl Source<Device, Item = T>) -> Result<Option<T>> {
        max_on(&Alone::on(self), input)
    }
}

pub(crate) fn sum_on<P: Place, T: Number>(
    on: &impl On<P>,
    input: impl Source<P, Item = T>,
) -> Result<T::Sum> {
    on.reduce::<T::Sum, T::Total>(map::<T::AsSum, _>(input))
}

pub(crate) fn min_on<P: Place, T: Number>(
    on: &impl On<P>,
    input: impl Source<P, Item = T>,
) -> Result<Option<T>> {
    let len = on.whole(input.items()?);
    let min = on.reduce::<T, T::Least>(input)?;
    Ok((len > 0).then_some(min))
}

pub(crate) fn max_on<P: Place, T: Number>(
    on: &impl On<P>,
    input: impl Source<P, Item = T>,
) -> Result<Option<T>> {
    let len = on.whole(input.items()?);
    let max = on.reduce::<T, T::Greatest>(input)?;
    Ok((len > 0).then_some(max))
}
