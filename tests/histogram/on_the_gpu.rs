//! Histograms on a GPU count what they count on the CPU, at the second level and the third.

use crate::support::data::{Sample, assert_same, sample};
use crate::support::{gpu, stream};
use warpfold::cuda::cudarc::driver::{DevicePtr, DeviceRepr, ValidAsZeroBits};
use warpfold::cuda::{Histogram, HistogramOf, Scan, WeightedHistogramOf, Workspace, up_to};
use warpfold::half::f16;
use warpfold::ops::Add;
use warpfold::source::{Constant, Index, Map, Slice, UpTo, Zip};
use warpfold::{
    Binned, Bins, Counted, Error, Monoid, Prefixes, constant, function, histogram,
    histogram_weighted, index, map, zip,
};

const LENGTHS: &[usize] = &[
    0, 1, 33, 1000, 16_384, 16_385, 100_003, 1_000_000, 20_000_003,
];

/// Where slices start.
const PLACES: [usize; 4] = [0, 1, 5, 16];

/// Both counts of all lengths and places, by each of the bins.
fn check<X>(data: &[X], all_bins: &[Bins<X::Value>])
where
    X: Sample + Counted + DeviceRepr + ValidAsZeroBits,
    X::Value: DeviceRepr,
{
    let Some((_, stream)) = stream() else { return };
    let input = stream.clone_htod(data).unwrap();
    for bins in all_bins {
        let narrow = HistogramOf::<u32, X>::load(&stream, bins).unwrap();
        let wide = HistogramOf::<u64, X>::load(&stream, bins).unwrap();
        // What stands in an output before does not count.
        let mut few = stream.clone_htod(&vec![7_u32; narrow.counts()]).unwrap();
        let mut many = stream.clone_htod(&vec![7_u64; wide.counts()]).unwrap();
        for (number, &len) in LENGTHS.iter().enumerate() {
            let from = PLACES[number % 4];
            let len = len.min(data.len() - from);
            let what = format!(
                "{} from {from}: {len} in {}",
                std::any::type_name::<X>(),
                bins.count()
            );
            let view = input.slice(from..from + len);
            narrow.enqueue(&stream, &view, &mut few).unwrap();
            wide.enqueue(&stream, &view, &mut many).unwrap();
            let expected = histogram::<u64, _>(&data[from..from + len], bins).unwrap();
            assert!(stream.clone_dtoh(&many).unwrap() == expected, "{what}");
            let few = stream.clone_dtoh(&few).unwrap();
            assert!(few.into_iter().map(u64::from).eq(expected), "{what}");
        }
    }
}

fn values<T: warpfold::Integer>(counts: &[usize]) -> Vec<Bins<T>> {
    counts
        .iter()
        .map(|&count| Bins::values(count).unwrap())
        .collect()
}

const MOST: usize = 20_000_040;

#[test]
fn sanitized_values_are_counted() {
    check(&sample::<u8>(100_000, 1), &values(&[1, 32, 256]));
    check(&sample::<u16>(100_000, 1), &values(&[4096, 65_536]));
}

#[test]
fn sanitized_edges_are_looked_up() {
    let edges = [100, 3000].map(squares);
    let bins = edges.map(|edges| Bins::with_edges(&edges).unwrap());
    check(&sample::<f32>(100_000, 1), &bins);
}

/// Squares from 0 to 1.
fn squares(count: usize) -> Vec<f64> {
    let square = |i: usize| (i as f64 / count as f64).powi(2);
    (0..=count).map(square).collect()
}

#[test]
fn values_of_every_type() {
    if stream().is_none() {
        return;
    }
    check(&sample::<u8>(MOST, 1), &values(&[1, 2, 31, 256]));
    check(
        &sample::<u16>(MOST, 1),
        &values(&[1815, 1816, 58_111, 58_112, 65_536]),
    );
    let words: Vec<u32> = sample::<u32>(MOST, 1).into_iter().map(|x| x >> 8).collect();
    check(&words, &values(&[256, 1 << 20, 1 << 24]));
    let words: Vec<u32> = words.into_iter().map(|x| x >> 7).collect();
    check(&words, &values(&[58_113, 100_000, 116_159, 116_160]));
    check(&sample::<u64>(MOST / 4, 1), &values(&[256]));
}

