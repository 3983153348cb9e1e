//! Every generated kernel, run in the emulator: it equals the oracle bit for bit under any
//! schedule, and breaks no rule.

use crate::emulator::{Argument, Grid, Script, Toolchain, base_seed};
use crate::support::data::{Sample, assert_same, boundary_lengths, sample};
use crate::support::matrix::{self, Visitor, for_every_group};
use crate::support::operators::{BicyclicProduct, Bracketing};
use crate::support::oracle;
use crate::support::workspace::{KEY, used_workspace};
use half::f16;
use std::any::{TypeId, type_name};
use warpfold::bytemuck;
use warpfold::codegen::{
    Engine, Kernel, Order, Plan, Policy, Primitive, ReducePlan, ReducePolicy, RowPolicy, ScanPlan,
    WavePlan, WavePolicy, source,
};
use warpfold::ops::{Add, Max, Min};
use warpfold::{Element, Monoid};

/// The most chunks that a reduction is cut into here, but for those with more than a warp reads at once.
const MOST_CHUNKS: usize = 64;
/// The most of all: two whole nodes of sums, and more.
const MANY_CHUNKS: usize = 300;

/// One call of a primitive.
#[derive(Debug, Clone, Copy)]
struct Case {
    primitive: Primitive,
    engine: Engine,
    length: usize,
    seeded: bool,
    inclusive: bool,
    in_place: bool,
    /// How far input and output are from where an allocation starts, in units of the element's
    /// alignment: unaligned in every way that a slice, or a view of other memory, can be.
    shifts: (usize, usize),
}

impl Case {
    /// Appends the commands that run the case on a prefix of the file `data`. The output is saved.
    /// Other launches before it use the same workspace for a prefix of the file `other`: what they
    /// leave there must not show.
    fn append_to<T: Element, Op: Monoid<T>>(&self, script: &mut Script, init: T) {
        let bytes = self.length * size_of::<T>();
        let output_bytes = match self.primitive {
            Primitive::Scan => bytes,
            Primitive::Reduce => size_of::<T>(),
        };
        let shift = |units: usize| units * align_of::<T>();
        script.filled("in", shift(self.shifts.0), bytes, "data");
        script.filled("other", 0, bytes, "other");
        script.buffer("unused", 0, output_bytes);
        if !self.in_place {
            script.buffer("out", shift(self.shifts.1), output_bytes);
        }
        let out = if self.in_place { "in" } else { "out" };
        let init = if self.seeded { init } else { Op::identity() };
        let init = Argument::value(init.widen());
        match self.engine {
            Engine::Blelloch => self.launch_levels::<T>(script, out, init),
            Engine::Tiles(policy) => match self.primitive {
                Primitive::Reduce => {
                    self.launch_reductions::<T, Op>(script, out, init, policy);
                }
                Primitive::Scan => self.launch_scan::<T>(script, out, init, policy),
            },
            Engine::Wave(policy) => self.launch_wave::<T>(script, out, init, policy),
        }
        if !self.is_reduced_at_once() {
            script.save(out);
        }
        script.clear();
    }

