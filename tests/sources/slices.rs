//! The forms of level 1 that write to slices give what those give that return vectors.

use crate::support::data::{Sample, assert_same, sample};
use crate::support::matrix::in_turn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use warpfold::source::Comparable;
use warpfold::{
    Error, bools, collect, collect_into, flagged, function, heads, map, map_in_place, partition,
    partition_flagged_into, partition_into, positions, positions_into, select, select_flagged_into,
    select_in_place, select_into, unique, unique_by, unique_by_in_place, unique_by_into,
    unique_in_place, unique_into, zip,
};

#[function]
fn even(x: u32) -> bool {
    x & 1 == 0
}

#[function]
fn same_quarter(before: u32, x: u32) -> bool {
    before / 4 == x / 4
}

/// Around a block, a thread's chunk, and several of these.
const LENGTHS: &[usize] = &[
    0, 1, 2, 255, 256, 257, 65_535, 65_536, 65_537, 131_072, 400_003,
];

/// Writes into rooms of every size that matters. `write` gives what a call returns.
fn check_rooms<T: Sample>(
    expected: &[T],
    what: &str,
    write: impl Fn(&mut [T]) -> Result<usize, Error>,
) {
    let count = expected.len();
    let old = sample::<T>(count + 3, 99);
    for room in [0, count / 2, count.saturating_sub(1), count, count + 3] {
        let what = format!("into {room}, {what}");
        let mut output = old[..room].to_vec();
        let result = write(&mut output);
        let written = count.min(room);
        assert_same(&output[..written], &expected[..written], &what);
        assert_same(&output[written..], &old[written..room], &what);
        match room < count {
            true => {
                let needed = Error::Length {
                    input: count,
                    output: room,
                };
                assert_eq!(result, Err(needed), "{what}");
            }
            false => assert_eq!(result, Ok(count), "{what}"),
        }
    }
}

/// What is kept goes to the front, and what comes after it stays.
fn check_in_place<T: Sample>(
    data: &[T],
    expected: &[T],
    what: &str,
    keep: impl Fn(&mut [T]) -> Result<usize, Error>,
) {
    let mut kept = data.to_vec();
    assert_eq!(keep(&mut kept), Ok(expected.len()), "{what}");
    assert_same(&kept[..expected.len()], expected, what);
    assert_same(&kept[expected.len()..], &data[expected.len()..], what);
}

#[test]
fn selects_and_partitions() {
    for &length in LENGTHS {
        let mixed = sample::<u32>(length, 3);
        let all: Vec<u32> = mixed.iter().map(|x| x & !1).collect();
        // Chunks of which all is kept stand among others.
        let late: Vec<u32> = (0..length as u32)
            .map(|i| 2 * i + u32::from(i == 70_000))
            .collect();
        for x in [mixed, all, late] {
            let what = format!("{length}");
            let expected = select::<u32, even>(&x).unwrap();
            check_rooms(&expected, &what, |to| select_into::<u32, even>(&x, to));
            let pairs = || flagged::<even, _>(&x);
            check_rooms(&expected, &what, |to| select_flagged_into(pairs(), to));
            check_in_place(&x, &expected, &what, select_in_place::<u32, even>);

            let (kept, others) = partition::<u32, even>(&x).unwrap();
            let room = || vec![0; length];
            check_rooms(&kept, &what, |to| {
                partition_into::<u32, even>(&x, to, &mut room())
            });
            check_rooms(&kept, &what, |to| {
                partition_flagged_into(pairs(), to, &mut room())
            });
            let count = kept.len();
            check_rooms(&others, &what, |to| {
                let kept = partition_into::<u32, even>(&x, &mut room(), to)?;
                assert_eq!(kept, count);
                Ok(length - kept)
            });
            check_rooms(&others, &what, |to| {
                partition_flagged_into(pairs(), &mut room(), to).map(|kept| length - kept)
            });
            let flags: Vec<bool> = x.iter().map(|&x| even(x)).collect();
            let expected = positions(bools(&flags)).unwrap();
            check_rooms(&expected, &what, |to| positions_into(bools(&flags), to));
        }
    }
}

