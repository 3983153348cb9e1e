//! The reduction for callers that bring their own stream, slices and workspace.

use super::candidates;
use super::kernel::{self, ReduceArguments};
use crate::cuda::checks::{
    assert_length_is_known, bind, check_call, check_holds_one, check_streams,
};
use crate::cuda::kernels::{Lazy, Shell, context_multiprocessors};
use crate::cuda::launch::{Grid, launch};
use crate::cuda::levels::{self, Call};
use crate::cuda::library::require_driver;
use crate::cuda::{Gpu, StreamBinder, Workspace, context_capability, context_machine};
use crate::element::assert_element_size;
use crate::engine::candidates::{Candidates, Cut};
use crate::engine::{
    Chunks, Engine, Explanation, Layouts, Order, Plan, Primitive, ReducePlan, facts,
};
use crate::operator::cost;
use crate::render::{Function, Kernel, Kernels as _, Named, check};
use crate::source::{Form, Slice, Source};
use crate::{Element, Error, Monoid, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut};
use std::marker::PhantomData;
use std::sync::Arc;

/// The reduction of `T` with `Op`, loaded into a context. Cheap to clone.
///
/// `F` is the [form](Form) of what is reduced: a slice, unless you say otherwise. So
/// `Reduce<f32, Add, Map<product, Zip<(Slice<f32>, Slice<f32>)>>>` is a dot product.
///
/// Bracketing and results are those of [`reduce`](crate::reduce()). A call is one launch, and reads
/// every element once.
///
/// # The kernels
///
/// A call loads the kernel for its length, unless an earlier one has. Which one that is depends on
/// the element, the operator and the GPU, too; [`explain`](Reduce::explain) says it for a length,
/// and `warpfold explain` on the command line.
///
/// # The workspace
///
/// As for [`Scan`](crate::cuda::Scan); the two can share one. Short inputs do not use it.
#[derive(Debug)]
pub struct Reduce<T: Element, Op: Monoid<T>, F: Form<Item = T> = Slice<T>> {
    core: Core,
    named: Named<(T, Op, F)>,
}

/// The kernels, which know no types.
#[derive(Debug, Clone)]
pub(crate) struct Core {
    context: Arc<CudaContext>,
    candidates: Candidates<Lazy>,
    layouts: Layouts,
    multiprocessors: u32,
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> Clone for Reduce<T, Op, F> {
    fn clone(&self) -> Self {
        Self::with(self.core.clone())
    }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> Reduce<T, Op, F> {
    /// Loads the kernels that calls of all lengths need. That takes under 3 µs if this process has
    /// them already, 1 to 6 ms from the disk cache, and 0.2 to 2 s if they must be compiled on 16
    /// cores, side by side: up to 3 s for operators of a hundred instructions. There are
    /// several, so few cores take longer.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong operator,
    /// [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        let reduce = Self::load_lazily(context)?;
        reduce.core.load_all()?;
        Ok(reduce)
    }

    /// Loads nothing yet. A call loads the kernel that its length needs, unless an earlier one has.
    /// So the first result comes sooner than with [`load`](Reduce::load), most of all that of a
    /// short input, whose kernel compiles in a third of the time. But a later call of another
    /// length may compile again.
    ///
    /// Calls load kernels also while a stream is captured into a graph. The errors of
    /// [`load`](Reduce::load) become theirs.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without a driver, [`Error::Driver`].
    pub fn load_lazily(context: &Arc<CudaContext>) -> Result<Self> {
        Self::load_core(context).map(Self::with)
    }

    /// Loads the kernels of one engine: rows ([`Engine::Rows`]), or levels ([`Engine::Levels`]),
    /// which takes a launch for each level of its tree. The block engine ([`Engine::Block`]) has
    /// the rows engine beside it, for what one block does not hold.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Reduce::load), and [`Error::Codegen`] for an engine that does not reduce,
    /// or a policy that it cannot have.
    ///
    /// A length on the device ([`up_to`](crate::cuda::up_to)) does not compile here, as with
    /// [`load`](Reduce::load):
    ///
    /// ```compile_fail,E0080
    /// # use warpfold::{codegen::Engine, cuda::{Reduce, UpTo, cudarc::driver::CudaContext}};
    /// # use warpfold::{ops::Add, source::Slice};
    /// let context = CudaContext::new(0)?;
    /// Reduce::<f32, Add, UpTo<Slice<f32>>>::load_engine(&context, Engine::Levels)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_engine(context: &Arc<CudaContext>, engine: Engine) -> Result<Self> {
        const { assert_element_size::<T>() };
        const { assert_length_is_known::<F>() };
        Core::load_engine(context, engine, &Operator::of::<T, Op, F>()).map(Self::with)
    }

    fn with(core: Core) -> Self {
        Reduce {
            core,
            named: PhantomData,
        }
    }

