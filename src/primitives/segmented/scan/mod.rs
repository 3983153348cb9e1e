//! Segmented scans.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use super::BoundSegments;
use super::segments::{Cut, Segments};
use crate::device::{Backend, Bound, Call, OnDevice};
use crate::element::assert_element_size;
use crate::primitives::scan::cpu::Output;
use crate::source::{Form, Host, Items, Source};
use crate::{Buffer, Device, Element, Error, Monoid, Prefixes, Result};

/// The scan of each segment of `input`. [`Prefixes`] says which one: exclusive or inclusive, and
/// what comes first in each segment.
///
/// The results of a segment are bit for bit those of a [scan](crate::scan()) of that segment alone,
/// wherever it lies. An item that belongs to no segment stays as it is.
/// [`Device::for_host_data`] says where it runs.
///
/// Complexity: O(n + m) work for n items and m segments. Segments may have any lengths: threads
/// share out items and segments together, and long segments among all threads. Memory on the CPU:
/// the result, up to 192 KiB for each thread, and less than 1% of the input.
///
/// ```
/// use warpfold::{Offsets, Prefixes, ops::Add, segmented_scan};
///
/// // Where each word of a row of words starts, given their lengths, for two rows.
/// let (lengths, rows) = ([3_u32, 5, 2, 4, 4], Offsets::new(&[0_u32, 3, 5])?);
/// let starts = segmented_scan::<u32, Add>(Prefixes::exclusive(), &lengths, rows)?;
/// assert_eq!(starts, [0, 3, 8, 0, 4]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Segments`] if the segments pass the end of the input; [`Error::Zip`] if zipped sources
/// have different lengths; [`Error::OutOfHostMemory`] if there is no room for the result. If
/// `WARPFOLD_DEVICE` is set: those of [`Device::for_host_data`], and if it names a GPU, those of
/// [`Device::upload`] and [`Device::segmented_scan`].
pub fn segmented_scan<T: Element, Op: Monoid<T>>(
    prefixes: Prefixes<T>,
    input: impl Source<Item = T>,
    segments: impl Segments,
) -> Result<Vec<T>> {
    scan_on::<Host, T, Op, _, _>(&Device::for_host_data()?, prefixes, input, segments)?.into_vec()
}

/// Writes the scan of each segment of `input` to `output`, of the same length. Otherwise as
/// [`segmented_scan`].
///
/// ```
/// use warpfold::{Offsets, Prefixes, ops::Max, segmented_scan_into};
///
/// let (levels, days) = ([2.0_f32, 5.0, 3.0, 1.0, 4.0], Offsets::new(&[0_u64, 3, 5])?);
/// let mut highest = [0.0; 5];
/// segmented_scan_into::<f32, Max>(Prefixes::inclusive(), &levels, days, &mut highest)?;
/// assert_eq!(highest, [2.0, 5.0, 5.0, 1.0, 4.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`segmented_scan`], and [`Error::Length`] if the lengths differ. Then `output` is as it was.
pub fn segmented_scan_into<T: Element, Op: Monoid<T>>(
    prefixes: Prefixes<T>,
    input: impl Source<Item = T>,
    segments: impl Segments,
    output: &mut [T],
) -> Result<()> {
    scan_host_into::<T, Op, _, _>(prefixes, input, segments, output)
}

/// Replaces each item of each segment of `data` by its prefix. Otherwise as [`segmented_scan`].
///
/// ```
/// use warpfold::{Prefixes, Rows, ops::Add, segmented_scan_in_place};
///
/// let mut matrix = [1, 2, 3, 4, 5, 6];
/// segmented_scan_in_place::<i32, Add>(Prefixes::inclusive(), &mut matrix, Rows::new(2, 3))?;
/// assert_eq!(matrix, [1, 3, 6, 4, 9, 15]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`segmented_scan`]. If the segments pass the end, `data` is as it was.
pub fn segmented_scan_in_place<T: Element, Op: Monoid<T>>(
    prefixes: Prefixes<T>,
    data: &mut [T],
    segments: impl Segments,
) -> Result<()> {
    let device = Device::for_host_data()?;
    if device.is_cpu() {
        return scan_slice_in_place::<T, Op, _>(prefixes, data, segments);
    }
    let copy = &*data;
    let result = scan_on::<Host, T, Op, _, _>(&device, prefixes, copy, segments)?;
    data.copy_from_slice(&result.into_vec()?);
    Ok(())
}

