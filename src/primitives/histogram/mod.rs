//! Histogram: how many items fall into each bin.

pub(crate) mod bins;
pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod even;
pub(crate) mod guess;
mod index;
pub(crate) mod kernel;
pub(crate) mod launches;
pub(crate) mod lookup;
mod number;
pub(crate) mod plan;
pub(crate) mod rule;
mod tuning;

pub use bins::Bins;
#[cfg(feature = "cuda")]
pub(crate) use bins::Rule;
pub use number::{Binned, Count, Counted, Integer};

use crate::device::{Backend, Bound, Call, OnDevice};
use crate::element::assert_element_size;
use crate::source::{Form, Host, Source};
use crate::{Buffer, Device, Error, Result};

/// How many items fall into each of some [`Bins`].
///
/// Counts are `u32` or `u64`. If items are arrays, such as the pixels of a picture, each part has
/// its own channel: the counts of all bins of the first part come first, then those of the second,
/// and so on. The counts are those of NumPy, whatever the device; [`Bins`] has the calls.
///
/// Complexity: O(n) work for even bins and values. For other edges each item takes a binary search
/// between the few that an index does not tell apart.
/// Every item is evaluated once. [`Device::for_host_data`] says where it runs. Memory on the CPU: 4
/// bytes for each bin and thread, or 16 up to 2048 bins; never more than 256 MiB, or one table. To
/// that end fewer threads take part where there are very many bins.
///
/// ```
/// use warpfold::{Bins, histogram};
///
/// let text = b"to be or not to be";
/// let counts = histogram::<u32, _>(text, &Bins::values(256)?)?;
/// assert_eq!((counts[b'o' as usize], counts[b'b' as usize]), (4, 2));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Counts`] if there may be too many items for `u32`; [`Error::Bins`] if the bins count
/// more channels than items have; [`Error::OutOfHostMemory`]; [`Error::Zip`] if zipped sources have
/// different lengths. If `WARPFOLD_DEVICE` is set, also those of [`Device::for_host_data`], and if
/// it names a GPU, those of [`Device::upload`], [`Device::histogram`] and [`Buffer::to_vec`].
pub fn histogram<C: Count, X: Counted>(
    input: impl Source<Item = X>,
    bins: &Bins<X::Value>,
) -> Result<Vec<C>> {
    let device = Device::for_host_data()?;
    let mut output = device.allocate(check::<C, X>(input.items()?, bins)?)?;
    histogram_on::<Host, C, X, _>(&device, input, bins, &mut output)?;
    output.into_vec()
}

fn histogram_on<P: OnDevice, C: Count, X: Counted, S: Source<P, Item = X>>(
    device: &Device,
    input: S,
    bins: &Bins<X::Value>,
    output: &mut Buffer<C>,
) -> Result<()> {
    let call = Call::<P>::on(device);
    let input = call.bind(&input)?;
    device.check_owns(output)?;
    Error::check_length(check::<C, X>(input.len(), bins)?, output.len())?;
    count(input, bins, output)
}

/// Counts the items in each bin. The output has a place for each.
fn count<C: Count, X: Counted, F: Form<Item = X>>(
    input: Bound<'_, F>,
    bins: &Bins<X::Value>,
    output: &mut Buffer<C>,
) -> Result<()> {
    const { assert_element_size::<X>() };
    match &input.device().backend {
        Backend::Cpu => {
            let counts = output.as_host_mut();
            counts.fill(C::zeroed());
            input.with_items(|items| cpu::histogram(items, bins, counts));
            Ok(())
        }
        #[cfg(feature = "cuda")]
        // SAFETY: the source is on this GPU, and the output has a place for each bin.
        Backend::Cuda(gpu) => unsafe {
            gpu.histogram::<C, F>(input.arguments(), input.len(), bins, output.address_mut())
        },
    }
}

/// # Histogram
///
/// Every item is read once. On a GPU a call is one launch for short inputs; for others the counts
/// are cleared first. It does not wait for the result. The bins of a call are copied to the GPU,
/// unless they are values; [`cuda::Histogram`](crate::cuda::Histogram) keeps them there, and says
/// how many are counted where. Memory on the CPU is that of [`histogram`](crate::histogram()).
///
/// # Errors
///
/// Of both methods: [`Error::WrongDevice`] if a buffer lives elsewhere; [`Error::Zip`] if zipped
/// sources have different lengths; [`Error::Counts`] if there may be too many items for `u32`;
/// [`Error::Bins`] if the bins count more channels than items have; [`Error::Library`] without
/// NVRTC; [`Error::OutOfMemory`] or [`Error::OutOfHostMemory`]; [`Error::Driver`].
///
/// # Panics
///
/// On the CPU if a function of the source does. What stands in an output then is not specified.
impl Device {
    /// How many items fall into each bin, in a new buffer; see
    /// [`histogram`](crate::histogram()).
    ///
    /// ```
    /// use warpfold::{Bins, Device};
    ///
    /// let device = Device::cpu();
    /// let samples = device.upload(&[0.1_f32, 0.7, 0.2, 1.0])?;
    /// let counts = device.histogram::<u64, _>(&samples, &Bins::even(0.0, 1.0, 2)?)?;
    /// assert_eq!(counts.to_vec()?, [2, 2]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn histogram<C: Count, X: Counted>(
        &self,
        input: impl Source<Device, Item = X>,
        bins: &Bins<X::Value>,
    ) -> Result<Buffer<C>> {
        let len = check::<C, X>(input.items()?, bins)?;
        let mut output = self.allocate(len)?;
        histogram_on::<Device, C, X, _>(self, input, bins, &mut output)?;
        Ok(output)
    }

    /// Writes how many items fall into each bin over `output`, which must have that length: the
    /// number of bins, times the number of channels.
    ///
    /// # Errors
    ///
    /// Also [`Error::Length`] if `output` has another length. Then, and if the bins, the sources or
    /// the number of items are at fault, it is as it was.
    pub fn histogram_into<C: Count, X: Counted>(
        &self,
        input: impl Source<Device, Item = X>,
        bins: &Bins<X::Value>,
        output: &mut Buffer<C>,
    ) -> Result<()> {
        histogram_on::<Device, C, X, _>(self, input, bins, output)
    }
}

/// The number of counts of so many items. An error if a count may be too large.
pub(crate) fn check<C: Count, X: Counted>(items: usize, bins: &Bins<X::Value>) -> Result<usize> {
    let channels = bins.channels_of(X::CHANNELS)?;
    if items as u64 > C::MOST {
        return Err(Error::Counts { items });
    }
    Ok(channels * bins.count())
}
