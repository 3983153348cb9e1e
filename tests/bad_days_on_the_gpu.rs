//! What may happen on a bad day: reused memory, graphs that take turns, other kernels that fill the
//! GPU, data that lies on the host, calls that do not fit.

use crate::support::data::{Sample, assert_same, sample};
use crate::support::spinner::{self, Spinner, alone};
use crate::support::{oracle, skip, stream};
use std::sync::Arc;
use warpfold::Prefixes;
use warpfold::codegen::{Engine, RowPolicy, WavePolicy};
use warpfold::cuda::cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use warpfold::cuda::cudarc::driver::{
    CudaContext, CudaGraph, CudaSlice, CudaStream, DeviceRepr, UnifiedSlice, ValidAsZeroBits,
};
use warpfold::cuda::nvrtc::{Target, compile};
use warpfold::cuda::{Reduce, Scan, Workspace};
use warpfold::ops::Add;
use warpfold::{Error, Monoid, Result};

/// The wave engine for `T`, if the GPU can run it.
fn wave<T: Sample>(context: &CudaContext) -> Option<Engine> {
    let (major, minor) = context.compute_capability().unwrap();
    let capability = (10 * major + minor) as u32;
    let engine = Engine::Wave(WavePolicy::for_capability::<T>(capability)?);
    engine.runs_on(capability).then_some(engine)
}

/// [`assert_same`], which is slow, only where bits differ.
#[track_caller]
fn assert_bits<T: Sample>(got: &[T], expected: &[T], what: &str) {
    let bytes = warpfold::bytemuck::cast_slice::<T, u8>;
    if bytes(got) != bytes(expected) {
        assert_same(got, expected, what);
    }
}

/// One input, and what it gives.
struct Case<T> {
    data: Vec<T>,
    exclusive: Vec<T>,
    inclusive: Vec<T>,
    total: T,
}

impl<T: Sample> Case<T> {
    fn new<Op: Monoid<T>>(length: usize, seed: u64) -> Case<T> {
        let data = sample::<T>(length, seed);
        Case {
            exclusive: oracle::exclusive::<T, Op>(&data, None),
            inclusive: oracle::inclusive::<T, Op>(&data, None),
            total: oracle::reduce::<T, Op>(&data, None),
            data,
        }
    }
}

// ---- memory that comes back ----

/// Sums of different inputs of one shape.
struct Sums<T: Sample>
where
    Add: Monoid<T>,
{
    scan: Scan<T, Add>,
    reduce: Reduce<T, Add>,
    cases: Vec<Case<T>>,
    inputs: Vec<CudaSlice<T>>,
    output: CudaSlice<T>,
    total: CudaSlice<T>,
    downloaded: Vec<T>,
}

impl<T: Sample + DeviceRepr + ValidAsZeroBits> Sums<T>
where
    Add: Monoid<T>,
{
    const LENGTH: usize = 1 << 20;

    fn new(context: &Arc<CudaContext>, stream: &Arc<CudaStream>) -> Self {
        let case = |seed| Case::new::<Add>(Self::LENGTH, seed);
        let cases: Vec<_> = (0..3).map(case).collect();
        let upload = |case: &Case<T>| stream.clone_htod(&case.data).unwrap();
        Sums {
            scan: Scan::load(context).unwrap(),
            reduce: Reduce::load(context).unwrap(),
            inputs: cases.iter().map(upload).collect(),
            output: stream.alloc_zeros(Self::LENGTH).unwrap(),
            total: stream.alloc_zeros(1).unwrap(),
            downloaded: cases[0].data.clone(),
            cases,
        }
    }

    /// A scan and a reduction, each in its own workspace, which is dropped while they run.
    fn call(&mut self, stream: &Arc<CudaStream>, which: usize) {
        let case = &self.cases[which];
        let input = &self.inputs[which];
        let bytes = self.scan.workspace_bytes(Self::LENGTH);
        let mut workspace = Workspace::new(stream, bytes).unwrap();
        let output = &mut self.output;
        self.scan
            .enqueue(stream, Prefixes::exclusive(), input, output, &mut workspace)
            .unwrap();
        drop(workspace);
        let bytes = self.reduce.workspace_bytes(Self::LENGTH);
        let mut workspace = Workspace::new(stream, bytes).unwrap();
        let total = &mut self.total;
        self.reduce
            .enqueue(stream, input, total, &mut workspace)
            .unwrap();
        drop(workspace);
        let what = std::any::type_name::<T>();
        stream
            .memcpy_dtoh(&self.output, &mut self.downloaded)
            .unwrap();
        stream.synchronize().unwrap();
        assert_bits(&self.downloaded, &case.exclusive, what);
        assert_bits(
            &stream.clone_dtoh(&self.total).unwrap(),
            &[case.total],
            what,
        );
    }
}