    /// One launch: of one block if the length is no multiple of 3 and fits one, or of several. They
    /// take tiles by index if all live at a time, or by ticket. Another launch, with other data and
    /// flags, comes before.
    fn launch_scan<T: Element>(
        &self,
        script: &mut Script,
        out: &'static str,
        init: Argument,
        policy: RowPolicy,
    ) {
        let by_ticket = self.length % 2 == 1;
        let plan = |inclusive: bool| match ScanPlan::new::<T>(policy, self.length, inclusive, 1) {
            plan if plan.blocks == 1 && !self.length.is_multiple_of(3) => plan,
            _ => {
                let multiprocessors = if by_ticket { 1 } else { u32::MAX };
                let warps = [1, 2, 4][self.length / 3 % 3];
                ScanPlan::with_warps(policy, self.length, inclusive, multiprocessors, warps)
            }
        };
        let blocks = plan(true).blocks.max(plan(false).blocks);
        let workspace_bytes = ScanPlan::workspace_bytes_for::<T>(blocks);
        script.filled("workspace", 0, workspace_bytes, "workspace");
        let mut launch = |input, out, seeded: bool, inclusive: bool| {
            let plan = plan(inclusive);
            let arguments = [
                Argument::At(input, 0),
                Argument::At(out, 0),
                Argument::value(self.length as u64),
                workspace_of(plan.blocks),
                Argument::value(KEY.key),
                init.clone(),
                Argument::value(u32::from(seeded)),
                Argument::value(u32::from(inclusive)),
                Argument::value(u32::from(plan.by_ticket)),
            ];
            let grid = Grid {
                blocks: plan.blocks,
                threads: 32 * plan.warps,
                shared: 0,
                // By index, all blocks must live at a time.
                resident: if plan.by_ticket {
                    0
                } else {
                    plan.blocks as u32
                },
            };
            script.launch("scan_once", grid, &arguments);
        };
        if self.length > 0 && blocks < 20 {
            let same = self.length.is_multiple_of(2);
            launch(
                "other",
                "unused",
                self.seeded == same,
                self.inclusive == same,
            );
        }
        if self.length > 0 {
            launch("in", out, self.seeded, self.inclusive);
        }
    }

    /// One launch. Before it another one, with other data and flags.
    fn launch_wave<T: Element>(
        &self,
        script: &mut Script,
        out: &'static str,
        init: Argument,
        policy: WavePolicy,
    ) {
        let plan = WavePlan::new(policy, self.length);
        script.filled("workspace", 0, plan.workspace_bytes::<T>(), "workspace");
        let mut launch = |input, out, seeded: bool, inclusive: bool| {
            let arguments = [
                Argument::At(input, 0),
                Argument::At(out, 0),
                Argument::value(self.length as u64),
                Argument::At("workspace", 0),
                Argument::value(KEY.key),
                init.clone(),
                Argument::value(u32::from(seeded)),
                Argument::value(u32::from(inclusive)),
            ];
            let grid = Grid {
                blocks: plan.tiles(inclusive).min(1 + self.length as u64 % 5),
                threads: plan.threads(),
                // No more than it uses.
                shared: policy.shared_bytes::<T>() as usize,
                resident: 0,
            };
            script.launch("scan_wave", grid, &arguments);
        };
        if self.length > 0 && plan.tiles(true) < 8 {
            let same = self.length.is_multiple_of(2);
            launch(
                "other",
                "unused",
                self.seeded == same,
                self.inclusive == same,
            );
        }
        if self.length > 0 {
            launch("in", out, self.seeded, self.inclusive);
        }
    }

    /// A launch for each plan, in one workspace: on the data and on the other data in turn.
    fn launch_reductions<T: Element, Op: Monoid<T>>(
        &self,
        script: &mut Script,
        out: &'static str,
        init: Argument,
        policy: RowPolicy,
    ) {
        let bytes = ScanPlan::workspace_bytes_for::<T>(MANY_CHUNKS as u64 + 2);
        script.filled("workspace", 0, bytes, "workspace");
        for (number, plan) in self.reduce_plans::<T, Op>(policy).into_iter().enumerate() {
            let seeded = Argument::value(u32::from(self.seeded));
            let arguments = [
                Argument::At(if number % 2 == 0 { "in" } else { "other" }, 0),
                Argument::value(self.length as u64),
                Argument::At(out, 0),
                workspace_of(plan.blocks.into()),
                Argument::value(KEY.key),
                init.clone(),
                seeded,
                Argument::value(plan.chunks),
                Argument::value(plan.log_chunk),
                Argument::value(plan.log_batches),
            ];
            let mut grid = Grid::new(u64::from(plan.blocks), plan.threads);
            // All blocks must live at a time.
            grid.resident = plan.blocks;
            script.launch("reduce_once", grid, &arguments);
            script.save(out);
        }
    }

