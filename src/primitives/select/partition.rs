//! Partition: the items that a predicate keeps, and the others.

use super::kernel::Sides;
use super::{Target, Targets, check_room, cpu, store, store_new};
#[cfg(doc)]
use crate::Error;
use crate::device::{Backend, Bound, Call, OnDevice};
use crate::element::assert_element_size;
use crate::source::{Feeds, Form, Host, Source, flagged};
use crate::{Buffer, Device, Element, Function, Result};

/// The items that the predicate `P` keeps, and the others, both in their order.
///
/// A stable partition in one pass, by the algorithm of [`select`](crate::select()). The place of an
/// item that is not kept is its position, less the number of items kept before it.
///
/// Complexity: O(n) work; every item is evaluated once. Memory: as for [`select`](crate::select()),
/// on either side, and up to 544 KiB for each thread of the CPU.
///
/// ```
/// use warpfold::{function, partition};
///
/// #[function]
/// fn even(x: u32) -> bool {
///     x % 2 == 0
/// }
///
/// let (even, odd) = partition::<u32, even>(&[3, 1, 4, 1, 5, 9, 2, 6])?;
/// assert_eq!((even, odd), (vec![4, 2, 6], vec![3, 1, 1, 5, 9]));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`select`](crate::select()).
pub fn partition<T, P>(input: impl Source<Item = T>) -> Result<(Vec<T>, Vec<T>)>
where
    T: Element + Feeds<P::Input>,
    P: Function<Output = bool>,
{
    partition_host(flagged::<P, _>(input))
}

/// The first parts of the pairs whose second part is true, and those of the other pairs.
///
/// ```
/// use warpfold::{bools, partition_flagged, zip};
///
/// let (x, mask) = ([10, 20, 30, 40], [false, true, true, false]);
/// let (masked, rest) = partition_flagged::<i32>(zip(&x, bools(&mask)))?;
/// assert_eq!((masked, rest), (vec![20, 30], vec![10, 40]));
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// # Errors
///
/// As [`select`](crate::select()).
pub fn partition_flagged<T: Element>(
    input: impl Source<Item = (T, bool)>,
) -> Result<(Vec<T>, Vec<T>)> {
    partition_host(input)
}

fn partition_host<T: Element, S: Source<Item = (T, bool)>>(input: S) -> Result<(Vec<T>, Vec<T>)> {
    let (kept, others) = partition_on::<Host, T, _>(&Device::for_host_data()?, input)?;
    Ok((kept.into_vec()?, others.into_vec()?))
}

fn partition_on<P: OnDevice, T: Element, S: Source<P, Item = (T, bool)>>(
    device: &Device,
    input: S,
) -> Result<(Buffer<T>, Buffer<T>)> {
    let call = Call::<P>::on(device);
    let new = store_new::<T, _, Sides>(call.bind(&input)?)?;
    Ok((new.kept, new.others))
}

/// Stores the items that have a flag from an address on, and the others behind them. Returns how
/// many flags are set.
///
/// # Safety
///
/// There is room for all items at the address in the device's memory, borrowed for writing.
unsafe fn store_joined<T: Element, F: Form<Item = (T, bool)>>(
    input: Bound<'_, F>,
    address: u64,
) -> Result<usize> {
    const { assert_element_size::<T>() };
    match &input.device().backend {
        Backend::Cpu => Ok(input.with_flagged_items(|items| {
            // SAFETY: the caller's.
            unsafe { cpu::partition_joined(items, address as *mut T) }
        })),
        #[cfg(feature = "cuda")]
        // SAFETY: the source is on this GPU; the rest is the caller's.
        Backend::Cuda(gpu) => unsafe {
            gpu.partition_joined::<T, F>(input.arguments(), input.len(), address)
        },
    }
}

