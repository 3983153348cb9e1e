//! What holds for the plans of all engines.

use super::levels::MAX_LEVELS;
use super::workspace::{MOST_AT_ONCE, sums_bytes};
use super::*;
use crate::source::{Map, Slice, Zip};

#[test]
fn a_scan_goes_up_to_one_tile_and_down_again() {
    let tile = Policy::of::<f32>(Primitive::Scan).tile();
    let plan = Plan::new(
        Layouts::of_slice::<f32>(),
        Primitive::Scan,
        (tile * tile + 1) as usize,
    );
    let steps: Vec<_> = plan
        .launches()
        .map(|l| (l.step, l.level, l.blocks))
        .collect();
    assert_eq!(
        steps,
        [
            (Step::ReduceTiles, 0, tile),
            (Step::ScanTiles, 1, 1),
            (Step::ScanTiles, 0, tile + 1),
        ]
    );
    assert_eq!(plan.workspace_bytes() as u64, 64 + tile * 4);
}

#[test]
fn a_reduction_leaves_less_than_a_tile() {
    let tile = Policy::of::<u8>(Primitive::Reduce).tile();
    let plan = Plan::new(
        Layouts::of_slice::<u8>(),
        Primitive::Reduce,
        (tile * tile) as usize,
    );
    assert_eq!(
        (plan.levels(), plan.length(1), plan.length(2)),
        (3, tile, 1)
    );
    assert_eq!(
        plan.launches().last().map(|l| l.step),
        Some(Step::ReduceFinish)
    );
}

#[test]
fn the_longest_input_has_a_plan() {
    for primitive in Primitive::ALL {
        let plan = Plan::new(Layouts::of_slice::<[u8; 64]>(), primitive, usize::MAX);
        assert!(plan.levels() <= MAX_LEVELS);
    }
}

/// One workspace serves all lengths up to the one it was asked for, exclusive and inclusive, on
/// any GPU.
#[test]
fn a_workspace_serves_all_shorter_inputs() {
    fn check<T: Element>() {
        let lengths = || (0..34).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1]);
        for multiprocessors in [1, 16, 132, 160] {
            let mut needed = 0;
            let mut granted = 0;
            for length in lengths() {
                for long in [false, true] {
                    let policy = RowPolicy::of_scan::<T>(long);
                    for inclusive in [false, true] {
                        let plan = ScanPlan::new(policy, length, inclusive, multiprocessors);
                        if plan.blocks > 1 {
                            needed = needed.max(ScanPlan::workspace_bytes_for(
                                Layouts::of_slice::<T>(),
                                policy,
                                plan.blocks,
                            ));
                        }
                    }
                    granted = granted.max(ScanPlan::workspace_bytes(
                        Layouts::of_slice::<T>(),
                        policy,
                        length,
                    ));
                }
                assert!(needed <= granted, "scan {length}: {needed} > {granted}");
            }
            let compute_bound = ComputeBoundScan::of(Layouts::of_slice::<T>(), 90, u32::MAX);
            assert_eq!(compute_bound.is_some(), size_of::<T::Accumulator>() <= 40);
            if let Some(ComputeBoundScan { middle, shares, .. }) = compute_bound {
                assert!(middle.iter().map(|(most, _)| most).is_sorted());
                for shares in middle.into_iter().map(|(_, shares)| shares).chain([shares]) {
                    let bytes = |length| {
                        SharePlan::new(shares, length).workspace_bytes(Layouts::of_slice::<T>())
                    };
                    assert!(lengths().map(bytes).is_sorted());
                }
            }
            let usual = [Order::Law, Order::Any].map(|order| {
                let rows = RowPolicy::of_reduce::<T>(order);
                (order, (rows, ReducePolicy::of::<T>()))
            });
            let by_law = RowPolicy::for_ordered_reduce(Layouts::of_slice::<T>(), 90).into_iter();
            let cheap = by_law.map(|(_, rows)| (Order::Law, (rows, ReducePolicy::of::<T>())));
            let compute_bound = [89, u32::MAX]
                .map(|cost| ComputeBoundReduce::of(Layouts::of_slice::<T>(), 90, cost));
            let compute_bound =
                compute_bound
                    .into_iter()
                    .flatten()
                    .flat_map(|ComputeBoundReduce { rows, cut }| {
                        rows.into_iter()
                            .map(move |(_, rows)| (Order::Law, (rows, cut)))
                    });
            for (order, rows) in usual.into_iter().chain(cheap).chain(compute_bound) {
                let (mut needed, mut granted) = (0, 0);
                for length in lengths() {
                    let plan = ReducePlan::new(
                        Layouts::of_slice::<T>(),
                        rows,
                        order,
                        length,
                        multiprocessors,
                    );
                    if plan.blocks > 1 {
                        // The last block has room for the sums of 32 nodes.
                        assert!(has_room(plan, rows.0), "{length}: {plan:?}");
                        let sums = plan.chunks.count.max(plan.blocks - 1).into();
                        needed =
                            needed.max(sums_bytes(Layouts::of_slice::<T>(), sums, MOST_AT_ONCE));
                    }
                    let bytes = ReducePlan::workspace_bytes(Layouts::of_slice::<T>(), rows, length);
                    assert!(bytes >= granted, "reduce {length}: {bytes} < {granted}");
                    granted = bytes;
                    assert!(needed <= granted, "reduce {length}: {needed} > {granted}");
                }
            }
        }
    }
    check::<u8>();
    check::<half::f16>();
    check::<f32>();
    check::<u64>();
    check::<[f32; 3]>();
    check::<[u64; 2]>();
    check::<[u8; 33]>();
    check::<[f32; 16]>();
}

