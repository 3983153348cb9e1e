//! Scans for callers that bring their own stream, slices and workspace.

use super::Prefixes;
use super::candidates;
use super::kernel::{self, ScanArguments};
use crate::cpu::PrefixKind;
use crate::cuda::checks::{assert_length_is_known, bind, check_call, check_streams};
use crate::cuda::kernels::{Lazy, clone_by_fields, context_multiprocessors};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::levels::{self, Call};
use crate::cuda::library::require_driver;
use crate::cuda::{DeviceArray, Gpu, StreamBinder, Workspace, context_capability};
use crate::element::assert_element_size;
use crate::engine::candidates::{Candidates, Extent};
use crate::engine::{Engine, Explanation, Layouts, Plan, Primitive, WavePolicy, facts};
use crate::operator::cost;
use crate::render::{Function, Kernels as _, Named, check};
use crate::source::{Form, Slice, Source};
use crate::{Element, Error, Monoid, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut};
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

/// The scans of `T` with `Op`, loaded into a context. Cheap to clone.
///
/// `F` is the [form](Form) of what is scanned: a slice, unless you say otherwise.
///
/// Bracketing and results are those of [`scan`](crate::scan()); [`Prefixes`] says which.
///
/// # Launches
///
/// Which engine takes a call depends on its length, the element, the operator and the GPU;
/// [`explain`](Scan::explain) says it for a length, and `warpfold explain` on the command line. A
/// call enqueues one launch, which reads and writes every element once. Some long scans of elements
/// of more than 16 bytes take a launch for each level of a tree instead, and read every element
/// twice ([`Engine::Levels`]). Slices may start anywhere.
///
/// On GPUs of compute capability 9.0 to 10.x, long slices that start at no multiple of 16 bytes
/// have kernels of their own. The first such call loads them. That takes some 0.5 s, unless they
/// are in the disk cache. Scans [in reverse](Prefixes::reverse) have kernels of their own, too, and
/// each length's first such call loads its kernel.
///
/// # The workspace
///
/// A call takes a [`Workspace`] of at least [`workspace_bytes`](Scan::workspace_bytes), which
/// serves the call's stream. Calls on one stream can share it, whatever their primitive, type,
/// operator and length. Short inputs do not use it.
#[derive(Debug)]
pub struct Scan<T: Element, Op: Monoid<T>, F: Form<Item = T> = Slice<T>> {
    pub(crate) kernels: Kernels<T, F>,
    operator: Named<Op>,
}

