//! Which engine makes which scan.

use super::*;
use crate::engine::candidates::Cut;
use crate::engine::{Layouts, Plan, Primitive};

/// The number of multiprocessors of an H100 and of an H200.
const MULTIPROCESSORS: u32 = 132;

const CHEAP: u32 = 1;
const COMPUTE_BOUND: u32 = 100;

/// Nothing is rendered: the engine stands for its kernel.
fn engines<T: Element>(capability: u32, commutes: bool, cost: u32) -> Candidates<Engine> {
    for_operator(
        &|engine| engine,
        Layouts::of_slice::<T>(),
        capability,
        commutes,
        cost,
    )
}

/// Of an exclusive scan of aligned slices.
fn input(len: usize) -> Extent {
    Extent {
        len,
        inclusive: false,
        aligned: true,
        multiprocessors: MULTIPROCESSORS,
    }
}

/// The names of the engines that take 1000, 2^18, and 2^28 elements, at any address.
fn names(engines: &Candidates<Engine>) -> [&'static str; 3] {
    [1000, 1 << 18, 1 << 28].map(|len| name(engines, len, false))
}

fn name(engines: &Candidates<Engine>, len: usize, aligned: bool) -> &'static str {
    let choice = engines.choose(Extent {
        inclusive: true,
        aligned,
        ..input(len)
    });
    match choice.cut {
        Cut::Rows(plan) if plan.by_ticket => "rows, in turns",
        Cut::Wave(plan) if plan.policy.anywhere => "wave, anywhere",
        _ => choice.engine.name(),
    }
}

#[test]
fn cheap_operators() {
    let hopper = engines::<f32>(90, true, CHEAP);
    assert_eq!(names(&hopper), ["block", "rows", "wave, anywhere"]);
    assert_eq!(name(&hopper, 1 << 28, true), "wave");
    let ampere = engines::<f32>(80, true, CHEAP);
    assert_eq!(names(&ampere), ["block", "rows", "rows, in turns"]);
    assert_eq!(name(&ampere, 1 << 28, true), "rows, in turns");
}

/// What the GPU holds at once is not scanned in turns: there is room for all its blocks. Where a
/// length is too much, so are all longer ones.
#[test]
fn all_blocks_are_there_at_once_up_to_some_length() {
    fn check<T: Element>(operators: &[(bool, u32)]) {
        for &(commutes, cost) in operators {
            let engines = engines::<T>(90, commutes, cost);
            let mut ended = false;
            let lengths = (8..26).flat_map(|log| (16..32).map(move |part| part << (log - 4)));
            for len in lengths {
                let choice = engines.choose(input(len));
                let what = format!("{} bytes, {commutes}, {cost}, {len}", size_of::<T>());
                let held = match choice.cut {
                    Cut::Block(..) => true,
                    Cut::Rows(plan) => !plan.by_ticket,
                    _ => false,
                };
                assert!(!held || !ended, "{what}");
                if let (Cut::Rows(plan), Engine::Rows(policy), true) =
                    (&choice.cut, choice.engine, held)
                {
                    let room = u64::from(MULTIPROCESSORS * policy.blocks);
                    assert!(plan.blocks <= room, "{what}: {policy:?}");
                }
                ended = !held;
            }
            assert!(ended, "{} bytes", size_of::<T>());
        }
    }
    let all = &[(true, CHEAP), (false, CHEAP), (false, 20), (false, 90)];
    check::<u8>(all);
    check::<f32>(all);
    check::<f64>(all);
    check::<[f32; 3]>(all);
    check::<[f64; 3]>(all);
    check::<[f32; 9]>(all);
    check::<[f64; 8]>(all);
}

/// Items that are widened leave registers for fewer blocks.
#[test]
fn widened_items() {
    fn most_blocks<T: Element>() -> Option<u32> {
        let policies = RowPolicy::for_scans_at_once(Layouts::of_slice::<T>(), 90, CHEAP);
        policies.iter().map(|policy| policy.blocks).max()
    }
    let widened = most_blocks::<half::f16>();
    assert!(widened.is_some() && widened < most_blocks::<f32>());
}

/// The wave engine hides a medium cost behind memory, up to some length.
#[test]
fn compute_bound_operators() {
    for capability in [80, 90] {
        let compute_bound = engines::<f32>(capability, false, COMPUTE_BOUND);
        assert_eq!(names(&compute_bound), ["block", "rows", "shares"]);
        assert_eq!(name(&compute_bound, 1 << 28, true), "shares");
        // Tiles are small where there are few for each multiprocessor.
        let tile = |len, multiprocessors| {
            let choice = compute_bound.choose(Extent {
                multiprocessors,
                ..input(len)
            });
            match choice.cut {
                Cut::Shares(plan) => (len as u64).div_ceil(plan.tiles(false)),
                other => panic!("{other:?}"),
            }
        };
        assert!(tile(1 << 21, MULTIPROCESSORS) < tile(1 << 24, MULTIPROCESSORS));
        assert_eq!(tile(1 << 20, 16), tile(1 << 24, MULTIPROCESSORS));
    }
    let medium = engines::<f64>(90, false, 19);
    assert_eq!(names(&medium), ["block", "rows", "shares"]);
    assert_eq!(name(&medium, 1 << 22, true), "wave");
    // Where it would combine each element three times for nothing, rows go on up to shares.
    let costlier = engines::<f32>(90, false, 36);
    assert_eq!(names(&costlier), ["block", "rows", "shares"]);
    assert_eq!(name(&costlier, 3 << 20, true), "rows");
    assert_eq!(name(&costlier, 1 << 22, true), "shares");
    let has_wave = |engines: &Candidates<Engine>| {
        engines
            .kernels()
            .any(|engine| matches!(engine, Engine::Wave(_)))
    };
    assert!(has_wave(&medium) && !has_wave(&costlier));
    let turing = engines::<f32>(75, false, COMPUTE_BOUND);
    assert_eq!(names(&turing), ["block", "rows", "rows, in turns"]);
}

