//! A primitive over a source gives the bits that it gives over the source's items in a slice.

use crate::support::data::{Sample, assert_same, sample};
use crate::support::operators::Bracketing;
use crate::support::oracle;
use std::panic::catch_unwind;
use warpfold::Prefixes;
use warpfold::half::{bf16, f16};
use warpfold::ops::{Add, Max};
use warpfold::{
    Device, Element, Error, Indices, Monoid, Source, collect, constant, flagged_with, function,
    gather, inclusive_scan, inclusive_scan_from, index, map, map_with, monoid, reduce, reduce_from,
    scan, scan_from, select_flagged, strided, zip, zip3,
};

/// The functions on host data over a source that `of` makes, against the oracle over its items.
fn check_host<T: Sample, Op: Monoid<T>, S: Source<Item = T>>(
    of: impl Fn() -> S,
    items: &[T],
    what: &str,
) {
    let init = sample::<T>(1, 8)[0];
    let reduced = [oracle::reduce::<T, Op>(items, None)];
    let got = [reduce::<T, Op>(of()).unwrap()];
    assert_same(&got, &reduced, &format!("reduce, {what}"));
    let got = [reduce_from::<T, Op>(init, of()).unwrap()];
    let from = [oracle::reduce::<T, Op>(items, Some(init))];
    assert_same(&got, &from, &format!("reduce from, {what}"));
    let exclusive = oracle::exclusive::<T, Op>(items, None);
    let got = scan::<T, Op>(of()).unwrap();
    assert_same(&got, &exclusive, &format!("scan, {what}"));
    let inclusive = oracle::inclusive::<T, Op>(items, None);
    let got = inclusive_scan::<T, Op>(of()).unwrap();
    assert_same(&got, &inclusive, &format!("inclusive scan, {what}"));
    let exclusive = oracle::exclusive::<T, Op>(items, Some(init));
    let got = scan_from::<T, Op>(init, of()).unwrap();
    assert_same(&got, &exclusive, &format!("scan from, {what}"));
    let inclusive = oracle::inclusive::<T, Op>(items, Some(init));
    let got = inclusive_scan_from::<T, Op>(init, of()).unwrap();
    assert_same(&got, &inclusive, &format!("inclusive scan from, {what}"));
}

/// The methods of a device.
fn check_device<T: Sample, Op: Monoid<T>, S: Source<Device, Item = T>>(
    device: &Device,
    of: impl Fn() -> S,
    items: &[T],
    what: &str,
) {
    let init = sample::<T>(1, 8)[0];
    for init in [None, Some(init)] {
        let what = format!("{what} on {device}, from {init:?}");
        let reduced = [oracle::reduce::<T, Op>(items, init)];
        let exclusive = oracle::exclusive::<T, Op>(items, init);
        let inclusive = oracle::inclusive::<T, Op>(items, init);
        let mut into = device.allocate::<T>(items.len()).unwrap();
        let mut inclusive_into = device.allocate::<T>(items.len()).unwrap();
        let (got, got_exclusive, got_inclusive);
        match init {
            None => {
                got = device.reduce::<T, Op>(of());
                got_exclusive = device.scan::<T, Op>(of());
                got_inclusive = device.inclusive_scan::<T, Op>(of());
                device
                    .scan_into::<T, Op>(Prefixes::exclusive(), of(), &mut into)
                    .unwrap();
                device
                    .scan_into::<T, Op>(Prefixes::inclusive(), of(), &mut inclusive_into)
                    .unwrap();
            }
            Some(init) => {
                got = device.reduce_from::<T, Op>(init, of());
                got_exclusive = device.scan_from::<T, Op>(init, of());
                got_inclusive = device.inclusive_scan_from::<T, Op>(init, of());
                device
                    .scan_into::<T, Op>(Prefixes::exclusive().from(init), of(), &mut into)
                    .unwrap();
                device
                    .scan_into::<T, Op>(Prefixes::inclusive().from(init), of(), &mut inclusive_into)
                    .unwrap();
            }
        }
        assert_same(&[got.unwrap()], &reduced, &format!("reduce, {what}"));
        for (got, expected) in [
            (got_exclusive.unwrap(), &exclusive),
            (got_inclusive.unwrap(), &inclusive),
            (into, &exclusive),
            (inclusive_into, &inclusive),
        ] {
            assert_same(&got.into_vec().unwrap(), expected, &what);
        }
    }
}

