//! Every generated kernel, run in the emulator: it equals the oracle bit for bit under any schedule, and breaks
//! no rule.

use crate::emulator::{Argument, Grid, Script, Toolchain, base_seed};
use crate::support::data::{Sample, assert_same, boundary_lengths, sample};
use crate::support::matrix::{self, Visitor, for_every_group};
use crate::support::oracle;
use std::any::{TypeId, type_name};
use warpfold::bytemuck;
use warpfold::codegen::{Kernel, Plan, Policy, Primitive, source};
use warpfold::ops::{Max, Min};
use warpfold::{Element, Monoid};

/// One call of a primitive.
#[derive(Debug, Clone, Copy)]
struct Case {
    primitive: Primitive,
    length: usize,
    seeded: bool,
    inclusive: bool,
    in_place: bool,
    /// How far input and output are from where an allocation starts, in units of the element's
    /// alignment: misaligned in every way that a slice, or a view of other memory, can be.
    shifts: (usize, usize),
}

impl Case {
    /// Appends the commands that run the case on a prefix of the file `data`. The output is saved.
    fn append_to<T: Element, Op: Monoid<T>>(&self, script: &mut Script, init: T) {
        let plan = Plan::new::<T>(self.primitive, self.length);
        let bytes = self.length * size_of::<T>();
        let output_bytes = match self.primitive {
            Primitive::Scan => bytes,
            Primitive::Reduce => size_of::<T>(),
        };
        let shift = |units: usize| units * align_of::<T>();
        script.filled("in", shift(self.shifts.0), bytes, "data");
        script.buffer("workspace", 0, plan.workspace_bytes());
        if !self.in_place {
            script.buffer("out", shift(self.shifts.1), output_bytes);
        }
        let out = if self.in_place { "in" } else { "out" };
        let level = |k: usize| match k {
            0 => Argument::At("in", 0),
            k if k == plan.levels() => Argument::Null,
            k => Argument::At("workspace", plan.offset(k)),
        };
        let init = if self.seeded { init } else { Op::identity() };
        let init = Argument::value(init.widen());
        let seeded = Argument::value(u32::from(self.seeded));

        for launch in plan.launches().filter(|launch| launch.blocks > 0) {
            let k = launch.level;
            let length = Argument::value(plan.length(k));
            let arguments = match launch.kernel {
                Kernel::ReduceTiles => vec![level(k), level(k + 1)],
                Kernel::ReduceFinish => vec![
                    level(0),
                    length,
                    Argument::At("workspace", 0),
                    Argument::At(out, 0),
                    init.clone(),
                    seeded.clone(),
                ],
                Kernel::ScanTiles => vec![
                    level(k),
                    if k == 0 {
                        Argument::At(out, 0)
                    } else {
                        level(k)
                    },
                    length,
                    level(k + 1),
                    init.clone(),
                    seeded.clone(),
                    Argument::value(u32::from(self.inclusive || k > 0)),
                ],
            };
            let function = launch.kernel.function(k, widens::<T>());
            script.launch(
                function,
                Grid::new(launch.blocks, launch.threads),
                &arguments,
            );
        }
        script.save(out);
        script.clear();
    }
}

/// Whether the kernels exist a second time, for sums in a wider type.
fn widens<T: Element>() -> bool {
    TypeId::of::<T>() != TypeId::of::<T::Accumulator>()
}

/// The lengths to test, the long ones (an emulated block takes milliseconds) once only.
fn cases<T: Element>(primitive: Primitive) -> Vec<Case> {
    let tile = Policy::of::<T>(primitive).tile() as usize;
    let mut lengths = boundary_lengths(tile);
    lengths.retain(|&length| length < 5 * tile || length == 33 * tile + 1);
    if tile * tile <= 1 << 16 {
        lengths.push(tile * tile + tile + 3);
        assert_eq!(
            Plan::new::<T>(primitive, tile * tile + tile + 3).levels(),
            3
        );
    }

    // All combinations in turn: 5 placements meet 4 variants, so 20 cases see each pair.
    let placements = [
        (false, (0, 0)),
        (true, (0, 0)),
        (false, (1, 0)),
        (false, (3, 5)),
        (true, (1, 1)),
    ];
    let mut cases = Vec::new();
    for length in lengths {
        let times = if length <= tile + 1 {
            3
        } else if length < 5 * tile {
            2
        } else {
            1
        };
        for _ in 0..times {
            let number = cases.len();
            let (in_place, shifts) = placements[number % placements.len()];
            cases.push(Case {
                primitive,
                length,
                seeded: number & 1 == 1,
                inclusive: number & 2 == 2,
                in_place: in_place && primitive == Primitive::Scan,
                shifts,
            });
        }
    }
    cases
}