/// The pool gives the same memory to one workspace after the other, with everything that was left
/// in it.
#[test]
fn a_thousand_workspaces_one_after_the_other_stay_right() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let mut integers = Sums::<u32>::new(&context, &stream);
    let mut floats = Sums::<f32>::new(&context, &stream);
    for round in 0..500 {
        // Two of each type in every round, of other data than the last.
        for which in [round % 3, (round + 1) % 3] {
            integers.call(&stream, which);
            floats.call(&stream, which);
        }
    }
}

// ---- graphs ----

fn capture(stream: &Arc<CudaStream>, work: impl FnOnce() -> Result<()>) -> CudaGraph {
    stream
        .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        .unwrap();
    let result = work();
    let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0));
    result.unwrap();
    graph.unwrap().expect("something was captured")
}

/// Two graphs and plain calls, of different types and engines, in one workspace.
#[test]
fn graphs_that_share_a_workspace_stay_right_for_hundreds_of_launches() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let length = 300_001;
    let float_cases: Vec<_> = (0..3)
        .map(|seed| Case::<f32>::new::<Add>(length, seed))
        .collect();
    let integer_cases: Vec<_> = (0..5)
        .map(|seed| Case::<u64>::new::<Add>(length, seed))
        .collect();
    let integers = match wave::<u64>(&context) {
        Some(engine) => Scan::<u64, Add>::load_engine(&context, engine),
        None => Scan::load(&context),
    }
    .unwrap();
    let floats = Scan::<f32, Add>::load(&context).unwrap();
    let reduce = Reduce::<f32, Add>::load(&context).unwrap();
    let bytes = [
        integers.workspace_bytes(length),
        floats.workspace_bytes(length),
        reduce.workspace_bytes(length),
    ];
    let mut workspace = Workspace::new(&stream, bytes.into_iter().max().unwrap()).unwrap();
    let mut float_input = stream.alloc_zeros::<f32>(length).unwrap();
    let mut float_output = stream.alloc_zeros::<f32>(length).unwrap();
    let mut total = stream.alloc_zeros::<f32>(1).unwrap();
    let mut integer_input = stream.alloc_zeros::<u64>(length).unwrap();
    let mut integer_output = stream.alloc_zeros::<u64>(length).unwrap();

    let first = capture(&stream, || {
        floats.enqueue(
            &stream,
            Prefixes::exclusive(),
            &float_input,
            &mut float_output,
            &mut workspace,
        )?;
        reduce.enqueue(&stream, &float_input, &mut total, &mut workspace)
    });
    let second = capture(&stream, || {
        let (input, output) = (&integer_input, &mut integer_output);
        integers.enqueue(
            &stream,
            Prefixes::inclusive(),
            input,
            output,
            &mut workspace,
        )
    });
    // Each round has 3 launches in the workspace, and now and then one more.
    for round in 0..110 {
        let what = format!("round {round}");
        let floats_now = &float_cases[round % float_cases.len()];
        let integers_now = &integer_cases[round % integer_cases.len()];
        stream
            .memcpy_htod(&floats_now.data, &mut float_input)
            .unwrap();
        stream
            .memcpy_htod(&integers_now.data, &mut integer_input)
            .unwrap();
        first.launch().unwrap();
        second.launch().unwrap();
        let got = stream.clone_dtoh(&float_output).unwrap();
        assert_bits(&got, &floats_now.exclusive, &what);
        let got = stream.clone_dtoh(&total).unwrap();
        assert_bits(&got, &[floats_now.total], &what);
        let got = stream.clone_dtoh(&integer_output).unwrap();
        assert_bits(&got, &integers_now.inclusive, &what);
        if round % 7 == 0 {
            let (input, output) = (&float_input, &mut float_output);
            floats
                .enqueue(
                    &stream,
                    Prefixes::inclusive(),
                    input,
                    output,
                    &mut workspace,
                )
                .unwrap();
            let got = stream.clone_dtoh(&float_output).unwrap();
            assert_bits(&got, &floats_now.inclusive, &what);
        }
    }
}