/// Checks the source that an expression makes of slices; then the same of buffers on the CPU.
macro_rules! check {
    ($T:ty, $Op:ty, [$($data:ident),*], $source:expr, $items:expr) => {{
        let items: Vec<$T> = $items.collect();
        let what = format!("{} × {}", stringify!($source), items.len());
        {
            $(let $data = &$data[..];)*
            check_host::<$T, $Op, _>(|| $source, &items, &what);
        }
        let device = Device::cpu();
        $(let $data = &device.upload(&$data).unwrap();)*
        check_device::<$T, $Op, _>(&device, || $source, &items, &what);
    }};
}

/// Where blocks and chunks of the CPU begin for items of these sizes, their neighbours, and a
/// length of many chunks.
fn lengths(item: usize, accumulator: usize) -> Vec<usize> {
    let block = 1 << (8192 / accumulator).ilog2();
    let mut lengths = vec![0, 1, 2, 3];
    for edge in [block, (128 << 10) / item, (512 << 10) / item] {
        lengths.extend([edge - 1, edge, edge + 1]);
    }
    lengths.push((1 << 20) / item + block + 5);
    lengths
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

#[function]
fn square(x: f64) -> f64 {
    x * x
}

#[function]
fn is_positive(x: f32) -> u64 {
    (x > 0.0) as u64
}

#[function]
fn widen(byte: u8) -> u64 {
    byte as u64
}

#[function]
fn half_to_f32(x: f16) -> f32 {
    f32::from(x)
}

#[function]
fn half_to_f64(x: f16) -> f64 {
    f64::from(x)
}

#[function]
fn brain_to_f32(x: bf16) -> f32 {
    f32::from(x)
}

#[function]
fn mixed(a: u64, b: u8, c: u32) -> u64 {
    (a ^ b as u64).wrapping_mul(c as u64 | 1)
}

#[function]
fn add_index(x: u64, i: u64) -> u64 {
    x.wrapping_mul(i)
}

#[test]
fn a_dot_product() {
    for length in lengths(4, 4) {
        let (a, b) = (sample::<f32>(length, 1), sample::<f32>(length, 2));
        let items = a.iter().zip(&b).map(|(a, b)| a * b);
        check!(f32, Add, [a, b], map::<product, _>(zip(a, b)), items);
    }
}

#[test]
fn a_sum_of_squares() {
    for length in lengths(8, 8) {
        let x = sample::<f64>(length, 3);
        let items = x.iter().map(|x| x * x);
        check!(f64, Add, [x], map::<square, _>(x), items);
    }
}

/// Also the scan of a predicate.
#[test]
fn a_count_of_what_satisfies_a_predicate() {
    for length in lengths(8, 8) {
        let x = sample::<f32>(length, 4);
        let items = x.iter().map(|&x| u64::from(x > 0.0));
        check!(u64, Add, [x], map::<is_positive, _>(x), items);
    }
}

#[test]
fn a_sum_of_bytes_in_u64() {
    for length in lengths(8, 8) {
        let x = sample::<u8>(length, 5);
        let items = x.iter().map(|&x| u64::from(x));
        check!(u64, Add, [x], map::<widen, _>(x), items);
    }
}

#[test]
fn sums_of_halves_in_f32_and_f64() {
    for length in [0, 1, 2047, 2049, 70_001] {
        let x = sample::<f16>(length, 6);
        let items = x.iter().map(|x| x.to_f32());
        check!(f32, Add, [x], map::<half_to_f32, _>(x), items);
        let items = x.iter().map(|x| x.to_f64());
        check!(f64, Add, [x], map::<half_to_f64, _>(x), items);
        let x = sample::<bf16>(length, 6);
        let items = x.iter().map(|x| x.to_f32());
        check!(f32, Add, [x], map::<brain_to_f32, _>(x), items);
    }
}

/// A half is stored only, but a function can turn it into a number.
#[cfg(feature = "cuda")]
#[test]
fn halves_become_numbers_in_cuda_too() {
    use crate::support::skip;
    use warpfold::codegen::{Engine, kernels, source};
    use warpfold::cuda::nvrtc::{self, Target};
    use warpfold::source::{Map, Slice};
    if let Err(error) = nvrtc::version() {
        return skip("nvrtc", &error.to_string());
    }
    let compile = |text: String| nvrtc::compile(&text, "halves", Target::Cubin(90)).unwrap();
    type Halves<F> = Map<F, Slice<f16>>;
    let text = source::<kernels::Reduce<f32, Add, Halves<half_to_f32>>>(Engine::Levels);
    compile(text.unwrap());
    let text = source::<kernels::Reduce<f64, Add, Halves<half_to_f64>>>(Engine::Levels);
    compile(text.unwrap());
    type Brains = Map<brain_to_f32, Slice<bf16>>;
    compile(source::<kernels::Scan<f32, Add, Brains>>(Engine::Levels).unwrap());
}

/// A value and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Found {
    place: u64,
    value: f64,
}

