//! Buffers as sources, and where a device finds what a call on host data reads.

use super::buffer::BufferView;
use crate::source::{HostBinder, Place, Slice, SliceArguments, Source, Upload, sealed};
use crate::{Buffer, Device, Element, Result};
use std::any::Any;

impl sealed::Sealed for Device {}

impl Place for Device {
    type Binder<'a> = DeviceBinder<'a>;
}

impl HostBinder {
    /// For work on `device`. The binder must live until the work is done.
    pub(crate) fn new(device: &Device) -> HostBinder {
        let elsewhere = (!device.is_cpu()).then(|| Box::new(device.clone()) as Box<dyn Upload>);
        HostBinder::with(elsewhere)
    }
}

impl Upload for Device {
    fn upload(&self, bytes: &[u8]) -> Result<(u64, Box<dyn Any>)> {
        let copy = Device::upload(self, bytes)?;
        Ok((copy.address(), Box::new(copy)))
    }
}

/// Gives the addresses of buffers that live on a device.
#[doc(hidden)]
#[derive(Debug)]
pub struct DeviceBinder<'a> {
    device: &'a Device,
}

impl<'a> DeviceBinder<'a> {
    pub(crate) fn new(device: &'a Device) -> DeviceBinder<'a> {
        DeviceBinder { device }
    }
}

impl<T: Element> Source<Device> for &Buffer<T> {
    type Item = T;
    type Form = Slice<T>;

    fn items(&self) -> Result<usize> {
        Ok(self.len())
    }

    fn bind<'a>(&'a self, binder: &mut DeviceBinder<'a>) -> Result<SliceArguments> {
        binder.device.check_owns(self)?;
        Ok(SliceArguments {
            address: self.address(),
        })
    }
}

impl<T: Element> Source<Device> for BufferView<'_, T> {
    type Item = T;
    type Form = Slice<T>;

    fn items(&self) -> Result<usize> {
        Ok(self.len())
    }

    fn bind<'a>(&'a self, binder: &mut DeviceBinder<'a>) -> Result<SliceArguments> {
        let start = self.range.start * size_of::<T>();
        binder.device.check_owns(self.buffer)?;
        Ok(SliceArguments {
            address: self.buffer.address() + start as u64,
        })
    }
}

impl<T: Element> Source<Device> for &BufferView<'_, T> {
    type Item = T;
    type Form = Slice<T>;

    fn items(&self) -> Result<usize> {
        (**self).items()
    }

    fn bind<'a>(&'a self, binder: &mut DeviceBinder<'a>) -> Result<SliceArguments> {
        (**self).bind(binder)
    }
}