#[test]
fn equal_items() {
    if stream().is_none() {
        return;
    }
    check(&vec![200_u8; MOST], &values(&[256]));
    check(&vec![9_u32; MOST], &values(&[256, 57_000, 99_999, 1 << 20]));
    check(&vec![65_535_u16; MOST], &values(&[65_535, 65_536]));
    check(
        &vec![0.5_f32; MOST],
        &[Bins::even(0.0, 1.0, 57_000).unwrap()],
    );
}

/// More items than 16 bits hold of two places that share a word, in each block. A third place is
/// the one that warps count by themselves.
#[test]
fn narrow_counters_do_not_overflow() {
    if stream().is_none() {
        return;
    }
    let item = |i: usize| match i % 8 {
        7 => 70_000,
        i if i % 2 == 0 => 3,
        _ => 3 + 50_001,
    };
    let items: Vec<u32> = (0..MOST).map(item).collect();
    check(&items, &values(&[100_000, 100_001]));
}

/// What comes often changes from part to part, or is a few bins of very many.
#[test]
fn items_in_order_and_skewed_items() {
    if stream().is_none() {
        return;
    }
    let bins = values(&[57_000, 100_000, 1 << 20]);
    let ordered: Vec<u32> = (0..MOST).map(|i| (i / 25) as u32).collect();
    check(&ordered, &bins);
    let skewed = |x: &f32| (f64::from(x.abs()).powi(12) * 1e6) as u32;
    let skewed: Vec<u32> = sample::<f32>(MOST, 8).iter().map(skewed).collect();
    check(&skewed, &bins);
}

fn even<T: Binned>(lo: f64, hi: f64, counts: &[usize]) -> Vec<Bins<T>> {
    counts
        .iter()
        .map(|&count| Bins::even(lo, hi, count).unwrap())
        .collect()
}

#[test]
fn even_bins_of_every_type() {
    if stream().is_none() {
        return;
    }
    check(
        &sample::<f32>(MOST, 2),
        &even(-1.1, 1.3, &[1, 10, 256, 57_000, 1 << 20]),
    );
    check(&sample::<f64>(MOST / 2, 2), &even(-0.3, 0.7, &[10, 1000]));
    check(&sample::<u8>(MOST, 2), &even(0.0, 256.0, &[16, 100]));
    check(&sample::<i16>(MOST, 2), &even(-32_768.0, 32_768.0, &[255]));
    check(
        &sample::<u32>(MOST, 2),
        &even(0.0, 4_294_967_296.0, &[256, 4096]),
    );
    check(&sample::<i64>(MOST / 2, 2), &even(-9e18, 9e18, &[777]));
}

#[test]
fn edges_of_every_type() {
    if stream().is_none() {
        return;
    }
    let some: Vec<f64> = (0..100).map(|i| f64::from(i * i) / 5000.0 - 1.0).collect();
    let very_many: Vec<f64> = (0..100_000).map(|i| f64::from(i) / 5e4 - 1.0).collect();
    let edges = [some, very_many];
    let all = || edges.iter().map(|edges| Bins::with_edges(edges).unwrap());
    check(&sample::<f32>(MOST / 2, 3), &all().collect::<Vec<_>>());
    let all: Vec<_> = edges
        .iter()
        .map(|edges| Bins::with_edges(edges).unwrap())
        .collect();
    check(&sample::<f64>(MOST / 4, 3), &all);
    let words = Bins::with_edges(&[0.0, 1e3, 1e6, 1.5e6, 4e9]).unwrap();
    check(&sample::<u32>(MOST, 3), &[words]);
    let bytes: Vec<f64> = (0..=16).map(|i| f64::from(i * i)).collect();
    check(&sample::<u8>(MOST, 3), &[Bins::with_edges(&bytes).unwrap()]);
    let wide = [-9e18, -1e9, -1.0, 0.0, 1e17, 8e18];
    check(
        &sample::<i64>(MOST / 4, 3),
        &[Bins::with_edges(&wide).unwrap()],
    );
}

