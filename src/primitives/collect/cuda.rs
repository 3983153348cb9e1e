//! Collect for callers that bring their own stream and slices.

use super::kernel::{self, CollectArguments};
use super::launches::{explain, launch_of};
use crate::cuda::checks::{bind, check_streams};
use crate::cuda::kernels::{Loaded, clone_by_fields};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder, context_capability};
use crate::element::assert_element_size;
use crate::engine::{Engine, Explanation, RowPolicy};
use crate::render::{Kernels, Named, check};
use crate::source::{Feeds, Form, Map, Slice, SliceArguments, Source};
use crate::{Element, Error, Function, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice};
use std::marker::PhantomData;
use std::sync::Arc;

/// The kernel that stores the items of sources of the form `F`, loaded into a context. Cheap to
/// clone.
///
/// ```no_run
/// use warpfold::cuda::{Collect, cudarc::driver::CudaContext};
/// use warpfold::source::{Map, Slice, Zip};
/// use warpfold::{function, map, zip};
///
/// #[function]
/// fn product(x: f32, y: f32) -> f32 {
///     x * y
/// }
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let (a, b) = (stream.clone_htod(&[1.0_f32, 2.0])?, stream.clone_htod(&[3.0_f32, 4.0])?);
/// let mut products = stream.alloc_zeros::<f32>(2)?;
/// let collect = Collect::<Map<product, Zip<(Slice<f32>, Slice<f32>)>>>::load(&context)?;
/// collect.enqueue(&stream, map::<product, _>(zip(&a, &b)), &mut products)?;
/// assert_eq!(stream.clone_dtoh(&products)?, [3.0, 8.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// One launch, and no workspace.
#[derive(Debug)]
pub struct Collect<F: Form<Item: Element>> {
    context: Arc<CudaContext>,
    kernels: Arc<Loaded>,
    policy: RowPolicy,
    form: Named<F>,
}

clone_by_fields! {
    [F: Form<Item: Element>]
    Collect<F> { context, kernels, policy, form }
}

impl<F: Form<Item: Element>> Collect<F> {
    /// Loads the kernel. That takes under 1 µs if this process has it already, some 1 ms from the
    /// disk cache, and 0.2 to 0.5 s if it must be compiled.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] if a function's CUDA text is
    /// wrong, [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        const { assert_element_size::<F::Item>() };
        require_driver()?;
        let policy = kernel::Collect::<F>::rows_policy(context_capability(context)?);
        let engine = Engine::Rows(policy);
        check::<kernel::Collect<F>>(engine)?;
        Ok(Collect {
            context: context.clone(),
            kernels: Loaded::get(&kernel::Collect::<F>::kernel(engine), context)?,
            policy,
            form: PhantomData,
        })
    }

    /// How warps hold what is stored.
    pub(crate) fn policy(&self) -> RowPolicy {
        self.policy
    }

    /// What a call for `len` items does.
    ///
    /// # Errors
    ///
    /// Those of a call with so many items.
    pub fn explain(&self, len: usize) -> Result<Explanation> {
        explain(self.policy, size_of::<F::Item>(), len)
    }

    /// Enqueues the storing of all items of `input` into the front of `output`.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if `output` is shorter than `input`, [`Error::WrongDevice`] if something
    /// belongs to another context, [`Error::Zip`] if zipped sources have different lengths,
    /// [`Error::Driver`] if the launch fails.
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        input: impl Source<CudaStream, Item = F::Item, Form = F>,
        output: &mut impl DevicePtrMut<F::Item>,
    ) -> Result<()> {
        let mut binder = StreamBinder::new(stream, &self.context);
        let (source, len) = bind(&mut binder, &input)?;
        check_streams(&self.context, stream, &[("output", &**output.stream())])?;
        if output.len() < len {
            return Err(Error::Length {
                input: len,
                output: output.len(),
            });
        }
        let (out, _writing) = output.device_ptr_mut(stream);
        // SAFETY: all was checked, and is borrowed until the launch is enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe { self.run(stream, source, len, out, false) }
    }

    /// Enqueues the kernel, unless there is nothing to store.
    ///
    /// # Safety
    ///
    /// `source` is of this context, with `len` items, and there is room for as many at `out`. Both
    /// stay until the launch has ended. In place, item `i` is made of element `i` at `out` alone.
    pub(crate) unsafe fn run(
        &self,
        stream: &CudaStream,
        source: F::Arguments,
        len: usize,
        out: u64,
        in_place: bool,
    ) -> Result<()> {
        let Some((_, blocks)) = launch_of(self.policy, len) else {
            return Ok(());
        };
        let grid = Grid::of(blocks, len)?;
        let arguments = CollectArguments {
            source,
            out,
            length: len as u64,
            in_place: in_place.into(),
            unused: 0,
        };
        let function = &kernel::Collect::<F>::ROWS;
        // SAFETY: the caller's.
        unsafe { launch(&self.kernels, stream, function, grid, arguments) }
    }
}

impl<T, P> Collect<Map<P, Slice<T>>>
where
    T: Element + Feeds<P::Input>,
    P: Function<Output = T>,
{
    /// Enqueues the replacement of every element of `data` by what `P` makes of it.
    ///
    /// # Errors
    ///
    /// As [`enqueue`](Collect::enqueue).
    pub fn enqueue_in_place(
        &self,
        stream: &CudaStream,
        data: &mut (impl DevicePtr<T> + DevicePtrMut<T>),
    ) -> Result<()> {
        let len = DeviceSlice::len(data);
        let written = [("data", &**DeviceSlice::stream(data))];
        check_streams(&self.context, stream, &written)?;
        let (address, _writing) = data.device_ptr_mut(stream);
        let source = SliceArguments { address };
        // SAFETY: as in `enqueue`. Nothing but the data is read.
        unsafe { self.run(stream, source, len, address, true) }
    }
}

impl Gpu {
    /// Stores all items of a source at an address.
    ///
    /// # Safety
    ///
    /// As for [`Collect::run`]. What is read and written is freed on this GPU's stream.
    pub(crate) unsafe fn collect<F: Form<Item: Element>>(
        &self,
        source: F::Arguments,
        len: usize,
        out: u64,
        in_place: bool,
    ) -> Result<()> {
        let collect = self.kernels(Collect::<F>::load)?;
        // SAFETY: the caller's; the stream keeps calls and frees in order.
        unsafe { collect.run(self.stream(), source, len, out, in_place) }
    }
}
