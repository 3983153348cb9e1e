//! The primitives for callers that bring their own stream, slices and workspace.

use super::context_capability;
use super::enqueue::{Call, enqueue, enqueue_wave};
use super::kernels::Kernels;
use super::library::require_driver;
use crate::codegen::{Engine, Plan, Policy, Primitive, WavePlan, WavePolicy};
use crate::cpu::Prefixes;
use crate::element::assert_element_size;
use crate::{Element, Error, Monoid, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut};
use std::marker::PhantomData;
use std::sync::Arc;

/// Levels of the workspace start at multiples of this many bytes.
const WORKSPACE_ALIGN: u64 = 16;

/// The reduction of `T` with `Op`, loaded into a context. Cheap to clone.
///
/// Bracketing and results are those of [`reduce`](crate::reduce()).
#[derive(Debug)]
pub struct Reduce<T: Element, Op: Monoid<T>> {
    loaded: Loaded,
    types: PhantomData<fn() -> (T, Op)>,
}

/// The scans of `T` with `Op`, loaded into a context. Cheap to clone.
///
/// Bracketing and results are those of [`scan`](crate::scan()). In the eight methods, `exclusive` or `inclusive` says whether
/// an element's own value takes part, `_from` that an `init` comes first, `_in_place` that the data is overwritten.
///
/// On GPUs of compute capability 9.0 to 10.x, each enqueues 1 launch, and reads and writes every element once. Elsewhere, and for slices that
/// do not start at a multiple of 16 bytes or elements of an unusual size (`[u8; 31]`), it is 1 launch up to
/// a tile of elements, 3 up to a tile squared, 5 beyond, and every element is read twice and written once.
///
/// # The workspace
///
/// It must be **zero before its first use** (the first 80 bytes are enough); every call leaves it ready for the next, whatever the
/// type, operator and length, as long as the slice starts at the same place. One workspace serves one call at a time: on
/// two streams, use two. A workspace that was not zeroed, or was written to, ends the kernel with an error, which leaves the context
/// unusable.
#[derive(Debug)]
pub struct Scan<T: Element, Op: Monoid<T>> {
    loaded: Loaded,
    wave: Option<Wave>,
    types: PhantomData<fn() -> (T, Op)>,
}

/// The wave engine, where it can run.
#[derive(Debug, Clone)]
struct Wave {
    kernels: Arc<Kernels>,
    policy: WavePolicy,
    /// Lengths below this one are left to the other engine.
    shortest: usize,
}

impl Wave {
    /// What the engine wants of addresses.
    const ALIGN: u64 = 16;
}

impl<T: Element, Op: Monoid<T>> Clone for Reduce<T, Op> {
    fn clone(&self) -> Self {
        Reduce {
            loaded: self.loaded.clone(),
            types: PhantomData,
        }
    }
}

impl<T: Element, Op: Monoid<T>> Clone for Scan<T, Op> {
    fn clone(&self) -> Self {
        Scan {
            loaded: self.loaded.clone(),
            wave: self.wave.clone(),
            types: PhantomData,
        }
    }
}

/// Kernels and the context that they are loaded into.
#[derive(Debug, Clone)]
struct Loaded {
    context: Arc<CudaContext>,
    kernels: Arc<Kernels>,
}

impl Loaded {
    fn new<T: Element, Op: Monoid<T>>(
        context: &Arc<CudaContext>,
        primitive: Primitive,
    ) -> Result<Loaded> {
        const { assert_element_size::<T>() };
        require_driver()?;
        Ok(Loaded {
            context: context.clone(),
            kernels: Kernels::get::<T, Op>(context, primitive, Engine::Blelloch)?,
        })
    }

    /// An error unless `stream` is one of the context's device.
    fn check(&self, what: &str, context: &CudaContext) -> Result<()> {
        if context.cu_ctx() == self.context.cu_ctx() {
            return Ok(());
        }
        Err(Error::WrongDevice {
            buffer: format!("another context ({what}, on cuda:{})", context.ordinal()),
            device: format!(
                "cuda:{}, where the kernels were loaded",
                self.context.ordinal()
            ),
        })
    }
}

/// The bytes to ask for, so that an aligned workspace can be found in any allocation.
fn with_alignment(bytes: usize) -> usize {
    // At least one byte, since CUDA allocates nothing for zero; the rest is slack for views at odd offsets.
    if bytes == 0 {
        1
    } else {
        bytes + WORKSPACE_ALIGN as usize
    }
}

/// The aligned start of a workspace of `given` bytes, which must leave room for `needed`.
fn align_workspace(address: u64, given: usize, needed: usize) -> Result<u64> {
    let aligned = address.next_multiple_of(WORKSPACE_ALIGN);
    if needed > 0 && (aligned - address) as usize + needed > given {
        return Err(Error::Workspace {
            needed: with_alignment(needed),
            given,
        });
    }
    Ok(aligned)
}

