//! Every kernel gives what the library gives, at the ends of warps, blocks and tiles.

use super::*;
use std::path::Path;
use warpfold::Monoid;
use warpfold::ladder::steps;
use warpfold::ops::{Add, Max, Mul};

/// The toolchain; `None` after reporting the skip.
fn toolchain() -> Option<&'static Toolchain> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp/emulator");
    match Toolchain::get(&folder) {
        Ok(toolchain) => Some(toolchain),
        Err(why) => {
            let required = std::env::var("WARPFOLD_REQUIRE").unwrap_or_default();
            let is_required = required.split(',').any(|name| name.trim() == "emulator");
            assert!(!is_required, "WARPFOLD_REQUIRE names emulator, but {why}");
            eprintln!("skipped (emulator): {why}");
            None
        }
    }
}

fn shapes(kernel: &Kernel) -> [Shape; 2] {
    let threads = [8, 64].map(|threads| threads.max(kernel.fewest_threads));
    let factors = [1, 3];
    [0, 1].map(|i| Shape {
        threads: threads[i],
        factor: factors[i],
    })
}

const LENGTHS: [usize; 14] = [1, 2, 3, 7, 15, 17, 31, 32, 33, 63, 65, 127, 129, 383];

/// All cases in one run of the emulator.
fn check<T: Number, Op: Monoid<T>>() {
    let Some(toolchain) = toolchain() else {
        return;
    };
    let op = Operator::<T>::of::<Op>();
    let module = module(&op, toolchain).unwrap();
    let data = Data::new(&op, LENGTHS[LENGTHS.len() - 1]);
    let mut script = Script::new();
    let mut cases = Vec::new();
    for step in steps().filter(|step| step.is_sound()) {
        let Some(kernel) = step.kernel() else {
            continue;
        };
        for (length, shape) in LENGTHS.iter().flat_map(|n| shapes(kernel).map(|s| (*n, s))) {
            // One block takes an item a thread at least.
            if kernel.most.is_some() && length > shape.threads as usize {
                continue;
            }
            script.seed(cases.len() as u64);
            let call = append(&mut script, &op, kernel, shape, &data, length);
            script.clear();
            cases.push((step, kernel, shape, length, call));
        }
    }
    assert!(cases.len() > 20 * LENGTHS.len(), "{} cases", cases.len());
    let saved = script.run_to_the_end("the ladder", &module);
    let mut saved = saved.as_slice();
    for (step, kernel, shape, length, call) in cases {
        let bytes = match kernel.folds_into_out() {
            true => 8,
            false => call.results as usize * size_of::<T::Accumulator>(),
        };
        let (mine, rest) = saved.split_at(bytes);
        saved = rest;
        let expected = data.expected(&op, step.problem, length).unwrap();
        assert_eq!(
            cast_slice::<T, u8>(&results::<T>(&call, mine)),
            cast_slice::<T, u8>(&expected),
            "{} of {length} in {shape:?}",
            step.name
        );
    }
    assert!(saved.is_empty());
}

#[test]
fn steps_of_floats_give_what_the_library_gives() {
    check::<f32, Add>();
}

/// No instruction multiplies atomically, and none takes bytes.
#[test]
fn steps_without_an_atomic_instruction_give_it_too() {
    check::<u8, Mul>();
}

#[test]
fn steps_of_halves_give_it_too() {
    check::<warpfold::half::f16, Max>();
}

/// Non-commuting operators are refused where items meet in any order, and nowhere else.
#[test]
fn what_does_not_commute_is_refused() {
    use crate::orders::InOrder;
    for kernel in steps().filter_map(Step::kernel) {
        let source = ladder::source::<u32, InOrder<Add>, Mul>(&[kernel]);
        assert_eq!(
            source.is_err(),
            kernel.in_any_order.is_some(),
            "{}",
            kernel.file
        );
    }
}
