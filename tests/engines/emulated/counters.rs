//! What kernels ask of the machine, counted in the emulator: lanes that work, requests to memory,
//! bank conflicts.

use super::cases::{slice, workspace_of};
use crate::emulator::{Argument, Grid, Module, Script, Tally, Toolchain, address};
use crate::support::data::{Sample, sample};
use crate::support::matrix::{is_drawn, is_in_every_run};
use crate::support::operators::{Bicyclic, BicyclicProduct, Sums};
use crate::support::workspace::used_workspace;
use std::any::type_name;
use warpfold::bytemuck;
use warpfold::codegen::{
    Chunks, Engine, LevelArguments, Order, Policy, Primitive, ReducePlan, RowPolicy, Step, kernels,
    source, with_kernels,
};
use warpfold::ops::{Add, Max};
use warpfold::{Element, Monoid};

// ---- textbook kernels, whose figures are known ----

const REDUCTIONS: &str = include_str!("../../kernels/reductions.cu");

/// What one of the kernels of `reductions.cu` asks for, to add up `length` ones.
fn reduction(module: &Module, kernel: &str, length: usize) -> Vec<Tally> {
    let mut script = Script::new();
    script.file("ones", bytemuck::cast_slice(&vec![1f32; length]));
    script.filled("data", 0, 4 * length, "ones");
    script.buffer("sum", 0, 4);
    let arguments = [Argument::At("data", 0), Argument::At("sum", 0)];
    script.launch(kernel, Grid::new(1, length as u32 / 2), &arguments);
    script.save("sum");
    let (sum, tallies) = script.count(kernel, module);
    assert_eq!(sum, (length as f32).to_ne_bytes(), "{kernel}");
    tallies
}

/// The places of the steps in `reductions.cu`, in the order of the kernels.
fn steps() -> Vec<String> {
    let lines = REDUCTIONS.lines().zip(1..);
    lines
        .filter(|(line, _)| line.ends_with("// the step"))
        .map(|(_, number)| format!("reductions.cu:{number}"))
        .collect()
}

fn is_global(tally: &Tally) -> bool {
    tally.operation.starts_with("global")
}

#[test]
fn figures_of_the_textbook_reductions() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let kernels = ["divergent", "convergent", "in_shared_memory"];
    let text = with_kernels(REDUCTIONS, "reductions.cu").unwrap();
    let module = toolchain.module("reductions", &text, &kernels);
    let count = |kernel: usize, length| reduction(&module, kernels[kernel], length);
    let steps = steps();

    // At 256 numbers, 255 sums are stored. The text has four warps at work for five rounds, then
    // two and one, which could have stored 736, and so a utilisation of 0.35. It leaves out the
    // sixth round, in which each of the four warps has one lane at work; its formulas for the sums
    // and for the requests have that round, as the counters do.
    let step = |tally: &Tally| tally.place == steps[0] && tally.operation == "global_store";
    let sums = Tally::sum(&count(0, 256), step);
    let sixth_round = 4 * 32;
    assert_eq!((sums.lanes, 32 * sums.issued - sixth_round), (255, 736));

    // Requests of 128 bytes, for the steps of the first two kernels and for all that the third
    // does.
    for (length, requests) in [(256, [141, 36, 9]), (2048, [1149, 204, 65])] {
        for kernel in [0, 1] {
            let tallies = count(kernel, length);
            let in_steps = Tally::sum(&tallies, |t| is_global(t) && t.place == steps[kernel]);
            assert_eq!(
                in_steps.lines, requests[kernel],
                "{} of {length}",
                kernels[kernel]
            );
            // The sum is read and written once more at the end.
            assert_eq!(Tally::sum(&tallies, is_global).lines, requests[kernel] + 2);
        }
        let tallies = count(2, length);
        assert_eq!(
            Tally::sum(&tallies, is_global).lines,
            requests[2],
            "{length}"
        );
        assert_eq!(Tally::sum(&tallies, |_| true).conflicts, 0, "{length}");
    }

    // Every warp comes to every barrier.
    let barriers = Tally::sum(&count(1, 256), |t| t.operation == "block_barrier");
    assert_eq!((barriers.issued, barriers.lanes), (8 * 4, 8 * 128));
}

// ---- the generated kernels ----

