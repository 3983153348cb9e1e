//! Level 3: the caller's stream, slices, views and workspace; nothing hidden; graphs.

use crate::support::data::{Sample, assert_same, sample};
use crate::support::operators::{Affine, Sums, Then};
use crate::support::{captured, oracle, skip, stream};
use std::sync::Arc;
use warpfold::Prefixes;
use warpfold::codegen::{Engine, WavePolicy};
use warpfold::cuda::cudarc::driver::{CudaContext, CudaStream, DeviceRepr, sys};
use warpfold::cuda::{Reduce, Scan, SelectBy, Workspace};
use warpfold::ops::{Add, BitOr, BitXor, Max};
use warpfold::{Element, Error, Monoid, flagged, function};

/// Scans and reduces views that start and end at odd places, and checks that nothing else is
/// written.
fn check_views<T: Sample + DeviceRepr, Op: Monoid<T>>(
    context: &Arc<CudaContext>,
    stream: &Arc<CudaStream>,
) {
    let scan = Scan::<T, Op>::load(context).unwrap();
    let reduce = Reduce::<T, Op>::load(context).unwrap();
    for length in [0, 1, 100, 4097, 100_003] {
        for (from, to) in [(0, 1), (1, 0), (3, 3), (5, 2)] {
            let data = sample::<T>(length + 8, 4);
            let input = stream.clone_htod(&data).unwrap();
            let mut output = stream.clone_htod(&data).unwrap();
            let mut workspace = Workspace::new(stream, scan.workspace_bytes(length)).unwrap();
            let part = &data[from..from + length];
            scan.enqueue(
                stream,
                Prefixes::inclusive(),
                &input.slice(from..from + length),
                &mut output.slice_mut(to..to + length),
                &mut workspace,
            )
            .unwrap();
            let mut expected = data.clone();
            expected[to..to + length].copy_from_slice(&oracle::inclusive::<T, Op>(part, None));
            let what = format!("{length} elements from {from} to {to}");
            assert_same(&stream.clone_dtoh(&output).unwrap(), &expected, &what);

            let mut in_place = stream.clone_htod(&data).unwrap();
            scan.enqueue_in_place(
                stream,
                Prefixes::exclusive().from(data[0]),
                &mut in_place.slice_mut(from..from + length),
                &mut workspace,
            )
            .unwrap();
            let mut expected = data.clone();
            expected[from..from + length]
                .copy_from_slice(&oracle::exclusive::<T, Op>(part, Some(data[0])));
            assert_same(&stream.clone_dtoh(&in_place).unwrap(), &expected, &what);

            let bytes = reduce.workspace_bytes(length);
            let mut workspace = Workspace::new(stream, bytes).unwrap();
            reduce
                .enqueue(
                    stream,
                    &input.slice(from..from + length),
                    &mut output.slice_mut(7..8),
                    &mut workspace,
                )
                .unwrap();
            let reduced = stream.clone_dtoh(&output.slice(7..8)).unwrap();
            assert_same(&reduced, &[oracle::reduce::<T, Op>(part, None)], &what);
        }
    }
}

#[test]
fn views_at_any_offset_work() {
    let Some((context, stream)) = stream() else {
        return;
    };
    check_views::<f32, Add>(&context, &stream);
    check_views::<u8, Add>(&context, &stream);
    check_views::<half::f16, Max>(&context, &stream);
    check_views::<f64, Add>(&context, &stream);
    check_views::<Affine, Then>(&context, &stream);
    check_views::<[u8; 3], Sums>(&context, &stream);
    check_views::<[u64; 8], Sums>(&context, &stream);
}

