//! The steps that run on a GPU, and how long they take there.

use crate::clock::median;
use crate::data::{Data, Product};
use crate::operator::Operator;
use crate::orders::{AnyOrder, InOrder};
use crate::{Number, Result};
use std::cell::RefCell;
use std::sync::Arc;
use warpfold::codegen::{Engine, Layouts, Order, RowPolicy, WavePolicy};
use warpfold::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError, sys};
use warpfold::cuda::{Reduce, Scan, Sort, Workspace, allocate, download, require_timing, upload};
use warpfold::ladder::{self, Kernel, Loaded, Problem, Runner, Step};
use warpfold::source::Source;
use warpfold::{Error, Monoid, Prefixes, map, zip};

/// A GPU, with the input and the kernels of the ladder on it.
pub(crate) struct Gpu<T: Number> {
    stream: Arc<CudaStream>,
    capability: u32,
    factor: u32,
    loaded: Loaded<T>,
    calls: Calls<T>,
    items: CudaSlice<T>,
    second: CudaSlice<T>,
    /// What is copied before each call: see `time`.
    ahead: RefCell<[CudaSlice<u8>; 2]>,
}

/// More than the L2 cache holds.
const AHEAD_BYTES: usize = 128 << 20;

/// The results of a step, its time in microseconds, and the numbers that it took.
pub(crate) struct Timed<T> {
    pub(crate) results: Vec<T>,
    pub(crate) microseconds: f64,
    pub(crate) elements: usize,
}

/// The calls of an operator.
#[derive(Clone, Copy)]
pub(crate) struct Calls<T: Number> {
    load: fn(&Arc<CudaContext>, &[&Kernel]) -> warpfold::Result<Loaded<T>>,
    engine: Engines<T>,
}

type Engines<T> = fn(&Gpu<T>, Problem, &str, Order) -> Result<Option<Timed<T>>>;

impl<T: Number> Calls<T> {
    pub(crate) fn of<Op: Monoid<T>>() -> Calls<T> {
        Calls {
            load: Loaded::load::<Op, T::Product>,
            engine: Gpu::engine::<Op>,
        }
    }
}

impl<T: Number> Gpu<T> {
    /// Opens a GPU, copies the input to it, and compiles the ladder's kernels for it.
    pub(crate) fn open(
        ordinal: usize,
        factor: u32,
        op: &Operator<T>,
        data: &Data<T>,
    ) -> Result<Self> {
        require_timing()?;
        warpfold::Device::cuda(ordinal)?;
        let context = CudaContext::new(ordinal).map_err(failure)?;
        let (major, minor) = context.compute_capability().map_err(failure)?;
        // Not another stream: with only one there are no events between the calls.
        let stream = context.default_stream();
        let kernels: Vec<&Kernel> = ladder::steps()
            .filter(|step| step.is_sound())
            .filter_map(Step::kernel)
            .collect();
        Ok(Gpu {
            capability: (10 * major + minor).unsigned_abs(),
            factor,
            loaded: (op.gpu.load)(&context, &kernels)?,
            calls: op.gpu,
            items: upload(&stream, &data.items)?,
            second: upload(&stream, &data.second)?,
            ahead: RefCell::new([
                allocate(&stream, AHEAD_BYTES)?,
                allocate(&stream, AHEAD_BYTES)?,
            ]),
            stream,
        })
    }

    /// The GPU's name.
    pub(crate) fn name(&self) -> Result<String> {
        Ok(self.stream.context().name().map_err(failure)?)
    }

    /// The time of a copy of the input, in microseconds.
    pub(crate) fn time_copy(&mut self) -> Result<f64> {
        let bytes = self.items.len() * size_of::<T>();
        let from = allocate::<u8>(&self.stream, bytes)?;
        let mut to = allocate::<u8>(&self.stream, bytes)?;
        let stream = self.stream.clone();
        self.time(&mut || Ok(()), &mut || {
            Ok(stream.memcpy_dtod(&from, &mut to).map_err(failure)?)
        })
    }

    /// Runs and times a step. `None` if it is not for a GPU, or not for this one.
    pub(crate) fn run(&mut self, step: &Step, data: &Data<T>) -> Result<Option<Timed<T>>> {
        match step.runner {
            Runner::Kernel(ref kernel) if !kernel.races => self.kernel(kernel, data).map(Some),
            Runner::Engine(engine, order) => (self.calls.engine)(self, step.problem, engine, order),
            _ => Ok(None),
        }
    }

    fn kernel(&mut self, kernel: &Kernel, data: &Data<T>) -> Result<Timed<T>> {
        let shape = ladder::Shape {
            factor: self.factor,
            ..kernel.shape()
        };
        let inputs = (&data.items[..], &data.second[..]);
        let ready = self.loaded.ready(&self.stream, kernel, shape, inputs)?;
        // Both parts of a round call it, one after the other.
        let ready = RefCell::new(ready);
        ready.borrow_mut().reset()?;
        ready.borrow_mut().enqueue()?;
        let results = ready.borrow().results()?;
        let microseconds = self.time(&mut || Ok(ready.borrow_mut().reset()?), &mut || {
            Ok(ready.borrow_mut().enqueue()?)
        })?;
        let elements = ready.borrow().length();
        Ok(Timed {
            results,
            microseconds,
            elements,
        })
    }

