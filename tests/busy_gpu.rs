//! What may happen on a bad day: reused memory, graphs that take turns, other kernels that fill the
//! GPU, data that lies on the host.

use crate::support::cases::{Case, assert_bits};
use crate::support::data::{Sample, sample};
use crate::support::spinner::{self, Spinner, alone};
use crate::support::{captured, oracle, skip, stream};
use std::sync::Arc;
use warpfold::Monoid;
use warpfold::Prefixes;
use warpfold::codegen::{Engine, RowPolicy, WavePolicy};
use warpfold::cuda::cudarc::driver::sys::CUdevice_attribute as Attribute;
use warpfold::cuda::cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, DeviceRepr, UnifiedSlice, ValidAsZeroBits,
};
use warpfold::cuda::nvrtc::{Target, compile};
use warpfold::cuda::{Reduce, Scan, Workspace};
use warpfold::ops::Add;

/// The wave engine for `T`, if the GPU can run it.
fn wave<T: Sample>(context: &CudaContext) -> Option<Engine> {
    let (major, minor) = context.compute_capability().unwrap();
    let capability = (10 * major + minor) as u32;
    let engine = Engine::Wave(WavePolicy::for_capability::<T>(capability)?);
    engine.runs_on(capability).then_some(engine)
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

    let first = captured(&stream, || {
        floats.enqueue(
            &stream,
            Prefixes::exclusive(),
            &float_input,
            &mut float_output,
            &mut workspace,
        )?;
        reduce.enqueue(&stream, &float_input, &mut total, &mut workspace)
    });
    let second = captured(&stream, || {
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
