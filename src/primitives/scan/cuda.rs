//! Scans for callers that bring their own stream, slices and workspace.

use super::Prefixes;
use super::kernel::{self, ScanArguments};
use super::plan::{ScanPlan, SharePlan, WavePlan};
use crate::codegen::{
    CostlyScanPolicy, Engine, Function, Named, Plan, Primitive, RowPolicy, SharePolicy, WavePolicy,
    cost,
};
use crate::cpu::PrefixKind;
use crate::cuda::checks::{assert_length_is_known, bind, check_call, check_streams};
use crate::cuda::kernels::{Lazy, Loaded, Request, context_multiprocessors};
use crate::cuda::launch::{Grid, blocks, launch};
use crate::cuda::levels::{self, Call};
use crate::cuda::library::require_driver;
use crate::cuda::{StreamBinder, Workspace, context_capability};
use crate::element::assert_element_size;
use crate::source::{Form, Slice, Source};
use crate::{Element, Error, Monoid, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut};
use std::marker::PhantomData;
use std::sync::Arc;

/// The scans of `T` with `Op`, loaded into a context. Cheap to clone.
///
/// `F` is the [form](Form) of what is scanned: a slice, unless you say otherwise.
///
/// Bracketing and results are those of [`scan`](crate::scan()); [`Prefixes`] says which.
///
/// # Launches
///
/// *Elements of up to 16 bytes*: a call enqueues one launch, which reads and writes every element
/// once. Slices may start anywhere. On GPUs of compute capability 9.0 to 10.x, from some millions
/// of elements on, slices that start at a multiple of 16 bytes are fastest. Other slices have
/// kernels of their own there, which the first such call loads. That takes some 0.5 s, unless they
/// are in the disk cache.
///
/// *Costly operators*: where combining takes longer than reading and writing does, a kernel that
/// combines only twice for each element is faster ([`Engine::Shares`]). Long inputs take it from 14
/// to 20 instructions on for elements of up to 8 bytes, and from 24 to 40 for those of up to 16.
/// Medium inputs take it from 32 to 48 on. [`cost`](crate::codegen::cost()) estimates the
/// instructions. GPUs before compute capability 8.0 do not have it.
///
/// *Longer elements*: a call enqueues one launch up to some thousands of elements, 3 up to a tile
/// squared, 5 up to a tile cubed, and so on. A tile has at least 256 elements. From 3 launches on,
/// every element is read twice; it is written once. Elements of up to 40 bytes whose operator
/// [commutes](Monoid::COMMUTATIVE) take one launch, and are read once, from some ten thousand of
/// them on: on GPUs of compute capability 9.0 to 10.x, if slices start at a multiple of 16 bytes
/// and the size of an element is a multiple of 4.
///
/// # The workspace
///
/// A call takes a [`Workspace`] of at least [`workspace_bytes`](Scan::workspace_bytes), which
/// serves the call's stream. Calls on one stream can share it, whatever their primitive, type,
/// operator and length. Inputs of up to some thousands of elements do not use it.
#[derive(Debug)]
pub struct Scan<T: Element, Op: Monoid<T>, F: Form<Item = T> = Slice<T>> {
    pub(crate) kernels: Kernels<T, F>,
    operator: Named<Op>,
}

/// The same, whatever the operator: this is compiled once for all of them.
#[derive(Debug)]
pub(crate) struct Kernels<T: Element, F: Form<Item = T>> {
    context: Arc<CudaContext>,
    engines: Engines,
    multiprocessors: u32,
    identity: fn() -> T,
    form: Named<F>,
}

/// What decides how an operator's scans are made.
struct Operator<T> {
    identity: fn() -> T,
    commutes: bool,
    cost: fn() -> u32,
}