// ---- other kernels ----

#[test]
fn the_kernel_that_spins_compiles() {
    match warpfold::cuda::nvrtc::version() {
        Ok(_) => drop(compile(spinner::SOURCE, "spin.cu", Target::Cubin(90)).unwrap()),
        Err(error) => skip("nvrtc", &error.to_string()),
    }
}

/// A call on a GPU that has one multiprocessor free.
struct Call {
    what: String,
    enqueue: Box<Enqueue>,
    /// Of the result that was enqueued last.
    check: Box<Check>,
}

type Enqueue = dyn FnMut(&Arc<CudaStream>);
type Check = dyn FnMut(&Arc<CudaStream>, &str);

fn scan_call(
    context: &Arc<CudaContext>,
    stream: &Arc<CudaStream>,
    engine: Option<Engine>,
    length: usize,
) -> Call {
    let scan = match engine {
        Some(engine) => Scan::<f32, Add>::load_engine(context, engine),
        None => Scan::load(context),
    }
    .unwrap();
    let data = sample::<f32>(length, 1);
    let expected = oracle::exclusive::<f32, Add>(&data, None);
    let input = stream.clone_htod(&data).unwrap();
    let output = stream.alloc_zeros::<f32>(length).unwrap();
    let output = Arc::new(std::sync::Mutex::new(output));
    let result = output.clone();
    let mut workspace = Workspace::new(stream, scan.workspace_bytes(length)).unwrap();
    Call {
        what: format!("scan of {length} by {engine:?}"),
        enqueue: Box::new(move |stream| {
            let output = &mut *output.lock().unwrap();
            stream.memset_zeros(output).unwrap();
            scan.enqueue(
                stream,
                Prefixes::exclusive(),
                &input,
                output,
                &mut workspace,
            )
            .unwrap();
        }),
        check: Box::new(move |stream, what| {
            let got = stream.clone_dtoh(&*result.lock().unwrap()).unwrap();
            assert_bits(&got, &expected, what);
        }),
    }
}

fn reduce_call<T: Sample + DeviceRepr + ValidAsZeroBits>(
    context: &Arc<CudaContext>,
    stream: &Arc<CudaStream>,
    length: usize,
) -> Call
where
    Add: Monoid<T>,
{
    let reduce = Reduce::<T, Add>::load(context).unwrap();
    let data = sample::<T>(length, 2);
    let expected = oracle::reduce::<T, Add>(&data, None);
    let input = stream.clone_htod(&data).unwrap();
    let output = stream.alloc_zeros::<T>(1).unwrap();
    let output = Arc::new(std::sync::Mutex::new(output));
    let result = output.clone();
    let mut workspace = Workspace::new(stream, reduce.workspace_bytes(length)).unwrap();
    Call {
        what: format!("reduction of {length} {}", std::any::type_name::<T>()),
        enqueue: Box::new(move |stream| {
            let output = &mut *output.lock().unwrap();
            stream.memset_zeros(output).unwrap();
            reduce
                .enqueue(stream, &input, output, &mut workspace)
                .unwrap();
        }),
        check: Box::new(move |stream, what| {
            let got = stream.clone_dtoh(&*result.lock().unwrap()).unwrap();
            assert_bits(&got, &[expected], what);
        }),
    }
}

/// No block waits for one that cannot start yet: neither for its result, nor for its place.
#[test]
fn one_free_multiprocessor_is_enough() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let name = concat!(module_path!(), "::one_free_multiprocessor_is_enough");
    alone(name, || one_free_multiprocessor(&context, &stream));
}

