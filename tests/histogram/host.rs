//! Histograms count what NumPy counts, for every type, rule and length.

use crate::support::data::{Random, Sample, assert_same, sample};
use half::f16;
use std::panic::{AssertUnwindSafe, catch_unwind};
use warpfold::{
    Binned, Bins, Count, Device, Error, Monoid, constant, function, histogram, histogram_weighted,
    index, map, ops::Add, reduce, strided, zip,
};

/// The definition: one item after the other, compared with all bins.
fn expected<C: Count + From<u8> + std::ops::AddAssign>(
    bins: usize,
    places: impl IntoIterator<Item = Option<usize>>,
) -> Vec<C> {
    let mut counts = vec![C::from(0); bins];
    for place in places.into_iter().flatten() {
        counts[place] += C::from(1);
    }
    counts
}

/// The bin between edges of the same type, the last one with its upper edge.
fn between<T: PartialOrd>(edges: &[T], x: &T) -> Option<usize> {
    let last = edges.len() - 1;
    (0..last)
        .find(|&k| &edges[k] <= x && (x < &edges[k + 1] || (k + 1 == last && x == &edges[last])))
}

// ---- NumPy ----

fn hash_of(words: impl Iterator<Item = u64>) -> u64 {
    words.fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        (hash ^ word).wrapping_mul(0x100_0000_01b3)
    })
}

/// A number of `scripts/numpy-histograms`.
trait Numpy: Binned {
    fn of_bits(bits: u64) -> Self;

    /// The items of a case.
    fn items(edges: &[f64]) -> Vec<Self>;
}

fn numbers_between(edges: &[f64]) -> Vec<f64> {
    let mut random = Random::new(edges.len() as u64);
    let (low, high) = (edges[0], edges[edges.len() - 1]);
    let mut draw = || low + (random.next() >> 11) as f64 / (1_u64 << 53) as f64 * (high - low);
    (0..200).map(|_| draw()).collect()
}

macro_rules! numpy_integers {
    ($($ty:ident),*) => {$(
        impl Numpy for $ty {
            fn of_bits(bits: u64) -> $ty {
                bits as $ty
            }

            fn items(edges: &[f64]) -> Vec<$ty> {
                let clamp = |at: i128| at.clamp($ty::MIN.into(), $ty::MAX.into()) as $ty;
                let mut items = vec![clamp(0), 1, $ty::MIN, $ty::MAX];
                for edge in edges.iter().copied().chain(numbers_between(edges)) {
                    let at = edge.floor().clamp(-1e30, 1e30) as i128;
                    items.extend([at - 1, at, at + 1].map(clamp));
                }
                items
            }
        }
    )*};
}

numpy_integers!(u8, i8, u16, i16, u32, i32, u64, i64);

macro_rules! numpy_floats {
    ($($ty:ident),*) => {$(
        impl Numpy for $ty {
            fn of_bits(bits: u64) -> $ty {
                f64::from_bits(bits) as $ty
            }

            fn items(edges: &[f64]) -> Vec<$ty> {
                let at: Vec<_> = edges.iter().map(|&edge| edge as $ty).collect();
                let least = $ty::from_bits(1);
                let mut items: Vec<$ty> = at.iter().flat_map(|edge| [*edge, edge.next_down(), edge.next_up()]).collect();
                items.extend([$ty::NAN, $ty::INFINITY, $ty::NEG_INFINITY, 0.0, -0.0]);
                items.extend([$ty::MAX, $ty::MIN, $ty::MIN_POSITIVE, least, -least]);
                items.extend(numbers_between(edges).iter().map(|&x| x as $ty));
                items
            }
        }
    )*};
}

numpy_floats!(f32, f64);

fn check_numpy<T: Numpy>(
    kind: &str,
    count: usize,
    arguments: &[u64],
    hashes: [u64; 2],
    line: &str,
) {
    let floats: Vec<_> = arguments.iter().map(|&bits| f64::from_bits(bits)).collect();
    let bins = match kind {
        "even" => Bins::<T>::even(floats[0], floats[1], count),
        "range" => Bins::of_range(T::of_bits(arguments[0]), T::of_bits(arguments[1]), count),
        "edges" => Bins::with_edges(&floats),
        _ => unreachable!("{line}"),
    };
    let bins = bins.unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_eq!(bins.count(), count, "{line}");
    let edges = hash_of(bins.edges().iter().map(|edge| edge.to_bits()));
    assert_eq!(edges, hashes[0], "the edges of {line}");
    let counts = histogram::<u64, _>(&T::items(bins.edges())[..], &bins).unwrap();
    assert_eq!(
        hash_of(counts.into_iter()),
        hashes[1],
        "the counts of {line}"
    );
}

