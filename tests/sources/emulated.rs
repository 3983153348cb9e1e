//! Kernels that read other sources than slices, run in the emulator: they equal the oracle over the
//! items of the source, wherever its slices start.

use crate::emulator::{Argument, Grid, Module, Script, Toolchain, address, base_seed};
use crate::engines::emulated::cases::workspace_of;
use crate::support::data::{Sample, assert_same, sample};
use crate::support::matrix::{has_turn, is_drawn};
use crate::support::operators::{
    Bicyclic, BicyclicProduct, Bracketing, Guarded, GuardedBracketing, GuardedSum, guarded_up_to,
};
use crate::support::oracle;
use crate::support::workspace::used_workspace;
use warpfold::codegen::kernels::{self, ReduceArguments, ScanArguments};
use warpfold::codegen::{
    BlockPolicy, Chunks, ComputeBoundScan, Engine, Kernels, Layouts, LevelArguments, Order, Plan,
    Primitive, ReducePlan, ReducePolicy, RowPolicy, ScanPlan, SharePlan, SharePolicy, WavePlan,
    WavePolicy, source,
};
use warpfold::ops::Add;
use warpfold::source::{
    Constant, ConstantArguments, Equal, Form, Gather, GatherArguments, Heads, Index,
    IndexArguments, Map, Slice, SliceArguments, Strided, StridedArguments, Zip, ZipArguments,
};
use warpfold::{Monoid, bytemuck, function};

/// A slice under a source: the bytes of its elements, and their alignment.
pub(crate) struct Leaf {
    name: &'static str,
    pub(crate) bytes: Vec<u8>,
    element: usize,
    align: usize,
}

pub(crate) fn leaf<T: Sample>(name: &'static str, length: usize, seed: u64) -> (Leaf, Vec<T>) {
    let data = sample::<T>(length, seed);
    (leaf_of(name, &data), data)
}

pub(crate) fn leaf_of<T: Sample>(name: &'static str, data: &[T]) -> Leaf {
    Leaf {
        name,
        bytes: bytemuck::cast_slice(data).to_vec(),
        element: size_of::<T>(),
        align: align_of::<T>(),
    }
}

pub(crate) fn slice(name: &'static str) -> SliceArguments {
    SliceArguments {
        address: address(name, 0),
    }
}

/// A form, its arguments, what lies under it, and its items.
pub(crate) struct Case<F: Form> {
    /// For some number of items.
    pub(crate) arguments: fn(usize) -> F::Arguments,
    pub(crate) leaves: Vec<Leaf>,
    /// How many elements of each slice this many items take.
    pub(crate) elements: fn(usize) -> usize,
    pub(crate) items: Vec<F::Item>,
}

/// The longest source.
pub(crate) const MOST: usize = 9000;

/// Puts the buffers of a call into a script; slices start where `number` says.
pub(crate) fn place<F: Form>(script: &mut Script, case: &Case<F>, length: usize, number: usize) {
    for (i, leaf) in case.leaves.iter().enumerate() {
        let shift = match number % 4 {
            0 => 0,
            1 => leaf.align,
            2 => (3 + 2 * i) * leaf.align,
            _ => 16 * i + leaf.align * (i % 2),
        };
        let bytes = (case.elements)(length) * leaf.element;
        script.filled(leaf.name, shift, bytes, leaf.name);
    }
}

/// The lengths at which something changes for shares of a warp of `share` items in runs of `run`.
pub(crate) fn lengths(run: usize, share: usize) -> Vec<usize> {
    let row = 32 * run;
    let mut lengths = vec![1, 2, run, run + 1, row - 1, row, row + 1, share - 1, share];
    lengths.extend([
        share + 1,
        2 * share,
        3 * share + run + 1,
        6 * share,
        9 * share + 5,
    ]);
    lengths.retain(|&length| length <= MOST);
    lengths
}

/// Sources that engines read, as the dot product. Of each kernel a run has one of them, the next
/// one on the next day.
const IN_TURN: [&str; 4] = [
    "gathered",
    "greater of floats",
    "lesser of floats",
    "pairs with a parameter",
];

/// What every run tests, by its name; the others take turns.
const IN_EVERY_RUN: [&str; 7] = [
    "dot product",
    "parameter",
    "words collect",
    "u32 Kept",
    "u8 Sides",
    "u8 ByValue",
    "f32 ByGuess",
];

/// The module for a test, if it is one of this run's.
pub(crate) fn drawn_module<K: Kernels>(
    toolchain: &Toolchain,
    name: &str,
    engine: Engine,
) -> Option<Module> {
    let full_name = format!("{name} {} {}", K::NAME, engine.name());
    let always = IN_EVERY_RUN.iter().any(|one| full_name.starts_with(one));
    let turn = IN_TURN.iter().enumerate().find_map(|(number, source)| {
        let kernel = full_name.strip_prefix(source)?;
        Some(has_turn(kernel, number, IN_TURN.len()))
    });
    is_drawn(&full_name, always || turn == Some(true)).then(|| module::<K>(toolchain, name, engine))
}