/// A launch whose blocks fill more than half of the GPU, but not all of it, waits for what precedes
/// it: its blocks would crowd where there is room.
#[test]
fn launches_overlap_unless_their_blocks_would_crowd() {
    let compute_bound =
        ComputeBoundScan::of(Layouts::of_slice::<f32>(), 90, u32::MAX).expect("elements are small");
    let policy = compute_bound.shares;
    let overlaps = |tiles: u64| {
        let plan = SharePlan::new(policy, (tiles * policy.tile()) as usize);
        plan.overlaps(false, 10)
    };
    let room = 10 * u64::from(policy.blocks);
    assert!(overlaps(1) && overlaps(room / 2) && overlaps(room + 1) && overlaps(100 * room));
    assert!(!overlaps(room / 2 + 1) && !overlaps(room));
}

/// `TileSums::word` in `kernels/grid/look_back.cuh`: where the last packet of the last tile ends.
#[test]
fn the_packets_of_every_tile_lie_in_the_workspace() {
    fn check<T: Element>() {
        let packets = size_of::<T::Accumulator>().div_ceil(8) as u64;
        let policy = WavePolicy::of::<T>().expect("a policy");
        for wave in [32, 64, 128, 256, 512] {
            let policy = WavePolicy { wave, ..policy };
            let per_lane = u64::from(wave) / 32;
            for tiles in (1..1200).chain([4095, 4096, 4097]) {
                let length = (tiles * policy.tile()) as usize;
                let plan = WavePlan::new(policy, length);
                let last = (0..plan.tiles(true)).flat_map(|tile| {
                    (0..packets).map(move |packet| {
                        let row = tile / (32 * per_lane) * per_lane + tile % per_lane;
                        (row * packets + packet) * 32 + tile / per_lane % 32
                    })
                });
                let end = HEADER_BYTES as u64 + 16 * (1 + last.max().expect("a tile"));
                let given = plan.workspace_bytes(Layouts::of_slice::<T>()) as u64;
                assert!(
                    end <= given,
                    "{tiles} tiles, waves of {wave}: {end} > {given}"
                );
            }
        }
    }
    check::<u8>();
    check::<f64>();
    check::<[u64; 2]>();
}

