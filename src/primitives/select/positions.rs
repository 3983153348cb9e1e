//! Positions: where flags are set.

use super::kernel::Kept;
#[cfg(feature = "cuda")]
use super::kernel::Places;
use super::{Target, Targets, check_room, store, store_new};
use crate::device::{Backend, Bound, Call, OnDevice};
use crate::source::{Form, Host, Index, IndexArguments, Source, Zip, ZipArguments};
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
    positions_on::<Host, _>(&Device::for_host_data()?, flags)?.into_vec()
}

fn positions_on<P: OnDevice, S: Source<P, Item = bool>>(
    device: &Device,
    flags: S,
) -> Result<Buffer<u64>> {
    let call = Call::<P>::on(device);
    positions_of(call.bind(&flags)?)
}

pub(super) fn positions_of<B: Form<Item = bool>>(flags: Bound<'_, B>) -> Result<Buffer<u64>> {
    let source = indexed(flags);
    match &flags.device().backend {
        // There an item is its own position.
        Backend::Cpu => Ok(store_new::<u64, _, Kept>(source)?.kept),
        #[cfg(feature = "cuda")]
        Backend::Cuda(_) => Ok(store_new::<u64, _, Places>(source)?.places),
    }
}

/// Stores the positions, as far as there is room, and returns how many flags are set.
///
/// # Safety
///
/// The target is in the device's memory, and borrowed for writing.
pub(super) unsafe fn store_positions_of<B: Form<Item = bool>>(
    flags: Bound<'_, B>,
    target: Target,
) -> Result<usize> {
    let source = indexed(flags);
    let mut targets = Targets::default();
    match &flags.device().backend {
        // There an item is its own position.
        Backend::Cpu => {
            targets.kept = target;
            // SAFETY: the caller's.
            unsafe { store::<u64, _, Kept>(source, targets, false) }
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(_) => {
            targets.places = target;
            // SAFETY: the caller's.
            unsafe { store::<u64, _, Places>(source, targets, false) }
        }
    }
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
        positions_on::<Device, _>(self, flags)
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

    fn positions_source_into<S: Source<Device, Item = bool>>(
        &self,
        flags: S,
        output: &mut Buffer<u64>,
    ) -> Result<usize> {
        let call = Call::<Device>::on(self);
        let flags = call.bind(&flags)?;
        self.check_owns(output)?;
        // SAFETY: the output is on this device, and borrowed for writing.
        let count = unsafe { store_positions_of(flags, Target::of(output)) }?;
        check_room(count, output.len())?;
        Ok(count)
    }
}

/// Flags with their positions.
type Indexed<B> = Zip<(Index, B)>;

fn indexed<B: Form<Item = bool>>(flags: Bound<'_, B>) -> Bound<'_, Indexed<B>> {
    // SAFETY: no address is added.
    unsafe { flags.into(|flags| ZipArguments(IndexArguments { first: 0 }, flags)) }
}
