//! Reductions and scans of a case by the levels engine.

use super::cases::{Case, MOST, compare, place, script};
use super::drawn::drawn_module;
use crate::emulator::{Argument, Grid, Toolchain, address};
use crate::support::data::Sample;
use crate::support::oracle;
use warpfold::Monoid;
use warpfold::codegen::kernels;
use warpfold::codegen::{Engine, Layouts, LevelArguments, Plan, Primitive};
use warpfold::source::{Form, SliceArguments};

/// The levels engine is the specification; it takes sources too.
pub(super) fn check_levels<T: Sample, Op: Monoid<T>, F: Form<Item = T>>(
    name: &str,
    case: &Case<F>,
) {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    for primitive in Primitive::ALL {
        let module = match primitive {
            Primitive::Reduce => {
                drawn_module::<kernels::Reduce<T, Op, F>>(toolchain, name, Engine::Levels)
            }
            Primitive::Scan => {
                drawn_module::<kernels::Scan<T, Op, F>>(toolchain, name, Engine::Levels)
            }
        };
        let Some(module) = module else { continue };
        let mut script = script(case);
        let mut expected = Vec::new();
        for (number, length) in [1, 33, MOST].into_iter().enumerate() {
            let source = (case.arguments)(length);
            let plan = Plan::new(Layouts::of_slice::<T>(), primitive, length);
            place(&mut script, case, length, number);
            script.buffer("workspace", 0, plan.workspace_bytes());
            let results = match primitive {
                Primitive::Reduce => 1,
                Primitive::Scan => length,
            };
            script.buffer("out", 0, results * size_of::<T>());
            let level = |k: usize| match k {
                k if k == plan.levels() => 0,
                k => address("workspace", plan.offset(k)),
            };
            for launch in plan.launches().filter(|launch| launch.blocks > 0) {
                let k = launch.level;
                let (init, seeded) = (Op::identity().widen(), 0);
                let (length, above) = (plan.length(k), level(k + 1));
                let argument = if k == 0 {
                    Argument::of_struct(&LevelArguments {
                        source,
                        length,
                        out: address("out", 0),
                        above,
                        init,
                        seeded,
                        inclusive: 0,
                    })
                } else {
                    Argument::of_struct(&LevelArguments {
                        source: SliceArguments { address: level(k) },
                        length,
                        out: level(k),
                        above,
                        init,
                        seeded,
                        inclusive: 1,
                    })
                };
                let grid = Grid::new(launch.blocks, launch.threads);
                script.launch(launch.step.function(k > 0), grid, &[argument]);
            }
            script.save("out");
            script.clear();
            let items = &case.items[..length];
            match primitive {
                Primitive::Reduce => expected.push(oracle::reduce::<T, Op>(items, None)),
                Primitive::Scan => expected.extend(oracle::exclusive::<T, Op>(items, None)),
            }
        }
        compare(
            script,
            &format!("{} {name}", primitive.name()),
            &module,
            &expected,
        );
    }
}
