//! What a workspace promises: no launch sees what an earlier one left, every launch leaves it ready
//! for the next, and overwriting it is detected.

use super::cases::{slice, workspace_of};
use crate::emulator::{Argument, Grid, Module, Script, Toolchain, address, base_seed};
use crate::support::data::sample;
use crate::support::oracle;
use crate::support::workspace::{header_after, used_workspace};
use warpfold::bytemuck;
use warpfold::codegen::kernels::{self, ReduceArguments, ScanArguments};
use warpfold::codegen::{
    Chunks, ComputeBoundScan, Engine, HEADER_BYTES, Kernels, Layouts, Order, ReducePlan,
    ReducePolicy, RowPolicy, ScanPlan, SharePlan, SharePolicy, WavePlan, WavePolicy, source,
};
use warpfold::ops::{Add, Max};

/// A kernel that needs a workspace for this many elements, and how it is launched.
struct Call {
    name: &'static str,
    module: Module,
    kernel: &'static str,
    length: usize,
    grid: Grid,
    workspace_bytes: usize,
    /// How a reduction is cut up.
    plan: Option<ReducePlan>,
    /// Whether blocks take tickets, and whether they count who has ended.
    takes: bool,
    counts: bool,
}

impl Call {
    /// One launch of the call on buffer `input`.
    fn launch(&self, script: &mut Script, input: &'static str, out: &'static str, inclusive: bool) {
        let (source, length) = (slice(input), self.length as u64);
        let (out, workspace) = (address(out, 0), workspace_of(2));
        let (init, seeded) = (0_u32, 0);
        let argument = match self.plan {
            Some(plan) => Argument::of_struct(&ReduceArguments {
                source,
                length,
                out,
                workspace,
                init,
                seeded,
                chunks: plan.chunks,
            }),
            None => Argument::of_struct(&ScanArguments {
                source,
                out,
                length,
                workspace,
                init,
                identity: init,
                seeded,
                inclusive: u32::from(inclusive),
                by_ticket: u32::from(self.takes),
            }),
        };
        script.launch(self.kernel, self.grid, &[argument]);
    }

    fn results(&self) -> usize {
        if self.plan.is_some() { 1 } else { self.length }
    }
}

fn module<K: Kernels>(toolchain: &Toolchain, name: &str, engine: Engine) -> Module {
    let text = source::<K>(engine).expect("the source can be generated");
    toolchain.module(
        &format!("workspace {name}"),
        &text,
        K::kernel(engine).functions(),
    )
}

