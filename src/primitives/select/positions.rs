//! Positions: where flags are set.

use super::kernel::Kept;
#[cfg(feature = "cuda")]
use super::kernel::Places;
use super::{Target, Targets, check_room};
use crate::device::Backend;
use crate::device::DeviceBinder;
use crate::source::{Form, HostBinder, Index, IndexArguments, Source, Zip, ZipArguments};
use crate::{Buffer, Device, Result};

/// The positions of what is true, in their order: NumPy's `flatnonzero`.
///
/// ```
/// use warpfold::{bools, function, map, positions};
///
/// assert_eq!(positions(bools(&[false, true, true, false, true]))?, [1, 2, 4]);
///
/// #[function]
/// fn is_nan(x: f64) -> bool {
///     x.is_nan()
/// }
///
/// assert_eq!(positions(map::<is_nan, _>(&[3.0, f64::NAN, 4.0]))?, [1]);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// The algorithm is that of [`select`](crate::select()). Complexity: O(n) work; every flag is
/// evaluated once. Memory: as for [`select`](crate::select()), whose items are positions.
///
/// # Errors
///
/// As [`select`](crate::select()).
pub fn positions(flags: impl Source<Item = bool>) -> Result<Vec<u64>> {
    positions_host(flags)
}

fn positions_host<S: Source<Item = bool>>(flags: S) -> Result<Vec<u64>> {
    let device = Device::for_host_data()?;
    let mut binder = HostBinder::new(&device);
    let (len, arguments) = (flags.items()?, flags.bind(&mut binder)?);
    // SAFETY: the binder gave addresses on the device, and it and the source outlive the call.
    unsafe { device.positions_bound::<S::Form>(arguments, len) }?.into_vec()
}

/// # Positions
///
/// Costs and errors are those of a select of as many `u64`.
impl Device {
    /// The positions of what is true, in a new buffer; see [`positions`](crate::positions()).
    ///
    /// ```
    /// use warpfold::{Device, flags};
    ///
    /// let device = Device::cpu();
    /// let mask = device.upload(&[0_u8, 1, 1, 0, 1])?;
    /// assert_eq!(device.positions(flags(&mask))?.to_vec()?, [1, 2, 4]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn positions(&self, flags: impl Source<Device, Item = bool>) -> Result<Buffer<u64>> {
        self.positions_source(flags)
    }

    /// Writes the positions of what is true to the front of `output`, and returns their number.
    /// What comes after them stays as it is.
    ///
    /// # Errors
    ///
    /// As [`select_into`](Device::select_into).
    pub fn positions_into(
        &self,
        flags: impl Source<Device, Item = bool>,
        output: &mut Buffer<u64>,
    ) -> Result<usize> {
        self.positions_source_into(flags, output)
    }

    fn positions_source<S: Source<Device, Item = bool>>(&self, flags: S) -> Result<Buffer<u64>> {
        let mut binder = DeviceBinder::new(self);
        let (len, arguments) = (flags.items()?, flags.bind(&mut binder)?);
        // SAFETY: the binder saw to it that all buffers are on this device; they are borrowed.
        unsafe { self.positions_bound::<S::Form>(arguments, len) }
    }

    /// # Safety
    ///
    /// The arguments are those of a source in this device's memory, with `len` items, which stays
    /// borrowed.
    pub(super) unsafe fn positions_bound<B: Form<Item = bool>>(
        &self,
        flags: B::Arguments,
        len: usize,
    ) -> Result<Buffer<u64>> {
        let source = indexed::<B>(flags);
        // SAFETY: the caller's.
        unsafe {
            match &self.backend {
                // There an item is its own position.
                Backend::Cpu => Ok(self.store_new::<u64, Indexed<B>, Kept>(source, len)?.kept),
                #[cfg(feature = "cuda")]
                Backend::Cuda(_) => Ok(self
                    .store_new::<u64, Indexed<B>, Places>(source, len)?
                    .places),
            }
        }
    }

    fn positions_source_into<S: Source<Device, Item = bool>>(
        &self,
        flags: S,
        output: &mut Buffer<u64>,
    ) -> Result<usize> {
        let mut binder = DeviceBinder::new(self);
        let (len, arguments) = (flags.items()?, flags.bind(&mut binder)?);
        self.check_owns(output)?;
        let target = Target::of(output);
        // SAFETY: the binder saw to it that all buffers are on this device; they are borrowed, and
        // the output for writing.
        let count = unsafe { self.store_positions::<S::Form>(arguments, len, target) }?;
        check_room(count, output.len())?;
        Ok(count)
    }

    /// # Safety
    ///
    /// As for [`store`](Device::store).
    pub(super) unsafe fn store_positions<B: Form<Item = bool>>(
        &self,
        flags: B::Arguments,
        len: usize,
        target: Target,
    ) -> Result<usize> {
        let source = indexed::<B>(flags);
        let mut targets = Targets::default();
        // SAFETY: the caller's.
        unsafe {
            match &self.backend {
                // There an item is its own position.
                Backend::Cpu => {
                    targets.kept = target;
                    self.store::<u64, Indexed<B>, Kept>(source, len, targets, false)
                }
                #[cfg(feature = "cuda")]
                Backend::Cuda(_) => {
                    targets.places = target;
                    self.store::<u64, Indexed<B>, Places>(source, len, targets, false)
                }
            }
        }
    }
}

/// Flags with their positions.
type Indexed<B> = Zip<(Index, B)>;

fn indexed<B: Form<Item = bool>>(flags: B::Arguments) -> <Indexed<B> as Form>::Arguments {
    ZipArguments(IndexArguments { first: 0 }, flags)
}