    /// The bytes of a [`Workspace`] that `len` elements need; they grow with `len`, and are below
    /// 1% of the elements' size for long inputs.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        self.core.workspace_bytes(len)
    }

    /// What a call for `len` elements does: engine, launches, workspace, and what the choice
    /// depended on.
    ///
    /// # Errors
    ///
    /// Those of a call with so many elements; [`Error::Driver`].
    pub fn explain(&self, len: usize) -> Result<Explanation> {
        let core = &self.core;
        let extent = candidates::extent(len, core.multiprocessors);
        let explanation = core.candidates.explain("reduce", extent)?;
        let capability = context_capability(&core.context)?;
        Ok(explanation.depending_on(facts::<T, Op>(capability, cost::<T, Op>())))
    }

    /// Enqueues the fold of `input`, or the identity if it is empty, into the first element of
    /// `output`.
    ///
    /// # Errors
    ///
    /// [`Error::Workspace`] or [`Error::Length`] if `workspace` or `output` is too small,
    /// [`Error::WorkspaceStream`] if the workspace serves another stream, [`Error::WrongDevice`] if
    /// something belongs to another context, [`Error::Zip`] if zipped sources have different
    /// lengths, [`Error::Items`] if there are more than 2^40 items, [`Error::Driver`] if a launch
    /// fails.
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        input: impl Source<CudaStream, Item = T, Form = F>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        self.enqueue_with(stream, None, input, output, workspace)
    }

    /// Enqueues the fold of `init` and `input` into the first element of `output`.
    ///
    /// # Errors
    ///
    /// As [`enqueue`](Reduce::enqueue).
    pub fn enqueue_from(
        &self,
        stream: &CudaStream,
        init: T,
        input: impl Source<CudaStream, Item = T, Form = F>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        self.enqueue_with(stream, Some(init), input, output, workspace)
    }

    fn enqueue_with(
        &self,
        stream: &CudaStream,
        init: Option<T>,
        input: impl Source<CudaStream, Item = T, Form = F>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let mut binder = StreamBinder::new(stream, &self.core.context);
        let (source, len) = bind(&mut binder, &input)?;
        check_holds_one(output)?;
        let written = [("output", &**output.stream())];
        check_streams(&self.core.context, stream, &written)?;
        let (output, _writing) = output.device_ptr_mut(stream);
        let seed = Seed::of::<T, Op>(init);
        // SAFETY: the binder keeps what the source reads borrowed until the launches are enqueued,
        // as the output is. Afterwards the stream's order and cudarc's events protect them.
        unsafe { self.core.run(stream, source, len, seed, output, workspace) }
    }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> Shell for Reduce<T, Op, F> {
    type Core = Core;

    fn load_core(context: &Arc<CudaContext>) -> Result<Core> {
        const { assert_element_size::<T>() };
        const { assert_length_is_known::<F>() };
        Core::load_lazily(context, &Operator::of::<T, Op, F>())
    }
}

/// What comes first, or else is the result of nothing.
struct Seed<A> {
    init: A,
    seeded: bool,
}

impl<A> Seed<A> {
    fn of<T: Element<Accumulator = A>, Op: Monoid<T>>(init: Option<T>) -> Seed<A> {
        Seed {
            init: init.unwrap_or_else(Op::identity).widen(),
            seeded: init.is_some(),
        }
    }
}

/// An operator and a form of sources as values.
struct Operator {
    kernel: fn(Engine) -> Kernel,
    check: fn(Engine) -> Result<()>,
    layouts: Layouts,
    order: Order,
    cost: fn() -> u32,
}

impl Operator {
    fn of<T: Element, Op: Monoid<T>, F: Form<Item = T>>() -> Operator {
        Operator {
            kernel: kernel::Reduce::<T, Op, F>::kernel,
            check: check::<kernel::Reduce<T, Op, F>>,
            layouts: Layouts::of::<F>(),
            order: Order::of::<T, Op>(),
            cost: cost::<T, Op>,
        }
    }
}

impl Core {
    /// See [`Reduce::load_lazily`].
    fn load_lazily(context: &Arc<CudaContext>, operator: &Operator) -> Result<Core> {
        require_driver()?;
        let machine = context_machine(context)?;
        let kernel = |engine| Lazy::new((operator.kernel)(engine));
        let (layouts, order, cost) = (operator.layouts, operator.order, (operator.cost)());
        let candidates = candidates::for_operator(&kernel, layouts, machine, order, cost);
        Core::new(context, candidates, layouts)
    }

    /// See [`Reduce::load_engine`].
    fn load_engine(
        context: &Arc<CudaContext>,
        engine: Engine,
        operator: &Operator,
    ) -> Result<Core> {
        require_driver()?;
        (operator.check)(engine)?;
        let (layouts, order) = (operator.layouts, operator.order);
        let capability = context_capability(context)?;
        let kernel = |engine| Lazy::new((operator.kernel)(engine));
        let candidates = candidates::only(&kernel, layouts, capability, order, engine);
        let core = Core::new(context, candidates, layouts)?;
        core.load_all()?;
        Ok(core)
    }