/// The engines that a scan can choose from.
#[derive(Debug, Clone)]
enum Engines {
    Levels {
        /// The rows engine, for what few blocks hold.
        short: Option<Rows>,
        /// The levels engine (`Engine::Levels`).
        levels: Lazy,
        /// The wave engine, for what fills the GPU.
        wave: Option<Wave>,
    },
    OneLaunch {
        /// The rows engine (`Engine::Rows`), for what the GPU holds at once.
        short: Rows,
        /// The rows engine, for everything else that the wave engine does not take.
        long: Rows,
        wave: Option<Wave>,
        /// The shares engine, for much more than the GPU holds at once, if it is faster there.
        shares: Option<Shares>,
    },
    Shares {
        /// The rows engine, for what the GPU holds at once.
        short: Option<Rows>,
        /// The shares engine, for everything else.
        shares: Shares,
    },
}

/// The shares engine (`Engine::Shares`).
#[derive(Debug, Clone)]
struct Shares {
    kernels: Lazy,
    policy: SharePolicy,
}

impl Shares {
    fn new(request: Request, policy: SharePolicy) -> Shares {
        Shares {
            kernels: Lazy::new(request, Engine::Shares(policy)),
            policy,
        }
    }
}

/// The rows engine (`Engine::Rows`).
#[derive(Debug, Clone)]
struct Rows {
    kernels: Lazy,
    policy: RowPolicy,
}

impl Rows {
    fn new(request: Request, policy: RowPolicy) -> Rows {
        Rows {
            kernels: Lazy::new(request, Engine::Rows(policy)),
            policy,
        }
    }

    /// Longer elements do not leave a thread enough registers for its tree.
    const LARGEST_ELEMENT: usize = 16;

    /// Up to this many blocks, one launch takes less time than the launches of the levels engine.
    const FEW_BLOCKS: u64 = 32;
}

/// The wave engine (`Engine::Wave`), where it can run.
#[derive(Debug, Clone)]
struct Wave {
    kernels: Lazy,
    policy: WavePolicy,
    /// Those for unaligned addresses, no multiples of 16. They are loaded when one is met.
    anywhere: Option<(Lazy, WavePolicy)>,
    /// Whether it is to take short inputs too.
    always: bool,
}

impl Wave {
    /// Kernels and policy. `aligned` says that all addresses are multiples of
    /// [`WavePolicy::ALIGN`].
    fn for_addresses(&self, aligned: bool) -> Option<(&Lazy, WavePolicy)> {
        if self.policy.anywhere || aligned {
            return Some((&self.kernels, self.policy));
        }
        let (kernels, policy) = self.anywhere.as_ref()?;
        Some((kernels, *policy))
    }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> Clone for Scan<T, Op, F> {
    fn clone(&self) -> Self {
        Scan::with(self.kernels.clone())
    }
}

impl<T: Element, F: Form<Item = T>> Clone for Kernels<T, F> {
    fn clone(&self) -> Self {
        Kernels {
            context: self.context.clone(),
            engines: self.engines.clone(),
            multiprocessors: self.multiprocessors,
            identity: self.identity,
            form: PhantomData,
        }
    }
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>> Scan<T, Op, F> {
    /// Loads the kernels that calls of all lengths need. That takes under 1 µs if this process has
    /// them already, some 2 ms from the disk cache, and 0.5 to 1.2 s if they must be compiled.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong operator,
    /// [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        Kernels::load_lazily(context, Self::request(), Self::operator())?
            .loaded()
            .map(Scan::with)
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
        Kernels::load_lazily(context, Self::request(), Self::operator()).map(Scan::with)
    }

    /// Loads the kernels of one engine, which will be used for every length.
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
        Kernels::load_engine(context, Self::request(), Op::identity, engine).map(Scan::with)
    }

    fn request() -> Request {
        Request::of::<kernel::Scan<T, Op, F>>()
    }

