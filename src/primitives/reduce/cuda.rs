//! The reduction for callers that bring their own stream, slices and workspace.

use super::plan::ReducePlan;
use crate::codegen::{Engine, Kernel, Order, Plan, Primitive, RowPolicy};
use crate::cuda::kernels::Kernels;
use crate::cuda::launch::{Grid, arguments, launch};
use crate::cuda::levels::{Call, enqueue};
use crate::cuda::library::require_driver;
use crate::cuda::{Workspace, check_context};
use crate::element::assert_element_size;
use crate::{Element, Error, Monoid, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut};
use std::marker::PhantomData;
use std::sync::Arc;

/// The reduction of `T` with `Op`, loaded into a context. Cheap to clone.
///
/// Bracketing and results are those of [`reduce`](crate::reduce()). A call is one launch, and reads
/// every element once.
///
/// # The workspace
///
/// As for [`Scan`]; the two can share one. Inputs of up to some ten thousand elements do not use
/// it.
#[derive(Debug)]
pub struct Reduce<T: Element, Op: Monoid<T>> {
    context: Arc<CudaContext>,
    kernels: Arc<Kernels>,
    /// What the rows engine was compiled with; `None` for the levels engine.
    rows: Option<RowPolicy>,
    types: PhantomData<fn() -> (T, Op)>,
}

impl<T: Element, Op: Monoid<T>> Clone for Reduce<T, Op> {
    fn clone(&self) -> Self {
        Reduce {
            context: self.context.clone(),
            kernels: self.kernels.clone(),
            rows: self.rows,
            types: PhantomData,
        }
    }
}

impl<T: Element, Op: Monoid<T>> Reduce<T, Op> {
    /// Loads the kernels. That takes under 1 µs if this process has them already, some 1 ms from
    /// the disk cache, and 0.2 to 0.9 s if they must be compiled.
    ///
    /// # Errors
    ///
    /// [`Error::Library`] without driver or NVRTC, [`Error::Compile`] for a wrong operator,
    /// [`Error::Driver`].
    pub fn load(context: &Arc<CudaContext>) -> Result<Self> {
        const { assert_element_size::<T>() };
        require_driver()?;
        let order = Order::of::<T, Op>();
        Reduce::load_engine(context, Engine::Rows(RowPolicy::of_reduce::<T>(order)))
    }

    /// Loads the kernels of one engine: rows ([`Engine::Rows`]), or levels ([`Engine::Levels`]),
    /// which takes a launch for each level of its tree.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Reduce::load), and [`Error::Codegen`] for an engine that does not reduce,
    /// or a policy that it cannot have.
    pub fn load_engine(context: &Arc<CudaContext>, engine: Engine) -> Result<Self> {
        const { assert_element_size::<T>() };
        require_driver()?;
        engine.check::<T>(Primitive::Reduce)?;
        Ok(Reduce {
            context: context.clone(),
            kernels: Kernels::get::<T, Op>(context, Primitive::Reduce, engine)?,
            rows: match engine {
                Engine::Rows(rows) => Some(rows),
                _ => None,
            },
            types: PhantomData,
        })
    }

    /// The bytes of a [`Workspace`] that `len` elements need; they grow with `len`, and are below
    /// 1% of the elements' size for long inputs.
    pub fn workspace_bytes(&self, len: usize) -> usize {
        match self.rows {
            None => Plan::new::<T>(Primitive::Reduce, len).workspace_bytes(),
            Some(rows) => ReducePlan::workspace_bytes::<T>(rows, len),
        }
    }

    /// Enqueues the fold of `input`, or the identity if it is empty, into the first element of
    /// `output`.
    ///
    /// # Errors
    ///
    /// [`Error::Workspace`] or [`Error::Length`] if `workspace` or `output` is too small,
    /// [`Error::WorkspaceStream`] if the workspace serves another stream, [`Error::WrongDevice`] if
    /// something belongs to another context, [`Error::Driver`] if a launch fails.
    pub fn enqueue(
        &self,
        stream: &CudaStream,
        input: &impl DevicePtr<T>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
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
        workspace: &mut Workspace,
    ) -> Result<()> {
        self.run(stream, Some(init), input, output, workspace)
    }

    fn run(
        &self,
        stream: &CudaStream,
        init: Option<T>,
        input: &impl DevicePtr<T>,
        output: &mut impl DevicePtrMut<T>,
        workspace: &mut Workspace,
    ) -> Result<()> {
        let len = input.len();
        if output.is_empty() {
            return Err(Error::Length {
                input: 1,
                output: 0,
            });
        }
        let check = |what: &str, given: &CudaContext| check_context(&self.context, what, given);
        check("stream", stream.context())?;
        check("input", input.stream().context())?;
        check("output", output.stream().context())?;
        let workspace = workspace.arguments(stream, self.workspace_bytes(len))?;
        let (input, _reading) = input.device_ptr(stream);
        let (output, _writing) = output.device_ptr_mut(stream);
        let call = Call {
            input,
            output,
            workspace,
            init: init.unwrap_or_else(Op::identity).widen(),
            seeded: init.is_some(),
            inclusive: false,
        };
        let kernels = &self.kernels;
        // SAFETY: the slices belong to the context, are as long as the plan assumes, and are
        // borrowed until the launches are enqueued; afterwards the stream's order and cudarc's
        // events protect them. The workspace is this stream's alone.
        unsafe {
            match self.rows {
                None => {
                    let plan = Plan::new::<T>(Primitive::Reduce, len);
                    enqueue(kernels, stream, &plan, &call)
                }
                Some(rows) => {
                    let (order, multiprocessors) =
                        (Order::of::<T, Op>(), kernels.multiprocessors());
                    let plan = ReducePlan::new::<T>(rows, order, len, multiprocessors);
                    enqueue_reduce(kernels, stream, &plan, len, &call)
                }
            }
        }
    }
}

/// Enqueues the one launch of a reduction by the rows engine (`Engine::Rows`).
///
/// # Safety
///
/// As for [`enqueue`]; besides, the workspace must be a [`Workspace`](Workspace) that serves
/// the stream.
unsafe fn enqueue_reduce<A: Element>(
    kernels: &Kernels,
    stream: &CudaStream,
    plan: &ReducePlan,
    length: usize,
    call: &Call<A>,
) -> Result<()> {
    let (length, seeded) = (length as u64, u32::from(call.seeded));
    let grid = Grid {
        blocks: plan.blocks,
        threads: plan.threads,
        shared_bytes: 0,
    };
    let arguments = arguments![
        call.input,
        length,
        call.output,
        call.workspace.address,
        call.workspace.key,
        call.init,
        seeded,
        plan.chunks,
        plan.log_chunk,
        plan.log_batches
    ];
    // SAFETY: the arguments match the kernel's parameters, in the order and types that the template
    // declares; the caller vouches for the addresses.
    unsafe { launch(kernels, stream, Kernel::ReduceRows, 0, grid, arguments) }
}
