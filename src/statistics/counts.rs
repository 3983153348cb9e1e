//! How many flags are set.

use super::on::{Alone, On};
use crate::ops::{Add, BitAnd, BitOr};
use crate::source::{Place, Source};
use crate::{Device, Result, function, map};

/// How many flags are set.
///
/// Flags are what a predicate says of each item, or [numbers](crate::flags()) or a slice of
/// [`bool`](crate::bools()) as they are:
///
/// ```
/// use warpfold::{bools, count, function, map};
///
/// #[function]
/// fn even(x: u32) -> bool {
///     x % 2 == 0
/// }
///
/// assert_eq!(count(map::<even, _>(&[3, 1, 4, 1, 5, 9, 2, 6]))?, 3);
/// assert_eq!(count(bools(&[true, false, true]))?, 2);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// For where they are set, see [`positions`](crate::positions()).
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn count(flags: impl Source<Item = bool>) -> Result<usize> {
    count_on(&Alone::host()?, flags)
}

/// Whether some flag is set. `false` if there is none.
///
/// ```
/// use warpfold::{any, function, map};
///
/// #[function]
/// fn is_nan(x: f64) -> bool {
///     x.is_nan()
/// }
///
/// assert!(any(map::<is_nan, _>(&[3.0, f64::NAN, 4.0]))?);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// All flags are evaluated, also after one that is set.
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn any(flags: impl Source<Item = bool>) -> Result<bool> {
    any_on(&Alone::host()?, flags)
}

/// Whether every flag is set. `true` if there is none.
///
/// ```
/// use warpfold::{all, function, map};
///
/// #[function]
/// fn positive(x: i32) -> bool {
///     x > 0
/// }
///
/// assert!(all(map::<positive, _>(&[3, 1, 4]))?);
/// assert!(!all(map::<positive, _>(&[3, 0, 4]))?);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// All flags are evaluated, also after one that is not set.
///
/// # Errors
///
/// As [`reduce`](crate::reduce()).
pub fn all(flags: impl Source<Item = bool>) -> Result<bool> {
    all_on(&Alone::host()?, flags)
}

/// # Statistics: counts
///
/// Each is one [reduction](Device::reduce), with its costs and errors, and waits for the result.
impl Device {
    /// How many flags are set; see [`count`](crate::count()).
    ///
    /// ```
    /// use warpfold::{Device, flags};
    ///
    /// let device = Device::cpu();
    /// let mask = device.upload(&[0_u8, 1, 1, 0, 1])?;
    /// assert_eq!(device.count(flags(&mask))?, 3);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn count(&self, flags: impl Source<Device, Item = bool>) -> Result<usize> {
        count_on(&Alone::on(self), flags)
    }

    /// Whether some flag is set; see [`any`](crate::any()).
    pub fn any(&self, flags: impl Source<Device, Item = bool>) -> Result<bool> {
        any_on(&Alone::on(self), flags)
    }

    /// Whether every flag is set; see [`all`](crate::all()).
    pub fn all(&self, flags: impl Source<Device, Item = bool>) -> Result<bool> {
        all_on(&Alone::on(self), flags)
    }
}

#[function]
fn one_if(flag: bool) -> u64 {
    flag as u64
}

#[function]
fn word(flag: bool) -> u32 {
    flag as u32
}

pub(crate) fn count_on<P: Place>(
    on: &impl On<P>,
    flags: impl Source<P, Item = bool>,
) -> Result<usize> {
    Ok(on.reduce::<u64, Add>(map::<one_if, _>(flags))? as usize)
}

pub(crate) fn any_on<P: Place>(
    on: &impl On<P>,
    flags: impl Source<P, Item = bool>,
) -> Result<bool> {
    Ok(on.reduce::<u32, BitOr>(map::<word, _>(flags))? != 0)
}

pub(crate) fn all_on<P: Place>(
    on: &impl On<P>,
    flags: impl Source<P, Item = bool>,
) -> Result<bool> {
    Ok(on.reduce::<u32, BitAnd>(map::<word, _>(flags))? != 0)
}