impl Sample for Found {
    fn sample(random: &mut crate::support::data::Random) -> Self {
        found(f64::sample(random), random.next())
    }
}

#[function]
fn found(value: f64, place: u64) -> Found {
    Found { place, value }
}

/// The largest value, and of equals the first.
#[monoid(identity = Found { place: u64::MAX, value: f64::NEG_INFINITY }, exact)]
fn largest(a: Found, b: Found) -> Found {
    if b.value > a.value || b.value == a.value && b.place < a.place {
        b
    } else {
        a
    }
}

/// The smallest value, and of equals the first.
#[monoid(identity = Found { place: u64::MAX, value: f64::INFINITY }, exact)]
fn smallest(a: Found, b: Found) -> Found {
    if b.value < a.value || b.value == a.value && b.place < a.place {
        b
    } else {
        a
    }
}

#[test]
fn the_first_of_the_largest_and_of_the_smallest() {
    for length in lengths(16, 16) {
        // Few values, so that there are equals.
        let x: Vec<f64> = sample::<u8>(length, 7)
            .iter()
            .map(|&x| f64::from(x / 16))
            .collect();
        let items = || x.iter().zip(0..).map(|(&value, i)| found(value, i));
        check!(
            Found,
            Largest,
            [x],
            map::<found, _>(zip(x, index(length))),
            items()
        );
        check!(
            Found,
            Smallest,
            [x],
            map::<found, _>(zip(x, index(length))),
            items()
        );
        let largest = reduce::<Found, Largest>(map::<found, _>(zip(&x, index(length)))).unwrap();
        let most = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let place = x.iter().position(|&x| x == most);
        assert_eq!(largest.place, place.map_or(u64::MAX, |place| place as u64));
    }
}

#[test]
fn items_at_indices() {
    for length in lengths(4, 4) {
        let (x, y) = (sample::<f32>(1000, 1), sample::<f32>(length, 2));
        let indices: Vec<_> = sample::<u64>(length, 3)
            .iter()
            .map(|i| (i % 1000) as u16)
            .collect();
        let items = || indices.iter().map(|&i| x[usize::from(i)]);
        check!(
            f32,
            Add,
            [x, indices],
            gather(x, Indices::unchecked(indices)),
            items()
        );
        let products = items().zip(&y).map(|(x, &y)| product(x, y));
        check!(
            f32,
            Add,
            [x, y, indices],
            map::<product, _>(zip(gather(x, Indices::unchecked(indices)), y)),
            products
        );
    }
}

#[test]
fn unchecked_indices_stay_within_the_items() {
    let indices = [i64::MIN, -1, 0, 2, 3, i64::MAX];
    let items = collect(gather(&[10, 20, 30], Indices::unchecked(&indices))).unwrap();
    assert_eq!(items, [10, 10, 10, 30, 30, 30]);
    let none: Vec<u32> = collect(gather(&[], Indices::unchecked(&[0_u8; 0]))).unwrap();
    assert!(none.is_empty());
}