fn check_unique<T: Sample + Comparable>(x: &[T]) {
    let what = format!("{} × {}", x.len(), std::any::type_name::<T>());
    let expected = unique::<T>(x).unwrap();
    check_rooms(&expected, &what, |to| unique_into::<T>(x, to));
    check_rooms(&expected, &what, |to| {
        select_flagged_into(heads::<T, _>(x), to)
    });
    check_in_place(x, &expected, &what, unique_in_place::<T>);
}

#[test]
fn uniques() {
    for &length in LENGTHS {
        for &run in in_turn(&format!("uniques {length}"), &[1, 3, 300, 200_000]) {
            let numbers: Vec<u32> = (0..length as u32).map(|i| i / run).collect();
            check_unique(&numbers);
            check_unique(&numbers.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
            // All is kept of the first chunks, and few of the next.
            let later: Vec<u32> = (0..length as u32)
                .map(|i| i.min(131_072 + i / run))
                .collect();
            check_unique(&later);
            let what = format!("by, {length}");
            let expected = unique_by::<u32, same_quarter>(&later).unwrap();
            check_rooms(&expected, &what, |to| {
                unique_by_into::<u32, same_quarter>(&later, to)
            });
            let in_place = unique_by_in_place::<u32, same_quarter>;
            check_in_place(&later, &expected, &what, in_place);
        }
    }
    check_unique(&[f32::NAN, f32::NAN, 0.0, -0.0]);
}

#[test]
fn the_number_of_threads_does_not_show_in_place() {
    let x: Vec<u32> = sample::<u32>(1_000_003, 5)
        .iter()
        .map(|x| x >> 31)
        .collect();
    let expected = unique::<u32>(&x).unwrap();
    for threads in 1..9 {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| check_in_place(&x, &expected, "threads", unique_in_place::<u32>));
    }
}

#[function]
fn tripled(x: u32) -> u32 {
    x.wrapping_mul(3)
}

#[function]
fn sum(x: u32, y: u32) -> u32 {
    x.wrapping_add(y)
}

#[test]
fn collects() {
    for &length in LENGTHS {
        let (a, b) = (sample::<u32>(length, 6), sample::<u32>(length, 7));
        let sums = || map::<sum, _>(zip(&a, &b));
        let expected = collect(sums()).unwrap();
        let mut output = vec![9; length];
        collect_into(sums(), &mut output).unwrap();
        assert_eq!(output, expected);
        let mut long = vec![9; length + 1];
        let wrong = Error::Length {
            input: length,
            output: length + 1,
        };
        assert_eq!(collect_into(sums(), &mut long), Err(wrong));
        assert_eq!(long, vec![9; length + 1]);
        map_in_place::<u32, tripled>(&mut output).unwrap();
        assert!(output.iter().zip(&expected).all(|(x, y)| *x == tripled(*y)));
    }
}

#[test]
fn errors_say_what_to_do() {
    let error = select_into::<u32, even>(&[2, 4, 5], &mut [0; 1]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the output holds 1 elements, but 2 are written to it\n  remedy: give an output of 2 \
         elements"
    );
    let uneven = || zip(&[1_u32, 2], bools(&[true]));
    let zipped = Err(Error::Zip {
        first: 2,
        second: 1,
    });
    let mut output = [7_u32; 2];
    assert_eq!(select_flagged_into(uneven(), &mut output), zipped);
    assert_eq!(
        partition_flagged_into(uneven(), &mut output, &mut [0; 2]),
        zipped
    );
    assert_eq!(output, [7; 2], "nothing was written");
}

#[function]
fn divides(x: u32) -> bool {
    100 / x > 3
}

#[test]
fn a_predicate_that_panics_stops_the_call() {
    let mut x = vec![1_u32; 300_000];
    x[222_222] = 0;
    let mut output = x.clone();
    let into = || select_into::<u32, divides>(&x, &mut output);
    assert!(catch_unwind(AssertUnwindSafe(into)).is_err());
    let in_place = || select_in_place::<u32, divides>(&mut x);
    assert!(catch_unwind(AssertUnwindSafe(in_place)).is_err());
}
