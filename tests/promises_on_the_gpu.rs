//! What the documentation promises of calls on a GPU: launches, waiting, order, memory, threads.

use crate::support::data::{Sample, assert_same, sample};
use crate::support::operators::{Bicyclic, BicyclicProduct, OddMaps, Sums};
use crate::support::spinner::{Spinner, alone};
use crate::support::{gpu, oracle, skip, stream};
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use warpfold::Prefixes;
use warpfold::codegen::{Engine, Order, RowPolicy};
use warpfold::cuda::cudarc::driver::{CudaContext, CudaStream, DeviceRepr, sys};
use warpfold::cuda::{Reduce, Scan, Workspace};
use warpfold::ops::{Add, Max};
use warpfold::{Element, Error, Monoid};

/// How many launches a reduction and a scan of this many elements enqueue. They must enqueue
/// nothing else.
fn launches<T: Element + DeviceRepr, Op: Monoid<T>>(
    (context, stream): &(Arc<CudaContext>, Arc<CudaStream>),
    length: usize,
) -> [usize; 2] {
    let reduce = Reduce::<T, Op>::load(context).unwrap();
    let scan = Scan::<T, Op>::load(context).unwrap();
    let bytes = reduce
        .workspace_bytes(length)
        .max(scan.workspace_bytes(length));
    let mut workspace = Workspace::new(stream, bytes).unwrap();
    // SAFETY: the calls are captured and never run.
    let mut data = unsafe { stream.alloc::<T>(length) }.unwrap();
    // SAFETY: as above.
    let mut total = unsafe { stream.alloc::<T>(1) }.unwrap();
    [true, false].map(|is_reduction| {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        stream.begin_capture(mode).unwrap();
        if is_reduction {
            reduce
                .enqueue(stream, &data, &mut total, &mut workspace)
                .unwrap();
        } else {
            scan.enqueue_in_place(stream, Prefixes::inclusive(), &mut data, &mut workspace)
                .unwrap();
        }
        let graph = stream
            .end_capture(sys::CUgraphInstantiate_flags(0))
            .unwrap()
            .expect("something was captured");
        let mut nodes = 0;
        // SAFETY: the graph is alive, and without an array only the number is written.
        let result = unsafe { sys::cuGraphGetNodes(graph.cu_graph(), ptr::null_mut(), &mut nodes) };
        result.result().unwrap();
        let mut array = vec![ptr::null_mut(); nodes];
        // SAFETY: the array has room for all nodes.
        let result =
            unsafe { sys::cuGraphGetNodes(graph.cu_graph(), array.as_mut_ptr(), &mut nodes) };
        result.result().unwrap();
        for node in array {
            let mut kind = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
            // SAFETY: the graph is alive, and the node is one of it.
            unsafe { sys::cuGraphNodeGetType(node, &mut kind) }
                .result()
                .unwrap();
            assert_eq!(kind, sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL);
        }
        nodes
    })
}

#[test]
fn a_call_is_as_many_launches_as_the_documentation_says() {
    let Some(gpu) = stream() else { return };
    for length in [1, 1000, 100_000, 3_000_000, 1 << 25] {
        assert_eq!(launches::<u8, Add>(&gpu, length), [1, 1], "{length} u8");
        assert_eq!(launches::<f32, Add>(&gpu, length), [1, 1], "{length} f32");
        assert_eq!(launches::<f64, Max>(&gpu, length), [1, 1], "{length} f64");
        let structs = launches::<[u64; 2], Sums>(&gpu, length);
        assert_eq!(structs, [1, 1], "{length} elements of 16 bytes");
    }
    // Where a scan reads long elements twice, and where it does not.
    for (length, scans) in [(1000, 1), (1 << 22, 5)] {
        let long = launches::<[u32; 16], OddMaps>(&gpu, length);
        assert_eq!(long, [1, scans], "{length} elements of 64 bytes, ordered");
    }
    let (major, minor) = gpu.0.compute_capability().unwrap();
    let count = sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    if gpu.0.attribute(count).unwrap() >= 132 {
        let held = launches::<[u32; 16], OddMaps>(&gpu, 67_584);
        assert_eq!(held, [1, 1], "what a GPU of 132 multiprocessors holds");
    }
    if (90..=103).contains(&(10 * major + minor)) {
        for length in [100_000, 1 << 22] {
            let long = launches::<[u64; 8], Sums>(&gpu, length);
            assert_eq!(long, [1, 1], "{length} elements of 64 bytes");
        }
        let longer = launches::<[u32; 16], OddMaps>(&gpu, 100_000);
        assert_eq!(longer, [1, 1], "a little more than a GPU holds");
    }
}

