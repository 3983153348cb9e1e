//! Weighted histograms: the sum of the weights of the items in each bin.

pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod launches;
#[cfg(feature = "cuda")]
mod sort_and_fold;

use crate::device::{Backend, Bound, Call, OnDevice};
use crate::element::assert_element_size;
use crate::ops::Add;
#[cfg(feature = "cuda")]
use crate::primitives::collect::lying;
use crate::primitives::histogram::{Bins, Counted};
use crate::source::{Form, Host, Source};
use crate::{Buffer, Device, Element, Error, Monoid, Result};
use cpu::add_up;

/// The sum of the weights of the items that fall into each of some [`Bins`]: `weights=` of NumPy's
/// `histogram`.
///
/// A bin's sum has the bits of [`reduce`](crate::reduce()) over its weights, in their order. The
/// sum of an empty bin is the identity of [`Add`], as of nothing. An item with several channels has
/// one weight, for all of them; see
/// [`histogram`](crate::histogram()).
///
/// [`Device::for_host_data`] says where it runs. Complexity: that of
/// [`histogram`](crate::histogram()), and O(n) additions.
///
/// On the CPU, where additions are exact, memory is a sum for each bin and thread, but never more
/// than 256 MiB, or one table. Otherwise each thread adds up bins of its own, so the call takes as
/// long as the fullest bins. Of few bins, weights are sorted by bin first. Memory is some hundred
/// thousand weights for each thread, with the bins of their items; and for each bin some 40 bytes,
/// 4 a thread, and a sum for each binary digit of its items. More bins are sorted by group. Memory
/// is some hundred thousand weights with the bins of their items, or several for each bin where
/// that is more, but never more than there are. If there are more than these, it is also nine
/// weights for each bin, one for each binary digit of an eighth of the most items of a bin, and 4
/// bytes for each group and each share of the weights.
///
/// ```
/// use warpfold::{Bins, histogram_weighted};
///
/// let (items, weights) = ([0.1_f64, 0.7, 0.2, 1.0], [2.0_f64, 1.0, 0.5, 4.0]);
/// let sums = histogram_weighted(&items, &weights, &Bins::even(0.0, 1.0, 2)?)?;
/// assert_eq!(sums, [2.5, 5.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Zip`] if there are not as many weights as items; [`Error::Bins`] if the bins count more
/// channels than items have; [`Error::OutOfHostMemory`] if there is no room for the sums. If
/// `WARPFOLD_DEVICE` is set, also those of [`Device::for_host_data`], and if it names a GPU, those
/// of [`Device::upload`] and [`Device::histogram_weighted`].
pub fn histogram_weighted<W: Element, X: Counted>(
    items: impl Source<Item = X>,
    weights: impl Source<Item = W>,
    bins: &Bins<X::Value>,
) -> Result<Vec<W>>
where
    Add: Monoid<W>,
{
    sums_on::<Host, W, X, _, _>(&Device::for_host_data()?, items, weights, bins)?.into_vec()
}

/// # Weighted histogram
impl Device {
    /// The sum of the weights of the items that fall into each bin, in a new buffer; see
    /// [`histogram_weighted`](crate::histogram_weighted()).
    ///
    /// On a GPU integers are added up as a [histogram](Device::histogram) counts: in the same
    /// launches, at the speed of reading items and weights.
    ///
    /// Weights of other types are [sorted](Device::sort_pairs) by bin there, and those of each bin
    /// folded as a [segment](Device::segmented_reduce). Memory: 12 bytes and two weights for each
    /// item, and 8 bytes for each bin. Of weights of more than 16 bytes, and of items with several
    /// channels, 28 bytes for each item and channel.
    ///
    /// It does not wait for the result.
    ///
    /// ```
    /// use warpfold::{Bins, Device};
    ///
    /// let device = Device::cpu();
    /// let samples = device.upload(&[0.1_f32, 0.7, 0.2, 1.0])?;
    /// let weights = device.upload(&[2.0_f64, 1.0, 0.5, 4.0])?;
    /// let sums = device.histogram_weighted(&samples, &weights, &Bins::even(0.0, 1.0, 2)?)?;
    /// assert_eq!(sums.to_vec()?, [2.5, 5.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`histogram_weighted`](crate::histogram_weighted()); [`Error::WrongDevice`] if a
    /// buffer lives elsewhere; on a GPU [`Error::Library`] without NVRTC, [`Error::OutOfMemory`]
    /// and [`Error::Driver`].
    pub fn histogram_weighted<W: Element, X: Counted>(
        &self,
        items: impl Source<Device, Item = X>,
        weights: impl Source<Device, Item = W>,
        bins: &Bins<X::Value>,
    ) -> Result<Buffer<W>>
    where
        Add: Monoid<W>,
    {
        sums_on::<Device, W, X, _, _>(self, items, weights, bins)
    }
}

fn sums_on<P: OnDevice, W: Element, X: Counted, S, V>(
    device: &Device,
    items: S,
    weights: V,
    bins: &Bins<X::Value>,
) -> Result<Buffer<W>>
where
    S: Source<P, Item = X>,
    V: Source<P, Item = W>,
    Add: Monoid<W>,
{
    let all = places_of::<X>(items.items()?, weights.items()?, bins)?;
    let call = Call::<P>::on(device);
    sums_bound(call.bind(&items)?, call.bind(&weights)?, bins, all)
}

/// The sums of the weights in all bins.
fn sums_bound<W: Element, X: Counted, F: Form<Item = X>, G: Form<Item = W>>(
    items: Bound<'_, F>,
    weights: Bound<'_, G>,
    bins: &Bins<X::Value>,
    all: usize,
) -> Result<Buffer<W>>
where
    Add: Monoid<W>,
{
    const { assert_element_size::<W>() };
    let device = items.device();
    match &device.backend {
        Backend::Cpu => {
            let sums = items.with_items(|items| {
                weights.with_items(|weights| add_up(items, weights, bins, all))
            });
            device.upload_vec(sums?)
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => {
            let weights = lying(weights)?;
            let mut sums = Buffer::<W>::reserve(device, all)?;
            let (source, to) = ((items.arguments(), items.len()), sums.address_mut());
            // SAFETY: the items are on this GPU, and the weights lie there. The buffer has room for
            // all sums, and all of them are written.
            unsafe {
                cuda::histogram_weighted::<W, F>(gpu, source, (weights.address(), to), bins)?;
                sums.set_len(all);
            }
            Ok(sums)
        }
    }
}

/// The counters of all channels.
pub(crate) fn places_of<X: Counted>(
    first: usize,
    second: usize,
    bins: &Bins<X::Value>,
) -> Result<usize> {
    if first != second {
        return Err(Error::Zip { first, second });
    }
    Ok(bins.channels_of(X::CHANNELS)? * bins.count())
}
