//! Sort: stable, by one order for all devices.

mod by_key;
pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod few;
pub(crate) mod kernel;
pub(crate) mod launches;
mod order;
mod radix;
pub(crate) mod tuning;

pub use by_key::{
    Asked, Parts, RankOf, SortKey, argsort_by_key, sort_by_key, sort_by_key_in_place,
};
pub use order::{Bits, KeyMap, Kind};
pub use order::{Order, Sortable};

use super::collect::{collect_on, collected, lying};
use crate::device::{Backend, Bound, Call, OnDevice};
use crate::source::{Form, Host, Source};
use crate::{Buffer, Device, Element, Error, Result};
use std::mem::MaybeUninit;

/// The largest values that move with their keys in every pass on a GPU, in bytes.
pub(crate) const MOST_VALUE: usize = 16;

/// The items of a source, sorted. Equal items stay in the order of the source.
///
/// ```
/// use warpfold::{Order, sort};
///
/// assert_eq!(sort(&[3, 1, 2], Order::ascending())?, [1, 2, 3]);
/// assert_eq!(sort(&[0.5, -1.5, 7.0], Order::descending())?, [7.0, 0.5, -1.5]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// [`Order`] says what becomes of NaN and −0. [`Device::for_host_data`] says where it runs.
///
/// Complexity: O(n) work for each byte of a key, and less where bytes do not vary. On the CPU it is
/// a radix sort: items move to buckets by their highest bits that vary, in parallel; buckets that
/// fit a cache are sorted from the lowest digit on. Memory: the result and 1 MiB a thread; as much
/// again as keys that agree in their highest bits take, where they fit no cache; and as much again
/// as all if the source is no slice.
///
/// # Errors
///
/// [`Error::OutOfHostMemory`] if there is no room; [`Error::Zip`] if zipped sources have different
/// lengths. If `WARPFOLD_DEVICE` is set, also those of [`Device::for_host_data`], and if it names a
/// GPU, those of [`Device::upload`], [`Device::sort`] and [`Buffer::to_vec`].
pub fn sort<K: Sortable>(input: impl Source<Item = K>, order: Order) -> Result<Vec<K>> {
    sort_on::<Host, K, _>(&Device::for_host_data()?, input, order)?.into_vec()
}

/// The sorted items of a source in a new buffer.
fn sort_on<P: OnDevice, K: Sortable, S: Source<P, Item = K>>(
    device: &Device,
    input: S,
    order: Order,
) -> Result<Buffer<K>> {
    let call = Call::<P>::on(device);
    let input = call.bind(&input)?;
    if !device.is_cpu() {
        return collected(input)?.sorted(order);
    }
    let mut output = Buffer::<K>::reserve(device, input.len())?;
    let address = output.address_mut() as *mut MaybeUninit<K>;
    // SAFETY: the buffer has room for so many items.
    let room = unsafe { std::slice::from_raw_parts_mut(address, input.len()) };
    if !sort_lying(&input, order, room)? {
        drop(output);
        return collected(input)?.sorted(order);
    }
    // SAFETY: all of them were written.
    unsafe { output.set_len(input.len()) };
    Ok(output)
}

/// Sorts items into room for as many, on the CPU, if they lie side by side.
fn sort_lying<K: Sortable, F: Form<Item = K>>(
    input: &Bound<'_, F>,
    order: Order,
    output: &mut [MaybeUninit<K>],
) -> Result<bool> {
    input.with_items(|items| match items.slice(0..items.len()) {
        Some(keys) => cpu::sort_into(keys, K::key_map(order), output).map(|()| true),
        None => Ok(false),
    })
}

/// Writes the sorted items of a source over `output`, which must have their number. Otherwise as
/// [`sort`](sort()).
///
/// # Errors
///
/// As [`sort`](sort()), and [`Error::Length`] if `output` has another length. Then it is as it was.
pub fn sort_into<K: Sortable>(
    input: impl Source<Item = K>,
    order: Order,
    output: &mut [K],
) -> Result<()> {
    Error::check_length(input.items()?, output.len())?;
    let device = Device::for_host_data()?;
    if !device.is_cpu() {
        output.copy_from_slice(&sort(input, order)?);
        return Ok(());
    }
    sort_onto::<Host, K, _>(&device, input, order, output)
}