fn scan_slice_in_place<T: Element, Op: Monoid<T>, G: Segments>(
    prefixes: Prefixes<T>,
    data: &mut [T],
    segments: G,
) -> Result<()> {
    const { assert_element_size::<T>() };
    let device = Device::cpu();
    let call = Call::<Host>::on(&device);
    let segments = BoundSegments::of(&call, &segments, data.len())?;
    let (nothing, output) = (Items::of_slice(&[]), Output::InPlace(data));
    cpu::scan::<T, Op, _>(&nothing, output, &segments.bounds(), prefixes);
    Ok(())
}

fn scan_host_into<T: Element, Op: Monoid<T>, S: Source<Item = T>, G: Segments>(
    prefixes: Prefixes<T>,
    input: S,
    segments: G,
    output: &mut [T],
) -> Result<()> {
    Error::check_length(input.items()?, output.len())?;
    let device = Device::for_host_data()?;
    if !device.is_cpu() {
        let result = scan_on::<Host, T, Op, _, _>(&device, prefixes, input, segments)?;
        output.copy_from_slice(&result.into_vec()?);
        return Ok(());
    }
    let call = Call::<Host>::on(&device);
    let input = call.bind(&input)?;
    let segments = BoundSegments::of(&call, &segments, input.len())?;
    scan_on_cpu::<T, Op, _, _>(input, segments, output, prefixes);
    Ok(())
}

/// Writes the scan of each segment over `output`, which has the length of the input.
fn scan_on_cpu<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut>(
    input: Bound<'_, F>,
    segments: BoundSegments<'_, C>,
    output: &mut [T],
    prefixes: Prefixes<T>,
) {
    // SAFETY: the scan writes elements only.
    let output = unsafe { Output::over(output) };
    let bounds = segments.bounds();
    input.with_items(|items| cpu::scan::<T, Op, C>(items, output, &bounds, prefixes));
}

fn scan_on<P, T, Op, S, G>(
    device: &Device,
    prefixes: Prefixes<T>,
    input: S,
    segments: G,
) -> Result<Buffer<T>>
where
    P: OnDevice,
    T: Element,
    Op: Monoid<T>,
    S: Source<P, Item = T>,
    G: Segments<P>,
{
    let call = Call::<P>::on(device);
    let input = call.bind(&input)?;
    let segments = BoundSegments::of(&call, &segments, input.len())?;
    scan_bound::<T, Op, _, _>(input, segments, prefixes)
}

