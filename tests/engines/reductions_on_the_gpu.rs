//! Reductions on a GPU have the oracle's bits by every policy: for compute-bound operators, and for
//! chunks that blocks take in turn.

use crate::support::data::{Sample, assert_same, sample};
use crate::support::{gpu, oracle, stream};
use warpfold::codegen::{ComputeBoundReduce, Engine, Layouts, RowPolicy};
use warpfold::cuda::cudarc::driver::DeviceRepr;
use warpfold::cuda::{Reduce, Workspace};
use warpfold::{Device, Monoid, ops};

/// Reductions have the oracle's bits by every policy for compute-bound operators, whatever their
/// operator costs.
#[test]
fn compute_bound_reductions() {
    use crate::support::operators::{
        Bicyclic, BicyclicProduct, Bracketing, Doubtful, FloatSums, Ratios,
    };
    let Some(_) = gpu(0) else { return };
    check_compute_bound_reductions::<f32, ops::Add>();
    check_compute_bound_reductions::<f32, Doubtful>();
    check_compute_bound_reductions::<u32, Ratios>();
    check_compute_bound_reductions::<u64, Bracketing>();
    check_compute_bound_reductions::<Bicyclic, BicyclicProduct>();
    check_compute_bound_reductions::<[f32; 3], FloatSums>();
    check_compute_bound_reductions::<[f32; 5], FloatSums>();
    check_compute_bound_reductions::<[f32; 9], FloatSums>();
    check_compute_bound_reductions::<[f32; 16], FloatSums>();
}

/// Reductions have the oracle's bits where groups of chunks differ by one, where a multiprocessor
/// has two blocks, and where they take chunks in turn.
#[test]
fn lengths_that_no_power_of_two_fills() {
    use crate::support::operators::{Bracketing, Doubtful, FloatSums, Ratios};
    let Some(device) = gpu(0) else { return };
    check_lengths::<f32, ops::Add>(&device, 40_000_003);
    check_lengths::<f32, Doubtful>(&device, 6_000_000);
    check_lengths::<u32, Ratios>(&device, 40_000_003);
    check_lengths::<u64, Bracketing>(&device, 20_000_001);
    check_lengths::<[f32; 3], FloatSums>(&device, 13_000_000);
    check_lengths::<[f32; 5], FloatSums>(&device, 9_100_000);
}

/// Kernels for long inputs, on shorter ones.
#[test]
fn sanitized_turns() {
    use crate::support::operators::{Bicyclic, BicyclicProduct, FloatSums};
    let Some(_) = gpu(0) else { return };
    let lengths = [1, 31, 8193, 70_001, 300_000];
    check_turns::<f32, ops::Add, _>(lengths);
    check_turns::<Bicyclic, BicyclicProduct, _>(lengths);
    check_turns::<[f32; 5], FloatSums, _>(lengths);
}

/// Where chunks are taken in turn, a length says how many of them are long.
#[test]
fn long_and_short_chunks() {
    use crate::support::operators::{Bicyclic, BicyclicProduct, Bracketing, FloatSums};
    let Some(_) = gpu(0) else { return };
    let lengths = [1 << 20, 1_500_001, 9_000_003, 10_555_555];
    check_turns::<f32, ops::Add, _>(lengths);
    check_turns::<u64, Bracketing, _>(lengths);
    check_turns::<Bicyclic, BicyclicProduct, _>(lengths);
    check_turns::<[f32; 5], FloatSums, _>(lengths);
    check_turns::<[f32; 9], FloatSums, _>(lengths);
}

fn check_compute_bound_reductions<T: Sample + DeviceRepr, Op: Monoid<T>>() {
    let compute_bound =
        [89, u32::MAX].map(|cost| ComputeBoundReduce::of(Layouts::of_slice::<T>(), 90, cost));
    let policies = compute_bound
        .into_iter()
        .flatten()
        .flat_map(|compute_bound| compute_bound.rows);
    let lengths = [1, 31, 1000, 4096, 70_001, 1 << 20, 1_500_001];
    check_reductions_by::<T, Op, _>(policies.map(|(_, policy)| policy), lengths);
}

fn check_lengths<T: Sample, Op: Monoid<T>>(device: &Device, longest: usize) {
    let data = sample::<T>(longest, 1);
    let lengths = [
        1_300_001, 2_500_000, 3_000_000, 5_000_003, 5_400_000, longest,
    ];
    for length in lengths.into_iter().filter(|length| *length <= longest) {
        let input = device.upload(&data[..length]).unwrap();
        let result = device.reduce::<T, Op>(&input).unwrap();
        let expected = oracle::reduce::<T, Op>(&data[..length], None);
        assert_same(&[result], &[expected], &format!("reduce {length}"));
    }
}

/// Blocks that take chunks in turn, whatever the length.
fn check_turns<T: Sample + DeviceRepr, Op: Monoid<T>, const N: usize>(lengths: [usize; N]) {
    let policies = RowPolicy::for_ordered_reduce(Layouts::of_slice::<T>(), 90).into_iter();
    let in_turn = policies.filter(|(_, policy)| policy.in_turn);
    check_reductions_by::<T, Op, _>(in_turn.map(|(_, policy)| policy), lengths);
}

fn check_reductions_by<T: Sample + DeviceRepr, Op: Monoid<T>, const N: usize>(
    policies: impl Iterator<Item = RowPolicy>,
    lengths: [usize; N],
) {
    let Some((context, stream)) = stream() else {
        return;
    };
    let data = sample::<T>(lengths[lengths.len() - 1], 1);
    let expected = lengths.map(|length| oracle::reduce::<T, Op>(&data[..length], None));
    let input = stream.clone_htod(&data).unwrap();
    let mut output = stream.clone_htod(&data[..1]).unwrap();
    for policy in policies {
        let reduce = Reduce::<T, Op>::load_engine(&context, Engine::Rows(policy)).unwrap();
        for (&length, expected) in lengths.iter().zip(expected) {
            let bytes = reduce.workspace_bytes(length);
            let mut workspace = Workspace::new(&stream, bytes).unwrap();
            let input = input.slice(..length);
            reduce
                .enqueue(&stream, &input, &mut output, &mut workspace)
                .unwrap();
            let got = stream.clone_dtoh(&output).unwrap();
            let operator = std::any::type_name::<Op>();
            let what = format!("{operator} × {length} by {policy:?}");
            assert_same(&got, &[expected], &what);
        }
    }
}