/// A call of each engine on sums of `u32`, with a few blocks.
fn calls() -> Vec<Call> {
    let Some(toolchain) = Toolchain::get() else {
        return Vec::new();
    };
    let mut calls = Vec::new();

    let rows = RowPolicy::of_scan::<u32>(false);
    let length = 5 * rows.elements() as usize + 3;
    for by_ticket in [false, true] {
        let plan = ScanPlan::with_warps(rows, length, true, u32::MAX, 1);
        calls.push(Call {
            name: if by_ticket {
                "rows by ticket"
            } else {
                "rows by index"
            },
            module: module::<kernels::Scan<u32, Add>>(toolchain, "rows", Engine::Rows(rows)),
            kernel: "scan_rows",
            length,
            grid: Grid {
                resident: if by_ticket { 2 } else { plan.blocks as u32 },
                ..Grid::new(plan.blocks, 32 * plan.warps)
            },
            workspace_bytes: ScanPlan::workspace_bytes_for(
                Layouts::of_slice::<u32>(),
                rows,
                plan.blocks,
            ),
            plan: None,
            takes: by_ticket,
            counts: false,
        });
    }

    let wave = WavePolicy {
        warps: 2,
        rows: 1,
        stages: 3,
        loads: 2,
        wave: 32,
        reducers: 1,
        ..WavePolicy::of::<u32>().expect("a policy")
    };
    let length = 5 * wave.tile() as usize + 3;
    let plan = WavePlan::new(wave, length);
    calls.push(Call {
        name: "wave",
        module: module::<kernels::Scan<u32, Add>>(toolchain, "wave", Engine::Wave(wave)),
        kernel: "scan_wave",
        length,
        grid: Grid {
            shared: WavePolicy::SHARED_BYTES as usize,
            resident: 2,
            ..Grid::new(2, plan.threads())
        },
        workspace_bytes: plan.workspace_bytes(Layouts::of_slice::<u32>()),
        plan: None,
        takes: true,
        counts: true,
    });

    let compute_bound =
        ComputeBoundScan::of(Layouts::of_slice::<u32>(), 90, u32::MAX).expect("elements are small");
    let shares = SharePolicy {
        rows: 2,
        batch: 2,
        warps: 4,
        ..compute_bound.shares
    };
    let length = 5 * shares.tile() as usize + 3;
    let plan = SharePlan::new(shares, length);
    calls.push(Call {
        name: "shares",
        module: module::<kernels::Scan<u32, Add>>(toolchain, "shares", Engine::Shares(shares)),
        kernel: "scan_shares",
        length,
        grid: Grid {
            shared: plan.shared_bytes(Layouts::of_slice::<u32>()) as usize,
            resident: 2,
            ..Grid::new(plan.tiles(false), plan.threads())
        },
        workspace_bytes: plan.workspace_bytes(Layouts::of_slice::<u32>()),
        plan: None,
        takes: true,
        counts: false,
    });

    for (name, order) in [
        ("reduction in any order", Order::Any),
        ("reduction by the law", Order::Law),
    ] {
        let rows = RowPolicy::of_reduce::<u32>(order);
        let length = 9 * rows.elements() as usize + 3;
        let by_law = rows.taking_turns();
        let rows = if order == Order::Law { by_law } else { rows };
        let mut plan = ReducePlan::with_chunks(by_law, length, 1, 0, 3);
        let engine = Engine::Rows(rows);
        let module = match order {
            Order::Any => {
                plan.chunks = Chunks::NONE;
                module::<kernels::Reduce<u32, Add>>(toolchain, name, engine)
            }
            Order::Law => module::<kernels::Reduce<u32, InOrder>>(toolchain, name, engine),
        };
        calls.push(Call {
            name,
            module,
            kernel: "reduce_rows",
            length,
            grid: Grid {
                resident: plan.blocks,
                ..Grid::new(u64::from(plan.blocks), plan.threads)
            },
            workspace_bytes: ReducePlan::workspace_bytes(
                Layouts::of_slice::<u32>(),
                (rows, ReducePolicy::of::<u32>()),
                1 << 20,
            ),
            plan: Some(plan),
            takes: order == Order::Law,
            counts: false,
        });
    }
    calls
}

