//! Each fault that the emulator is there for, planted in a small kernel, is found and named; and
//! the same kernel without the fault runs to its end.

use crate::emulator::Toolchain;
use std::sync::OnceLock;
use warpfold::bytemuck;
use warpfold::codegen::with_kernels;
use warpfold_emulator::{Argument, Grid, Module, Script};

const KERNELS: &str = include_str!("faults.cu");
const SEEDS: u64 = 12;

/// The kernels of `faults.cu`, or a skip.
fn module() -> Option<&'static Module> {
    let toolchain = Toolchain::get()?;
    static MODULE: OnceLock<Module> = OnceLock::new();
    Some(MODULE.get_or_init(|| {
        let names = KERNELS
            .split("__global__ void ")
            .skip(1)
            .filter_map(|rest| rest.split('(').next());
        let text = with_kernels(KERNELS, "faults.cu").unwrap();
        toolchain.module("faults", &text, &names.collect::<Vec<_>>())
    }))
}

/// What a kernel of one block of 64 threads writes for the input 0, 1, … 63, or what it is stopped
/// with.
fn run(module: &Module, kernel: &str, seed: u64) -> Result<Vec<u32>, String> {
    run_in(module, kernel, seed, Grid::new(1, 64), 0)
}

/// What a kernel writes in any grid, with `work` numbers in a buffer that starts as zeros.
fn run_in(
    module: &Module,
    kernel: &str,
    seed: u64,
    grid: Grid,
    work: usize,
) -> Result<Vec<u32>, String> {
    run_after(module, kernel, seed, grid, work, |_| ())
}

/// What a kernel writes after other commands.
fn run_after(
    module: &Module,
    kernel: &str,
    seed: u64,
    grid: Grid,
    work: usize,
    prepare: impl FnOnce(&mut Script),
) -> Result<Vec<u32>, String> {
    let input: Vec<u32> = (0..64).collect();
    let mut script = Script::new();
    script.file("numbers", bytemuck::cast_slice(&input));
    script.file("zeros", &vec![0; 4 * work]);
    script.seed(seed);
    script.seconds(1);
    prepare(&mut script);
    script.filled("in", 0, 256, "numbers");
    script.buffer("out", 0, 256);
    let mut arguments = vec![Argument::At("in", 0), Argument::At("out", 0)];
    if work > 0 {
        script.filled("work", 0, 4 * work, "zeros");
        arguments.push(Argument::At("work", 0));
    }
    script.launch(kernel, grid, &arguments);
    script.save("out");
    let output = script.run(module)?;
    Ok(bytemuck::pod_collect_to_vec(&output))
}

/// Under every seed, each kernel is stopped with a message that has all the words given.
fn all_are_stopped(faults: &[(&str, &[&str])]) {
    let Some(module) = module() else {
        return;
    };
    for (kernel, words) in faults {
        for seed in 0..SEEDS {
            let result = run(module, kernel, seed);
            let message = result.expect_err(&format!("{kernel} under seed {seed}"));
            for word in *words {
                assert!(
                    message.contains(word),
                    "{kernel} under seed {seed} is stopped without the words `{word}`:\n{message}"
                );
            }
            assert!(
                message.contains(&format!("under seed {seed}\n")),
                "{kernel} under seed {seed}:\n{message}"
            );
            assert!(
                !message.contains("kernel.hpp"),
                "{kernel} under seed {seed} names no place of the kernel:\n{message}"
            );
        }
    }
}

/// Under every seed, each kernel gives what it should for its place.
fn all_give(kernels: &[&str], expected: impl Fn(u32) -> u32) {
    let Some(module) = module() else {
        return;
    };
    let expected: Vec<u32> = (0..64).map(expected).collect();
    for kernel in kernels {
        for seed in 0..SEEDS {
            let result = run(module, kernel, seed);
            assert_eq!(result.as_ref(), Ok(&expected), "{kernel} under seed {seed}");
        }
    }
}

#[test]
fn kernels_without_a_fault_run_to_their_end() {
    all_give(&["rotate_block"], |i| (i + 1) % 64);
    all_give(&["rotate_warps"], |i| i / 32 * 32 + (i + 1) % 32);
    all_give(&["reads_before_writing"], |i| (i + 3) % 64);
    all_give(&["copies_at_once"], |i| 63 - i);
    all_give(&["updates_only", "copies_often", "begins_first"], |i| i);
    all_give(&["copies_through_a_stage"], |i| i + 1);
    all_give(
        &["combines_elements"],
        |i| {
            if i < 56 { 2 * i + 1 } else { 0 }
        },
    );
    all_give(&["matches_floats"], |i| 0x55555555 << (i % 2));
}

