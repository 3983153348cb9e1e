//! Expansion for callers that bring their own stream and slices.

#[cfg(doc)]
use crate::Error;
use crate::cuda::checks::{assert_length_is_known, bind, check_streams};
use crate::cuda::kernels::{Loaded, clone_by_fields};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder};
use crate::element::assert_element_size;
use crate::engine::Explanation;
use crate::primitives::segmented::cuda::Call;
use crate::primitives::segmented::kernel::{self, ExpandArguments};
use crate::primitives::segmented::keys::check_lengths;
use crate::primitives::segmented::launches::{Extent, expand_launch, explain_expand};
use crate::primitives::segmented::segments::{Cut, OffsetsOf, Segments};
use crate::render::Named;
use crate::source::{Form, Slice, Source};
use crate::{Element, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut};
use std::marker::PhantomData;
use std::sync::Arc;

/// The kernel that gives every item the value of its segment, loaded into a context: run-length
/// decoding, if a segment is a run. `F` is the form of the values; `C` says how segments are given,
/// as for [`SegmentedReduce`](crate::cuda::SegmentedReduce). Cheap to clone.
///
/// ```no_run
/// use warpfold::{Offsets, cuda::{Expand, cudarc::driver::CudaContext}, source::Slice};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let values = stream.clone_htod(&[7.0_f32, 5.0])?;
/// let offsets = stream.clone_htod(&[0_u64, 2, 5])?;
/// let mut items = stream.alloc_zeros::<f32>(6)?;
///
/// let expand = Expand::<f32>::load(&context)?;
/// expand.enqueue(&stream, &values, Offsets::unchecked(&offsets)?, 0.0, &mut items)?;
/// assert_eq!(stream.clone_dtoh(&items)?, [7.0, 7.0, 5.0, 5.0, 5.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// One launch, and no workspace. Every item is written once.
#[derive(Debug)]
pub struct Expand<T: Element, F: Form<Item = T> = Slice<T>, C: Cut = OffsetsOf<u64>> {
    context: Arc<CudaContext>,
    kernels: Arc<Loaded>,
    named: Named<(T, F, C)>,
}

clone_by_fields! {
    [T: Element, F: Form<Item = T>, C: Cut]
    Expand<T, F, C> { context, kernels, named }
}

impl<T: Element, F: Form<Item = T>, C: Cut> Expand<T, F, C> {
    /// Loads the kernel.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] if a function's CUDA text is
    /// wrong, [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        const { assert_element_size::<T>() };
        const { assert_length_is_known::<F>() };
        require_driver()?;
        let kernel = kernel::Expand::<T, F, C>::kernel();
        Ok(Expand {
            context: context.clone(),
            kernels: Loaded::get(&kernel, context)?,
            named: PhantomData,
        })
    }

    /// What a call for `len` items of `count` segments does.
    ///
    /// # Errors
    ///
    /// Those of a call with so many items.
    pub fn explain(&self, len: usize, count: usize) -> Result<Explanation> {
        explain_expand(len, count)
    }

    /// Enqueues the writing of the value of its segment for each item of `output`, and of `none`
    /// for items that belong to no segment. There is a value for each segment.
    ///
    /// # Errors
    ///
    /// [`Error::Zip`] if there are not as many values as segments, or zipped sources have different
    /// lengths, [`Error::Segments`] if the segments are known to pass the end of the output,
    /// [`Error::WrongDevice`] if something belongs to another context, [`Error::Items`] if there
    /// are more than 2^38 items, [`Error::Driver`] if the launch fails.
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        values: impl Source<CudaStream, Item = T, Form = F>,
        segments: impl Segments<CudaStream, Cut = C>,
        none: T,
        output: &mut impl DevicePtrMut<T>,
    ) -> Result<()> {
        let mut binder = StreamBinder::new(stream, &self.context);
        let (source, count) = bind(&mut binder, &values)?;
        check_lengths(count, segments.count())?;
        let len = output.len();
        let segments = segments.bind(&mut binder, len)?;
        check_streams(&self.context, stream, &[("output", &**output.stream())])?;
        let (out, _writing) = output.device_ptr_mut(stream);
        let call = Call {
            source,
            segments,
            len,
            count,
            out,
        };
        // SAFETY: all was checked, and is borrowed until the launch is enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe { self.run(stream, call, none) }
    }

    /// # Safety
    ///
    /// The arguments are of the kernel's context, and stay until the work on the stream is done;
    /// there is room for all items.
    unsafe fn run(
        &self,
        stream: &CudaStream,
        call: Call<F::Arguments, C::Arguments>,
        none: T,
    ) -> Result<()> {
        let (len, count) = (call.len, call.count);
        let of = Extent { len, count };
        of.check()?;
        let Some((_, blocks)) = expand_launch(of) else {
            return Ok(());
        };
        let arguments = ExpandArguments {
            values: call.source,
            segments: call.segments,
            out: call.out,
            none,
        };
        let grid = Grid::of(blocks, len)?;
        let function = &kernel::Expand::<T, F, C>::EXPAND;
        // SAFETY: the caller's.
        unsafe { launch(&self.kernels, stream, function, grid, arguments) }
    }
}

/// Expands on a GPU's stream.
///
/// # Safety
///
/// The arguments are those of a source and of segments in this GPU's memory, which stay borrowed.
/// There is room for all items.
pub(super) unsafe fn expand_on<T: Element, F: Form<Item = T>, C: Cut>(
    gpu: &Gpu,
    call: Call<F::Arguments, C::Arguments>,
    none: T,
) -> Result<()> {
    let expand = gpu.kernels(Expand::<T, F, C>::load)?;
    // SAFETY: the caller's; the stream keeps calls and frees in order.
    unsafe { expand.run(gpu.stream(), call, none) }
}
