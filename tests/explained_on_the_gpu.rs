//! What `explain` says of launches is what a call enqueues on a GPU.

use crate::support::{captured, stream};
use std::sync::Arc;
use warpfold::codegen::Explanation;
use warpfold::cuda::cudarc::driver::{CudaStream, sys};
use warpfold::cuda::{
    AlongAxis, ArgSort, SegmentedReduce, SegmentedScan, SegmentedSort, Sort, TopK, Workspace,
};
use warpfold::ops::Add;
use warpfold::source::Slice;
use warpfold::{Axis, Order, Prefixes, Rows};

/// Compares the launches of an explanation with those of a call.
fn check(
    stream: &Arc<CudaStream>,
    said: &Explanation,
    work: impl FnOnce(&mut Workspace) -> warpfold::Result<()>,
) {
    let mut workspace = Workspace::new(stream, said.workspace_bytes()).unwrap();
    stream.synchronize().unwrap();
    let graph = captured(stream, || work(&mut workspace));
    let mut nodes = 0;
    // SAFETY: the graph is there, and only the number of its nodes is asked for.
    unsafe { sys::cuGraphGetNodes(graph.cu_graph(), std::ptr::null_mut(), &mut nodes) }
        .result()
        .unwrap();
    assert_eq!(nodes, said.launches().len(), "{said}");
}

#[test]
fn calls_have_the_launches_that_are_explained() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let sort = Sort::<f32>::load(&context).unwrap();
    let argsort = ArgSort::<f32>::load(&context).unwrap();
    let top = TopK::<Slice<f32>>::load(&context).unwrap();
    let along = AlongAxis::<f32, Add>::load(&context).unwrap();
    let reduce = SegmentedReduce::<f32, Add, Slice<f32>, Rows>::load(&context).unwrap();
    let scan = SegmentedScan::<f32, Add, Slice<f32>, Rows>::load(&context).unwrap();
    let segmented_sort = SegmentedSort::<f32, Rows>::load(&context).unwrap();
    let order = Order::ascending();
    for len in [1000, 100_000, 5_000_000] {
        let input = stream.alloc_zeros::<f32>(len).unwrap();
        let mut output = stream.alloc_zeros::<f32>(len).unwrap();
        let mut places = stream.alloc_zeros::<u64>(len).unwrap();
        let mut count = stream.alloc_zeros::<u64>(1).unwrap();
        let mut folds = stream.alloc_zeros::<f32>(len / 10).unwrap();
        let s = &stream;
        // A graph loads no kernels: so each call runs once before.
        for captures in [false, true] {
            let run =
                |said: &Explanation,
                 work: &mut dyn FnMut(&mut Workspace) -> warpfold::Result<()>| {
                    if captures {
                        return check(s, said, work);
                    }
                    let bytes = said.workspace_bytes();
                    work(&mut Workspace::new(s, bytes).unwrap()).unwrap();
                };
            run(&sort.explain(len).unwrap(), &mut |workspace| {
                sort.enqueue(s, order, &input, &mut output, workspace)
            });
            run(&sort.explain_in_place(len).unwrap(), &mut |workspace| {
                sort.enqueue_in_place(s, order, &mut output, workspace)
            });
            run(&argsort.explain(len).unwrap(), &mut |workspace| {
                argsort.enqueue(s, order, &input, &mut places, workspace)
            });
            run(&segmented_sort.explain(len).unwrap(), &mut |workspace| {
                let rows = Rows::new(len / 10, 10);
                segmented_sort.enqueue_in_place(s, order, &mut output, rows, workspace)
            });
            for (count, row) in [(len / 10, 10), (1, len)] {
                let rows = Rows::new(count, row);
                run(&reduce.explain(len, count).unwrap(), &mut |workspace| {
                    let folds = &mut folds.slice_mut(..count);
                    reduce.enqueue(s, &input, rows, folds, workspace)
                });
                run(&scan.explain(len, count).unwrap(), &mut |workspace| {
                    scan.enqueue(
                        s,
                        Prefixes::inclusive(),
                        &input,
                        rows,
                        &mut output,
                        workspace,
                    )
                });
            }
            for shape in [[len / 10, 10], [10, len / 10]] {
                for axis in [0, 1] {
                    let lanes = shape[1 - axis];
                    let axis = Axis::of(&shape, axis).unwrap();
                    run(&along.explain_reduce(axis).unwrap(), &mut |workspace| {
                        let folds = &mut folds.slice_mut(..lanes);
                        along.enqueue_reduce(s, &input, axis, folds, workspace)
                    });
                    run(&along.explain_scan(axis).unwrap(), &mut |workspace| {
                        let form = Prefixes::inclusive();
                        along.enqueue_scan(s, form, &input, axis, &mut output, workspace)
                    });
                }
            }
            for k in [10, 2000.min(len), len / 2] {
                run(&top.explain(len, k).unwrap(), &mut |workspace| {
                    let (values, at) = (&mut output.slice_mut(..k), &mut places.slice_mut(..k));
                    top.enqueue_top(s, order, &input, (values, at, &mut count), workspace)
                });
            }
        }
    }
}