/// Edges that a lookup tells apart, and some that it has no room for.
#[test]
fn very_many_edges() {
    if stream().is_none() {
        return;
    }
    let all = [10_000, 30_000, 50_000, 90_000].map(squares);
    let bins: Vec<_> = all
        .iter()
        .map(|edges| Bins::with_edges(edges).unwrap())
        .collect();
    check(&sample::<f32>(MOST / 2, 3), &bins);
    let bins: Vec<_> = all
        .iter()
        .map(|edges| Bins::with_edges(edges).unwrap())
        .collect();
    check(&sample::<f64>(MOST / 4, 3), &bins);
    let near = (0..20_000).map(|i| 1.0 + f64::from(i) * f64::EPSILON);
    let edges: Vec<f64> = [-1e300].into_iter().chain(near).chain([1e300]).collect();
    let bins = Bins::with_edges_of(&edges).unwrap();
    let item = |x: &f64| match *x {
        x if x < 0.0 => x,
        x => 1.0 + x * 3e4 * f64::EPSILON,
    };
    let items: Vec<f64> = sample::<f64>(MOST / 4, 4).iter().map(item).collect();
    check(&items, &[bins]);
}

/// Items that are equal to edges, in pairs with those just before and after them.
#[test]
fn items_at_edges() {
    if stream().is_none() {
        return;
    }
    fn around<T: Sample + Binned + Counted<Value = T> + DeviceRepr + ValidAsZeroBits>(edges: &[T]) {
        let bins = Bins::with_edges_of(edges).unwrap();
        let item = |i: usize| {
            let edge = edges[i / 3 % edges.len()].rank();
            let rank = edge.saturating_add((i % 3) as u64);
            T::of_rank(
                rank.saturating_sub(1)
                    .clamp(T::ENDS.0.rank(), T::ENDS.1.rank()),
            )
        };
        check(&(0..100_040).map(item).collect::<Vec<_>>(), &[bins]);
    }
    around(&squares(500));
    around(&squares(5000).iter().map(|&x| x as f32).collect::<Vec<_>>());
    around(&[f32::NEG_INFINITY, -1.0, -0.0, 1.0, f32::INFINITY]);
    around(&[f64::NEG_INFINITY, -1.0, 0.0, 1.0, f64::INFINITY]);
    around(&(-100..100).map(|i| i * i * i * 1000).collect::<Vec<i32>>());
    around(&[0, 1, 1 << 40, u64::MAX - 1, u64::MAX]);
    around(&[i64::MIN, -5, 0, i64::MAX]);
}

#[test]
fn channels_of_pixels() {
    if stream().is_none() {
        return;
    }
    let all = Bins::values(256).unwrap();
    check(
        &sample::<[u8; 4]>(MOST / 2, 4),
        &[all.clone().channels(3), all],
    );
    check(&sample::<[f32; 3]>(MOST / 4, 4), &even(-1.0, 1.0, &[100]));
}

#[function]
fn remainder(place: u64, by: u32) -> u32 {
    (place % (by as u64)) as u32
}

/// More items than a counter of 32 bits holds, which lie nowhere.
#[test]
fn more_than_u32_counts() {
    let Some((_, stream)) = stream() else { return };
    type Form = Map<remainder, Zip<(Index, Constant<u32>)>>;
    let bins = Bins::values(2).unwrap();
    let len = (1_usize << 33) + 7;
    let histogram = Histogram::<u64, Form>::load(&stream, &bins).unwrap();
    let mut counts = stream.alloc_zeros::<u64>(2).unwrap();
    let source = map::<remainder, _>(zip(index(len), constant(2, len)));
    histogram.enqueue(&stream, source, &mut counts).unwrap();
    assert_eq!(
        stream.clone_dtoh(&counts).unwrap(),
        [(1 << 32) + 4, (1 << 32) + 3]
    );
}