pub(crate) fn module<K: Kernels>(toolchain: &Toolchain, name: &str, engine: Engine) -> Module {
    let text = source::<K>(engine).expect("the source can be generated");
    let name = format!("{name} {} {}", K::NAME, engine.name());
    toolchain.module(&name, &text, K::kernel(engine).functions())
}

pub(crate) fn script<F: Form>(case: &Case<F>) -> Script {
    let mut script = Script::new();
    for leaf in &case.leaves {
        script.file(leaf.name, &leaf.bytes);
    }
    script.file("workspace", &used_workspace(1 << 16));
    script
}

pub(crate) fn resident(by_ticket: bool, blocks: u64) -> u32 {
    if by_ticket { 0 } else { blocks as u32 }
}

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

#[track_caller]
fn compare<T: Sample>(script: Script, name: &str, module: &Module, expected: &[T]) {
    let output = script.run_to_the_end(name, module);
    let mut got = vec![T::zeroed(); expected.len()];
    bytemuck::cast_slice_mut(&mut got).copy_from_slice(&output);
    assert_same(&got, expected, name);
}

fn check_scans<T: Sample, Op: Monoid<T>, F: Form<Item = T>>(name: &str, case: &Case<F>) {
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
    let costly = ComputeBoundScan::of(Layouts::of::<F>(), 90, u32::MAX);
    engines.extend(costly.map(|costly| {
        Engine::Shares(SharePolicy {
            rows: 8,
            batch: 2,
            warps: 2,
            ..costly.shares
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

/// The levels engine is the specification; it takes sources too.
fn check_levels<T: Sample, Op: Monoid<T>, F: Form<Item = T>>(name: &str, case: &Case<F>) {
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

fn check<T: Sample, Op: Monoid<T>, F: Form<Item = T>>(name: &str, case: &Case<F>) {
    check_reductions::<T, Op, F>(name, case);
    check_scans::<T, Op, F>(name, case);
}

#[function]
fn widen(byte: u8) -> u64 {
    byte as u64
}

/// The longest run of bytes, and results eight times as wide.
#[test]
fn bytes_in_64_bits() {
    let (leaf, data) = leaf::<u8>("a", MOST, 1);
    let case = Case::<Map<widen, Slice<u8>>> {
        arguments: |_| slice("a"),
        leaves: vec![leaf],
        elements: |length| length,
        items: data.iter().map(|&byte| u64::from(byte)).collect(),
    };
    check::<u64, Add, _>("bytes in 64 bits", &case);
    check_levels::<u64, Add, _>("bytes in 64 bits", &case);
    check_reductions::<u64, Bracketing, _>("bytes by the law", &case);
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

/// Two slices, each at a place of its own.
#[test]
fn a_dot_product() {
    let (a, x) = leaf::<f32>("a", MOST, 1);
    let (b, y) = leaf::<f32>("b", MOST, 2);
    let case = Case::<Map<product, Zip<(Slice<f32>, Slice<f32>)>>> {
        arguments: |_| ZipArguments(slice("a"), slice("b")),
        leaves: vec![a, b],
        elements: |length| length,
        items: x.iter().zip(&y).map(|(x, y)| x * y).collect(),
    };
    check::<f32, Add, _>("dot product", &case);
    check_levels::<f32, Add, _>("dot product", &case);
}

#[function]
fn begins(x: u16, is_first: bool) -> u32 {
    (x as u32) << 16 | is_first as u32
}

/// Each item with the one before it, wherever tiles and slices start.
#[test]
fn where_runs_start() {
    let (mut a, mut data) = leaf::<u16>("a", MOST, 1);
    data.iter_mut().for_each(|x| *x &= 1);
    a.bytes = bytemuck::cast_slice(&data).to_vec();
    let starts = |i: usize| i == 0 || data[i] != data[i - 1];
    let case = Case::<Map<begins, Heads<Equal<u16>, Slice<u16>>>> {
        arguments: |_| slice("a"),
        leaves: vec![a],
        elements: |length| length,
        items: (0..MOST).map(|i| begins(data[i], starts(i))).collect(),
    };
    check::<u32, Add, _>("where runs start", &case);
}

#[function]
fn mixed(byte: u8, x: f64) -> u64 {
    (x * 16777216.0) as i64 as u64 ^ byte as u64
}

/// Slices of very different sizes: a run of the bytes is shorter than a word of 16.
#[test]
fn bytes_beside_doubles() {
    let (a, x) = leaf::<u8>("a", MOST, 1);
    let (b, y) = leaf::<f64>("b", MOST, 2);
    let case = Case::<Map<mixed, Zip<(Slice<u8>, Slice<f64>)>>> {
        arguments: |_| ZipArguments(slice("a"), slice("b")),
        leaves: vec![a, b],
        elements: |length| length,
        items: x.iter().zip(&y).map(|(&x, &y)| mixed(x, y)).collect(),
    };
    check::<u64, Bracketing, _>("bytes beside doubles", &case);
    check_reductions::<u64, Add, _>("bytes beside doubles in any order", &case);
}

#[function]
fn numbered(p: u32, add: u32, index: u64) -> Bicyclic {
    Bicyclic {
        p: (p >> 28).wrapping_add(add),
        q: (index as u32).wrapping_mul(7) >> 3 & 15,
    }
}

/// An index and a constant beside a slice; the operator does not commute.
#[test]
fn numbered_items() {
    let (a, x) = leaf::<u32>("a", MOST, 1);
    let case = Case::<Map<numbered, Zip<(Slice<u32>, Constant<u32>, Index)>>> {
        arguments: |_| {
            ZipArguments(
                slice("a"),
                ZipArguments(ConstantArguments { value: 3 }, IndexArguments { first: 0 }),
            )
        },
        leaves: vec![a],
        elements: |length| length,
        items: (0..)
            .zip(&x)
            .map(|(index, &p)| numbered(p, 3, index))
            .collect(),
    };
    check::<Bicyclic, BicyclicProduct, _>("numbered", &case);
    check_levels::<Bicyclic, BicyclicProduct, _>("numbered", &case);
}

#[function]
fn on_line(x: u32, y: u32, line: [u32; 2]) -> u32 {
    line[0].wrapping_mul(x) ^ y.wrapping_add(line[1])
}

/// The items are pairs, and the parameters come behind them.
#[test]
fn pairs_with_parameters() {
    let ((a, x), (b, y)) = (leaf::<u32>("a", MOST, 1), leaf::<u32>("b", MOST, 2));
    type Pairs = Zip<(Slice<u32>, Slice<u32>)>;
    let case = Case::<Map<on_line, Zip<(Pairs, Constant<[u32; 2]>)>>> {
        arguments: |_| {
            let pairs = ZipArguments(slice("a"), slice("b"));
            ZipArguments(pairs, ConstantArguments { value: [3, 77] })
        },
        leaves: vec![a, b],
        elements: |length| length,
        items: x
            .iter()
            .zip(&y)
            .map(|(&x, &y)| on_line(x, y, [3, 77]))
            .collect(),
    };
    check::<u32, Add, _>("pairs with a parameter", &case);
    check_levels::<u32, Add, _>("pairs with a parameter", &case);
}

#[function]
fn bits_of_greater(a: f32, b: f32) -> u32 {
    let x = a.max(b);
    if x.is_nan() { 0x7fc0_0000 } else { x.to_bits() }
}

#[function]
fn bits_of_lesser(a: f64, b: f64) -> u64 {
    let x = f64::min(a, b);
    if x.is_nan() { 1 } else { x.to_bits() }
}

/// Quiet NaNs and signalling ones, zeros of both signs, and other numbers, in all pairs.
#[test]
fn extremes_of_odd_floats() {
    let odd = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        -f32::NAN,
        f32::from_bits(0x7f80_0001),
        f32::from_bits(0xffbf_ffff),
        f32::from_bits(1),
    ];
    let in_f64 = |i: usize| match odd[i].to_bits() {
        0x7f80_0001 => f64::from_bits(0x7ff0_0000_0000_0001),
        0xffbf_ffff => f64::from_bits(0xfff7_ffff_ffff_ffff),
        _ => f64::from(odd[i]),
    };
    let first = |i: usize| i % odd.len();
    let second = |i: usize| i / odd.len() % odd.len();
    let a: Vec<f32> = (0..MOST).map(|i| odd[first(i)]).collect();
    let b: Vec<f32> = (0..MOST).map(|i| odd[second(i)]).collect();
    let case = Case::<Map<bits_of_greater, Zip<(Slice<f32>, Slice<f32>)>>> {
        arguments: |_| ZipArguments(slice("a"), slice("b")),
        leaves: vec![leaf_of("a", &a), leaf_of("b", &b)],
        elements: |length| length,
        items: a
            .iter()
            .zip(&b)
            .map(|(&a, &b)| bits_of_greater(a, b))
            .collect(),
    };
    check::<u32, Add, _>("greater of floats", &case);
    let a: Vec<f64> = (0..MOST).map(|i| in_f64(first(i))).collect();
    let b: Vec<f64> = (0..MOST).map(|i| in_f64(second(i))).collect();
    let case = Case::<Map<bits_of_lesser, Zip<(Slice<f64>, Slice<f64>)>>> {
        arguments: |_| ZipArguments(slice("a"), slice("b")),
        leaves: vec![leaf_of("a", &a), leaf_of("b", &b)],
        elements: |length| length,
        items: a
            .iter()
            .zip(&b)
            .map(|(&a, &b)| bits_of_lesser(a, b))
            .collect(),
    };
    check::<u64, Add, _>("lesser of floats", &case);
}

/// What fills up an unfinished tile has the index of an item: the operator stops at any other.
#[test]
fn no_index_beyond_the_items() {
    let (a, x) = leaf::<u32>("a", MOST, 1);
    let case = Case::<Map<guarded_up_to, Zip<(Slice<u32>, Constant<u64>, Index)>>> {
        arguments: |length| {
            let length = ConstantArguments {
                value: length as u64,
            };
            ZipArguments(
                slice("a"),
                ZipArguments(length, IndexArguments { first: 0 }),
            )
        },
        leaves: vec![a],
        elements: |length| length,
        items: x.iter().map(|&value| Guarded::new(value)).collect(),
    };
    check::<Guarded, GuardedBracketing, _>("guarded index", &case);
    check_reductions::<Guarded, GuardedSum, _>("guarded index in any order", &case);
}

/// Indices that nobody checked: those beyond the end count as the last one, negative ones as 0.
#[test]
fn gathered_items() {
    const KNOWN: usize = 100;
    let (a, x) = leaf::<u32>("a", MOST, 1);
    let wild = |(i, number): (usize, i64)| match i % 9 {
        0 => number,
        _ => number.rem_euclid(KNOWN as i64 + 3) - 1,
    };
    let indices: Vec<_> = sample::<i64>(MOST, 2)
        .into_iter()
        .enumerate()
        .map(wild)
        .collect();
    let item = |index: i64| x[index.clamp(0, KNOWN as i64 - 1) as usize];
    let case = Case::<Gather<Slice<u32>, Slice<i64>>> {
        arguments: |_| GatherArguments {
            data: slice("a"),
            index: slice("b"),
            last: KNOWN as u64 - 1,
        },
        leaves: vec![a, leaf_of("b", &indices)],
        elements: |length| length.max(KNOWN),
        items: indices.iter().map(|&index| item(index)).collect(),
    };
    check::<u32, Add, _>("gathered", &case);
    check_levels::<u32, Add, _>("gathered", &case);
}

#[function]
fn scaled(x: f32, by: f32) -> f32 {
    x * by
}

/// What a sparse matrix makes of a vector, with indices of bytes.
#[test]
fn products_with_gathered_items() {
    const KNOWN: usize = 200;
    let ((a, x), (b, y)) = (leaf::<f32>("a", MOST, 1), leaf::<f32>("b", MOST, 2));
    let (c, indices) = leaf::<u8>("c", MOST, 3);
    type Gathered = Gather<Slice<f32>, Slice<u8>>;
    let case = Case::<Map<scaled, Zip<(Slice<f32>, Gathered)>>> {
        arguments: |_| {
            let gathered = GatherArguments {
                data: slice("b"),
                index: slice("c"),
                last: KNOWN as u64 - 1,
            };
            ZipArguments(slice("a"), gathered)
        },
        leaves: vec![a, b, c],
        elements: |length| length.max(KNOWN),
        items: (0..MOST)
            .map(|i| scaled(x[i], y[usize::from(indices[i]).min(KNOWN - 1)]))
            .collect(),
    };
    check::<f32, Add, _>("products with gathered", &case);
}

/// Columns 0 to 6 of 11.
#[test]
fn columns_of_a_matrix() {
    let (a, x) = leaf::<u16>("a", MOST / 7 * 11 + 22, 1);
    let case = Case::<Strided<Slice<u16>>> {
        arguments: |_| StridedArguments {
            address: address("a", 0),
            width: 7,
            stride: 11,
        },
        leaves: vec![a],
        elements: |length| (length - 1) / 7 * 11 + (length - 1) % 7 + 1,
        items: (0..MOST).map(|i| x[i / 7 * 11 + i % 7]).collect(),
    };
    check::<u16, Add, _>("columns", &case);
}

/// Rows whose starts are aligned, and wide enough for whole words.
#[test]
fn wide_columns_of_a_matrix() {
    let (a, x) = leaf::<u32>("a", MOST / 64 * 96 + 192, 1);
    let case = Case::<Strided<Slice<u32>>> {
        arguments: |_| StridedArguments {
            address: address("a", 0),
            width: 64,
            stride: 96,
        },
        leaves: vec![a],
        elements: |length| (length - 1) / 64 * 96 + (length - 1) % 64 + 1,
        items: (0..MOST).map(|i| x[i / 64 * 96 + i % 64]).collect(),
    };
    check::<u32, Add, _>("wide columns", &case);
}