#[test]
fn the_workspace_is_under_one_percent_of_the_input() {
    fn check<T: Element>() {
        for primitive in Primitive::ALL {
            let plan = Plan::new(Layouts::of_slice::<T>(), primitive, 1 << 24);
            assert_small::<T>(plan.workspace_bytes());
        }
        for long in [false, true] {
            let policy = RowPolicy::of_scan::<T>(long);
            assert_small::<T>(ScanPlan::workspace_bytes(
                Layouts::of_slice::<T>(),
                policy,
                1 << 24,
            ));
        }
        if let Some(policy) = WavePolicy::of::<T>() {
            assert_small::<T>(
                WavePlan::new(policy, 1 << 24).workspace_bytes(Layouts::of_slice::<T>()),
            );
        }
    }
    fn assert_small<T: Element>(workspace: usize) {
        let input = (1 << 24) * size_of::<T>();
        assert!(
            workspace * 100 <= input,
            "{}: {workspace} for {input}",
            std::any::type_name::<T>()
        );
    }
    check::<u8>();
    check::<half::f16>();
    check::<f32>();
    check::<u64>();
    check::<[f32; 3]>();
    check::<[u8; 33]>();
    check::<[f32; 16]>();
}

/// A policy for operators bound by computing may also be asked for by itself. Its last block reads
/// fewer sums at once than the usual one, so there must be fewer chunks.
#[test]
fn policies_by_themselves_have_room_for_their_chunks() {
    let compute_bound = ComputeBoundReduce::of(Layouts::of_slice::<f32>(), 90, u32::MAX)
        .expect("nothing costs more");
    for (_, rows) in compute_bound.rows {
        let usual = ReducePolicy::of::<f32>();
        let cut = usual.with_sums(rows.sums);
        for length in [1_500_001, 1 << 28, (1 << 31) + 5] {
            let plan = ReducePlan::new(
                Layouts::of_slice::<f32>(),
                (rows, cut),
                Order::Law,
                length,
                132,
            );
            assert!(has_room(plan, rows), "{length}: {plan:?}");
        }
        // It does make a difference where blocks take them in turn.
        let in_turn = rows.taking_turns();
        let plan = |cut| {
            ReducePlan::new(
                Layouts::of_slice::<f32>(),
                (in_turn, cut),
                Order::Law,
                1 << 28,
                132,
            )
        };
        assert!(!has_room(plan(usual), rows));
        assert!(has_room(plan(cut), rows));
    }
}

/// Whether the last block has room for the sums of all chunks of a length: those of 32 nodes.
fn has_room(plan: ReducePlan, rows: RowPolicy) -> bool {
    let chunks = plan.chunks;
    chunks.long_ones.max(chunks.count - chunks.long_ones) <= 32 * 32 * rows.sums
}

/// Where the arithmetic takes longer than the memory, each block has one group of chunks, however
/// long the input is. By cheap operators, blocks take the chunks of long inputs in turn.
#[test]
fn compute_bound_operators_take_no_further_chunks() {
    let compute_bound = ComputeBoundReduce::of(Layouts::of_slice::<f32>(), 90, u32::MAX)
        .expect("nothing costs more");
    let (_, long) = *compute_bound.rows.last().expect("one for long inputs");
    let plan = |policy, length| {
        ReducePlan::new(Layouts::of_slice::<f32>(), policy, Order::Law, length, 132)
    };
    for length in [100_000_000, (1 << 30) + 5] {
        let groups = plan((long, compute_bound.cut), length);
        assert!(groups.chunks.count <= groups.blocks * groups.chunks.at_once);
        let in_turn = plan((long_cheap::<f32>(), ReducePolicy::of::<f32>()), length);
        assert!(in_turn.chunks.at_once == 1 && in_turn.chunks.count > in_turn.blocks);
    }
}

