//! Sources and selects give on a GPU what they give on the CPU, bit for bit, at all three levels.

use crate::support::data::{Sample, assert_same, sample};
use crate::support::{gpu, stream};
use warpfold::Prefixes;
use warpfold::codegen::{Engine, RowPolicy, WavePolicy};
use warpfold::cuda::{Reduce, Scan, Select, SelectBy, Workspace};
use warpfold::ops::{Add, Max};
use warpfold::source::{Constant, Flagged, Form, Map, Slice, Strided, Zip};
use warpfold::{
    Device, Error, Function, constant, flagged, function, index, map, monoid, select, strided, zip,
    zip3,
};

const LENGTHS: &[usize] = &[
    0, 1, 2, 31, 33, 1000, 4095, 8192, 8193, 100_003, 262_144, 1_000_000, 5_000_011, 20_000_003,
];

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

#[function]
fn widen(byte: u8) -> u64 {
    byte as u64
}

#[function]
fn sixteenth(byte: u8) -> u32 {
    byte as u32 >> 4
}

#[function]
fn placed(x: u64, add: u64, place: u64) -> u64 {
    x.wrapping_mul(3).wrapping_add(add) ^ place
}

#[function]
fn small(x: u32) -> bool {
    x & 15 < 3
}

#[function]
fn above(x: f32, limit: f32) -> (f32, bool) {
    (x, x > limit)
}

/// Level 2: the same calls on both devices.
#[test]
fn sources_of_buffers() {
    let Some(gpu) = gpu(0) else { return };
    let cpu = Device::cpu();
    for &len in LENGTHS {
        let (x, y) = (sample::<f32>(len, 1), sample::<f32>(len, 2));
        let (bytes, words) = (sample::<u8>(len, 3), sample::<u64>(len, 4));
        let results = [&cpu, &gpu].map(|device| {
            let (x, y) = (device.upload(&x).unwrap(), device.upload(&y).unwrap());
            let bytes = device.upload(&bytes).unwrap();
            let words = device.upload(&words).unwrap();
            let products = map::<product, _>(zip(&x, &y));
            let dot = device.reduce::<f32, Add>(products).unwrap();
            let sum = device.reduce::<u64, Add>(map::<widen, _>(&bytes)).unwrap();
            let running = device.inclusive_scan::<f32, Add>(products).unwrap();
            let counts = device
                .scan::<u32, Add>(map::<sixteenth, _>(&bytes))
                .unwrap();
            let wide = device
                .scan_from::<u64, Add>(5, map::<widen, _>(&bytes))
                .unwrap();
            let places = map::<placed, _>(zip3(&words, constant(7_u64, len), index(len)));
            let greatest = device.inclusive_scan::<u64, Max>(places).unwrap();
            let columns = strided(&words, 3, 7);
            let of_columns = device.reduce::<u64, Add>(columns).unwrap();
            let scanned_columns = device.scan::<u64, Add>(columns).unwrap();
            (
                (dot.to_bits(), sum, of_columns),
                (running.to_vec().unwrap(), counts.to_vec().unwrap()),
                (wide.to_vec().unwrap(), greatest.to_vec().unwrap()),
                scanned_columns.to_vec().unwrap(),
            )
        });
        let [cpu, gpu] = results;
        assert_eq!(cpu.0, gpu.0, "{len}");
        assert_same(&gpu.1.0, &cpu.1.0, &format!("running products of {len}"));
        assert_same(&gpu.1.1, &cpu.1.1, &format!("counts of {len}"));
        assert_same(&gpu.2.0, &cpu.2.0, &format!("wide sums of {len}"));
        assert_same(&gpu.2.1, &cpu.2.1, &format!("greatest of {len}"));
        assert_same(&gpu.3, &cpu.3, &format!("columns of {len}"));
    }
}

const PRIME: u64 = 1_000_000_007;

#[function]
fn residue(x: u64) -> u64 {
    x % PRIME
}

#[monoid(identity = 0)]
fn sum_modulo(a: u64, b: u64) -> u64 {
    (a + b) % PRIME
}

