//! The distinct values of unsorted data, and group-by over unsorted keys: a sort, and then runs.

use super::collect::collect_on;
use super::segmented::Starts;
use super::select::Runs;
use super::sort::{KeyMap, Kind, Order, Sortable};
use crate::definitions::Definitions;
use crate::source::{Host, Indices, Source, gather, heads_by, index};
use crate::{Buffer, CudaType, Device, Element, Error, Function, Monoid, Result};
use std::marker::PhantomData;

/// Whether two numbers are equal to an order: NaNs are, and zeros of either sign. `TOTAL`: only
/// those with the same bits.
#[derive(Debug)]
pub struct OfOneRank<K, const TOTAL: bool>(PhantomData<fn() -> K>);

impl<K: Sortable, const TOTAL: bool> OfOneRank<K, TOTAL> {
    /// Any of its orders tells what is equal.
    const ORDER: Order = match TOTAL {
        true => Order::ascending().total(),
        false => Order::ascending(),
    };
}

#[diagnostic::do_not_recommend]
impl<K: Sortable, const TOTAL: bool> Function for OfOneRank<K, TOTAL> {
    type Input = (K, K);
    type Output = bool;

    #[inline(always)]
    fn call((a, b): (K, K)) -> bool {
        let map: KeyMap<K::Bits> = K::key_map(Self::ORDER);
        map.rank(a) == map.rank(b)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        definitions.define_function::<Self>("of_one_rank", |definitions, name| {
            let (key, bits) = (K::cuda_type(definitions), K::Bits::cuda_type(definitions));
            let (is_float, code) = (matches!(K::KIND, Kind::Float(_)), Self::ORDER.code(K::KIND));
            let rank = format!("rank_of<{bits}, {is_float}>");
            format!(
                "__device__ __forceinline__ bool {name}({key} a, {key} b) {{\n    \
                 return {rank}(a, {code}u) == {rank}(b, {code}u);\n}}"
            )
        })
    }
}

/// What [`unique_counts`] finds: each distinct value, how many items have it, and where the first
/// of them stands. On the host these are vectors, on a [`Device`] buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distinct<Values, Numbers> {
    /// The distinct values, sorted: each as its first item has it.
    pub values: Values,
    /// The number of items of each value.
    pub counts: Numbers,
    /// Where the first item of each value stands in the source.
    pub firsts: Numbers,
}

/// What [`group_by`] finds: each distinct key, the fold of its values, and their number. On the
/// host these are vectors, on a [`Device`] buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups<Keys, Folds, Numbers> {
    /// The distinct keys, sorted: each as its first item has it.
    pub keys: Keys,
    /// The fold of each key's values, in the order of the source.
    pub folds: Folds,
    /// The number of values of each key.
    pub counts: Numbers,
}

/// The distinct values of unsorted items, sorted: NumPy's `unique`.
///
/// Values are equal as the [`Order`] says: NaNs are one value, and −0 and +0 are, unless the order
/// is [`total`](Order::total). Of equals the first one stands for all, with its bits.
///
/// ```
/// use warpfold::{Order, unique_sorted};
///
/// assert_eq!(unique_sorted(&[3, 1, 3, 2, 1], Order::ascending())?, [1, 2, 3]);
/// assert_eq!(unique_sorted(&[0.5, f32::NAN, f32::NAN], Order::ascending())?.len(), 2);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Of sorted items [`unique`](crate::unique()) finds the distinct ones in one pass, and of any
/// items the runs.
///
/// Complexity and memory: a [`sort`](crate::sort()), and a [`select`](crate::select()) of what it
/// gives.
///
/// # Errors
///
/// As [`sort`](crate::sort()).
pub fn unique_sorted<K: Sortable>(input: impl Source<Item = K>, order: Order) -> Result<Vec<K>> {
    let device = Device::for_host_data()?;
    let mut items = collect_on::<Host, K, _>(&device, input)?;
    device.sort_in_place(&mut items, order)?;
    device.distinct_of_sorted(items, order)?.into_vec()
}

