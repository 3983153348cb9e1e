//! Reductions of a case by each engine of one launch.

use super::cases::{Case, compare, lengths, place, script};
use super::drawn::drawn_module;
use crate::emulator::{Argument, Grid, Module, Toolchain, address, base_seed};
use crate::engines::emulated::cases::workspace_of;
use crate::support::data::Sample;
use crate::support::oracle;
use warpfold::Monoid;
use warpfold::codegen::kernels::{self, ReduceArguments};
use warpfold::codegen::{
    BlockPolicy, Chunks, Engine, Layouts, Order, ReducePlan, ReducePolicy, RowPolicy,
};
use warpfold::source::Form;

pub(crate) fn check_reductions<T: Sample, Op: Monoid<T>, F: Form<Item = T>>(
    name: &str,
    case: &Case<F>,
) {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let order = Order::of::<T, Op>();
    let rows = RowPolicy {
        in_turn: order == Order::Law,
        ..RowPolicy::for_reduce(Layouts::of::<F>(), 90, order)
    };
    let block = BlockPolicy::for_reduce(Layouts::of::<F>(), 90, Order::Law, 0).map(Engine::Block);
    for engine in [Engine::Rows(rows)].into_iter().chain(block) {
        let name = format!("{name} {}", engine.name());
        let drawn = drawn_module::<kernels::Reduce<T, Op, F>>(toolchain, &name, engine);
        if let Some(module) = drawn {
            check_reduction::<T, Op, F>(&name, case, &module, engine);
        }
    }
}

fn check_reduction<T: Sample, Op: Monoid<T>, F: Form<Item = T>>(
    name: &str,
    case: &Case<F>,
    module: &Module,
    engine: Engine,
) {
    let order = Order::of::<T, Op>();
    let (run, share, most) = match engine {
        Engine::Block(policy) => (policy.run, 32 * policy.run, policy.elements() as usize),
        Engine::Rows(policy) => (policy.run, policy.elements() as u32, usize::MAX),
        _ => unreachable!("not among the engines"),
    };
    let mut script = script(case);
    let mut expected = Vec::new();
    let lengths = lengths(run as usize, share as usize).into_iter();
    for (number, length) in lengths.filter(|&length| length <= most).enumerate() {
        script.seed(base_seed() + number as u64);
        place(&mut script, case, length, number);
        script.filled("workspace", 0, 1 << 14, "workspace");
        script.buffer("out", 0, size_of::<T>());
        let plans = match engine {
            Engine::Block(policy) => vec![ReducePlan::in_one_block(policy.threads(length))],
            Engine::Rows(policy) => {
                let cut = ReducePolicy::of::<T>();
                let usual =
                    ReducePlan::new(Layouts::of_slice::<T>(), (policy, cut), order, length, 2);
                let by_law = policy.taking_turns();
                let cut = ReducePlan::with_chunks(by_law, length, 1, 0, 3);
                let is_cut = cut.blocks > 1 && cut.chunks.count < 40;
                let chunks = match order {
                    Order::Any => Chunks::NONE,
                    Order::Law => cut.chunks,
                };
                let cut = is_cut.then_some(ReducePlan { chunks, ..cut });
                [usual].into_iter().chain(cut).collect()
            }
            _ => unreachable!("not among the engines"),
        };
        for plan in plans {
            let arguments = ReduceArguments {
                source: (case.arguments)(length),
                length: length as u64,
                out: address("out", 0),
                workspace: workspace_of(plan.blocks.into()),
                init: case.items[0].widen(),
                seeded: (number % 2) as u32,
                chunks: plan.chunks,
            };
            let grid = Grid {
                resident: plan.blocks,
                ..Grid::new(plan.blocks.into(), plan.threads)
            };
            let function = format!("reduce_{}", engine.name());
            script.launch(&function, grid, &[Argument::of_struct(&arguments)]);
            script.save("out");
            let init = (number % 2 == 1).then_some(case.items[0]);
            expected.push(oracle::reduce::<T, Op>(&case.items[..length], init));
        }
        script.clear();
    }
    compare(script, &format!("reduce {name}"), module, &expected);
}