/// Each width, and where in a long list the fault is.
#[test]
fn wrong_indices_are_refused() {
    fn refused<T: std::fmt::Debug>(result: Result<T, Error>, parts: &[&str]) {
        let text = result.unwrap_err().to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    refused(Indices::new(&[0_i8, -7]), &["indices[1] is -7", "remedy"]);
    let mut many = vec![5_i32; 300_000];
    (many[200_001], many[299_999]) = (-1, -2);
    refused(Indices::new(&many), &["indices[200001] is -1"]);
    (many[200_001], many[299_999]) = (9, 9);
    let indices = Indices::new(&many).unwrap();
    let parts = ["indices[200001] is 9", "there are 9 items", "from 0 to 8"];
    refused(collect(gather(&[1.5_f32; 9], indices)), &parts);
    assert_eq!(
        collect(gather(&[1.5_f32; 10], indices)).unwrap().len(),
        300_000
    );
    refused(
        collect(gather(&[0_u8; 0], Indices::unchecked(&[0_u32]))),
        &["there are no items"],
    );
    refused(
        collect(gather(&[0_u8; 3], Indices::new(&[u64::MAX]).unwrap())),
        &["indices[0] is 18446744073709551615"],
    );
}

#[test]
fn three_sources_of_different_sizes() {
    for length in lengths(8, 8) {
        let (a, b) = (sample::<u64>(length, 8), sample::<u8>(length, 9));
        let c = sample::<u32>(length, 10);
        let items = || (0..length).map(|i| mixed(a[i], b[i], c[i]));
        check!(
            u64,
            Bracketing,
            [a, b, c],
            map::<mixed, _>(zip3(a, b, c)),
            items()
        );
    }
}

#[test]
fn maps_of_maps_that_change_the_type() {
    for length in [0, 1, 1025, 33_333] {
        let (x, y) = (sample::<u8>(length, 11), sample::<f32>(length, 12));
        let items = || {
            let index = 0..length as u64;
            let inner = x.iter().zip(index).map(|(&x, i)| add_index(widen(x), i));
            let pairs = inner.zip(y.iter().zip(&x));
            pairs.map(|(a, (&y, &b))| mixed(a, b, is_positive(y) as u32))
        };
        check!(
            u64,
            Bracketing,
            [x, y],
            map::<mixed, _>(zip3(
                map::<add_index, _>(zip(map::<widen, _>(x), index(length))),
                x,
                map::<shortened, _>(map::<is_positive, _>(y)),
            )),
            items()
        );
    }
}

#[function]
fn shortened(x: u64) -> u32 {
    x as u32
}

#[test]
fn an_index_and_a_constant() {
    for length in lengths(8, 8) {
        check!(u64, Bracketing, [], index(length), 0..length as u64);
        let items = std::iter::repeat_n(0.1_f32, length);
        check!(f32, Add, [], constant(0.1_f32, length), items);
        let items = (0..length as u64).map(|i| 7_u64.wrapping_mul(i));
        let seven = constant(7_u64, length);
        check!(
            u64,
            Add,
            [],
            map::<add_index, _>(zip(seven, index(length))),
            items
        );
    }
}

#[test]
fn columns_of_rows() {
    for rows in [0, 1, 3, 4095, 4097] {
        for (width, stride) in [(1, 1), (1, 3), (3, 7), (4, 8), (5, 5)] {
            // A last row that is cut before, at and after the columns that count.
            for rest in [0, width - 1, width, stride - 1] {
                let x = sample::<u32>(rows * stride + rest, 13);
                let items = || {
                    let rows = x.chunks(stride).filter(|row| row.len() >= width);
                    rows.flat_map(|row| &row[..width]).copied()
                };
                check!(u32, Add, [x], strided(x, width, stride), items());
            }
        }
    }
    let x = sample::<u64>(10 * 30_000, 14);
    let items = x.chunks(10).flat_map(|row| &row[2..5]);
    let items: Vec<_> = items.copied().collect();
    check_host::<u64, Bracketing, _>(|| strided(&x[2..], 3, 10), &items, "columns 2 to 4");
}

#[test]
fn a_long_source() {
    let length = (1 << 21) + 12_345;
    let (a, b) = (sample::<f32>(length, 15), sample::<f32>(length, 16));
    let items: Vec<_> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
    check_host::<f32, Add, _>(|| map::<product, _>(zip(&a, &b)), &items, "dot");
}

#[test]
fn sources_of_unequal_lengths_are_an_error() {
    let (a, b) = ([1.0_f32; 3], [1.0_f32; 4]);
    let unequal = Error::Zip {
        first: 3,
        second: 4,
    };
    let dot = map::<product, _>(zip(&a, &b));
    assert_eq!(reduce::<f32, Add>(dot), Err(unequal.clone()));
    assert_eq!(scan::<f32, Add>(dot), Err(unequal.clone()));
    let third = map::<mixed, _>(zip3(index(3), &[0_u8; 3], &[0_u32; 4]));
    assert_eq!(reduce::<u64, Add>(third), Err(unequal.clone()));
    let cpu = Device::cpu();
    let (a, b) = (cpu.upload(&a).unwrap(), cpu.upload(&b).unwrap());
    let mut output = cpu.upload(&[7.0_f32; 3]).unwrap();
    let dot = map::<product, _>(zip(&a, &b));
    assert_eq!(cpu.reduce::<f32, Add>(dot), Err(unequal.clone()));
    assert_eq!(
        cpu.scan_into::<f32, Add>(Prefixes::exclusive(), dot, &mut output),
        Err(unequal)
    );
    assert_eq!(output.to_vec().unwrap(), [7.0; 3], "as it was");
    let wrong = cpu.scan_into::<f32, Add>(
        Prefixes::exclusive(),
        map::<product, _>(zip(&b, &b)),
        &mut output,
    );
    assert_eq!(
        wrong,
        Err(Error::Length {
            input: 4,
            output: 3
        })
    );
}

/// What callers wrote before there were sources.
#[test]
fn slices_arrays_and_vectors_are_sources() {
    let vector = vec![1_u32, 2, 3];
    let boxed: Box<[u32]> = vector.clone().into();
    let shared: std::sync::Arc<[u32]> = vector.clone().into();
    assert_eq!(reduce::<u32, Add>(&[]), Ok(0));
    assert_eq!(reduce::<_, Max>(&[3_u8, 9, 4]), Ok(9));
    assert_eq!(reduce::<_, Add>(&vector), Ok(6));
    assert_eq!(reduce::<u32, Add>(&vector[1..]), Ok(5));
    assert_eq!(reduce::<u32, Add>(vector.as_slice()), Ok(6));
    assert_eq!(reduce::<u32, Add>(&boxed), Ok(6));
    assert_eq!(reduce::<u32, Add>(&shared), Ok(6));
    assert_eq!(scan::<f64, Add>(&[0.5, 0.25]), Ok(vec![0.0, 0.5]));
    assert_eq!(reduce_from::<i64, Add>(-1, &[1, 2]), Ok(2));
    let cpu = Device::cpu();
    let buffer = cpu.upload(&vector).unwrap();
    assert_eq!(cpu.reduce::<_, Add>(&buffer), Ok(6));
}

#[function]
fn quotient(x: u32, y: u32) -> u32 {
    x / y
}

#[test]
fn a_function_that_panics_stops_the_call_and_no_thread_waits() {
    let x = vec![100_u32; 1 << 20];
    for place in [0, 17, 700_001, (1 << 20) - 1] {
        let mut y = vec![3_u32; 1 << 20];
        y[place] = 0;
        let quotients = map::<quotient, _>(zip(&x, &y));
        assert!(catch_unwind(|| reduce::<u32, Add>(quotients)).is_err());
        assert!(catch_unwind(|| scan::<u32, Add>(quotients)).is_err());
        assert!(catch_unwind(|| inclusive_scan_from::<u32, Add>(1, quotients)).is_err());
    }
    assert_eq!(
        reduce::<u32, Add>(map::<quotient, _>(zip(&x, &x))),
        Ok(1 << 20)
    );
}

#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Line {
    slope: f32,
    offset: f32,
}

