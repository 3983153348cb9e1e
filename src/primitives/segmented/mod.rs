//! Segments: reductions of many parts of one source at once.

mod bound;
mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod expand;
pub(crate) mod kernel;
pub(crate) mod keys;
pub(crate) mod launches;
pub(crate) mod ranges;
pub(crate) mod scan;
mod segments;
mod tuning;

pub(crate) use bound::BoundSegments;
pub(crate) use cpu::Bounds;
pub use expand::{decode, decode_into, offsets_from_ids, offsets_from_lengths, segment_ids};
pub use keys::{reduce_by_key, reduce_by_key_with, scan_by_key, scan_by_key_with};
pub use ranges::Ranges;
pub use scan::{segmented_scan, segmented_scan_in_place, segmented_scan_into};
#[doc(hidden)]
pub use segments::{CountedArguments, Cut, OffsetsArguments, RowsArguments};
pub use segments::{CountedStartsOf, Offset, Offsets, OffsetsOf, Rows, Segments, Starts, StartsOf};

use crate::device::{Backend, Bound, Call, OnDevice};
use crate::element::assert_element_size;
use crate::source::{Form, Host, Source};
use crate::{Buffer, Device, Element, Monoid, Result};

/// The fold of each segment of `input`, and the identity for those that are empty.
///
/// Each result is bit for bit what [`reduce`](crate::reduce()) gives for that segment alone,
/// wherever it lies. [`Device::for_host_data`] says where it runs.
///
/// Segments may have any lengths: threads share out items and segments together. So neither a long
/// segment nor many empty ones take one thread alone.
///
/// Complexity: O(n + m) work for n items and m segments. Memory on the CPU: the result, and up to
/// 64 KiB for each thread; a source that is no slice also takes room for the items of a segment,
/// up to 2^17.
///
/// ```
/// use warpfold::{Offsets, ops::Add, segmented_reduce};
///
/// // A sparse matrix of three rows: its values, and where each row starts.
/// let (values, rows) = ([4.0_f32, 1.0, 2.5, 0.5], [0_u32, 2, 2, 4]);
/// assert_eq!(segmented_reduce::<f32, Add>(&values, Offsets::new(&rows)?)?, [5.0, 0.0, 3.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Segments`](crate::Error::Segments) if the segments pass the end of the input;
/// [`Error::Zip`](crate::Error::Zip) if zipped sources have different lengths;
/// [`Error::OutOfHostMemory`](crate::Error::OutOfHostMemory) if there is no room for the result. If
/// `WARPFOLD_DEVICE` is set: those of [`Device::for_host_data`], and if it names a GPU, those of
/// [`Device::upload`] and [`Device::segmented_reduce`].
pub fn segmented_reduce<T: Element, Op: Monoid<T>>(
    input: impl Source<Item = T>,
    segments: impl Segments,
) -> Result<Vec<T>> {
    reduce_on::<Host, T, Op, _, _>(&Device::for_host_data()?, input, segments, None)?.into_vec()
}

/// The fold of `init` and each segment of `input`: bit for bit what
/// [`reduce_from`](crate::reduce_from) gives for it. An empty segment gives `init`. Otherwise as
/// [`segmented_reduce`].
///
/// ```
/// use warpfold::{Offsets, ops::Min, segmented_reduce_from};
///
/// let offsets = Offsets::new(&[0_u64, 1, 1, 3])?;
/// assert_eq!(segmented_reduce_from::<i32, Min>(5, &[9, 4, 2], offsets)?, [5, 5, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`segmented_reduce`].
pub fn segmented_reduce_from<T: Element, Op: Monoid<T>>(
    init: T,
    input: impl Source<Item = T>,
    segments: impl Segments,
) -> Result<Vec<T>> {
    reduce_on::<Host, T, Op, _, _>(&Device::for_host_data()?, input, segments, Some(init))?
        .into_vec()
}

pub(crate) fn reduce_on<P, T, Op, S, G>(
    device: &Device,
    input: S,
    segments: G,
    init: Option<T>,
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
    reduce_bound::<T, Op, _, _>(input, segments, init)
}

fn reduce_bound<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut>(
    input: Bound<'_, F>,
    segments: BoundSegments<'_, C>,
    init: Option<T>,
) -> Result<Buffer<T>> {
    const { assert_element_size::<T>() };
    let device = input.device();
    match &device.backend {
        Backend::Cpu => {
            let bounds = segments.bounds();
            let folds = input.with_items(|items| cpu::reduce::<T, Op, C>(items, &bounds, init));
            device.upload_vec(folds?)
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => {
            let mut folds = Buffer::<T>::reserve(device, segments.count())?;
            let call = cuda::Call {
                source: input.arguments(),
                segments: segments.arguments(),
                len: input.len(),
                count: segments.count(),
                out: folds.address_mut(),
            };
            // SAFETY: the source and the segments are on this GPU. The buffer has room for all
            // results, and all are written.
            unsafe {
                cuda::reduce_on::<T, Op, F, C>(gpu, call, init)?;
                folds.set_len(segments.count());
            }
            Ok(folds)
        }
    }
}

/// # Segments
///
/// Each result is bit for bit that of [`reduce`](Device::reduce) over the segment alone. On a GPU a
/// call is two launches, and one for the shortest inputs; every item is read once. Memory: the
/// result, and a workspace that the device keeps, of 1 to 7% of the input's size.
///
/// # Errors
///
/// Of every method: [`Error::Segments`](crate::Error::Segments) if the segments pass the end of the
/// input; [`Error::WrongDevice`](crate::Error::WrongDevice) if a buffer lives elsewhere;
/// [`Error::Zip`](crate::Error::Zip) if zipped sources have different lengths;
/// [`Error::Library`](crate::Error::Library) without NVRTC;
/// [`Error::Compile`](crate::Error::Compile) if an operator's CUDA text is wrong;
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory), after which the device is usable as before;
/// [`Error::Driver`](crate::Error::Driver).
impl Device {
    /// The fold of each segment of `input`, and the identity for those that are empty; see
    /// [`segmented_reduce`](crate::segmented_reduce()). Does not wait for the result.
    pub fn segmented_reduce<T: Element, Op: Monoid<T>>(
        &self,
        input: impl Source<Device, Item = T>,
        segments: impl Segments<Device>,
    ) -> Result<Buffer<T>> {
        reduce_on::<Device, T, Op, _, _>(self, input, segments, None)
    }

    /// The fold of `init` and each segment of `input`; see
    /// [`segmented_reduce_from`](crate::segmented_reduce_from). Does not wait for the result.
    pub fn segmented_reduce_from<T: Element, Op: Monoid<T>>(
        &self,
        init: T,
        input: impl Source<Device, Item = T>,
        segments: impl Segments<Device>,
    ) -> Result<Buffer<T>> {
        reduce_on::<Device, T, Op, _, _>(self, input, segments, Some(init))
    }
}
