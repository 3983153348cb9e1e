//! Top-k: the greatest or the least items of a source, sorted, and where they stand.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod digits;
pub(crate) mod kernel;
pub(crate) mod launches;
pub(crate) mod nth;
mod stream;
mod tuning;

pub(crate) use nth::nths_on;
pub use nth::{select_nth, select_nths};
pub use stream::TopK;

use super::segmented::Rows;
use super::sort::{Order, Sortable};
#[cfg(doc)]
use crate::Error;
use crate::device::{Backend, Bound, Call, OnDevice};
use crate::source::{Form, Host, Source};
use crate::{Buffer, CudaType, Device, Result};
use half::{bf16, f16};

/// What [`top_k`] and its relatives choose from: numbers, and numbers with a flag, of which those
/// without one are passed over.
///
/// Implemented for all [`Sortable`] numbers `K`, and for `(K, bool)`, which are the items of
/// [`flagged`](crate::flagged()) and of a source zipped with [`flags`](crate::flags).
pub trait Candidate: CudaType + sealed::Sealed {
    /// The number.
    type Key: Sortable;

    /// Whether there are flags.
    #[doc(hidden)]
    const FLAGGED: bool;

    /// The number, unless its flag is missing.
    #[doc(hidden)]
    fn key(self) -> Option<Self::Key>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! candidates {
    ($($number:ty),*) => {$(
        impl sealed::Sealed for $number {}

        impl Candidate for $number {
            type Key = $number;
            const FLAGGED: bool = false;

            #[inline(always)]
            fn key(self) -> Option<$number> {
                Some(self)
            }
        }

        impl sealed::Sealed for ($number, bool) {}

        impl Candidate for ($number, bool) {
            type Key = $number;
            const FLAGGED: bool = true;

            #[inline(always)]
            fn key(self) -> Option<$number> {
                self.1.then_some(self.0)
            }
        }
    )*};
}

candidates!(
    u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, f16, bf16, f32, f64
);

/// The `k` greatest items of a source, the greatest first, and where each stands, counted from 0.
/// Of equal items the first ones come first. So it is the beginning of the source sorted in
/// descending order, and its first place is that of [`arg_max`](crate::arg_max).
///
/// ```
/// use warpfold::{Order, top_k};
///
/// let (values, places) = top_k(&[3, 9, 4, 9, 1], 3, Order::default())?;
/// assert_eq!(values, [9, 9, 4]);
/// assert_eq!(places, [1, 3, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// `order` says where NaN and −0 stand: with the default NaN is the greatest, and with
/// [`nan_last`](Order::nan_last) it comes behind all numbers. Its direction does not matter: top
/// is always the greatest, and [`bottom_k`] has the least.
///
/// Items with a flag are chosen from if they have it. Places are those in the whole source:
///
/// ```
/// use warpfold::{Order, flagged, function, top_k};
///
/// #[function]
/// fn small(x: f32) -> bool {
///     x < 5.0
/// }
///
/// let scores = [3.0, 9.0, 4.0, 9.0, 1.0];
/// let (values, places) = top_k(flagged::<small, _>(&scores), 2, Order::default())?;
/// assert_eq!((values, places), (vec![4.0, 3.0], vec![2, 0]));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// If there are fewer than `k` items to choose from, the result has all of them. A `k` of 0 gives
/// nothing.
///
/// Complexity: O(n + k log k) work, whatever the data. Memory on the CPU: up to 32 bytes for each
/// of 2k items a thread. [`Device::for_host_data`] says where it runs.
///
/// # Errors
///
/// [`Error::OutOfHostMemory`] if there is no room; [`Error::Zip`] if zipped sources have different
/// lengths. If `WARPFOLD_DEVICE` is set, also those of [`Device::for_host_data`], and if it names a
/// GPU, those of [`Device::upload`], [`Device::top_k`] and [`Buffer::to_vec`].
///
/// # Panics
///
/// On the CPU if a function of the source does.
pub fn top_k<I: Candidate>(
    input: impl Source<Item = I>,
    k: usize,
    order: Order,
) -> Result<(Vec<I::Key>, Vec<u64>)> {
    best_of_host(input, None, k, order.turned(true))
}

/// The `k` least items of a source, the least first, and where each stands. Otherwise as [`top_k`]:
/// NaN is the greatest, so it comes last here. `min` and [`arg_min`](crate::arg_min) take a NaN if
/// there is one; this takes it only where numbers run out.
///
/// ```
/// use warpfold::{Order, bottom_k};
///
/// let (values, places) = bottom_k(&[0.5, f32::NAN, -2.0, 7.0], 2, Order::default())?;
/// assert_eq!((values, places), (vec![-2.0, 0.5], vec![2, 0]));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`top_k`].
pub fn bottom_k<I: Candidate>(
    input: impl Source<Item = I>,
    k: usize,
    order: Order,
) -> Result<(Vec<I::Key>, Vec<u64>)> {
    best_of_host(input, None, k, order.turned(false))
}

/// The `k` greatest items of each row of a matrix, one row after the other, and where each stands
/// in its row. Each row as by [`top_k`]. Rows shorter than `k` give all their items.
///
/// ```
/// use warpfold::{Order, Rows, top_k_rows};
///
/// let matrix = [3, 9, 4, 5, 5, 8];
/// let (values, places) = top_k_rows(&matrix, Rows::new(2, 3), 2, Order::default())?;
/// assert_eq!(values, [9, 4, 8, 5]);
/// assert_eq!(places, [1, 2, 2, 0]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`top_k`], and [`Error::Segments`] if the rows do not have as many items as the source.
pub fn top_k_rows<K: Sortable + Candidate<Key = K>>(
    input: impl Source<Item = K>,
    rows: Rows,
    k: usize,
    order: Order,
) -> Result<(Vec<K>, Vec<u64>)> {
    best_of_host(input, Some(rows), k, order.turned(true))
}

/// The `k` least items of each row of a matrix, and where each stands in its row. Otherwise as
/// [`top_k_rows`].
///
/// # Errors
///
/// As [`top_k_rows`].
pub fn bottom_k_rows<K: Sortable + Candidate<Key = K>>(
    input: impl Source<Item = K>,
    rows: Rows,
    k: usize,
    order: Order,
) -> Result<(Vec<K>, Vec<u64>)> {
    best_of_host(input, Some(rows), k, order.turned(false))
}

/// What is chosen: the first `k` of each row, by an order with its direction.
#[derive(Debug, Clone, Copy)]
struct Choice {
    rows: usize,
    columns: usize,
    k: usize,
    order: Order,
}

impl Choice {
    fn new(items: usize, rows: Option<Rows>, k: usize, order: Order) -> Result<Choice> {
        let (rows, columns) = match rows {
            None => (1, items),
            Some(rows) => rows.check(items)?,
        };
        let k = k.min(columns);
        Ok(Choice {
            rows,
            columns,
            k,
            order,
        })
    }

