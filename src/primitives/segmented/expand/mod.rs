//! Expansion: every item gets the value of its segment. Run-length decoding, and other ways to
//! write down segments.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use super::BoundSegments;
use super::segments::{Cut, Offset, Offsets, Segments, Starts};
use crate::device::{Backend, Bound, Call, OnDevice};
use crate::element::assert_element_size;
use crate::primitives::scan::cpu::{self as scan, Output};
use crate::source::{Form, Host, Index, IndexArguments, Place, Slice, Source, index, sealed};
use crate::{Buffer, Device, Element, Error, Prefixes, Result, monoid, scan_into};

/// Run-length decoding: each of `values` as often as `counts` says, in their order. It is the
/// inverse of [`runs`](crate::runs()).
///
/// ```
/// use warpfold::{decode, runs};
///
/// let x = decode(&[7_i32, 2, 5], &[2_u64, 0, 3])?;
/// assert_eq!(x, [7, 7, 5, 5, 5]);
/// let found = runs::<i32>(&x)?;
/// assert_eq!(decode(&found.items, &found.lengths)?, x);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Complexity: O(n + m) work for n values and m items, shared out evenly whatever the counts are.
/// Memory: the result, and 8 bytes for each value. [`Device::for_host_data`] says where it runs.
///
/// # Errors
///
/// [`Error::Zip`] if there are not as many counts as values; [`Error::OutOfHostMemory`] if there is
/// no room for the result. If `WARPFOLD_DEVICE` is set: those of [`Device::for_host_data`], and if
/// it names a GPU, those of [`Device::upload`] and [`Device::decode`].
pub fn decode<T: Element, I: Offset>(
    values: impl Source<Item = T>,
    counts: impl Source<Item = I>,
) -> Result<Vec<T>> {
    super::keys::check_lengths(values.items()?, counts.items()?)?;
    let offsets = offsets_from_lengths(counts)?;
    let total = total(&offsets);
    let offsets = Offsets::unchecked::<Host, _>(&offsets[..])?;
    expand_host(values, offsets, total, T::zeroed())
}

/// Decodes to the front of `output`, and returns the number of items. What comes after them stays
/// as it is. Otherwise as [`decode`].
///
/// ```
/// use warpfold::decode_into;
///
/// let mut x = [0_u8; 6];
/// assert_eq!(decode_into(&[9_u8, 4], &[2_u32, 3], &mut x)?, 5);
/// assert_eq!(x, [9, 9, 4, 4, 4, 0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`decode`], and [`Error::Length`] if there are more items than room. Then `output` is as it
/// was.
pub fn decode_into<T: Element, I: Offset>(
    values: impl Source<Item = T>,
    counts: impl Source<Item = I>,
    output: &mut [T],
) -> Result<usize> {
    super::keys::check_lengths(values.items()?, counts.items()?)?;
    let offsets = offsets_from_lengths(counts)?;
    let total = total(&offsets);
    check_room(total, output.len())?;
    let offsets = Offsets::unchecked::<Host, _>(&offsets[..])?;
    let items = expand_host(values, offsets, total, T::zeroed())?;
    output[..total].copy_from_slice(&items);
    Ok(total)
}

/// The offsets of segments of these lengths: one more than there are lengths, from 0 on.
///
/// Lengths that add up to more than 2^64 − 1 give offsets that stay there.
///
/// ```
/// use warpfold::{Offsets, offsets_from_lengths, ops::Add, segmented_reduce};
///
/// let offsets = offsets_from_lengths(&[2_u32, 0, 3])?;
/// assert_eq!(offsets, [0, 2, 2, 5]);
/// let sums = segmented_reduce::<u32, Add>(&[1, 2, 3, 4, 5], Offsets::new(&offsets)?)?;
/// assert_eq!(sums, [3, 0, 12]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`scan_into`].
pub fn offsets_from_lengths<I: Offset>(lengths: impl Source<Item = I>) -> Result<Vec<u64>> {
    let mut offsets = vec![0; lengths.items()? + 1];
    let lengths = I::widened::<Host, _>(lengths);
    scan_into::<u64, SaturatingSum>(Prefixes::inclusive(), lengths, &mut offsets[1..])?;
    Ok(offsets)
}

