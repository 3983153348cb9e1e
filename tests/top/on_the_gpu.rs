//! Level 3: on a stream of the caller's, with its slices and workspace.

use crate::sort::cases::{ORDERS, PATTERNS, Pattern, assert_bits, by_places, keys, oracle};
use crate::support::{captured, stream};
use warpfold::cuda::{TopK, Workspace, up_to};
use warpfold::source::{Slice, UpTo};
use warpfold::{Error, Order, Rows};

/// One block, many, and with sorts.
#[test]
fn calls_on_a_stream_choose_what_begins_the_stable_sort() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let top = TopK::<Slice<f32>>::load(&context).unwrap();
    let mut workspace = Workspace::new(&stream, 0).unwrap();
    for len in [1, 1000, 5000, 100_003, 1_000_003, 3_000_001] {
        for (number, pattern) in PATTERNS.into_iter().enumerate() {
            if len > 2_000_000 && number > 0 {
                continue;
            }
            let all: Vec<f32> = keys(pattern, len + 1, 3);
            let keys = &all[1..];
            let (bottom, top_order) = (oracle(ORDERS[0], keys), oracle(ORDERS[1], keys));
            let input = stream.clone_htod(&all).unwrap();
            let input = input.slice(1..);
            for k in [1, 100, 1024, 10_000, len] {
                if k > len {
                    continue;
                }
                workspace.grow(top.workspace_bytes(len, k)).unwrap();
                let mut values = stream.alloc_zeros::<f32>(k).unwrap();
                let mut places = stream.alloc_zeros::<u64>(k).unwrap();
                let mut count = stream.alloc_zeros::<u64>(1).unwrap();
                for (descending, expected) in [(true, &top_order), (false, &bottom)] {
                    let outputs = (&mut values, &mut places, &mut count);
                    let order = Order::default();
                    let done = match descending {
                        true => top.enqueue_top(&stream, order, &input, outputs, &mut workspace),
                        false => {
                            top.enqueue_bottom(&stream, order, &input, outputs, &mut workspace)
                        }
                    };
                    done.unwrap();
                    let what = format!("{pattern:?} {len} {k} {descending}");
                    assert_eq!(stream.clone_dtoh(&count).unwrap(), [k as u64], "{what}");
                    let given = stream.clone_dtoh(&places).unwrap();
                    assert!(given == expected[..k], "{what}");
                    let given = stream.clone_dtoh(&values).unwrap();
                    assert_bits(&given, &by_places(keys, &expected[..k]), &what);
                }
            }
        }
    }
}

/// Each replay chooses from what lies there then, also where a number in memory says how many
/// items there are.
#[test]
fn a_graph_chooses_again_and_again() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let top = TopK::<UpTo<Slice<u32>>>::load(&context).unwrap();
    let (len, k) = (700_000, 300);
    let mut workspace = Workspace::new(&stream, top.workspace_bytes(len, k)).unwrap();
    let mut data = stream.alloc_zeros::<u32>(len).unwrap();
    let mut limit = stream.alloc_zeros::<u64>(1).unwrap();
    let mut values = stream.alloc_zeros::<u32>(k).unwrap();
    let mut places = stream.alloc_zeros::<u64>(k).unwrap();
    let mut count = stream.alloc_zeros::<u64>(1).unwrap();
    let graph = captured(&stream, || {
        let outputs = (&mut values, &mut places, &mut count);
        let source = up_to(&data, &limit);
        top.enqueue_top(&stream, Order::default(), source, outputs, &mut workspace)
    });
    for (seed, some) in [(0, len), (1, 0), (2, 100), (3, 50_000), (4, len - 1)] {
        let all: Vec<u32> = keys(Pattern::Random, len, seed);
        stream.memcpy_htod(&all, &mut data).unwrap();
        stream.memcpy_htod(&[some as u64], &mut limit).unwrap();
        graph.launch().unwrap();
        let expected = &oracle(ORDERS[1], &all[..some])[..k.min(some)];
        assert_eq!(stream.clone_dtoh(&count).unwrap(), [expected.len() as u64]);
        let given = &stream.clone_dtoh(&places).unwrap()[..expected.len()];
        assert_eq!(given, expected, "{some}");
        let given = &stream.clone_dtoh(&values).unwrap()[..expected.len()];
        assert_eq!(given, by_places(&all, expected));
    }
}

#[test]
fn rows_on_a_stream_are_chosen_from_one_by_one() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let top = TopK::<Slice<f32>>::load(&context).unwrap();
    for (rows, columns, k) in [
        (32, 128_000, 50),
        (300, 1000, 1000),
        (2, 900_000, 7),
        (3, 40_000, 9000),
    ] {
        let all: Vec<f32> = keys(Pattern::Random, rows * columns, 8);
        let input = stream.clone_htod(&all).unwrap();
        let bytes = top.workspace_bytes_of_rows(rows, columns, k);
        let mut workspace = Workspace::new(&stream, bytes).unwrap();
        let mut values = stream.alloc_zeros::<f32>(rows * k).unwrap();
        let mut places = stream.alloc_zeros::<u64>(rows * k).unwrap();
        let shape = Rows::new(rows, columns);
        let outputs = (&mut values, &mut places);
        top.enqueue_bottom_rows(
            &stream,
            Order::default(),
            &input,
            shape,
            k,
            outputs,
            &mut workspace,
        )
        .unwrap();
        let expected: Vec<u64> = all
            .chunks(columns)
            .flat_map(|row| oracle(ORDERS[0], row)[..k].to_vec())
            .collect();
        assert!(
            stream.clone_dtoh(&places).unwrap() == expected,
            "{rows} {columns} {k}"
        );
    }
}

#[test]
fn bad_calls_on_a_stream_are_errors_that_say_which() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let top = TopK::<Slice<u32>>::load(&context).unwrap();
    let input = stream.alloc_zeros::<u32>(1000).unwrap();
    let mut values = stream.alloc_zeros::<u32>(5).unwrap();
    let mut places = stream.alloc_zeros::<u64>(4).unwrap();
    let mut count = stream.alloc_zeros::<u64>(1).unwrap();
    let mut workspace = Workspace::new(&stream, top.workspace_bytes(1000, 5)).unwrap();
    let outputs = (&mut values, &mut places, &mut count);
    let error = top
        .enqueue_top(&stream, Order::default(), &input, outputs, &mut workspace)
        .unwrap_err();
    assert_eq!(error, Error::Pairs { keys: 5, values: 4 });
    let mut small = Workspace::new(&stream, top.workspace_bytes(1000, 5) - 1).unwrap();
    let mut places = stream.alloc_zeros::<u64>(5).unwrap();
    let outputs = (&mut values, &mut places, &mut count);
    let error = top
        .enqueue_top(&stream, Order::default(), &input, outputs, &mut small)
        .unwrap_err();
    assert!(matches!(error, Error::Workspace { .. }), "{error}");
}