/// A kernel fills the stream; calls behind it return while it runs.
#[test]
fn calls_return_without_waiting() {
    alone(
        concat!(module_path!(), "::calls_return_without_waiting"),
        || {
            let Some((context, stream)) = stream() else {
                return;
            };
            let data = sample::<f32>(1 << 20, 1);
            let scan = Scan::<f32, Add>::load(&context).unwrap();
            let reduce = Reduce::<f32, Add>::load(&context).unwrap();
            let [scanned, reduced] = [
                scan.workspace_bytes(data.len()),
                reduce.workspace_bytes(data.len()),
            ];
            let mut workspace = Workspace::new(&stream, scanned.max(reduced)).unwrap();
            let mut values = stream.clone_htod(&data).unwrap();
            let mut total = stream.alloc_zeros::<f32>(1).unwrap();
            // The first call loads the kernels onto the GPU, which waits for other kernels.
            scan.enqueue_in_place(&stream, Prefixes::inclusive(), &mut values, &mut workspace)
                .unwrap();
            reduce
                .enqueue(&stream, &values, &mut total, &mut workspace)
                .unwrap();
            stream.synchronize().unwrap();
            let Some(spinner) = Spinner::all_but_one(&context) else {
                return skip("cuda", "there is one multiprocessor only");
            };
            // The stream waits for a kernel that never ends by itself.
            spinner.holds(&stream);
            scan.enqueue_in_place(&stream, Prefixes::inclusive(), &mut values, &mut workspace)
                .unwrap();
            reduce
                .enqueue(&stream, &values, &mut total, &mut workspace)
                .unwrap();
            assert!(spinner.is_running(), "the calls waited");
            drop(spinner);
            let once = oracle::inclusive::<f32, Add>(&data, None);
            let twice = oracle::inclusive::<f32, Add>(&once, None);
            let got = stream.clone_dtoh(&values).unwrap();
            assert_same(&got, &twice, "two scans");
        },
    );
}

#[test]
fn one_number_is_one_device() {
    let (Some(first), Some(second)) = (gpu(0), gpu(0)) else {
        return;
    };
    let mut buffer = first.upload(&[1_u32, 2, 3]).unwrap();
    second
        .scan_in_place::<u32, Add>(Prefixes::inclusive(), &mut buffer)
        .unwrap();
    assert_eq!(first.reduce::<u32, Max>(&buffer).unwrap(), 6);
}

#[test]
fn calls_of_a_device_run_in_the_order_in_which_they_were_made() {
    let Some(device) = gpu(0) else { return };
    let data = sample::<u32>(300_001, 1);
    let mut expected = data.clone();
    let mut buffer = device.upload(&data).unwrap();
    for _ in 0..50 {
        device
            .scan_in_place::<u32, Add>(Prefixes::inclusive(), &mut buffer)
            .unwrap();
        expected = oracle::inclusive::<u32, Add>(&expected, None);
    }
    assert_eq!(buffer.into_vec().unwrap(), expected);
}

/// Many threads, each with other lengths, so that the device's workspace grows under them.
#[test]
fn many_threads_use_one_device() {
    let Some(device) = gpu(0) else { return };
    std::thread::scope(|scope| {
        for thread in 1..9 {
            let device = device.clone();
            scope.spawn(move || {
                for round in 0..20 {
                    let data = sample::<f32>(thread * 70_001 * (1 + round % 3), round as u64);
                    let buffer = device.upload(&data).unwrap();
                    let got = device.scan::<f32, Add>(&buffer).unwrap();
                    let expected = oracle::exclusive::<f32, Add>(&data, None);
                    let got = got.into_vec().unwrap();
                    assert!(got.iter().zip(&expected).all(|(a, b)| a.same(*b)));
                }
            });
        }
    });
}

#[test]
fn dropped_buffers_and_workspaces_free_their_memory() {
    let (Some(device), Some((_, stream))) = (gpu(0), stream()) else {
        return;
    };
    // Together far more than a GPU has.
    for _ in 0..400 {
        drop(device.allocate::<u8>(2 << 30).unwrap());
        let mut workspace = Workspace::new(&stream, 1 << 30).unwrap();
        workspace.grow(2 << 30).unwrap();
    }
}

