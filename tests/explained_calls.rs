//! Calls of the third level with what `explain` says of them. [`explained_on_the_gpu`] and
//! [`explained_without_gpus`] compare that with what the calls launch.
//!
//! [`explained_on_the_gpu`]: crate::explained_on_the_gpu
//! [`explained_without_gpus`]: crate::explained_without_gpus

use std::sync::Arc;
use warpfold::codegen::{
    Explanation, Machine, explain_histogram_weighted, explain_search,
    explain_segmented_reduce_vectors, explain_top_rows,
};
use warpfold::cuda::cudarc::driver::sys::CUdevice_attribute;
use warpfold::cuda::cudarc::driver::{CudaSlice, CudaStream, DeviceRepr, ValidAsZeroBits};
use warpfold::cuda::{
    AlongAxis, ArgSort, Collect, CutRanges, Expand, Histogram, Merge, Positions, Reduce,
    ReduceByKey, RunOutputs, Scan, ScanByKey, Scatter, Search, SegmentedReduce,
    SegmentedReduceVectors, SegmentedScan, SegmentedSort, Sort, SortPairs, TopK, Unique,
    WeightedHistogram, Workspace,
};
use warpfold::ops::Add;
use warpfold::source::{Map, NonZero, Slice};
use warpfold::{Axis, Bins, Element, Indices, Monoid, Order, Prefixes, Result, Rows};
use warpfold::{flags, heads};

/// A launch: the function, its blocks, their threads, and the shared memory of each.
pub(crate) type Launched = (String, u64, u32, u32);

/// All launches that an explanation says.
pub(crate) fn said(explanation: &Explanation) -> Vec<Launched> {
    let once = explanation.launches().iter().map(|launch| {
        let function = launch.function.clone();
        (function, launch.blocks, launch.threads, launch.shared_bytes)
    });
    let once: Vec<_> = once.collect();
    vec![once; explanation.times()].concat()
}

/// What compares an explanation with what a call launches.
pub(crate) type Check<'a> =
    &'a mut dyn FnMut(&Explanation, &mut dyn FnMut(&mut Workspace) -> Result<()>);

/// Memory for so many elements, and for one at least.
fn zeros<T: DeviceRepr + ValidAsZeroBits>(stream: &Arc<CudaStream>, len: usize) -> CudaSlice<T> {
    stream.alloc_zeros(len.max(1)).unwrap()
}

/// What can be asked without a GPU gives the same answer.
#[track_caller]
fn same(explanation: &Explanation, without_gpu: Result<Explanation>) {
    assert_eq!(explanation.to_string(), without_gpu.unwrap().to_string());
}

fn machine(stream: &CudaStream) -> Machine {
    let context = stream.context();
    let (major, minor) = context.compute_capability().unwrap();
    let count = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    Machine {
        capability: (10 * major + minor).unsigned_abs(),
        multiprocessors: context.attribute(count).unwrap().unsigned_abs(),
    }
}

/// All calls for so many items.
pub(crate) fn of_length(s: &Arc<CudaStream>, len: usize, check: Check<'_>) {
    folds(s, len, check);
    segments(s, len, check);
    axes(s, len, check);
    sorts(s, len, check);
    tops(s, len, check);
    histograms(s, len, check);
    others(s, len, check);
}

fn folds(s: &Arc<CudaStream>, len: usize, check: Check<'_>) {
    let context = s.context();
    let (input, mut output) = (zeros::<f32>(s, len), zeros::<f32>(s, len));
    let (input, output) = (input.slice(..len), &mut output.slice_mut(..len));
    let (mut places, mut count) = (zeros::<u64>(s, len), zeros::<u64>(s, 1));
    let mut fold = zeros::<f32>(s, 1);

    let reduce = Reduce::<f32, Add>::load(context).unwrap();
    check(&reduce.explain(len).unwrap(), &mut |workspace| {
        reduce.enqueue(s, &input, &mut fold, workspace)
    });
    let scan = Scan::<f32, Add>::load(context).unwrap();
    check(&scan.explain(len).unwrap(), &mut |workspace| {
        scan.enqueue(s, Prefixes::exclusive(), &input, output, workspace)
    });
    let unique = Unique::<f32>::load(context).unwrap();
    check(&unique.explain(len).unwrap(), &mut |workspace| {
        unique.enqueue(s, heads(&input), output, &mut count, workspace)
    });
    let mask = zeros::<u8>(s, len);
    let mask = mask.slice(..len);
    let find = Positions::<Map<NonZero<u8>, Slice<u8>>>::load(context).unwrap();
    check(&find.explain(len).unwrap(), &mut |workspace| {
        let places = &mut places.slice_mut(..len);
        find.enqueue(s, flags(&mask), places, &mut count, workspace)
    });
}