    fn operator() -> Operator<T> {
        Operator {
            identity: Op::identity,
            commutes: Op::COMMUTATIVE,
            cost: cost::<T, Op>,
        }
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
    /// See [`Scan::load_lazily`].
    fn load_lazily(
        context: &Arc<CudaContext>,
        request: Request,
        operator: Operator<T>,
    ) -> Result<Self> {
        require_driver()?;
        let Operator {
            identity,
            commutes,
            cost,
        } = operator;
        let capability = context_capability(context)?;
        let wave = WavePolicy::for_form::<F>(capability)
            .filter(|&policy| Engine::Wave(policy).runs_on(capability));
        if size_of::<T::Accumulator>() > Rows::LARGEST_ELEMENT {
            let policy = RowPolicy::for_scan::<F>(capability, false);
            let short = Some(Rows::new(request, policy));
            let levels = Lazy::new(request, Engine::Levels);
            // To exchange large values costs more where the order of operands counts.
            let wave = wave.filter(|_| commutes).map(|policy| Wave {
                kernels: Lazy::new(request, Engine::Wave(policy)),
                policy,
                anywhere: None,
                always: false,
            });
            let engines = Engines::Levels {
                short,
                levels,
                wave,
            };
            return Kernels::with(engines, context, identity);
        }
        let costly = CostlyScanPolicy::of::<F>(capability, cost());
        let shares = costly.map(|costly| Shares::new(request, costly.shares));
        let engines = match (shares, costly.and_then(|costly| costly.short)) {
            (Some(shares), Some(short)) => Engines::Shares {
                short: Some(Rows::new(request, short)),
                shares,
            },
            (shares, _) => Self::one_launch(request, capability, wave, false, shares),
        };
        Kernels::with(engines, context, identity)
    }

    /// See [`Scan::load_engine`].
    fn load_engine(
        context: &Arc<CudaContext>,
        request: Request,
        identity: fn() -> T,
        engine: Engine,
    ) -> Result<Self> {
        require_driver()?;
        request.check(engine)?;
        let engines = match engine {
            Engine::Levels => Engines::Levels {
                short: None,
                levels: Lazy::new(request, engine),
                wave: None,
            },
            Engine::Rows(policy) => {
                let rows = Rows::new(request, policy);
                Engines::OneLaunch {
                    short: rows.clone(),
                    long: rows,
                    wave: None,
                    shares: None,
                }
            }
            Engine::Shares(policy) => Engines::Shares {
                short: None,
                shares: Shares::new(request, policy),
            },
            Engine::Wave(policy) => {
                let capability = context_capability(context)?;
                Self::one_launch(request, capability, Some(policy), true, None)
            }
        };
        Kernels::with(engines, context, identity)?.loaded()
    }

    fn with(engines: Engines, context: &Arc<CudaContext>, identity: fn() -> T) -> Result<Self> {
        const { assert_element_size::<T>() };
        const { assert_length_is_known::<F>() };
        Ok(Kernels {
            context: context.clone(),
            engines,
            multiprocessors: context_multiprocessors(context)?,
            identity,
            form: PhantomData,
        })
    }

    fn one_launch(
        request: Request,
        capability: u32,
        wave: Option<WavePolicy>,
        always: bool,
        shares: Option<Shares>,
    ) -> Engines {
        let rows = |long| Rows::new(request, RowPolicy::for_scan::<F>(capability, long));
        let lazy = |policy| Lazy::new(request, Engine::Wave(policy));
        Engines::OneLaunch {
            short: rows(false),
            long: rows(true),
            wave: wave.map(|policy| Wave {
                kernels: lazy(policy),
                policy,
                anywhere: policy
                    .anywhere_of::<F>()
                    .map(|policy| (lazy(policy), policy)),
                always,
            }),
            shares,
        }
    }

    /// The same, with all kernels loaded but those for unaligned addresses.
    fn loaded(self) -> Result<Self> {
        let rows = |rows: &Rows| rows.kernels.clone();
        let wave = |wave: &Wave| wave.kernels.clone();
        let of_shares = |shares: &Shares| shares.kernels.clone();
        let engines = match &self.engines {
            Engines::Levels {
                short,
                levels,
                wave: long,
            } => [
                short.as_ref().map(rows),
                Some(levels.clone()),
                long.as_ref().map(wave),
                None,
            ],
            Engines::OneLaunch {
                short,
                long,
                wave: longer,
                shares,
            } => [
                Some(rows(short)),
                Some(rows(long)),
                longer.as_ref().map(wave),
                shares.as_ref().map(of_shares),
            ],
            Engines::Shares { short, shares } => [
                short.as_ref().map(rows),
                Some(of_shares(shares)),
                None,
                None,
            ],
        };
        let engines = engines.iter().flatten();
        Lazy::load_all(engines, &self.context)?;
        Ok(self)
    }

    /// See [`Scan::workspace_bytes`].
    pub(crate) fn workspace_bytes(&self, len: usize) -> usize {
        let bytes = |rows: &Rows| ScanPlan::workspace_bytes::<T>(rows.policy, len);
        let of_shares = |shares: &Shares| SharePlan::new(shares.policy, len).workspace_bytes::<T>();
        match &self.engines {
            Engines::Levels { short, wave, .. } => {
                let levels = Plan::new::<T>(Primitive::Scan, len).workspace_bytes();
                let few = |rows: &Rows| {
                    let few = ScanPlan::workspace_bytes_for::<T>(rows.policy, Rows::FEW_BLOCKS);
                    bytes(rows).min(few)
                };
                let wave = wave.as_ref();
                let wave = wave.map(|wave| WavePlan::new(wave.policy, len).workspace_bytes::<T>());
                let rows = short.as_ref().map_or(0, few);
                rows.max(levels).max(wave.unwrap_or(0))
            }
            Engines::OneLaunch {
                short,
                long,
                wave,
                shares,
            } => {
                let wave = wave.as_ref();
                let wave = wave.map(|wave| WavePlan::new(wave.policy, len).workspace_bytes::<T>());
                let shares = shares.as_ref().map_or(0, of_shares);
                let rows = bytes(short).max(bytes(long));
                rows.max(wave.unwrap_or(0)).max(shares)
            }
            Engines::Shares { short, shares } => {
                of_shares(shares).max(short.as_ref().map_or(0, bytes))
            }
        }
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

    /// The same, with the address of the output and its length, which is that of the input.
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
        let bytes = self.workspace_bytes(len);
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
        };
        // SAFETY: the caller's. The workspace is this stream's alone, and as large as the plans
        // ask. The wave engine's addresses are looked at.
        unsafe { self.enqueue_by_length(stream, len, &call) }
    }