/// Short items that are folded in large accumulators have a policy of their own only if they are
/// few: many wait for memory.
#[test]
fn short_items_in_large_accumulators_are_compute_bound_only_if_few() {
    let of = |capability, cost| {
        ComputeBoundReduce::of(Layouts::of::<Map<widened, Slice<f32>>>(), capability, cost)
    };
    let wide = of(90, u32::MAX).expect("nothing costs more");
    let [(most, _), (_, middle), (u64::MAX, long)] = wide.rows[..] else {
        panic!("{wide:?}")
    };
    assert!(
        most < 128 << 20
            && wide.cut == ReducePolicy::for_capability(Layouts::of_slice::<[f64; 3]>(), 90)
    );
    let cheap = RowPolicy::for_ordered_reduce(Layouts::of::<Map<widened, Slice<f32>>>(), 90);
    assert_eq!(cheap, [(128 << 20, middle), (u64::MAX, long)]);
    let whole = ComputeBoundReduce::of(Layouts::of_slice::<[f64; 3]>(), 90, u32::MAX)
        .expect("as bound by computing");
    assert!(
        whole
            .rows
            .last()
            .is_some_and(|(_, rows)| rows.way == Way::Grouped)
    );
    assert!(whole.cut.group_bytes == u64::MAX);
    assert!(of(90, 1).is_none());
}

/// The code of cheap operators on large elements is short anyway.
#[test]
fn compute_bound_operators_on_large_elements_have_compact_code() {
    let of = |capability, cost| {
        ComputeBoundReduce::of(Layouts::of_slice::<[f32; 12]>(), capability, cost)
    };
    let policies = of(90, 40).expect("costs 40 instructions").rows;
    let [(_, rows), (u64::MAX, long)] = policies[..] else {
        panic!("one policy is for long inputs, and one for all others")
    };
    let cheap = RowPolicy::for_reduce(Layouts::of_slice::<[f32; 12]>(), 90, Order::Law);
    assert_eq!([rows.way, cheap.way], [Way::Compact, Way::Alone]);
    assert_eq!(long, rows.taking_turns());
    assert!(of(90, 39).is_none());
}

/// Runs of two words are for elements that are a power of two themselves, from one slice or mapped.
#[test]
fn runs_of_two_words_are_for_whole_elements_in_the_laws_order() {
    let runs = |policies: Vec<(u64, RowPolicy)>| {
        let mut runs: Vec<_> = policies.iter().map(|(_, policy)| policy.run).collect();
        runs.dedup();
        runs
    };
    let run = |policies| match runs(policies)[..] {
        [run] => run,
        ref runs => panic!("runs of {runs:?} elements"),
    };
    // Of bytes, some short inputs and long ones; of 2 and 8 bytes, all but some short ones; of 4,
    // some.
    assert_eq!(
        runs(RowPolicy::for_ordered_reduce(Layouts::of_slice::<u8>(), 90)),
        [16, 32, 16, 32]
    );
    assert_eq!(
        runs(RowPolicy::for_ordered_reduce(
            Layouts::of_slice::<u16>(),
            90
        )),
        [16, 8, 16]
    );
    assert_eq!(
        runs(RowPolicy::for_ordered_reduce(
            Layouts::of_slice::<f32>(),
            90
        )),
        [4, 8, 4, 8]
    );
    assert_eq!(
        runs(RowPolicy::for_ordered_reduce(
            Layouts::of_slice::<f64>(),
            90
        )),
        [4, 2, 4]
    );
    assert_eq!(
        run(RowPolicy::for_ordered_reduce(
            Layouts::of_slice::<[f32; 3]>(),
            90
        )),
        4
    );
    assert_eq!(
        run(RowPolicy::for_ordered_reduce(
            Layouts::of_slice::<[f32; 4]>(),
            90
        )),
        2
    );
    assert_eq!(
        run(RowPolicy::for_ordered_reduce(
            Layouts::of_slice::<[u8; 6]>(),
            90
        )),
        8
    );
    assert_eq!(
        run(RowPolicy::for_ordered_reduce(
            Layouts::of_slice::<[f32; 9]>(),
            90
        )),
        1
    );
    // Long inputs of 32 bytes have runs of two elements.
    assert_eq!(
        runs(RowPolicy::for_ordered_reduce(
            Layouts::of_slice::<[f64; 4]>(),
            90
        )),
        [1, 2]
    );
    // Four of 20 bytes fill five words of 16 bytes.
    assert_eq!(
        run(RowPolicy::for_ordered_reduce(
            Layouts::of_slice::<[f32; 5]>(),
            90
        )),
        4
    );
    let two_slices = |capability| {
        RowPolicy::for_ordered_reduce(
            Layouts::of::<Map<both, Zip<(Slice<f32>, Slice<f32>)>>>(),
            capability,
        )
    };
    assert_eq!(run(two_slices(90)), 4);
    let compute_bound = ComputeBoundReduce::of(Layouts::of_slice::<f64>(), 90, u32::MAX)
        .expect("nothing costs more");
    assert_eq!(run(compute_bound.rows), 4);
    assert_eq!(
        RowPolicy::for_reduce(Layouts::of_slice::<f64>(), 90, Order::Any).run,
        2
    );
}

