//! Device memory as sources.

use super::check_context;
use crate::source::{self, Form, Place, Slice, SliceArguments, Source, UpToArguments};
use crate::{Element, Error, Result};
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

    pub(crate) fn slice<T>(&mut self, data: &'a impl DevicePtr<T>) -> Result<SliceArguments> {
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

/// The items of a source, as many as a number in device memory says; [`up_to`] makes it.
#[derive(Debug)]
pub struct UpTo<'c, S, C> {
    source: S,
    count: &'c C,
}

/// The first items of `source`, as many as the first element of `count` says when the kernels run.
/// If it says more than there are, these are all.
///
/// So the count of one call limits the next one, and the host waits for neither. Grids are made for
/// the whole source; hardly anything after the items is read.
///
/// [`Select`](crate::cuda::Select) and its kin take such sources. A reduction or a scan does not:
/// how it is cut up depends on the length.
///
/// ```no_run
/// use warpfold::cuda::{SelectBy, Select, Workspace, cudarc::driver::CudaContext, up_to};
/// use warpfold::source::{Flagged, Slice, UpTo};
/// use warpfold::{flagged, function};
///
/// #[function]
/// fn positive(x: f32) -> bool {
///     x > 0.0
/// }
///
/// #[function]
/// fn small(x: f32) -> bool {
///     x < 1.0
/// }
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let samples = stream.clone_htod(&[1.5_f32, -2.0, 0.5])?;
/// let mut kept = stream.alloc_zeros::<f32>(samples.len())?;
/// let mut result = stream.alloc_zeros::<f32>(samples.len())?;
/// let [mut first, mut second] = [stream.alloc_zeros::<u64>(1)?, stream.alloc_zeros::<u64>(1)?];
///
/// let by_sign = SelectBy::<f32, positive>::load(&context)?;
/// let by_size = Select::<f32, Flagged<small, UpTo<Slice<f32>>>>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, by_size.workspace_bytes(samples.len()))?;
/// let source = flagged::<positive, _>(&samples);
/// by_sign.enqueue(&stream, source, &mut kept, &mut first, &mut workspace)?;
/// let source = flagged::<small, _>(up_to(&kept, &first));
/// by_size.enqueue(&stream, source, &mut result, &mut second, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&second)?, [1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn up_to<S, C: DevicePtr<u64>>(source: S, count: &C) -> UpTo<'_, S, C> {
    UpTo { source, count }
}

impl<S: Source<CudaStream>, C: DevicePtr<u64>> Source<CudaStream> for UpTo<'_, S, C> {
    type Item = S::Item;
    type Form = source::UpTo<S::Form>;

    fn items(&self) -> Result<usize> {
        self.source.items()
    }

    fn bind<'a>(
        &'a self,
        binder: &mut StreamBinder<'a>,
    ) -> Result<UpToArguments<<S::Form as Form>::Arguments>> {
        if self.count.len() == 0 {
            return Err(Error::Count);
        }
        Ok(UpToArguments {
            source: self.source.bind(binder)?,
            count: binder.slice::<u64>(self.count)?.address,
        })
    }
}
