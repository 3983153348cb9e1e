//! What one call reads, bound to the device that it runs on.
//!
//! So a primitive is written once for host data and for buffers: [`Call::on`] makes the call,
//! [`Call::bind`] its sources, and what follows sees a [`Bound`] source alone.

use super::{Device, DeviceBinder};
use crate::source::{FlaggedItems, Form, Host, HostBinder, Items, Place, Source, SumBlock};
use crate::{Element, Monoid, Result};
use std::cell::RefCell;

/// A place whose sources a [`Device`] reads: host memory, or the device's own.
pub(crate) trait OnDevice: Place {
    /// What gives addresses on the device.
    fn binder(device: &Device) -> Self::Binder<'_>;
}

impl OnDevice for Host {
    fn binder(device: &Device) -> HostBinder {
        HostBinder::new(device)
    }
}

impl OnDevice for Device {
    fn binder(device: &Device) -> DeviceBinder<'_> {
        DeviceBinder::new(device)
    }
}

/// A call that runs on a device. It keeps the copies of host data that a GPU reads.
pub(crate) struct Call<'a, P: OnDevice> {
    device: &'a Device,
    binder: RefCell<P::Binder<'a>>,
}

impl<'a, P: OnDevice> Call<'a, P> {
    pub(crate) fn on(device: &'a Device) -> Call<'a, P> {
        Call {
            device,
            binder: RefCell::new(P::binder(device)),
        }
    }

    pub(crate) fn device(&self) -> &'a Device {
        self.device
    }

    /// The source as the device reads it.
    pub(crate) fn bind<'c, S: Source<P>>(&'c self, source: &'a S) -> Result<Bound<'c, S::Form>> {
        let len = source.items()?;
        Ok(Bound {
            arguments: self.give(|binder| source.bind(binder))?,
            len,
            device: self.device,
        })
    }

    /// What `bind` makes of the binder, for what is no source.
    pub(crate) fn give<R>(&self, bind: impl FnOnce(&mut P::Binder<'a>) -> R) -> R {
        bind(&mut self.binder.borrow_mut())
    }
}

/// A source that a device reads: its addresses are in the device's memory, and hold for `'c`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Bound<'c, F: Form> {
    arguments: F::Arguments,
    len: usize,
    device: &'c Device,
}

impl<F: Form> Clone for Bound<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Form> Copy for Bound<'_, F> {}

impl<'c, F: Form> Bound<'c, F> {
    /// Arguments of a source with `len` items.
    ///
    /// # Safety
    ///
    /// Their addresses are in the device's memory, and hold for `'c`. Who writes there meanwhile
    /// overwrites no item that is evaluated later.
    pub(crate) unsafe fn new(device: &'c Device, arguments: F::Arguments, len: usize) -> Self {
        Bound {
            arguments,
            len,
            device,
        }
    }

    /// Another source with as many items, made of this one.
    ///
    /// # Safety
    ///
    /// `of` makes its arguments, and adds no addresses but such as hold for `'c`, too.
    pub(crate) unsafe fn into<G: Form>(
        self,
        of: impl FnOnce(F::Arguments) -> G::Arguments,
    ) -> Bound<'c, G> {
        Bound {
            arguments: of(self.arguments),
            len: self.len,
            device: self.device,
        }
    }

    pub(crate) fn device(&self) -> &'c Device {
        self.device
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// For kernels.
    pub(crate) fn arguments(&self) -> F::Arguments {
        self.arguments
    }

    /// Calls `work` with the items, on the CPU.
    pub(crate) fn with_items<R>(&self, work: impl FnOnce(&Items<'_, F::Item>) -> R) -> R
    where
        F::Item: Element,
    {
        self.assert_on_cpu();
        // SAFETY: the addresses are in host memory, and hold.
        unsafe { Items::with::<F, R>(&self.arguments, self.len, work) }
    }

    /// Calls `work` with the items, and with what adds up a block of them where that is faster, on
    /// the CPU.
    pub(crate) fn with_sums<Op: Monoid<F::Item>, R>(
        &self,
        work: impl FnOnce(
            &Items<'_, F::Item>,
            Option<SumBlock<'_, <F::Item as Element>::Accumulator>>,
        ) -> R,
    ) -> R
    where
        F::Item: Element,
    {
        self.assert_on_cpu();
        // SAFETY: the addresses are in host memory, and hold.
        unsafe { Items::with_sums::<F, Op, R>(&self.arguments, self.len, work) }
    }

    /// Calls `work` with the items and their flags, on the CPU.
    pub(crate) fn with_flagged_items<T: Element, R>(
        &self,
        work: impl FnOnce(&FlaggedItems<'_, T>) -> R,
    ) -> R
    where
        F: Form<Item = (T, bool)>,
    {
        self.assert_on_cpu();
        // SAFETY: the addresses are in host memory, and hold. Whoever writes there says so to
        // `Bound::new`.
        unsafe { FlaggedItems::with::<F, R>(&self.arguments, self.len, work) }
    }

    fn assert_on_cpu(&self) {
        assert!(self.device.is_cpu(), "the items are in host memory");
    }
}