#[test]
fn a_graph_replays_over_new_data() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let length = 300_001;
    let scan = Scan::<f32, Add>::load(&context).unwrap();
    let reduce = Reduce::<f32, Add>::load(&context).unwrap();
    let mut input = stream.alloc_zeros::<f32>(length).unwrap();
    let mut output = stream.alloc_zeros::<f32>(length).unwrap();
    let mut total = stream.alloc_zeros::<f32>(1).unwrap();
    let bytes = scan
        .workspace_bytes(length)
        .max(reduce.workspace_bytes(length));
    let mut workspace = Workspace::new(&stream, bytes).unwrap();

    stream
        .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        .unwrap();
    // What precedes a launch may be no launch; nothing of it may be left for later.
    stream.memset_zeros(&mut output).unwrap();
    scan.enqueue(
        &stream,
        Prefixes::exclusive(),
        &input,
        &mut output,
        &mut workspace,
    )
    .unwrap();
    reduce
        .enqueue(&stream, &output, &mut total, &mut workspace)
        .unwrap();
    let graph = stream
        .end_capture(sys::CUgraphInstantiate_flags(0))
        .unwrap()
        .expect("something was captured");
    for seed in 0..12 {
        let data = sample::<f32>(length, seed);
        stream.memcpy_htod(&data, &mut input).unwrap();
        graph.launch().unwrap();
        let expected = oracle::exclusive::<f32, Add>(&data, None);
        assert_same(
            &stream.clone_dtoh(&output).unwrap(),
            &expected,
            "replayed scan",
        );
        let total = stream.clone_dtoh(&total).unwrap();
        assert_same(
            &total,
            &[oracle::reduce::<f32, Add>(&expected, None)],
            "replayed reduction",
        );
    }
}

/// The wave engine's kernels for unaligned slices are loaded by the first call that needs them.
#[test]
fn kernels_are_loaded_while_a_stream_is_captured() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let policy = WavePolicy::of::<i32>().expect("a policy");
    let (major, minor) = context.compute_capability().unwrap();
    if !Engine::Wave(policy).runs_on((10 * major + minor) as u32) {
        return skip(
            "cuda",
            &format!("compute capability {major}.{minor} has no wave engine"),
        );
    }
    let scan = Scan::<i32, BitXor>::load_engine(&context, Engine::Wave(policy)).unwrap();
    let data = sample::<i32>(100_003, 5);
    let input = stream.clone_htod(&data).unwrap();
    let mut output = stream.alloc_zeros::<i32>(data.len() - 1).unwrap();
    let bytes = scan.workspace_bytes(data.len());
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    let graph = captured(&stream, || {
        scan.enqueue(
            &stream,
            Prefixes::exclusive(),
            &input.slice(1..),
            &mut output,
            &mut workspace,
        )
    });
    graph.launch().unwrap();
    let expected = oracle::exclusive::<i32, BitXor>(&data[1..], None);
    let got = stream.clone_dtoh(&output).unwrap();
    assert_same(&got, &expected, "a captured scan");
}

/// What is loaded lazily is loaded by the calls, whatever their lengths, and also while a stream is
/// captured.
#[test]
fn lazy_kernels_are_loaded_by_the_calls() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let scan = Scan::<i32, BitOr>::load_lazily(&context).unwrap();
    let long = Scan::<[u64; 8], Sums>::load_lazily(&context).unwrap();
    for length in [0, 5, 70_001, 6_000_000] {
        check_lazy_scan(&stream, &scan, length);
        check_lazy_scan(&stream, &long, length.min(70_001));
    }

    let data = sample::<i32>(6_000_000, 7);
    let select = SelectBy::<i32, is_odd>::load_lazily(&context).unwrap();
    let input = stream.clone_htod(&data).unwrap();
    for length in [5, 6_000_000] {
        let mut kept = stream.alloc_zeros::<i32>(length).unwrap();
        let mut count = stream.alloc_zeros::<u64>(1).unwrap();
        let bytes = select.workspace_bytes(length);
        let mut workspace = Workspace::new(&stream, bytes).unwrap();
        let part = input.slice(..length);
        let source = flagged::<is_odd, _>(&part);
        let call = || select.enqueue(&stream, source, &mut kept, &mut count, &mut workspace);
        captured(&stream, call).launch().unwrap();
        let expected: Vec<i32> = data[..length]
            .iter()
            .copied()
            .filter(|x| x % 2 != 0)
            .collect();
        assert_eq!(stream.clone_dtoh(&count).unwrap(), [expected.len() as u64]);
        assert_eq!(
            stream.clone_dtoh(&kept).unwrap()[..expected.len()],
            expected
        );
    }
}

#[function]
fn is_odd(x: i32) -> bool {
    x % 2 != 0
}