/// The offsets of `count` segments, given the number of its segment for each item. The numbers
/// ascend. Items of segments from `count` on belong to none.
///
/// ```
/// use warpfold::{offsets_from_ids, segment_ids, Offsets};
///
/// let offsets = offsets_from_ids(&[0_u32, 0, 2, 2, 2], 4)?;
/// assert_eq!(offsets, [0, 2, 2, 5, 5]);
/// assert_eq!(segment_ids(Offsets::new(&offsets)?, 5)?, [0, 0, 2, 2, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Complexity: O(n + m) work for n items and m segments.
///
/// # Errors
///
/// [`Error::Segments`] if a number is less than the one before it; [`Error::OutOfHostMemory`].
pub fn offsets_from_ids<I: Offset, S>(ids: S, count: usize) -> Result<Vec<u64>>
where
    S: Source<Item = I, Form = Slice<I>>,
{
    let ids = Starts::of_ids(ids)?;
    let mut offsets = vec![0];
    offsets.extend(expand_host(From1(ids.count()), ids, count, 0)?);
    Ok(offsets)
}

/// For each of `items` items, the number of its segment. An item of no segment gets `u64::MAX`.
///
/// ```
/// use warpfold::{Offsets, segment_ids};
///
/// assert_eq!(segment_ids(Offsets::new(&[1_u32, 3, 3, 4])?, 5)?, [u64::MAX, 0, 0, 2, u64::MAX]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Complexity: O(n + m) work for n items and m segments.
///
/// # Errors
///
/// [`Error::Segments`] if the segments pass the end of the items; [`Error::OutOfHostMemory`].
pub fn segment_ids(segments: impl Segments, items: usize) -> Result<Vec<u64>> {
    expand_host(index(segments.count()), segments, items, u64::MAX)
}

/// A sum that never wraps.
#[monoid(name = SaturatingSum, identity = 0, exact, commutative)]
pub(super) fn saturating_sum(a: u64, b: u64) -> u64 {
    a.saturating_add(b)
}

/// The last offset, which is the number of items.
pub(super) fn total(offsets: &[u64]) -> usize {
    let last = *offsets.last().expect("there is one at least");
    usize::try_from(last).unwrap_or(usize::MAX)
}

fn check_room(items: usize, room: usize) -> Result<()> {
    match items > room {
        true => Err(Error::Length {
            input: items,
            output: room,
        }),
        false => Ok(()),
    }
}

/// The numbers from 1 on.
struct From1(usize);

impl sealed::Sealed for From1 {}

impl<P: Place> Source<P> for From1 {
    type Item = u64;
    type Form = Index;

    fn items(&self) -> Result<usize> {
        Ok(self.0)
    }

    fn bind<'a>(&'a self, _: &mut P::Binder<'a>) -> Result<IndexArguments> {
        Ok(IndexArguments { first: 1 })
    }
}

pub(super) fn expand_host<T: Element, S: Source<Item = T>, G: Segments>(
    values: S,
    segments: G,
    items: usize,
    none: T,
) -> Result<Vec<T>> {
    let device = Device::for_host_data()?;
    let mut output = Buffer::<T>::reserve(&device, items)?;
    let to = (output.address_mut(), items);
    // SAFETY: the buffer has room for all items, and all are written.
    unsafe {
        expand_on::<Host, T, _, _>(&device, values, segments, none, to)?;
        output.set_len(items);
    }
    output.into_vec()
}

/// Writes the value of the segment of each of so many items from an address on, and `none` for
/// those of no segment.
///
/// # Safety
///
/// There is room for so many items in the device's memory, borrowed for writing.
unsafe fn expand_on<P, T, S, G>(
    device: &Device,
    values: S,
    segments: G,
    none: T,
    to: (u64, usize),
) -> Result<()>
where
    P: OnDevice,
    T: Element,
    S: Source<P, Item = T>,
    G: Segments<P>,
{
    let call = Call::<P>::on(device);
    let values = call.bind(&values)?;
    let segments = BoundSegments::of(&call, &segments, to.1)?;
    // SAFETY: the caller's.
    unsafe { expand_bound(values, segments, none, to) }
}

