//! Runs of equal keys: their values are segments.

use super::{Starts, segmented_reduce};
use crate::source::{Comparable, Source};
use crate::{Buffer, Device, Element, Error, Function, Monoid, Result, Runs, runs, runs_by};

/// For each run of equal neighbouring keys, the key and the fold of its values: a group-by over
/// sorted keys.
///
/// `==` compares keys, as for [`runs`]: each NaN is a run of its own, and −0 equals +0. Each result
/// is bit for bit what [`reduce`](crate::reduce()) gives for the values of that run alone.
///
/// ```
/// use warpfold::{ops::Add, reduce_by_key};
///
/// let (keys, sums) = reduce_by_key::<u32, f32, Add>(&[1, 1, 4, 4, 4], &[0.5, 1.0, 2.0, 3.0,
/// 4.0])?; assert_eq!((keys, sums), (vec![1, 4], vec![1.5, 9.0]));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// It finds the [`runs`] of the keys, and takes the [`segmented_reduce`] of the values. So it costs
/// what these two cost together.
///
/// # Errors
///
/// [`Error::Zip`] if there are not as many values as keys; and those of [`runs`] and
/// [`segmented_reduce`].
pub fn reduce_by_key<K: Comparable, T: Element, Op: Monoid<T>>(
    keys: impl Source<Item = K>,
    values: impl Source<Item = T>,
) -> Result<(Vec<K>, Vec<T>)> {
    check_lengths(keys.items()?, values.items()?)?;
    fold_runs::<K, T, Op>(runs::<K>(keys)?, values)
}

/// As [`reduce_by_key`], for any keys. The function `Same` says whether a key belongs to the run of
/// the one before it; it takes that one first.
///
/// ```
/// use warpfold::{function, ops::Max, reduce_by_key_with};
///
/// #[function]
/// fn same_decade(a: u32, b: u32) -> bool {
///     a / 10 == b / 10
/// }
///
/// let (years, best) =
///     reduce_by_key_with::<u32, same_decade, i32, Max>(&[1981, 1985, 1990], &[7, 9, 3])?;
/// assert_eq!((years, best), (vec![1981, 1990], vec![9, 3]));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`reduce_by_key`].
pub fn reduce_by_key_with<K, Same, T, Op>(
    keys: impl Source<Item = K>,
    values: impl Source<Item = T>,
) -> Result<(Vec<K>, Vec<T>)>
where
    K: Element,
    Same: Function<Input = (K, K), Output = bool>,
    T: Element,
    Op: Monoid<T>,
{
    check_lengths(keys.items()?, values.items()?)?;
    fold_runs::<K, T, Op>(runs_by::<K, Same>(keys)?, values)
}

fn fold_runs<K, T: Element, Op: Monoid<T>>(
    runs: Runs<Vec<K>, Vec<u64>>,
    values: impl Source<Item = T>,
) -> Result<(Vec<K>, Vec<T>)> {
    let starts = Starts::new(&runs.starts)?;
    Ok((runs.items, segmented_reduce::<T, Op>(values, starts)?))
}

fn check_lengths(first: usize, second: usize) -> Result<()> {
    match first == second {
        true => Ok(()),
        false => Err(Error::Zip { first, second }),
    }
}

/// # Keys
///
/// # Errors
///
/// Of every method: [`Error::Zip`] if there are not as many values as keys; and those of
/// [`Device::runs`] and [`Device::segmented_reduce`].
impl Device {
    /// For each run of equal neighbouring keys, the key and the fold of its values; see
    /// [`reduce_by_key`](crate::reduce_by_key()). Waits for the number of runs, not for the folds.
    ///
    /// ```
    /// use warpfold::{Device, ops::Add};
    ///
    /// let device = Device::cpu();
    /// let (keys, values) = (device.upload(&[3_u32, 3, 8])?, device.upload(&[1_u64, 2, 4])?);
    /// let (keys, sums) = device.reduce_by_key::<u32, u64, Add>(&keys, &values)?;
    /// assert_eq!((keys.to_vec()?, sums.to_vec()?), (vec![3, 8], vec![3, 4]));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn reduce_by_key<K: Comparable, T: Element, Op: Monoid<T>>(
        &self,
        keys: impl Source<Device, Item = K>,
        values: impl Source<Device, Item = T>,
    ) -> Result<(Buffer<K>, Buffer<T>)> {
        check_lengths(keys.items()?, values.items()?)?;
        self.fold_runs::<K, T, Op>(self.runs::<K>(keys)?, values)
    }

    /// As [`reduce_by_key`](Device::reduce_by_key), for any keys; see
    /// [`reduce_by_key_with`](crate::reduce_by_key_with).
    pub fn reduce_by_key_with<K, Same, T, Op>(
        &self,
        keys: impl Source<Device, Item = K>,
        values: impl Source<Device, Item = T>,
    ) -> Result<(Buffer<K>, Buffer<T>)>
    where
        K: Element,
        Same: Function<Input = (K, K), Output = bool>,
        T: Element,
        Op: Monoid<T>,
    {
        check_lengths(keys.items()?, values.items()?)?;
        self.fold_runs::<K, T, Op>(self.runs_by::<K, Same>(keys)?, values)
    }

    fn fold_runs<K: Element, T: Element, Op: Monoid<T>>(
        &self,
        runs: Runs<Buffer<K>, Buffer<u64>>,
        values: impl Source<Device, Item = T>,
    ) -> Result<(Buffer<K>, Buffer<T>)> {
        // What `runs` found ascends.
        let starts = Starts::unchecked::<Device, _>(&runs.starts)?;
        let folds = self.segmented_reduce::<T, Op>(values, starts)?;
        Ok((runs.items, folds))
    }
}
