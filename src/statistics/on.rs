//! Where a statistic's reduction runs.

use crate::device::DeviceBinder;
use crate::source::{Form, Host, HostBinder, Items, Place, Source};
use crate::{Cut, Device, Element, Monoid, Result, Segments};
use std::ops::ControlFlow;

/// What reduces sources at a place. So each statistic is written once, for both levels.
pub(crate) trait On<P: Place> {
    /// How many items are reduced, where a source has so many of them.
    fn whole(&self, items: usize) -> usize {
        items
    }

    fn reduce<T: Element, Op: Monoid<T>>(&self, input: impl Source<P, Item = T>) -> Result<T>;

    /// Calls `work` with the items if they are evaluated on the CPU. Otherwise the input comes
    /// back.
    fn on_cpu<T: Element, S: Source<P, Item = T>, R>(
        &self,
        input: S,
        work: impl FnOnce(&Items<'_, T>) -> R,
    ) -> Result<ControlFlow<R, S>>;
}

/// Where the functions on host data run.
pub(super) struct HostData;

impl On<Host> for HostData {
    fn reduce<T: Element, Op: Monoid<T>>(&self, input: impl Source<Item = T>) -> Result<T> {
        crate::reduce::<T, Op>(input)
    }

    fn on_cpu<T: Element, S: Source<Item = T>, R>(
        &self,
        input: S,
        work: impl FnOnce(&Items<'_, T>) -> R,
    ) -> Result<ControlFlow<R, S>> {
        let device = Device::for_host_data()?;
        if !device.is_cpu() {
            return Ok(ControlFlow::Continue(input));
        }
        let mut binder = HostBinder::new(&device);
        let (len, arguments) = (input.items()?, input.bind(&mut binder)?);
        // SAFETY: the binder gave addresses in host memory, and the source outlives the call.
        let result = unsafe { Items::with::<S::Form, R>(&arguments, len, work) };
        Ok(ControlFlow::Break(result))
    }
}

impl On<Device> for Device {
    fn reduce<T: Element, Op: Monoid<T>>(&self, input: impl Source<Device, Item = T>) -> Result<T> {
        Device::reduce::<T, Op>(self, input)
    }

    fn on_cpu<T: Element, S: Source<Device, Item = T>, R>(
        &self,
        input: S,
        work: impl FnOnce(&Items<'_, T>) -> R,
    ) -> Result<ControlFlow<R, S>> {
        if !self.is_cpu() {
            return Ok(ControlFlow::Continue(input));
        }
        let mut binder = DeviceBinder::new(self);
        let (len, arguments) = (input.items()?, input.bind(&mut binder)?);
        // SAFETY: the binder saw to it that all buffers are in host memory; they are borrowed.
        let result = unsafe { Items::with::<S::Form, R>(&arguments, len, work) };
        Ok(ControlFlow::Break(result))
    }
}

/// A source that is read more than once.
#[derive(Debug)]
pub(crate) struct ByReference<'s, S>(pub(crate) &'s S);

impl<S> Clone for ByReference<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for ByReference<'_, S> {}

impl<P: Place, G: Segments<P>> Segments<P> for ByReference<'_, G> {
    type Cut = G::Cut;

    fn count(&self) -> usize {
        self.0.count()
    }

    fn bind<'a>(
        &'a self,
        binder: &mut P::Binder<'a>,
        items: usize,
    ) -> Result<<G::Cut as Cut>::Arguments> {
        self.0.bind(binder, items)
    }
}

impl<P: Place, S: Source<P>> Source<P> for ByReference<'_, S> {
    type Item = S::Item;
    type Form = S::Form;

    fn items(&self) -> Result<usize> {
        self.0.items()
    }

    fn bind<'a>(&'a self, binder: &mut P::Binder<'a>) -> Result<<S::Form as Form>::Arguments> {
        self.0.bind(binder)
    }
}
