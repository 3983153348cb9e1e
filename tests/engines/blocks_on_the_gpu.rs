//! The block engine on a GPU, which reduces and scans short inputs, has the oracle's bits.

use crate::support::data::{Sample, assert_same, sample};
use crate::support::{gpu, oracle, stream};
use warpfold::codegen::{BlockPolicy, Engine, Layouts, Order};
use warpfold::cuda::cudarc::driver::DeviceRepr;
use warpfold::cuda::{Reduce, Scan, Workspace};
use warpfold::{Monoid, Prefixes, ops};

/// The block engine gives the oracle's bits around the ends of runs, parts and blocks, wherever
/// input and output start, in place, and whatever comes first.
#[test]
fn sanitized_short_inputs() {
    use crate::support::operators::{
        Bicyclic, BicyclicProduct, Bracketing, Doubtful, FloatSums, Ratios, Sums,
    };
    let Some(_) = gpu(0) else { return };
    check_blocks::<u8, ops::Add>();
    check_blocks::<i16, ops::Max>();
    check_blocks::<half::f16, ops::Add>();
    check_blocks::<f32, ops::Add>();
    check_blocks::<f32, Doubtful>();
    check_blocks::<u32, Ratios>();
    check_blocks::<u64, Bracketing>();
    check_blocks::<Bicyclic, BicyclicProduct>();
    check_blocks::<[u32; 3], Sums>();
    check_blocks::<[u64; 2], Sums>();
    check_blocks::<[f32; 5], FloatSums>();
    check_blocks::<[f32; 9], FloatSums>();
    check_blocks::<[f32; 16], FloatSums>();
}

fn check_blocks<T: Sample + DeviceRepr, Op: Monoid<T>>() {
    let Some((context, stream)) = stream() else {
        return;
    };
    let costs = [0, u32::MAX - 1];
    let reduce =
        costs.map(|cost| BlockPolicy::for_reduce(Layouts::of_slice::<T>(), 90, Order::Law, cost));
    let scan = costs.map(|cost| BlockPolicy::for_scan(Layouts::of_slice::<T>(), 90, cost));
    let lengths = |policy: BlockPolicy| {
        let (run, most) = (policy.run as usize, policy.elements() as usize);
        let part = 32 * run;
        let ends = [
            run + 1,
            part - 1,
            part,
            part + run + 1,
            3 * part,
            5 * part - 1,
        ];
        let all = [1, 7, 100, 1000].into_iter().chain(ends);
        let all = all.chain([most - part, most - run - 1, most - 1, most]);
        all.filter(move |&length| length <= most)
    };
    let data = sample::<T>(4100 + 8, 1);
    let init = data[4100];
    let mut workspace = Workspace::new(&stream, 0).unwrap();
    let named = |length: usize, policy: BlockPolicy| {
        format!("{} × {length} by {policy:?}", std::any::type_name::<Op>())
    };
    for policy in reduce.into_iter().flatten() {
        let reduce = Reduce::<T, Op>::load_engine(&context, Engine::Block(policy)).unwrap();
        for (number, length) in lengths(policy).enumerate() {
            let from = [0, 1, 3][number % 3];
            let input = stream.clone_htod(&data[..from + length]).unwrap();
            let mut output = stream.clone_htod(&data[..1]).unwrap();
            for init in [None, Some(init)] {
                let input = input.slice(from..);
                let enqueued = match init {
                    None => reduce.enqueue(&stream, &input, &mut output, &mut workspace),
                    Some(init) => {
                        reduce.enqueue_from(&stream, init, &input, &mut output, &mut workspace)
                    }
                };
                enqueued.unwrap();
                let got = stream.clone_dtoh(&output).unwrap();
                let expected = oracle::reduce::<T, Op>(&data[from..from + length], init);
                assert_same(&got, &[expected], &named(length, policy));
            }
        }
    }
    for policy in scan.into_iter().flatten() {
        let scan = Scan::<T, Op>::load_engine(&context, Engine::Block(policy)).unwrap();
        for (number, length) in lengths(policy).enumerate() {
            let (from, to) = [(0, 0), (1, 1), (0, 3), (5, 2)][number % 4];
            let items = &data[from..from + length];
            let input = stream.clone_htod(&data[..from + length]).unwrap();
            let what = named(length, policy);
            for (prefixes, expected) in [
                (
                    Prefixes::exclusive(),
                    oracle::exclusive::<T, Op>(items, None),
                ),
                (
                    Prefixes::inclusive(),
                    oracle::inclusive::<T, Op>(items, None),
                ),
                (
                    Prefixes::exclusive().from(init),
                    oracle::exclusive::<T, Op>(items, Some(init)),
                ),
            ] {
                let before = &data[..to + length + 1];
                let mut output = stream.clone_htod(before).unwrap();
                let mut target = output.slice_mut(to..to + length);
                let input = input.slice(from..);
                scan.enqueue(&stream, prefixes, &input, &mut target, &mut workspace)
                    .unwrap();
                let got = stream.clone_dtoh(&output).unwrap();
                assert_same(&got[..to], &before[..to], &what);
                assert_same(&got[to..to + length], &expected, &what);
                assert_same(&got[to + length..], &before[to + length..], &what);
            }
            let mut output = stream.clone_htod(&data[..from + length]).unwrap();
            let mut target = output.slice_mut(from..);
            let prefixes = Prefixes::inclusive();
            scan.enqueue_in_place(&stream, prefixes, &mut target, &mut workspace)
                .unwrap();
            let got = stream.clone_dtoh(&output).unwrap();
            let expected = oracle::inclusive::<T, Op>(items, None);
            assert_same(&got[from..], &expected, &format!("{what}, in place"));
        }
    }
}