/// Between the ranges of lengths that have kernels of their own, all others have the usual one.
#[test]
fn an_element_may_have_several_ranges_of_lengths() {
    let policies = RowPolicy::for_ordered_reduce(Layouts::of_slice::<u8>(), 90);
    let lengths: Vec<u64> = policies.iter().map(|(most, _)| *most).collect();
    assert_eq!(lengths, [32 << 10, 5 << 18, 16 << 20, 128 << 20, u64::MAX]);
    let usual = RowPolicy::for_reduce(Layouts::of_slice::<u8>(), 90, Order::Law);
    let is_usual = policies.iter().map(|(_, policy)| *policy == usual);
    assert_eq!(
        is_usual.collect::<Vec<_>>(),
        [true, false, true, false, false]
    );
}

/// Code that shifts runs leaves fewer registers. Then half of the warps hold as much.
#[test]
fn elements_whose_runs_are_shifted_have_ranges_of_their_own() {
    let of_100_mib = |policies: Vec<(u64, RowPolicy)>| {
        let fits = |&&(most, _): &&(u64, RowPolicy)| 100 << 20 <= most;
        policies.iter().find(fits).expect("one for all lengths").1
    };
    let shifted = of_100_mib(RowPolicy::for_ordered_reduce(
        Layouts::of_slice::<[u16; 2]>(),
        90,
    ));
    let whole = of_100_mib(RowPolicy::for_ordered_reduce(
        Layouts::of_slice::<f32>(),
        90,
    ));
    assert_eq!([shifted.warps, whole.warps], [16, 32]);
    assert_eq!(shifted.elements(), whole.elements());
    let shifted = of_100_mib(RowPolicy::for_ordered_reduce(
        Layouts::of_slice::<[u16; 4]>(),
        90,
    ));
    let whole = of_100_mib(RowPolicy::for_ordered_reduce(
        Layouts::of_slice::<f64>(),
        90,
    ));
    assert_eq!([shifted.warps, whole.warps], [32, 16]);
    assert_eq!(4 * shifted.elements(), whole.elements());
}

#[crate::function]
fn both(x: f32, y: f32) -> [f32; 2] {
    [x, y]
}

#[crate::function]
fn widened(x: f32) -> [f64; 3] {
    [x as f64; 3]
}

/// The policy of long inputs in the law's order, by a cheap operator.
fn long_cheap<T: Element>() -> RowPolicy {
    let mut policies = RowPolicy::for_ordered_reduce(Layouts::of_slice::<T>(), 90);
    policies.pop().expect("one for long inputs").1
}

