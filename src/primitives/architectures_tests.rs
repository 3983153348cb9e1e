//! What is chosen for an architecture without tables of its own is sound there, too.

use crate::codegen::kernels::{Kept, Places};
use crate::codegen::{Explanation, Machine, explain_reduce, explain_scan, explain_select};
use crate::ops::{Add, Max};
use crate::source::{Index, Map, NonZero, Slice, Zip};
use crate::{Element, Monoid, monoid};

/// An architecture: compute capability, multiprocessors of a GPU, the threads that one runs, and
/// the most shared memory of a block.
const MACHINES: [(u32, u32, u32, u32); 8] = [
    (75, 40, 1024, 64 << 10),
    (80, 108, 2048, 163 << 10),
    (86, 84, 1536, 99 << 10),
    (89, 128, 1536, 99 << 10),
    (90, 132, 2048, 227 << 10),
    (100, 148, 2048, 227 << 10),
    (120, 170, 1536, 99 << 10),
    // A small one of a new architecture.
    (120, 20, 1536, 99 << 10),
];

#[monoid(name = LogSum, identity = f32::NEG_INFINITY)]
fn log_sum(a: f32, b: f32) -> f32 {
    let most = a.max(b);
    most + ((a - most).exp() + (b - most).exp()).ln()
}

#[monoid(name = AllOf, identity = [0.0; 8])]
fn all_of(a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
    [
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
    ]
}

fn lengths() -> impl Iterator<Item = usize> {
    (1..34).flat_map(|log| [(1 << log) - 1, 1 << log, 3 << (log - 1)])
}

/// Blocks fit the GPU. Those that wait for each other, and do not take tiles in turns, are all
/// there at once: else a launch may never end.
fn assert_sound(explanation: &Explanation, machine: (u32, u32, u32, u32)) {
    let (capability, multiprocessors, threads, shared) = machine;
    let text = explanation.to_string();
    let engine = explanation.engine();
    assert!(
        engine != "wave" || (90..110).contains(&capability),
        "{machine:?}: {text}"
    );
    assert!(
        engine != "shares" || capability >= 80,
        "{machine:?}: {text}"
    );
    for launch in explanation.launches() {
        assert!((1..=1024).contains(&launch.threads), "{machine:?}: {text}");
        assert!(launch.shared_bytes <= shared, "{machine:?}: {text}");
        let held = u64::from(multiprocessors) * u64::from(threads / launch.threads);
        let waits = engine == "wave"
            || launch.function == "reduce_rows"
            || text.contains("holds all items at once");
        assert!(
            !waits || launch.blocks <= held,
            "{machine:?} holds {held}: {text}"
        );
    }
}

fn check<T: Element, Op: Monoid<T>>() {
    for machine in MACHINES {
        let asked = Machine {
            capability: machine.0,
            multiprocessors: machine.1,
        };
        let mut bytes = [0; 2];
        for len in lengths() {
            let scan = explain_scan::<T, Op>(asked, true, len).unwrap();
            let reduce = explain_reduce::<T, Op>(asked, len).unwrap();
            for (explanation, before) in [&scan, &reduce].into_iter().zip(&mut bytes) {
                assert_sound(explanation, machine);
                let now = explanation.workspace_bytes();
                assert!(*before <= now, "{len}: {now} of {before}");
                *before = now;
            }
        }
    }
}

#[test]
fn folds_are_sound_on_every_architecture() {
    check::<u8, Max>();
    check::<f32, Add>();
    check::<f32, LogSum>();
    check::<f64, Add>();
    check::<u128, Add>();
    check::<[f64; 8], AllOf>();
}

#[test]
fn selects_are_sound_on_every_architecture() {
    type Flags = Map<NonZero<u8>, Slice<u8>>;
    for machine in MACHINES {
        let asked = Machine {
            capability: machine.0,
            multiprocessors: machine.1,
        };
        for len in lengths() {
            let kept = explain_select::<u64, Zip<(Slice<u64>, Flags)>, Kept>(asked, len);
            assert_sound(&kept.unwrap(), machine);
            let places = explain_select::<u64, Zip<(Index, Flags)>, Places>(asked, len);
            assert_sound(&places.unwrap(), machine);
        }
    }
}

/// Where a table says bytes of a whole input, a GPU with half of the multiprocessors changes its
/// kernel at half of the length, unless it has a table of its own.
#[test]
fn lengths_follow_the_number_of_multiprocessors() {
    let changes = |capability, multiprocessors| {
        let machine = Machine {
            capability,
            multiprocessors,
        };
        let policy = |len: usize| {
            let text = explain_reduce::<f32, Add>(machine, len)
                .unwrap()
                .to_string();
            let line = text
                .lines()
                .find(|line| line.starts_with("engine: "))
                .unwrap();
            line.to_owned()
        };
        let most: usize = policy(1 << 20).rsplit(' ').nth(1).unwrap().parse().unwrap();
        most
    };
    assert_eq!(changes(90, 132), changes(90, 66));
    assert_eq!(changes(86, 132), changes(90, 132));
    assert!(changes(86, 66) < changes(86, 132));
}