#[test]
fn a_number_on_the_device_limits_what_is_counted() {
    let Some((_, stream)) = stream() else { return };
    let data = sample::<u8>(1_000_000, 6);
    let bins = Bins::values(256).unwrap();
    let input = stream.clone_htod(&data).unwrap();
    let mut counts = stream.alloc_zeros::<u32>(256).unwrap();
    let histogram_up_to = Histogram::<u32, UpTo<Slice<u8>>>::load(&stream, &bins).unwrap();
    for limit in [0, 1, 77_777, 1_000_000, 2_000_000] {
        let number = stream.clone_htod(&[limit]).unwrap();
        let source = up_to(&input, &number);
        histogram_up_to
            .enqueue(&stream, source, &mut counts)
            .unwrap();
        let counted = (limit as usize).min(data.len());
        let expected = histogram::<u32, _>(&data[..counted], &bins).unwrap();
        assert_eq!(stream.clone_dtoh(&counts).unwrap(), expected);
    }
}

#[test]
fn methods_of_a_gpu_count_as_those_of_a_cpu() {
    let Some(gpu) = gpu(0) else { return };
    let data = sample::<f32>(1_000_003, 7);
    let input = gpu.upload(&data).unwrap();
    for bins in even(-1.0, 1.0, &[1, 64, 100_000]) {
        let expected = histogram::<u64, _>(&data, &bins).unwrap();
        let counts = gpu.histogram::<u64, _>(&input, &bins).unwrap();
        assert_eq!(counts.to_vec().unwrap(), expected);
        let mut into = gpu.upload(&vec![9_u64; bins.count()]).unwrap();
        gpu.histogram_into(&input, &bins, &mut into).unwrap();
        assert_eq!(into.to_vec().unwrap(), expected);
    }
}

#[test]
fn outputs_of_another_length_are_errors() {
    let Some((_, stream)) = stream() else { return };
    let input = stream.clone_htod(&[1_u8, 2]).unwrap();
    let histogram = HistogramOf::<u32, u8>::load(&stream, &Bins::values(3).unwrap()).unwrap();
    let mut counts = stream.clone_htod(&[9_u32; 4]).unwrap();
    let result = histogram.enqueue(&stream, &input, &mut counts);
    let wrong = Error::Length {
        input: 3,
        output: 4,
    };
    assert_eq!(result, Err(wrong));
    assert_eq!(stream.clone_dtoh(&counts).unwrap(), [9; 4]);
}

