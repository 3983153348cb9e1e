//! Level 3: merges, searches and sorts by a comparison, on a stream of the caller's.

use super::{Fraction, fractions, less, merged, sorted};
use crate::search::host::counted;
use crate::sort::cases::{ORDERS, Pattern, assert_bits, by_places, keys, oracle};
use crate::support::{captured, stream};
use warpfold::cuda::{Merge, Search, SortBy, Workspace};
use warpfold::{Error, Order};

/// Each replay works on what lies there then.
#[test]
fn a_graph_merges_searches_and_sorts_again_and_again() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let (len, other) = (30_001, 70_000);
    let merge = Merge::<f32>::load(&context).unwrap();
    let search = Search::<f32>::load(&context).unwrap();
    let sort = SortBy::<Fraction, less>::load(&context).unwrap();
    let mut workspace = Workspace::new(&stream, sort.workspace_bytes(len)).unwrap();
    let mut a = stream.alloc_zeros::<f32>(len).unwrap();
    let mut b = stream.alloc_zeros::<f32>(other).unwrap();
    let mut out = stream.alloc_zeros::<f32>(len + other).unwrap();
    let mut places = stream.alloc_zeros::<u64>(other).unwrap();
    let mut items = stream.alloc_zeros::<Fraction>(len).unwrap();
    let order = ORDERS[1];
    let graph = captured(&stream, || {
        merge.enqueue(&stream, order.0, &a, &b, &mut out)?;
        search.enqueue_upper_bound(&stream, order.0, &a, &b, &mut places)?;
        sort.enqueue_in_place(&stream, &mut items, &mut workspace)
    });
    for seed in 0..3 {
        let [x, y] = [(len, seed), (other, seed + 9)].map(|(len, seed)| {
            let data: Vec<f32> = keys(Pattern::Skewed, len, seed);
            by_places(&data, &oracle(order, &data))
        });
        let data = fractions(len, seed);
        stream.memcpy_htod(&x, &mut a).unwrap();
        stream.memcpy_htod(&y, &mut b).unwrap();
        stream.memcpy_htod(&data, &mut items).unwrap();
        graph.launch().unwrap();
        let given = stream.clone_dtoh(&out).unwrap();
        assert_bits(&given, &merged(order, &x, &y), "a merge");
        let [_, upper] = counted(order, &x, &y);
        assert_eq!(stream.clone_dtoh(&places).unwrap(), upper);
        assert_eq!(stream.clone_dtoh(&items).unwrap(), sorted(data));
    }
}

#[test]
fn bad_merges_and_searches_on_a_stream_are_errors_that_say_which() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let order = Order::ascending();
    let a = stream.alloc_zeros::<u32>(5).unwrap();
    let mut out = stream.alloc_zeros::<u32>(9).unwrap();
    let merge = Merge::<u32>::load(&context).unwrap();
    let error = merge.enqueue(&stream, order, &a, &a, &mut out).unwrap_err();
    let expected = Error::Length {
        input: 10,
        output: 9,
    };
    assert_eq!(error, expected);
    let search = Search::<u32>::load(&context).unwrap();
    let mut places = stream.alloc_zeros::<u64>(4).unwrap();
    let error = search.enqueue_lower_bound(&stream, order, &a, &a, &mut places);
    let expected = Error::Length {
        input: 5,
        output: 4,
    };
    assert_eq!(error.unwrap_err(), expected);
    let sort = SortBy::<Fraction, less>::load(&context).unwrap();
    let mut workspace = Workspace::new(&stream, sort.workspace_bytes(4)).unwrap();
    let mut items = stream.alloc_zeros::<Fraction>(5).unwrap();
    let error = sort.enqueue_in_place(&stream, &mut items, &mut workspace);
    assert!(matches!(error, Err(Error::Workspace { .. })));
}