    /// # Safety
    ///
    /// As for [`levels::enqueue`].
    unsafe fn enqueue_by_length(
        &self,
        stream: &CudaStream,
        len: usize,
        call: &Call<F::Arguments, T::Accumulator>,
    ) -> Result<()> {
        let multiprocessors = self.multiprocessors;
        let plan = |rows: &Rows| ScanPlan::new(rows.policy, len, call.inclusive, multiprocessors);
        let aligned = call.output.is_multiple_of(WavePolicy::ALIGN)
            && F::is_aligned(&call.source, WavePolicy::ALIGN);
        let (short, long, wave) = match &self.engines {
            Engines::Levels {
                short,
                levels,
                wave,
            } => {
                if let Some(short) = short {
                    let plan = plan(short);
                    if plan.blocks <= Rows::FEW_BLOCKS {
                        // SAFETY: the caller's.
                        return unsafe { self.enqueue_rows(short, stream, &plan, len, call) };
                    }
                }
                if let Some(wave) = wave
                    && let Some((kernels, policy)) = wave.for_addresses(aligned)
                {
                    let plan = WavePlan::new(policy, len);
                    if 2 * plan.tiles(call.inclusive) > u64::from(multiprocessors) {
                        // SAFETY: the caller's, and the addresses were looked at.
                        return unsafe { self.enqueue_wave(kernels, stream, &plan, len, call) };
                    }
                }
                let plan = Plan::new::<T>(Primitive::Scan, len);
                let levels = levels.get(&self.context)?;
                // SAFETY: the caller's.
                return unsafe { levels::enqueue::<T, F>(levels, stream, &plan, call) };
            }
            Engines::Shares { short, shares } => {
                if let Some(short) = short {
                    let plan = plan(short);
                    if !plan.by_ticket {
                        // SAFETY: the caller's.
                        return unsafe { self.enqueue_rows(short, stream, &plan, len, call) };
                    }
                }
                // SAFETY: the caller's.
                return unsafe { self.enqueue_shares(shares, stream, len, call) };
            }
            Engines::OneLaunch {
                shares: Some(shares),
                ..
            } if SharePlan::new(shares.policy, len).is_long(multiprocessors) => {
                // SAFETY: the caller's.
                return unsafe { self.enqueue_shares(shares, stream, len, call) };
            }
            Engines::OneLaunch {
                short, long, wave, ..
            } => (short, long, wave),
        };
        let (rows, plan) = match plan(short) {
            ScanPlan {
                by_ticket: true, ..
            } => (long, plan(long)),
            fits => (short, fits),
        };
        if let Some(wave) = wave
            && (wave.always || plan.is_long(multiprocessors))
            && let Some((kernels, policy)) = wave.for_addresses(aligned)
        {
            let plan = WavePlan::new(policy, len);
            // SAFETY: the caller's, and the addresses were looked at.
            return unsafe { self.enqueue_wave(kernels, stream, &plan, len, call) };
        }
        // SAFETY: the caller's.
        unsafe { self.enqueue_rows(rows, stream, &plan, len, call) }
    }