#[test]
fn accesses_out_of_bounds() {
    all_are_stopped(&[
        (
            "reads_after",
            &[
                "out of bounds: 4 bytes at in+256, but in has 256 bytes",
                "faults.cu:",
            ],
        ),
        ("writes_after", &["out of bounds: 4 bytes at out+256"]),
        ("writes_before", &["out of bounds: 4 bytes at out+-4"]),
        (
            "writes_after_shared",
            &["out of bounds: 4 bytes at shared", "Values+256"],
        ),
        (
            "reads_before_shared",
            &["out of bounds: 4 bytes at shared", "Values+-4"],
        ),
        ("leaves_a_local_array", &["out of bounds for type"]),
        ("leaves_the_array_of_a_struct", &["out of bounds for type"]),
        ("copies_too_much", &["out of bounds: 272 bytes at"]),
        ("clears_too_much", &["out of bounds: 260 bytes at out+0"]),
        (
            "stores_a_word_in_shared_memory",
            &["an access to shared memory by a function for global memory"],
        ),
        (
            "loads_a_word_in_global_memory",
            &["an access to global memory by a function for shared memory"],
        ),
        (
            "asks_too_much_shared",
            &["48 KiB of shared variables, and not 52000 bytes"],
        ),
    ]);
}

#[test]
fn reads_of_what_nothing_wrote() {
    all_are_stopped(&[
        (
            "reads_unwritten_shared",
            &[
                "a read of what nothing wrote: byte",
                "Values",
                " of block 0 of reads_unwritten_shared\nunder seed",
            ],
        ),
        (
            "reads_unwritten_global",
            &["a read of what nothing wrote: byte", "of out"],
        ),
        (
            "leaves_output_unwritten",
            &["nothing wrote byte 20 of the 256 of out"],
        ),
    ]);
}

/// An operator whose operands carry a check finds this, though the results do not show it.
#[test]
fn operators_called_on_padding() {
    all_are_stopped(&[
        (
            "combines_zeros",
            &[
                "a trap: the right operand is no element\n  at faults.cu:",
                "in thread",
            ],
        ),
        (
            "combines_what_nothing_set",
            &["a trap: the right operand is no element\n  at faults.cu:"],
        ),
    ]);
}

#[test]
fn missing_barriers_and_fences_are_races() {
    all_are_stopped(&[
        (
            "lacks_syncthreads",
            &["a race: thread", "nothing orders the two", "faults.cu:"],
        ),
        ("lacks_syncwarp", &["a race: thread"]),
        ("writes_too_early", &["a race: thread"]),
        ("trusts_a_shuffle", &["a race: thread"]),
        ("reads_what_is_copied", &["a race: thread"]),
        ("lacks_wait_for_copy", &["a race: "]),
        ("lacks_wait_for_others", &["a race: "]),
        (
            "overwrites_what_is_copied",
            &["a race: ", "a bulk copy of block 0"],
        ),
        (
            "lacks_proxy_fence",
            &[
                "a missing proxy fence: a bulk copy of block 0 reads",
                "fence_proxy_async() does",
            ],
        ),
        (
            "lacks_init_fence",
            &["a missing proxy fence", "fence_mbarrier_init()"],
        ),
        (
            "copies_what_was_written",
            &[
                "a missing proxy fence: a bulk copy of block 0 reads out",
                "fence_proxy_async() is for shared memory",
            ],
        ),
        ("lacks_init_barrier", &["mbarrier"]),
        ("initialises_again", &["mbarrier", "initialise"]),
        (
            "stores_while_storing",
            &["a race: a bulk copy of block 0 writes out"],
        ),
        (
            "returns_while_copying",
            &["returns while a bulk copy may use its shared memory"],
        ),
    ]);
}

#[test]
fn atomic_accesses_race_with_others() {
    all_are_stopped(&[
        ("writes_before_updating", &["a race: thread", "atomically"]),
        ("reads_before_loading", &["a race: thread", "atomically"]),
        ("writes_after_updating", &["a race: thread", "atomically"]),
    ]);
}