    fn new(
        context: &Arc<CudaContext>,
        candidates: Candidates<Lazy>,
        layouts: Layouts,
    ) -> Result<Core> {
        Ok(Core {
            context: context.clone(),
            candidates,
            layouts,
            multiprocessors: context_multiprocessors(context)?,
        })
    }

    /// Loads the kernels of all engines.
    fn load_all(&self) -> Result<()> {
        Lazy::load_all(self.candidates.kernels(), &self.context)
    }

    /// See [`Reduce::workspace_bytes`].
    fn workspace_bytes(&self, len: usize) -> usize {
        self.candidates.workspace_bytes(len)
    }

    /// Enqueues the launches. Compiled for the layouts of arguments, whatever the operator.
    ///
    /// # Safety
    ///
    /// The arguments are those of a source in the kernels' context, with `len` items, that nothing
    /// else writes to before the work on the stream is done. At the address `output` there is room
    /// for an element. The kernels take these arguments.
    unsafe fn run<S: Copy, A: Copy>(
        &self,
        stream: &CudaStream,
        source: S,
        len: usize,
        seed: Seed<A>,
        output: u64,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let most = ReducePlan::MOST_ITEMS;
        if len as u64 > most {
            return Err(Error::Items { items: len, most });
        }
        let bytes = self.workspace_bytes(len);
        let call = Call {
            source,
            output,
            workspace: check_call(&self.context, stream, &[], workspace, bytes)?,
            init: seed.init,
            seeded: seed.seeded,
            inclusive: false,
            reverse: false,
        };
        // SAFETY: the caller's. The workspace is this stream's alone, and as large as the plan
        // asks.
        unsafe { self.launch(stream, len, &call) }
    }

    /// # Safety
    ///
    /// As for [`levels::enqueue`].
    unsafe fn launch<S: Copy, A: Copy>(
        &self,
        stream: &CudaStream,
        len: usize,
        call: &Call<S, A>,
    ) -> Result<()> {
        let extent = candidates::extent(len, self.multiprocessors);
        let chosen = self.candidates.choose(extent);
        let loaded = chosen.kernel.get(&self.context)?;
        let Some(blocks) = chosen.blocks(extent) else {
            let layouts = self.layouts;
            let plan = Plan::new(layouts, Primitive::Reduce, len);
            // SAFETY: the caller's.
            return unsafe { levels::enqueue(loaded, stream, &plan, layouts, call) };
        };
        let (name, chunks) = match chosen.cut {
            Cut::Chunks(plan) => (kernel::ROWS, plan.chunks),
            _ => (kernel::BLOCK, Chunks::NONE),
        };
        let grid = Grid::of(blocks, len)?;
        let arguments = ReduceArguments {
            source: call.source,
            length: len as u64,
            out: call.output,
            workspace: call.workspace,
            init: call.init,
            seeded: u32::from(call.seeded),
            chunks,
        };
        // SAFETY: the caller's.
        unsafe { launch(loaded, stream, &Function::new(name), grid, arguments) }
    }
}

impl Gpu {
    /// # Safety
    ///
    /// The arguments are those of a source on this GPU with `len` items. What it reads is freed on
    /// this GPU's stream.
    pub(crate) unsafe fn reduce<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
        &self,
        source: F::Arguments,
        len: usize,
        init: Option<T>,
    ) -> Result<T> {
        self.one_result(|output| {
            // SAFETY: the caller's.
            unsafe { self.reduce_to::<T, Op, F>(source, len, init, output) }
        })
    }

    /// Writes the fold to an address, without a wait for it.
    ///
    /// # Safety
    ///
    /// As of [`reduce`](Gpu::reduce). At the address there is room for an element of this GPU,
    /// which is borrowed for writing.
    pub(crate) unsafe fn reduce_to<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
        &self,
        source: F::Arguments,
        len: usize,
        init: Option<T>,
        address: u64,
    ) -> Result<()> {
        let core = self.core_of::<Reduce<T, Op, F>>()?;
        // SAFETY: the caller's. These are the kernels of the types.
        unsafe { self.reduce_with(&core, source, len, Seed::of::<T, Op>(init), address) }
    }

    /// # Safety
    ///
    /// As of [`reduce_to`](Gpu::reduce_to). The kernels take these arguments.
    unsafe fn reduce_with<S: Copy, A: Copy>(
        &self,
        core: &Core,
        source: S,
        len: usize,
        seed: Seed<A>,
        address: u64,
    ) -> Result<()> {
        self.with_workspace(core.workspace_bytes(len), |stream, workspace| {
            // SAFETY: the caller's; the stream keeps calls and frees in order.
            unsafe { core.run(stream, source, len, seed, address, workspace) }
        })
    }
}