/// Writes the sorted items of a source over `output`, on the CPU.
fn sort_onto<P: OnDevice, K: Sortable, S: Source<P, Item = K>>(
    device: &Device,
    input: S,
    order: Order,
    output: &mut [K],
) -> Result<()> {
    let call = Call::<P>::on(device);
    let bound = call.bind(&input)?;
    // SAFETY: a `MaybeUninit<K>` has the layout of a `K`, and nothing but items is written.
    let room = unsafe { &mut *(&raw mut *output as *mut [MaybeUninit<K>]) };
    if sort_lying(&bound, order, room)? {
        return Ok(());
    }
    bound.with_items(|items| items.write(0, room));
    cpu::sort(output, K::key_map(order))
}

/// Sorts `data`. Equal elements stay in their order. Otherwise as [`sort`](sort()).
///
/// ```
/// use warpfold::{Order, sort_in_place};
///
/// let mut data = [3, 1, 2];
/// sort_in_place(&mut data, Order::ascending())?;
/// assert_eq!(data, [1, 2, 3]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`sort`](sort()). Then `data` is as it was.
pub fn sort_in_place<K: Sortable>(data: &mut [K], order: Order) -> Result<()> {
    if Device::for_host_data()?.is_cpu() {
        return cpu::sort(data, K::key_map(order));
    }
    data.copy_from_slice(&sort(&*data, order)?);
    Ok(())
}

/// Sorts keys, and moves a value along with each: the sorted keys, and the values in that order.
/// Values of equal keys stay in their order.
///
/// ```
/// use warpfold::{Order, sort_pairs};
///
/// let (keys, values) = sort_pairs(&[3, 1, 2, 1], &[0.1, 0.2, 0.3, 0.4], Order::ascending())?;
/// assert_eq!(keys, [1, 1, 2, 3]);
/// assert_eq!(values, [0.2, 0.4, 0.3, 0.1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Complexity and memory are those of a [`sort`](sort()) of as many bytes. Values of more than 16
/// bytes move once: their places are sorted, which takes 4 to 8 more bytes for each.
///
/// # Errors
///
/// As [`sort`](sort()), and [`Error::Pairs`] if there are not as many values as keys.
pub fn sort_pairs<K: Sortable, V: Element>(
    keys: impl Source<Item = K>,
    values: impl Source<Item = V>,
    order: Order,
) -> Result<(Vec<K>, Vec<V>)> {
    Error::check_pairs(keys.items()?, values.items()?)?;
    let device = Device::for_host_data()?;
    let mut keys = collect_on::<Host, K, _>(&device, keys)?;
    let mut values = collect_on::<Host, V, _>(&device, values)?;
    device.sort_pairs_in_place(&mut keys, &mut values, order)?;
    Ok((keys.into_vec()?, values.into_vec()?))
}

/// Sorts `keys`, and moves `values` along. Otherwise as [`sort_pairs`].
///
/// # Errors
///
/// As [`sort_pairs`]. Then both are as they were.
pub fn sort_pairs_in_place<K: Sortable, V: Element>(
    keys: &mut [K],
    values: &mut [V],
    order: Order,
) -> Result<()> {
    Error::check_pairs(keys.len(), values.len())?;
    if Device::for_host_data()?.is_cpu() {
        return cpu::sort_pairs(keys, values, K::key_map(order));
    }
    let (sorted, moved) = sort_pairs(&*keys, &*values, order)?;
    keys.copy_from_slice(&sorted);
    values.copy_from_slice(&moved);
    Ok(())
}