/// A word of 16 bytes may be written in halves only if something orders that and its reads.
#[test]
fn atomic_accesses_of_several_sizes_are_races() {
    let Some(module) = module() else {
        return;
    };
    let sums: Vec<u32> = (0..64).map(|i| i * (i + 1) / 2).collect();
    let numbers: Vec<u32> = (0..64).collect();
    let grid = Grid {
        resident: 64,
        ..Grid::new(64, 32)
    };
    for seed in 0..SEEDS {
        let run = |kernel| run_in(module, kernel, seed, grid, 320);
        for (kernel, expected) in [
            ("publishes_whole_words", &sums),
            ("releases_halves", &sums),
            ("replaces_whole_header", &numbers),
            ("replaces_header_in_order", &numbers),
        ] {
            assert_eq!(run(kernel).as_ref(), Ok(expected), "{kernel}, seed {seed}");
        }
        for (kernel, sizes) in [
            ("publishes_halves", ["as 8 bytes", "as 16 bytes"]),
            (
                "replaces_header_by_halves",
                [
                    "writes work+0 atomically, as 8 bytes",
                    "read atomically, as 16 bytes",
                ],
            ),
        ] {
            let message = run(kernel).unwrap_err();
            for words in [
                "a race: thread 0 of block ",
                sizes[0],
                sizes[1],
                "only atomic accesses of one size are atomic to each other",
            ] {
                assert!(message.contains(words), "{kernel}, seed {seed}:\n{message}");
            }
        }
    }
}

/// Two atomic stores of a thread may become visible in any order, unless something orders them.
#[test]
fn relaxed_stores_pass_each_other() {
    let Some(module) = module() else {
        return;
    };
    let sums: Vec<u32> = (0..64).map(|i| i * (i + 1) / 2).collect();
    let grid = Grid::new(64, 32);
    let (mut wrong_stores, mut wrong_updates) = (0, 0);
    for seed in 0..SEEDS {
        let run = |kernel| run_in(module, kernel, seed, grid, 129).unwrap();
        for kernel in [
            "releases_the_flag",
            "fences_the_flag",
            "updates_after_a_fence",
        ] {
            assert_eq!(run(kernel), sums, "{kernel}, seed {seed}");
        }
        wrong_stores += u64::from(run("trusts_the_order_of_stores") != sums);
        wrong_updates += u64::from(run("trusts_an_update") != sums);

        let rotated: Vec<u32> = (0..64).map(|i| (i + 1) % 64 + 20).collect();
        let result = run_in(module, "counts_in_order", seed, Grid::new(1, 64), 66);
        assert_eq!(result, Ok(rotated), "seed {seed}");
        let result = run_in(module, "sees_its_own_stores", seed, Grid::new(1, 64), 256);
        assert_eq!(result, Ok((5..69).collect()), "seed {seed}");
    }
    assert!(
        wrong_stores > SEEDS / 2,
        "{wrong_stores} of {SEEDS} schedules show it"
    );
    assert!(
        wrong_updates > SEEDS / 2,
        "{wrong_updates} of {SEEDS} schedules show it"
    );
}

#[test]
fn kernels_that_do_not_begin_the_launch() {
    let missing = "a missing begin_launch(): thread";
    let at_once = " touches in+0 before it\n  at faults.cu:";
    all_are_stopped(&[
        ("never_begins", &[missing, " returns without it"]),
        ("begins_in_some_threads", &[missing, " returns without it"]),
        (
            "reads_before_it_begins",
            &[missing, " before it\n  at faults.cu:"],
        ),
        (
            "looks_before_it_begins",
            &[missing, " before it\n  at faults.cu:"],
        ),
        ("copies_before_it_begins", &[missing, at_once]),
    ]);
}

#[test]
fn limits() {
    all_are_stopped(&[
        (
            "expects_a_mebibyte",
            &["an mbarrier counts to 2^20 - 1 bytes, and not to 1048576"],
        ),
        (
            "has_too_many_copies",
            &["32 bulk copies of the block are under way"],
        ),
    ]);
    let Some(module) = module() else {
        return;
    };
    // With the 256 bytes of the kernel's variable, which is not known at the launch.
    let most = 227 << 10;
    for (shared, together) in [
        (most - 256, None),
        (most - 255, Some(most + 1)),
        (most + 1, Some(most + 1)),
    ] {
        let grid = Grid {
            shared,
            ..Grid::new(1, 64)
        };
        let result = run_in(module, "rotate_block", 0, grid, 0);
        match together {
            None => assert!(result.is_ok(), "{result:?}"),
            Some(bytes) => {
                let words =
                    format!("227 KiB of shared memory, variables and dynamic, and not {bytes}");
                assert!(result.as_ref().unwrap_err().contains(&words), "{result:?}");
            }
        }
    }
}