    /// How many items the result has at most.
    fn most(&self) -> usize {
        self.rows * self.k
    }
}

fn best_of_host<I: Candidate, S: Source<Item = I>>(
    input: S,
    rows: Option<Rows>,
    k: usize,
    order: Order,
) -> Result<(Vec<I::Key>, Vec<u64>)> {
    let device = Device::for_host_data()?;
    let (values, places) = best_on::<Host, I, _>(&device, input, rows, k, order)?;
    Ok((values.into_vec()?, places.into_vec()?))
}

fn best_on<P: OnDevice, I: Candidate, S: Source<P, Item = I>>(
    device: &Device,
    input: S,
    rows: Option<Rows>,
    k: usize,
    order: Order,
) -> Result<(Buffer<I::Key>, Buffer<u64>)> {
    let choice = Choice::new(input.items()?, rows, k, order)?;
    let call = Call::<P>::on(device);
    best(call.bind(&input)?, choice)
}

/// On the CPU, whatever `WARPFOLD_DEVICE` says.
fn best_on_cpu<I: Candidate, S: Source<Item = I>>(
    input: S,
    k: usize,
    order: Order,
) -> Result<(Vec<I::Key>, Vec<u64>)> {
    let device = Device::cpu();
    let (values, places) = best_on::<Host, I, _>(&device, input, None, k, order)?;
    Ok((values.into_vec()?, places.into_vec()?))
}

fn best<I: Candidate, F: Form<Item = I>>(
    input: Bound<'_, F>,
    choice: Choice,
) -> Result<(Buffer<I::Key>, Buffer<u64>)> {
    let device = input.device();
    match &device.backend {
        Backend::Cpu => {
            // SAFETY: the source is in host memory.
            let (values, places) = unsafe { cpu::best::<I, F>(&input.arguments(), choice) }?;
            Ok((device.upload_vec(values)?, device.upload_vec(places)?))
        }
        #[cfg(feature = "cuda")]
        // SAFETY: the source is on this GPU.
        Backend::Cuda(gpu) => unsafe { cuda::best::<F>(device, gpu, input.arguments(), choice) },
    }
}

/// # Top-k
///
/// Every call gives the bits of the functions on host data.
///
/// # Errors
///
/// Of every method: [`Error::WrongDevice`] if a buffer lives elsewhere; [`Error::Zip`] if zipped
/// sources have different lengths; [`Error::Segments`] if rows do not have as many items as the
/// source; [`Error::Library`] without NVRTC; [`Error::Compile`] if a function's CUDA text is wrong;
/// [`Error::OutOfMemory`] or [`Error::OutOfHostMemory`]; [`Error::Driver`].
impl Device {
    /// The `k` greatest items of a source, and where they stand; see [`top_k`](crate::top_k).
    ///
    /// ```
    /// use warpfold::{Device, Order};
    ///
    /// let device = Device::cpu();
    /// let scores = device.upload(&[0.5_f32, 3.0, -1.0, 3.0])?;
    /// let (values, places) = device.top_k(&scores, 2, Order::default())?;
    /// assert_eq!(values.to_vec()?, [3.0, 3.0]);
    /// assert_eq!(places.to_vec()?, [1, 3]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn top_k<I: Candidate>(
        &self,
        input: impl Source<Device, Item = I>,
        k: usize,
        order: Order,
    ) -> Result<(Buffer<I::Key>, Buffer<u64>)> {
        best_on::<Device, I, _>(self, input, None, k, order.turned(true))
    }