/// Sources that read no memory may have more items than any memory holds.
#[test]
fn sources_longer_than_any_memory() {
    let Some(gpu) = gpu(0) else { return };
    // A compute-bound operator: each block has a group of chunks, of more than 2^32 items.
    let len = 600_000_000_001_u64;
    let sum = u128::from(len) * u128::from(len - 1) / 2 % u128::from(PRIME);
    let residues = map::<residue, _>(index(len as usize));
    let result = gpu.reduce::<u64, SumModulo>(residues).unwrap();
    assert_eq!(u128::from(result), sum);
    // A cheap one in the law's order: blocks take chunks in turn.
    let most = 1_usize << 40;
    let ones = |len| gpu.reduce::<f64, Add>(constant(1.0, len));
    assert_eq!(ones(most - 3).unwrap(), (most - 3) as f64);
    let error = ones(most + 1).unwrap_err();
    assert!(matches!(&error, Error::Items { items, .. } if *items == most + 1));
    assert!(error.to_string().contains("remedy: push pieces"), "{error}");
}

/// Level 3, and views that start anywhere.
#[test]
fn sources_of_views() {
    let Some((context, stream)) = stream() else {
        return;
    };
    type Product = Map<product, Zip<(Slice<f32>, Slice<f32>)>>;
    let reduce = Reduce::<f32, Add, Product>::load(&context).unwrap();
    let scan = Scan::<f32, Add, Product>::load(&context).unwrap();
    let most = 6_000_000;
    let (x, y) = (sample::<f32>(most, 1), sample::<f32>(most, 2));
    let (a, b) = (
        stream.clone_htod(&x).unwrap(),
        stream.clone_htod(&y).unwrap(),
    );
    let mut sum = stream.alloc_zeros::<f32>(1).unwrap();
    let mut out = stream.alloc_zeros::<f32>(most).unwrap();
    let bytes = reduce.workspace_bytes(most).max(scan.workspace_bytes(most));
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    for len in [1, 33, 1000, 100_003, 5_000_011] {
        for (i, j, k) in [(0, 0, 0), (1, 0, 3), (2, 5, 1), (4, 8, 12), (3, 3, 3)] {
            let products = map::<product, _>(zip(&x[i..i + len], &y[j..j + len]));
            let (a, b) = (a.slice(i..i + len), b.slice(j..j + len));
            let source = map::<product, _>(zip(&a, &b));
            reduce
                .enqueue(&stream, source, &mut sum, &mut workspace)
                .unwrap();
            let got = stream.clone_dtoh(&sum).unwrap()[0];
            let expected = warpfold::reduce::<f32, Add>(products).unwrap();
            assert_eq!(got.to_bits(), expected.to_bits(), "{len} from {i} and {j}");
            let mut out = out.slice_mut(k..k + len);
            scan.enqueue(
                &stream,
                Prefixes::inclusive(),
                source,
                &mut out,
                &mut workspace,
            )
            .unwrap();
            let got = stream.clone_dtoh(&out).unwrap();
            let expected = warpfold::inclusive_scan::<f32, Add>(products).unwrap();
            assert_same(&got, &expected, &format!("{len} from {i} and {j} to {k}"));
        }
    }
    let (a, b) = (a.slice(..5), b.slice(..6));
    let unequal = map::<product, _>(zip(&a, &b));
    let error = reduce.enqueue(&stream, unequal, &mut sum, &mut workspace);
    let zip_error = Error::Zip {
        first: 5,
        second: 6,
    };
    assert_eq!(error, Err(zip_error));
}

