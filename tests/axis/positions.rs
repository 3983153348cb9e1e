//! Where the least and the greatest number of each lane stand.

use crate::support::devices;
use warpfold::statistics::Number;
use warpfold::{Axis, Element, Error, arg_max, arg_max_axis, arg_min, arg_min_axis};

/// Few values, so that there are equals.
fn values(count: usize) -> impl Iterator<Item = u8> {
    (0..count).map(|i| (i * 7919 % 251 % 17) as u8)
}

fn check<T: Element + Number>(
    of: impl Fn(u8) -> T,
    axis: Axis,
    shape: [usize; 3],
    strides: [usize; 2],
) {
    let [outer, len, inner] = shape;
    let count = outer.max(1) * strides[0] + len * strides[1] + inner;
    let extent = match axis.items() {
        0 => 0,
        _ => (outer - 1) * strides[0] + (len - 1) * strides[1] + inner,
    };
    let data: Vec<T> = values(count).map(of).take(extent).collect();
    let (mut least, mut greatest) = (Vec::new(), Vec::new());
    for o in 0..outer {
        for i in 0..inner {
            let lane: Vec<T> = (0..len)
                .map(|a| data[o * strides[0] + a * strides[1] + i])
                .collect();
            least.push(arg_min(&lane).unwrap().unwrap() as u64);
            greatest.push(arg_max(&lane).unwrap().unwrap() as u64);
        }
    }
    assert_eq!(arg_min_axis(&data, axis).unwrap(), least, "{shape:?}");
    assert_eq!(arg_max_axis(&data, axis).unwrap(), greatest, "{shape:?}");
    for device in devices() {
        let data = device.upload(&data).unwrap();
        let got = device.arg_min_axis(&data, axis).unwrap();
        assert_eq!(got.to_vec().unwrap(), least, "{shape:?} on {device}");
        let got = device.arg_max_axis(&data, axis).unwrap();
        assert_eq!(got.to_vec().unwrap(), greatest, "{shape:?} on {device}");
    }
}

#[test]
fn positions_along_an_axis_are_those_of_each_lane_alone() {
    for shape in [[1, 1, 1], [3, 50, 7], [40, 9, 1], [1, 3000, 2], [2, 1, 5]] {
        let [outer, len, inner] = shape;
        let axis = Axis::new(outer, len, inner).unwrap();
        let strides = [len * inner, inner];
        check::<f32>(
            |x| {
                if x == 16 {
                    f32::NAN
                } else {
                    f32::from(x) - 8.0
                }
            },
            axis,
            shape,
            strides,
        );
        check::<f64>(f64::from, axis, shape, strides);
        check::<i64>(|x| i64::from(x) - 9, axis, shape, strides);
        check::<u8>(|x| x, axis, shape, strides);
    }
    let padded = Axis::new(3, 20, 4).unwrap().strides(150, 7).unwrap();
    check::<f32>(f32::from, padded, [3, 20, 4], [150, 7]);
    // With one outer place its stride means nothing.
    let odd = Axis::new(1, 20, 4).unwrap().strides(1, 7).unwrap();
    check::<f64>(f64::from, odd, [1, 20, 4], [1, 7]);
}

#[test]
fn nothing_has_no_greatest() {
    let error = arg_max_axis::<f32>(&[], Axis::of(&[3, 0], 1).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Axis { .. }), "{error}");
    assert!(error.to_string().contains("the 3 lanes have no items"));
    let none: Vec<u64> = arg_max_axis::<f32>(&[], Axis::of(&[3, 0], 0).unwrap()).unwrap();
    assert!(none.is_empty());
}
