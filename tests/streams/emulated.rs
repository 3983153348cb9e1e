//! Pieces of streams in the emulator: from any position on, by kernels that get the carry and leave
//! the next one.

use crate::emulator::{Argument, Grid, Script, Toolchain, address, base_seed};
use crate::support::data::{Random, Sample, assert_same, sample};
use crate::support::matrix::is_drawn;
use crate::support::operators::{Bracketing, LogAddExp, OddMaps, Sums};
use crate::support::workspace::{KEY, used_workspace};
use half::f16;
use std::sync::atomic::{AtomicU64, Ordering};
use warpfold::codegen::kernels::{FoldArguments, Piece, PieceArguments, PieceFold};
use warpfold::codegen::{
    Kernel, Layouts, PiecePlan, RowPolicy, WavePlan, WavePolicy, WorkspaceArguments,
    lengths_of_blocks,
};
use warpfold::ops::Add;
use warpfold::shards::Nodes;
use warpfold::source::{Slice, SliceArguments};
use warpfold::{Carry, Element, Monoid, Prefixes, Scanner, bytemuck};

/// Blocks that hold little, so that short pieces have many tiles.
fn policy<T: Element>(rows: u32, batch: u32) -> RowPolicy {
    RowPolicy {
        rows,
        batch,
        warps: 2,
        sums: 1,
        blocks: 1,
        ..RowPolicy::of_scan::<T>(true)
    }
}

/// Near the borders of tiles and of the nodes over them: other places for each `WARPFOLD_SEED`.
fn drawn(tile: u64) -> (u64, usize) {
    static DRAWN: AtomicU64 = AtomicU64::new(0);
    let mut random = Random::new(base_seed() + DRAWN.fetch_add(1, Ordering::Relaxed));
    let mut below = |end: u64| (random.next() >> 20) % end;
    let start = match below(3) {
        0 => below(40) * tile,
        1 => (below(1 << 20) * 32 * tile).saturating_sub(below(40) * tile),
        _ => (1_u64 << (24 + below(36))).saturating_sub(below(40) * tile),
    };
    let more = [0, below(tile), tile - 1, below(8)][below(4) as usize];
    let tiles = [0, below(3), 30 + below(5), below(75)][below(4) as usize];
    let past = [0, below(tile), tile - 1, below(8)][below(4) as usize];
    (start + more, (tiles * tile + past).max(1) as usize)
}

/// Where a piece starts, and its length.
fn pieces(tile: u64) -> Vec<(u64, usize)> {
    let group = 32 * tile;
    let lengths = |tiles: u64, more: usize| tiles as usize * tile as usize + more;
    let mut pieces = vec![
        // In one tile.
        (0, 1),
        (0, lengths(1, 0) - 1),
        (3, 5),
        (tile - 1, 1),
        (5 * tile + 7, lengths(0, 20)),
        (tile / 2, lengths(0, tile as usize / 2 - 1)),
        // Whole tiles, and edges.
        (0, lengths(1, 0)),
        (0, lengths(3, 17)),
        (1, lengths(3, 0)),
        (tile - 1, lengths(2, 2)),
        (7 * tile, lengths(2, 0)),
        (7 * tile + 33, lengths(2, 1)),
        (group - 2 * tile - 1, lengths(5, 3)),
        // More than a group of tiles, across the borders of several levels.
        (0, lengths(70, 5)),
        (3 * tile + 1, lengths(66, 0)),
        (32 * group - 3 * tile + 5, lengths(7, 0)),
        ((1 << 40) - tile - 3, lengths(3, 0)),
        ((1 << 40) - 7, 7),
        ((0b1011 << 37) + 19 * group + 3 * tile + 9, lengths(16, 1)),
        ((1 << 63) - 2 * group - 1, lengths(40, 0)),
    ];
    pieces.extend((0..5).map(|_| drawn(tile)));
    pieces
}