/// Where blocks take chunks in turn, the last ones are shorter. Long and short ones are the aligned
/// blocks of what they hold, each by themselves: so many of them as the number's bits say, from the
/// highest to the lowest. The kernel collects them so.
#[test]
fn the_last_chunks_are_shorter() {
    fn check<T: Element>() {
        let (rows, policy) = (long_cheap::<T>(), ReducePolicy::of::<T>());
        let first = (policy.group_bytes / size_of::<T>() as u64) as usize + 1;
        let lengths = (0..3000).map(|i| first + i * first / 97 + i);
        let mut are_long = 0;
        for (length, multiprocessors) in lengths.zip([132, 114, 16, 7].into_iter().cycle()) {
            let plan = ReducePlan::new(
                Layouts::of_slice::<T>(),
                (rows, policy),
                Order::Law,
                length,
                multiprocessors,
            );
            let chunks = plan.chunks;
            assert!(length as u64 - chunks.elements() < 1 << chunks.log_length);
            if chunks.long_ones == 0 {
                continue;
            }
            are_long += 1;
            let end = u64::from(chunks.long_ones) << chunks.log_ratio;
            let all = chunks.elements() >> chunks.log_length;
            assert!(all - end < 1 << end.trailing_zeros(), "{plan:?}");
        }
        assert!(are_long > 2000, "{are_long}");
    }
    check::<u8>();
    check::<f32>();
    check::<f64>();
    check::<[f32; 3]>();
    check::<[f32; 6]>();
    check::<[f64; 4]>();
}

/// Sources that read no memory may be far longer than memory is. Up to the most items, what fills
/// no chunk fits into 32 bits, and groups have no more parts than the kernel has room for.
#[test]
fn the_longest_reductions_have_plans() {
    fn check<T: Element>() {
        let groups = ComputeBoundReduce::of(Layouts::of_slice::<T>(), 90, u32::MAX)
            .expect("it costs enough");
        let (_, grouped) = *groups.rows.last().expect("one for long inputs");
        let in_turn = (long_cheap::<T>(), ReducePolicy::of::<T>());
        let powers = (33..=ReducePlan::MOST_ITEMS.ilog2()).map(|power| 1 << power);
        let lengths = powers.flat_map(|length| [length - 1, length, length / 7]);
        for (length, multiprocessors) in lengths.flat_map(|length| [(length, 132), (length, 4)]) {
            for (rows, policy) in [in_turn, (grouped, groups.cut)] {
                let plan = ReducePlan::new(
                    Layouts::of_slice::<T>(),
                    (rows, policy),
                    Order::Law,
                    length,
                    multiprocessors,
                );
                let chunks = plan.chunks;
                assert!(length as u64 - chunks.elements() <= u32::MAX.into());
                let log_part = rows.elements().ilog2() + chunks.log_batches;
                assert!(log_part + chunks.log_ratio < 32);
                if !rows.in_turn {
                    let parts = chunks.at_once << (chunks.log_length - log_part);
                    assert!(parts <= 256, "{length}: {plan:?}");
                }
            }
        }
    }
    check::<u8>();
    check::<f32>();
    check::<f64>();
    check::<[f32; 3]>();
    check::<[f32; 6]>();
}

/// Policies are split where blocks begin to take chunks in turn, and only there.
#[test]
fn policies_are_split_where_chunks_are_taken_in_turn() {
    let usual = RowPolicy::of_reduce::<f32>(Order::Law);
    let long = usual.taking_turns();
    let split = |policies: &[(u64, RowPolicy)]| RowPolicy::in_turn_beyond(100, policies.to_vec());
    assert_eq!(split(&[(7, usual)]), [(7, usual)]);
    assert_eq!(
        split(&[(7, usual), (u64::MAX, usual)]),
        [(7, usual), (100, usual), (u64::MAX, long)]
    );
    let at_the_end = [(100, usual), (200, usual), (u64::MAX, usual)];
    let expected = [(100, usual), (200, long), (u64::MAX, long)];
    assert_eq!(split(&at_the_end), expected);
    // Twice is once.
    assert_eq!(split(&expected), expected);
    let grouped = RowPolicy {
        way: Way::Grouped,
        ..usual
    };
    let with_groups = [(7, usual), (u64::MAX, grouped)];
    assert_eq!(split(&with_groups), with_groups);
}