    fn engine<Op: Monoid<T>>(
        &self,
        problem: Problem,
        engine: &str,
        order: Order,
    ) -> Result<Option<Timed<T>>> {
        match (problem, engine, order) {
            (Problem::Reduce, "levels", _) => self.reduce::<Op, _>(Engine::Levels, || &self.items),
            (Problem::Reduce, _, Order::Law) => self.reduce_rows::<InOrder<Op>, _>(|| &self.items),
            (Problem::Reduce, _, Order::Any) => self.reduce_rows::<AnyOrder<Op>, _>(|| &self.items),
            (Problem::Dot, ..) => self.reduce_rows::<InOrder<Op>, _>(|| {
                map::<Product<T>, _>(zip(&self.items, &self.second))
            }),
            (Problem::Scan, "levels", _) => self.scan::<Op>(Engine::Levels),
            (Problem::Scan, "wave", _) => match WavePolicy::for_capability::<T>(self.capability) {
                Some(policy) if Engine::Wave(policy).runs_on(self.capability) => {
                    self.scan::<Op>(Engine::Wave(policy))
                }
                _ => return Ok(None),
            },
            (Problem::Scan, ..) => {
                let policy = RowPolicy::for_scan(Layouts::of_slice::<T>(), self.capability, true);
                self.scan::<Op>(Engine::Rows(policy))
            }
            (Problem::Sort, ..) => self.sort(),
        }
        .map(Some)
    }

    fn reduce_rows<O: Monoid<T>, S: Source<CudaStream, Item = T>>(
        &self,
        source: impl Fn() -> S,
    ) -> Result<Timed<T>> {
        let policy = RowPolicy::for_reduce(
            Layouts::of::<S::Form>(),
            self.capability,
            Order::of::<T, O>(),
        );
        self.reduce::<O, S>(Engine::Rows(policy), source)
    }

    fn reduce<O: Monoid<T>, S: Source<CudaStream, Item = T>>(
        &self,
        engine: Engine,
        source: impl Fn() -> S,
    ) -> Result<Timed<T>> {
        let reduce = Reduce::<T, O, S::Form>::load_engine(self.stream.context(), engine)?;
        let bytes = reduce.workspace_bytes(self.items.len());
        self.library(bytes, 1, &mut |out, workspace| {
            reduce.enqueue(&self.stream, source(), out, workspace)
        })
    }

    fn scan<Op: Monoid<T>>(&self, engine: Engine) -> Result<Timed<T>> {
        let scan = Scan::<T, Op>::load_engine(self.stream.context(), engine)?;
        let (elements, prefixes) = (self.items.len(), Prefixes::exclusive());
        let bytes = scan.workspace_bytes(elements);
        self.library(bytes, elements, &mut |out, workspace| {
            scan.enqueue(&self.stream, prefixes, &self.items, out, workspace)
        })
    }

    fn sort(&self) -> Result<Timed<T>> {
        let sort = Sort::<T>::load(self.stream.context())?;
        let (elements, order) = (self.items.len(), warpfold::Order::ascending());
        let bytes = sort.workspace_bytes(elements);
        self.library(bytes, elements, &mut |out, workspace| {
            sort.enqueue(&self.stream, order, &self.items, out, workspace)
        })
    }

    /// Times a call of the library that takes a workspace and gives so many results.
    fn library(
        &self,
        workspace_bytes: usize,
        results: usize,
        enqueue: &mut dyn FnMut(&mut CudaSlice<T>, &mut Workspace) -> warpfold::Result<()>,
    ) -> Result<Timed<T>> {
        let mut workspace = Workspace::new(&self.stream, workspace_bytes)?;
        let mut out = allocate::<T>(&self.stream, results)?;
        let microseconds = self.time(&mut || Ok(()), &mut || {
            Ok(enqueue(&mut out, &mut workspace)?)
        })?;
        Ok(Timed {
            results: download(&self.stream, &out)?,
            microseconds,
            elements: self.items.len(),
        })
    }

    /// The median time of a call by the device's clock, in microseconds. What `reset` enqueues does
    /// not count. Then a copy keeps the GPU busy while the host enqueues the call, so that the time
    /// is the GPU's alone. It also leaves nothing of the input in the L2 cache.
    fn time(
        &self,
        reset: &mut dyn FnMut() -> Result<()>,
        call: &mut dyn FnMut() -> Result<()>,
    ) -> Result<f64> {
        let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        median(&mut || {
            reset()?;
            let [from, to] = &mut *self.ahead.borrow_mut();
            self.stream.memcpy_dtod(from, to).map_err(failure)?;
            let start = self.stream.record_event(flags).map_err(failure)?;
            call()?;
            let end = self.stream.record_event(flags).map_err(failure)?;
            let milliseconds = start.elapsed_ms(&end).map_err(failure)?;
            Ok(f64::from(milliseconds) * 1e3)
        })
    }
}

fn failure(error: DriverError) -> Error {
    Error::Driver {
        action: "running the ladder".to_owned(),
        cause: error.to_string(),
    }
}
