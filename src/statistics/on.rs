//! Where a statistic's reduction runs.

use crate::device::{Call, OnDevice};
use crate::primitives::reduce::reduce_on;
use crate::source::{Host, Items, Place, Source};
use crate::{Device, Element, Monoid, Result};
use std::marker::PhantomData;
use std::ops::ControlFlow;

/// What reduces sources at a place. So each statistic is written once.
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

/// One device, which reads sources of a place.
pub(super) struct Alone<P> {
    device: Device,
    place: PhantomData<P>,
}

impl Alone<Host> {
    /// The device that works on host data.
    pub(super) fn host() -> Result<Alone<Host>> {
        Ok(Alone {
            device: Device::for_host_data()?,
            place: PhantomData,
        })
    }
}

impl Alone<Device> {
    pub(super) fn on(device: &Device) -> Alone<Device> {
        Alone {
            device: device.clone(),
            place: PhantomData,
        }
    }
}

impl<P: OnDevice> On<P> for Alone<P> {
    fn reduce<T: Element, Op: Monoid<T>>(&self, input: impl Source<P, Item = T>) -> Result<T> {
        reduce_on::<P, T, Op, _>(&self.device, input, None)
    }

    fn on_cpu<T: Element, S: Source<P, Item = T>, R>(
        &self,
        input: S,
        work: impl FnOnce(&Items<'_, T>) -> R,
    ) -> Result<ControlFlow<R, S>> {
        if !self.device.is_cpu() {
            return Ok(ControlFlow::Continue(input));
        }
        let call = Call::<P>::on(&self.device);
        Ok(ControlFlow::Break(call.bind(&input)?.with_items(work)))
    }
}
