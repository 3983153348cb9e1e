//! The moments of each lane.

use crate::support::devices;
use warpfold::statistics::{Estimate, Moments, Number};
use warpfold::{
    Axis, Buffer, Device, Element, mean, mean_axis, moments, moments_axis, std_dev, variance,
    variance_axis,
};

fn bits(moments: &Moments) -> [u64; 4] {
    let floats = [
        moments.sum(),
        moments.mean(),
        moments.std_dev(Estimate::Sample),
    ];
    let [a, b, c] = floats.map(|x| if x.is_nan() { 1 } else { x.to_bits() });
    [moments.count(), a, b, c]
}

fn check<T: Element + Number>(of: impl Fn(usize) -> T, [outer, len, inner]: [usize; 3]) {
    let axis = Axis::new(outer, len, inner).unwrap();
    let data: Vec<T> = (0..outer * len * inner).map(of).collect();
    let (mut expected, mut means, mut variances) = (Vec::new(), Vec::new(), Vec::new());
    for lane in 0..outer * inner {
        let start = lane / inner * len * inner + lane % inner;
        let lane: Vec<T> = (0..len).map(|row| data[start + row * inner]).collect();
        expected.push(bits(&moments(&lane).unwrap()));
        means.push(mean(&lane).unwrap().to_bits());
        variances.push(variance(&lane, Estimate::Sample).unwrap().to_bits());
    }
    let what = format!("{outer} x {len} x {inner}");
    let given: Vec<_> = moments_axis(&data, axis)
        .unwrap()
        .iter()
        .map(bits)
        .collect();
    assert_eq!(given, expected, "{what}");
    for device in devices() {
        let buffer = device.upload(&data).unwrap();
        let given = device.moments_axis(&buffer, axis).unwrap();
        let given: Vec<_> = given.iter().map(bits).collect();
        assert_eq!(given, expected, "{what} on {device}");
        check_buffers(&device, &buffer, axis, &data);
    }
    if expected.iter().all(|lane| !lane.contains(&1)) {
        let given = mean_axis(&data, axis).unwrap();
        assert_eq!(
            given.into_iter().map(f64::to_bits).collect::<Vec<_>>(),
            means
        );
        let given = variance_axis(&data, axis, Estimate::Sample).unwrap();
        assert_eq!(
            given.into_iter().map(f64::to_bits).collect::<Vec<_>>(),
            variances
        );
    }
}

/// What does not wait for its results gives those of each lane alone, too.
fn check_buffers<T: Element + Number>(device: &Device, x: &Buffer<T>, axis: Axis, data: &[T]) {
    let estimate = Estimate::Sample;
    let given = [
        device.mean_axis(x, axis),
        device.variance_axis(x, axis, estimate),
        device.std_dev_axis(x, axis, estimate),
    ];
    let given = given.map(|buffer| buffer.unwrap().to_vec().unwrap());
    let (len, inner) = (axis.lane_len(), axis.inner_len());
    for lane in 0..axis.lanes() {
        let start = lane / inner * len * inner + lane % inner;
        let lane_: Vec<T> = (0..len).map(|row| data[start + row * inner]).collect();
        let expected = [
            mean(&lane_).unwrap(),
            variance(&lane_, estimate).unwrap(),
            std_dev(&lane_, estimate).unwrap(),
        ];
        let told = |x: f64| if x.is_nan() { 1 } else { x.to_bits() };
        let given = [given[0][lane], given[1][lane], given[2][lane]].map(told);
        assert_eq!(given, expected.map(told), "lane {lane} on {device}");
    }
}

#[test]
fn moments_along_an_axis_are_those_of_each_lane_alone() {
    let number = |i: usize| (i * 7919 % 251) as f32;
    for shape in [
        [1, 2, 1],
        [3, 50, 7],
        [40, 9, 1],
        [1, 3000, 2],
        [2, 5000, 1],
    ] {
        check::<f32>(|i| number(i) - 100.0, shape);
        check::<u8>(|i| number(i) as u8, shape);
        // Far from zero, so that the quick way loses digits.
        check::<i64>(|i| (1 << 53) + number(i) as i64, shape);
        check::<f64>(|i| 1e9 + f64::from(number(i)) / 7.0, shape);
        // The sum overflows, and of the squares most.
        check::<f64>(|i| 1e307 * f64::from(number(i)), shape);
        // One lane has a number that is none.
        check::<f32>(|i| if i == 1 { f32::NAN } else { number(i) }, shape);
    }
}

#[test]
fn lanes_without_items_have_no_mean() {
    let axis = Axis::of(&[2, 0], 1).unwrap();
    let given = moments_axis::<f32>(&[], axis).unwrap();
    assert_eq!(given, [Moments::EMPTY; 2]);
    assert!(mean_axis::<f32>(&[], axis).unwrap()[0].is_nan());
    for device in devices() {
        check_buffers::<f32>(&device, &device.allocate(0).unwrap(), axis, &[]);
    }
}
