//! Weighted histograms: the sum of the weights of the items in each bin.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
pub(crate) mod kernel;
pub(crate) mod plan;

use crate::device::Backend;
use crate::element::assert_element_size;
use crate::ops::Add;
use crate::primitives::histogram::{Bins, Counted};
use crate::source::{DeviceBinder, Form, HostBinder, Items, Source};
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
/// It runs on the CPU, also if `WARPFOLD_DEVICE` names a GPU. Complexity: that of
/// [`histogram`](crate::histogram()), and O(n) additions.
///
/// Where additions are exact, memory is a sum for each bin and thread, but never more than 256 MiB,
/// or one table. Otherwise each thread adds up bins of its own, so the call takes as long as the
/// fullest bins. Memory is a sum for each bin and each binary digit of the most items of a bin, 8
/// more for each bin if there are few, and 2^18 weights with the bins of their items.
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
/// channels than items have; [`Error::OutOfHostMemory`] if there is no room for the sums.
pub fn histogram_weighted<W: Element, X: Counted>(
    items: impl Source<Item = X>,
    weights: impl Source<Item = W>,
    bins: &Bins<X::Value>,
) -> Result<Vec<W>>
where
    Add: Monoid<W>,
{
    sums_of(items, weights, bins)
}

/// # Weighted histogram
impl Device {
    /// The sum of the weights of the items that fall into each bin, in a new buffer; see
    /// [`histogram_weighted`](crate::histogram_weighted()).
    ///
    /// A GPU sorts the weights by their bins, and folds those of each bin. Memory: twice the weights
    /// and places of 4 bytes, a fourth of that again, and 16 bytes for each bin and each level of
    /// 256 weights. It does not wait for the result. It makes some 10 to 25 launches: four for each
    /// 8 bits of the number of bins, one for each 8 bits of the number of weights, and a
    /// [histogram](Device::histogram).
    ///
    /// The sort is that of Merrill and Grimshaw, "High performance and scalable radix sorting"
    /// (2011).
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
        sums_on_device(self, items, weights, bins)
    }
}

fn sums_on_device<W: Element, X: Counted, S, V>(
    device: &Device,
    items: S,
    weights: V,
    bins: &Bins<X::Value>,
) -> Result<Buffer<W>>
where
    S: Source<Device, Item = X>,
    V: Source<Device, Item = W>,
    Add: Monoid<W>,
{
    const { assert_element_size::<W>() };
    let mut binder = DeviceBinder::new(device);
    let (first, second) = (items.items()?, weights.items()?);
    let all = places_of::<X>(first, second, bins)?;
    let (items, weights) = (items.bind(&mut binder)?, weights.bind(&mut binder)?);
    match &device.backend {
        Backend::Cpu => {
            // SAFETY: the binder gave addresses in host memory, and the sources outlive the call.
            let sums = unsafe {
                add_up_sources::<W, X, S::Form, V::Form>(&items, &weights, first, bins, all)
            };
            device.upload_vec(sums?)
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => {
            // SAFETY: the binder saw to it that all buffers are on the device; they are borrowed.
            unsafe {
                let (address, _collected) = match V::Form::address(&weights) {
                    Some(address) => (address, None),
                    None => {
                        let weights = device.collect_bound::<W, V::Form>(weights, first)?;
                        (weights.address(), Some(weights))
                    }
                };
                let mut sums = Buffer::<W>::reserve(device, all)?;
                let out = sums.address_mut();
                cuda::histogram_weighted::<W, S::Form>(gpu, (items, first), address, bins, out)?;
                sums.set_len(all);
                Ok(sums)
            }
        }
    }
}

/// The counters of all channels.
fn places_of<X: Counted>(first: usize, second: usize, bins: &Bins<X::Value>) -> Result<usize> {
    if first != second {
        return Err(Error::Zip { first, second });
    }
    Ok(bins.channels_of(X::CHANNELS)? * bins.count())
}

fn sums_of<W: Element, X: Counted, S: Source<Item = X>, V: Source<Item = W>>(
    items: S,
    weights: V,
    bins: &Bins<X::Value>,
) -> Result<Vec<W>>
where
    Add: Monoid<W>,
{
    let (first, second) = (items.items()?, weights.items()?);
    let all = places_of::<X>(first, second, bins)?;
    let mut binder = HostBinder::new(&Device::cpu());
    let (of_items, of_weights) = (items.bind(&mut binder)?, weights.bind(&mut binder)?);
    // SAFETY: the binder gave addresses in host memory, and the sources outlive the call.
    unsafe { add_up_sources::<W, X, S::Form, V::Form>(&of_items, &of_weights, first, bins, all) }
}

/// # Safety
///
/// The arguments are those of sources in host memory, of so many items, which stay borrowed.
unsafe fn add_up_sources<W: Element, X: Counted, F: Form<Item = X>, G: Form<Item = W>>(
    items: &F::Arguments,
    weights: &G::Arguments,
    len: usize,
    bins: &Bins<X::Value>,
    all: usize,
) -> Result<Vec<W>>
where
    Add: Monoid<W>,
{
    // SAFETY: the caller's.
    unsafe {
        Items::with::<F, _>(items, len, |items| {
            Items::with::<G, _>(weights, len, |weights| add_up(items, weights, bins, all))
        })
    }
}
