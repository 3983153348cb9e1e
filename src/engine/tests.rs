//! What holds for the plans of all engines.

use super::levels::MAX_LEVELS;
use super::workspace::{MOST_AT_ONCE, sums_bytes};
use super::*;
use crate::source::{Form, Map, Slice, Zip};

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

/// Runs in the law's order are whole words of 16 bytes, or single items.
#[test]
fn runs_are_whole_words_or_single_items() {
    fn check<F: Form<Item: Element>>(leaf: usize) {
        let layouts = Layouts::of::<F>();
        for (_, policy) in RowPolicy::for_ordered_reduce(layouts, 90) {
            let whole = (policy.run as usize * leaf).is_multiple_of(16);
            assert!(whole || policy.run == 1, "{leaf} bytes: {policy:?}");
        }
    }
    check::<Slice<u8>>(1);
    check::<Slice<u16>>(2);
    check::<Slice<f32>>(4);
    check::<Slice<f64>>(8);
    check::<Slice<[f32; 3]>>(12);
    check::<Slice<[f32; 4]>>(16);
    check::<Slice<[f32; 5]>>(20);
    check::<Slice<[u8; 6]>>(6);
    check::<Slice<[f32; 9]>>(36);
    check::<Slice<[f64; 4]>>(32);
    check::<Map<both, Zip<(Slice<f32>, Slice<f32>)>>>(4);
    check::<Map<widened, Slice<f32>>>(4);
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
}
