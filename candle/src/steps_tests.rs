//! What runs on a GPU in several steps: its steps are run on the host, and their kernels compiled
//! by NVRTC.

use crate::dtype::Stored;
use crate::functions::{
    at_most, bound_of, careful_mean, chosen_variance, coordinate, flat, mean_of_segment, narrowed,
    next, one_if, quotient, rounded, row_of_packed, row_of_place, widened,
};
use crate::lacking::{plus_i16, plus_i32, strided_place, wide_i16, wide_i32};
use crate::sample::{Draw, Sampling};
use crate::steps::{Host, Steps};
use candle_core::Result;
use std::sync::Once;
use warpfold::codegen::kernels::{
    AxisLanes, AxisPolicy, Collect, SegmentedPolicy, SegmentedReduce, SegmentedScan,
};
use warpfold::codegen::{Engine, Kernel, source};
use warpfold::cuda::nvrtc::{self, Target};
use warpfold::ops::{Add, Min};
use warpfold::source::{self, Form, Slice, Source, flags};
use warpfold::statistics::{
    Estimate, First, Merge, Moments, Place, QuickMerge, QuickMoments, greatest, greatest_packed,
    measured, quickly_measured,
};
use warpfold::{
    Axis, Candidate, Element, Indices, Monoid, Rows, Sortable, arg_max_axis, bytemuck, collect,
    gather, index, map, map_with, moments, reduce_axis, zip, zip3,
};