/// A carry of made-up sums.
fn carry<T: Sample, Op: Monoid<T>>(position: u64) -> Carry<T, Op> {
    let sums = sample::<T>(position.count_ones() as usize, position);
    let sums = sums.into_iter().map(T::widen).collect();
    Carry::from_sums(position, sums).expect("a sum for each one")
}

/// The sums of a carry, by the logarithms of their blocks.
fn by_size<T: Sample, Op: Monoid<T>>(carry: &Carry<T, Op>) -> Vec<T::Accumulator> {
    let mut sums = carry.sums().iter();
    let mut all = vec![bytemuck::Zeroable::zeroed(); 64];
    for bit in (0..64).rev().filter(|bit| carry.position() >> bit & 1 == 1) {
        all[bit] = *sums.next().expect("a sum for each one");
    }
    all
}

/// How a kernel is launched for a piece.
struct Launch {
    grid: Grid,
    workspace: usize,
    /// For the rows engine.
    plan: Option<PiecePlan>,
    /// Whether slices may start anywhere.
    anywhere: bool,
}

/// The rows engine on pieces that start and end anywhere.
fn check<T: Sample, Op: Monoid<T>, const REVERSE: bool>(name: &str, rows: u32, batch: u32)
where
    T::Accumulator: Sample,
{
    let policy = policy::<T>(rows, batch);
    assert_eq!(Piece::<T, Op>::fault(policy), None);
    let kernel = Piece::<T, Op, Slice<T>, REVERSE>::kernel(policy);
    let tile = policy.elements() * u64::from(policy.warps);
    let launch = |position, len| {
        let plan = PiecePlan::new(policy, (policy.warps, 1), position, len, 4);
        Launch {
            grid: Grid::new(plan.tiles(), 32 * policy.warps),
            workspace: plan.workspace_bytes(Layouts::of_slice::<T>()),
            plan: Some(plan),
            anywhere: true,
        }
    };
    scan::<T, Op, REVERSE>(name, &kernel, &pieces(tile), &launch);
}

/// The wave engine on whole waves.
fn check_waves<T: Sample, Op: Monoid<T>>(name: &str, wave: u32, anywhere: bool)
where
    T::Accumulator: Sample,
{
    let usual = WavePolicy::of::<T>().expect("a wave engine");
    let policy = WavePolicy {
        warps: 2,
        rows: 1,
        stages: 3,
        loads: 2,
        wave,
        batch: 1,
        reducers: 1,
        anywhere,
        ..usual
    };
    let kernel = Piece::<T, Op>::of_waves(policy);
    let layouts = Layouts::of_slice::<T>();
    let launch = |_, len| {
        let plan = WavePlan::new(policy, len);
        Launch {
            grid: Grid {
                shared: policy.shared_bytes(layouts) as usize,
                ..Grid::new(plan.tiles(true).min(3), plan.threads())
            },
            workspace: plan.workspace_bytes(layouts),
            plan: None,
            anywhere,
        }
    };
    let wave = policy.tile() * u64::from(policy.wave);
    let pieces = [
        (0, 1),
        (0, 3),
        (1, 1),
        (5, 3),
        ((1 << 20) - 1, 2),
        ((5 << 33) + 6, 1),
        ((1 << 36) + 7, 2),
    ];
    let pieces = pieces.map(|(from, count)| (from * wave, (count * wave) as usize));
    scan::<T, Op, false>(name, &kernel, &pieces, &launch);
}