/// The longer elements are, and the more an operator costs, the sooner a launch a level is
/// faster than waves; sooner still where the order of operands counts.
#[test]
fn long_elements() {
    let ordered = engines::<[f64; 6]>(90, false, CHEAP);
    assert_eq!(name(&ordered, 500_000, true), "wave");
    assert_eq!(name(&ordered, 1 << 20, true), "levels");
    let ordered = engines::<[f64; 6]>(90, false, 17);
    assert_eq!(names(&ordered), ["rows", "levels", "levels"]);
    assert_eq!(name(&ordered, 131 << 10, true), "wave");
    assert_eq!(name(&ordered, 133 << 10, true), "levels");
    for commuting in [
        engines::<[f64; 6]>(90, true, CHEAP),
        engines::<[f64; 8]>(90, true, CHEAP),
    ] {
        assert_eq!(
            names(&commuting),
            ["rows", "wave, anywhere", "wave, anywhere"]
        );
        assert_eq!(name(&commuting, 1 << 28, true), "wave");
    }
    for shorter in [
        engines::<[f64; 3]>(90, false, CHEAP),
        engines::<[f64; 5]>(90, false, CHEAP),
    ] {
        assert_eq!(
            names(&shorter),
            ["rows", "wave, anywhere", "wave, anywhere"]
        );
        assert_eq!(name(&shorter, 1 << 28, true), "wave");
    }
    let compute_bound = engines::<[f64; 3]>(90, false, COMPUTE_BOUND);
    assert_eq!(names(&compute_bound), ["rows", "shares", "shares"]);
    assert_eq!(name(&compute_bound, 1 << 28, true), "shares");
    let compute_bound = engines::<[f64; 8]>(90, true, COMPUTE_BOUND);
    assert_eq!(names(&compute_bound), ["rows", "wave, anywhere", "levels"]);
    let compute_bound = engines::<[f32; 9]>(90, false, 46);
    assert_eq!(names(&compute_bound), ["rows", "wave, anywhere", "shares"]);
}

#[test]
fn one_engine_takes_everything() {
    let only = |engine| only(&|engine| engine, Layouts::of_slice::<f32>(), 90, engine);
    let names = |engine| names(&only(engine));
    assert_eq!(names(Engine::Levels), ["levels"; 3]);
    let rows = RowPolicy::for_scan(Layouts::of_slice::<f32>(), 90, true);
    assert_eq!(
        names(Engine::Rows(rows)),
        ["rows", "rows", "rows, in turns"]
    );
    let compute_bound =
        ComputeBoundScan::of(Layouts::of_slice::<f32>(), 90, COMPUTE_BOUND).unwrap();
    assert_eq!(names(Engine::Shares(compute_bound.shares)), ["shares"; 3]);
    let wave = WavePolicy::for_form(Layouts::of_slice::<f32>(), 90).unwrap();
    assert_eq!(names(Engine::Wave(wave)), ["wave, anywhere"; 3]);
    // A block is for short inputs alone.
    let block = BlockPolicy::for_scan(Layouts::of_slice::<f32>(), 90, CHEAP).unwrap();
    assert_eq!(
        names(Engine::Block(block)),
        ["block", "rows", "rows, in turns"]
    );
}

/// A workspace for a length serves the engine of every shorter one.
#[test]
fn workspaces_are_large_enough() {
    fn check<T: Element>(engines: &Candidates<Engine>) {
        let packets = size_of::<T::Accumulator>().div_ceil(8);
        let lengths = (0..29).flat_map(|log| [(1 << log) - 1, 1 << log, (1 << log) + 1]);
        // One of these GPUs has more multiprocessors than any.
        for multiprocessors in [1, MULTIPROCESSORS, 5000] {
            let mut needed = 0;
            for (len, inclusive) in lengths.clone().flat_map(|len| [(len, false), (len, true)]) {
                let choice = engines.choose(Extent {
                    inclusive,
                    multiprocessors,
                    ..input(len)
                });
                needed = needed.max(match choice.cut {
                    Cut::Rows(plan) if plan.blocks == 1 => 0,
                    Cut::Rows(plan) => 8 * packets * plan.blocks as usize,
                    Cut::Shares(plan) => plan.workspace_bytes(Layouts::of_slice::<T>()),
                    Cut::Wave(plan) => plan.workspace_bytes(Layouts::of_slice::<T>()),
                    Cut::Block(..) => 0,
                    Cut::Chunks(_) => unreachable!("a scan has a result for each item"),
                    Cut::Levels => {
                        Plan::new(Layouts::of_slice::<T>(), Primitive::Scan, len).workspace_bytes()
                    }
                });
                let has = engines.workspace_bytes(len);
                assert!(has >= needed, "{len} elements: {has} bytes of {needed}");
            }
        }
    }
    for (capability, cost) in [(90, CHEAP), (90, COMPUTE_BOUND), (80, CHEAP), (90, 25)] {
        for commutes in [true, false] {
            check::<f32>(&engines::<f32>(capability, commutes, cost));
            check::<[f64; 2]>(&engines::<[f64; 2]>(capability, commutes, cost));
            check::<[f64; 3]>(&engines::<[f64; 3]>(capability, commutes, cost));
            check::<[f32; 9]>(&engines::<[f32; 9]>(capability, commutes, cost));
            check::<[f64; 8]>(&engines::<[f64; 8]>(capability, commutes, cost));
        }
    }
}