/// The distinct values of unsorted items, sorted, with how many there are of each and where the
/// first of them stands: NumPy's `unique(return_counts=True, return_index=True)`. Otherwise as
/// [`unique_sorted`].
///
/// Which value an item has, NumPy's `return_inverse`, is its [`lower_bound`](crate::lower_bound) in
/// the values:
///
/// ```
/// use warpfold::{Order, lower_bound, unique_counts};
///
/// let (x, order) = ([30, 10, 30, 20], Order::ascending());
/// let distinct = unique_counts(&x, order)?;
/// assert_eq!(distinct.values, [10, 20, 30]);
/// assert_eq!(distinct.counts, [1, 1, 2]);
/// assert_eq!(distinct.firsts, [1, 3, 0]);
/// assert_eq!(lower_bound(&distinct.values, &x, order)?, [2, 0, 2, 1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Complexity and memory: a [`sort_pairs`](crate::sort_pairs()) of the items with their places, and
/// the [`runs`](crate::runs()) of what it gives.
///
/// # Errors
///
/// As [`sort`](crate::sort()).
pub fn unique_counts<K: Sortable>(
    input: impl Source<Item = K>,
    order: Order,
) -> Result<Distinct<Vec<K>, Vec<u64>>> {
    let device = Device::for_host_data()?;
    let items = collect_on::<Host, K, _>(&device, input)?;
    let distinct = device.unique_counts(&items, order)?;
    Ok(Distinct {
        values: distinct.values.into_vec()?,
        counts: distinct.counts.into_vec()?,
        firsts: distinct.firsts.into_vec()?,
    })
}

/// For each distinct key the fold of its values, and their number: a group-by over keys in any
/// order.
///
/// Keys come out sorted, and are equal as the [`Order`] says. Values of one key are folded in the
/// order of the source: each result is bit for bit what [`reduce`](crate::reduce()) gives for that
/// key's values alone.
///
/// ```
/// use warpfold::{Order, group_by, ops::Add};
///
/// let (cities, sales) = ([2_u32, 1, 2, 7], [0.5_f32, 3.0, 1.5, 4.0]);
/// let groups = group_by::<u32, f32, Add>(&cities, &sales, Order::ascending())?;
/// assert_eq!(groups.keys, [1, 2, 7]);
/// assert_eq!(groups.folds, [3.0, 2.0, 4.0]);
/// assert_eq!(groups.counts, [1, 2, 1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Over keys that are sorted already, [`reduce_by_key`](crate::reduce_by_key()) takes one pass.
///
/// Complexity and memory: a [`sort_pairs`](crate::sort_pairs()), the [`runs`](crate::runs()) of the
/// keys, and a [`segmented_reduce`](crate::segmented_reduce()).
///
/// # Errors
///
/// [`Error::Pairs`] if there are not as many values as keys; and those of [`sort`](crate::sort())
/// and [`segmented_reduce`](crate::segmented_reduce()).
pub fn group_by<K: Sortable, T: Element, Op: Monoid<T>>(
    keys: impl Source<Item = K>,
    values: impl Source<Item = T>,
    order: Order,
) -> Result<Groups<Vec<K>, Vec<T>, Vec<u64>>> {
    Error::check_pairs(keys.items()?, values.items()?)?;
    let device = Device::for_host_data()?;
    let keys = collect_on::<Host, K, _>(&device, keys)?;
    let values = collect_on::<Host, T, _>(&device, values)?;
    let groups = device.group_pairs::<K, T, Op>(keys, values, order)?;
    Ok(Groups {
        keys: groups.keys.into_vec()?,
        folds: groups.folds.into_vec()?,
        counts: groups.counts.into_vec()?,
    })
}

/// # Distinct values, and groups
///
/// # Errors
///
/// Of every method: those of [`sort`](Device::sort), [`select`](Device::select()) and
/// [`segmented_reduce`](Device::segmented_reduce).
impl Device {
    /// The distinct values of unsorted items, sorted, in a new buffer; see [`unique_sorted`]. Waits
    /// for their number.
    pub fn unique_sorted<K: Sortable>(
        &self,
        input: impl Source<Device, Item = K>,
        order: Order,
    ) -> Result<Buffer<K>> {
        self.distinct_of_sorted(self.sort(input, order)?, order)
    }