    /// The plan, and others that cut the input up in other ways: as many chunks as blocks, and
    /// more.
    fn reduce_plans<T: Element, Op: Monoid<T>>(&self, policy: RowPolicy) -> Vec<ReducePlan> {
        let (order, multiprocessors) = (Order::of::<T, Op>(), 1 + self.length as u32 % 3);
        let plan = ReducePlan::new::<T>(policy, order, self.length, multiprocessors);
        let mut plans = vec![plan];
        let batch = policy.elements() as usize;
        for (warps, log_batches, most_blocks) in [
            (1, 0, 64),
            (1, 0, 3),
            (2, 0, 2),
            (1, 1, 64),
            (4, 2, 2),
            (2, 3, 5),
            // A block of all warps there can be, each of which has a whole part.
            (32, 0, 2),
        ] {
            if 32 * warps as u32 > ReducePolicy::of::<T>().most_threads {
                continue;
            }
            let chunks = self.length / ((batch * warps) << log_batches);
            let many = (warps, log_batches, most_blocks) == (1, 0, 64);
            if chunks > if many { MANY_CHUNKS } else { MOST_CHUNKS } {
                continue;
            }
            let mut plan = ReducePlan::with_chunks(
                policy,
                self.length,
                warps as u32,
                log_batches,
                most_blocks,
            );
            if plan.blocks < 2 {
                continue;
            }
            if order == Order::Any {
                plan.chunks = 0;
            }
            plans.push(plan);
        }
        plans
    }

    /// Whether there are several plans, each of which gives a result.
    fn is_reduced_at_once(&self) -> bool {
        self.primitive == Primitive::Reduce && matches!(self.engine, Engine::Tiles(_))
    }

    /// How many results the reduction has: of the data and of the other data in turn.
    fn results<T: Element, Op: Monoid<T>>(&self) -> usize {
        match self.engine {
            Engine::Tiles(policy) => self.reduce_plans::<T, Op>(policy).len(),
            _ => 1,
        }
    }