fn one_free_multiprocessor(context: &Arc<CudaContext>, stream: &Arc<CudaStream>) {
    // By the blocks' index, as long as all fit an idle GPU; by ticket; and by the wave engine.
    let rows = Engine::Rows(RowPolicy::of_scan::<f32>(true));
    let mut calls = vec![
        scan_call(context, stream, None, 1 << 18),
        scan_call(context, stream, None, 1 << 20),
        scan_call(context, stream, Some(rows), 5_000_000),
        reduce_call::<f32>(context, stream, 1 << 22),
        reduce_call::<f32>(context, stream, 1 << 26),
        reduce_call::<u32>(context, stream, 1 << 22),
    ];
    if let Some(wave) = wave::<f32>(context) {
        calls.push(scan_call(context, stream, Some(wave), 1 << 20));
        calls.push(scan_call(context, stream, Some(wave), 1 << 24));
    }
    // The driver loads a kernel at its first launch, and may wait for all others then.
    for Call {
        what,
        enqueue,
        check,
    } in &mut calls
    {
        enqueue(stream);
        check(stream, &format!("{what}, idle GPU"));
    }
    let Some(spinner) = Spinner::all_but_one(context) else {
        return skip("cuda", "there is no second multiprocessor");
    };
    for Call {
        what,
        enqueue,
        check,
    } in &mut calls
    {
        for _ in 0..3 {
            enqueue(stream);
            assert!(
                spinner.lets_end(stream),
                "{what} does not end while other multiprocessors are busy"
            );
            assert!(spinner.is_running(), "{what}: the others were not busy");
            check(stream, &format!("{what}, busy GPU"));
        }
    }
}

// ---- managed memory ----

/// Scans and reductions of what the host has just touched, in launches that overlap.
#[test]
fn memory_that_lies_on_the_host_is_read_right() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let concurrent = Attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
    if context.attribute(concurrent).unwrap() == 0 {
        return skip("cuda", "this GPU shares no memory with a host at work");
    }
    let rows = Scan::<f32, Add>::load(&context).unwrap();
    check_managed(&context, &stream, &rows, 1 << 18, 1000);
    if let Some(wave) = wave::<f32>(&context) {
        let wave = Scan::<f32, Add>::load_engine(&context, wave).unwrap();
        check_managed(&context, &stream, &wave, 1 << 22, 100);
    }
}

fn check_managed(
    context: &Arc<CudaContext>,
    stream: &Arc<CudaStream>,
    scan: &Scan<f32, Add>,
    length: usize,
    rounds: usize,
) {
    let reduce = Reduce::<f32, Add>::load(context).unwrap();
    let cases: Vec<_> = (0..3)
        .map(|seed| {
            let case = Case::<f32>::new::<Add>(length, seed);
            let again = oracle::inclusive::<f32, Add>(&case.exclusive, None);
            (case, again)
        })
        .collect();
    let managed = |length: usize| -> UnifiedSlice<f32> {
        // SAFETY: any bits are floats.
        unsafe { context.alloc_unified(length, true) }.unwrap()
    };
    let [mut input, mut output, mut again] = [(); 3].map(|()| managed(length));
    let mut total = managed(1);
    let bytes = scan
        .workspace_bytes(length)
        .max(reduce.workspace_bytes(length));
    let mut workspace = Workspace::new(stream, bytes).unwrap();
    for round in 0..rounds {
        let (case, expected_again) = &cases[round % cases.len()];
        // The GPU is idle, and the pages move to the host.
        input.as_mut_slice().unwrap().copy_from_slice(&case.data);
        for slice in [&mut output, &mut again, &mut total] {
            slice.as_mut_slice().unwrap().fill(f32::NAN);
        }
        // Each launch fetches, before it waits for the one before, what that one writes.
        scan.enqueue(
            stream,
            Prefixes::exclusive(),
            &input,
            &mut output,
            &mut workspace,
        )
        .unwrap();
        scan.enqueue(
            stream,
            Prefixes::inclusive(),
            &output,
            &mut again,
            &mut workspace,
        )
        .unwrap();
        reduce
            .enqueue(stream, &input, &mut total, &mut workspace)
            .unwrap();
        // Without event tracking nothing else waits.
        stream.synchronize().unwrap();
        let what = format!("{length} elements in managed memory, round {round}");
        assert_bits(output.as_slice().unwrap(), &case.exclusive, &what);
        assert_bits(again.as_slice().unwrap(), expected_again, &what);
        assert_bits(total.as_slice().unwrap(), &[case.total], &what);
    }
}

// ---- calls that do not fit ----

/// A scan and a reduction of one length, with buffers.
struct Calls {
    scan: Scan<f32, Add>,
    reduce: Reduce<f32, Add>,
    case: Case<f32>,
    input: CudaSlice<f32>,
    output: CudaSlice<f32>,
    total: CudaSlice<f32>,
}

impl Calls {
    const LENGTH: usize = 1 << 20;

