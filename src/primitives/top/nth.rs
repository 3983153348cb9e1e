//! The items at some places of the sorted order.

use super::{Candidate, Choice};
#[cfg(doc)]
use crate::Buffer;
use crate::device::{Backend, DeviceBinder};
use crate::primitives::sort::{self, Order, Sortable};
use crate::source::{Form, HostBinder, Source};
use crate::{Device, Error, Result};

/// The item at place `n` of the sorted order, counted from 0: what
/// [`sort`](crate::sort())`(input, order)?[n]` is, also of items that are equal.
///
/// ```
/// use warpfold::{Order, select_nth};
///
/// let x = [30, 10, 40, 20];
/// assert_eq!(select_nth(&x, 1, Order::ascending())?, 20);
/// assert_eq!(select_nth(&x, 0, Order::descending())?, 40);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Complexity: that of [`bottom_k`](crate::bottom_k) for `n + 1` items where these are few, and
/// else that of a [`sort`](crate::sort()). [`quantiles`](crate::quantiles) finds several at once.
///
/// # Errors
///
/// [`Error::Argument`] if there are no more than `n` items; and those of [`sort`](crate::sort()).
pub fn select_nth<K: Sortable + Candidate<Key = K>>(
    input: impl Source<Item = K>,
    n: usize,
    order: Order,
) -> Result<K> {
    let all = nths_of_host(input, order, |len| at(n, len))?;
    Ok(all[0])
}

impl Device {
    /// The item at place `n` of the sorted order; see [`select_nth`](crate::select_nth). Waits for
    /// it.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if there are no more than `n` items; and those of [`Device::sort`] and
    /// [`Buffer::to_vec`].
    pub fn select_nth<K: Sortable + Candidate<Key = K>>(
        &self,
        input: impl Source<Device, Item = K>,
        n: usize,
        order: Order,
    ) -> Result<K> {
        let all = nths_of_source(self, input, order, |len| at(n, len))?;
        Ok(all[0])
    }
}

fn at(n: usize, len: usize) -> Result<Vec<usize>> {
    if n < len {
        return Ok(vec![n]);
    }
    Err(Error::Argument {
        argument: "n",
        fault: format!(
            "is {n}, but there are {len} items\n  remedy: places are counted from 0, so give one below the number of items"
        ),
    })
}

/// The items at the places that are wanted of so many items.
pub(crate) fn nths_of_host<K: Sortable + Candidate<Key = K>, S: Source<Item = K>>(
    input: S,
    order: Order,
    places: impl FnOnce(usize) -> Result<Vec<usize>>,
) -> Result<Vec<K>> {
    let device = Device::for_host_data()?;
    let mut binder = HostBinder::new(&device);
    let len = input.items()?;
    let places = places(len)?;
    let arguments = input.bind(&mut binder)?;
    // SAFETY: the binder gave addresses on the device, and it and the source outlive the call.
    unsafe { nths::<K, S::Form>(&device, arguments, len, order, &places) }
}

/// The same of a source on a device.
pub(crate) fn nths_of_source<K: Sortable + Candidate<Key = K>, S: Source<Device, Item = K>>(
    device: &Device,
    input: S,
    order: Order,
    places: impl FnOnce(usize) -> Result<Vec<usize>>,
) -> Result<Vec<K>> {
    let mut binder = DeviceBinder::new(device);
    let len = input.items()?;
    let places = places(len)?;
    let arguments = input.bind(&mut binder)?;
    // SAFETY: the binder saw to it that all buffers are on this device; they are borrowed.
    unsafe { nths::<K, S::Form>(device, arguments, len, order, &places) }
}

/// # Safety
///
/// The arguments are those of a source in the device's memory, with `len` items, which stays
/// borrowed.
unsafe fn nths<K: Sortable + Candidate<Key = K>, F: Form<Item = K>>(
    device: &Device,
    arguments: F::Arguments,
    len: usize,
    order: Order,
    places: &[usize],
) -> Result<Vec<K>> {
    let Some(&last) = places.iter().max() else {
        return Ok(Vec::new());
    };
    assert!(last < len);
    let is_few = match &device.backend {
        Backend::Cpu => last < len / 8,
        #[cfg(feature = "cuda")]
        Backend::Cuda(_) => last < FEW && last < len / 8,
    };
    if is_few {
        let choice = Choice::new(len, None, last + 1, order)?;
        // SAFETY: the caller's.
        let (values, _) = unsafe { device.best::<K, F>(arguments, choice) }?;
        let values = values.into_vec()?;
        return Ok(places.iter().map(|&place| values[place]).collect());
    }
    // SAFETY: the caller's.
    let mut sorted = unsafe { device.collect_bound::<K, F>(arguments, len) }?;
    if device.is_cpu() {
        let sorted = sorted.as_host_mut();
        sort::cpu::sort(sorted, K::key_map(order))?;
        return Ok(places.iter().map(|&place| sorted[place]).collect());
    }
    device.sort_in_place(&mut sorted, order)?;
    let at = |&place: &usize| Ok(sorted.slice(place..=place).to_vec()?[0]);
    places.iter().map(at).collect()
}

/// Up to so many items are sorted by one block of a GPU.
#[cfg(feature = "cuda")]
const FEW: usize = 1024;