/// Every engine, every length, from and to everywhere, in place, and into too little room.
fn check_select<T, P>(lengths: &[usize], holds: fn(T) -> bool)
where
    T: Sample + warpfold::cuda::cudarc::driver::DeviceRepr,
    P: Function<Input = (T,), Output = bool>,
    Flagged<P, Slice<T>>: Form<Item = (T, bool)>,
    T: warpfold::cuda::cudarc::driver::ValidAsZeroBits,
{
    let Some((context, stream)) = stream() else {
        return;
    };
    type F<P, T> = Flagged<P, Slice<T>>;
    let rows = Engine::Rows(RowPolicy::for_select::<F<P, T>>(90));
    let mut selects = vec![
        SelectBy::<T, P>::load(&context).unwrap(),
        SelectBy::<T, P>::load_engine(&context, rows).unwrap(),
    ];
    let (major, minor) = context.compute_capability().unwrap();
    let capability = (10 * major + minor) as u32;
    if let Some(wave) = WavePolicy::for_select::<T, F<P, T>>(capability)
        && Engine::Wave(wave).runs_on(capability)
    {
        selects.push(Select::load_engine(&context, Engine::Wave(wave)).unwrap());
    }
    let most = lengths[lengths.len() - 1] + 20;
    let data = sample::<T>(most, 9);
    let input = stream.clone_htod(&data).unwrap();
    let mut output = stream.alloc_zeros::<T>(most).unwrap();
    let mut count = stream.alloc_zeros::<u64>(1).unwrap();
    for select in selects {
        let bytes = select.workspace_bytes(most);
        let mut workspace = Workspace::new(&stream, bytes).unwrap();
        for (number, &len) in lengths.iter().enumerate() {
            let (from, to) = [(0, 0), (1, 0), (0, 3), (5, 1), (16, 16)][number % 5];
            let what = format!("{} from {from} to {to}: {len}", std::any::type_name::<T>());
            let expected: Vec<T> = data[from..from + len]
                .iter()
                .copied()
                .filter(|&x| holds(x))
                .collect();
            let view = input.slice(from..from + len);
            // Now and then too little room.
            let room = if number % 4 == 3 {
                expected.len() / 2
            } else {
                len
            };
            let source = flagged::<P, _>(&view);
            let mut out = output.slice_mut(to..to + room);
            select
                .enqueue(&stream, source, &mut out, &mut count, &mut workspace)
                .unwrap();
            let counted = stream.clone_dtoh(&count).unwrap()[0] as usize;
            assert_eq!(counted, expected.len(), "{what}");
            let stored = counted.min(room);
            let got = stream.clone_dtoh(&out.slice(..stored)).unwrap();
            assert_same(&got, &expected[..stored], &what);
            // In place.
            let mut data = output.slice_mut(to..to + len);
            stream.memcpy_dtod(&view, &mut data).unwrap();
            select
                .enqueue_in_place(&stream, &mut data, &mut count, &mut workspace)
                .unwrap();
            assert_eq!(stream.clone_dtoh(&count).unwrap()[0] as usize, counted);
            let got = stream.clone_dtoh(&data.slice(..counted)).unwrap();
            assert_same(&got, &expected, &format!("{what}, in place"));
        }
    }
}

#[function]
fn low_byte(x: u8) -> bool {
    x < 200
}

#[function]
fn low_short(x: u16) -> bool {
    x < 3000
}

#[function]
fn never(x: u32) -> bool {
    x > 0 && x < 1
}

#[function]
fn always(x: u64) -> bool {
    x > 0 || x < 1
}

#[function]
fn even_first(x: [u32; 3]) -> bool {
    x[0] & 1 == 0
}

#[function]
fn odd_last(x: [u8; 33]) -> bool {
    x[32] % 2 == 1
}

#[function]
fn large(x: [u64; 8]) -> bool {
    x[3] > 1 << 62
}

#[test]
fn selects_of_small_elements() {
    check_select::<u8, low_byte>(LENGTHS, low_byte);
    check_select::<u16, low_short>(LENGTHS, low_short);
}

#[test]
fn selects_of_words() {
    check_select::<u32, small>(LENGTHS, small);
    check_select::<u32, never>(LENGTHS, never);
    check_select::<u64, always>(LENGTHS, always);
}

/// What compute-sanitizer's tools run: every engine, within a minute.
#[test]
fn sanitized_selects() {
    const FEW: &[usize] = &[0, 1, 33, 1000, 8193, 100_003, 400_001];
    check_select::<u8, low_byte>(FEW, low_byte);
    check_select::<u32, small>(FEW, small);
}

#[test]
fn selects_of_structs() {
    check_select::<[u32; 3], even_first>(LENGTHS, even_first);
}

/// The three levels agree, also where the predicate has a parameter.
#[test]
fn selects_at_all_levels() {
    let Some(gpu) = gpu(0) else { return };
    for &len in LENGTHS {
        let data = sample::<f32>(len, 5);
        let limited = map::<above, _>(zip(&data, constant(0.25_f32, len)));
        let expected = warpfold::select_flagged::<f32>(limited).unwrap();
        let buffer = gpu.upload(&data).unwrap();
        let limited = map::<above, _>(zip(&buffer, constant(0.25_f32, len)));
        let kept = gpu.select_flagged::<f32>(limited).unwrap();
        assert_eq!(kept.len(), expected.len());
        assert_same(&kept.to_vec().unwrap(), &expected, &format!("{len}"));

        let words = sample::<u32>(len, 6);
        let expected = select::<u32, small>(&words).unwrap();
        let mut buffer = gpu.upload(&words).unwrap();
        let mut room = gpu.allocate::<u32>(expected.len()).unwrap();
        assert_eq!(
            gpu.select_into::<u32, small>(&buffer, &mut room),
            Ok(expected.len())
        );
        assert_same(&room.to_vec().unwrap(), &expected, &format!("into, {len}"));
        if expected.len() > 1 {
            let mut room = gpu.allocate::<u32>(expected.len() - 1).unwrap();
            let error = gpu.select_into::<u32, small>(&buffer, &mut room);
            let too_short = Error::Length {
                input: expected.len(),
                output: expected.len() - 1,
            };
            assert_eq!(error, Err(too_short));
        }
        let count = gpu.select_in_place::<u32, small>(&mut buffer);
        assert_eq!(count, Ok(expected.len()));
        assert_same(
            &buffer.to_vec().unwrap(),
            &expected,
            &format!("in place, {len}"),
        );
    }
}

