//! Scatter for callers that bring their own stream and slices.

use super::kernel::{self, ScatterArguments};
use super::launches::{explain_scatter, launches, workspace_bytes};
use crate::cuda::checks::{assert_length_is_known, bind, check_call};
use crate::cuda::kernels::{Loaded, clone_by_fields};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder, Workspace};
use crate::element::assert_element_size;
use crate::engine::{Explanation, HEADER_BYTES};
use crate::render::{Function, Named};
use crate::source::{Form, IndexNumber, Indices, Slice, Source};
use crate::{Element, Error, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut};
use std::marker::PhantomData;
use std::sync::Arc;

/// The kernels that store values of the form `F` at indices of the form `I`, loaded into a context.
/// Cheap to clone.
///
/// ```no_run
/// use warpfold::{Indices, source::Slice};
/// use warpfold::cuda::{Scatter, Workspace, cudarc::driver::CudaContext};
///
/// let context = CudaContext::new(0)?;
/// let stream = context.default_stream();
/// let values = stream.clone_htod(&[1.0_f32, 2.0])?;
/// let places = stream.clone_htod(&[3_u32, 0])?;
/// let mut out = stream.alloc_zeros::<f32>(4)?;
///
/// let scatter = Scatter::<Slice<f32>>::load(&context)?;
/// let mut workspace = Workspace::new(&stream, scatter.workspace_bytes(out.len()))?;
/// let indices = Indices::unchecked(&places);
/// scatter.enqueue(&stream, &values, indices, &mut out, &mut workspace)?;
/// assert_eq!(stream.clone_dtoh(&out)?, [2.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A call is three launches.
#[derive(Debug)]
pub struct Scatter<F: Form<Item: Element>, I: Form<Item: IndexNumber> = Slice<u32>> {
    context: Arc<CudaContext>,
    kernels: Arc<Loaded>,
    named: Named<(F, I)>,
}

clone_by_fields! {
    [F: Form<Item: Element>, I: Form<Item: IndexNumber>]
    Scatter<F, I> { context, kernels, named }
}

/// What is stored: the arguments of both sources with `len` items, and where `places` are.
pub(super) struct Call<S, I> {
    pub(super) values: S,
    pub(super) indices: I,
    pub(super) len: usize,
    pub(super) places: usize,
    pub(super) out: u64,
}

impl<F: Form<Item: Element>, I: Form<Item: IndexNumber>> Scatter<F, I> {
    /// Loads the kernels.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] if a function's CUDA text is
    /// wrong, [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        const { assert_element_size::<F::Item>() };
        const { assert_length_is_known::<F>() };
        const { assert_length_is_known::<I>() };
        require_driver()?;
        Ok(Scatter {
            context: context.clone(),
            kernels: Loaded::get(&kernel::Scatter::<F, I>::kernel(), context)?,
            named: PhantomData,
        })
    }

    /// The bytes of a [`Workspace`] for an output of so many places.
    pub fn workspace_bytes(&self, places: usize) -> usize {
        workspace_bytes(places)
    }

    /// What a call for `len` values in `places` places does.
    ///
    /// # Errors
    ///
    /// Those of a call with so many values.
    pub fn explain(&self, len: usize, places: usize) -> Result<Explanation> {
        explain_scatter(len, places)
    }

    /// Enqueues the storing of each value at its index. Of those with one index the last is stored;
    /// places that no index names stay as they are.
    ///
    /// # Errors
    ///
    /// [`Error::Pairs`] unless there is an index for each value, [`Error::Indices`] if checked
    /// indices pass the end of `output`, [`Error::Workspace`] if `workspace` is too small,
    /// [`Error::WorkspaceStream`] if it serves another stream, [`Error::WrongDevice`] if something
    /// belongs to another context, [`Error::Zip`] if zipped sources have different lengths,
    /// [`Error::Driver`] if a launch fails.
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        values: impl Source<CudaStream, Item = F::Item, Form = F>,
        indices: Indices<impl Source<CudaStream, Item = I::Item, Form = I>>,
        output: &mut impl DevicePtrMut<F::Item>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let mut binder = StreamBinder::new(stream, &self.context);
        let (values, len) = bind(&mut binder, &values)?;
        let (source, count) = bind(&mut binder, indices.source())?;
        Error::check_pairs(count, len)?;
        indices.check_fits(count, output.len())?;
        let written = [("output", &**output.stream())];
        let bytes = self.workspace_bytes(output.len());
        check_call(&self.context, stream, &written, workspace, bytes)?;
        let places = output.len();
        let (out, _writing) = output.device_ptr_mut(stream);
        let call = Call {
            values,
            indices: source,
            len,
            places,
            out,
        };
        // SAFETY: all was checked, and is borrowed until the launches are enqueued. Afterwards the
        // stream's order and cudarc's events protect it.
        unsafe { self.run(stream, call, workspace) }
    }

    /// # Safety
    ///
    /// The arguments are of the kernels' context, and stay until the work on the stream is done;
    /// `out` is borrowed for writing.
    unsafe fn run(
        &self,
        stream: &CudaStream,
        call: Call<F::Arguments, I::Arguments>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        if call.len == 0 || call.places == 0 {
            return Ok(());
        }
        let workspace = workspace.arguments(stream, self.workspace_bytes(call.places))?;
        let arguments = ScatterArguments {
            source: call.values,
            indices: call.indices,
            out: call.out,
            owners: workspace.address + HEADER_BYTES as u64,
            length: call.len as u64,
            places: call.places as u64,
        };
        for (name, blocks) in launches(call.len, call.places) {
            let grid = Grid::of(blocks, call.len.max(call.places))?;
            let function = Function::new(name);
            // SAFETY: the caller's; the workspace has room for an owner of each place.
            unsafe { launch(&self.kernels, stream, &function, grid, arguments) }?;
        }
        Ok(())
    }
}

/// Stores values on a GPU's stream.
///
/// # Safety
///
/// The arguments are those of sources in this GPU's memory, which stay borrowed, and `out` for
/// writing.
pub(super) unsafe fn scatter_on<F: Form<Item: Element>, I: Form<Item: IndexNumber>>(
    gpu: &Gpu,
    call: Call<F::Arguments, I::Arguments>,
) -> Result<()> {
    let scatter = gpu.kernels(Scatter::<F, I>::load)?;
    gpu.with_workspace(scatter.workspace_bytes(call.places), |stream, workspace| {
        // SAFETY: the caller's; the stream keeps calls and frees in order.
        unsafe { scatter.run(stream, call, workspace) }
    })
}
