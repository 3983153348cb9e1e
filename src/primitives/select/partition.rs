//! Partition: the items that a predicate keeps, and the others.

use super::kernel::Sides;
use super::{Target, Targets, check_room};
use crate::source::{DeviceBinder, Feeds, Form, HostBinder, Source, flagged};
use crate::{Buffer, Device, Element, Function, Result};

/// The items that the predicate `P` keeps, and the others, both in their order.
///
/// A stable partition in one pass, by the algorithm of [`select`](crate::select()). The place of an
/// item that is not kept is its position, less the number of items kept before it.
///
/// Complexity: O(n) work; every item is evaluated once. Memory: room for twice all items while it
/// runs, and up to 544 KiB for each thread of the CPU.
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
    let device = Device::for_host_data()?;
    let mut binder = HostBinder::new(&device);
    let (len, arguments) = (input.items()?, input.bind(&mut binder)?);
    // SAFETY: the binder gave addresses on the device, and it and the source outlive the call.
    let (kept, others) = unsafe { device.partition_bound::<T, S::Form>(arguments, len) }?;
    Ok((kept.into_vec()?, others.into_vec()?))
}

/// # Partition
///
/// Costs and errors are those of a select. Every item is written once, to one of the two outputs.
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
        self.partition_source(input)
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

    fn partition_source<T: Element, S: Source<Device, Item = (T, bool)>>(
        &self,
        input: S,
    ) -> Result<(Buffer<T>, Buffer<T>)> {
        let mut binder = DeviceBinder::new(self);
        let (len, arguments) = (input.items()?, input.bind(&mut binder)?);
        // SAFETY: the binder saw to it that all buffers are on this device; they are borrowed.
        unsafe { self.partition_bound::<T, S::Form>(arguments, len) }
    }

    /// Partitions into new buffers.
    ///
    /// # Safety
    ///
    /// The arguments are those of a source in this device's memory, with `len` items, which stays
    /// borrowed.
    pub(super) unsafe fn partition_bound<T: Element, F: Form<Item = (T, bool)>>(
        &self,
        arguments: F::Arguments,
        len: usize,
    ) -> Result<(Buffer<T>, Buffer<T>)> {
        let mut kept = Buffer::reserve(self, len)?;
        let mut others = Buffer::reserve(self, len)?;
        let targets = Targets {
            kept: Target::reserved(&mut kept, len),
            others: Target::reserved(&mut others, len),
            ..Targets::default()
        };
        // SAFETY: the caller's. There is room for all items on either side.
        unsafe {
            let count = self.store::<T, F, Sides>(arguments, len, targets, false)?;
            kept.set_len(count);
            others.set_len(len - count);
        }
        Ok((kept, others))
    }

    fn partition_source_into<T: Element, S: Source<Device, Item = (T, bool)>>(
        &self,
        input: S,
        kept: &mut Buffer<T>,
        others: &mut Buffer<T>,
    ) -> Result<usize> {
        let mut binder = DeviceBinder::new(self);
        let (len, arguments) = (input.items()?, input.bind(&mut binder)?);
        self.check_owns(kept)?;
        self.check_owns(others)?;
        let targets = Targets {
            kept: Target::of(kept),
            others: Target::of(others),
            ..Targets::default()
        };
        // SAFETY: the binder saw to it that all buffers are on this device; they are borrowed, and
        // the outputs for writing.
        let count = unsafe { self.store::<T, S::Form, Sides>(arguments, len, targets, false) }?;
        check_room(count, kept.len())?;
        check_room(len - count, others.len())?;
        Ok(count)
    }
}