/// A sum that does not say that it commutes, so that it is bracketed by the law.
#[warpfold::monoid(identity = 0, exact)]
fn in_order(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

/// A script with two inputs and a workspace whose start was changed.
fn script(call: &Call, seed: u64, spoil: impl FnOnce(&mut [u8])) -> (Script, [Vec<u32>; 2]) {
    let inputs = [1, 2].map(|seed| sample::<u32>(call.length, seed));
    let mut workspace = used_workspace(call.workspace_bytes);
    spoil(&mut workspace[..HEADER_BYTES]);
    let mut script = Script::new();
    script.seed(base_seed() + seed);
    for (name, data) in ["first", "second"].into_iter().zip(&inputs) {
        script.file(name, bytemuck::cast_slice(data));
        script.filled(name, 0, 4 * call.length, name);
    }
    script.file("workspace", &workspace);
    script.filled("workspace", 0, call.workspace_bytes, "workspace");
    script.buffer("out", 0, 4 * call.results());
    (script, inputs)
}

fn expected(call: &Call, data: &[u32], inclusive: bool) -> Vec<u32> {
    match (call.plan.is_some(), inclusive) {
        (true, _) => vec![oracle::reduce::<u32, Add>(data, None)],
        (false, true) => oracle::inclusive::<u32, Add>(data, None),
        (false, false) => oracle::exclusive::<u32, Add>(data, None),
    }
}

/// More launches than a byte counts, on two inputs in turn: each result is that of its own input.
#[test]
fn no_launch_sees_what_an_earlier_one_left() {
    for call in calls() {
        let launches = 260;
        let (mut script, inputs) = script(&call, 0, |_| ());
        for launch in 0..launches {
            let input = ["first", "second"][launch % 2];
            call.launch(&mut script, input, "out", launch % 3 == 0);
            script.save("out");
        }
        let output = script.run_to_the_end(call.name, &call.module);
        let results: Vec<u32> = bytemuck::pod_collect_to_vec(&output);
        for (launch, got) in results.chunks(call.results()).enumerate() {
            let expected = expected(&call, &inputs[launch % 2], launch % 3 == 0);
            assert_eq!(got, expected, "{}, launch {launch}", call.name);
        }
    }
}

#[test]
fn every_launch_leaves_the_header_ready_for_the_next() {
    for call in calls() {
        for seed in 0..8 {
            let (mut script, _) = script(&call, seed, |_| ());
            for _ in 0..3 {
                call.launch(&mut script, "first", "out", seed % 2 == 0);
            }
            script.save("workspace");
            let saved = script.run_to_the_end(call.name, &call.module);
            assert_eq!(saved[..HEADER_BYTES], header_after(3), "{}", call.name);
        }
    }
}

#[test]
fn an_overwritten_header_ends_the_launch() {
    const MESSAGE: &str = "the start of the workspace was overwritten";
    for call in calls() {
        let stopped = |what: &str, spoil: &dyn Fn(&mut [u8])| {
            for seed in 0..4 {
                let (mut script, _) = script(&call, seed, spoil);
                call.launch(&mut script, "first", "out", true);
                let message = script.run(&call.module).expect_err(what);
                let name = call.name;
                assert!(message.contains(MESSAGE), "{name}, {what}: {message}");
            }
        };
        stopped("zeros", &|header| header.fill(0));
        stopped("noise", &|header| {
            header.copy_from_slice(bytemuck::cast_slice(&sample::<u64>(HEADER_BYTES / 8, 7)));
        });
        stopped("results whose first is zero", &|header| {
            let counts = [
                0_u32, 3, 4, 11, 11, 15, 16, 22, 25, 25, 26, 30, 31, 31, 32, 40,
            ];
            header.copy_from_slice(bytemuck::cast_slice(&counts));
        });
        stopped("the tag of another workspace", &|header| header[0] ^= 1);
        if call.takes {
            stopped("tickets from before", &|header| {
                header[16..24].copy_from_slice(&3_u64.to_ne_bytes());
            });
        }
        if call.counts {
            stopped("a count from before", &|header| {
                header[24..28].copy_from_slice(&1_u32.to_ne_bytes());
            });
        }
    }
}

/// A maximum puts chosen values in the place of tags, if what it folds is as long as a packet.
#[test]
fn data_is_never_taken_for_a_tag() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    // All sums of an earlier call by levels, which lie unpacked where packets would.
    let rows = RowPolicy::of_scan::<u64>(false);
    let length = 3 * rows.elements() as usize + 1;
    let plan = ScanPlan::with_warps(rows, length, false, u32::MAX, 1);
    let bytes = ScanPlan::workspace_bytes_for(Layouts::of_slice::<u64>(), rows, plan.blocks);
    let module = module::<kernels::Scan<u64, Max>>(toolchain, "data", Engine::Rows(rows));
    let data = sample::<u64>(length, 3);
    // A caller can know everything but the key and the tags that are drawn with it.
    let known = [0, u64::MAX, 0x7761_7270_6630_6c64, data[0]];
    for word in known {
        let mut workspace = used_workspace(bytes);
        for packet in workspace[HEADER_BYTES..].chunks_exact_mut(8) {
            packet.copy_from_slice(&word.to_ne_bytes());
        }
        let mut script = Script::new();
        script.seed(base_seed());
        script.file("in", bytemuck::cast_slice(&data));
        script.file("workspace", &workspace);
        script.filled("in", 0, 8 * length, "in");
        script.filled("workspace", 0, bytes, "workspace");
        script.buffer("out", 0, 8 * length);
        let arguments = ScanArguments {
            source: slice("in"),
            out: address("out", 0),
            length: length as u64,
            workspace: workspace_of(2),
            init: 0_u64,
            identity: 0,
            seeded: 0,
            inclusive: 0,
            by_ticket: 0,
        };
        let grid = Grid {
            resident: plan.blocks as u32,
            ..Grid::new(plan.blocks, 32 * plan.warps)
        };
        script.launch("scan_rows", grid, &[Argument::of_struct(&arguments)]);
        script.save("out");
        let output = script.run_to_the_end("data", &module);
        let got: Vec<u64> = bytemuck::pod_collect_to_vec(&output);
        assert_eq!(got, oracle::exclusive::<u64, Max>(&data, None));
    }
}