    fn launch_levels<T: Element>(&self, script: &mut Script, out: &'static str, init: Argument) {
        let plan = Plan::new::<T>(self.primitive, self.length);
        script.buffer("workspace", 0, plan.workspace_bytes());
        let level = |k: usize| match k {
            0 => Argument::At("in", 0),
            k if k == plan.levels() => Argument::Null,
            k => Argument::At("workspace", plan.offset(k)),
        };
        let seeded = Argument::value(u32::from(self.seeded));

        for launch in plan.launches().filter(|launch| launch.blocks > 0) {
            let k = launch.level;
            let length = Argument::value(plan.length(k));
            let arguments = match launch.kernel {
                Kernel::ReduceTiles => vec![level(k), level(k + 1)],
                Kernel::ReduceFinish => vec![
                    level(0),
                    length,
                    if plan.levels() > 1 {
                        level(1)
                    } else {
                        Argument::Null
                    },
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
                Kernel::ReduceOnce | Kernel::ScanOnce | Kernel::ScanWave => {
                    unreachable!("a plan of levels has no such kernel")
                }
            };
            let function = launch.kernel.function(k, widens::<T>());
            script.launch(
                function,
                Grid::new(launch.blocks, launch.threads),
                &arguments,
            );
        }
    }
}

/// One block leaves the workspace alone.
fn workspace_of(blocks: u64) -> Argument {
    match blocks {
        1 => Argument::Null,
        _ => Argument::At("workspace", 0),
    }
}

/// Whether the kernels exist a second time, for sums in a wider type.
fn widens<T: Element>() -> bool {
    TypeId::of::<T>() != TypeId::of::<T::Accumulator>()
}

/// The engines for a primitive, and a wave engine of tiny tiles, of which many waves can be tested.
/// A module takes seconds to compile, so what is the same text with other numbers or another word
/// in it is tested once only.
fn engines<T: Element, Op: Monoid<T>>(primitive: Primitive) -> Vec<Engine> {
    if matrix::is_like_another::<T, Op>() {
        return match primitive {
            Primitive::Reduce => vec![Engine::Tiles(RowPolicy::of_reduce::<T>(
                Order::of::<T, Op>(),
            ))],
            Primitive::Scan => vec![],
        };
    }
    let mut engines = vec![Engine::Blelloch];
    if primitive == Primitive::Reduce {
        engines.push(Engine::Tiles(RowPolicy::of_reduce::<T>(
            Order::of::<T, Op>(),
        )));
    }
    if primitive == Primitive::Scan {
        let [short, long] = [false, true].map(RowPolicy::of_scan::<T>);
        let wave = WavePolicy::of::<T>();
        engines.push(Engine::Tiles(short));
        engines.extend(wave.map(tiny).map(Engine::Wave));
        let anywhere = wave.and_then(WavePolicy::anywhere::<T>);
        if !matrix::is_second::<Op>() {
            engines.extend(anywhere.map(tiny).map(Engine::Wave));
        }
        if [TypeId::of::<Bracketing>(), TypeId::of::<BicyclicProduct>()]
            .contains(&TypeId::of::<Op>())
        {
            engines.extend(wave.map(small).map(Engine::Wave));
        }
        let every_shape = [TypeId::of::<f32>(), TypeId::of::<u8>()].contains(&TypeId::of::<T>());
        if every_shape && TypeId::of::<Op>() == TypeId::of::<Add>() {
            engines.push(Engine::Tiles(long));
            engines.extend(wave.map(Engine::Wave));
            engines.extend(anywhere.map(Engine::Wave));
        }
    }
    engines
}

fn tiny(policy: WavePolicy) -> WavePolicy {
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

/// The same with two rows a warp, and two sums a lane.
fn small(policy: WavePolicy) -> WavePolicy {
    WavePolicy {
        rows: 2,
        wave: 64,
        batch: 1,
        ..tiny(policy)
    }
}

fn cases<T: Element>(primitive: Primitive, engine: Engine) -> Vec<Case> {
    match engine {
        Engine::Blelloch => level_cases::<T>(primitive),
        Engine::Tiles(policy) => match primitive {
            Primitive::Reduce => reduction_cases::<T>(policy),
            Primitive::Scan => tile_cases::<T>(policy),
        },
        Engine::Wave(policy) => wave_cases::<T>(primitive, policy),
    }
}

/// Around the ends of runs, rows and tiles of one warp; and so many tiles that their sums are
/// summed up twice.
fn tile_cases<T: Element>(policy: RowPolicy) -> Vec<Case> {
    let (run, row, tile) = (
        policy.run as usize,
        32 * policy.run as usize,
        policy.elements() as usize,
    );
    let radix = match size_of::<T::Accumulator>() {
        0..=8 => 128,
        9..=16 => 64,
        _ => 32,
    };
    let lengths = [
        vec![0, 31, 32, 33, run - 1, run, run + 1],
        vec![row - 1, row, row + 1, tile - 1],
        vec![tile, tile, tile + 1, tile + 1],
        vec![2 * tile, 2 * tile, 3 * tile + 5, 4 * tile + 2],
        // Multiples of 3 are cut into several blocks. Where they are inclusive, an empty tile ends
        // them.
        vec![3 * tile, 3 * tile, 3 * tile, 3 * tile, 6 * tile],
        vec![12 * tile, 12 * tile, 12 * tile, 12 * tile, 15 * tile],
        // By ticket, in all variants.
        vec![9 * tile + 3, 9 * tile + 3, 9 * tile + 3, 9 * tile + 3],
        vec![18 * tile - 3, 18 * tile - 3, 18 * tile - 3, 18 * tile - 3],
        // The last tile begins where a level of the tree does, and is not full.
        vec![radix * tile + 1, radix * tile + tile + 3],
        // A block of the most warps there are, full and not quite full.
        vec![16 * tile, 16 * tile, 16 * tile - 1],
    ]
    .concat();
    let word = 4 / align_of::<T>().min(4);
    let placements = [
        (false, (0, 0)),
        (true, (0, 0)),
        (false, (1, 0)),
        (false, (3, 5)),
        (true, (1, 1)),
        (false, (0, word)),
        (true, (3, 3)),
        (false, (0, 3 * word)),
    ];
    let case = |(number, length): (usize, usize)| Case {
        primitive: Primitive::Scan,
        engine: Engine::Tiles(policy),
        length,
        seeded: number & 1 == 1,
        inclusive: (number ^ number >> 2) & 2 == 2,
        in_place: placements[number % placements.len()].0,
        shifts: placements[number % placements.len()].1,
    };
    // Few results end before the first whole word of the output, wherever that is.
    let few = [1, 2, 3].into_iter().flat_map(|length| {
        (0..placements.len()).map(move |number| Case {
            length,
            ..case((length * 3 + number, length))
        })
    });
    // A tile that shares its first and last word of 16 bytes with its neighbours, in place.
    let shared_words = [(1, false), (3, true)].map(|(shift, inclusive)| Case {
        inclusive,
        in_place: true,
        shifts: (shift, shift),
        ..case((0, 5 * tile + 7))
    });
    let cases = lengths.into_iter().enumerate().map(case);
    cases.chain(few).chain(shared_words).collect()
}

/// Around the ends of runs, rows, batches and chunks, from places of all kinds.
fn reduction_cases<T: Element>(policy: RowPolicy) -> Vec<Case> {
    let (run, batch) = (policy.run as usize, policy.elements() as usize);
    let row = 32 * run;
    let mut lengths = vec![0, 1, 2, 3, 31, 32, 33, 1009, 41 * batch + 3 * row + run + 1];
    for base in [
        run,
        2 * run,
        3 * run,
        row,
        batch / 2 + row,
        batch,
        2 * batch,
        5 * batch,
        32 * batch,
        33 * batch,
    ] {
        lengths.extend([base - 1, base, base + 1]);
    }
    // As many chunks as fill nodes of the tree over their sums, and some more.
    if size_of::<T>() <= 8 {
        lengths.extend([66 * batch + 1, 128 * batch, 129 * batch + 3, 300 * batch]);
    }
    lengths.sort_unstable();
    lengths.dedup();
    let shifts = [0, 1, 0, 3, 16 / align_of::<T>(), 2, 15];
    let case = |(number, length): (usize, usize)| Case {
        primitive: Primitive::Reduce,
        engine: Engine::Tiles(policy),
        length,
        seeded: number & 1 == 1,
        inclusive: false,
        in_place: false,
        shifts: (shifts[number % shifts.len()], number % 3),
    };
    let twice = lengths.into_iter().flat_map(|length| [length; 2]);
    twice.enumerate().map(case).collect()
}

/// Around the ends of runs, rows and tiles; for tiny tiles, also of waves.
fn wave_cases<T: Element>(primitive: Primitive, policy: WavePolicy) -> Vec<Case> {
    let tile = policy.tile() as usize;
    let lengths = if policy == small(policy) {
        let wave = tile * policy.wave as usize;
        vec![tile - 1, 3 * tile, 3 * tile, wave, wave + 1, wave + 1]
            .into_iter()
            .chain([2 * wave + 37 * tile + 1])
            .collect()
    } else if policy == tiny(policy) {
        let wave = tile * policy.wave as usize;
        let row = 32 * policy.run as usize;
        vec![
            0,
            1,
            2,
            3,
            31,
            row - 1,
            row,
            row + 1,
            tile - 1,
            tile,
            tile + 1,
            2 * tile,
            3 * tile - 1,
            3 * tile - 7,
            5 * tile + 7,
        ]
        .into_iter()
        .flat_map(|length| vec![length; if policy.anywhere { 4 } else { 2 }])
        // The number of a case decides whether it is seeded.
        .chain([wave, wave + tile + 1, wave + tile + 1, 2 * wave + tile + 1])
        .collect()
    } else {
        vec![1, 1009, tile + 1]
    };
    let sixteen = 16 / align_of::<T>();
    let placements = if policy.anywhere {
        &[
            (false, (1, 0)),
            (true, (1, 1)),
            (false, (0, 1)),
            (false, (3, 5)),
            (true, (7, 7)),
            (false, (15, 2)),
            (true, (0, 0)),
        ][..]
    } else {
        &[
            (false, (0, 0)),
            (true, (sixteen, sixteen)),
            (false, (0, sixteen)),
        ]
    };
    let case = |(number, length): (usize, usize)| Case {
        primitive,
        engine: Engine::Wave(policy),
        length,
        seeded: number & 1 == 1,
        inclusive: (number ^ number >> 2) & 2 == 2,
        in_place: placements[number % placements.len()].0,
        shifts: placements[number % placements.len()].1,
    };
    lengths.into_iter().enumerate().map(case).collect()
}

/// The lengths to test, the long ones (an emulated block takes milliseconds) once only.
fn level_cases<T: Element>(primitive: Primitive) -> Vec<Case> {
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
        // Where the last tile is whole, and has one before it, in all variants.
        let times = if length == 2 * tile {
            4
        } else if length <= tile + 1 {
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
                engine: Engine::Blelloch,
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
        for engine in engines::<T, Op>(primitive) {
            check_engine::<T, Op>(toolchain, primitive, engine, &data);
        }
    }
}

fn check_engine<T: Sample, Op: Monoid<T>>(
    toolchain: &Toolchain,
    primitive: Primitive,
    engine: Engine,
    data: impl Fn(usize) -> Vec<T>,
) {
    let name = format!(
        "{} {} {} {}",
        primitive.name(),
        match engine {
            Engine::Blelloch => "levels",
            Engine::Tiles(policy) if policy == RowPolicy::of_scan::<T>(true) => "long tiles",
            Engine::Tiles(_) => "tiles",
            Engine::Wave(policy) if policy == small(policy) => "small wave",
            Engine::Wave(policy) => match (policy == tiny(policy), policy.anywhere) {
                (true, false) => "tiny wave",
                (true, true) => "tiny wave anywhere",
                (false, false) => "wave",
                (false, true) => "wave anywhere",
            },
        },
        type_name::<T>(),
        type_name::<Op>()
    );
    // Every engine, with elements of one, two and four bytes, and with an operator that does not
    // commute.
    let always = [type_name::<u8>(), type_name::<f16>(), type_name::<f32>()]
        .contains(&type_name::<T>())
        && TypeId::of::<Op>() == TypeId::of::<Add>()
        || TypeId::of::<Op>() == TypeId::of::<BicyclicProduct>();
    if !matrix::is_drawn(&name, always) {
        return;
    }
    let text = source::<T, Op>(primitive, engine).expect("the source can be generated");
    let functions = Kernel::of(primitive, engine).iter();
    let mut functions: Vec<_> = functions
        .flat_map(|kernel| [0, 1].map(|level| kernel.function(level, widens::<T>())))
        .collect();
    functions.dedup();
    let module = toolchain.module(&name, &text, &functions);

    let cases = cases::<T>(primitive, engine);
    let longest = cases
        .iter()
        .map(|case| case.length)
        .max()
        .expect("there are cases");
    let data = data(longest + 1);
    let (init, data) = data.split_last().expect("one more than the longest");
    let other: Vec<T> = data.iter().rev().copied().collect();

    let mut script = Script::new();
    script.file("data", bytemuck::cast_slice(data));
    script.file("other", bytemuck::cast_slice(&other));
    script.file("workspace", &used_workspace(1 << 16));
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
                let results =
                    [data, &other].map(|data| oracle::reduce::<T, Op>(&data[..case.length], init));
                let results = results.into_iter().cycle();
                results.take(case.results::<T, Op>()).collect()
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