#[test]
fn an_engine_is_planned_as_it_was_compiled() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let ones = vec![1_f32; 4_194_304];
    let input = stream.clone_htod(&ones).unwrap();
    let mut total = stream.alloc_zeros::<f32>(1).unwrap();
    for order in [Order::Law, Order::Any] {
        let engine = Engine::Rows(RowPolicy::of_reduce::<f32>(order));
        let reduce = Reduce::<f32, Add>::load_engine(&context, engine).unwrap();
        for length in [1, 1000, 70_001, ones.len()] {
            let bytes = reduce.workspace_bytes(length);
            let mut workspace = Workspace::new(&stream, bytes).unwrap();
            let input = input.slice(..length);
            reduce
                .enqueue(&stream, &input, &mut total, &mut workspace)
                .unwrap();
            let total = stream.clone_dtoh(&total).unwrap();
            assert_eq!(total, [length as f32], "{engine:?}");
        }
    }
    let policy = RowPolicy::of_reduce::<f32>(Order::Law);
    for (what, wrong) in [
        ("powers of two", RowPolicy { rows: 3, ..policy }),
        ("at most 32 rows", RowPolicy { rows: 64, ..policy }),
        ("a run has", RowPolicy { run: 16, ..policy }),
    ] {
        let engine = Engine::Rows(wrong);
        match Reduce::<f32, Add>::load_engine(&context, engine) {
            Err(Error::Codegen(why)) => assert!(why.contains(what), "{why}"),
            other => panic!("{what}: {other:?}"),
        }
    }
}

/// Bytes that were written to over a workspace end the launch with an error, and no result is
/// written. The error stays in the context, so it happens in a process of its own.
#[test]
fn a_workspace_that_was_overwritten_ends_the_launch() {
    let name = concat!(
        module_path!(),
        "::a_workspace_that_was_overwritten_ends_the_launch"
    );
    alone(name, || {
        let Some((context, stream)) = stream() else {
            return;
        };
        let length = 5_000_000;
        let scan = Scan::<u32, Add>::load(&context).unwrap();
        let data = stream.clone_htod(&vec![1_u32; length]).unwrap();
        let mut output = stream.alloc_zeros::<u32>(length).unwrap();
        let bytes = scan.workspace_bytes(length);
        let address = {
            // SAFETY: the workspace writes to it first.
            let memory = unsafe { stream.alloc::<u8>(bytes) }.unwrap();
            memory.leak()
        };
        // SAFETY: the memory is as long, and is not freed. What writes to it below breaks the
        // contract on purpose.
        let mut workspace = unsafe { Workspace::from_raw(&stream, address, bytes) }.unwrap();
        scan.enqueue(
            &stream,
            Prefixes::exclusive(),
            &data,
            &mut output,
            &mut workspace,
        )
        .unwrap();
        stream.synchronize().unwrap();
        // SAFETY: the memory is as long.
        let mut header = unsafe { stream.upgrade_device_ptr::<u8>(address, 64) };
        stream.memset_zeros(&mut header).unwrap();
        header.leak();
        let launched = scan.enqueue(
            &stream,
            Prefixes::exclusive(),
            &data,
            &mut output,
            &mut workspace,
        );
        let ended = launched.is_err() || stream.synchronize().is_err();
        assert!(ended, "a cleared header was taken for a new one");
    });
}

/// What a workspace is used for, with a number that the data depend on.
type Call<'a> = Box<dyn FnMut(&mut Workspace, u64) + 'a>;

/// A scan and a reduction of new data at each call, compared with the oracle; and the bytes that
/// they need.
fn calls<'a, T: Sample + DeviceRepr, Op: Monoid<T>>(
    (context, stream): &'a (Arc<CudaContext>, Arc<CudaStream>),
    length: usize,
) -> (usize, Call<'a>) {
    let scan = Scan::<T, Op>::load(context).unwrap();
    let reduce = Reduce::<T, Op>::load(context).unwrap();
    let needed = scan
        .workspace_bytes(length)
        .max(reduce.workspace_bytes(length));
    let call = move |workspace: &mut Workspace, seed| {
        let data = sample::<T>(length, seed);
        let mut values = stream.clone_htod(&data).unwrap();
        let mut total = stream.clone_htod(&data[..1]).unwrap();
        reduce
            .enqueue(stream, &values, &mut total, workspace)
            .unwrap();
        scan.enqueue_in_place(stream, Prefixes::inclusive(), &mut values, workspace)
            .unwrap();
        let expected = oracle::inclusive::<T, Op>(&data, None);
        let what = std::any::type_name::<Op>();
        assert_same(&stream.clone_dtoh(&values).unwrap(), &expected, what);
        let total = stream.clone_dtoh(&total).unwrap();
        assert_same(&total, &expected[length - 1..], what);
    };
    (needed, Box::new(call))
}