/// Where each item of the sorted order stands in the source, counted from 0: NumPy's
/// `argsort(kind="stable")`.
///
/// ```
/// use warpfold::{Order, argsort};
///
/// assert_eq!(argsort(&[30, 10, 20, 10], Order::ascending())?, [1, 3, 2, 0]);
/// assert_eq!(argsort(&[30, 10, 20, 10], Order::descending())?, [0, 2, 1, 3]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Items are numbers, or tuples of up to six. Of tuples the first number decides, of equals the
/// next. So columns sort a table, the first column first (NumPy's `lexsort` takes the last first):
///
/// ```
/// use warpfold::{Order, argsort, zip};
///
/// let (city, price) = ([2_u8, 1, 2, 1], [3.5_f32, 9.0, 1.5, 2.0]);
/// assert_eq!(argsort(zip(&city, &price), Order::ascending())?, [3, 1, 2, 0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Complexity and memory are those of [`sort_pairs`] with a value of 4 bytes (8 from 2^32 items
/// on). A tuple is one integer if its numbers have up to 16 bytes together. A larger one takes a
/// sort for each 16 bytes, from its last number to its first.
///
/// # Errors
///
/// As [`sort`](sort()).
pub fn argsort<K: SortKey>(input: impl Source<Item = K>, order: Order) -> Result<Vec<u64>> {
    argsort_on::<Host, K, _>(&Device::for_host_data()?, input, order)?.into_vec()
}

fn argsort_on<P: OnDevice, K: SortKey, S: Source<P, Item = K>>(
    device: &Device,
    input: S,
    order: Order,
) -> Result<Buffer<u64>> {
    let call = Call::<P>::on(device);
    let input = call.bind(&input)?;
    let mut places = Buffer::<u64>::reserve(device, input.len())?;
    // SAFETY: there is room for all places, and each is written.
    unsafe {
        K::argsort::<S::Form>(input, order, &mut places)?;
        places.set_len(input.len());
    }
    Ok(places)
}

/// Writes where each item of the sorted order stands over `output`. Otherwise as [`argsort`].
///
/// # Errors
///
/// As [`argsort`], and [`Error::Length`] if `output` has another length. Then it is as it was.
pub fn argsort_into<K: SortKey>(
    input: impl Source<Item = K>,
    order: Order,
    output: &mut [u64],
) -> Result<()> {
    Error::check_length(input.items()?, output.len())?;
    output.copy_from_slice(&argsort(input, order)?);
    Ok(())
}

impl<K: Sortable> Buffer<K> {
    fn sorted(mut self, order: Order) -> Result<Buffer<K>> {
        let device = self.device.clone();
        device.sort_in_place(&mut self, order)?;
        Ok(self)
    }
}