/// Scans pieces in every form, of their own and in place.
fn scan<T: Sample, Op: Monoid<T>, const REVERSE: bool>(
    name: &str,
    kernel: &Kernel,
    pieces: &[(u64, usize)],
    launch: &dyn Fn(u64, usize) -> Launch,
) where
    T::Accumulator: Sample,
{
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let name = format!("piece {name}");
    if !is_drawn(&name, ["piece brackets", "piece floats"].contains(&&*name)) {
        return;
    }
    let text = kernel.source().expect("a source");
    let module = toolchain.module(&name, &text, kernel.functions());
    let init = sample::<T>(1, 99)[0];
    for (number, &(position, len)) in pieces.iter().enumerate() {
        let input = sample::<T>(len, number as u64);
        let before = carry::<T, Op>(position);
        let Launch {
            grid,
            workspace: bytes,
            plan,
            anywhere,
        } = launch(position, len);
        let size = size_of::<T>();
        let mut script = Script::new();
        script.seed(base_seed() + number as u64);
        if plan.is_some_and(|plan| !plan.by_ticket()) {
            script.start_in_order();
        }
        script.file("workspace", &used_workspace(bytes));
        script.filled("workspace", 0, bytes, "workspace");
        let mut known = by_size(&before);
        known.resize(128, bytemuck::Zeroable::zeroed());
        script.file("carry", bytemuck::cast_slice(&known));
        script.file("items", bytemuck::cast_slice(&input));
        let shift = if anywhere { size } else { 0 };
        script.filled("items", number % 3 * shift, len * size, "items");
        let half = 64 * size_of::<T::Accumulator>();
        let (mut expected, mut left) = (Vec::new(), Vec::new());
        for (form, inclusive, seeded) in [(0, false, false), (1, true, false), (2, true, true)] {
            let in_place = form == 2 || number % 2 == 1;
            let prefixes = match (inclusive, seeded) {
                (false, _) => Prefixes::exclusive(),
                (true, false) => Prefixes::inclusive(),
                (true, true) => Prefixes::inclusive().from(init),
            };
            let prefixes = if REVERSE {
                prefixes.reverse()
            } else {
                prefixes
            };
            let [out, sums] = [["out0", "carry0"], ["out1", "carry1"], ["out2", "carry2"]][form];
            script.filled(sums, 0, 2 * half, "carry");
            if in_place {
                script.filled(out, number % 2 * shift, len * size, "items");
            } else {
                script.buffer(out, number % 2 * shift, len * size);
            }
            let given = PieceArguments {
                source: SliceArguments {
                    address: address(if in_place { out } else { "items" }, 0),
                },
                out: address(out, 0),
                length: len as u64,
                workspace: WorkspaceArguments {
                    address: address("workspace", 0),
                    key: KEY.key,
                },
                init: if seeded { init } else { Op::identity() }.widen(),
                position,
                before: address(sums, 0),
                after: address(sums, half),
                first: plan.map_or(0, |plan| plan.first),
                last: plan.map_or(0, |plan| plan.last),
                log_tile: plan.map_or(0, |plan| plan.log_tile),
                levels: plan.map_or(0, |plan| plan.levels()),
                seeded: seeded.into(),
                inclusive: inclusive.into(),
                by_ticket: plan.is_some_and(|plan| plan.by_ticket()).into(),
            };
            script.launch("scan_piece", grid, &[Argument::of_struct(&given)]);
            script.save(out);
            script.save(sums);
            let mut scanner = Scanner::<T, Op>::new(prefixes).after(before.clone());
            expected.push(scanner.scan(&input).expect("prefixes"));
            left.push(scanner.carry().clone());
        }
        let bytes = script.run_to_the_end(&format!("{name}, {len} from {position} on"), &module);
        let mut rest = &bytes[..];
        for (expected, left) in expected.iter().zip(&left) {
            let what = format!("{name}, {len} from {position} on");
            let (out, more) = rest.split_at(len * size);
            let (sums, more) = more.split_at(2 * half);
            rest = more;
            assert_same(&bytemuck::pod_collect_to_vec::<u8, T>(out), expected, &what);
            let sums: Vec<T::Accumulator> = bytemuck::pod_collect_to_vec(&sums[half..]);
            for (bit, (sum, expected)) in sums.iter().zip(by_size(left)).enumerate() {
                if left.position() >> bit & 1 == 1 {
                    assert_same(&[*sum], &[expected], &format!("{what}: 2^{bit} left"));
                }
            }
        }
        assert!(rest.is_empty());
    }
}