/// Runs the kernels of `T` and `Op` on prefixes of what `data` gives for a length, and compares.
fn check<T: Sample, Op: Monoid<T>>(data: impl Fn(usize) -> Vec<T>) {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    for primitive in Primitive::ALL {
        check_primitive::<T, Op>(toolchain, primitive, &data);
    }
}

fn check_primitive<T: Sample, Op: Monoid<T>>(
    toolchain: &Toolchain,
    primitive: Primitive,
    data: impl Fn(usize) -> Vec<T>,
) {
    let name = format!(
        "{} {} {}",
        primitive.name(),
        type_name::<T>(),
        type_name::<Op>()
    );
    let text = source::<T, Op>(primitive).expect("the source can be generated");
    let functions = Kernel::of(primitive)
        .map(|kernel| [0, 1].map(|level| kernel.function(level, widens::<T>())));
    let mut functions = functions.concat();
    functions.dedup();
    let module = toolchain.module(&name, &text, &functions);

    let cases = cases::<T>(primitive);
    let longest = cases
        .iter()
        .map(|case| case.length)
        .max()
        .expect("there are cases");
    let data = data(longest + 1);
    let (init, data) = data.split_last().expect("one more than the longest");

    let mut script = Script::new();
    script.file("data", bytemuck::cast_slice(data));
    for (number, case) in cases.iter().enumerate() {
        script.seed(base_seed() + number as u64);
        case.append_to::<T, Op>(&mut script, *init);
    }
    let output = script.run_to_the_end(&name, &module);

    // No output depends on what comes after it, so one run of the oracle serves all lengths.
    let scans = [None, Some(*init)].map(|init| {
        [
            oracle::exclusive::<T, Op>(data, init),
            oracle::inclusive::<T, Op>(data, init),
        ]
    });
    let mut results = output.as_slice();
    for case in cases {
        let expected = match primitive {
            Primitive::Reduce => {
                let init = case.seeded.then_some(*init);
                vec![oracle::reduce::<T, Op>(&data[..case.length], init)]
            }
            Primitive::Scan => {
                scans[usize::from(case.seeded)][usize::from(case.inclusive)][..case.length].to_vec()
            }
        };
        let (head, rest) = results.split_at(expected.len() * size_of::<T>());
        let mut got = vec![T::zeroed(); expected.len()];
        bytemuck::cast_slice_mut(&mut got).copy_from_slice(head);
        results = rest;
        assert_same(&got, &expected, &format!("{name}: {case:?}"));
    }
    assert!(
        results.is_empty(),
        "{name}: the emulator saved more than it was asked to"
    );
}

struct Check;

impl Visitor for Check {
    fn visit<T: Sample, Op: Monoid<T>>(&mut self) {
        check::<T, Op>(|length| sample(length, 0));
    }
}

macro_rules! equals_the_oracle {
    ($group:ident) => {
        #[test]
        fn $group() {
            matrix::$group(&mut Check);
        }
    };
}

for_every_group!(equals_the_oracle);

/// Values whose least is a zero: mostly +0, until one of the rare −0 comes.
fn zeros(length: usize) -> Vec<f32> {
    let flatten = |x: f32| {
        if x.abs() < 1.0 {
            x * x.signum() * 0.0
        } else {
            x.abs()
        }
    };
    sample(length, 0)
        .into_iter()
        .map(|x: f32| if x == 0.0 { x } else { flatten(x) })
        .collect()
}

/// The same values until a NaN comes.
fn zeros_and_nan(length: usize) -> Vec<f32> {
    let mut values = zeros(length);
    values
        .iter_mut()
        .skip(300)
        .step_by(10_007)
        .for_each(|x| *x = f32::NAN);
    values
}

fn negated(values: Vec<f32>) -> Vec<f32> {
    values.into_iter().map(|x| -x).collect()
}

#[test]
fn minima_of_zeros() {
    check::<f32, Min>(zeros);
    check::<f32, Min>(zeros_and_nan);
}

#[test]
fn maxima_of_zeros() {
    check::<f32, Max>(|length| negated(zeros(length)));
    check::<f32, Max>(|length| negated(zeros_and_nan(length)));
}
