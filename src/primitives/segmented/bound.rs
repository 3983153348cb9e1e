//! Segments as a device reads them.

use super::cpu::Bounds;
use super::segments::{Cut, Segments};
use crate::device::{Call, OnDevice};
use crate::{Device, Result};

/// Segments that a device reads: their addresses are in the device's memory, and hold for `'c`.
pub(crate) struct BoundSegments<'c, C: Cut> {
    arguments: C::Arguments,
    count: usize,
    device: &'c Device,
}

impl<C: Cut> Clone for BoundSegments<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Cut> Copy for BoundSegments<'_, C> {}

impl<'c, C: Cut> BoundSegments<'c, C> {
    /// Segments of so many items, for a call.
    pub(crate) fn of<'a, P: OnDevice, G: Segments<P, Cut = C>>(
        call: &'c Call<'a, P>,
        segments: &'a G,
        items: usize,
    ) -> Result<BoundSegments<'c, C>> {
        Ok(BoundSegments {
            arguments: call.give(|binder| segments.bind(binder, items))?,
            count: segments.count(),
            device: call.device(),
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// For kernels.
    #[cfg(feature = "cuda")]
    pub(crate) fn arguments(&self) -> C::Arguments {
        self.arguments
    }

    /// Where they lie, on the CPU.
    pub(crate) fn bounds(&self) -> Bounds<'_, C> {
        assert!(self.device.is_cpu(), "the segments are in host memory");
        // SAFETY: their addresses are in host memory, and hold.
        unsafe { Bounds::new(&self.arguments, self.count) }
    }
}