fn segments(s: &Arc<CudaStream>, len: usize, check: Check<'_>) {
    let context = s.context();
    let (input, mut output) = (zeros::<f32>(s, len), zeros::<f32>(s, len));
    let (input, output) = (input.slice(..len), &mut output.slice_mut(..len));
    let (mut starts, mut lengths) = (zeros::<u64>(s, len), zeros::<u64>(s, len));
    let (mut folds, mut firsts) = (zeros::<f32>(s, len.max(10)), zeros::<u32>(s, len));
    let (keys, mut count) = (zeros::<u32>(s, len), zeros::<u64>(s, 1));
    let keys = keys.slice(..len);

    let reduce = SegmentedReduce::<f32, Add, Slice<f32>, Rows>::load(context).unwrap();
    let scan = SegmentedScan::<f32, Add, Slice<f32>, Rows>::load(context).unwrap();
    let expand = Expand::<f32, Slice<f32>, Rows>::load(context).unwrap();
    let vectors = SegmentedReduceVectors::<f32, Add, Slice<f32>, Rows>::load(context).unwrap();
    for (number, row) in [(len / 10, 10), (1, len)] {
        if number * row != len {
            continue;
        }
        let rows = Rows::new(number, row);
        check(&reduce.explain(len, number).unwrap(), &mut |workspace| {
            let folds = &mut folds.slice_mut(..number);
            reduce.enqueue(s, &input, rows, folds, workspace)
        });
        check(&scan.explain(len, number).unwrap(), &mut |workspace| {
            let form = Prefixes::inclusive();
            scan.enqueue(s, form, &input, rows, output, workspace)
        });
        let values = zeros::<f32>(s, number);
        check(&expand.explain(len, number).unwrap(), &mut |_| {
            expand.enqueue(s, &values.slice(..number), rows, 0.0, output)
        });
        // One segment has all rows.
        let all = Rows::new(1, if row == 0 { 0 } else { number });
        let explanation = vectors.explain(1, row).unwrap();
        same(&explanation, explain_segmented_reduce_vectors(1, row));
        check(&explanation, &mut |_| {
            let folds = &mut folds.slice_mut(..row);
            vectors.enqueue(s, &input, row, all, folds)
        });
    }

    let reduce = ReduceByKey::<u32, f32, Add>::load(context).unwrap();
    check(&reduce.explain(len, len).unwrap(), &mut |workspace| {
        let outputs = RunOutputs {
            keys: &mut firsts.slice_mut(..len),
            starts: &mut starts.slice_mut(..len),
            lengths: &mut lengths.slice_mut(..len),
            folds: &mut folds.slice_mut(..len),
        };
        reduce.enqueue(s, &keys, &input, outputs, &mut count, workspace)
    });
    let scan = ScanByKey::<u32, f32, Add>::load(context).unwrap();
    check(&scan.explain(len).unwrap(), &mut |workspace| {
        let runs = (&mut starts.slice_mut(..len), &mut count);
        let form = Prefixes::inclusive();
        scan.enqueue(s, form, &keys, &input, output, runs, workspace)
    });

    let ranges = CutRanges::<u32>::load(context).unwrap();
    let number = len / 10;
    let mut offsets = zeros::<u64>(s, number + 1);
    check(&ranges.explain(number, len).unwrap(), &mut |workspace| {
        let bounds = keys.slice(..number);
        let shifts = &mut starts.slice_mut(..len);
        ranges.enqueue(s, (&bounds, &bounds, len), &mut offsets, shifts, workspace)
    });
}