    /// The `k` least items of a source, and where they stand; see [`bottom_k`](crate::bottom_k).
    pub fn bottom_k<I: Candidate>(
        &self,
        input: impl Source<Device, Item = I>,
        k: usize,
        order: Order,
    ) -> Result<(Buffer<I::Key>, Buffer<u64>)> {
        best_on::<Device, I, _>(self, input, None, k, order.turned(false))
    }

    /// The `k` greatest items of each row of a matrix; see [`top_k_rows`](crate::top_k_rows).
    pub fn top_k_rows<K: Sortable + Candidate<Key = K>>(
        &self,
        input: impl Source<Device, Item = K>,
        rows: Rows,
        k: usize,
        order: Order,
    ) -> Result<(Buffer<K>, Buffer<u64>)> {
        best_on::<Device, K, _>(self, input, Some(rows), k, order.turned(true))
    }

    /// The `k` least items of each row of a matrix; see [`bottom_k_rows`](crate::bottom_k_rows).
    pub fn bottom_k_rows<K: Sortable + Candidate<Key = K>>(
        &self,
        input: impl Source<Device, Item = K>,
        rows: Rows,
        k: usize,
        order: Order,
    ) -> Result<(Buffer<K>, Buffer<u64>)> {
        best_on::<Device, K, _>(self, input, Some(rows), k, order.turned(false))
    }
}