/// The kernels of a [`Scan`]. Its methods are compiled once for all operators.
#[derive(Debug)]
pub(crate) struct Kernels<T: Element, F: Form<Item = T>> {
    context: Arc<CudaContext>,
    candidates: Candidates<Lazy>,
    /// For scans in reverse, which few programs want. The first call makes them.
    reversed: Arc<OnceLock<Candidates<Lazy>>>,
    in_reverse: fn(u32) -> Candidates<Lazy>,
    capability: u32,
    multiprocessors: u32,
    identity: fn() -> T,
    form: Named<F>,
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> Clone for Scan<T, Op, F> {
    fn clone(&self) -> Self {
        Scan::with(self.kernels.clone())
    }
}

clone_by_fields! {
    [T: Element, F: Form<Item = T>]
    Kernels<T, F> {
        context, candidates, reversed, in_reverse, capability, multiprocessors, identity, form
    }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> Scan<T, Op, F> {
    /// Loads the kernels that calls of all lengths need. That takes under 4 µs if this process has
    /// them already, 2 to 7 ms from the disk cache, and 0.5 to 2 s if they must be compiled on 16
    /// cores, side by side: up to 5 s for operators of a hundred instructions. There are several,
    /// so few cores take longer.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong operator,
    /// [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        let scan = Self::load_lazily(context)?;
        scan.kernels.load_all()?;
        Ok(scan)
    }

    /// Loads nothing yet. A call loads the kernels that its length needs, unless an earlier one
    /// has. So the first result comes sooner than with [`load`](Scan::load), but a later call of
    /// another length may compile again.
    ///
    /// Calls load kernels also while a stream is captured into a graph. The errors of
    /// [`load`](Scan::load) become theirs.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without a driver, [`Error::Driver`].
    pub fn load_lazily(context: &Arc<CudaContext>) -> Result<Self> {
        require_driver()?;
        let capability = context_capability(context)?;
        let (commutes, cost) = (Op::COMMUTATIVE, cost::<T, Op>());
        let candidates =
            candidates::for_operator(&Self::lazy, Layouts::of::<F>(), capability, commutes, cost);
        Kernels::new(context, candidates, Self::reversed, Op::identity).map(Scan::with)
    }

    /// Loads the kernels of one engine, which will be used for every length. The block engine
    /// ([`Engine::Block`]) has the rows engine beside it, for what one block does not hold.
    ///
    /// With the wave engine ([`Engine::Wave`]), slices that do not start at a multiple of 16 bytes
    /// take other kernels. If the policy has room for such slices, these are the wave engine's,
    /// loaded by the first call with one. If not, they are those of the rows engine
    /// ([`Engine::Rows`]), loaded here as well.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Scan::load), and [`Error::Codegen`] for a policy that the engine cannot
    /// have. The wave engine does not compile for GPUs that it cannot run on.
    pub fn load_engine(context: &Arc<CudaContext>, engine: Engine) -> Result<Self> {
        require_driver()?;
        check::<kernel::Scan<T, Op, F>>(engine)?;
        let capability = context_capability(context)?;
        let candidates = candidates::only(&Self::lazy, Layouts::of::<F>(), capability, engine);
        let kernels = Kernels::new(context, candidates, Self::reversed, Op::identity)?;
        let scan = Scan::with(kernels);
        scan.kernels.load_all()?;
        Ok(scan)
    }

    fn lazy(engine: Engine) -> Lazy {
        Lazy::new(kernel::Scan::<T, Op, F>::kernel(engine))
    }

    fn reversed(capability: u32) -> Candidates<Lazy> {
        let kernel = |engine| Lazy::new(kernel::Scan::<T, Op, F, true>::kernel(engine));
        let (commutes, cost) = (Op::COMMUTATIVE, cost::<T, Op>());
        let layouts = Layouts::of::<F>().in_reverse();
        candidates::for_operator(&kernel, layouts, capability, commutes, cost)
    }

    fn with(kernels: Kernels<T, F>) -> Self {
        Scan {
            kernels,
            operator: PhantomData,
        }
    }

    /// The bytes of a [`Workspace`] that `len` elements need; they grow with `len`, and are below
    /// 1% of the elements' size for long inputs.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        self.kernels.workspace_bytes(len)
    }

    /// What a call for `len` aligned elements does: engine, launches, workspace, and what the
    /// choice depended on.
    ///
    /// # Errors
    ///
    /// Those of a call with so many elements; [`Error::Driver`].
    pub fn explain(&self, len: usize) -> Result<Explanation> {
        self.explain_of(len, false, true)
    }

    /// What a call does that gives inclusive prefixes or others, for addresses that are all
    /// `aligned`, or not.
    pub(crate) fn explain_of(
        &self,
        len: usize,
        inclusive: bool,
        aligned: bool,
    ) -> Result<Explanation> {
        let kernels = &self.kernels;
        let extent = Extent {
            len,
            inclusive,
            aligned,
            multiprocessors: kernels.multiprocessors,
        };
        let explanation = candidates::explain_of(&kernels.candidates, extent)?;
        let capability = context_capability(&kernels.context)?;
        let cost = cost::<T, Op>();
        Ok(explanation.depending_on(facts::<T, Op>(capability, cost)))
    }

    /// Enqueues the scan of `input` into `output`, of the same length.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] if `output` is not as long as `input`, [`Error::Zip`] if zipped sources
    /// have different lengths, [`Error::Workspace`] if `workspace` is too small,
    /// [`Error::WorkspaceStream`] if it serves another stream, [`Error::WrongDevice`] if something
    /// belongs to another context, [`Error::Driver`] if a launch fails.
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        prefixes: Prefixes<T>,
        input: impl Source<CudaStream, Item = T, Form = F>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let kernels = &self.kernels;
        kernels.enqueue(stream, prefixes, input, output, workspace)
    }
}