/// The scan's source and the module it becomes, after `change`.
fn scan_module<T: Element, Op: Monoid<T>>(
    toolchain: &Toolchain,
    name: &str,
    change: impl Fn(String) -> String,
) -> Module {
    let text = change(source::<kernels::Scan<T, Op>>(Engine::Levels).unwrap());
    let name = format!("{name} scan {}", type_name::<T>());
    let function = Step::ScanTiles.function(false);
    toolchain.module(&name, &text, &[function])
}

/// What the scan of one whole tile asks for.
fn scan_of_a_tile<T: Sample, Op: Monoid<T>>(module: &Module) -> Vec<Tally> {
    let policy = Policy::of::<T>(Primitive::Scan);
    let tile = policy.tile() as usize;
    let bytes = tile * size_of::<T>();
    let mut script = Script::new();
    script.file("data", bytemuck::cast_slice(&sample::<T>(tile, 0)));
    script.filled("in", 0, bytes, "data");
    script.buffer("out", 0, bytes);
    let arguments = LevelArguments {
        source: slice("in"),
        length: tile as u64,
        out: address("out", 0),
        above: 0,
        init: Op::identity().widen(),
        seeded: 0,
        inclusive: 0,
    };
    let function = Step::ScanTiles.function(false);
    let grid = Grid::new(1, policy.threads);
    script.launch(function, grid, &[Argument::of_struct(&arguments)]);
    script.save("out");
    script.count("scan_tiles", module).1
}

fn replace_once(text: String, from: &str, to: &str) -> String {
    assert_eq!(
        text.matches(from).count(),
        1,
        "`{from}` stands once in the kernels"
    );
    text.replace(from, to)
}

/// A kernel whose trees and tiles lie in shared memory without gaps.
fn without_padding(text: String) -> String {
    let text = replace_once(
        text,
        "(WORDS % 2 == 0 ? WORDS + 1 : WORDS) * WORD",
        "WORDS * WORD",
    );
    let text = replace_once(
        text,
        "bytes + i * STRIDE + (int)((u32)i / WARP) * WORD",
        "bytes + i * STRIDE",
    );
    let text = replace_once(
        text,
        "LENGTH * STRIDE + LENGTH / WARP * WORD",
        "LENGTH * STRIDE",
    );
    replace_once(text, "R::BYTES / WIDE % 2 == 0 ? WIDE : 0", "0")
}

/// Conflicts in the trees and in the tiles.
fn conflicts(tallies: &[Tally]) -> (u64, u64) {
    let in_file = |file| Tally::sum(tallies, |t| t.place.starts_with(file)).conflicts;
    let (trees, tiles) = (in_file("padded.cuh:"), in_file("tile.cuh:"));
    assert_eq!(trees + tiles, Tally::sum(tallies, |_| true).conflicts);
    (trees, tiles)
}

/// There are none; `unpadded` is what there would be.
fn check_conflicts<T: Sample, Op: Monoid<T>>(toolchain: &Toolchain, unpadded: (u64, u64)) {
    let name = format!("conflicts {}", type_name::<T>());
    if !is_drawn(&name, is_in_every_run::<T, Op>()) {
        return;
    }
    let module = scan_module::<T, Op>(toolchain, "padded", |text| text);
    let plain = scan_module::<T, Op>(toolchain, "plain", without_padding);
    let found = [&module, &plain].map(|module| conflicts(&scan_of_a_tile::<T, Op>(module)));
    assert_eq!(
        found,
        [(0, 0), unpadded],
        "{}: in trees and in tiles",
        type_name::<T>()
    );
}

#[test]
fn padding_removes_bank_conflicts() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    check_conflicts::<u8, Add>(toolchain, (0, 192));
    check_conflicts::<u16, Add>(toolchain, (7, 384));
    check_conflicts::<f32, Add>(toolchain, (7, 384));
    check_conflicts::<f64, Add>(toolchain, (7, 1792));
    check_conflicts::<Bicyclic, BicyclicProduct>(toolchain, (7, 1792));
    check_conflicts::<[u32; 3], Sums>(toolchain, (21, 192));
    check_conflicts::<[u64; 8], Sums>(toolchain, (1088, 1792));
}