impl<T: Element, Op: Monoid<T>> Reduce<T, Op> {
    /// Loads the kernels: under 1 µs if this process has them already, under 1 ms from the disk cache, or else
    /// a compilation, of some 0.2 s.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong operator, [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        let loaded = Loaded::new::<T, Op>(context, Primitive::Reduce)?;
        Ok(Reduce {
            loaded,
            types: PhantomData,
        })
    }

    /// The workspace that `len` elements need, in bytes; it grows with `len`, and is below 1% of the elements' size.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        with_alignment(Plan::new::<T>(Primitive::Reduce, len).workspace_bytes())
    }

    /// Enqueues the fold of `input`, or the identity if it is empty, into the first element of `output`.
    ///
    /// # Errors
    ///
    /// [`Error::Workspace`] or [`Error::Length`] if `workspace` or `output` is too small, [`Error::WrongDevice`] if something belongs to
    /// another context, [`Error::Driver`] if a launch fails.
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        input: &impl DevicePtr<T>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut impl DevicePtrMut<u8>,
    ) -> Result<()> {
        self.run(stream, None, input, output, workspace)
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
        input: &impl DevicePtr<T>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut impl DevicePtrMut<u8>,
    ) -> Result<()> {
        self.run(stream, Some(init), input, output, workspace)
    }

    fn run(
        &self,
        stream: &CudaStream,
        init: Option<T>,
        input: &impl DevicePtr<T>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut impl DevicePtrMut<u8>,
    ) -> Result<()> {
        let plan = Plan::new::<T>(Primitive::Reduce, input.len());
        if output.is_empty() {
            return Err(Error::Length {
                input: 1,
                output: 0,
            });
        }
        self.loaded.check("stream", stream.context())?;
        self.loaded.check("input", input.stream().context())?;
        self.loaded.check("output", output.stream().context())?;
        self.loaded
            .check("workspace", workspace.stream().context())?;
        let given = workspace.num_bytes();
        let (input, _reading) = input.device_ptr(stream);
        let (output, _writing) = output.device_ptr_mut(stream);
        let (workspace, _working) = workspace.device_ptr_mut(stream);
        let call = Call {
            input,
            output,
            workspace: align_workspace(workspace, given, plan.workspace_bytes())?,
            init: init.unwrap_or_else(Op::identity).widen(),
            seeded: init.is_some(),
            inclusive: false,
        };
        // SAFETY: the slices belong to the context, are as long as the plan assumes, and are borrowed until
        // the launches are enqueued; afterwards the stream's order and cudarc's events protect them.
        unsafe { enqueue(&self.loaded.kernels, stream, &plan, &call) }
    }
}