/// # Partition
///
/// Costs and errors are those of a select. Every item is written once, to one of the two outputs.
///
/// The *joined* forms leave both sides in one buffer, the items that are kept first. Nothing but
/// their number goes by way of the host. The others are read and written once more: on the CPU in
/// the buffer itself, by all threads; on a GPU by a copy within its memory, of which the call takes
/// as much as all items need while it runs. A loop of passes, such as a radix sort, takes turns
/// between two buffers, and needs no third one on the CPU.
impl Device {
    /// The items that `P` keeps, and the others, in two new buffers; see
    /// [`partition`](crate::partition()).
    ///
    /// ```
    /// use warpfold::{Device, function};
    ///
    /// #[function]
    /// fn positive(x: f32) -> bool {
    ///     x > 0.0
    /// }
    ///
    /// let device = Device::cpu();
    /// let samples = device.upload(&[0.5_f32, -1.0, 2.0, -0.0])?;
    /// let (positive, others) = device.partition::<f32, positive>(&samples)?;
    /// assert_eq!(positive.to_vec()?, [0.5, 2.0]);
    /// assert_eq!(others.to_vec()?, [-1.0, -0.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn partition<T, P>(
        &self,
        input: impl Source<Device, Item = T>,
    ) -> Result<(Buffer<T>, Buffer<T>)>
    where
        T: Element + Feeds<P::Input>,
        P: Function<Output = bool>,
    {
        self.partition_flagged(flagged::<P, _>(input))
    }

    /// The first parts of the pairs whose second part is true, and those of the others, in two new
    /// buffers; see [`partition_flagged`](crate::partition_flagged()).
    pub fn partition_flagged<T: Element>(
        &self,
        input: impl Source<Device, Item = (T, bool)>,
    ) -> Result<(Buffer<T>, Buffer<T>)> {
        partition_on::<Device, T, _>(self, input)
    }

    /// Writes the items that `P` keeps to the front of `kept`, the others to the front of `others`,
    /// and returns the number of the first. What comes after them stays as it is.
    ///
    /// # Errors
    ///
    /// As [`select_into`](Device::select_into), for either output.
    pub fn partition_into<T, P>(
        &self,
        input: impl Source<Device, Item = T>,
        kept: &mut Buffer<T>,
        others: &mut Buffer<T>,
    ) -> Result<usize>
    where
        T: Element + Feeds<P::Input>,
        P: Function<Output = bool>,
    {
        self.partition_source_into(flagged::<P, _>(input), kept, others)
    }

    /// Writes the first parts of the pairs whose second part is true to the front of `kept`, those
    /// of the others to the front of `others`, and returns the number of the first. What comes
    /// after them stays as it is.
    ///
    /// # Errors
    ///
    /// As [`select_into`](Device::select_into), for either output.
    pub fn partition_flagged_into<T: Element>(
        &self,
        input: impl Source<Device, Item = (T, bool)>,
        kept: &mut Buffer<T>,
        others: &mut Buffer<T>,
    ) -> Result<usize> {
        self.partition_source_into(input, kept, others)
    }

    /// The items that `P` keeps, and behind them the others, both in their order, in one new
    /// buffer, with the number of the first.
    ///
    /// ```
    /// use warpfold::{Device, function};
    ///
    /// #[function]
    /// fn positive(x: f32) -> bool {
    ///     x > 0.0
    /// }
    ///
    /// let device = Device::cpu();
    /// let samples = device.upload(&[0.5_f32, -1.0, 2.0, -0.0])?;
    /// let (samples, count) = device.partition_joined::<f32, positive>(&samples)?;
    /// assert_eq!(samples.slice(..count).to_vec()?, [0.5, 2.0]);
    /// assert_eq!(samples.slice(count..).to_vec()?, [-1.0, -0.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn partition_joined<T, P>(
        &self,
        input: impl Source<Device, Item = T>,
    ) -> Result<(Buffer<T>, usize)>
    where
        T: Element + Feeds<P::Input>,
        P: Function<Output = bool>,
    {
        self.partition_joined_source(flagged::<P, _>(input))
    }

    /// The first parts of the pairs whose second part is true, and behind them those of the others,
    /// in one new buffer, with the number of the first; see
    /// [`partition_joined`](Device::partition_joined).
    pub fn partition_flagged_joined<T: Element>(
        &self,
        input: impl Source<Device, Item = (T, bool)>,
    ) -> Result<(Buffer<T>, usize)> {
        self.partition_joined_source(input)
    }

    /// Writes the items that `P` keeps to the front of `output`, the others behind them, and
    /// returns the number of the first. What comes after all items stays as it is.
    ///
    /// Two buffers are enough for any number of passes. Here a pass for each bit sorts:
    ///
    /// ```
    /// use warpfold::{Device, constant, function, map, zip};
    ///
    /// #[function]
    /// fn has_zero(x: u32, bit: u32) -> bool {
    ///     x >> bit & 1 == 0
    /// }
    ///
    /// let device = Device::cpu();
    /// let mut x = device.upload(&[3_u32, 7, 0, 5, 6, 1])?;
    /// let mut parted = device.allocate(x.len())?;
    /// for bit in 0..3 {
    ///     let zeros = map::<has_zero, _>(zip(&x, constant(bit, x.len())));
    ///     device.partition_flagged_joined_into(zip(&x, zeros), &mut parted)?;
    ///     std::mem::swap(&mut x, &mut parted);
    /// }
    /// assert_eq!(x.to_vec()?, [0, 1, 3, 5, 6, 7]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`], with the size needed, if `output` is shorter than the input. Then it is
    /// as it was, as after every other error.
    pub fn partition_joined_into<T, P>(
        &self,
        input: impl Source<Device, Item = T>,
        output: &mut Buffer<T>,
    ) -> Result<usize>
    where
        T: Element + Feeds<P::Input>,
        P: Function<Output = bool>,
    {
        self.partition_joined_source_into(flagged::<P, _>(input), output)
    }

    /// Writes the first parts of the pairs whose second part is true to the front of `output`,
    /// those of the others behind them, and returns the number of the first. What comes after all
    /// of them stays as it is.
    ///
    /// # Errors
    ///
    /// As [`partition_joined_into`](Device::partition_joined_into).
    pub fn partition_flagged_joined_into<T: Element>(
        &self,
        input: impl Source<Device, Item = (T, bool)>,
        output: &mut Buffer<T>,
    ) -> Result<usize> {
        self.partition_joined_source_into(input, output)
    }

    fn partition_joined_source<T: Element, S: Source<Device, Item = (T, bool)>>(
        &self,
        input: S,
    ) -> Result<(Buffer<T>, usize)> {
        let call = Call::<Device>::on(self);
        let input = call.bind(&input)?;
        let mut output = Buffer::reserve(self, input.len())?;
        // SAFETY: the output has room for all items, and all of them are written.
        unsafe {
            let count = store_joined(input, output.address_mut())?;
            output.set_len(input.len());
            Ok((output, count))
        }
    }

    fn partition_joined_source_into<T: Element, S: Source<Device, Item = (T, bool)>>(
        &self,
        input: S,
        output: &mut Buffer<T>,
    ) -> Result<usize> {
        let call = Call::<Device>::on(self);
        let input = call.bind(&input)?;
        self.check_owns(output)?;
        check_room(input.len(), output.len())?;
        // SAFETY: the output has room for all items, and is borrowed for writing.
        unsafe { store_joined(input, output.address_mut()) }
    }

    fn partition_source_into<T: Element, S: Source<Device, Item = (T, bool)>>(
        &self,
        input: S,
        kept: &mut Buffer<T>,
        others: &mut Buffer<T>,
    ) -> Result<usize> {
        let call = Call::<Device>::on(self);
        let input = call.bind(&input)?;
        self.check_owns(kept)?;
        self.check_owns(others)?;
        let targets = Targets {
            kept: Target::of(kept),
            others: Target::of(others),
            ..Targets::default()
        };
        // SAFETY: the outputs are on this device, and borrowed for writing.
        let count = unsafe { store::<T, _, Sides>(input, targets, false) }?;
        check_room(count, kept.len())?;
        check_room(input.len() - count, others.len())?;
        Ok(count)
    }
}