/// Compiles a text, if NVRTC is there. `WARPFOLD_REQUIRE=nvrtc` makes an error of it if not.
fn compile(name: &str, text: warpfold::Result<String>) {
    static SKIPPED: Once = Once::new();
    let text = text.unwrap_or_else(|error| panic!("{name}: {error}"));
    match nvrtc::version() {
        Ok(_) => {
            let target = Target::for_capability(90).expect("NVRTC knows it");
            nvrtc::compile(&text, name, target).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        Err(error) => {
            let required = std::env::var("WARPFOLD_REQUIRE").unwrap_or_default();
            assert!(!required.split(',').any(|what| what == "nvrtc"), "{error}");
            SKIPPED.call_once(|| println!("skipped: {error}"));
        }
    }
}

fn compile_kernel(name: &str, kernel: Kernel) {
    compile(name, kernel.source());
}

fn compile_collect<F: Form<Item: Element>>() {
    let policy = Collect::<F>::rows_policy(90);
    compile("collect", source::<Collect<F>>(Engine::Rows(policy)));
}

/// The host, which also compiles what a GPU would run.
struct Compiled(Host);

impl Steps for Compiled {
    type Place = source::Host;
    type Array<T: Stored> = Vec<T>;

    fn fault(&self, cause: impl std::fmt::Display) -> candle_core::Error {
        self.0.fault(cause)
    }

    fn read<T: Stored>(
        array: &Vec<T>,
    ) -> impl Source<source::Host, Item = T, Form = Slice<T>> + Copy {
        &array[..]
    }

    fn collect<T: Stored, S: Source<Item = T>>(&self, source: S) -> Result<Vec<T>> {
        compile_collect::<S::Form>();
        self.0.collect(source)
    }

    fn prefixes<T: Stored, Op: Monoid<T>, S: Source<Item = T>>(
        &self,
        source: S,
        axis: Axis,
    ) -> Result<Vec<T>> {
        let policy = SegmentedPolicy::of::<T>();
        let kernel = SegmentedScan::<T, Op, S::Form, Rows>::kernel(policy, false);
        compile_kernel("scan", kernel);
        self.0.prefixes::<T, Op, S>(source, axis)
    }

    fn fold<T: Stored, Op: Monoid<T>, S: Source<Item = T>>(
        &self,
        source: S,
        axis: Axis,
    ) -> Result<Vec<T>> {
        compile_folds::<T, Op, S::Form>();
        self.0.fold::<T, Op, S>(source, axis)
    }

    fn greatest<T, S>(
        &self,
        source: S,
        rows: (usize, usize),
        k: usize,
    ) -> Result<(Vec<T>, Vec<u64>)>
    where
        T: Stored + Sortable + Candidate<Key = T>,
        S: Source<Item = T, Form = Slice<T>>,
    {
        self.0.greatest(source, rows, k)
    }
}

/// Compiles the folds along axes of a source.
fn compile_folds<T: Element, Op: Monoid<T>, F: Form<Item = T>>() {
    compile_kernel(
        "lanes",
        AxisLanes::<T, Op, F>::kernel(AxisPolicy::of::<T>()),
    );
    let rows = SegmentedReduce::<T, Op, F, Rows>::kernel(SegmentedPolicy::of::<T>());
    compile_kernel("rows", rows);
}

/// The items of a source, whose kernel is compiled.
fn items<T: Element, S: Source<Item = T>>(source: S) -> Vec<T> {
    compile_collect::<S::Form>();
    collect(source).unwrap()
}

#[test]
fn every_step_of_sampling_compiles() -> Result<()> {
    let logits: Vec<f32> = (0..60).map(|at| (at * 37 % 60) as f32 / 10.0).collect();
    let ways = [
        Sampling::greedy(),
        Sampling::new().min_p(0.1),
        Sampling::new().top_k(5).top_p(0.8),
    ];
    for sampling in ways {
        let draw = Draw {
            sampling,
            seed: 5,
            rows: 3,
            len: 20,
        };
        let steps = Compiled(Host { name: "sample" });
        let tokens = crate::draw::draw(&steps, &logits[..], &draw)?;
        assert_eq!(tokens, crate::draw::draw(&steps.0, &logits[..], &draw)?);
        assert!(tokens.iter().all(|&token| token < 20), "{tokens:?}");
    }
    Ok(())
}

/// Lanes of equal numbers, of large ones that differ little, of none that are finite.
fn lanes() -> (Vec<f64>, Axis) {
    let lane = |of: &dyn Fn(usize) -> f64| (0..9).map(of).collect::<Vec<f64>>();
    let lanes = [
        lane(&|at| at as f64),
        lane(&|_| 0.1),
        lane(&|at| 1e15 + at as f64),
        lane(&|at| if at == 4 { f64::NAN } else { 1.0 }),
        lane(&|at| if at == 4 { f64::INFINITY } else { 1.0 }),
        lane(&|at| f64::MAX / (1 + at % 2) as f64),
        lane(&|at| 1e-300 * at as f64),
    ];
    (lanes.concat(), Axis::new(lanes.len(), 9, 1).unwrap())
}

#[test]
fn variances_and_means_are_chosen_as_on_the_host() {
    let (x, axis) = lanes();
    let quick = quickly_measured::<f64, _>(&x[..]);
    compile_folds::<QuickMoments, QuickMerge, warpfold::statistics::QuicklyMeasured<f64>>();
    let quick = reduce_axis::<QuickMoments, QuickMerge>(quick, axis).unwrap();
    compile_folds::<Moments, Merge, warpfold::statistics::Measured<f64>>();
    let careful = reduce_axis::<Moments, Merge>(measured::<f64, _>(&x[..]), axis).unwrap();
    let quick = bytemuck::cast_slice::<QuickMoments, [f64; 3]>(&quick);
    let careful = bytemuck::cast_slice::<Moments, [f64; 6]>(&careful);
    let means = items(map::<careful_mean, _>(careful));
    for estimate in [Estimate::Sample, Estimate::Population] {
        let divisor = if estimate == Estimate::Sample {
            8.0
        } else {
            9.0
        };
        let both = zip(quick, careful);
        let variances = items(map_with::<chosen_variance, _, _>(both, divisor));
        for (lane, x) in x.chunks(9).enumerate() {
            let of_lane = moments(x).unwrap();
            let expected = [of_lane.variance(estimate), of_lane.mean()];
            for (got, expected) in [variances[lane], means[lane]].iter().zip(expected) {
                let same = got.to_bits() == expected.to_bits();
                assert!(
                    same || got.is_nan() && expected.is_nan(),
                    "lane {lane}: {got}, {expected}"
                );
            }
        }
    }
    assert_eq!(items(map_with::<quotient, _, _>(&[3.0], 4.0)), [0.75]);
    assert_eq!(items(map::<rounded, _>(&[1.0 / 3.0])), [1.0_f32 / 3.0]);
}

#[test]
fn places_along_an_axis_are_found_from_those_in_memory() {
    let x: Vec<f32> = (0..60).map(|at| (at * 37 % 11) as f32).collect();
    // Three outer places of twenty numbers, of which a lane has four, five apart.
    let axis = Axis::new(3, 4, 5).unwrap();
    let packed = greatest_packed::<f32, _>(&x[..], x.len()).expect("short");
    let packed = reduce_axis::<u64, Min>(packed, axis).unwrap();
    let places = items(map_with::<row_of_packed, _, _>(&packed[..], [20_u64, 5]));
    let expected = arg_max_axis(&x[..], axis).unwrap();
    assert!(
        places
            .iter()
            .map(|&place| u64::from(place))
            .eq(expected.iter().copied())
    );
    let found = reduce_axis::<Place, First>(greatest::<f32, _>(&x[..], x.len()), axis).unwrap();
    let found = bytemuck::cast_slice::<Place, [u64; 2]>(&found);
    assert_eq!(
        items(map_with::<row_of_place, _, _>(found, [20_u64, 5])),
        places
    );
}

#[test]
fn indices_lead_where_they_say() {
    // Along a dimension of 4 with 3 inner numbers: two outer places, two indices each.
    let indices = [0_u64, 3, 1, 2, 2, 4, 1, 1, u64::MAX, 0, 3, 0];
    let places = items(map_with::<flat, _, _>(
        zip(index(12), &indices[..]),
        [4_u64, 6, 3],
    ));
    for (at, (&index, place)) in indices.iter().zip(places).enumerate() {
        let expected = match index < 4 {
            true => (at as u64 / 6 * 4 + index) * 3 + at as u64 % 3,
            false => u64::MAX,
        };
        assert_eq!(place, expected, "index {at}");
    }
    assert_eq!(
        items(map_with::<coordinate, _, _>(&[23_u64, 7], [6_u64, 4])),
        [3, 1]
    );
    assert_eq!(items(map::<narrowed, _>(&[7_u64])), [7_u32]);
    assert_eq!(items(map::<widened, _>(&[7_u32])), [7_u64]);
    assert_eq!(items(map::<next, _>(index(2))), [1, 2]);
    let ones = map::<one_if, _>(flags::<u8, _>(&[0_u8, 9, 1][..]));
    compile_folds::<
        u64,
        Add,
        warpfold::source::Map<one_if, warpfold::source::Map<source::NonZero<u8>, Slice<u8>>>,
    >();
    assert_eq!(items(ones), [0, 1, 1]);
}

#[test]
fn means_are_divided_by_the_rows_of_their_segments() {
    // Two columns; segments of two rows, of none, of one, and of what lies behind the last row.
    let (offsets, rows) = ([0_u64, 2, 2, 3, 9], 3_u64);
    let sums = [2.0, 4.0, 0.0, 0.0, 5.0, 7.0, 1.0, 1.0];
    let bound = |next: u64| {
        let numbers = map_with::<bound_of, _, _>(index(sums.len()), [2, next]);
        map_with::<at_most, _, _>(gather(&offsets[..], Indices::unchecked(numbers)), rows)
    };
    let means = items(map::<mean_of_segment, _>(zip3(
        &sums[..],
        bound(0),
        bound(1),
    )));
    assert_eq!([&means[..2], &means[4..6]].concat(), [1.0, 2.0, 5.0, 7.0]);
    assert!(means[2].is_nan() && means[3].is_nan());
    assert_eq!(means[6], f64::INFINITY);
}

#[test]
fn integers_that_candle_has_no_kernels_for_are_read_where_they_lie() {
    // A matrix of two rows of three, five apart, transposed.
    let mut layout = [1_u64; 16];
    layout[..4].copy_from_slice(&[2, 5, 3, 1]);
    let places = map_with::<strided_place, _, _>(index(6), layout);
    assert_eq!(items(places), [0, 5, 1, 6, 2, 7]);
    let x: Vec<i16> = (0..8).collect();
    let copied = items(gather(&x[..], Indices::unchecked(places)));
    assert_eq!(copied, [0, 5, 1, 6, 2, 7]);
    assert_eq!(items(map::<wide_i16, _>(&[-3_i16])), [-3_i64]);
    assert_eq!(
        items(map::<wide_i32, _>(&[i32::MIN])),
        [i64::from(i32::MIN)]
    );
    let most = zip(&[i16::MAX], &[1_i16]);
    assert_eq!(items(map::<plus_i16, _>(most)), [i16::MIN]);
    let least = zip(&[i32::MIN], &[-1_i32]);
    assert_eq!(items(map::<plus_i32, _>(least)), [i32::MAX]);
}