/// A graph captures a select, and replays it on other data.
#[test]
fn a_graph_selects_again() {
    use warpfold::cuda::cudarc::driver::sys;
    let Some((context, stream)) = stream() else {
        return;
    };
    let select = SelectBy::<u32, small>::load(&context).unwrap();
    let len = 3_000_000;
    let mut input = stream.alloc_zeros::<u32>(len).unwrap();
    let mut output = stream.alloc_zeros::<u32>(len).unwrap();
    let mut count = stream.alloc_zeros::<u64>(1).unwrap();
    let mut workspace = Workspace::new(&stream, select.workspace_bytes(len)).unwrap();
    stream
        .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        .unwrap();
    let source = flagged::<small, _>(&input);
    select
        .enqueue(&stream, source, &mut output, &mut count, &mut workspace)
        .unwrap();
    let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0));
    let graph = graph.unwrap().unwrap();
    for seed in 0..20 {
        let data = sample::<u32>(len, seed);
        stream.memcpy_htod(&data, &mut input).unwrap();
        graph.launch().unwrap();
        let expected = select_on_the_cpu(&data);
        assert_eq!(stream.clone_dtoh(&count).unwrap()[0], expected.len() as u64);
        let got = stream.clone_dtoh(&output.slice(..expected.len())).unwrap();
        assert_same(&got, &expected, &format!("replay {seed}"));
    }
}

fn select_on_the_cpu(data: &[u32]) -> Vec<u32> {
    data.iter().copied().filter(|&x| small(x)).collect()
}

/// What the type system cannot rule out is an error.
#[test]
fn sources_that_kernels_cannot_have() {
    let Some((context, _)) = stream() else { return };
    let error = Select::<f32, Map<above, Zip<(Slice<f32>, Constant<f32>)>>>::load_engine(
        &context,
        Engine::Levels,
    );
    assert!(matches!(error, Err(Error::Codegen(_))));
    let wave = Engine::Wave(WavePolicy::of::<u64>().unwrap());
    let error = Scan::<u64, Add, Strided<Slice<u64>>>::load_engine(&context, wave);
    assert!(matches!(error, Err(Error::Codegen(_))), "{error:?}");
}

/// Large elements take the rows engine.
#[test]
fn selects_of_large_elements() {
    fn check<T: Sample, P>(holds: fn(T) -> bool)
    where
        P: Function<Input = (T,), Output = bool>,
    {
        let Some(gpu) = gpu(0) else { return };
        for len in [1, 100, 4099, 300_001] {
            let data = sample::<T>(len, 4);
            let expected: Vec<T> = data.iter().copied().filter(|&x| holds(x)).collect();
            let buffer = gpu.upload(&data).unwrap();
            let kept = gpu.select::<T, P>(&buffer).unwrap().to_vec().unwrap();
            assert_same(&kept, &expected, &format!("{len}"));
        }
    }
    check::<[u8; 33], odd_last>(odd_last);
    check::<[u64; 8], large>(large);
}

/// Code that is generic over elements needs none of cudarc's traits.
#[test]
fn memory_for_any_element() {
    use std::sync::Arc;
    use warpfold::cuda::{self, cudarc::driver::CudaStream};
    fn check<T: Sample>(stream: &Arc<CudaStream>) {
        for len in [0, 1, 1000, 100_003] {
            let data = sample::<T>(len, 8);
            let there = cuda::upload(stream, &data).unwrap();
            assert_same(&cuda::download(stream, &there).unwrap(), &data, "a copy");
            let zeros = cuda::allocate::<T>(stream, len).unwrap();
            let zeros = cuda::download(stream, &zeros).unwrap();
            let bytes = warpfold::bytemuck::cast_slice::<T, u8>(&zeros);
            assert!(zeros.len() == len && bytes.iter().all(|&byte| byte == 0));
        }
    }
    let Some((_, stream)) = stream() else { return };
    check::<u8>(&stream);
    check::<f32>(&stream);
    check::<[u64; 8]>(&stream);
}
