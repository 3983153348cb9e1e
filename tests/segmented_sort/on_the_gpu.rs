//! Level 3: on a stream of the caller's, with its slices and workspace.

use super::{MIXES, expected, offsets};
use crate::sort::cases::{ORDERS, Pattern, assert_bits, keys};
use crate::support::{captured, stream};
use warpfold::cuda::{SegmentedSort, Workspace, starts_up_to};
use warpfold::{CountedStartsOf, Error, Offsets, OffsetsOf, Order, Rows};

/// Each replay sorts what lies there then, whatever the segments are.
#[test]
fn a_graph_sorts_segments_of_any_mix_again_and_again() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let sort = SegmentedSort::<f32, OffsetsOf<u64>>::load(&context).unwrap();
    let (len, most) = (500_000, 8_000_000);
    let mut workspace = Workspace::new(&stream, sort.workspace_bytes(len)).unwrap();
    let mut data = stream.alloc_zeros::<f32>(len).unwrap();
    let mut places = stream.alloc_zeros::<u64>(len).unwrap();
    let mut bounds = stream.alloc_zeros::<u64>(most).unwrap();
    let order = Order::descending().nan_last();
    let graph = captured(&stream, || {
        let segments = Offsets::unchecked(&bounds)?;
        sort.enqueue_with_places(
            &stream,
            order,
            &mut data,
            segments,
            &mut places,
            &mut workspace,
        )
    });
    for (seed, mix) in MIXES.into_iter().enumerate() {
        let keys: Vec<f32> = keys(Pattern::Random, len, seed as u64);
        let mut offsets = offsets(mix, len, seed as u64);
        let (sorted, expected) = expected(ORDERS[3], &keys, &offsets);
        // All others are empty, and lie at the end.
        let end = *offsets.last().unwrap();
        assert!(offsets.len() <= most);
        offsets.resize(most, end);
        stream.memcpy_htod(&keys, &mut data).unwrap();
        stream.memcpy_htod(&offsets, &mut bounds).unwrap();
        graph.launch().unwrap();
        assert_bits(
            &stream.clone_dtoh(&data).unwrap(),
            &sorted,
            &format!("{mix:?}"),
        );
        assert!(stream.clone_dtoh(&places).unwrap() == expected, "{mix:?}");
    }
}

#[test]
fn bad_calls_on_a_stream_are_errors_that_say_which() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let sort = SegmentedSort::<u32, Rows>::load(&context).unwrap();
    let mut data = stream.alloc_zeros::<u32>(10_000).unwrap();
    let mut places = stream.alloc_zeros::<u64>(9_999).unwrap();
    let mut workspace = Workspace::new(&stream, sort.workspace_bytes(10_000)).unwrap();
    let (order, rows) = (Order::ascending(), Rows::new(10, 1000));
    let error = sort
        .enqueue_with_places(&stream, order, &mut data, rows, &mut places, &mut workspace)
        .unwrap_err();
    assert_eq!(
        error,
        Error::Length {
            input: 10_000,
            output: 9_999
        }
    );
    let error = sort
        .enqueue_in_place(&stream, order, &mut data, Rows::new(3, 3), &mut workspace)
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::Segments {
                argument: "rows",
                ..
            }
        ),
        "{error}"
    );
    let mut small = Workspace::new(&stream, sort.workspace_bytes(10_000) - 1).unwrap();
    let error = sort
        .enqueue_in_place(&stream, order, &mut data, rows, &mut small)
        .unwrap_err();
    assert!(matches!(error, Error::Workspace { .. }), "{error}");
}

/// As many segments as a number on the device says. What is behind their starts is of another call.
#[test]
fn counted_starts_are_segments_too() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let sort = SegmentedSort::<u32, CountedStartsOf<u64>>::load(&context).unwrap();
    let mut workspace = Workspace::new(&stream, sort.workspace_bytes(7)).unwrap();
    let mut data = stream.clone_htod(&[5_u32, 9, 1, 8, 2, 7, 3]).unwrap();
    let starts = stream.clone_htod(&[1_u64, 4, 0, 2]).unwrap();
    for (count, expected) in [
        (2_u64, [5, 1, 8, 9, 2, 3, 7]),
        (1, [5, 1, 2, 3, 7, 8, 9]),
        (0, [5, 1, 2, 3, 7, 8, 9]),
    ] {
        let count = stream.clone_htod(&[count]).unwrap();
        let (order, segments) = (Order::ascending(), starts_up_to(&starts, &count));
        sort.enqueue_in_place(&stream, order, &mut data, segments, &mut workspace)
            .unwrap();
        assert_eq!(stream.clone_dtoh(&data).unwrap(), expected);
    }
}