#[test]
fn counts_are_those_of_numpy() {
    let mut lines = 0;
    for line in include_str!("../data/histograms.txt").lines() {
        let words: Vec<_> = line.split(' ').collect();
        let [dtype, kind, count, ref numbers @ ..] = words[..] else {
            panic!("{line}")
        };
        let numbers: Vec<_> = numbers
            .iter()
            .map(|word| u64::from_str_radix(word, 16).unwrap())
            .collect();
        let (arguments, hashes) = numbers.split_at(numbers.len() - 2);
        let (count, hashes) = (count.parse().unwrap(), [hashes[0], hashes[1]]);
        macro_rules! dispatch {
            ($($ty:ident),*) => {
                match dtype {
                    $(stringify!($ty) => check_numpy::<$ty>(kind, count, arguments, hashes, line),)*
                    _ => unreachable!("{line}"),
                }
            };
        }
        dispatch!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);
        lines += 1;
    }
    assert!(lines > 1000, "{lines} lines");
}

// ---- every source, count and length ----

/// Lengths at the ends of blocks and parts.
const LENGTHS: [usize; 12] = [
    0, 1, 2, 3, 5, 1023, 1024, 1025, 65_535, 65_537, 131_072, 200_003,
];

#[test]
fn values_of_every_length() {
    for length in LENGTHS {
        for bins in [1, 2, 31, 256, 257, 2048, 2049, 70_000] {
            let x: Vec<u32> = (0..length)
                .map(|i| (i * i) as u32 % (bins as u32 + 3))
                .collect();
            let places = x.iter().map(|&x| (x < bins as u32).then_some(x as usize));
            let of_values = Bins::values(bins).unwrap();
            let what = format!("{length} items in {bins} bins");
            let counts = histogram::<u32, _>(&x, &of_values).unwrap();
            assert_eq!(counts, expected::<u32>(bins, places), "{what}");
            assert!(
                histogram::<u64, _>(&x[length.min(1)..], &of_values)
                    .unwrap()
                    .iter()
                    .sum::<u64>()
                    <= length as u64
            );
        }
    }
}

/// Bytes that all have a bin are counted where they lie; those that do not, or are signed, or parts
/// of a pixel, are not.
#[test]
fn bytes_of_every_kind() {
    let mut random = Random::new(5);
    for len in [0, 1, 63, 64, 65, 1023, 5000, 200_000] {
        let bytes: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
        let signed: Vec<i8> = bytes.iter().map(|&x| x as i8).collect();
        let (pixels, _) = bytes.as_chunks::<3>();
        for bins in [200, 256, 257, 2047, 2048, 5000] {
            let places = |x: &u8| (usize::from(*x) < bins).then_some(usize::from(*x));
            let counts = histogram::<u64, _>(&bytes, &Bins::values(bins).unwrap()).unwrap();
            assert_eq!(counts, expected::<u64>(bins, bytes.iter().map(places)));
            let counts = histogram::<u32, _>(&signed, &Bins::values(bins).unwrap()).unwrap();
            let places_of = |x: &i8| usize::try_from(*x).ok();
            assert_eq!(counts, expected::<u32>(bins, signed.iter().map(places_of)));
            let counts = histogram::<u32, _>(pixels, &Bins::values(bins).unwrap()).unwrap();
            let parts = pixels.iter().flat_map(|pixel| pixel.iter().enumerate());
            let places = parts.map(|(part, x)| Some(part * bins + places(x)?));
            assert_eq!(counts, expected::<u32>(3 * bins, places));
        }
    }
}

#[test]
fn negative_values_have_no_bin() {
    let bins = Bins::values(3).unwrap();
    let counts = histogram::<u32, _>(&[-1_i8, 0, 2, -128, 127, 2], &bins).unwrap();
    assert_eq!(counts, [1, 0, 2]);
    let counts = histogram::<u32, _>(&[-1_i64, 0, i64::MIN, 1], &Bins::values(3).unwrap());
    assert_eq!(counts.unwrap(), [1, 1, 0]);
}