#[test]
fn places_are_those_of_the_kernel() {
    let Some(module) = module() else {
        return;
    };
    let mut script = Script::new();
    script.file("zeros", &[0; 256]);
    script.filled("in", 0, 256, "zeros");
    script.buffer("out", 0, 256);
    script.filled("work", 0, 256, "zeros");
    let arguments = ["in", "out", "work"].map(|name| Argument::At(name, 0));
    script.launch("rotate_block", Grid::new(1, 64), &arguments[..2]);
    script.launch("tells_the_block", Grid::new(1, 64), &arguments);
    let (_, tallies) = script.count("places", module);
    for operation in ["block_barrier", "atomic"] {
        assert!(
            tallies.iter().any(|tally| tally.operation == operation),
            "{tallies:?}"
        );
    }
    for tally in &tallies {
        assert!(tally.place.starts_with("faults.cu:"), "{tally:?}");
    }
}

#[test]
fn scripts_that_mean_nothing() {
    let Some(module) = module() else {
        return;
    };
    for (name, words) in [
        ("in+", "the argument `in++0` is not"),
        ("in+x", "the argument `in+x+0` is not"),
        ("out", "there is no buffer out"),
    ] {
        let mut script = Script::new();
        script.buffer("in", 0, 256);
        let arguments = [Argument::At("in", 0), Argument::At(name, 0)];
        script.launch("rotate_block", Grid::new(1, 64), &arguments);
        let message = script.run(module).unwrap_err();
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn divergence() {
    all_are_stopped(&[
        ("some_wait", &["a divergent barrier: thread", "returned"]),
        (
            "wait_at_two_places",
            &["a divergent barrier: thread", "while thread"],
        ),
        ("lanes_part", &["lanes of a warp diverge: lane"]),
        ("shuffles_with_returned", &["lane 3"]),
        (
            "shuffles_from_outside",
            &["a shuffle from an inactive lane: lane"],
        ),
        (
            "shuffles_unnamed",
            &["does not name the lane which comes to it"],
        ),
        (
            "some_lanes_shuffle",
            &[
                "a d",
                "for an exchange between lanes",
                "for a barrier of the block",
            ],
        ),
    ]);
}

#[test]
fn misaligned_accesses() {
    all_are_stopped(&[
        ("misaligned", &["misaligned address"]),
        (
            "copies_from_misaligned",
            &["a misaligned bulk copy: 240 bytes", "at one of 16n+4"],
        ),
        (
            "copies_misaligned_size",
            &["a misaligned bulk copy: 252 bytes"],
        ),
    ]);
}

#[test]
fn undefined_arithmetic() {
    all_are_stopped(&[(
        "overflows",
        &[
            "signed integer overflow",
            "emulator: undefined behaviour\nin thread",
        ],
    )]);
}

#[test]
fn deadlocks_say_who_waits_for_what() {
    all_are_stopped(&[
        (
            "lacks_an_arrival",
            &[
                "a deadlock",
                "block 0: thread 0: waits at",
                "mbarrier at shared",
                "it lacks 1 arrivals and 0 bytes",
            ],
        ),
        (
            "expects_too_many_bytes",
            &[
                "a deadlock",
                "thread 0 and 63 others: waits at",
                "of parity 0; it lacks 0 arrivals and 16 bytes",
            ],
        ),
        // To wait for the phase before the first is not to wait.
        ("waits_for_wrong_parity", &["a race: "]),
    ]);
    let Some(module) = module() else {
        return;
    };
    for kernel in ["waits_for_nobody", "waits_to_exchange"] {
        for seed in 0..3 {
            let message = run_in(module, kernel, seed, Grid::new(2, 32), 8).unwrap_err();
            for words in [
                "a deadlock: nobody can go on",
                "block 0: thread 0: looks at work+28, at faults.cu:",
            ] {
                assert!(message.contains(words), "{kernel}:\n{message}");
            }
        }
    }
}

#[test]
fn loops_without_an_end_are_stopped() {
    let Some(module) = module() else {
        return;
    };
    let numbers: Vec<u32> = (0..64).collect();
    let run = |kernel, seed| run_in(module, kernel, seed, Grid::new(1, 64), 64);
    let mut loops = 0;
    for seed in 0..SEEDS {
        let result = run("waits_by_atomic_loads", seed);
        assert_eq!(result.as_ref(), Ok(&numbers), "seed {seed}");
        // Whoever stores first does not wait, but races.
        for kernel in ["waits_by_plain_loads", "waits_by_volatile_loads"] {
            let message = run(kernel, seed).unwrap_err();
            let is_loop = message.contains(
                "an endless loop: thread 32 of block 0 has loaded and stored 10000000 times",
            );
            loops += u64::from(is_loop);
            assert!(
                (is_loop || message.contains("a race: thread"))
                    && message.contains("\n  at faults.cu:"),
                "{kernel}, seed {seed}:\n{message}"
            );
        }
    }
    assert!(loops > 0);
    for (kernel, words) in [
        (
            "counts_for_ever",
            [
                "an endless loop: no thread has returned for 1 seconds",
                "block 0: thread 0: looks at work+0, at faults.cu:",
            ],
        ),
        (
            "stores_for_ever",
            [
                "an endless loop: no thread has returned for 1 seconds",
                "block 0: thread 0: is about to write work+0, at faults.cu:",
            ],
        ),
        (
            "computes_for_ever",
            [
                "has gone on alone for 2 seconds\n  at faults.cu:",
                "an endless loop: thread ",
            ],
        ),
    ] {
        let message = run(kernel, 0).unwrap_err();
        for words in words {
            assert!(message.contains(words), "{kernel}:\n{message}");
        }
    }
}

/// Blocks that start in order may wait for those before them, but not for those after them: not if
/// one lives at a time.
#[test]
fn blocks_that_start_in_order() {
    let Some(module) = module() else {
        return;
    };
    let collected: Vec<u32> = (1..65).collect();
    let sums: Vec<u32> = (0..64).map(|i| i * (i + 1) / 2).collect();
    for (seed, resident) in (0..SEEDS).zip([1, 2, 3, 8].into_iter().cycle()) {
        let grid = Grid {
            resident,
            ..Grid::new(64, 32)
        };
        let start_in_order = |script: &mut Script| script.start_in_order();
        let run = |kernel| run_after(module, kernel, seed, grid, 129, start_in_order);
        assert_eq!(run("chain_of_blocks").as_ref(), Ok(&sums), "seed {seed}");
        let last = run("last_block_collects");
        assert_eq!(last.as_ref(), Ok(&collected), "seed {seed}");
        match run("first_block_collects") {
            Ok(result) => assert!(resident > 1 && result == collected, "seed {seed}"),
            Err(message) => assert!(resident == 1 && message.contains("a deadlock"), "{message}"),
        }
    }
}

#[test]
fn blocks_that_wait_for_each_other() {
    let Some(module) = module() else {
        return;
    };
    let sums: Vec<u32> = (0..64).map(|i| i * (i + 1) / 2).collect();
    let numbers: Vec<u32> = (0..64).collect();
    let grid = Grid::new(64, 32);
    let mut stuck = 0;
    for seed in 0..SEEDS {
        let run = |kernel, grid| run_in(module, kernel, seed, grid, 129);
        assert_eq!(
            run("chain_of_tickets", grid),
            Ok(sums.clone()),
            "seed {seed}"
        );
        assert_eq!(
            run("last_block_copies", grid),
            Ok(numbers.clone()),
            "seed {seed}"
        );
        assert_eq!(
            run("adds_under_a_lock", grid),
            Ok(numbers.clone()),
            "seed {seed}"
        );
        let one = Grid::new(1, 64);
        assert_eq!(
            run("tells_the_block", one),
            Ok((1..65).collect()),
            "seed {seed}"
        );
        for (kernel, grid) in [
            ("lacks_release", grid),
            ("lacks_threadfence", grid),
            ("releases_to_its_block", grid),
            ("acquires_from_its_block", grid),
            ("tells_the_block_nothing", one),
        ] {
            let message = run(kernel, grid).unwrap_err();
            assert!(message.contains("a race: thread"), "{kernel}:\n{message}");
        }

        // Whether blocks that start in any order get stuck is a question of the order and of how
        // many there is room for.
        match run("chain_of_blocks", grid) {
            Ok(result) => assert_eq!(result, sums),
            Err(message) => {
                stuck += 1;
                for words in [
                    "a deadlock",
                    "looks at work+",
                    "not started, since no more than",
                    " blocks live at a time: block",
                ] {
                    assert!(message.contains(words), "{message}");
                }
            }
        }
        let room = Grid {
            resident: 64,
            ..grid
        };
        assert_eq!(
            run("chain_of_blocks", room),
            Ok(sums.clone()),
            "seed {seed}"
        );
    }
    assert!(stuck > SEEDS / 2, "{stuck} of {SEEDS} schedules get stuck");
}
