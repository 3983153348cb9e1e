//! Runs of equal keys, and expansion, on a GPU: at the second level and the third.

use super::cases::{Case, Form, cases, long_cases};
use crate::support::data::{assert_same, sample};
use crate::support::{captured, gpu, stream};
use warpfold::cuda::{Expand, ReduceByKey, RunOutputs, ScanByKey, Workspace, starts_up_to};
use warpfold::ops::Add;
use warpfold::source::Slice;
use warpfold::{
    CountedStartsOf, Offsets, Prefixes, decode, offsets_from_ids, reduce_by_key, runs, scan_by_key,
    segment_ids,
};

fn all_cases() -> Vec<Case> {
    let mut all = cases(1024);
    all.extend(long_cases());
    all.retain(|case| case.items > 0);
    all
}

/// A key for each item, which differs from run to run, though not in all.
fn keys_of(case: &Case) -> Vec<u32> {
    let mut keys = vec![u32::MAX; case.items];
    for (number, segment) in case.segments().enumerate() {
        keys[segment].fill((number % 6) as u32);
    }
    keys
}

#[test]
fn keys_that_stay_on_the_device_cut_reductions() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let reduce = ReduceByKey::<u32, f32, Add>::load(&context).unwrap();
    let mut workspace = Workspace::new(&stream, 64).unwrap();
    for case in all_cases() {
        let (keys, values) = (keys_of(&case), sample::<f32>(case.items, 6));
        let expected = reduce_by_key::<u32, f32, Add>(&keys, &values).unwrap();
        let found = runs::<u32>(&keys).unwrap();
        let count = expected.0.len();
        let (keys, values) = (
            stream.clone_htod(&keys).unwrap(),
            stream.clone_htod(&values).unwrap(),
        );
        workspace.grow(reduce.workspace_bytes(case.items)).unwrap();
        // Room for all items, for as many runs as there are, and for fewer.
        for room in [case.items, count, count.div_ceil(2)] {
            let mut firsts = stream.alloc_zeros::<u32>(room).unwrap();
            let mut starts = stream.alloc_zeros::<u64>(room).unwrap();
            let mut lengths = stream.alloc_zeros::<u64>(room).unwrap();
            let mut folds = stream.clone_htod(&vec![-7.5_f32; room]).unwrap();
            let mut number = stream.alloc_zeros::<u64>(1).unwrap();
            let outputs = RunOutputs {
                keys: &mut firsts,
                starts: &mut starts,
                lengths: &mut lengths,
                folds: &mut folds,
            };
            reduce
                .enqueue(
                    &stream,
                    &keys,
                    &values,
                    outputs,
                    &mut number,
                    &mut workspace,
                )
                .unwrap();
            assert_eq!(stream.clone_dtoh(&number).unwrap(), [count as u64]);
            let stored = room.min(count);
            let firsts = stream.clone_dtoh(&firsts).unwrap();
            assert_eq!(firsts[..stored], expected.0[..stored], "{}", case.name);
            let lengths = stream.clone_dtoh(&lengths).unwrap();
            assert_eq!(lengths[..stored], found.lengths[..stored], "{}", case.name);
            // If there are more runs than room, one fold less.
            let folded = if room < count { room - 1 } else { count };
            let folds = stream.clone_dtoh(&folds).unwrap();
            assert_same(&folds[..folded], &expected.1[..folded], case.name);
            assert!(folds[folded..].iter().all(|&x| x == -7.5), "{}", case.name);
        }
    }
}

#[test]
fn scans_by_key_have_the_bits_of_the_cpu() {
    let (Some(device), Some((context, stream))) = (gpu(0), stream()) else {
        return;
    };
    let scan = ScanByKey::<u32, f32, Add>::load(&context).unwrap();
    let mut workspace = Workspace::new(&stream, 64).unwrap();
    for case in all_cases() {
        let (keys, values) = (keys_of(&case), sample::<f32>(case.items, 6));
        for form in Form::all(1.25) {
            let form = form.prefixes();
            let expected = scan_by_key::<u32, f32, Add>(form, &keys, &values).unwrap();
            let (k, v) = (
                device.upload(&keys).unwrap(),
                device.upload(&values).unwrap(),
            );
            let got = device.scan_by_key::<u32, f32, Add>(form, &k, &v).unwrap();
            assert_same(&got.to_vec().unwrap(), &expected, case.name);

            let (k, v) = (
                stream.clone_htod(&keys).unwrap(),
                stream.clone_htod(&values).unwrap(),
            );
            workspace.grow(scan.workspace_bytes(case.items)).unwrap();
            let mut starts = stream.alloc_zeros::<u64>(case.items).unwrap();
            let mut count = stream.alloc_zeros::<u64>(1).unwrap();
            let mut out = stream.alloc_zeros::<f32>(case.items).unwrap();
            let found = (&mut starts, &mut count);
            scan.enqueue(&stream, form, &k, &v, &mut out, found, &mut workspace)
                .unwrap();
            assert_same(&stream.clone_dtoh(&out).unwrap(), &expected, case.name);
        }
    }
}