fn check_edges<T: Sample + Binned>(edges: &[T]) {
    let x = sample::<T>(5000, 3);
    let places = x.iter().map(|x| between(edges, x));
    let counts = histogram::<u64, _>(&x, &Bins::with_edges_of(edges).unwrap()).unwrap();
    assert_eq!(counts, expected::<u64>(edges.len() - 1, places));
}

#[test]
fn edges_of_every_type() {
    check_edges::<u8>(&[3, 4, 77, 200]);
    check_edges::<i8>(&[-128, -1, 0, 127]);
    check_edges::<u16>(&[0, 65_535]);
    check_edges::<i16>(&[-3000, 5, 6, 7, 3000]);
    check_edges::<u32>(&[1 << 20, 1 << 31, u32::MAX]);
    check_edges::<i32>(&[i32::MIN, -1 << 30, 0, 1]);
    check_edges::<u64>(&[0, 1 << 63, (1 << 63) + 1, u64::MAX]);
    check_edges::<i64>(&[i64::MIN, i64::MIN + 1, 0, i64::MAX]);
    check_edges::<f32>(&[-1.0, -0.75, 0.0, 0.6, 2.0]);
    check_edges::<f64>(&[f64::NEG_INFINITY, -0.75, 0.0, 0.6, f64::INFINITY]);
}

#[test]
fn integers_beyond_the_floats_keep_their_edges() {
    let big = 1_u64 << 60;
    let bins = Bins::with_edges_of(&[big, big + 1, big + 2]).unwrap();
    let x = [big - 1, big, big + 1, big + 2, big + 3];
    assert_eq!(histogram::<u32, _>(&x, &bins).unwrap(), [1, 2]);
}

#[function]
fn remainder(x: u64, by: u64) -> u32 {
    (x % by) as u32
}

#[test]
fn sources_of_every_kind_are_counted() {
    let x = sample::<u16>(10_007, 5);
    let bins = Bins::values(7).unwrap();
    let of_index = map::<remainder, _>(zip(index(70_001), constant(10, 70_001)));
    assert_eq!(
        histogram::<u32, _>(of_index, &bins).unwrap(),
        [7001, 7000, 7000, 7000, 7000, 7000, 7000]
    );

    let bins = Bins::even(0.0, 65536.0, 16).unwrap();
    let columns = x.chunks(10).flat_map(|row| row.iter().take(3));
    let places = columns.map(|&x| Some(x as usize / 4096));
    let counts = histogram::<u64, _>(strided(&x, 3, 10), &bins).unwrap();
    assert_eq!(counts, expected::<u64>(16, places));
}

#[test]
fn channels_have_counts_of_their_own() {
    let pixels = sample::<[u8; 4]>(70_001, 1);
    let all = Bins::values(256).unwrap();
    let counts = histogram::<u64, _>(&pixels, &all).unwrap();
    for channel in 0..4 {
        let of_channel: Vec<u8> = pixels.iter().map(|pixel| pixel[channel]).collect();
        let alone = histogram::<u64, _>(&of_channel, &all).unwrap();
        assert_eq!(counts[channel * 256..][..256], alone, "channel {channel}");
    }
    let colours = histogram::<u64, _>(&pixels, &all.channels(3)).unwrap();
    assert_eq!(colours, counts[..768]);
}

#[test]
fn methods_of_a_device_count_the_same() {
    let cpu = Device::cpu();
    let x = sample::<f32>(3000, 8);
    let bins = Bins::even(-1.0, 1.0, 13).unwrap();
    let expected = histogram::<u32, _>(&x, &bins).unwrap();
    let buffer = cpu.upload(&x).unwrap();
    let new = cpu.histogram::<u32, _>(&buffer, &bins).unwrap();
    assert_eq!(new.into_vec().unwrap(), expected);
    let mut output = cpu.upload(&[9_u32; 13]).unwrap();
    cpu.histogram_into(&buffer, &bins, &mut output).unwrap();
    assert_eq!(output.into_vec().unwrap(), expected);
}

#[test]
fn an_output_of_another_length_stays_as_it_is() {
    let cpu = Device::cpu();
    let x = cpu.upload(&[1_u8, 2, 3]).unwrap();
    for len in [0, 2, 4] {
        let mut output = cpu.upload(&vec![9_u64; len]).unwrap();
        let result = cpu.histogram_into(&x, &Bins::values(3).unwrap(), &mut output);
        let wrong = Error::Length {
            input: 3,
            output: len,
        };
        assert_eq!(result, Err(wrong));
        assert_eq!(output.into_vec().unwrap(), vec![9; len]);
    }
}

