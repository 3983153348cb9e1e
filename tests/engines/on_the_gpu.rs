//! A GPU gives the bits of the sequential oracle and of the CPU backend.

use crate::support::data::{Random, Sample, assert_same, boundary_lengths, sample};
use crate::support::matrix::{self, Visitor, for_every_group};
use crate::support::{gpu, oracle, skip, stream};
use rayon::prelude::*;
use warpfold::Prefixes;
use warpfold::codegen::{
    BlockPolicy, ComputeBoundReduce, ComputeBoundScan, Engine, Layouts, Order, Policy, Primitive,
    RowPolicy, WavePolicy, cost,
};
use warpfold::cuda::cudarc::driver::DeviceRepr;
use warpfold::cuda::{Reduce, Scan, Workspace};
use warpfold::{Device, Monoid, ops};

/// Compares reduce and the forms of scan with the oracle at every boundary of the tiles.
struct Boundaries<'a>(&'a Device);

impl Visitor for Boundaries<'_> {
    fn visit<T: Sample, Op: Monoid<T>>(&mut self) {
        for primitive in Primitive::ALL {
            for length in boundary_lengths(Policy::of::<T>(primitive).tile() as usize) {
                check::<T, Op>(self.0, length);
            }
        }
    }
}

fn check<T: Sample, Op: Monoid<T>>(device: &Device, length: usize) {
    let input = sample::<T>(length, 1);
    let init = sample::<T>(1, 2)[0];
    let what = format!(
        "{} on {} × {length}",
        std::any::type_name::<Op>(),
        std::any::type_name::<T>()
    );
    let buffer = device.upload(&input).unwrap();

    let reduced = device.reduce::<T, Op>(&buffer).unwrap();
    assert_same(
        &[reduced],
        &[oracle::reduce::<T, Op>(&input, None)],
        &format!("reduce, {what}"),
    );
    let reduced = device.reduce_from::<T, Op>(init, &buffer).unwrap();
    assert_same(
        &[reduced],
        &[oracle::reduce::<T, Op>(&input, Some(init))],
        &format!("reduce_from, {what}"),
    );

    let scanned = device.scan::<T, Op>(&buffer).unwrap().into_vec().unwrap();
    assert_same(
        &scanned,
        &oracle::exclusive::<T, Op>(&input, None),
        &format!("scan, {what}"),
    );
    let scanned = device
        .inclusive_scan_from::<T, Op>(init, &buffer)
        .unwrap()
        .into_vec()
        .unwrap();
    let expected = oracle::inclusive::<T, Op>(&input, Some(init));
    assert_same(&scanned, &expected, &format!("inclusive_scan_from, {what}"));

    let mut into = device.upload(&vec![init; length]).unwrap();
    device
        .scan_into::<T, Op>(Prefixes::exclusive().from(init), &buffer, &mut into)
        .unwrap();
    let expected = oracle::exclusive::<T, Op>(&input, Some(init));
    assert_same(
        &into.into_vec().unwrap(),
        &expected,
        &format!("scan_from_into, {what}"),
    );
    let mut in_place = buffer;
    device
        .scan_in_place::<T, Op>(Prefixes::inclusive(), &mut in_place)
        .unwrap();
    let expected = oracle::inclusive::<T, Op>(&input, None);
    assert_same(
        &in_place.into_vec().unwrap(),
        &expected,
        &format!("inclusive_scan_in_place, {what}"),
    );
}

macro_rules! boundary_test {
    ($group:ident) => {
        #[test]
        fn $group() {
            if let Some(device) = gpu(0) {
                matrix::$group(&mut Boundaries(&device));
            }
        }
    };
}

mod at_every_boundary {
    use super::*;
    for_every_group!(boundary_test);
}

/// All engines give the oracle's bits around the ends of the wave engine's tiles and waves.
#[test]
fn sanitized_waves() {
    // The race checker records every access, and runs out of memory over more than these.
    check_all_waves(&[(0, 0), (5, 3)]);
}

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