/// Compares sums of weights on a GPU with those on the CPU, bit for bit, for several lengths, at
/// the second level and the third.
fn check_weights<X, W>(items: &[X], bins: &Bins<X::Value>, lengths: &[usize])
where
    X: Sample + Counted + DeviceRepr + ValidAsZeroBits,
    X::Value: DeviceRepr,
    W: Sample + DeviceRepr + ValidAsZeroBits,
    Add: Monoid<W>,
{
    let (Some(gpu), Some((_, stream))) = (gpu(0), stream()) else {
        return;
    };
    let weights = sample::<W>(items.len(), 9);
    let histogram = WeightedHistogramOf::<W, X>::load(&stream, bins).unwrap();
    let most = histogram.workspace_bytes(items.len());
    // Between the calls the workspace serves scans, which trust what they find in it.
    let scan = Scan::<u64, Add>::load_lazily(stream.context()).unwrap();
    let mut scanned = stream.alloc_zeros::<u64>(100_000).unwrap();
    let shared = most.max(scan.workspace_bytes(scanned.len()));
    let mut workspace = Workspace::new(&stream, shared).unwrap();
    // Another one starts at an odd multiple of 16, and something follows it.
    let around = stream.clone_htod(&vec![0xab_u8; 16 + most + 512]).unwrap();
    let address = around.device_ptr(&stream).0 + 16;
    // SAFETY: the bytes are the array's, and nothing else uses them before they are read.
    let mut exact = unsafe { Workspace::from_raw(&stream, address, most) }.unwrap();
    let (all_items, all_weights) = (stream.clone_htod(items), stream.clone_htod(&weights));
    let (all_items, all_weights) = (all_items.unwrap(), all_weights.unwrap());
    // What stands in an output before does not count.
    let mut sums = stream
        .clone_htod(&sample::<W>(histogram.sums(), 1))
        .unwrap();
    for (number, &len) in lengths.iter().enumerate() {
        let from = PLACES[number % 4].min(items.len() - len);
        let what = format!(
            "{} of {}, {len} from {from} in {}",
            std::any::type_name::<W>(),
            std::any::type_name::<X>(),
            bins.count()
        );
        let range = from..from + len;
        let (items, weights) = (&items[range.clone()], &weights[range.clone()]);
        let expected = histogram_weighted(items, weights, bins).unwrap();
        let of_items = gpu.upload(items).unwrap();
        let of_weights = gpu.upload(weights).unwrap();
        let got = gpu
            .histogram_weighted(&of_items, &of_weights, bins)
            .unwrap();
        assert_same(&got.to_vec().unwrap(), &expected, &what);

        assert!(histogram.workspace_bytes(len) <= most, "{what}");
        let (items, weights) = (all_items.slice(range.clone()), all_weights.slice(range));
        let enqueued = histogram.enqueue(&stream, &items, &weights, &mut sums, &mut workspace);
        enqueued.unwrap();
        assert_same(&stream.clone_dtoh(&sums).unwrap(), &expected, &what);
        let prefixes = Prefixes::exclusive();
        scan.enqueue_in_place(&stream, prefixes, &mut scanned, &mut workspace)
            .unwrap();
        histogram
            .enqueue(&stream, &items, &weights, &mut sums, &mut exact)
            .unwrap();
        assert_same(&stream.clone_dtoh(&sums).unwrap(), &expected, &what);
    }
    let after = stream.clone_dtoh(&around).unwrap();
    assert!(after[16 + most..].iter().all(|&byte| byte == 0xab));
}

/// Around tiles and chunks.
const WEIGHTS: &[usize] = &[0, 1, 255, 257, 8191, 8193, 65_537, 300_007];

#[test]
fn sanitized_weights_are_added_up() {
    let items = sample::<u8>(20_000, 1);
    check_weights::<u8, f32>(&items, &Bins::values(200).unwrap(), &[20_000]);
    let items = sample::<f32>(20_000, 1);
    let bins = Bins::even(-0.9, 1.0, 1000).unwrap();
    check_weights::<f32, u64>(&items, &bins, &[20_000]);
}

#[test]
fn weights_of_every_type() {
    if stream().is_none() {
        return;
    }
    let items = sample::<f32>(300_007, 1);
    let [few, many] = [10, 70_000].map(|n| Bins::even(-0.9, 1.0, n).unwrap());
    check_weights::<f32, f32>(&items, &few, WEIGHTS);
    check_weights::<f32, f64>(&items, &many, WEIGHTS);
    check_weights::<f32, f16>(&items, &few, WEIGHTS);
    check_weights::<f32, u8>(&items, &few, WEIGHTS);
    check_weights::<f32, i16>(&items, &many, WEIGHTS);
    check_weights::<f32, u64>(&items, &few, WEIGHTS);
    let edges = Bins::with_edges(&[-1.0, 0.0, 0.1, 0.25, 1.0]).unwrap();
    check_weights::<f32, f32>(&items, &edges, WEIGHTS);
    check_weights::<f32, u32>(&items, &edges, WEIGHTS);
    let many = Bins::with_edges(&squares(20_000)).unwrap();
    check_weights::<f32, f32>(&items, &many, WEIGHTS);
    check_weights::<f32, u64>(&items, &many, WEIGHTS);
    let pixels = sample::<[u8; 4]>(100_003, 2);
    let colours = Bins::values(256).unwrap().channels(3);
    check_weights::<[u8; 4], f32>(&pixels, &colours, &[0, 1, 100_003]);
}