impl<T: Element, F: Form<Item = T>> Kernels<T, F> {
    fn new(
        context: &Arc<CudaContext>,
        candidates: Candidates<Lazy>,
        in_reverse: fn(u32) -> Candidates<Lazy>,
        identity: fn() -> T,
    ) -> Result<Self> {
        const { assert_element_size::<T>() };
        const { assert_length_is_known::<F>() };
        Ok(Kernels {
            context: context.clone(),
            candidates,
            reversed: Arc::default(),
            in_reverse,
            capability: context_capability(context)?,
            multiprocessors: context_multiprocessors(context)?,
            identity,
            form: PhantomData,
        })
    }

    fn candidates_for(&self, reverse: bool) -> &Candidates<Lazy> {
        match reverse {
            false => &self.candidates,
            true => {
                let make = || (self.in_reverse)(self.capability);
                self.reversed.get_or_init(make)
            }
        }
    }

    /// Loads the kernels of all engines but those for unaligned addresses.
    fn load_all(&self) -> Result<()> {
        Lazy::load_all(self.candidates.kernels(), &self.context)
    }

    /// See [`Scan::workspace_bytes`].
    pub(crate) fn workspace_bytes(&self, len: usize) -> usize {
        let both = [false, true].map(|reverse| self.bytes_for(len, reverse));
        both[0].max(both[1])
    }

    /// The bytes of a workspace for calls in one direction.
    pub(crate) fn bytes_for(&self, len: usize, reverse: bool) -> usize {
        self.candidates_for(reverse).workspace_bytes(len)
    }

    /// See [`Scan::enqueue`].
    fn enqueue(
        &self,
        stream: &CudaStream,
        prefixes: Prefixes<T>,
        input: impl Source<CudaStream, Item = T, Form = F>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let mut binder = StreamBinder::new(stream, &self.context);
        let input = bind(&mut binder, &input)?;
        // SAFETY: the binder keeps what the source reads borrowed until the launches are enqueued.
        unsafe { self.run(stream, prefixes, Some(input), output, workspace) }
    }

    /// # Safety
    ///
    /// `input` has the arguments of a source in the kernels' context, and its number of items.
    /// Nothing else writes to it before the work on the stream is done. Without `input` the output
    /// is read.
    pub(crate) unsafe fn run(
        &self,
        stream: &CudaStream,
        prefixes: Prefixes<T>,
        input: Option<(F::Arguments, usize)>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let len = output.len();
        if let Some((_, items)) = input
            && items != len
        {
            return Err(Error::Length {
                input: items,
                output: len,
            });
        }
        check_streams(&self.context, stream, &[("output", &**output.stream())])?;
        let (output, _writing) = output.device_ptr_mut(stream);
        // SAFETY: the caller's; the output is borrowed until the launches are enqueued, and
        // afterwards the stream's order and cudarc's events protect it.
        unsafe { self.run_at(stream, prefixes, input, (output, len), workspace) }
    }

    /// Scans into an output at an address. Its length is that of the input.
    ///
    /// # Safety
    ///
    /// As for [`run`](Kernels::run). Nothing else uses the output before the work on the stream is
    /// done.
    pub(crate) unsafe fn run_at(
        &self,
        stream: &CudaStream,
        prefixes: Prefixes<T>,
        input: Option<(F::Arguments, usize)>,
        (output, len): (u64, usize),
        workspace: &mut Workspace,
    ) -> Result<()> {
        let bytes = self.bytes_for(len, prefixes.reverse);
        let workspace = check_call(&self.context, stream, &[], workspace, bytes)?;
        let source = match input {
            Some((source, _)) => source,
            None => F::of_address(output).expect("only slices are scanned in place"),
        };
        let call = Call {
            source,
            output,
            workspace,
            init: prefixes.init.unwrap_or_else(self.identity).widen(),
            seeded: prefixes.init.is_some(),
            inclusive: prefixes.kind == PrefixKind::Inclusive,
            reverse: prefixes.reverse,
        };
        // SAFETY: the caller's. The workspace is this stream's alone, and as large as the plans
        // ask. The wave engine's addresses are looked at.
        unsafe { self.launch(stream, len, &call) }
    }