    fn new(context: &Arc<CudaContext>, stream: &Arc<CudaStream>) -> Calls {
        let case = Case::new::<Add>(Self::LENGTH, 3);
        Calls {
            scan: Scan::load(context).unwrap(),
            reduce: Reduce::load(context).unwrap(),
            input: stream.clone_htod(&case.data).unwrap(),
            output: stream.alloc_zeros(Self::LENGTH).unwrap(),
            total: stream.alloc_zeros(1).unwrap(),
            case,
        }
    }

    /// What a scan, a scan in place and a reduction return.
    fn errors(&mut self, stream: &Arc<CudaStream>, workspace: &mut Workspace) -> [Error; 3] {
        let (input, output) = (&self.input, &mut self.output);
        [
            self.scan
                .enqueue(stream, Prefixes::exclusive(), input, output, workspace),
            self.scan
                .enqueue_in_place(stream, Prefixes::inclusive(), output, workspace),
            self.reduce
                .enqueue(stream, input, &mut self.total, workspace),
        ]
        .map(Result::unwrap_err)
    }

    #[track_caller]
    fn check(&mut self, stream: &Arc<CudaStream>, workspace: &mut Workspace, what: &str) {
        let (input, output) = (&self.input, &mut self.output);
        self.scan
            .enqueue(stream, Prefixes::exclusive(), input, output, workspace)
            .unwrap();
        self.reduce
            .enqueue(stream, input, &mut self.total, workspace)
            .unwrap();
        let got = stream.clone_dtoh(&self.output).unwrap();
        assert_bits(&got, &self.case.exclusive, what);
        let got = stream.clone_dtoh(&self.total).unwrap();
        assert_bits(&got, &[self.case.total], what);
    }
}

#[test]
fn a_workspace_that_is_too_small_is_an_error_until_it_grows() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let mut calls = Calls::new(&context, &stream);
    let mut workspace = Workspace::new(&stream, 1).unwrap();
    let given = workspace.bytes();
    let needed = [
        calls.scan.workspace_bytes(Calls::LENGTH),
        calls.reduce.workspace_bytes(Calls::LENGTH),
    ];
    assert!(needed.iter().all(|&needed| given < needed));
    let [scan, reduce] = needed.map(|needed| Error::Workspace { needed, given });
    assert_eq!(
        calls.errors(&stream, &mut workspace),
        [scan.clone(), scan, reduce]
    );
    for bytes in needed {
        workspace.grow(bytes).unwrap();
        assert!(workspace.bytes() >= bytes);
    }
    calls.check(&stream, &mut workspace, "a workspace that grew");
    let bytes = workspace.bytes();
    workspace.grow(1).unwrap();
    assert_eq!(workspace.bytes(), bytes);
    calls.check(&stream, &mut workspace, "a workspace that had room");
}

#[test]
fn a_workspace_of_another_stream_is_an_error_until_it_moves() {
    let Some((context, first)) = stream() else {
        return;
    };
    let second = context.new_stream().unwrap();
    let mut calls = Calls::new(&context, &first);
    let bytes = calls
        .scan
        .workspace_bytes(Calls::LENGTH)
        .max(calls.reduce.workspace_bytes(Calls::LENGTH));
    let mut workspace = Workspace::new(&first, bytes).unwrap();
    assert_eq!(workspace.stream().cu_stream(), first.cu_stream());
    calls.check(&first, &mut workspace, "the stream that it was made for");
    for error in calls.errors(&second, &mut workspace) {
        assert_eq!(error, Error::WorkspaceStream);
    }
    for (from, to) in [(&first, &second), (&second, &first)] {
        workspace.move_to(to).unwrap();
        assert_eq!(workspace.stream().cu_stream(), to.cu_stream());
        for error in calls.errors(from, &mut workspace) {
            assert_eq!(error, Error::WorkspaceStream);
        }
        calls.check(to, &mut workspace, "the stream that it moved to");
    }
}

