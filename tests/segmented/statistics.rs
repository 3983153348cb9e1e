//! Statistics of segments are those of each slice alone.

use super::cases::{Case, cases, long_cases};
use crate::support::data::sample;
#[cfg(feature = "cuda")]
use crate::support::gpu;
use warpfold::statistics::{Estimate, Moments, Number, Origin};
use warpfold::{
    Device, Offsets, Rows, arg_max, arg_min, mean, min_max, moments, segmented_arg_max,
    segmented_arg_min, segmented_mean, segmented_min_max, segmented_moments, segmented_variance,
    variance,
};

/// The bits of moments, of which those of NaN are free.
fn told(moments: &Moments) -> [u64; 4] {
    let told = [
        moments.count() as f64,
        moments.sum(),
        moments.mean(),
        moments.variance(Estimate::Sample),
    ];
    told.map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() })
}

/// All statistics, by functions of host data or by a device's.
fn check<T: Number + std::fmt::Debug>(case: &Case, x: &[T], device: Option<&Device>) {
    let name = case.name;
    let slices: Vec<_> = case.segments().map(|segment| &x[segment]).collect();
    let starts = case.offsets.iter().map(|&start| start as usize);
    let least: Vec<_> = slices
        .iter()
        .map(|&slice| arg_min(slice).unwrap())
        .collect();
    let greatest: Vec<_> = slices
        .iter()
        .map(|&slice| arg_max(slice).unwrap())
        .collect();
    let of_whole: Vec<_> = greatest
        .iter()
        .zip(starts)
        .map(|(&at, start)| at.map(|at| at + start))
        .collect();
    let ranges: Vec<_> = slices
        .iter()
        .map(|&slice| min_max(slice).unwrap())
        .collect();
    let expected: Vec<_> = slices
        .iter()
        .map(|&slice| told(&moments(slice).unwrap()))
        .collect();
    let offsets = Offsets::new(&case.offsets).unwrap();
    let (got_least, got_greatest, got_of_whole, got_ranges, got) = match device {
        None => (
            segmented_arg_min(x, offsets, Origin::Segment).unwrap(),
            segmented_arg_max(x, offsets, Origin::Segment).unwrap(),
            segmented_arg_max(x, offsets, Origin::Input).unwrap(),
            segmented_min_max(x, offsets).unwrap(),
            segmented_moments(x, offsets).unwrap(),
        ),
        Some(device) => {
            let x = device.upload(x).unwrap();
            let offsets = device.upload(&case.offsets).unwrap();
            let offsets = device.offsets(&offsets).unwrap();
            let positions = |all: warpfold::Result<warpfold::Buffer<u64>>| {
                let all = all.unwrap().to_vec().unwrap();
                let position = |&at: &u64| (at != u64::MAX).then_some(at as usize);
                all.iter().map(position).collect::<Vec<_>>()
            };
            (
                positions(device.segmented_arg_min(&x, offsets, Origin::Segment)),
                positions(device.segmented_arg_max(&x, offsets, Origin::Segment)),
                positions(device.segmented_arg_max(&x, offsets, Origin::Input)),
                device.segmented_min_max(&x, offsets).unwrap(),
                device.segmented_moments(&x, offsets).unwrap(),
            )
        }
    };
    assert_eq!(got_least, least, "{name}");
    assert_eq!(got_greatest, greatest, "{name}");
    assert_eq!(got_of_whole, of_whole, "{name}");
    assert_eq!(format!("{got_ranges:?}"), format!("{ranges:?}"), "{name}");
    let got: Vec<_> = got.iter().map(told).collect();
    assert_eq!(got, expected, "{name}");
}

fn check_all(device: Option<&Device>, cases: &[Case]) {
    for case in cases {
        let mut x = sample::<f32>(case.items, 1);
        check(case, &x, device);
        // Numbers that are far from zero and differ little, and some that are no numbers.
        for x in &mut x {
            *x = 1e6 + (*x).clamp(-9.0, 9.0) / 4.0;
        }
        check(case, &x, device);
        for i in (0..x.len()).step_by(97) {
            x[i] = [f32::NAN, f32::INFINITY, 0.0, -0.0][i % 4];
        }
        check(case, &x, device);
        check(case, &sample::<u8>(case.items, 2), device);
        check(case, &sample::<i64>(case.items, 3), device);
    }
}

#[test]
fn each_segment_has_the_statistics_of_its_slice() {
    check_all(None, &cases(512));
    check_all(Some(&Device::cpu()), &cases(256));
    check_all(None, &long_cases()[..1]);
}

#[cfg(feature = "cuda")]
#[test]
fn statistics_of_segments_on_the_gpu() {
    let Some(device) = gpu(0) else { return };
    check_all(Some(&device), &cases(1024));
    check_all(Some(&device), &long_cases()[..1]);
}

/// Numbers as great as their type has them are no sign of an empty segment.
#[test]
fn extreme_numbers_are_found() {
    let (x, offsets) = ([u32::MAX, u32::MAX, 0], [0_u32, 2, 2, 3]);
    let offsets = Offsets::new(&offsets).unwrap();
    let least = segmented_arg_min(&x, offsets, Origin::Segment).unwrap();
    assert_eq!(least, [Some(0), None, Some(0)]);
    let ranges = segmented_min_max(&x, offsets).unwrap();
    assert_eq!(ranges, [Some((u32::MAX, u32::MAX)), None, Some((0, 0))]);
    let x = [f64::INFINITY, f64::NEG_INFINITY];
    let rows = Rows::new(2, 1);
    let ranges = segmented_min_max(&x, rows).unwrap();
    assert_eq!(ranges, [Some((x[0], x[0])), Some((x[1], x[1]))]);
}

#[test]
fn means_and_variances_of_segments_are_those_of_the_slices() {
    let x = sample::<f32>(1000, 4);
    let rows = Rows::new(10, 100);
    let means = segmented_mean(&x, rows).unwrap();
    let variances = segmented_variance(&x, rows, Estimate::Population).unwrap();
    for (row, slice) in x.chunks(100).enumerate() {
        assert_eq!(means[row].to_bits(), mean(slice).unwrap().to_bits());
        let alone = variance(slice, Estimate::Population).unwrap();
        assert_eq!(variances[row].to_bits(), alone.to_bits());
    }
}
