//! Scans on a GPU have the oracle's bits by every engine: around the ends of tiles and waves, and
//! up to where the GPU holds all at once.

use crate::support::data::{Sample, assert_same, sample};
use crate::support::{gpu, oracle, skip, stream};
use warpfold::codegen::{ComputeBoundScan, Engine, Layouts, RowPolicy, WavePolicy, cost};
use warpfold::cuda::cudarc::driver::DeviceRepr;
use warpfold::cuda::{Scan, Workspace};
use warpfold::{Device, Monoid, Prefixes, ops};

/// All engines give the oracle's bits around the ends of the wave engine's tiles and waves.
#[test]
fn sanitized_waves() {
    // The race checker records every access, and runs out of memory over more than these.
    check_all_waves(&[(0, 0), (5, 3)]);
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
    let compute_bound = ComputeBoundScan::of(Layouts::of_slice::<T>(), 90, u32::MAX);
    if let Some(ComputeBoundScan {
        short,
        middle,
        shares,
        ..
    }) = compute_bound
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