fn axes(s: &Arc<CudaStream>, len: usize, check: Check<'_>) {
    let along = AlongAxis::<f32, Add>::load(s.context()).unwrap();
    for shape in [[len / 10, 10], [10, len / 10], [2, len / 2]] {
        let items = shape[0] * shape[1];
        let (input, mut output) = (zeros::<f32>(s, items), zeros::<f32>(s, items));
        let (input, output) = (input.slice(..items), &mut output.slice_mut(..items));
        for axis in [0, 1] {
            let lanes = shape[1 - axis];
            let axis = Axis::of(&shape, axis).unwrap();
            let mut folds = zeros::<f32>(s, lanes);
            check(&along.explain_reduce(axis).unwrap(), &mut |workspace| {
                let folds = &mut folds.slice_mut(..lanes);
                along.enqueue_reduce(s, &input, axis, folds, workspace)
            });
            check(&along.explain_scan(axis).unwrap(), &mut |workspace| {
                along.enqueue_scan(s, Prefixes::inclusive(), &input, axis, output, workspace)
            });
        }
    }
}

fn sorts(s: &Arc<CudaStream>, len: usize, check: Check<'_>) {
    let (context, order) = (s.context(), Order::ascending());
    let (input, mut output) = (zeros::<f32>(s, len), zeros::<f32>(s, len));
    let (input, output) = (input.slice(..len), &mut output.slice_mut(..len));
    let mut places = zeros::<u64>(s, len);
    let places = &mut places.slice_mut(..len);

    let sort = Sort::<f32>::load(context).unwrap();
    check(&sort.explain(len).unwrap(), &mut |workspace| {
        sort.enqueue(s, order, &input, output, workspace)
    });
    check(&sort.explain_in_place(len).unwrap(), &mut |workspace| {
        sort.enqueue_in_place(s, order, output, workspace)
    });
    let pairs = SortPairs::<f32, u64>::load(context).unwrap();
    check(&pairs.explain(len).unwrap(), &mut |workspace| {
        pairs.enqueue_in_place(s, order, output, places, workspace)
    });
    let argsort = ArgSort::<f32>::load(context).unwrap();
    check(&argsort.explain(len).unwrap(), &mut |workspace| {
        argsort.enqueue(s, order, &input, places, workspace)
    });
    let sort = SegmentedSort::<f32, Rows>::load(context).unwrap();
    let rows = Rows::new(1, len);
    check(&sort.explain(len).unwrap(), &mut |workspace| {
        sort.enqueue_in_place(s, order, output, rows, workspace)
    });
    check(&sort.explain_with_places(len).unwrap(), &mut |workspace| {
        sort.enqueue_with_places(s, order, output, rows, places, workspace)
    });
    let merge = Merge::<f32>::load(context).unwrap();
    check(&merge.explain(len).unwrap(), &mut |_| {
        let (first, second) = (input.slice(..len / 3), input.slice(len / 3..));
        merge.enqueue(s, order, &first, &second, output)
    });
}

fn tops(s: &Arc<CudaStream>, len: usize, check: Check<'_>) {
    let order = Order::ascending();
    let (input, mut count) = (zeros::<f32>(s, len), zeros::<u64>(s, 1));
    let input = input.slice(..len);
    let (mut values, mut places) = (zeros::<f32>(s, len), zeros::<u64>(s, len));
    let top = TopK::<Slice<f32>>::load(s.context()).unwrap();
    for k in [0, 10.min(len), 2000.min(len), len / 2] {
        check(&top.explain(len, k).unwrap(), &mut |workspace| {
            let (values, at) = (&mut values.slice_mut(..k), &mut places.slice_mut(..k));
            top.enqueue_top(s, order, &input, (values, at, &mut count), workspace)
        });
    }
    // Those of few rows that are long are found row by row.
    for (rows, columns) in [(2, len / 2), (1, len), (len / 10, 10), (0, 10)] {
        let items = rows * columns;
        for k in [0, 10, 2000, columns / 2] {
            let explanation = top.explain_rows(rows, columns, k).unwrap();
            let asked = explain_top_rows::<f32>(machine(s), rows, columns, k);
            same(&explanation, asked);
            let found = rows * k.min(columns);
            check(&explanation, &mut |workspace| {
                let (rows, input) = (Rows::new(rows, columns), input.slice(..items));
                let outputs = (
                    &mut values.slice_mut(..found),
                    &mut places.slice_mut(..found),
                );
                top.enqueue_top_rows(s, order, &input, rows, k, outputs, workspace)
            });
        }
    }
}