/// # Safety
///
/// As for [`expand_on`].
unsafe fn expand_bound<T: Element, F: Form<Item = T>, C: Cut>(
    values: Bound<'_, F>,
    segments: BoundSegments<'_, C>,
    none: T,
    (out, items): (u64, usize),
) -> Result<()> {
    const { assert_element_size::<T>() };
    if items == 0 {
        return Ok(());
    }
    match &values.device().backend {
        Backend::Cpu => {
            // SAFETY: the caller's.
            let output = unsafe { std::slice::from_raw_parts_mut(out as *mut _, items) };
            let bounds = segments.bounds();
            values.with_items(|values| cpu::expand::<T, C>(values, &bounds, none, output));
            Ok(())
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => {
            let call = super::cuda::Call {
                source: values.arguments(),
                segments: segments.arguments(),
                len: items,
                count: segments.count(),
                out,
            };
            // SAFETY: the values and the segments are on this GPU; the rest is the caller's.
            unsafe { cuda::expand_on::<T, F, C>(gpu, call, none) }
        }
    }
}

/// Writes the sums of all lengths so far from an address on.
///
/// # Safety
///
/// There is room for as many in the device's memory, borrowed for writing.
unsafe fn add_up<F: Form<Item = u64>>(lengths: Bound<'_, F>, out: u64) -> Result<()> {
    let (prefixes, count) = (Prefixes::inclusive(), lengths.len());
    match &lengths.device().backend {
        Backend::Cpu => {
            // SAFETY: the caller's.
            let output = unsafe { std::slice::from_raw_parts_mut(out as *mut _, count) };
            lengths.with_items(|items| {
                scan::scan::<u64, SaturatingSum>(items, Output::Into(output), prefixes);
            });
            Ok(())
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => {
            let scan = gpu.kernels(crate::cuda::Scan::<u64, SaturatingSum, F>::load_lazily)?;
            let kernels = &scan.kernels;
            gpu.with_workspace(kernels.workspace_bytes(count), |stream, workspace| {
                let input = Some((lengths.arguments(), count));
                // SAFETY: the caller's; the lengths are on this GPU, and the stream keeps calls and
                // frees in order.
                unsafe { kernels.run_at(stream, prefixes, input, (out, count), workspace) }
            })
        }
    }
}

/// # Expansion
///
/// On a GPU a call is one launch, besides the scan that makes offsets of counts. Every item is
/// written once.
///
/// # Errors
///
/// Of every method: [`Error::WrongDevice`] if a buffer lives elsewhere; [`Error::Zip`] if there are
/// not as many counts as values; [`Error::Library`] without NVRTC; [`Error::OutOfMemory`];
/// [`Error::Driver`].
impl Device {
    /// Each of `values` as often as `counts` says; see [`decode`](crate::decode()). Waits for the
    /// number of items, not for them.
    ///
    /// ```
    /// use warpfold::Device;
    ///
    /// let device = Device::cpu();
    /// let (values, counts) = (device.upload(&[7_i32, 5])?, device.upload(&[2_u32, 3])?);
    /// assert_eq!(device.decode(&values, &counts)?.to_vec()?, [7, 7, 5, 5, 5]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn decode<T: Element, I: Offset>(
        &self,
        values: impl Source<Device, Item = T>,
        counts: impl Source<Device, Item = I>,
    ) -> Result<Buffer<T>> {
        super::keys::check_lengths(values.items()?, counts.items()?)?;
        let offsets = self.offsets_from_lengths(counts)?;
        let items = self.total(&offsets)?;
        self.expanded(values, Offsets::unchecked::<Device, _>(&offsets)?, items)
    }

    /// The last offset, which is the number of items. Waits for it.
    pub(super) fn total(&self, offsets: &Buffer<u64>) -> Result<usize> {
        Ok(total(&offsets.slice(offsets.len() - 1..).to_vec()?))
    }

    /// The value of each item's segment, in a new buffer. Each item belongs to a segment.
    pub(super) fn expanded<T: Element>(
        &self,
        values: impl Source<Device, Item = T>,
        segments: impl Segments<Device>,
        items: usize,
    ) -> Result<Buffer<T>> {
        let mut output = Buffer::<T>::reserve(self, items)?;
        let address = output.address_mut();
        // SAFETY: the buffer has room for all items, and all are written.
        unsafe {
            expand_on::<Device, T, _, _>(self, values, segments, T::zeroed(), (address, items))?;
            output.set_len(items);
        }
        Ok(output)
    }

    /// Decodes to the front of `output`, and returns the number of items; see
    /// [`decode_into`](crate::decode_into()). Waits for it.
    ///
    /// # Errors
    ///
    /// Also [`Error::Length`] if there are more items than room. Then `output` is as it was.
    pub fn decode_into<T: Element, I: Offset>(
        &self,
        values: impl Source<Device, Item = T>,
        counts: impl Source<Device, Item = I>,
        output: &mut Buffer<T>,
    ) -> Result<usize> {
        self.check_owns(output)?;
        super::keys::check_lengths(values.items()?, counts.items()?)?;
        let offsets = self.offsets_from_lengths(counts)?;
        let items = self.total(&offsets)?;
        check_room(items, output.len())?;
        let segments = Offsets::unchecked::<Device, _>(&offsets)?;
        // SAFETY: there is room for all items.
        unsafe {
            let address = output.address_mut();
            expand_on::<Device, T, _, _>(self, values, segments, T::zeroed(), (address, items))?;
        }
        Ok(items)
    }

    /// The offsets of segments of these lengths; see
    /// [`offsets_from_lengths`](crate::offsets_from_lengths()). Does not wait for them.
    pub fn offsets_from_lengths<I: Offset>(
        &self,
        lengths: impl Source<Device, Item = I>,
    ) -> Result<Buffer<u64>> {
        self.offsets_after(I::widened::<Device, _>(lengths))
    }

    fn offsets_after<S: Source<Device, Item = u64>>(&self, lengths: S) -> Result<Buffer<u64>> {
        let call = Call::<Device>::on(self);
        let lengths = call.bind(&lengths)?;
        let mut offsets = self.allocate::<u64>(lengths.len() + 1)?;
        let address = offsets.address_mut() + 8;
        // SAFETY: there is room for as many sums behind the first offset.
        unsafe { add_up(lengths, address)? };
        Ok(offsets)
    }

    /// The offsets of `count` segments, given the number of its segment for each item; see
    /// [`offsets_from_ids`](crate::offsets_from_ids()). Checks the numbers, and waits for the
    /// answer.
    ///
    /// # Errors
    ///
    /// Also [`Error::Segments`] if a number is less than the one before it.
    pub fn offsets_from_ids<I: Offset>(
        &self,
        ids: &Buffer<I>,
        count: usize,
    ) -> Result<Buffer<u64>> {
        let ids = Starts::of_ids_on(self, ids)?;
        let mut offsets = self.allocate::<u64>(count + 1)?;
        let address = offsets.address_mut() + 8;
        // SAFETY: there is room for so many behind the first offset.
        unsafe {
            let firsts = From1(ids.count());
            expand_on::<Device, u64, _, _>(self, firsts, ids, 0, (address, count))?;
        }
        Ok(offsets)
    }

    /// For each of `items` items, the number of its segment; see
    /// [`segment_ids`](crate::segment_ids()). Does not wait for the result.
    ///
    /// # Errors
    ///
    /// Also [`Error::Segments`] if the segments pass the end of the items.
    pub fn segment_ids(
        &self,
        segments: impl Segments<Device>,
        items: usize,
    ) -> Result<Buffer<u64>> {
        let mut ids = Buffer::<u64>::reserve(self, items)?;
        let address = ids.address_mut();
        let numbers = index(segments.count());
        // SAFETY: the buffer has room for all items, and all are written.
        unsafe {
            let to = (address, items);
            expand_on::<Device, u64, _, _>(self, numbers, segments, u64::MAX, to)?;
            ids.set_len(items);
        }
        Ok(ids)
    }
}
