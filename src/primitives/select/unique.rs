//! Unique: the first item of each run of equal neighbours, where runs start, and how long they are.

use super::kernel::RunParts;
use super::store_new;
use crate::device::{Call, OnDevice};
use crate::source::{Comparable, Host, Source, heads, heads_by};
use crate::{Buffer, Device, Element, Function, Result, select_flagged};

/// The first number of each run of equal neighbours: Unix's `uniq`, PyTorch's `unique_consecutive`.
/// Of sorted numbers these are all different ones.
///
/// `==` compares: each NaN is a run of its own, and −0 equals +0.
///
/// ```
/// assert_eq!(warpfold::unique::<i32>(&[7, 7, 2, 2, 2, 7])?, [7, 2, 7]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// It is the select of the items that have a [head flag](crate::heads()), with the costs of
/// [`select`](crate::select()); every item is evaluated twice. For places and lengths of the runs,
/// see [`runs`](crate::runs()).
///
/// # Errors
///
/// As [`select`](crate::select()).
pub fn unique<T: Comparable>(input: impl Source<Item = T>) -> Result<Vec<T>> {
    select_flagged(heads::<T, _>(input))
}

/// As [`unique`], for any items. The function `Same` says whether an item belongs to the run of the
/// one before it; it takes that one first.
///
/// ```
/// use warpfold::{Element, function, unique_by};
///
/// #[derive(Debug, Clone, Copy, PartialEq, Element)]
/// #[repr(C)]
/// struct Entry {
///     key: u32,
///     value: f32,
/// }
///
/// #[function]
/// fn same_key(a: Entry, b: Entry) -> bool {
///     a.key == b.key
/// }
///
/// let entry = |key, value| Entry { key, value };
/// let entries = [entry(1, 0.5), entry(1, 0.25), entry(4, 8.0)];
/// let firsts = unique_by::<Entry, same_key>(&entries)?;
/// assert_eq!(firsts, [entry(1, 0.5), entry(4, 8.0)]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`select`](crate::select()).
pub fn unique_by<T, Same>(input: impl Source<Item = T>) -> Result<Vec<T>>
where
    T: Element,
    Same: Function<Input = (T, T), Output = bool>,
{
    select_flagged(heads_by::<Same, _>(input))
}

/// What [`runs`] finds: for each run of equal neighbours its first item, where it starts, and how
/// long it is. On the host these are vectors, on a [`Device`] buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs<Items, Numbers> {
    /// The first item of each run.
    pub items: Items,
    /// The position at which each run starts.
    pub starts: Numbers,
    /// The number of items of each run.
    pub lengths: Numbers,
}

/// The runs of equal neighbours: run-length encoding. `==` compares, as for [`unique`].
///
/// ```
/// let runs = warpfold::runs::<i32>(&[7, 7, 2, 2, 2, 7])?;
/// assert_eq!(runs.items, [7, 2, 7]);
/// assert_eq!(runs.starts, [0, 2, 5]);
/// assert_eq!(runs.lengths, [2, 3, 1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// One pass finds all three, one launch on a GPU: where a run starts, the one before it ends.
/// Complexity: O(n) work; every item is evaluated twice. Memory: as for
/// [`select`](crate::select()), for items, starts and lengths.
///
/// # Errors
///
/// As [`select`](crate::select()).
pub fn runs<T: Comparable>(input: impl Source<Item = T>) -> Result<Runs<Vec<T>, Vec<u64>>> {
    runs_host(heads::<T, _>(input))
}

/// As [`runs`], for any items. The function `Same` says whether an item belongs to the run of the
/// one before it; it takes that one first.
///
/// # Errors
///
/// As [`select`](crate::select()).
pub fn runs_by<T, Same>(input: impl Source<Item = T>) -> Result<Runs<Vec<T>, Vec<u64>>>
where
    T: Element,
    Same: Function<Input = (T, T), Output = bool>,
{
    runs_host(heads_by::<Same, _>(input))
}

fn runs_host<T: Element, S: Source<Item = (T, bool)>>(input: S) -> Result<Runs<Vec<T>, Vec<u64>>> {
    let runs = runs_on::<Host, T, _>(&Device::for_host_data()?, input)?;
    Ok(Runs {
        items: runs.items.into_vec()?,
        starts: runs.starts.into_vec()?,
        lengths: runs.lengths.into_vec()?,
    })
}

fn runs_on<P: OnDevice, T: Element, S: Source<P, Item = (T, bool)>>(
    device: &Device,
    input: S,
) -> Result<Runs<Buffer<T>, Buffer<u64>>> {
    let call = Call::<P>::on(device);
    let new = store_new::<T, _, RunParts>(call.bind(&input)?)?;
    Ok(Runs {
        items: new.kept,
        starts: new.places,
        lengths: new.lengths,
    })
}

/// # Unique, and runs
///
/// Costs and errors are those of a select.
impl Device {
    /// The first number of each run of equal neighbours, in a new buffer; see
    /// [`unique`](crate::unique()).
    pub fn unique<T: Comparable>(&self, input: impl Source<Device, Item = T>) -> Result<Buffer<T>> {
        self.select_flagged(heads::<T, _>(input))
    }

    /// As [`unique`](Device::unique), for any items; see [`unique_by`](crate::unique_by()).
    pub fn unique_by<T, Same>(&self, input: impl Source<Device, Item = T>) -> Result<Buffer<T>>
    where
        T: Element,
        Same: Function<Input = (T, T), Output = bool>,
    {
        self.select_flagged(heads_by::<Same, _>(input))
    }

    /// Writes the first number of each run of equal neighbours to the front of `output`, and
    /// returns their number. What comes after them stays as it is.
    ///
    /// # Errors
    ///
    /// As [`select_into`](Device::select_into).
    pub fn unique_into<T: Comparable>(
        &self,
        input: impl Source<Device, Item = T>,
        output: &mut Buffer<T>,
    ) -> Result<usize> {
        self.select_flagged_into(heads::<T, _>(input), output)
    }

    /// As [`unique_into`](Device::unique_into), for any items.
    ///
    /// # Errors
    ///
    /// As [`select_into`](Device::select_into).
    pub fn unique_by_into<T, Same>(
        &self,
        input: impl Source<Device, Item = T>,
        output: &mut Buffer<T>,
    ) -> Result<usize>
    where
        T: Element,
        Same: Function<Input = (T, T), Output = bool>,
    {
        self.select_flagged_into(heads_by::<Same, _>(input), output)
    }

    /// The runs of equal neighbours, in new buffers; see [`runs`](crate::runs()).
    ///
    /// ```
    /// let device = warpfold::Device::cpu();
    /// let x = device.upload(&[7, 7, 2, 2, 2, 7])?;
    /// let runs = device.runs::<i32>(&x)?;
    /// assert_eq!(runs.items.to_vec()?, [7, 2, 7]);
    /// assert_eq!(runs.lengths.to_vec()?, [2, 3, 1]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn runs<T: Comparable>(
        &self,
        input: impl Source<Device, Item = T>,
    ) -> Result<Runs<Buffer<T>, Buffer<u64>>> {
        runs_on::<Device, T, _>(self, heads::<T, _>(input))
    }

    /// As [`runs`](Device::runs), for any items; see [`runs_by`](crate::runs_by()).
    pub fn runs_by<T, Same>(
        &self,
        input: impl Source<Device, Item = T>,
    ) -> Result<Runs<Buffer<T>, Buffer<u64>>>
    where
        T: Element,
        Same: Function<Input = (T, T), Output = bool>,
    {
        runs_on::<Device, T, _>(self, heads_by::<Same, _>(input))
    }
}
