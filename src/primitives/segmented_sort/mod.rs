//! Segmented sort: each of many parts of one source by itself.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod kernel;
pub(crate) mod launches;
mod tuning;

use super::collect::collected;
use super::segmented::{BoundSegments, Cut, Segments};
use super::sort::{Order, Sortable};
#[cfg(doc)]
use crate::Error;
use crate::device::{Backend, Call, OnDevice};
use crate::source::{Host, Source};
use crate::{Buffer, Device, Result};

/// The items of a source, with each segment sorted by itself. Equal items of a segment stay in
/// their order, and an item that belongs to no segment stays where it is.
///
/// ```
/// use warpfold::{Offsets, Order, Rows, segmented_sort};
///
/// let x = [5, 1, 4, 9, 2, 7];
/// let offsets = Offsets::new(&[0_u32, 3, 3, 6])?;
/// assert_eq!(segmented_sort(&x, offsets, Order::ascending())?, [1, 4, 5, 2, 7, 9]);
/// assert_eq!(segmented_sort(&x, Rows::new(3, 2), Order::descending())?, [5, 1, 9, 4, 7, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Segments may have any lengths, in any mix. If unchecked offsets fall, the results of all
/// segments are unspecified.
///
/// Complexity: O(n log m) on a GPU, if the longest of the segments has m items; on the CPU that of
/// a [`sort`](crate::sort()) of each segment. [`Device::for_host_data`] says where it runs. The
/// merges on a GPU are those of Baxter's segmented sort ("moderngpu", 2013).
///
/// # Errors
///
/// [`Error::Segments`] if the segments pass the end of the input; and those of
/// [`sort`](crate::sort()).
pub fn segmented_sort<K: Sortable>(
    input: impl Source<Item = K>,
    segments: impl Segments,
    order: Order,
) -> Result<Vec<K>> {
    sort_on::<Host, K, _, _>(&Device::for_host_data()?, input, segments, order, false)?
        .0
        .into_vec()
}

/// For each item of [`segmented_sort`], where it stood in its segment, counted from 0: of the rows
/// of a matrix NumPy's `argsort(axis=1, kind="stable")`. An item of no segment has place 0.
///
/// ```
/// use warpfold::{Offsets, Order, segmented_argsort};
///
/// let offsets = Offsets::new(&[0_u32, 3, 6])?;
/// let places = segmented_argsort(&[5, 1, 4, 9, 2, 7], offsets, Order::ascending())?;
/// assert_eq!(places, [1, 2, 0, 1, 2, 0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`segmented_sort`].
pub fn segmented_argsort<K: Sortable>(
    input: impl Source<Item = K>,
    segments: impl Segments,
    order: Order,
) -> Result<Vec<u64>> {
    sort_on::<Host, K, _, _>(&Device::for_host_data()?, input, segments, order, true)?
        .1
        .into_vec()
}

/// The sorted items, and where they stood if that is wanted.
fn sort_on<P: OnDevice, K: Sortable, S: Source<P, Item = K>, G: Segments<P>>(
    device: &Device,
    input: S,
    segments: G,
    order: Order,
    with_places: bool,
) -> Result<(Buffer<K>, Buffer<u64>)> {
    let call = Call::<P>::on(device);
    let segments = BoundSegments::of(&call, &segments, input.items()?)?;
    let mut keys = collected(call.bind(&input)?)?;
    let places = sort_bound(segments, order, &mut keys, with_places)?;
    Ok((keys, places))
}

fn sort_bound<K: Sortable, C: Cut>(
    segments: BoundSegments<'_, C>,
    order: Order,
    keys: &mut Buffer<K>,
    with_places: bool,
) -> Result<Buffer<u64>> {
    let device = keys.device.clone();
    let room = if with_places { keys.len() } else { 0 };
    match &device.backend {
        Backend::Cpu => {
            let mut places = cpu::places(room)?;
            let (keys, to) = (keys.as_host_mut(), with_places.then_some(&mut places[..]));
            cpu::sort(keys, to, &segments.bounds(), K::key_map(order))?;
            device.upload_vec(places)
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(gpu) => {
            let mut places = Buffer::<u64>::reserve(&device, room)?;
            let call = cuda::Call {
                segments: segments.arguments(),
                keys: keys.address_mut(),
                places: if with_places { places.address_mut() } else { 0 },
                len: keys.len(),
                order,
            };
            // SAFETY: the keys and the segments are on this GPU. There is room for all places, and
            // all are written.
            unsafe {
                cuda::sort_on::<K, C>(gpu, call)?;
                places.set_len(room);
            }
            Ok(places)
        }
    }
}

/// # Segmented sort
///
/// Every call is stable, and gives the bits of the functions on host data. On a GPU blocks sort
/// what segments have in tiles of some thousands of items, in a reading and a writing of all items.
/// Then tiles are merged as far as a segment crosses them: a segment of n tiles is read and written
/// some log2(n) times more. So any mix of lengths will do. Memory: as much as the keys have, and 8
/// bytes for each if there are places, or 16 from 2^32 items on; next to nothing for one tile.
///
/// # Errors
///
/// Of every method: [`Error::Segments`] if the segments pass the end of the input;
/// [`Error::WrongDevice`] if a buffer lives elsewhere; [`Error::Zip`] if zipped sources have
/// different lengths; [`Error::Library`] without NVRTC; [`Error::OutOfMemory`] or
/// [`Error::OutOfHostMemory`]; [`Error::Driver`].
impl Device {
    /// The items of a source, with each segment sorted; see
    /// [`segmented_sort`](crate::segmented_sort()).
    ///
    /// ```
    /// use warpfold::{Device, Order, Rows};
    ///
    /// let device = Device::cpu();
    /// let matrix = device.upload(&[3.0_f32, 1.0, 2.0, 9.0, 7.0, 8.0])?;
    /// let sorted = device.segmented_sort(&matrix, Rows::new(2, 3), Order::ascending())?;
    /// assert_eq!(sorted.to_vec()?, [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]);
    /// let places = device.segmented_argsort(&matrix, Rows::new(2, 3), Order::ascending())?;
    /// assert_eq!(places.to_vec()?, [1, 2, 0, 1, 2, 0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn segmented_sort<K: Sortable>(
        &self,
        input: impl Source<Device, Item = K>,
        segments: impl Segments<Device>,
        order: Order,
    ) -> Result<Buffer<K>> {
        Ok(sort_on::<Device, K, _, _>(self, input, segments, order, false)?.0)
    }

    /// Sorts each segment of `data`.
    pub fn segmented_sort_in_place<K: Sortable, G: Segments<Device>>(
        &self,
        data: &mut Buffer<K>,
        segments: G,
        order: Order,
    ) -> Result<()> {
        self.check_owns(data)?;
        let call = Call::<Device>::on(self);
        let segments = BoundSegments::of(&call, &segments, data.len())?;
        sort_bound(segments, order, data, false)?;
        Ok(())
    }

    /// For each item of the sorted segments, where it stood in its segment; see
    /// [`segmented_argsort`](crate::segmented_argsort).
    pub fn segmented_argsort<K: Sortable>(
        &self,
        input: impl Source<Device, Item = K>,
        segments: impl Segments<Device>,
        order: Order,
    ) -> Result<Buffer<u64>> {
        Ok(sort_on::<Device, K, _, _>(self, input, segments, order, true)?.1)
    }
}