#[test]
fn too_many_items_for_a_count_are_an_error() {
    let bins = Bins::values(2).unwrap();
    let items = 1_usize << 32;
    let result = histogram::<u32, _>(constant(0_u8, items), &bins);
    assert_eq!(result, Err(Error::Counts { items }));
}

#[test]
fn a_panic_in_a_function_reaches_the_caller() {
    #[function]
    fn divide(x: u32) -> u32 {
        100 / x
    }
    let x: Vec<u32> = (0..300_000).rev().collect();
    let bins = Bins::values(10).unwrap();
    let result = catch_unwind(AssertUnwindSafe(|| {
        histogram::<u32, _>(map::<divide, _>(&x), &bins)
    }));
    assert!(result.is_err());
}

/// Errors name the argument, and the index where there is one.
#[test]
fn bins_that_cannot_be_are_errors() {
    fn message<T: Binned>(bins: Result<Bins<T>, Error>) -> String {
        bins.unwrap_err().to_string()
    }
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    let even = |lo, hi, count| message(Bins::<f32>::even(lo, hi, count));
    assert_eq!(
        even(0.0, 1.0, 0),
        "the bins' `count` is 0; there must be a bin"
    );
    assert!(even(0.0, 1.0, (1 << 24) + 1).contains("`count` is 16777217"));
    assert!(even(1.0, 1.0, 3).contains("`hi` is 1, which is not above lo, 1"));
    assert!(even(2.0, 1.0, 3).contains("`hi` is 1"));
    assert!(even(nan, 1.0, 3).contains("`lo` is NaN"));
    assert!(even(0.0, infinity, 3).contains("`hi` is inf"));
    assert!(even(0.0, 1e39, 3).contains("`hi` is too far from lo"));
    assert!(even(-3e38, 3e38, 3).contains("`hi` is too far from lo"));
    let error = even(1.0, 1.0 + 1e-6, 100);
    assert!(
        error.contains("`bins` are too many for the range: edges 0 and 1 are both 1"),
        "{error}"
    );
    let wide = message(Bins::<f64>::even(-1.7e308, 1.7e308, 10));
    assert!(wide.contains("`hi` is too far from lo"), "{wide}");

    let edges = |edges: &[f64]| message(Bins::<i32>::with_edges(edges));
    assert!(edges(&[]).contains("`edges` are 0; a bin lies between two"));
    assert!(edges(&[1.0]).contains("`edges` are 1"));
    assert!(edges(&[0.0, nan, 1.0]).contains("`edges` have a NaN at index 1"));
    assert!(
        edges(&[0.0, 3.0, 2.0]).contains("the one at index 2, 2, is below the one before it, 3")
    );
    assert!(edges(&[0.0, 2.0, 2.0]).contains("the one at index 2, 2, is equal to"));
    assert!(message(Bins::of_range(2_u8, 1, 3)).contains("`greatest` is 1"));
    assert!(message(Bins::of_range(0.0, f32::INFINITY, 3)).contains("`greatest` is inf"));

    let pixels = [[0_u8; 3]];
    let bins = Bins::values(9).unwrap();
    for channels in [0, 4] {
        let error = histogram::<u32, _>(&pixels, &bins.clone().channels(channels)).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("`channels` are {channels} of items with 3 parts"))
        );
    }
    let most = Bins::values(1 << 23).unwrap();
    assert!(
        histogram::<u32, _>(&pixels, &most)
            .unwrap_err()
            .to_string()
            .contains("16777216 are possible in all")
    );
}

#[test]
fn the_most_bins_are_counted() {
    let bins = Bins::<u32>::values(1 << 24).unwrap();
    let counts = histogram::<u32, _>(&[0, (1 << 24) - 1, 1 << 24, (1 << 24) - 1], &bins).unwrap();
    assert_eq!((counts[0], counts[(1 << 24) - 1]), (1, 2));
    let bins = Bins::<f32>::even(0.0, 1.0, 1 << 20).unwrap();
    let counts = histogram::<u32, _>(&[0.0, 0.5, 1.0], &bins).unwrap();
    assert_eq!(
        (counts[0], counts[1 << 19], counts[(1 << 20) - 1]),
        (1, 1, 1)
    );
}

// ---- Weights ----