#[function]
fn on_line(x: f32, line: Line) -> f32 {
    line.slope * x + line.offset
}

#[function]
fn error_of_line(x: f32, y: f32, line: Line) -> f32 {
    y - on_line(x, line)
}

#[function]
fn far_from_line(x: f32, y: f32, line: Line) -> bool {
    error_of_line(x, y, line).abs() > 1.0
}

#[function]
fn is_above(x: f32, threshold: f32) -> bool {
    x > threshold
}

#[test]
fn functions_have_parameters() {
    let cpu = Device::cpu();
    for length in [0, 1, 33, 5000] {
        let (x, y) = (sample::<f32>(length, 1), sample::<f32>(length, 2));
        let buffers = [&x, &y].map(|data| cpu.upload(data).unwrap());
        for line in [(2.0, 1.0), (-0.5, 3.0)].map(|(slope, offset)| Line { slope, offset }) {
            let pairs = || x.iter().zip(&y).map(|(&x, &y)| (x, y));
            let expected: Vec<f32> = x.iter().map(|&x| on_line(x, line)).collect();
            let got = collect(map_with::<on_line, _, _>(&x, line)).unwrap();
            assert_same(&got, &expected, "items");
            let got = cpu
                .collect(map_with::<on_line, _, _>(&buffers[0], line))
                .unwrap();
            assert_same(&got.to_vec().unwrap(), &expected, "items of a buffer");

            let expected: Vec<f32> = pairs().map(|(x, y)| error_of_line(x, y, line)).collect();
            let got = collect(map_with::<error_of_line, _, _>(zip(&x, &y), line)).unwrap();
            assert_same(&got, &expected, "pairs");
            let far = pairs().filter(|&(x, y)| far_from_line(x, y, line)).count();
            let source = map_with::<far_from_line, _, _>(zip(&buffers[0], &buffers[1]), line);
            assert_eq!(cpu.count(source), Ok(far));
        }
        let above: Vec<f32> = x.iter().copied().filter(|&x| x > 0.25).collect();
        let source = flagged_with::<is_above, _, _>(&x, 0.25);
        assert_same(&select_flagged::<f32>(source).unwrap(), &above, "selected");
        let source = flagged_with::<is_above, _, _>(&buffers[0], 0.25);
        let got = cpu.select_flagged::<f32>(source).unwrap().to_vec().unwrap();
        assert_same(&got, &above, "selected of a buffer");
    }
}