    /// The distinct values of unsorted items, sorted, with how many there are of each and where the
    /// first of them stands; see [`unique_counts`]. Waits for their number.
    ///
    /// ```
    /// use warpfold::{Device, Order};
    ///
    /// let device = Device::cpu();
    /// let x = device.upload(&[5_u8, 9, 5])?;
    /// let distinct = device.unique_counts(&x, Order::descending())?;
    /// assert_eq!(distinct.values.to_vec()?, [9, 5]);
    /// assert_eq!(distinct.counts.to_vec()?, [1, 2]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn unique_counts<K: Sortable>(
        &self,
        input: impl Source<Device, Item = K>,
        order: Order,
    ) -> Result<Distinct<Buffer<K>, Buffer<u64>>> {
        let places = index(input.items()?);
        let (sorted, places) = self.sort_pairs(input, places, order)?;
        let runs = self.runs_of_sorted(&sorted, order)?;
        let firsts = gather(&places, Indices::unchecked(&runs.starts));
        Ok(Distinct {
            values: runs.items,
            counts: runs.lengths,
            firsts: self.collect(firsts)?,
        })
    }

    /// For each distinct key the fold of its values, and their number; see [`group_by`]. Waits for
    /// the number of keys, not for the folds.
    ///
    /// ```
    /// use warpfold::{Device, Order, ops::Max};
    ///
    /// let device = Device::cpu();
    /// let (keys, values) = (device.upload(&[8_u8, 3, 8])?, device.upload(&[1.5_f64, 0.5, 2.5])?);
    /// let groups = device.group_by::<u8, f64, Max>(&keys, &values, Order::ascending())?;
    /// assert_eq!(groups.keys.to_vec()?, [3, 8]);
    /// assert_eq!(groups.folds.to_vec()?, [0.5, 2.5]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Also [`Error::Pairs`] if there are not as many values as keys.
    pub fn group_by<K: Sortable, T: Element, Op: Monoid<T>>(
        &self,
        keys: impl Source<Device, Item = K>,
        values: impl Source<Device, Item = T>,
        order: Order,
    ) -> Result<Groups<Buffer<K>, Buffer<T>, Buffer<u64>>> {
        Error::check_pairs(keys.items()?, values.items()?)?;
        self.group_pairs::<K, T, Op>(self.collect(keys)?, self.collect(values)?, order)
    }

    fn group_pairs<K: Sortable, T: Element, Op: Monoid<T>>(
        &self,
        mut keys: Buffer<K>,
        mut values: Buffer<T>,
        order: Order,
    ) -> Result<Groups<Buffer<K>, Buffer<T>, Buffer<u64>>> {
        self.sort_pairs_in_place(&mut keys, &mut values, order)?;
        let runs = self.runs_of_sorted(&keys, order)?;
        // What `runs` found ascends.
        let starts = Starts::unchecked::<Device, _>(&runs.starts)?;
        Ok(Groups {
            folds: self.segmented_reduce::<T, Op>(&values, starts)?,
            keys: runs.items,
            counts: runs.lengths,
        })
    }

    fn distinct_of_sorted<K: Sortable>(
        &self,
        sorted: Buffer<K>,
        order: Order,
    ) -> Result<Buffer<K>> {
        match order.is_total() {
            true => self.select_flagged(heads_by::<OfOneRank<K, true>, _>(&sorted)),
            false => self.select_flagged(heads_by::<OfOneRank<K, false>, _>(&sorted)),
        }
    }

    fn runs_of_sorted<K: Sortable>(
        &self,
        sorted: &Buffer<K>,
        order: Order,
    ) -> Result<Runs<Buffer<K>, Buffer<u64>>> {
        match order.is_total() {
            true => self.runs_by::<K, OfOneRank<K, true>>(sorted),
            false => self.runs_by::<K, OfOneRank<K, false>>(sorted),
        }
    }
}