#[test]
fn expansion_has_the_items_of_the_cpu() {
    let (Some(device), Some((context, stream))) = (gpu(0), stream()) else {
        return;
    };
    let expand = Expand::<f32>::load(&context).unwrap();
    for case in all_cases() {
        let lengths: Vec<_> = case
            .segments()
            .map(|segment| segment.len() as u32)
            .collect();
        let values = sample::<f32>(case.count(), 2);
        let expected = decode(&values, &lengths).unwrap();
        let (x, n) = (
            device.upload(&values).unwrap(),
            device.upload(&lengths).unwrap(),
        );
        let got = device.decode(&x, &n).unwrap();
        assert_same(&got.to_vec().unwrap(), &expected, case.name);

        let segments = Offsets::new(&case.offsets).unwrap();
        let ids = segment_ids(segments, case.items).unwrap();
        let offsets = device.upload(&case.offsets).unwrap();
        let segments = device.offsets(&offsets).unwrap();
        let got = device.segment_ids(segments, case.items).unwrap();
        assert_eq!(got.to_vec().unwrap(), ids, "{}", case.name);
        let sorted: Vec<_> = ids.into_iter().filter(|&id| id != u64::MAX).collect();
        let expected_offsets = offsets_from_ids(&sorted, case.count()).unwrap();
        let sorted = device.upload(&sorted).unwrap();
        let got = device.offsets_from_ids(&sorted, case.count()).unwrap();
        assert_eq!(got.to_vec().unwrap(), expected_offsets, "{}", case.name);

        if case.count() == 0 {
            continue;
        }
        let mut all = vec![-7.5; case.items];
        let first = case.offsets[0] as usize;
        all[first..first + expected.len()].copy_from_slice(&expected);
        let x = stream.clone_htod(&values).unwrap();
        let offsets = stream.clone_htod(&case.offsets).unwrap();
        let mut out = stream.alloc_zeros::<f32>(case.items).unwrap();
        let segments = Offsets::unchecked(&offsets).unwrap();
        expand
            .enqueue(&stream, &x, segments, -7.5, &mut out)
            .unwrap();
        assert_same(&stream.clone_dtoh(&out).unwrap(), &all, case.name);
    }
}

/// A graph of calls by key and of an expansion runs again over keys and values that are new, with
/// runs of other lengths: nothing of the first ones was captured.
#[test]
fn graphs_capture_calls_by_key() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let len = 70_001;
    let reduce = ReduceByKey::<u32, f32, Add>::load(&context).unwrap();
    let scan = ScanByKey::<u32, f32, Add>::load(&context).unwrap();
    let expand = Expand::<f32, Slice<f32>, CountedStartsOf<u64>>::load(&context).unwrap();
    let bytes = reduce.workspace_bytes(len).max(scan.workspace_bytes(len));
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    let mut keys = stream.alloc_zeros::<u32>(len).unwrap();
    let mut values = stream.alloc_zeros::<f32>(len).unwrap();
    let mut firsts = stream.alloc_zeros::<u32>(len).unwrap();
    let [mut starts, mut lengths, mut again] =
        [(); 3].map(|()| stream.alloc_zeros::<u64>(len).unwrap());
    let [mut folds, mut scans, mut of_runs] =
        [(); 3].map(|()| stream.alloc_zeros::<f32>(len).unwrap());
    let [mut count, mut number] = [(); 2].map(|()| stream.alloc_zeros::<u64>(1).unwrap());
    let graph = captured(&stream, || {
        let outputs = RunOutputs {
            keys: &mut firsts,
            starts: &mut starts,
            lengths: &mut lengths,
            folds: &mut folds,
        };
        reduce.enqueue(&stream, &keys, &values, outputs, &mut count, &mut workspace)?;
        // Each item gets the fold of its run.
        let segments = starts_up_to(&starts, &count);
        expand.enqueue(&stream, &folds, segments, 0.0, &mut of_runs)?;
        let (form, found) = (Prefixes::inclusive(), (&mut again, &mut number));
        scan.enqueue(
            &stream,
            form,
            &keys,
            &values,
            &mut scans,
            found,
            &mut workspace,
        )
    });
    for (round, run) in [1, 9, 3000, len].into_iter().enumerate() {
        let new_keys: Vec<_> = (0..len).map(|i| (i / run) as u32 % 5).collect();
        let new_values = sample::<f32>(len, round as u64);
        stream.memcpy_htod(&new_keys, &mut keys).unwrap();
        stream.memcpy_htod(&new_values, &mut values).unwrap();
        graph.launch().unwrap();
        let what = format!("runs of {run}");
        let (k, v) = (&new_keys, &new_values);
        let expected = reduce_by_key::<u32, f32, Add>(k, v).unwrap();
        let runs = expected.0.len();
        assert_eq!(stream.clone_dtoh(&count).unwrap(), [runs as u64], "{what}");
        assert_eq!(stream.clone_dtoh(&number).unwrap(), [runs as u64], "{what}");
        assert_eq!(stream.clone_dtoh(&firsts).unwrap()[..runs], expected.0);
        let got = stream.clone_dtoh(&folds).unwrap();
        assert_same(&got[..runs], &expected.1, &what);
        let counts: Vec<u64> = stream.clone_dtoh(&lengths).unwrap()[..runs].to_vec();
        let spread = decode(&expected.1, &counts).unwrap();
        assert_same(&stream.clone_dtoh(&of_runs).unwrap(), &spread, &what);
        let scanned = scan_by_key::<u32, f32, Add>(Prefixes::inclusive(), k, v).unwrap();
        assert_same(&stream.clone_dtoh(&scans).unwrap(), &scanned, &what);
    }
}
