//! Segments that overlap, leave gaps and lie in any order have the bits of their slices alone.

use crate::support::data::{Random, assert_same, sample};
#[cfg(feature = "cuda")]
use crate::support::gpu;
use crate::support::operators::Bracketing;
use crate::support::oracle;
use warpfold::ops::Add;
use warpfold::statistics::Origin;
use warpfold::{
    Device, Error, Ranges, arg_max, function, map, segmented_arg_max, segmented_reduce,
    segmented_reduce_from,
};

/// Begins and ends: none, one, and many of any lengths among so many items.
fn all_ranges(items: usize) -> Vec<(Vec<u64>, Vec<u64>)> {
    let mut random = Random::new(5);
    let mut any = |count: usize, most: u64| -> (Vec<u64>, Vec<u64>) {
        let pair = |_| {
            let begin = random.next() % (items as u64 + 1);
            let end = begin + random.next() % most;
            (begin, end.min(items as u64))
        };
        (0..count).map(pair).unzip()
    };
    let n = items as u64;
    vec![
        (vec![], vec![]),
        (vec![0], vec![n]),
        (vec![n], vec![n]),
        (vec![0, 0, 0], vec![n, n, n]),
        (vec![5, 1, 3], vec![9, 1, 8]),
        any(700, 40),
        any(60, 3000),
        any(9, n + 1),
    ]
}

fn check(device: Option<&Device>) {
    let items = 20_000;
    let (x, y) = (sample::<f32>(items, 1), sample::<u64>(items, 2));
    for (number, (begins, ends)) in all_ranges(items).iter().enumerate() {
        let what = format!("ranges {number}");
        let slices: Vec<_> = begins
            .iter()
            .zip(ends)
            .map(|(&b, &e)| b as usize..e as usize)
            .collect();
        let sums: Vec<_> = slices
            .iter()
            .map(|slice| oracle::reduce::<f32, Add>(&x[slice.clone()], None))
            .collect();
        let brackets: Vec<_> = slices
            .iter()
            .map(|slice| oracle::reduce::<u64, Bracketing>(&y[slice.clone()], Some(7)))
            .collect();
        let (got, got_brackets) = match device {
            None => {
                let ranges = Ranges::new(begins, ends).unwrap();
                let offsets = ranges.offsets().unwrap();
                let of_x = ranges.items(&x).unwrap();
                let of_y = ranges.items(&y).unwrap();
                (
                    segmented_reduce::<f32, Add>(of_x, offsets).unwrap(),
                    segmented_reduce_from::<u64, Bracketing>(7, of_y, offsets).unwrap(),
                )
            }
            Some(device) => {
                let short = |all: &[u64]| all.iter().map(|&at| at as u32).collect::<Vec<_>>();
                let begins = device.upload(&short(begins)).unwrap();
                let ends = device.upload(&short(ends)).unwrap();
                let ranges = device.ranges(&begins, &ends).unwrap();
                let offsets = ranges.offsets().unwrap();
                let (x, y) = (device.upload(&x).unwrap(), device.upload(&y).unwrap());
                let of_x = ranges.items(&x).unwrap();
                let of_y = ranges.items(&y).unwrap();
                let sums = device.segmented_reduce::<f32, Add>(of_x, offsets).unwrap();
                let brackets = device
                    .segmented_reduce_from::<u64, Bracketing>(7, of_y, offsets)
                    .unwrap();
                (sums.to_vec().unwrap(), brackets.to_vec().unwrap())
            }
        };
        assert_same(&got, &sums, &what);
        assert_same(&got_brackets, &brackets, &what);
    }
}

#[test]
fn ranges_are_folded_as_their_slices_are() {
    check(None);
    check(Some(&Device::cpu()));
}

#[cfg(feature = "cuda")]
#[test]
fn ranges_on_the_gpu_are_folded_as_their_slices_are() {
    let Some(device) = gpu(0) else { return };
    check(Some(&device));
}

#[function]
fn negated(x: f32) -> f32 {
    -x
}

/// What takes a source and segments takes ranges, over any source.
#[test]
fn statistics_of_ranges_and_mapped_items() {
    let x = sample::<f32>(500, 3);
    let (begins, ends) = ([400_u32, 10, 30], [500_u32, 60, 30]);
    let ranges = Ranges::new(&begins, &ends).unwrap();
    let items = ranges.items(map::<negated, _>(&x)).unwrap();
    let got = segmented_arg_max(items, ranges.offsets().unwrap(), Origin::Segment).unwrap();
    let least = |from: usize, to: usize| {
        let slice: Vec<_> = x[from..to].iter().map(|x| -x).collect();
        arg_max(&slice).unwrap()
    };
    assert_eq!(got, [least(400, 500), least(10, 60), None]);
}

#[track_caller]
fn assert_refused<T>(result: Result<T, Error>, parts: &[&str]) {
    let message = result.err().expect("it is refused").to_string();
    for part in parts {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn wrong_ranges_are_refused_with_their_place() {
    let device = Device::cpu();
    let (begins, ends) = ([0_u32, 7, 9], [3_u32, 5, 9]);
    let parts = [
        "`begins` pass",
        "begins[1] is 7, greater than ends[1], which is 5",
    ];
    assert_refused(Ranges::new(&begins, &ends), &parts);
    let (b, e) = (
        device.upload(&begins).unwrap(),
        device.upload(&ends).unwrap(),
    );
    assert_refused(device.ranges(&b, &e), &parts);
    let parts = ["3 items is zipped with one of 2"];
    assert_refused(Ranges::new(&begins, &ends[..2]), &parts);
    let parts = [
        "`ends` pass the end",
        "the greatest is 9, but there are 8 items",
    ];
    let ranges = Ranges::new(&[1_u64, 0], &[9_u64, 2]).unwrap();
    assert_refused(ranges.items(&[1_u8; 8]), &parts);
    let (b, e) = (
        device.upload(&[1_u64, 0]).unwrap(),
        device.upload(&[9_u64, 2]).unwrap(),
    );
    let ranges = device.ranges(&b, &e).unwrap();
    let x = device.upload(&[1_u8; 8]).unwrap();
    assert_refused(ranges.items(&x), &parts);
}