#[test]
fn very_many_weights() {
    if stream().is_none() {
        return;
    }
    let items = sample::<u32>(MOST, 3);
    let bins = |count| Bins::even(0.0, 4_294_967_296.0, count).unwrap();
    check_weights::<u32, f32>(&items, &bins(256), &[MOST]);
    check_weights::<u32, f32>(&items, &bins(1 << 20), &[MOST]);
    check_weights::<u32, u32>(&items, &bins(1), &[MOST]);
    // Nearly all in one bin.
    let skewed: Vec<u32> = items.iter().map(|x| x >> 24 << 4 >> (x % 32)).collect();
    check_weights::<u32, f32>(&skewed, &Bins::values(5000).unwrap(), &[MOST]);
}

#[function]
fn half_of(x: f32) -> f64 {
    x as f64 * 0.5
}

#[test]
fn weights_that_are_computed() {
    let Some(gpu) = gpu(0) else { return };
    let (items, weights) = (sample::<u16>(100_003, 1), sample::<f32>(100_003, 2));
    let bins = Bins::even(0.0, 65_536.0, 100).unwrap();
    let (x, w) = (gpu.upload(&items).unwrap(), gpu.upload(&weights).unwrap());
    let sums = gpu
        .histogram_weighted(&x, map::<half_of, _>(&w), &bins)
        .unwrap();
    let expected = histogram_weighted(&items, map::<half_of, _>(&weights), &bins).unwrap();
    assert_same(&sums.to_vec().unwrap(), &expected, "halves");
}

#[test]
fn what_a_weighted_histogram_cannot_do_is_an_error() {
    let Some((_, stream)) = stream() else { return };
    let (items, weights) = (
        stream.clone_htod(&[1_u8, 2]),
        stream.clone_htod(&[1.5_f32; 3]),
    );
    let (items, weights) = (items.unwrap(), weights.unwrap());
    let bins = Bins::values(3).unwrap();
    let histogram = WeightedHistogramOf::<f32, u8>::load(&stream, &bins).unwrap();
    let bytes = histogram.workspace_bytes(2);
    let mut workspace = Workspace::new(&stream, bytes).unwrap();
    let mut sums = stream.clone_htod(&[9.0_f32; 3]).unwrap();
    let result = histogram.enqueue(&stream, &items, &weights, &mut sums, &mut workspace);
    let unequal = Error::Zip {
        first: 2,
        second: 3,
    };
    assert_eq!(result, Err(unequal));
    let two = weights.slice(..2);
    let mut few = stream.clone_htod(&[9.0_f32; 2]).unwrap();
    let result = histogram.enqueue(&stream, &items, &two, &mut few, &mut workspace);
    let wrong = Error::Length {
        input: 3,
        output: 2,
    };
    assert_eq!(result, Err(wrong));
    let mut small = Workspace::new(&stream, bytes - 1).unwrap();
    let result = histogram.enqueue(&stream, &items, &two, &mut sums, &mut small);
    assert!(matches!(result, Err(Error::Workspace { needed, .. }) if needed == bytes));
    assert_eq!(stream.clone_dtoh(&few).unwrap(), [9.0; 2]);
    assert_eq!(stream.clone_dtoh(&sums).unwrap(), [9.0; 3]);
    let enqueued = histogram.enqueue(&stream, &items, &two, &mut sums, &mut workspace);
    enqueued.unwrap();
    assert_eq!(stream.clone_dtoh(&sums).unwrap(), [0.0, 1.5, 1.5]);
}