/// So do all engines if input and output start anywhere.
#[test]
fn waves_from_anywhere() {
    check_all_waves(&[(1, 1), (0, 3), (5, 0), (3, 6)]);
}

/// So do all engines for long elements.
#[test]
fn waves_of_long_elements() {
    use crate::support::operators::{FloatSums, Sums};
    let Some(_) = gpu(0) else { return };
    let starts = &[(0, 0), (5, 3), (1, 1)];
    check_waves::<[f32; 9], FloatSums>(starts);
    check_waves::<[u64; 5], Sums>(starts);
    check_waves::<[u32; 13], Sums>(starts);
    check_waves::<[f32; 16], FloatSums>(starts);
}

/// Reductions have the oracle's bits by every policy for costly operators, whatever theirs costs.
#[test]
fn costly_reductions() {
    use crate::support::operators::{
        Bicyclic, BicyclicProduct, Bracketing, Doubtful, FloatSums, Ratios,
    };
    let Some(_) = gpu(0) else { return };
    check_costly_reductions::<f32, ops::Add>();
    check_costly_reductions::<f32, Doubtful>();
    check_costly_reductions::<u32, Ratios>();
    check_costly_reductions::<u64, Bracketing>();
    check_costly_reductions::<Bicyclic, BicyclicProduct>();
    check_costly_reductions::<[f32; 3], FloatSums>();
    check_costly_reductions::<[f32; 5], FloatSums>();
    check_costly_reductions::<[f32; 9], FloatSums>();
    check_costly_reductions::<[f32; 16], FloatSums>();
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

/// Scans have the oracle's bits up to where a GPU of 132 multiprocessors holds all at once, by each
/// of the kernels for that, and beyond.
#[test]
fn scans_that_a_gpu_holds_at_once() {
    use crate::support::operators::{Affine, Bracketing, FloatSums, Ratios, Then};
    let Some(device) = gpu(0) else { return };
    check_held::<u8, Bracketing>(&device);
    check_held::<i16, ops::Max>(&device);
    check_held::<f32, ops::Add>(&device);
    check_held::<u32, Ratios>(&device);
    check_held::<half::f16, ops::Add>(&device);
    check_held::<Affine, Then>(&device);
    check_held::<[f32; 3], FloatSums>(&device);
    check_held::<[f32; 4], FloatSums>(&device);
    check_held::<[u8; 3], Bracketing>(&device);
    check_held::<[f32; 9], FloatSums>(&device);
    check_held::<[f32; 16], FloatSums>(&device);
}

/// Scans of long elements, by operators that do not commute, have the oracle's bits where one
/// engine follows another.
#[test]
fn ordered_scans_of_long_elements() {
    use crate::support::operators::{Bracketing, OddMaps};
    let Some(device) = gpu(0) else { return };
    check_scans::<[u32; 8], OddMaps>(&device);
    check_scans::<[u32; 9], OddMaps>(&device);
    check_scans::<[u8; 36], Bracketing>(&device);
    check_scans::<[u32; 12], OddMaps>(&device);
    check_scans::<[u32; 16], OddMaps>(&device);
}

fn check_scans<T: Sample, Op: Monoid<T>>(device: &Device) {
    let lengths = [33_793, 67_585, 100_003, 135_169, 270_337, 540_673, 700_001];
    let data = sample::<T>(lengths[lengths.len() - 1], 1);
    let expected = oracle::inclusive::<T, Op>(&data, None);
    for length in lengths {
        let input = device.upload(&data[..length]).unwrap();
        let scanned = device.inclusive_scan::<T, Op>(&input).unwrap();
        let name = format!("{} × {length}", std::any::type_name::<Op>());
        assert_same(&scanned.to_vec().unwrap(), &expected[..length], &name);
    }
}

fn check_held<T: Sample, Op: Monoid<T>>(device: &Device) {
    let policies =
        RowPolicy::for_scans_at_once(Layouts::of_slice::<T>(), 90, cost::<T, Op>()).into_iter();
    let held: Vec<usize> = policies
        .map(|policy| 132 * policy.at_once() as usize)
        .collect();
    let data = sample::<T>(held.last().unwrap() + 1, 1);
    // Prefixes depend on what comes before them alone.
    let expected = oracle::inclusive::<T, Op>(&data, None);
    for held in held {
        let name = format!("{} × {held}", std::any::type_name::<Op>());
        let input = device.upload(&data[..held]).unwrap();
        let scanned = device.scan::<T, Op>(&input).unwrap().to_vec().unwrap();
        assert_same(&scanned[1..], &expected[..held - 1], &name);
        let input = device.upload(&data[..held + 1]).unwrap();
        let scanned = device.inclusive_scan::<T, Op>(&input).unwrap();
        assert_same(&scanned.to_vec().unwrap(), &expected[..held + 1], &name);
    }
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

fn check_costly_reductions<T: Sample + DeviceRepr, Op: Monoid<T>>() {
    let costly =
        [89, u32::MAX].map(|cost| ComputeBoundReduce::of(Layouts::of_slice::<T>(), 90, cost));
    let policies = costly.into_iter().flatten().flat_map(|costly| costly.rows);
    let lengths = [1, 31, 1000, 4096, 70_001, 1 << 20, 1_500_001];
    check_reductions_by::<T, Op, _>(policies.map(|(_, policy)| policy), lengths);
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

/// `starts`: how many elements after a multiple of 16 bytes the wave engine's input and output
/// start.
fn check_all_waves(starts: &[(usize, usize)]) {
    use crate::support::operators::{
        Bicyclic, BicyclicProduct, Bracketing, Doubtful, Ratios, Sums,
    };
    let Some(_) = gpu(0) else { return };
    check_waves::<f32, Doubtful>(starts);
    check_waves::<u32, Ratios>(starts);
    check_waves::<u64, Bracketing>(starts);
    check_waves::<f32, ops::Add>(starts);
    check_waves::<u8, ops::Add>(starts);
    check_waves::<half::f16, ops::Add>(starts);
    check_waves::<Bicyclic, BicyclicProduct>(starts);
    check_waves::<[u32; 3], Sums>(starts);
    check_waves::<[u64; 2], Sums>(starts);
}

fn check_waves<T: Sample + DeviceRepr, Op: Monoid<T>>(starts: &[(usize, usize)]) {
    let Some((context, stream)) = stream() else {
        return;
    };
    let policy = WavePolicy::of::<T>().expect("a policy");
    let wave = policy.tile() as usize * policy.wave as usize;
    let tile = policy.tile() as usize;
    let longest = 2 * wave + 3 * tile + 5;
    let data = sample::<T>(longest, 1);
    let expected = [
        oracle::exclusive::<T, Op>(&data, None),
        oracle::inclusive::<T, Op>(&data, None),
    ];
    let mut engines = vec![Engine::Levels, Engine::Rows(RowPolicy::of_scan::<T>(true))];
    let at_once = RowPolicy::for_scans_at_once(Layouts::of_slice::<T>(), 90, 0);
    engines.extend(at_once.into_iter().map(Engine::Rows));
    let (major, minor) = context.compute_capability().unwrap();
    if Engine::Wave(policy).runs_on((10 * major + minor) as u32) {
        engines.push(Engine::Wave(policy));
    } else {
        skip(
            "cuda",
            &format!("compute capability {major}.{minor} has no wave engine"),
        );
    }
    let costly = ComputeBoundScan::of(Layouts::of_slice::<T>(), 90, u32::MAX);
    if let Some(ComputeBoundScan {
        short,
        middle,
        shares,
        ..
    }) = costly
    {
        let middle = middle.into_iter().map(|(_, policy)| policy);
        let shares = middle.chain([shares]).map(Engine::Shares);
        // Some are for several lengths.
        for engine in short.into_iter().map(Engine::Rows).chain(shares) {
            if !engines.contains(&engine) {
                engines.push(engine);
            }
        }
    }
    for engine in engines {
        let scan = Scan::<T, Op>::load_engine(&context, engine).unwrap();
        let mut workspace = Workspace::new(&stream, scan.workspace_bytes(longest)).unwrap();
        // For unaligned slices the wave engine has other kernels; the other engines have the same.
        let aligned = [(0, 0)];
        let starts = match engine {
            Engine::Wave(_) => starts,
            _ => &aligned,
        };
        for &(from, to) in starts {
            let after = |start: usize| [&data[..start], &data].concat();
            let input = stream.clone_htod(&after(from)).unwrap();
            let few = [1, tile + 1, wave + 1];
            let all = [
                1,
                tile - 1,
                tile,
                tile + 1,
                wave - 1,
                wave,
                wave + 1,
                2 * wave,
                longest,
            ];
            for &length in if (from, to) == (5, 3) { &few[..] } else { &all } {
                let input = input.slice(from..from + length);
                let before = after(to);
                let mut output = stream.clone_htod(&before[..to + length]).unwrap();
                let what = format!(
                    "{} × {length} from {from} to {to} by {engine:?}",
                    std::any::type_name::<Op>()
                );
                let check = |output: &_, expected: &[T]| {
                    let got = stream.clone_dtoh(output).unwrap();
                    assert_same(&got[..to], &before[..to], &what);
                    assert_same(&got[to..], &expected[..length], &what);
                };
                let mut target = output.slice_mut(to..);
                scan.enqueue(
                    &stream,
                    Prefixes::exclusive(),
                    &input,
                    &mut target,
                    &mut workspace,
                )
                .unwrap();
                check(&output, &expected[0]);
                let mut target = output.slice_mut(to..);
                scan.enqueue(
                    &stream,
                    Prefixes::inclusive(),
                    &input,
                    &mut target,
                    &mut workspace,
                )
                .unwrap();
                check(&output, &expected[1]);
                let mut output = stream.clone_htod(&before[..to + length]).unwrap();
                let mut target = output.slice_mut(to..);
                scan.enqueue_in_place(&stream, Prefixes::exclusive(), &mut target, &mut workspace)
                    .unwrap();
                check(&output, &expected[0]);
            }
        }
    }
}

#[test]
fn special_floats_keep_their_meaning() {
    let Some(device) = gpu(0) else { return };
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MIN_POSITIVE / 4.0,
        f32::MAX,
    ];
    let mut random = Random::new(3);
    for length in [1, 2, 9, 100, 5000] {
        // Mostly zeros of both signs, for which an inexact identity would show.
        let pick = |random: &mut Random| match random.next() % 8 {
            0 => values[random.next() as usize % values.len()],
            n if n % 2 == 0 => -0.0,
            _ => 0.0,
        };
        let mixed: Vec<f32> = (0..length).map(|_| pick(&mut random)).collect();
        let negative_zeros = vec![-0.0_f32; length];
        for input in [mixed, negative_zeros] {
            let buffer = device.upload(&input).unwrap();
            macro_rules! compare {
                ($($op:ty),*) => {$(
                    let got = device.inclusive_scan::<f32, $op>(&buffer).unwrap().into_vec().unwrap();
                    let expected = oracle::inclusive::<f32, $op>(&input, None);
                    assert_same(&got, &expected, stringify!($op));
                )*};
            }
            compare!(ops::Add, ops::Mul, ops::Min, ops::Max);
        }
    }
}

/// What the memory checkers run: every kernel, small sizes, exact allocations.
#[test]
fn sanitized_sizes() {
    use crate::support::operators::{Bicyclic, BicyclicProduct, Sums};
    let Some(device) = gpu(0) else { return };
    for length in [1, 31, 1000, 8191, 8192, 8193, 70_001] {
        check::<f32, ops::Add>(&device, length);
        check::<u8, ops::Add>(&device, length);
        check::<half::f16, ops::Add>(&device, length);
        check::<Bicyclic, BicyclicProduct>(&device, length);
        check::<[u8; 33], Sums>(&device, length);
    }
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

/// `length` random elements, generated by all threads.
fn large_sample<T: Sample>(length: usize) -> Vec<T> {
    const PART: usize = 1 << 16;
    let mut data = vec![T::sample(&mut Random::new(0)); length];
    data.par_chunks_mut(PART).enumerate().for_each(|(i, part)| {
        let mut random = Random::new(i as u64 + 1);
        part.fill_with(|| T::sample(&mut random));
    });
    data
}

/// As `assert_same`, by all threads.
fn assert_same_in_parallel<T: Sample>(got: &[T], expected: &[T], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}: length");
    let first = got
        .par_iter()
        .zip(expected)
        .position_first(|(got, expected)| !got.same(*expected));
    if let Some(i) = first {
        panic!(
            "{what}: at {i}: got {:?}, expected {:?}",
            got[i], expected[i]
        );
    }
}

fn wants_large() -> bool {
    let wanted = std::env::var_os("WARPFOLD_LARGE").is_some();
    if !wanted {
        skip("large", "WARPFOLD_LARGE is not set");
    }
    wanted
}

/// GPU against CPU backend at one large length.
fn check_large<T: Sample, Op: Monoid<T>>(device: &Device, length: usize) {
    let started = std::time::Instant::now();
    let cpu = Device::cpu();
    let input = large_sample::<T>(length);
    let init = T::sample(&mut Random::new(99));
    let what = format!(
        "{} on {} × {length}",
        std::any::type_name::<Op>(),
        std::any::type_name::<T>()
    );

    let on_gpu = device.upload(&input).unwrap();
    let on_cpu = cpu.upload_vec(input).unwrap();
    let reduced = device.reduce::<T, Op>(&on_gpu).unwrap();
    assert_same(
        &[reduced],
        &[cpu.reduce::<T, Op>(&on_cpu).unwrap()],
        &format!("reduce, {what}"),
    );
    {
        let exclusive = device.scan::<T, Op>(&on_gpu).unwrap().into_vec().unwrap();
        let expected = cpu.scan::<T, Op>(&on_cpu).unwrap().into_vec().unwrap();
        assert_same_in_parallel(&exclusive, &expected, &format!("scan, {what}"));
    }
    let (mut on_gpu, mut on_cpu) = (on_gpu, on_cpu);
    device
        .scan_in_place::<T, Op>(Prefixes::inclusive().from(init), &mut on_gpu)
        .unwrap();
    cpu.scan_in_place::<T, Op>(Prefixes::inclusive().from(init), &mut on_cpu)
        .unwrap();
    let (got, expected) = (on_gpu.into_vec().unwrap(), on_cpu.into_vec().unwrap());
    assert_same_in_parallel(
        &got,
        &expected,
        &format!("inclusive_scan_from_in_place, {what}"),
    );
    eprintln!(
        "same bits: {what}, {:.1} s",
        started.elapsed().as_secs_f64()
    );
}

/// 2^28 elements and a few more of every pair; fewer of elements over 16 bytes.
struct Large<'a>(&'a Device);

impl Visitor for Large<'_> {
    fn visit<T: Sample, Op: Monoid<T>>(&mut self) {
        let length = if size_of::<T>() > 16 {
            1 << 25
        } else {
            1 << 28
        };
        check_large::<T, Op>(self.0, length);
        check_large::<T, Op>(self.0, (length >> 4) + 54_321);
    }
}

macro_rules! large_test {
    ($group:ident) => {
        #[test]
        fn $group() {
            if wants_large()
                && let Some(device) = gpu(0)
            {
                matrix::$group(&mut Large(&device));
            }
        }
    };
}

mod large {
    use super::*;
    for_every_group!(large_test);

    #[test]
    fn over_two_to_the_32_bytes() {
        if wants_large()
            && let Some(device) = gpu(0)
        {
            check_large::<f32, ops::Add>(&device, (1 << 30) + 4097);
        }
    }

    #[test]
    fn over_two_to_the_32_elements() {
        if wants_large()
            && let Some(device) = gpu(0)
        {
            check_large::<u8, ops::Add>(&device, (1 << 32) + 12_345);
        }
    }
}