/// What the methods of [`Scan`] share in their documentation and arguments.
macro_rules! scan_methods {
    ($($(#[$doc:meta])* $name:ident $in_place:ident: ($($init:ident)?), $prefixes:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// [`Error::Length`] if `output` is not as long as `input`, [`Error::Workspace`] if `workspace` is too small,
        /// [`Error::WrongDevice`] if something belongs to another context, [`Error::Driver`] if a launch fails.
        pub fn $name(
            &self,
            stream: &CudaStream,
            $($init: T,)?
            input: &impl DevicePtr<T>,
            output: &mut impl DevicePtrMut<T>,
            workspace: &mut impl DevicePtrMut<u8>,
        ) -> Result<()> {
            #[allow(unused_mut, unused_assignments)]
            let mut first = None;
            $(first = Some($init);)?
            self.run(stream, first, Prefixes::$prefixes, Some(input), output, workspace)
        }

        $(#[$doc])*
        /// The data is overwritten with the result.
        ///
        /// # Errors
        ///
        /// As for the method that does not work in place.
        pub fn $in_place(
            &self,
            stream: &CudaStream,
            $($init: T,)?
            data: &mut impl DevicePtrMut<T>,
            workspace: &mut impl DevicePtrMut<u8>,
        ) -> Result<()> {
            #[allow(unused_mut, unused_assignments)]
            let mut first = None;
            $(first = Some($init);)?
            let input: Option<&cudarc::driver::CudaSlice<T>> = None;
            self.run(stream, first, Prefixes::$prefixes, input, data, workspace)
        }
    )*};
}

impl<T: Element, Op: Monoid<T>> Scan<T, Op> {
    /// Loads the kernels: under 1 µs if this process has them already, under 1 ms from the disk cache, or else
    /// a compilation, of some 0.3 s.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong operator, [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        require_driver()?;
        let capability = context_capability(context)?;
        let wave = WavePolicy::for_capability::<T>(capability).map(Engine::Wave);
        let engine = wave.filter(|engine| engine.runs_on(capability));
        let mut scan = Scan::load_engine(context, engine.unwrap_or(Engine::Blelloch))?;
        if let Some(wave) = &mut scan.wave {
            // One launch of few blocks is hard to beat.
            wave.shortest = Policy::of::<T>(Primitive::Scan).tile() as usize + 1;
        }
        Ok(scan)
    }

    /// Loads the kernels of one engine, which will be used for every length. [`Engine::Wave`] takes the other's as
    /// well, for slices that do not start at a multiple of 16 bytes.
    ///
    /// # Errors
    ///
    /// As [`load`](Scan::load). The wave engine does not compile for GPUs that it cannot run on.
    pub fn load_engine(context: &Arc<CudaContext>, engine: Engine) -> Result<Self> {
        const { assert_element_size::<T>() };
        require_driver()?;
        let (kernels, wave) = match engine {
            Engine::Blelloch => (
                Kernels::get::<T, Op>(context, Primitive::Scan, engine)?,
                None,
            ),
            Engine::Wave(policy) => {
                let (blelloch, wave) =
                    Kernels::get_both::<T, Op>(context, Primitive::Scan, engine)?;
                let wave = Wave {
                    kernels: wave,
                    policy,
                    shortest: 0,
                };
                (blelloch, Some(wave))
            }
        };
        Ok(Scan {
            loaded: Loaded {
                context: context.clone(),
                kernels,
            },
            wave,
            types: PhantomData,
        })
    }

    /// The workspace that `len` elements need, in bytes; it grows with `len`, and is below 1% of the elements' size
    /// for long inputs.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        with_alignment(self.needed_bytes(len))
    }

    fn needed_bytes(&self, len: usize) -> usize {
        let levels = Plan::new::<T>(Primitive::Scan, len).workspace_bytes();
        let wave = self.wave.as_ref();
        let wave = wave.map(|wave| WavePlan::new::<T>(wave.policy, len).workspace_bytes());
        levels.max(wave.unwrap_or(0))
    }

    scan_methods! {
        /// Enqueues the exclusive scan: every element becomes the fold of those before it.
        exclusive exclusive_in_place: (), Exclusive;
        /// Enqueues the exclusive scan that starts with `init`.
        exclusive_from exclusive_from_in_place: (init), Exclusive;
        /// Enqueues the inclusive scan: every element becomes the fold of those up to and with it.
        inclusive inclusive_in_place: (), Inclusive;
        /// Enqueues the inclusive scan that starts with `init`.
        inclusive_from inclusive_from_in_place: (init), Inclusive;
    }

    pub(super) fn run(
        &self,
        stream: &CudaStream,
        init: Option<T>,
        prefixes: Prefixes,
        input: Option<&impl DevicePtr<T>>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut impl DevicePtrMut<u8>,
    ) -> Result<()> {
        let len = output.len();
        if let Some(input) = input {
            if input.len() != len {
                return Err(Error::Length {
                    input: input.len(),
                    output: len,
                });
            }
            self.loaded.check("input", input.stream().context())?;
        }
        self.loaded.check("stream", stream.context())?;
        self.loaded.check("output", output.stream().context())?;
        self.loaded
            .check("workspace", workspace.stream().context())?;
        let given = workspace.num_bytes();
        let (output, _writing) = output.device_ptr_mut(stream);
        let (input, _reading) = input.map(|input| input.device_ptr(stream)).unzip();
        let (workspace, _working) = workspace.device_ptr_mut(stream);
        let call = Call {
            input: input.unwrap_or(output),
            output,
            workspace: align_workspace(workspace, given, self.needed_bytes(len))?,
            init: init.unwrap_or_else(Op::identity).widen(),
            seeded: init.is_some(),
            inclusive: prefixes == Prefixes::Inclusive,
        };
        let aligned = (call.input | call.output).is_multiple_of(Wave::ALIGN);
        if let Some(wave) = &self.wave
            && aligned
            && len >= wave.shortest
        {
            let plan = WavePlan::new::<T>(wave.policy, len);
            // SAFETY: as below; and the addresses were looked at. That the workspace starts with zeros is the caller's
            // part of the contract; if it is broken, the kernel ends with an error.
            return unsafe { enqueue_wave(&wave.kernels, stream, &plan, len, &call) };
        }
        let plan = Plan::new::<T>(Primitive::Scan, len);
        // SAFETY: the slices belong to the context, are as long as the plan assumes, and are borrowed until
        // the launches are enqueued; afterwards the stream's order and cudarc's events protect them.
        unsafe { enqueue(&self.loaded.kernels, stream, &plan, &call) }
    }
}
