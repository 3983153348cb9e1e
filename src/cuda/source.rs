//! Device memory as sources.

use super::check_context;
use crate::source::{Place, Slice, SliceArguments, Source};
use crate::{Element, Result};
use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, SyncOnDrop, UnifiedSlice,
};

impl crate::source::sealed::Sealed for CudaStream {}

/// Device memory that calls on a stream read.
impl Place for CudaStream {
    type Binder<'a> = StreamBinder<'a>;
}

/// Gives the addresses of device memory, and keeps it borrowed for a stream.
#[doc(hidden)]
#[derive(Debug)]
pub struct StreamBinder<'a> {
    stream: &'a CudaStream,
    context: &'a CudaContext,
    guards: Vec<SyncOnDrop<'a>>,
}

impl<'a> StreamBinder<'a> {
    /// For calls on `stream`, whose kernels were loaded into `context`. The binder must live until
    /// the launches are enqueued.
    pub(crate) fn new(stream: &'a CudaStream, context: &'a CudaContext) -> StreamBinder<'a> {
        StreamBinder {
            stream,
            context,
            guards: Vec::new(),
        }
    }

    fn slice<T>(&mut self, data: &'a impl DevicePtr<T>) -> Result<SliceArguments> {
        check_context(self.context, "input", data.stream().context())?;
        let (address, guard) = data.device_ptr(self.stream);
        if !matches!(guard, SyncOnDrop::Sync(None)) {
            self.guards.push(guard);
        }
        Ok(SliceArguments { address })
    }
}

macro_rules! device_slices {
    ($($ty:ty),*) => {$(
        impl<T: Element> Source<CudaStream> for &$ty {
            type Item = T;
            type Form = Slice<T>;

            fn items(&self) -> Result<usize> {
                Ok(self.len())
            }

            fn bind<'a>(&'a self, binder: &mut StreamBinder<'a>) -> Result<SliceArguments> {
                binder.slice::<T>(*self)
            }
        }
    )*};
}

device_slices!(
    CudaSlice<T>,
    CudaView<'_, T>,
    CudaViewMut<'_, T>,
    UnifiedSlice<T>
);