    unsafe fn enqueue_rows(
        &self,
        rows: &Rows,
        stream: &CudaStream,
        plan: &ScanPlan,
        len: usize,
        call: &Call<F::Arguments, T::Accumulator>,
    ) -> Result<()> {
        let kernels = rows.kernels.get(&self.context)?;
        let grid = Grid::of_rows(plan, len)?;
        let function = &Function::new(kernel::ROWS);
        // SAFETY: the caller's.
        unsafe { one_launch::<T, F>(kernels, stream, function, grid, len, call, plan.by_ticket) }
    }

    unsafe fn enqueue_shares(
        &self,
        shares: &Shares,
        stream: &CudaStream,
        len: usize,
        call: &Call<F::Arguments, T::Accumulator>,
    ) -> Result<()> {
        let kernels = shares.kernels.get(&self.context)?;
        let plan = SharePlan::new(shares.policy, len);
        let by_ticket = plan.by_ticket(call.inclusive);
        let grid = Grid {
            blocks: blocks(plan.tiles(call.inclusive), len as u64)?,
            threads: plan.threads(),
            shared_bytes: plan.shared_bytes::<T>(),
        };
        let function = &Function::new(kernel::SHARES);
        // SAFETY: the caller's.
        unsafe { one_launch::<T, F>(kernels, stream, function, grid, len, call, by_ticket) }
    }

    unsafe fn enqueue_wave(
        &self,
        kernels: &Lazy,
        stream: &CudaStream,
        plan: &WavePlan,
        len: usize,
        call: &Call<F::Arguments, T::Accumulator>,
    ) -> Result<()> {
        let kernels = kernels.get(&self.context)?;
        let grid = Grid::of_wave(plan, call.inclusive, self.multiprocessors);
        let function = &Function::new(kernel::WAVE);
        // SAFETY: the caller's.
        unsafe { one_launch::<T, F>(kernels, stream, function, grid, len, call, true) }
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

/// Enqueues a kernel that scans in one launch.
///
/// # Safety
///
/// As for [`levels::enqueue`]. Also, if the engine is the wave engine, input and output must start
/// at multiples of 16, unless its policy says `anywhere`; and the workspace must be a [`Workspace`]
/// that serves the stream.
unsafe fn one_launch<T: Element, F: Form<Item = T>>(
    kernels: &Loaded,
    stream: &CudaStream,
    function: &Function<kernel::ArgumentsOf<T, F>>,
    grid: Grid,
    len: usize,
    call: &Call<F::Arguments, T::Accumulator>,
    by_ticket: bool,
) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    let arguments = ScanArguments {
        source: call.source,
        out: call.output,
        length: len as u64,
        workspace: call.workspace,
        init: call.init,
        seeded: u32::from(call.seeded),
        inclusive: u32::from(call.inclusive),
        by_ticket: u32::from(by_ticket),
    };
    // SAFETY: the caller's.
    unsafe { launch(kernels, stream, function, grid, arguments) }
}