#[test]
fn a_bin_has_the_bits_of_reduce_over_its_weights() {
    let bins = Bins::values(5).unwrap();
    for len in [0, 1, 2, 31, 32, 33, 1023, 1024, 1025, 7919] {
        let mut random = Random::new(len as u64 + 1);
        let items: Vec<u32> = (0..len).map(|_| (random.next() >> 40) as u32 % 7).collect();
        let weights: Vec<f32> = (0..len)
            .map(|_| (random.next() >> 40) as f32 / 1e3)
            .collect();
        let sums = histogram_weighted(&items, &weights, &bins).unwrap();
        for (bin, sum) in (0..5).zip(&sums) {
            let of_bin = items.iter().zip(&weights).filter(|(item, _)| **item == bin);
            let of_bin: Vec<f32> = of_bin.map(|(_, &weight)| weight).collect();
            let expected = reduce::<f32, Add>(&of_bin).unwrap();
            assert_eq!(sum.to_bits(), expected.to_bits(), "bin {bin} of {len}");
        }
    }
}

/// So many items that several threads take part, on every device.
#[test]
fn threads_share_the_bins_of_weighted_items() {
    fn check<W: Sample>(len: usize, bins: u32)
    where
        Add: Monoid<W>,
    {
        let mut random = Random::new(len as u64);
        let items: Vec<[u32; 2]> = (0..len)
            .map(|_| [(); 2].map(|()| (random.next() >> 40) as u32 % (bins + 1)))
            .collect();
        let weights = sample::<W>(len, 3);
        let of_bins = Bins::values(bins as usize).unwrap();
        let sums = histogram_weighted(&items, &weights, &of_bins).unwrap();
        let mut of_bins_of_channels = vec![Vec::new(); 2 * bins as usize];
        for (item, &weight) in items.iter().zip(&weights) {
            for (channel, &bin) in (0..2).zip(item) {
                if bin < bins {
                    of_bins_of_channels[(channel * bins + bin) as usize].push(weight);
                }
            }
        }
        let sums_of_bins = of_bins_of_channels.iter();
        let expected: Vec<W> = sums_of_bins
            .map(|weights| reduce::<W, Add>(weights).unwrap())
            .collect();
        let what = format!("{len} items in {bins} bins");
        assert_same(&sums, &expected, &what);
        for device in Device::available() {
            let (items, weights) = (device.upload(&items), device.upload(&weights));
            let (items, weights) = (items.unwrap(), weights.unwrap());
            let got = device.histogram_weighted(&items, &weights, &of_bins);
            assert_same(&got.unwrap().into_vec().unwrap(), &expected, &what);
        }
    }
    check::<f32>(70_001, 1);
    check::<f16>(300_007, 7);
    check::<u64>(270_000, 33);
    check::<i8>(65_536, 1000);
    check::<f64>(200_000, 40_000);
    // The most bins by which weights are sorted, and more.
    check::<f32>(150_000, 2048);
    check::<f32>(150_000, 2049);
    // Groups that are added up round by round, and groups that are done after one.
    check::<f32>(400_001, 3000);
    check::<f64>(300_000, 9000);
    check::<f64>(300_000, 40_000);
}

/// Items of one channel, in rounds: weights of few bins are sorted in quarters.
#[test]
fn weights_of_many_items_are_added_up_in_their_order() {
    let mut random = Random::new(11);
    let len = 600_003;
    let items: Vec<u32> = (0..len).map(|_| (random.next() >> 33) as u32).collect();
    let weights = sample::<f64>(len, 5);
    for bins in [1, 2, 10, 63, 64, 1000, 5000, 70_000] {
        let items: Vec<u32> = items.iter().map(|item| item % (bins + bins / 8)).collect();
        let mut of_bins = vec![Vec::new(); bins as usize];
        for (&item, &weight) in items.iter().zip(&weights) {
            if item < bins {
                of_bins[item as usize].push(weight);
            }
        }
        let expected = of_bins.iter().map(|of| reduce::<f64, Add>(of).unwrap());
        let expected: Vec<f64> = expected.collect();
        let sums =
            histogram_weighted(&items, &weights, &Bins::values(bins as usize).unwrap()).unwrap();
        assert_same(&sums, &expected, &format!("{bins} bins"));
    }
}

#[test]
fn there_are_as_many_weights_as_items() {
    let fault = histogram_weighted(&[1_u32, 2], &[1.0_f32], &Bins::values(3).unwrap());
    assert!(matches!(
        fault,
        Err(Error::Zip {
            first: 2,
            second: 1
        })
    ));
}