/// Calls on two streams in turn. One workspace moves between them, and nothing else orders them.
#[test]
fn a_workspace_that_moves_waits_for_the_calls_so_far() {
    let Some((context, first)) = stream() else {
        return;
    };
    let second = context.new_stream().unwrap();
    let scan = Scan::<f32, Add>::load(&context).unwrap();
    let length = (1 << 22) + 3;
    let mut expected = sample::<f32>(length, 4);
    let [mut of_first, mut of_second] = [(); 2].map(|()| first.clone_htod(&expected).unwrap());
    first.synchronize().unwrap();
    let mut workspace = Workspace::new(&first, scan.workspace_bytes(length)).unwrap();
    for _ in 0..10 {
        for (stream, values) in [(&first, &mut of_first), (&second, &mut of_second)] {
            workspace.move_to(stream).unwrap();
            scan.enqueue_in_place(stream, Prefixes::inclusive(), values, &mut workspace)
                .unwrap();
        }
        expected = oracle::inclusive::<f32, Add>(&expected, None);
    }
    for (stream, values) in [(&first, &of_first), (&second, &of_second)] {
        let got = stream.clone_dtoh(values).unwrap();
        assert_bits(&got, &expected, "in place, 10 times");
    }
}

/// Memory that a graph would allocate and zero at each replay, or never.
#[test]
fn a_workspace_is_not_made_while_its_stream_is_captured() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let mut calls = Calls::new(&context, &stream);
    let bytes = calls.scan.workspace_bytes(Calls::LENGTH);
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    let before = workspace.bytes();
    let graph = capture(&stream, || {
        assert!(Workspace::new(&stream, bytes).is_err());
        assert!(workspace.grow(4 * before).is_err());
        let (input, output) = (&calls.input, &mut calls.output);
        calls.scan.enqueue(
            &stream,
            Prefixes::exclusive(),
            input,
            output,
            &mut workspace,
        )
    });
    assert_eq!(workspace.bytes(), before);
    for _ in 0..3 {
        stream.memset_zeros(&mut calls.output).unwrap();
        graph.launch().unwrap();
        let got = stream.clone_dtoh(&calls.output).unwrap();
        assert_bits(&got, &calls.case.exclusive, "a replay");
    }
}

/// A second context on the same GPU. The function that makes one has another name in each version
/// of CUDA.
fn another_context(context: &CudaContext) -> Arc<CudaContext> {
    type Create =
        unsafe extern "C" fn(*mut sys::CUcontext, std::ffi::c_uint, sys::CUdevice) -> sys::CUresult;
    let names = ["libcuda.so.1", "libcuda.so", "nvcuda.dll"];
    // SAFETY: the driver is loaded already, and has run its initialisers.
    let open = |name| unsafe { libloading::Library::new(name) }.ok();
    let driver = names.into_iter().find_map(open).expect("the driver");
    let mut created = std::ptr::null_mut();
    // SAFETY: that is the function's type, and the pointer is valid for a write.
    let result = unsafe {
        let create = driver.get::<Create>(b"cuCtxCreate_v2\0").unwrap();
        create(&mut created, 0, context.cu_device())
    };
    result.result().unwrap();
    // SAFETY: the context was made above, and is handed over.
    let other = unsafe { CudaContext::from_raw_context(0, context.cu_device(), created) }.unwrap();
    // SAFETY: the test works on one stream of it.
    unsafe { other.disable_event_tracking() };
    other
}

#[test]
fn what_belongs_to_another_context_is_an_error() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let mut calls = Calls::new(&context, &stream);
    let bytes = calls
        .scan
        .workspace_bytes(Calls::LENGTH)
        .max(calls.reduce.workspace_bytes(Calls::LENGTH));
    let other = another_context(&context);
    let stranger = other.new_stream().unwrap();
    let mut strange = Workspace::new(&stranger, bytes).unwrap();
    let wrong = |what: &str| Error::WrongDevice {
        buffer: format!("another context ({what}, on cuda:0)"),
        device: "cuda:0, where the kernels were loaded".into(),
    };
    // A workspace of the other context, its stream, and both.
    let error = wrong("workspace");
    assert_eq!(
        calls.errors(&stream, &mut strange),
        [(); 3].map(|()| error.clone())
    );
    let error = wrong("stream");
    assert_eq!(
        calls.errors(&stranger, &mut strange),
        [(); 3].map(|()| error.clone())
    );
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    assert_eq!(
        calls.errors(&stranger, &mut workspace),
        [(); 3].map(|()| error.clone())
    );
    // Nothing was enqueued, and nothing is spoilt.
    calls.check(&stream, &mut workspace, "after the errors");
    drop(strange);
    drop(stranger);
    drop(other);
    calls.check(&stream, &mut workspace, "after the other context");
}