/// Whole tiles are read once and written once, each line of memory by one request.
fn check_requests<T: Sample>(toolchain: &Toolchain)
where
    Add: Monoid<T>,
{
    let name = format!("requests {}", type_name::<T>());
    if !is_drawn(&name, is_in_every_run::<T, Add>()) {
        return;
    }
    let module = scan_module::<T, Add>(toolchain, "padded", |text| text);
    let tallies = scan_of_a_tile::<T, Add>(&module);
    let bytes = Policy::of::<T>(Primitive::Scan).tile() * size_of::<T>() as u64;
    for operation in ["global_load", "global_store"] {
        let sum = Tally::sum(&tallies, |t| t.operation == operation);
        assert_eq!(
            (sum.lines, sum.sectors, sum.lanes),
            (bytes / 128, bytes / 32, 32 * sum.issued),
            "{operation} of {}",
            type_name::<T>()
        );
    }
}

#[test]
fn a_scan_touches_each_line_of_memory_once() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    check_requests::<u8>(toolchain);
    check_requests::<f32>(toolchain);
    check_requests::<u64>(toolchain);
}

/// What a reduction in one launch reads. Blocks take one chunk each, or several.
fn reads_of_a_reduction<T: Sample, Op: Monoid<T>>(
    module: &Module,
    rows: RowPolicy,
    batches: usize,
    blocks: u64,
) -> Tally {
    let length = batches * rows.elements() as usize;
    let mut plan = ReducePlan::with_chunks(rows.taking_turns(), length, 1, 0, blocks);
    if Order::of::<T, Op>() == Order::Any {
        plan.chunks = Chunks::NONE;
    }
    let workspace = used_workspace(1 << 16);
    let mut script = Script::new();
    script.file("data", bytemuck::cast_slice(&sample::<T>(length, 0)));
    script.file("workspace", &workspace);
    script.filled("in", 0, length * size_of::<T>(), "data");
    script.filled("workspace", 0, workspace.len(), "workspace");
    script.buffer("out", 0, size_of::<T>());
    let arguments = kernels::ReduceArguments {
        source: slice("in"),
        length: length as u64,
        out: address("out", 0),
        workspace: workspace_of(2),
        init: Op::identity().widen(),
        seeded: 0,
        chunks: plan.chunks,
    };
    let grid = Grid {
        resident: plan.blocks,
        ..Grid::new(plan.blocks.into(), plan.threads)
    };
    script.launch("reduce_rows", grid, &[Argument::of_struct(&arguments)]);
    script.save("out");
    let tallies = script.count("reduce_rows", module).1;
    Tally::sum(&tallies, |t| t.operation == "global_load")
}

/// Whole batches: words of 16 bytes are as many as the input has. Where a run is one word, each
/// line of memory is read by one request.
fn check_reads<T: Sample, Op: Monoid<T>>(toolchain: &Toolchain) {
    let name = format!("{} {}", type_name::<T>(), type_name::<Op>());
    if !is_drawn(&format!("reads {name}"), is_in_every_run::<T, Op>()) {
        return;
    }
    let order = Order::of::<T, Op>();
    let rows = RowPolicy {
        in_turn: order == Order::Law,
        ..RowPolicy::of_reduce::<T>(order)
    };
    let text = source::<kernels::Reduce<T, Op>>(Engine::Rows(rows)).unwrap();
    let module = toolchain.module(&format!("reads {name}"), &text, &["reduce_rows"]);
    for (batches, blocks) in [(1, 1), (6, 6), (9, 4)] {
        let bytes = batches as u64 * rows.elements() * size_of::<T>() as u64;
        let loads = reads_of_a_reduction::<T, Op>(&module, rows, batches, blocks);
        let what = format!("{name}: {batches} batches by {blocks} blocks");
        assert_eq!(loads.lanes, bytes / 16, "{what}");
        if rows.run as usize * size_of::<T>() == 16 {
            assert_eq!(
                (loads.lines, loads.sectors),
                (bytes / 128, bytes / 32),
                "{what}"
            );
        }
    }
}

#[test]
fn a_reduction_reads_each_word_of_memory_once() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    check_reads::<u8, Add>(toolchain);
    check_reads::<u32, Max>(toolchain);
    check_reads::<f32, Add>(toolchain);
    check_reads::<f64, Add>(toolchain);
    check_reads::<Bicyclic, BicyclicProduct>(toolchain);
    check_reads::<[u64; 8], Sums>(toolchain);
}