    /// # Safety
    ///
    /// As for [`levels::enqueue`]. Also, the workspace must be a [`Workspace`] that serves the
    /// stream.
    unsafe fn launch(
        &self,
        stream: &CudaStream,
        len: usize,
        call: &Call<F::Arguments, T::Accumulator>,
    ) -> Result<()> {
        let extent = Extent {
            len,
            inclusive: call.inclusive,
            aligned: call.output.is_multiple_of(WavePolicy::ALIGN)
                && F::is_aligned(&call.source, WavePolicy::ALIGN),
            multiprocessors: self.multiprocessors,
        };
        let candidates = self.candidates_for(call.reverse);
        let chosen = candidates.choose(extent);
        let kernels = chosen.kernel.get(&self.context)?;
        let Some(blocks) = chosen.blocks(extent) else {
            let layouts = Layouts::of::<F>();
            let plan = Plan::new(layouts, Primitive::Scan, len);
            // SAFETY: the caller's.
            return unsafe { levels::enqueue(kernels, stream, &plan, layouts, call) };
        };
        if len == 0 {
            return Ok(());
        }
        let arguments = ScanArguments {
            source: call.source,
            out: call.output,
            length: len as u64,
            workspace: call.workspace,
            init: call.init,
            identity: (self.identity)().widen(),
            seeded: u32::from(call.seeded),
            inclusive: u32::from(call.inclusive),
            by_ticket: u32::from(blocks.by_ticket),
        };
        let function = kernel::function_of(chosen.engine);
        let function = Function::<kernel::ArgumentsOf<T, F>>::new(function);
        let grid = Grid::of(blocks, len)?;
        // SAFETY: the caller's. The wave engine got addresses that it can have.
        unsafe { launch(kernels, stream, &function, grid, arguments) }
    }
}

impl<T: Element, Op: Monoid<T>> Scan<T, Op> {
    /// Enqueues the scan of `data`, in its place.
    ///
    /// # Errors
    ///
    /// As [`enqueue`](Scan::enqueue).
    pub fn enqueue_in_place(
        &self,
        stream: &CudaStream,
        prefixes: Prefixes<T>,
        data: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        // SAFETY: nothing but the data is read.
        unsafe { self.kernels.run(stream, prefixes, None, data, workspace) }
    }
}

impl Gpu {
    /// Scans a source, or `output` itself if there is none, into `output`.
    ///
    /// # Safety
    ///
    /// The arguments are those of a source on this GPU with `len` items. What it reads is freed on
    /// this GPU's stream.
    pub(crate) unsafe fn scan<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
        &self,
        source: Option<(F::Arguments, usize)>,
        output: &mut DeviceArray<T>,
        prefixes: Prefixes<T>,
    ) -> Result<()> {
        let scan = self.kernels(Scan::<T, Op, F>::load_lazily)?;
        // SAFETY: the caller's.
        unsafe { self.scan_with(&scan.kernels, source, output, prefixes) }
    }

    /// # Safety
    ///
    /// The arguments are those of a source on this GPU with `len` items. What it reads is freed on
    /// this GPU's stream.
    unsafe fn scan_with<T: Element, F: Form<Item = T>>(
        &self,
        kernels: &Kernels<T, F>,
        source: Option<(F::Arguments, usize)>,
        output: &mut DeviceArray<T>,
        prefixes: Prefixes<T>,
    ) -> Result<()> {
        self.with_workspace(
            kernels.bytes_for(output.len(), prefixes.reverse),
            |stream, workspace| {
                // SAFETY: as in `reduce_with`.
                unsafe { kernels.run(stream, prefixes, source, output, workspace) }
            },
        )
    }
}
