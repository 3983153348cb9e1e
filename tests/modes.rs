//! A thread may flush subnormals to zero, as libraries do that GCC linked with `-ffast-math`. That
//! shows in no result.
#![cfg(target_arch = "x86_64")]

use std::arch::asm;
use warpfold::ops::{Add, Max};
use warpfold::{
    Bins, Offsets, Order, Rows, argsort, bottom_k, collect, function, histogram, inclusive_scan,
    lower_bound, map, merge_by, positions, reduce, segmented_reduce, select, select_nth, sort,
    sort_by, top_k, top_k_rows, unique, unique_sorted,
};

/// Calls `work` on a thread that takes subnormals for zeros, in a pool of such threads.
fn where_subnormals_are_zeros<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    let flushing = || {
        let mode = 0x1f80_u32 | 1 << 6 | 1 << 15;
        // SAFETY: these bits are defined, and the thread ends with the call.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const mode, options(nostack, readonly)) };
        // Its threads inherit the mode.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        pool.expect("threads start").install(work)
    };
    std::thread::scope(|scope| scope.spawn(flushing).join().expect("it ends"))
}

#[function]
fn halved(x: f32) -> f32 {
    x * 0.5
}

/// Compares subnormals.
#[function]
fn is_less(a: f32, b: f32) -> bool {
    a * 0.5 < b * 0.5
}

/// Numbers whose halves are subnormal.
fn numbers(len: usize) -> Vec<f32> {
    let number = |i: usize| f32::MIN_POSITIVE * (1.0 + (i * 7919 % 1009) as f32 / 1024.0);
    (0..len).map(number).collect()
}

#[test]
fn the_mode_of_floats_shows_in_no_order() {
    for len in [10, 70_000] {
        let x = numbers(len);
        let sorted = {
            let mut sorted = x.clone();
            sorted.sort_by(f32::total_cmp);
            sorted
        };
        let everything = || {
            let order = Order::ascending();
            let best = top_k(map::<halved, _>(&x), 3, order).unwrap();
            let all = bottom_k(map::<halved, _>(&x), len / 2, order).unwrap();
            let nth = select_nth(map::<halved, _>(&x), len / 3, order).unwrap();
            let by = sort_by::<f32, is_less>(&x).unwrap();
            let (first, second) = sorted.split_at(len / 4);
            let merged = merge_by::<f32, is_less>(second, first).unwrap();
            (best, all, nth, by, merged)
        };
        let expected = everything();
        assert_eq!(expected.3, sorted);
        let found = where_subnormals_are_zeros(everything);
        assert_eq!(found.0, expected.0, "top_k of {len}");
        assert_eq!(found.1, expected.1, "bottom_k of {len}");
        assert_eq!(found.2, expected.2, "select_nth of {len}");
        assert_eq!(found.3, expected.3, "sort_by of {len}");
        assert_eq!(found.4, expected.4, "merge_by of {len}");
    }
}

#[function]
fn is_large(x: f32) -> bool {
    x * 0.5 > 7.0e-39
}

#[test]
fn the_mode_of_floats_shows_in_no_primitive() {
    for len in [10, 70_000] {
        let x = numbers(len);
        let sorted = sort(map::<halved, _>(&x), Order::ascending()).unwrap();
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let everything = || {
            let halves = || map::<halved, _>(&x);
            let order = Order::ascending();
            let offsets = [0_u32, 3, len as u32];
            let segments = Offsets::unchecked(&offsets).unwrap();
            let bins = Bins::even(0.0, f64::from(f32::MIN_POSITIVE), 16).unwrap();
            let wide = |places: Vec<u64>| places.into_iter().map(|place| place as u32).collect();
            vec![
                bits(vec![reduce::<f32, Add>(halves()).unwrap()]),
                bits(vec![reduce::<f32, Max>(halves()).unwrap()]),
                bits(inclusive_scan::<f32, Add>(halves()).unwrap()),
                bits(collect(halves()).unwrap()),
                bits(select::<f32, is_large>(&x).unwrap()),
                bits(unique::<f32>(halves()).unwrap()),
                bits(sort(halves(), order).unwrap()),
                bits(unique_sorted(halves(), order).unwrap()),
                bits(segmented_reduce::<f32, Add>(halves(), segments).unwrap()),
                bits(
                    top_k_rows(halves(), Rows::new(len / 5, 5), 2, order)
                        .unwrap()
                        .0,
                ),
                histogram::<u32, f32>(halves(), &bins).unwrap(),
                wide(positions(map::<is_large, _>(&x)).unwrap()),
                wide(argsort(halves(), order).unwrap()),
                wide(lower_bound(&sorted, halves(), order).unwrap()),
            ]
        };
        let expected = everything();
        let found = where_subnormals_are_zeros(everything);
        for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "call {number}, {len} items");
        }
    }
}