fn scan_bound<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut>(
    input: Bound<'_, F>,
    segments: BoundSegments<'_, C>,
    prefixes: Prefixes<T>,
) -> Result<Buffer<T>> {
    const { assert_element_size::<T>() };
    let (device, len) = (input.device(), input.len());
    let mut results = Buffer::<T>::reserve(device, len)?;
    match &device.backend {
        Backend::Cpu => {
            let (output, bounds) = (Output::Into(results.spare()), segments.bounds());
            input.with_items(|items| cpu::scan::<T, Op, C>(items, output, &bounds, prefixes));
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => {
            let call = cuda::Call {
                source: input.arguments(),
                segments: segments.arguments(),
                len,
                count: segments.count(),
                out: results.address_mut(),
            };
            // SAFETY: the source and the segments are on this GPU; there is room for all results.
            unsafe { cuda::scan_on::<T, Op, F, C>(gpu, call, prefixes)? };
        }
    }
    // SAFETY: the scan writes a result for each item.
    unsafe { results.set_len(len) };
    Ok(results)
}

/// # Segmented scans
///
/// Each segment gets bit for bit what [`scan`](Device::scan) and its like give for it alone. On a
/// GPU a call is one launch, which reads every item once, and writes every result once. Calls
/// return without waiting. Memory: a workspace that the device keeps, of 0.4 to 3% of the input's
/// size.
///
/// # Errors
///
/// Of every method: [`Error::Segments`] if the segments pass the end of the input;
/// [`Error::WrongDevice`] if a buffer lives elsewhere; [`Error::Zip`] if zipped sources have
/// different lengths; [`Error::Library`] without NVRTC; [`Error::Compile`] if an operator's CUDA
/// text is wrong; [`Error::OutOfMemory`], after which the device is usable as before;
/// [`Error::Driver`]. Of `segmented_scan_into` also [`Error::Length`], if the lengths differ. A
/// call that fails before its launch leaves the output as it was.
impl Device {
    /// The scan of each segment of `input`, into a new buffer; see
    /// [`segmented_scan`](crate::segmented_scan()).
    ///
    /// ```
    /// use warpfold::{Device, Prefixes, ops::Add};
    ///
    /// let device = Device::cpu();
    /// let (x, offsets) = (device.upload(&[1_u32, 2, 4, 8])?, device.upload(&[0_u32, 1, 4])?);
    /// let offsets = device.offsets(&offsets)?;
    /// let sums = device.segmented_scan::<u32, Add>(Prefixes::inclusive(), &x, offsets)?;
    /// assert_eq!(sums.to_vec()?, [1, 2, 6, 14]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn segmented_scan<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        input: impl Source<Device, Item = T>,
        segments: impl Segments<Device>,
    ) -> Result<Buffer<T>> {
        scan_on::<Device, T, Op, _, _>(self, prefixes, input, segments)
    }

    /// The scan of each segment of `input` into `output`, of the same length.
    pub fn segmented_scan_into<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        input: impl Source<Device, Item = T>,
        segments: impl Segments<Device>,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        self.segmented_scan_source_into::<T, Op, _, _>(prefixes, input, segments, output)
    }

    /// The scan of each segment of `data`, in its place.
    pub fn segmented_scan_in_place<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        data: &mut Buffer<T>,
        segments: impl Segments<Device>,
    ) -> Result<()> {
        self.segmented_scan_buffer::<T, Op, _>(prefixes, data, segments)
    }

    fn segmented_scan_source_into<T, Op, S, G>(
        &self,
        prefixes: Prefixes<T>,
        input: S,
        segments: G,
        output: &mut Buffer<T>,
    ) -> Result<()>
    where
        T: Element,
        Op: Monoid<T>,
        S: Source<Device, Item = T>,
        G: Segments<Device>,
    {
        const { assert_element_size::<T>() };
        self.check_owns(output)?;
        let call = Call::<Device>::on(self);
        let input = call.bind(&input)?;
        let segments = BoundSegments::of(&call, &segments, input.len())?;
        Error::check_length(input.len(), output.len())?;
        match &self.backend {
            Backend::Cpu => {
                scan_on_cpu::<T, Op, _, _>(input, segments, output.as_host_mut(), prefixes);
                Ok(())
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => {
                let call = cuda::Call {
                    source: input.arguments(),
                    segments: segments.arguments(),
                    len: input.len(),
                    count: segments.count(),
                    out: output.address_mut(),
                };
                // SAFETY: the source, the segments and the output are on this GPU.
                unsafe { cuda::scan_on::<T, Op, S::Form, G::Cut>(gpu, call, prefixes) }
            }
        }
    }

    fn segmented_scan_buffer<T: Element, Op: Monoid<T>, G: Segments<Device>>(
        &self,
        prefixes: Prefixes<T>,
        data: &mut Buffer<T>,
        segments: G,
    ) -> Result<()> {
        const { assert_element_size::<T>() };
        self.check_owns(data)?;
        let call = Call::<Device>::on(self);
        let segments = BoundSegments::of(&call, &segments, data.len())?;
        match &self.backend {
            Backend::Cpu => {
                let output = Output::InPlace(data.as_host_mut());
                let nothing = Items::of_slice(&[]);
                cpu::scan::<T, Op, _>(&nothing, output, &segments.bounds(), prefixes);
                Ok(())
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => {
                let (address, len) = (data.address_mut(), data.len());
                let call = cuda::Call {
                    source: crate::source::SliceArguments { address },
                    segments: segments.arguments(),
                    len,
                    count: segments.count(),
                    out: address,
                };
                // SAFETY: the data and the segments are on this GPU, and nothing else uses them.
                unsafe {
                    cuda::scan_on::<T, Op, crate::source::Slice<T>, G::Cut>(gpu, call, prefixes)
                }
            }
        }
    }
}
