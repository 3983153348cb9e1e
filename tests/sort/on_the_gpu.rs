//! Level 3: on a stream of the caller's, with its slices and workspace.

use super::cases::{Key, ORDERS, PATTERNS, Pattern, assert_bits, by_places, keys, oracle};
use crate::support::{captured, stream};
use std::sync::Arc;
use warpfold::cuda::cudarc::driver::{CudaContext, CudaStream, DeviceRepr, ValidAsZeroBits};
use warpfold::cuda::{ArgSort, Sort, SortPairs, Workspace};
use warpfold::{Error, Order};

/// One block; some tiles; many.
const LENGTHS: [usize; 6] = [0, 1, 1000, 7681, 100_003, 3_000_001];

fn check<K: Key + DeviceRepr + ValidAsZeroBits>(
    context: &Arc<CudaContext>,
    stream: &Arc<CudaStream>,
) {
    let sort = Sort::<K>::load(context).unwrap();
    let pairs = SortPairs::<K, u64>::load(context).unwrap();
    let argsort = ArgSort::<K>::load(context).unwrap();
    // All share one workspace, as it comes from call to call.
    let mut workspace = Workspace::new(stream, 0).unwrap();
    for (number, &len) in LENGTHS.iter().enumerate() {
        for (pattern_number, pattern) in PATTERNS.into_iter().enumerate() {
            if len > 1_000_000 && !matches!(pattern, Pattern::Random | Pattern::Skewed) {
                continue;
            }
            let order = ORDERS[(number + pattern_number) % 6];
            let name = std::any::type_name::<K>();
            let what = format!("{name} {pattern:?} {len} {order:?}");
            let keys: Vec<K> = keys(pattern, len, number as u64);
            let places = oracle(order, &keys);
            let sorted = by_places(&keys, &places);

            workspace.grow(sort.workspace_bytes(len)).unwrap();
            workspace.grow(pairs.workspace_bytes(len)).unwrap();
            workspace.grow(argsort.workspace_bytes(len)).unwrap();
            // Slices start anywhere; an empty one has no memory.
            let room = len + 1;
            let mut input = stream.alloc_zeros::<K>(room).unwrap();
            let mut output = stream.alloc_zeros::<K>(room).unwrap();
            let mut found = stream.alloc_zeros::<u64>(room).unwrap();
            if len > 0 {
                stream
                    .memcpy_htod(&keys, &mut input.slice_mut(1..))
                    .unwrap();
            }
            let given = input.slice(1..);
            let mut to = output.slice_mut(1..);
            sort.enqueue(stream, order.0, &given, &mut to, &mut workspace)
                .unwrap();
            let mut to = found.slice_mut(1..);
            argsort
                .enqueue(stream, order.0, &given, &mut to, &mut workspace)
                .unwrap();
            let result = stream.clone_dtoh(&output).unwrap();
            assert_bits(&result[1..], &sorted, &what);
            assert_eq!(&stream.clone_dtoh(&found).unwrap()[1..], places, "{what}");
            assert_bits(
                &stream.clone_dtoh(&input).unwrap()[1..],
                &keys,
                "the input stays",
            );

            // In place, with values that say where they were.
            let values: Vec<u64> = (0..room as u64).collect();
            stream.memcpy_htod(&values, &mut found).unwrap();
            let (mut keys_in, mut values_in) = (input.slice_mut(1..), found.slice_mut(1..));
            pairs
                .enqueue_in_place(
                    stream,
                    order.0,
                    &mut keys_in,
                    &mut values_in,
                    &mut workspace,
                )
                .unwrap();
            assert_bits(&stream.clone_dtoh(&input).unwrap()[1..], &sorted, &what);
            let moved = stream.clone_dtoh(&found).unwrap();
            assert!(moved[1..].iter().map(|v| v - 1).eq(places), "{what}");
        }
    }
}

#[test]
fn calls_on_a_stream_sort_as_the_standard_library() {
    let Some((context, stream)) = stream() else {
        return;
    };
    check::<u8>(&context, &stream);
    check::<u16>(&context, &stream);
    check::<f32>(&context, &stream);
    check::<i64>(&context, &stream);
}

/// Each replay sorts what lies there then.
#[test]
fn a_graph_sorts_again_and_again() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let sort = Sort::<u32>::load(&context).unwrap();
    let len = 50_000;
    let mut workspace = Workspace::new(&stream, sort.workspace_bytes(len)).unwrap();
    let mut data = stream.alloc_zeros::<u32>(len).unwrap();
    let order = Order::descending();
    let graph = captured(&stream, || {
        sort.enqueue_in_place(&stream, order, &mut data, &mut workspace)
    });
    for seed in 0..3 {
        let keys: Vec<u32> = keys(Pattern::Random, len, seed);
        stream.memcpy_htod(&keys, &mut data).unwrap();
        graph.launch().unwrap();
        let sorted = by_places(&keys, &oracle(ORDERS[1], &keys));
        assert_eq!(stream.clone_dtoh(&data).unwrap(), sorted);
    }
}

#[test]
fn bad_calls_on_a_stream_are_errors_that_say_which() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let sort = Sort::<u32>::load(&context).unwrap();
    let pairs = SortPairs::<u32, u8>::load(&context).unwrap();
    let (len, order) = (100_000, Order::ascending());
    let input = stream.alloc_zeros::<u32>(len).unwrap();
    let mut output = stream.alloc_zeros::<u32>(len - 1).unwrap();
    let mut workspace = Workspace::new(&stream, sort.workspace_bytes(len)).unwrap();
    let error = sort
        .enqueue(&stream, order, &input, &mut output, &mut workspace)
        .unwrap_err();
    let expected = Error::Length {
        input: len,
        output: len - 1,
    };
    assert_eq!(error, expected);

    let mut values = stream.alloc_zeros::<u8>(len).unwrap();
    let mut workspace = Workspace::new(&stream, pairs.workspace_bytes(len)).unwrap();
    let error = pairs.enqueue_in_place(&stream, order, &mut output, &mut values, &mut workspace);
    let expected = Error::Pairs {
        keys: len - 1,
        values: len,
    };
    assert_eq!(error.unwrap_err(), expected);

    let mut small = Workspace::new(&stream, sort.workspace_bytes(len) - 1).unwrap();
    let mut output = stream.alloc_zeros::<u32>(len).unwrap();
    let error = sort
        .enqueue(&stream, order, &input, &mut output, &mut small)
        .unwrap_err();
    assert!(matches!(error, Error::Workspace { .. }), "{error}");
}