fn check_lazy_scan<T: Sample + DeviceRepr, Op: Monoid<T>>(
    stream: &Arc<CudaStream>,
    scan: &Scan<T, Op>,
    length: usize,
) {
    let data = sample::<T>(length, 3);
    let mut values = stream.clone_htod(&data).unwrap();
    let mut workspace = Workspace::new(stream, scan.workspace_bytes(length)).unwrap();
    let call = || scan.enqueue_in_place(stream, Prefixes::exclusive(), &mut values, &mut workspace);
    if length == 0 {
        return { call }().unwrap();
    }
    captured(stream, call).launch().unwrap();
    let expected = oracle::exclusive::<T, Op>(&data, None);
    let got = stream.clone_dtoh(&values).unwrap();
    assert_same(&got, &expected, &format!("{length} elements"));
}

/// Scans that share the GPU, so that neither has all of its blocks running: nothing may wait for a
/// block that has not started.
#[test]
fn two_streams_at_once_do_not_wait_for_each_other() {
    let Some((context, first)) = stream() else {
        return;
    };
    let second = context.new_stream().unwrap();
    let length = (1 << 22) + 3;
    let scan = Scan::<f32, Add>::load(&context).unwrap();
    let data = sample::<f32>(length, 1);
    let mut expected = data.clone();
    let mut streams = [&first, &second].map(|stream| {
        let values = stream.clone_htod(&data).unwrap();
        let bytes = scan.workspace_bytes(length);
        (stream, values, Workspace::new(stream, bytes).unwrap())
    });
    // Not the context, in which other tests may be capturing.
    for (stream, ..) in &streams {
        stream.synchronize().unwrap();
    }
    for _ in 0..20 {
        for (stream, values, workspace) in &mut streams {
            scan.enqueue_in_place(stream, Prefixes::inclusive(), values, workspace)
                .unwrap();
        }
        expected = oracle::inclusive::<f32, Add>(&expected, None);
    }
    for (stream, values, _) in &streams {
        assert_same(
            &stream.clone_dtoh(values).unwrap(),
            &expected,
            "in place, 20 times",
        );
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let scan = Scan::<f32, Add>::load(&context).unwrap();
    let length = 1 << 20;
    let input = stream.alloc_zeros::<f32>(length).unwrap();
    let mut short = stream.alloc_zeros::<f32>(length - 1).unwrap();
    let mut output = stream.alloc_zeros::<f32>(length).unwrap();
    let needed = scan.workspace_bytes(length);
    let mut workspace = Workspace::new(&stream, needed).unwrap();
    let error = scan
        .enqueue(
            &stream,
            Prefixes::exclusive(),
            &input,
            &mut short,
            &mut workspace,
        )
        .unwrap_err();
    assert_eq!(
        error,
        Error::Length {
            input: length,
            output: length - 1
        }
    );
    let mut small = Workspace::new(&stream, needed - 1).unwrap();
    let error = scan
        .enqueue(
            &stream,
            Prefixes::exclusive(),
            &input,
            &mut output,
            &mut small,
        )
        .unwrap_err();
    let given = needed - 1;
    assert_eq!(error, Error::Workspace { needed, given });
    small.grow(needed).unwrap();
    scan.enqueue(
        &stream,
        Prefixes::exclusive(),
        &input,
        &mut output,
        &mut small,
    )
    .unwrap();
    scan.enqueue(
        &stream,
        Prefixes::exclusive(),
        &input,
        &mut output,
        &mut workspace,
    )
    .unwrap();
}

#[test]
fn the_workspace_is_all_the_memory_that_is_used() {
    fn check<T: Element, Op: Monoid<T>>(context: &Arc<CudaContext>) {
        let length = 1 << 24;
        let scan = Scan::<T, Op>::load(context)
            .unwrap()
            .workspace_bytes(length);
        let reduce = Reduce::<T, Op>::load(context)
            .unwrap()
            .workspace_bytes(length);
        assert!(scan.max(reduce) * 100 <= length * size_of::<T>());
    }
    let Some((context, _stream)) = stream() else {
        return;
    };
    check::<u8, Add>(&context);
    check::<f32, Add>(&context);
    check::<Affine, Then>(&context);
}
