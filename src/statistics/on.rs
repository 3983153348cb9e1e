//! Where a statistic's reduction runs.

use crate::source::{Host, Place, Source};
use crate::{Device, Element, Monoid, Result};

/// What reduces sources at a place. So each statistic is written once, for both levels.
pub(super) trait On<P: Place> {
    fn reduce<T: Element, Op: Monoid<T>>(&self, input: impl Source<P, Item = T>) -> Result<T>;
}

/// Where the functions on host data run.
pub(super) struct HostData;

impl On<Host> for HostData {
    fn reduce<T: Element, Op: Monoid<T>>(&self, input: impl Source<Item = T>) -> Result<T> {
        crate::reduce::<T, Op>(input)
    }
}

impl On<Device> for Device {
    fn reduce<T: Element, Op: Monoid<T>>(&self, input: impl Source<Device, Item = T>) -> Result<T> {
        Device::reduce::<T, Op>(self, input)
    }
}