#[test]
fn calls_of_all_types_and_operators_share_a_workspace() {
    let Some(gpu) = stream() else { return };
    let mut calls = [
        calls::<u8, Add>(&gpu, 300_001),
        calls::<f64, Max>(&gpu, 100_003),
        calls::<u32, Add>(&gpu, 1 << 20),
        calls::<u32, Max>(&gpu, 1 << 20),
        calls::<Bicyclic, BicyclicProduct>(&gpu, 70_001),
        calls::<[u64; 2], Sums>(&gpu, 50_000),
        calls::<f32, Add>(&gpu, 200_000),
        calls::<[u64; 8], Sums>(&gpu, 20_000),
    ];
    let bytes = calls.iter().map(|(bytes, _)| *bytes).max();
    let mut workspace = Workspace::new(&gpu.1, bytes.expect("some calls")).unwrap();
    for round in 0..20 {
        for (_, call) in &mut calls {
            call(&mut workspace, round);
        }
    }
}

/// All threads give the same handle to streams that are not the same.
#[test]
fn the_default_stream_of_each_thread_is_another_stream() {
    let Some((context, _)) = stream() else { return };
    let length = 1 << 20;
    let scan = &Scan::<f32, Add>::load(&context).unwrap();
    let data = &sample::<f32>(length, 1);
    let expected = &oracle::inclusive::<f32, Add>(data, None);
    let check = |stream: &Arc<CudaStream>, workspace: &mut Workspace| {
        let mut values = stream.clone_htod(data).unwrap();
        scan.enqueue_in_place(stream, Prefixes::inclusive(), &mut values, workspace)
            .unwrap();
        let got = stream.clone_dtoh(&values).unwrap();
        assert_same(&got, expected, "on a thread's own stream");
    };
    let stream = &context.per_thread_stream();
    let bytes = scan.workspace_bytes(length);
    let mut workspace = Workspace::new(stream, bytes).unwrap();
    check(stream, &mut workspace);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut values = stream.clone_htod(data).unwrap();
            let result =
                scan.enqueue_in_place(stream, Prefixes::inclusive(), &mut values, &mut workspace);
            assert_eq!(result, Err(Error::WorkspaceStream));
            check(stream, &mut Workspace::new(stream, bytes).unwrap());
            workspace.move_to(stream).unwrap();
            check(stream, &mut workspace);
        });
    });
    let mut values = stream.clone_htod(data).unwrap();
    let result = scan.enqueue_in_place(stream, Prefixes::inclusive(), &mut values, &mut workspace);
    assert_eq!(result, Err(Error::WorkspaceStream));
    assert_eq!(workspace.grow(2 * bytes), Err(Error::WorkspaceStream));
}

/// A workspace goes from thread to thread, with calls still under way on the stream of the last.
#[test]
fn a_workspace_that_goes_to_another_thread_waits_for_the_calls_so_far() {
    let Some((context, first)) = stream() else {
        return;
    };
    let length = (1 << 22) + 3;
    let scan = &Scan::<u32, Add>::load(&context).unwrap();
    let mut expected = sample::<u32>(length, 4);
    let stream = &context.per_thread_stream();
    let mut workspace = Workspace::new(stream, scan.workspace_bytes(length)).unwrap();
    let mut all: Vec<_> = (0..4)
        .map(|_| first.clone_htod(&expected).unwrap())
        .collect();
    first.synchronize().unwrap();
    for values in &mut all {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                workspace.move_to(stream).unwrap();
                for _ in 0..20 {
                    scan.enqueue_in_place(stream, Prefixes::inclusive(), values, &mut workspace)
                        .unwrap();
                }
            });
        });
    }
    context.default_stream().synchronize().unwrap();
    for _ in 0..20 {
        expected = oracle::inclusive::<u32, Add>(&expected, None);
    }
    for values in &all {
        let got = first.clone_dtoh(values).unwrap();
        assert_same(&got, &expected, "in place, 20 times");
    }
}

/// Once kernels are loaded, loading them again neither compiles them nor looks at the disk.
#[test]
fn kernels_stay_in_memory() {
    let name = concat!(module_path!(), "::kernels_stay_in_memory");
    alone(name, || {
        let Some((context, _)) = stream() else { return };
        warpfold::cuda::without_disk_cache();
        let load = || {
            let started = Instant::now();
            Scan::<f32, Add>::load(&context).unwrap();
            Reduce::<f32, Add>::load(&context).unwrap();
            started.elapsed()
        };
        let first = load();
        let second = (0..10).map(|_| load()).max().expect("ten times");
        eprintln!("loaded in {first:?}, and again in {second:?}");
        assert!(first > Duration::from_millis(50), "nothing was compiled");
        assert!(second < Duration::from_millis(5), "{second:?}");
    });
}
