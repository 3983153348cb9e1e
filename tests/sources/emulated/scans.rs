//! Scans of a case by each engine of one launch.

use super::cases::{Case, compare, lengths, place, script};
use super::drawn::drawn_module;
use crate::emulator::{Argument, Grid, Toolchain, address, base_seed};
use crate::engines::emulated::cases::workspace_of;
use crate::support::data::Sample;
use crate::support::oracle;
use warpfold::Monoid;
use warpfold::codegen::kernels::{self, ScanArguments};
use warpfold::codegen::{
    BlockPolicy, ComputeBoundScan, Engine, Layouts, RowPolicy, ScanPlan, SharePlan, SharePolicy,
    WavePlan, WavePolicy,
};
use warpfold::source::Form;

pub(super) fn check_scans<T: Sample, Op: Monoid<T>, F: Form<Item = T>>(name: &str, case: &Case<F>) {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let [short, long] = [false, true].map(|long| RowPolicy::for_scan(Layouts::of::<F>(), 90, long));
    let mut engines = vec![Engine::Rows(short), Engine::Rows(long)];
    let wave = WavePolicy::for_form(Layouts::of::<F>(), 90);
    engines.extend(wave.map(tiny).map(Engine::Wave));
    let anywhere = wave.and_then(|wave| wave.anywhere_of(Layouts::of::<F>()));
    engines.extend(anywhere.map(tiny).map(Engine::Wave));
    engines.dedup();
    engines.extend(BlockPolicy::for_scan(Layouts::of::<F>(), 90, 0).map(Engine::Block));
    // Eight rows a warp, loaded two at a time: shares of three levels.
    let compute_bound = ComputeBoundScan::of(Layouts::of::<F>(), 90, u32::MAX);
    engines.extend(compute_bound.map(|compute_bound| {
        Engine::Shares(SharePolicy {
            rows: 8,
            batch: 2,
            warps: 2,
            ..compute_bound.shares
        })
    }));
    for engine in engines {
        let kind = match engine {
            Engine::Rows(policy) => format!("{} rows", policy.rows),
            Engine::Wave(policy) => format!("wave {}", policy.anywhere),
            _ => engine.name().to_owned(),
        };
        let name = format!("{name} {kind}");
        let Some(module) = drawn_module::<kernels::Scan<T, Op, F>>(toolchain, &name, engine) else {
            continue;
        };
        let (run, share, aligned) = match engine {
            Engine::Rows(policy) => (policy.run, policy.elements(), false),
            Engine::Wave(policy) => (policy.run, policy.tile(), !policy.anywhere),
            Engine::Shares(policy) => (policy.run, policy.tile(), false),
            Engine::Block(policy) => (policy.run, 32 * u64::from(policy.run), false),
            _ => unreachable!("not among the engines"),
        };
        let most = match engine {
            Engine::Block(policy) => policy.elements() as usize,
            _ => usize::MAX,
        };
        let mut script = script(case);
        let mut expected = Vec::new();
        let lengths = lengths(run as usize, share as usize).into_iter();
        for (number, length) in lengths.filter(|&length| length <= most).enumerate() {
            script.seed(base_seed() + number as u64);
            place(&mut script, case, length, if aligned { 0 } else { number });
            script.filled("workspace", 0, 1 << 14, "workspace");
            let shift = if aligned {
                0
            } else {
                number % 3 * align_of::<T>()
            };
            script.buffer("out", shift, length * size_of::<T>());
            let (inclusive, seeded) = (number % 2 == 0, number % 3 == 0);
            let mut arguments = ScanArguments {
                source: (case.arguments)(length),
                out: address("out", 0),
                length: length as u64,
                workspace: workspace_of(2),
                init: if seeded {
                    case.items[0]
                } else {
                    Op::identity()
                }
                .widen(),
                identity: Op::identity().widen(),
                seeded: u32::from(seeded),
                inclusive: u32::from(inclusive),
                by_ticket: 1,
            };
            let grid = match engine {
                Engine::Rows(policy) => {
                    let multiprocessors = if number % 2 == 0 { 1 } else { u32::MAX };
                    let plan = ScanPlan::with_warps(policy, length, inclusive, multiprocessors, 1);
                    arguments.by_ticket = u32::from(plan.by_ticket);
                    arguments.workspace = workspace_of(plan.blocks);
                    Grid {
                        resident: resident(plan.by_ticket, plan.blocks),
                        ..Grid::new(plan.blocks, 32 * plan.warps)
                    }
                }
                Engine::Wave(policy) => {
                    let plan = WavePlan::new(policy, length);
                    Grid {
                        shared: WavePolicy::SHARED_BYTES as usize,
                        ..Grid::new(plan.tiles(inclusive).min(3), plan.threads())
                    }
                }
                Engine::Block(policy) => Grid::new(1, policy.threads(length)),
                Engine::Shares(policy) => {
                    let plan = SharePlan::new(policy, length);
                    arguments.by_ticket = u32::from(plan.by_ticket(inclusive));
                    arguments.workspace = workspace_of(plan.tiles(inclusive));
                    Grid {
                        shared: plan.shared_bytes(Layouts::of_slice::<T>()) as usize,
                        ..Grid::new(plan.tiles(inclusive), plan.threads())
                    }
                }
                _ => unreachable!("not among the engines"),
            };
            let function = format!("scan_{}", engine.name());
            script.launch(&function, grid, &[Argument::of_struct(&arguments)]);
            script.save("out");
            script.clear();
            let init = seeded.then_some(case.items[0]);
            let items = &case.items[..length];
            expected.extend(if inclusive {
                oracle::inclusive::<T, Op>(items, init)
            } else {
                oracle::exclusive::<T, Op>(items, init)
            });
        }
        compare(script, &name, &module, &expected);
    }
}

pub(crate) fn resident(by_ticket: bool, blocks: u64) -> u32 {
    if by_ticket { 0 } else { blocks as u32 }
}

pub(crate) fn tiny(policy: WavePolicy) -> WavePolicy {
    WavePolicy {
        warps: 2,
        rows: 1,
        stages: 3,
        loads: 2,
        wave: 32,
        reducers: 1,
        ..policy
    }
}
