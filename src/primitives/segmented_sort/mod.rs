//! Segmented sort: each of many parts of one source by itself.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod kernel;

use super::segmented::{Cut, Segments};
use super::sort::{Order, Sortable};
#[cfg(doc)]
use crate::Error;
use crate::device::{Backend, DeviceBinder};
use crate::source::{HostBinder, Source};
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
/// Complexity and memory are those of a [`sort`](crate::sort()) of each segment.
/// [`Device::for_host_data`] says where it runs.
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
    Ok(sort_host(input, segments, order, false)?.0)
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
    Ok(sort_host(input, segments, order, true)?.1)
}

fn sort_host<K: Sortable, S: Source<Item = K>, G: Segments>(
    input: S,
    segments: G,
    order: Order,
    with_places: bool,
) -> Result<(Vec<K>, Vec<u64>)> {
    let device = Device::for_host_data()?;
    let mut binder = HostBinder::new(&device);
    let len = input.items()?;
    let bound = segments.bind(&mut binder, len)?;
    let arguments = input.bind(&mut binder)?;
    // SAFETY: the binder gave addresses on the device, and it, the source and the segments outlive
    // the call.
    unsafe {
        let mut keys = device.collect_bound::<K, S::Form>(arguments, len)?;
        let places = device.segmented_sort_bound::<K, G::Cut>(
            (bound, segments.count()),
            order,
            &mut keys,
            with_places,
        )?;
        Ok((keys.into_vec()?, places.into_vec()?))
    }
}

/// # Segmented sort
///
/// Every call is stable, and gives the bits of the functions on host data. On a GPU blocks sort
/// segments of up to some thousands of items, several at a time, in a reading and a writing of all
/// items. Longer ones are sorted together by key and by segment. So any mix of lengths will do.
/// Memory: where there are more items than a block sorts, some 36 bytes for each item of 4 bytes,
/// and 44 for one of 8, even if all segments are short.
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
        Ok(self.segmented_sort_of(input, segments, order, false)?.0)
    }

    /// Sorts each segment of `data`.
    pub fn segmented_sort_in_place<K: Sortable, G: Segments<Device>>(
        &self,
        data: &mut Buffer<K>,
        segments: G,
        order: Order,
    ) -> Result<()> {
        self.check_owns(data)?;
        let mut binder = DeviceBinder::new(self);
        let bound = (segments.bind(&mut binder, data.len())?, segments.count());
        // SAFETY: the binder saw to it that all buffers are on this device; they are borrowed.
        unsafe { self.segmented_sort_bound::<K, G::Cut>(bound, order, data, false) }?;
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
        Ok(self.segmented_sort_of(input, segments, order, true)?.1)
    }

    fn segmented_sort_of<K: Sortable, S: Source<Device, Item = K>, G: Segments<Device>>(
        &self,
        input: S,
        segments: G,
        order: Order,
        with_places: bool,
    ) -> Result<(Buffer<K>, Buffer<u64>)> {
        let mut binder = DeviceBinder::new(self);
        let len = input.items()?;
        let bound = (segments.bind(&mut binder, len)?, segments.count());
        let arguments = input.bind(&mut binder)?;
        // SAFETY: the binder saw to it that all buffers are on this device; they are borrowed.
        unsafe {
            let mut keys = self.collect_bound::<K, S::Form>(arguments, len)?;
            let places =
                self.segmented_sort_bound::<K, G::Cut>(bound, order, &mut keys, with_places)?;
            Ok((keys, places))
        }
    }

    /// Sorts each segment of a buffer. Gives the places, if they are wanted.
    ///
    /// # Safety
    ///
    /// The arguments are those of so many segments of the buffer's items, in this device's memory,
    /// which stays borrowed.
    unsafe fn segmented_sort_bound<K: Sortable, C: Cut>(
        &self,
        (segments, count): (C::Arguments, usize),
        order: Order,
        keys: &mut Buffer<K>,
        with_places: bool,
    ) -> Result<Buffer<u64>> {
        let len = keys.len();
        match &self.backend {
            Backend::Cpu => {
                let mut places = cpu::places(if with_places { len } else { 0 })?;
                let map = K::key_map(order);
                let to = with_places.then_some(&mut places[..]);
                // SAFETY: the caller's.
                unsafe { cpu::sort::<K, C>(keys.as_host_mut(), to, (&segments, count), map) }?;
                self.upload_vec(places)
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => {
                let room = if with_places { len } else { 0 };
                let mut places = Buffer::<u64>::reserve(self, room)?;
                let call = cuda::Call {
                    segments,
                    count,
                    keys: keys.address_mut(),
                    places: if with_places { places.address_mut() } else { 0 },
                    len,
                    order,
                };
                // SAFETY: the caller's. There is room for all places, and all are written.
                unsafe {
                    cuda::sort_on::<K, C>(gpu, call)?;
                    places.set_len(room);
                }
                Ok(places)
            }
        }
    }
}