/// # Sort
///
/// Every call is stable, and gives the bits of the functions on host data. On a GPU keys are read
/// once to count their digits, and then keys and values are read and written once for each byte of
/// a key that varies; short inputs are sorted by runs that are merged. Memory: as much again as
/// keys and values take, and 2 KiB for some thousands of keys. The algorithm is that of Adinets
/// and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs" (2022).
///
/// A call does not wait for the result.
///
/// # Errors
///
/// Of every method: [`Error::WrongDevice`] if a buffer lives elsewhere; [`Error::Zip`] if zipped
/// sources have different lengths; [`Error::Library`] without NVRTC; [`Error::OutOfMemory`] or
/// [`Error::OutOfHostMemory`]; [`Error::Driver`].
impl Device {
    /// The sorted items of a source, in a new buffer; see [`sort`](crate::sort()).
    ///
    /// ```
    /// use warpfold::{Device, Order};
    ///
    /// let device = Device::cpu();
    /// let x = device.upload(&[3.0_f32, 1.0, 2.0])?;
    /// assert_eq!(device.sort(&x, Order::descending())?.to_vec()?, [3.0, 2.0, 1.0]);
    /// assert_eq!(device.argsort(&x, Order::descending())?.to_vec()?, [0, 2, 1]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn sort<K: Sortable>(
        &self,
        input: impl Source<Device, Item = K>,
        order: Order,
    ) -> Result<Buffer<K>> {
        sort_on::<Device, K, _>(self, input, order)
    }

    /// Writes the sorted items of a source over `output`, which must have their number.
    ///
    /// # Errors
    ///
    /// Also [`Error::Length`] if `output` has another length. Then it is as it was.
    pub fn sort_into<K: Sortable>(
        &self,
        input: impl Source<Device, Item = K>,
        order: Order,
        output: &mut Buffer<K>,
    ) -> Result<()> {
        if !self.is_cpu() {
            self.collect_into(input, output)?;
            return self.sort_in_place(output, order);
        }
        self.check_owns(output)?;
        Error::check_length(input.items()?, output.len())?;
        sort_onto::<Device, K, _>(self, input, order, output.as_host_mut())
    }

    /// Sorts `data`.
    pub fn sort_in_place<K: Sortable>(&self, data: &mut Buffer<K>, order: Order) -> Result<()> {
        self.check_owns(data)?;
        match &self.backend {
            Backend::Cpu => cpu::sort(data.as_host_mut(), K::key_map(order)),
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => {
                let (address, len) = (data.address_mut(), data.len());
                // SAFETY: the buffer is on this GPU, and borrowed for writing.
                unsafe { cuda::sort::<K>(gpu, order, (address, address), len) }
            }
        }
    }

    /// The sorted keys, and the values in that order; see [`sort_pairs`](crate::sort_pairs()).
    ///
    /// # Errors
    ///
    /// Also [`Error::Pairs`] if there are not as many values as keys.
    pub fn sort_pairs<K: Sortable, V: Element>(
        &self,
        keys: impl Source<Device, Item = K>,
        values: impl Source<Device, Item = V>,
        order: Order,
    ) -> Result<(Buffer<K>, Buffer<V>)> {
        Error::check_pairs(keys.items()?, values.items()?)?;
        let (mut keys, mut values) = (self.collect(keys)?, self.collect(values)?);
        self.sort_pairs_in_place(&mut keys, &mut values, order)?;
        Ok((keys, values))
    }

    /// Sorts `keys`, and moves `values` along.
    ///
    /// # Errors
    ///
    /// Also [`Error::Pairs`] if there are not as many values as keys. Then both are as they were.
    pub fn sort_pairs_in_place<K: Sortable, V: Element>(
        &self,
        keys: &mut Buffer<K>,
        values: &mut Buffer<V>,
        order: Order,
    ) -> Result<()> {
        const { crate::element::assert_element_size::<V>() };
        self.check_owns(keys)?;
        self.check_owns(values)?;
        Error::check_pairs(keys.len(), values.len())?;
        match &self.backend {
            Backend::Cpu => {
                cpu::sort_pairs(keys.as_host_mut(), values.as_host_mut(), K::key_map(order))
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => cuda::sort_buffers(gpu, order, keys, values),
        }
    }

    /// Where each item of the sorted order stands in the source, in a new buffer; see
    /// [`argsort`](crate::argsort()).
    pub fn argsort<K: SortKey>(
        &self,
        input: impl Source<Device, Item = K>,
        order: Order,
    ) -> Result<Buffer<u64>> {
        argsort_on::<Device, K, _>(self, input, order)
    }

    /// Writes where each item of the sorted order stands over `output`, which must have as many
    /// places.
    ///
    /// # Errors
    ///
    /// Also [`Error::Length`] if `output` has another length. Then it is as it was.
    pub fn argsort_into<K: SortKey>(
        &self,
        input: impl Source<Device, Item = K>,
        order: Order,
        output: &mut Buffer<u64>,
    ) -> Result<()> {
        self.check_owns(output)?;
        Error::check_length(input.items()?, output.len())?;
        let call = Call::<Device>::on(self);
        // SAFETY: there is room for all places.
        unsafe { K::argsort(call.bind(&input)?, order, output) }
    }
}

/// Writes a place for each number to the memory of a buffer.
///
/// # Safety
///
/// There is room for as many places.
unsafe fn argsort_numbers<K: Sortable, F: Form<Item = K>>(
    input: Bound<'_, F>,
    order: Order,
    places: &mut Buffer<u64>,
) -> Result<()> {
    let keys = lying(input)?;
    let to = places.address_mut();
    match &input.device().backend {
        Backend::Cpu => {
            // SAFETY: the caller's.
            let places = unsafe { std::slice::from_raw_parts_mut(to as *mut _, keys.len()) };
            cpu::argsort(keys.as_slice(), K::key_map(order), places)
        }
        #[cfg(feature = "cuda")]
        // SAFETY: the keys lie there; the rest is the caller's.
        Backend::Cuda(gpu) => unsafe {
            cuda::argsort::<K>(gpu, order, (keys.address(), to), keys.len())
        },
    }
}