/// Short inputs of bytes have the same policies by operators of three instructions and more.
#[test]
fn long_inputs_of_bytes_have_groups_unless_the_operator_is_cheap() {
    let cheap = RowPolicy::for_ordered_reduce(Layouts::of_slice::<u8>(), 90);
    let of = |capability, cost| ComputeBoundReduce::of(Layouts::of_slice::<u8>(), capability, cost);
    let compute_bound = of(90, 3).expect("it costs enough").rows;
    let [same @ .., (_, middle), (u64::MAX, long)] = &compute_bound[..] else {
        panic!("{compute_bound:?}")
    };
    assert_eq!(same, &cheap[..3]);
    assert_eq!(*middle, cheap[3].1);
    assert_eq!((long.way, long.in_turn), (Way::Grouped, false));
    assert!(of(90, 2).is_none());
}

/// At any length that is read at once, the blocks of a reduction in the law's order have about as
/// much to fold, and no more parts than the kernel has room for.
#[test]
fn groups_of_chunks_share_the_work() {
    fn check<T: Element>() {
        let (policy, multiprocessors) = (ReducePolicy::of::<T>(), 132);
        let rows = RowPolicy::of_reduce::<T>(Order::Law);
        for length in (1..400).map(|i| i * 32_768 + 1) {
            let plan = ReducePlan::new(
                Layouts::of_slice::<T>(),
                (rows, policy),
                Order::Law,
                length,
                multiprocessors,
            );
            let (at_once, chunks) = (plan.chunks.at_once, plan.chunks.count);
            let rest = u32::from(length as u64 > plan.chunks.elements());
            assert!(plan.blocks <= multiprocessors, "{length}: {plan:?}");
            assert_eq!(at_once, chunks.max(1).div_ceil(plan.blocks - rest));
            let log_part = rows.elements().ilog2() + plan.chunks.log_batches;
            let parts = at_once << (plan.chunks.log_length - log_part);
            assert!(parts <= 256, "{length}: {plan:?}");
            // A block has no more warps than there are parts for, or two.
            assert!(plan.threads <= 32 * parts.next_power_of_two().max(2));
            // A block has a fair share of the elements, and a chunk more at the most.
            let share = length as u64 / u64::from(multiprocessors - 1);
            let chunk = 1 << plan.chunks.log_length;
            assert!(
                u64::from(at_once) * chunk <= share + chunk || at_once == 1,
                "{length}: {plan:?}"
            );
        }
    }
    check::<u8>();
    check::<f32>();
    check::<f64>();
    check::<[f32; 3]>();
    check::<[f32; 6]>();
    check::<[f64; 4]>();
    fn shared_out<T: Element>(length: usize) -> (u32, u32, u32, u32) {
        let policy = (
            RowPolicy::of_reduce::<T>(Order::Law),
            ReducePolicy::of::<T>(),
        );
        let plan = ReducePlan::new(Layouts::of_slice::<T>(), policy, Order::Law, length, 132);
        let chunks = plan.chunks;
        (plan.threads, chunks.at_once, chunks.count, plan.blocks)
    }
    // 104 groups of 3 chunks, 27 of 2, and the rest.
    assert_eq!(shared_out::<f64>(3_000_000), (1024, 3, 366, 132));
    // A short input has a chunk for each block, which has a warp for each of its 4 parts.
    assert_eq!(shared_out::<f64>(100_000), (128, 1, 97, 98));
    // Groups of 5 and 4 chunks of 4 parts, for 16 warps.
    assert_eq!(shared_out::<[f32; 4]>(620_000), (512, 5, 605, 132));
    assert_eq!(shared_out::<[f64; 4]>(1_300_000), (512, 5, 634, 132));
}
