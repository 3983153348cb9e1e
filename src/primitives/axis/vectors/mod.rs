//! Segments of vectors: rows of several items, folded by segment.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod launches;

use super::cpu;
use crate::device::{Backend, Bound, Call, OnDevice};
use crate::element::assert_element_size;
use crate::primitives::segmented::{BoundSegments, Cut, Segments};
use crate::source::{Form, Host, Source};
use crate::{Buffer, Device, Element, Error, Monoid, Result};

/// The fold of each segment of rows, column by column: row `s` of the result has the folds of the
/// columns of segment `s`. `input` has rows of `inner` items one after the other, and `segments`
/// are of rows.
///
/// Each result is bit for bit what [`reduce`](crate::reduce()) gives for that column of the segment
/// alone. Empty segments give rows of the identity. [`gather_rows`](crate::gather_rows) takes rows
/// in another order, so that segments lie side by side. [`Device::for_host_data`] says where it
/// runs.
///
/// Complexity: O(n + m · inner) work for n items and m segments. Memory on the CPU: the result, and
/// up to 64 KiB for each thread.
///
/// ```
/// use warpfold::{Offsets, ops::Add, segmented_reduce_vectors};
///
/// // Three neighbours of one node of a graph, and one of another, with two features each.
/// let features = [1.0_f32, 10.0, 2.0, 20.0, 3.0, 30.0, 4.0, 40.0];
/// let nodes = Offsets::new(&[0_u32, 3, 3, 4])?;
/// let sums = segmented_reduce_vectors::<f32, Add>(&features, 2, nodes)?;
/// assert_eq!(sums, [6.0, 60.0, 0.0, 0.0, 4.0, 40.0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Axis`] if the items are no rows of `inner`; [`Error::Segments`] if the segments pass
/// the last row; [`Error::Zip`] if zipped sources have different lengths;
/// [`Error::OutOfHostMemory`] if there is no room for the result. If `WARPFOLD_DEVICE` is set:
/// those of [`Device::for_host_data`], and if it names a GPU, those of [`Device::upload`] and
/// [`Device::segmented_reduce_vectors`].
pub fn segmented_reduce_vectors<T: Element, Op: Monoid<T>>(
    input: impl Source<Item = T>,
    inner: usize,
    segments: impl Segments,
) -> Result<Vec<T>> {
    reduce_on::<Host, T, Op, _, _>(&Device::for_host_data()?, input, inner, segments, None)?
        .into_vec()
}

/// The fold of `init` and each column of each segment of rows. Otherwise as
/// [`segmented_reduce_vectors`].
///
/// # Errors
///
/// As [`segmented_reduce_vectors`].
pub fn segmented_reduce_vectors_from<T: Element, Op: Monoid<T>>(
    init: T,
    input: impl Source<Item = T>,
    inner: usize,
    segments: impl Segments,
) -> Result<Vec<T>> {
    reduce_on::<Host, T, Op, _, _>(
        &Device::for_host_data()?,
        input,
        inner,
        segments,
        Some(init),
    )?
    .into_vec()
}

fn reduce_on<P, T, Op, S, G>(
    device: &Device,
    input: S,
    inner: usize,
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
    let (_, rows) = rows_of(input.len(), inner)?;
    let segments = BoundSegments::of(&call, &segments, rows)?;
    reduce_bound::<T, Op, _, _>(input, inner, segments, init)
}

fn reduce_bound<T: Element, Op: Monoid<T>, F: Form<Item = T>, C: Cut>(
    input: Bound<'_, F>,
    inner: usize,
    segments: BoundSegments<'_, C>,
    init: Option<T>,
) -> Result<Buffer<T>> {
    const { assert_element_size::<T>() };
    let (device, count) = (input.device(), segments.count());
    let results = results_of(count, inner)?;
    let mut folds = Buffer::<T>::reserve(device, results)?;
    if results == 0 {
        return Ok(folds);
    }
    match &device.backend {
        Backend::Cpu => {
            let (bounds, room) = (segments.bounds(), &mut folds.spare()[..results]);
            let rows = |number: usize| bounds.items(number);
            input.with_items(|items| {
                cpu::reduce_segments::<T, Op>(items, inner, &rows, init, room);
            });
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => {
            let (bound, out) = (
                (input.arguments(), segments.arguments()),
                folds.address_mut(),
            );
            // SAFETY: the source and the segments are on this GPU; there is room for all results.
            unsafe {
                cuda::reduce_on::<T, Op, F, C>(gpu, bound, inner, results, init, out)?;
            }
        }
    }
    // SAFETY: all results were written, or will be before anybody reads them.
    unsafe { folds.set_len(results) };
    Ok(folds)
}

/// The items, and the rows of `inner` that they are.
fn rows_of(items: usize, inner: usize) -> Result<(usize, usize)> {
    match items.checked_div(inner) {
        Some(rows) if rows * inner == items => Ok((items, rows)),
        None if items == 0 => Ok((0, 0)),
        _ => Err(Error::Axis {
            fault: format!("{items} items are no rows of {inner}"),
        }),
    }
}

/// The results of so many segments.
fn results_of(count: usize, inner: usize) -> Result<usize> {
    count.checked_mul(inner).ok_or_else(|| Error::Axis {
        fault: format!("{count} rows of {inner} results are more than there can be"),
    })
}

/// # Segments of vectors
///
/// On a GPU a call is one launch, which reads each item once. A thread folds a column of a segment:
/// so one segment of very many rows takes long. Calls do not wait for the result.
///
/// # Errors
///
/// Of every method: [`Error::Axis`] if the items are no rows; [`Error::Segments`] if the segments
/// pass the last row; [`Error::WrongDevice`] if a buffer lives elsewhere; [`Error::Zip`];
/// [`Error::Library`] without NVRTC; [`Error::Compile`] if an operator's CUDA text is wrong;
/// [`Error::OutOfMemory`]; [`Error::Driver`].
impl Device {
    /// The fold of each segment of rows; see
    /// [`segmented_reduce_vectors`](crate::segmented_reduce_vectors).
    pub fn segmented_reduce_vectors<T: Element, Op: Monoid<T>>(
        &self,
        input: impl Source<Device, Item = T>,
        inner: usize,
        segments: impl Segments<Device>,
    ) -> Result<Buffer<T>> {
        reduce_on::<Device, T, Op, _, _>(self, input, inner, segments, None)
    }

    /// The fold of `init` and each segment of rows; see
    /// [`segmented_reduce_vectors_from`](crate::segmented_reduce_vectors_from).
    pub fn segmented_reduce_vectors_from<T: Element, Op: Monoid<T>>(
        &self,
        init: T,
        input: impl Source<Device, Item = T>,
        inner: usize,
        segments: impl Segments<Device>,
    ) -> Result<Buffer<T>> {
        reduce_on::<Device, T, Op, _, _>(self, input, inner, segments, Some(init))
    }
}