fn histograms(s: &Arc<CudaStream>, len: usize, check: Check<'_>) {
    let input = zeros::<f32>(s, len);
    let input = input.slice(..len);
    let edges: Vec<f32> = (0..=300).map(|edge| (edge * edge) as f32).collect();
    for bins in [
        Bins::even(0.0, 1.0, 256).unwrap(),
        Bins::even(0.0, 1.0, 100_000).unwrap(),
        Bins::with_edges_of(&edges).unwrap(),
    ] {
        let histogram = Histogram::<u64, Slice<f32>>::load(s, &bins).unwrap();
        let mut counts = zeros::<u64>(s, histogram.counts());
        check(&histogram.explain(len).unwrap(), &mut |_| {
            histogram.enqueue(s, &input, &mut counts)
        });
        weighted::<u8>(s, &bins, len, check);
        weighted::<i16>(s, &bins, len, check);
        weighted::<u32>(s, &bins, len, check);
        weighted::<i64>(s, &bins, len, check);
        weighted::<f32>(s, &bins, len, check);
        weighted::<f64>(s, &bins, len, check);
    }
    // Two parts of an item have one weight, so it stays where it is.
    let pairs = zeros::<[u8; 2]>(s, len);
    let pairs = pairs.slice(..len);
    let bins = Bins::values(100).unwrap();
    let histogram = WeightedHistogram::<f32, Slice<[u8; 2]>>::load(s, &bins).unwrap();
    let mut sums = zeros::<f32>(s, histogram.sums());
    check(&histogram.explain(len).unwrap(), &mut |workspace| {
        histogram.enqueue(s, &pairs, &input, &mut sums, workspace)
    });
}

fn weighted<W>(s: &Arc<CudaStream>, bins: &Bins<f32>, len: usize, check: Check<'_>)
where
    W: Element + DeviceRepr + ValidAsZeroBits,
    Add: Monoid<W>,
{
    let histogram = WeightedHistogram::<W, Slice<f32>>::load(s, bins).unwrap();
    let (input, weights) = (zeros::<f32>(s, len), zeros::<W>(s, len));
    let mut sums = zeros::<W>(s, histogram.sums());
    let explanation = histogram.explain(len).unwrap();
    let bytes = explanation.workspace_bytes();
    assert_eq!(bytes, histogram.workspace_bytes(len));
    let asked = explain_histogram_weighted::<W, Slice<f32>>(machine(s), bins, len);
    same(&explanation, asked);
    check(&explanation, &mut |workspace| {
        let (input, weights) = (input.slice(..len), weights.slice(..len));
        histogram.enqueue(s, &input, &weights, &mut sums, workspace)
    });
}

fn others(s: &Arc<CudaStream>, len: usize, check: Check<'_>) {
    let context = s.context();
    let (input, mut output) = (zeros::<f32>(s, len), zeros::<f32>(s, len));
    let (input, output) = (input.slice(..len), &mut output.slice_mut(..len));
    let (indices, mut places) = (zeros::<u32>(s, len), zeros::<u64>(s, len));
    let indices = indices.slice(..len);

    let collect = Collect::<Slice<f32>>::load(context).unwrap();
    check(&collect.explain(len).unwrap(), &mut |_| {
        collect.enqueue(s, &input, output)
    });
    let search = Search::<f32>::load(context).unwrap();
    for sorted in [0, len] {
        let explanation = search.explain(len).unwrap();
        same(&explanation, explain_search::<f32>(machine(s), len));
        check(&explanation, &mut |_| {
            let (sorted, places) = (input.slice(..sorted), &mut places.slice_mut(..len));
            search.enqueue_lower_bound(s, Order::ascending(), &sorted, &input, places)
        });
    }
    let scatter = Scatter::<Slice<f32>>::load(context).unwrap();
    check(&scatter.explain(len, len).unwrap(), &mut |workspace| {
        scatter.enqueue(s, &input, Indices::unchecked(&indices), output, workspace)
    });
}
