//! Runs of equal keys: their values are segments.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use super::{Starts, segmented_reduce, segmented_scan};
use crate::definitions::Definitions;
use crate::source::{Comparable, Source};
use crate::{
    Buffer, CudaType, Device, Element, Error, Function, Monoid, Prefixes, Result, Runs, heads,
    heads_by, map, positions, runs, runs_by,
};
use std::marker::PhantomData;

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

/// The scan of each run of values with equal neighbouring keys. [`Prefixes`] says which one, as for
/// [`segmented_scan`](crate::segmented_scan()).
///
/// `==` compares keys, as for [`runs`]: each NaN is a run of its own, and −0 equals +0. The results
/// of a run are bit for bit those of a [scan](crate::scan()) of its values alone.
///
/// ```
/// use warpfold::{Prefixes, ops::Add, scan_by_key};
///
/// let (accounts, amounts) = ([7, 7, 7, 9, 9], [100, -30, 5, 40, 2]);
/// let balances = scan_by_key::<u32, i64, Add>(Prefixes::inclusive(), &accounts, &amounts)?;
/// assert_eq!(balances, [100, 70, 75, 40, 42]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// It finds where runs start, which [`positions`] does, and takes the
/// [`segmented_scan`](crate::segmented_scan()) of the values. So it costs what these two cost
/// together.
///
/// # Errors
///
/// [`Error::Zip`] if there are not as many values as keys; and those of [`positions`] and
/// [`segmented_scan`](crate::segmented_scan()).
pub fn scan_by_key<K: Comparable, T: Element, Op: Monoid<T>>(
    prefixes: Prefixes<T>,
    keys: impl Source<Item = K>,
    values: impl Source<Item = T>,
) -> Result<Vec<T>> {
    check_lengths(keys.items()?, values.items()?)?;
    let starts = positions(map::<BeginsRun<K>, _>(heads::<K, _>(keys)))?;
    segmented_scan::<T, Op>(prefixes, values, Starts::new(&starts)?)
}

/// As [`scan_by_key`], for any keys. The function `Same` says whether a key belongs to the run of
/// the one before it; it takes that one first.
///
/// ```
/// use warpfold::{Prefixes, function, ops::Add, scan_by_key_with};
///
/// /// Visits less than half an hour apart are one session.
/// #[function]
/// fn same_session(before: u32, now: u32) -> bool {
///     now - before < 1800
/// }
///
/// let (seconds, pages) = ([0, 600, 900, 9000, 9100], [1_u32, 1, 2, 1, 1]);
/// let form = Prefixes::inclusive();
/// let seen = scan_by_key_with::<u32, same_session, u32, Add>(form, &seconds, &pages)?;
/// assert_eq!(seen, [1, 2, 4, 1, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`scan_by_key`].
pub fn scan_by_key_with<K, Same, T, Op>(
    prefixes: Prefixes<T>,
    keys: impl Source<Item = K>,
    values: impl Source<Item = T>,
) -> Result<Vec<T>>
where
    K: Element,
    Same: Function<Input = (K, K), Output = bool>,
    T: Element,
    Op: Monoid<T>,
{
    check_lengths(keys.items()?, values.items()?)?;
    let starts = positions(map::<BeginsRun<K>, _>(heads_by::<Same, _>(keys)))?;
    segmented_scan::<T, Op>(prefixes, values, Starts::new(&starts)?)
}

/// The function that says whether a run begins with an item of [`heads`].
#[derive(Debug)]
pub(crate) struct BeginsRun<T>(PhantomData<fn() -> T>);

#[diagnostic::do_not_recommend]
impl<T: CudaType> Function for BeginsRun<T> {
    type Input = (T, bool);
    type Output = bool;

    #[inline(always)]
    fn call((_, begins): (T, bool)) -> bool {
        begins
    }

    fn cuda(definitions: &mut Definitions) -> String {
        format!("warpfold::begins_run<{}>", T::cuda_type(definitions))
    }
}

fn fold_runs<K, T: Element, Op: Monoid<T>>(
    runs: Runs<Vec<K>, Vec<u64>>,
    values: impl Source<Item = T>,
) -> Result<(Vec<K>, Vec<T>)> {
    let starts = Starts::new(&runs.starts)?;
    Ok((runs.items, segmented_reduce::<T, Op>(values, starts)?))
}

pub(super) fn check_lengths(first: usize, second: usize) -> Result<()> {
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

    /// The scan of each run of values with equal neighbouring keys; see
    /// [`scan_by_key`](crate::scan_by_key). Waits for the number of runs, not for the scan.
    ///
    /// ```
    /// use warpfold::{Device, Prefixes, ops::Max};
    ///
    /// let device = Device::cpu();
    /// let (keys, values) = (device.upload(&[3_u32, 3, 8])?, device.upload(&[5_i32, 2, 1])?);
    /// let most = device.scan_by_key::<u32, i32, Max>(Prefixes::inclusive(), &keys, &values)?;
    /// assert_eq!(most.to_vec()?, [5, 5, 1]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn scan_by_key<K: Comparable, T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        keys: impl Source<Device, Item = K>,
        values: impl Source<Device, Item = T>,
    ) -> Result<Buffer<T>> {
        check_lengths(keys.items()?, values.items()?)?;
        let starts = self.positions(map::<BeginsRun<K>, _>(heads::<K, _>(keys)))?;
        self.scan_runs::<T, Op>(prefixes, &starts, values)
    }

    /// As [`scan_by_key`](Device::scan_by_key), for any keys; see
    /// [`scan_by_key_with`](crate::scan_by_key_with).
    pub fn scan_by_key_with<K, Same, T, Op>(
        &self,
        prefixes: Prefixes<T>,
        keys: impl Source<Device, Item = K>,
        values: impl Source<Device, Item = T>,
    ) -> Result<Buffer<T>>
    where
        K: Element,
        Same: Function<Input = (K, K), Output = bool>,
        T: Element,
        Op: Monoid<T>,
    {
        check_lengths(keys.items()?, values.items()?)?;
        let starts = self.positions(map::<BeginsRun<K>, _>(heads_by::<Same, _>(keys)))?;
        self.scan_runs::<T, Op>(prefixes, &starts, values)
    }

    fn scan_runs<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        starts: &Buffer<u64>,
        values: impl Source<Device, Item = T>,
    ) -> Result<Buffer<T>> {
        // What `positions` found ascends.
        let starts = Starts::unchecked::<Device, _>(starts)?;
        self.segmented_scan::<T, Op>(prefixes, values, starts)
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