/// The sums of the aligned blocks that make pieces up.
fn check_folds<T: Sample, Op: Monoid<T>>(name: &str, rows: u32, per_warp: u32)
where
    T::Accumulator: Sample,
{
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let name = format!("fold of {name}");
    if !is_drawn(
        &name,
        ["fold of brackets", "fold of floats"].contains(&&*name),
    ) {
        return;
    }
    let policy = policy::<T>(rows, 1);
    let kernel = PieceFold::<T, Op>::kernel(policy, per_warp);
    let text = kernel.source().expect("a source");
    let module = toolchain.module(&name, &text, kernel.functions());
    let tile = policy.elements() * u64::from(policy.warps * per_warp);
    let size = size_of::<T>();
    for (number, &(position, len)) in pieces(tile).iter().enumerate() {
        let input = sample::<T>(len, number as u64);
        let plan = PiecePlan::new(policy, (policy.warps, per_warp), position, len, 4);
        let bytes = plan.workspace_bytes(Layouts::of_slice::<T>());
        let mut script = Script::new();
        script.seed(base_seed() + number as u64);
        if !plan.by_ticket() {
            script.start_in_order();
        }
        script.file("workspace", &used_workspace(bytes));
        script.filled("workspace", 0, bytes, "workspace");
        script.file("items", bytemuck::cast_slice(&input));
        script.filled("items", number % 3 * size, len * size, "items");
        let room = 128 * size_of::<T::Accumulator>();
        script.file("nothing", &vec![0; room]);
        script.filled("left", 0, room, "nothing");
        let given = FoldArguments {
            source: SliceArguments {
                address: address("items", 0),
            },
            length: len as u64,
            workspace: WorkspaceArguments {
                address: address("workspace", 0),
                key: KEY.key,
            },
            init: Op::identity().widen(),
            position,
            left: address("left", 0),
            first: plan.first,
            last: plan.last,
            log_tile: plan.log_tile,
            levels: plan.levels(),
            below: lengths_of_blocks(position, len),
            by_ticket: plan.by_ticket().into(),
        };
        let grid = Grid::new(plan.blocks_of_fold(), 32 * policy.warps);
        // A second launch finds the workspace as the first one left it.
        for _ in 0..2 {
            script.launch("fold_piece", grid, &[Argument::of_struct(&given)]);
        }
        script.save("left");
        let what = format!("{name}, {len} from {position} on");
        let left = script.run_to_the_end(&what, &module);
        let left: Vec<T::Accumulator> = bytemuck::pod_collect_to_vec(&left);
        let nodes = Nodes::<T, Op>::of(position, &input).expect("nodes");
        let expected: Vec<_> = nodes.iter().map(|(_, sum)| sum).collect();
        assert_same(&left[..expected.len()], &expected, &what);
    }
}

#[test]
fn folds_of_pieces_start_and_end_anywhere() {
    check_folds::<u64, Bracketing>("brackets", 2, 4);
    check_folds::<f32, Add>("floats", 4, 1);
    check_folds::<f16, Add>("halves", 1, 2);
    check_folds::<[u64; 8], Sums>("large", 1, 1);
    check_folds::<[u32; 2], OddMaps>("odd maps", 2, 8);
}

#[test]
fn pieces_start_and_end_anywhere() {
    check::<u64, Bracketing, false>("brackets", 4, 2);
    check::<f32, Add, false>("floats", 2, 2);
    check::<u64, Bracketing, true>("brackets in reverse", 2, 2);
    check::<f16, Add, false>("halves", 2, 1);
    check::<f32, LogAddExp, false>("functions", 2, 2);
    check::<[u64; 8], Sums, false>("large", 2, 1);
}

#[test]
fn waves_of_a_stream() {
    check_waves::<u64, Bracketing>("waves of brackets", 32, false);
    check_waves::<f32, Add>("waves of floats", 64, true);
}

#[test]
fn pieces_by_an_operator_that_does_not_commute() {
    check::<[u32; 2], OddMaps, false>("odd maps", 2, 2);
}
