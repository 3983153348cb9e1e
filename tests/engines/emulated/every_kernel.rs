//! Every generated kernel, run in the emulator: it equals the oracle bit for bit under any
//! schedule, and breaks no rule.

use super::cases::Case;
use crate::emulator::{Script, Toolchain, base_seed};
use crate::support::data::{Sample, assert_same, boundary_lengths, sample};
use crate::support::matrix::{self, Visitor, for_every_group};
use crate::support::operators::{BicyclicProduct, Bracketing, OddMaps};
use crate::support::oracle;
use crate::support::workspace::used_workspace;
use std::any::{TypeId, type_name};
use warpfold::bytemuck;
use warpfold::codegen::{
    BlockPolicy, ComputeBoundScan, Engine, Kernels, Layouts, Order, Plan, Policy, Primitive,
    RowPolicy, SharePolicy, WavePolicy, Way, kernels, source,
};
use warpfold::ops::{Add, Max, Min};
use warpfold::source::Slice;
use warpfold::{Element, Monoid};

/// The engines for a primitive, and a wave engine of tiny tiles, of which many waves can be tested.
/// A module takes seconds to compile, so what is the same text with other numbers or another word
/// in it is tested once only.
fn engines<T: Element, Op: Monoid<T>>(primitive: Primitive) -> Vec<Engine> {
    if matrix::is_like_another::<T, Op>() {
        return match primitive {
            Primitive::Reduce => vec![Engine::Rows(
                RowPolicy::of_reduce::<T>(Order::of::<T, Op>()),
            )],
            Primitive::Scan => vec![],
        };
    }
    let mut engines = vec![Engine::Levels];
    if !matrix::is_second::<Op>() {
        engines.extend(in_one_block::<T>(primitive).map(Engine::Block));
    }
    if primitive == Primitive::Reduce {
        let order = Order::of::<T, Op>();
        let policy = RowPolicy::of_reduce::<T>(order);
        engines.push(Engine::Rows(policy));
        if order == Order::Law && !matrix::is_second::<Op>() {
            let rows = policy.rows.min(4);
            let once =
                [(Way::Grouped, false), (Way::Compact, true)].map(|(way, in_turn)| RowPolicy {
                    rows,
                    batch: rows,
                    way,
                    in_turn,
                    ..policy
                });
            engines.extend(once.map(Engine::Rows));
            engines.push(Engine::Rows(of_long_inputs::<T>()));
        }
        if order == Order::Any && !matrix::is_second::<Op>() {
            let way = Way::OneByOne;
            engines.push(Engine::Rows(RowPolicy { way, ..policy }));
        }
    }
    if primitive == Primitive::Scan {
        let [short, long] = [false, true].map(RowPolicy::of_scan::<T>);
        let wave = WavePolicy::of::<T>();
        engines.push(Engine::Rows(short));
        engines.extend(wave.map(tiny).map(Engine::Wave));
        let anywhere = wave.and_then(WavePolicy::anywhere::<T>);
        if !matrix::is_second::<Op>() {
            engines.extend(anywhere.map(tiny).map(Engine::Wave));
        }
        // The first is that of short inputs. Some differ in warps and blocks alone.
        let mut at_once = RowPolicy::for_scans_at_once(Layouts::of_slice::<T>(), 90, 0);
        at_once.dedup_by_key(|policy| (policy.rows, policy.batch));
        let at_once = at_once.into_iter().skip(1).map(Engine::Rows);
        let ordered = [
            TypeId::of::<Bracketing>(),
            TypeId::of::<BicyclicProduct>(),
            TypeId::of::<OddMaps>(),
        ];
        if ordered.contains(&TypeId::of::<Op>()) {
            engines.extend(wave.map(small).map(Engine::Wave));
            engines.extend(at_once.clone());
        }
        if !matrix::is_second::<Op>() {
            engines.extend(shares::<T>().into_iter().map(Engine::Shares));
        }
        let every_shape = [TypeId::of::<f32>(), TypeId::of::<u8>()].contains(&TypeId::of::<T>());
        if every_shape && TypeId::of::<Op>() == TypeId::of::<Add>() {
            engines.extend(at_once.chain([Engine::Rows(long)]));
            engines.extend(wave.map(Engine::Wave));
            engines.extend(anywhere.map(Engine::Wave));
        }
    }
    engines
}

/// The rows engine as it reduces long inputs in the law's order.
fn of_long_inputs<T: Element>() -> RowPolicy {
    let mut policies = RowPolicy::for_ordered_reduce(Layouts::of_slice::<T>(), 90);
    policies.pop().expect("the last is for long inputs").1
}

/// The block engine as it is chosen.
fn in_one_block<T: Element>(primitive: Primitive) -> Option<BlockPolicy> {
    match primitive {
        Primitive::Reduce => BlockPolicy::for_reduce(Layouts::of_slice::<T>(), 90, Order::Law, 0),
        Primitive::Scan => BlockPolicy::for_scan(Layouts::of_slice::<T>(), 90, 0),
    }
}

/// The shares engine with small tiles, of which many can be tested: with the fewest warps, and with
/// so many that each of its tasks has one.
fn shares<T: Element>() -> Vec<SharePolicy> {
    let Some(compute_bound) = ComputeBoundScan::of(Layouts::of_slice::<T>(), 90, u32::MAX) else {
        return Vec::new();
    };
    let policy = |rows: u32, warps| SharePolicy {
        rows,
        batch: rows.div_ceil(2),
        warps,
        ..compute_bound.shares
    };
    vec![policy(4, 2), policy(1, 8)]
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

/// The tiny policy with two rows a warp, and two sums a lane.
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
        Engine::Levels => level_cases::<T>(primitive),
        Engine::Rows(policy) => match primitive {
            Primitive::Reduce => reduction_cases::<T>(policy),
            Primitive::Scan => tile_cases::<T>(policy),
        },
        Engine::Block(policy) => block_cases(primitive, policy),
        Engine::Wave(policy) => wave_cases::<T>(policy),
        Engine::Shares(policy) => share_cases::<T>(policy),
        _ => unreachable!("there are five engines"),
    }
}

/// The case of a number and a length: in all variants, and at all placements, in turn.
fn scan_case(engine: Engine, placements: &[Placement]) -> impl Fn((usize, usize)) -> Case + Copy {
    move |(number, length)| {
        let (in_place, shifts) = placements[number % placements.len()];
        Case {
            primitive: Primitive::Scan,
            engine,
            length,
            seeded: number & 1 == 1,
            inclusive: (number ^ number >> 2) & 2 == 2,
            reverse: false,
            in_place,
            shifts,
        }
    }
}

/// Whether the output is the input, and by how much both are shifted.
type Placement = (bool, (usize, usize));

/// Aligned, in place, and from places that no word begins at.
const PLACEMENTS: [Placement; 5] = [
    (false, (0, 0)),
    (true, (0, 0)),
    (false, (1, 0)),
    (false, (3, 5)),
    (true, (1, 1)),
];

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
    let case = scan_case(Engine::Rows(policy), &placements);
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
        engine: Engine::Rows(policy),
        length,
        seeded: number & 1 == 1,
        inclusive: false,
        reverse: false,
        in_place: false,
        shifts: (shifts[number % shifts.len()], number % 3),
    };
    // With a seed and without; once where it takes as long as all of the others.
    let times = |length| if length > 100 * batch { 1 } else { 2 };
    let cases = lengths
        .into_iter()
        .flat_map(|length| std::iter::repeat_n(length, times(length)));
    cases.enumerate().map(case).collect()
}

/// Around the ends of runs and parts, up to what a block holds.
fn block_cases(primitive: Primitive, policy: BlockPolicy) -> Vec<Case> {
    let (run, most) = (policy.run as usize, policy.elements() as usize);
    let part = 32 * run;
    let around = |length: usize| [length - 1, length, length + 1, length + run + 1];
    let lengths = [
        vec![0, 1, 2, 3, 5, 7, 11, 31, 32, 33, 1000.min(most)],
        around(2 * run).to_vec(),
        around(part).to_vec(),
        around(2 * part).to_vec(),
        around(3 * part).to_vec(),
        around(7 * part - run - 1).to_vec(),
        vec![most - part, most - run, most - 1, most, most, most],
    ]
    .concat();
    // A block of a few warps holds no seven parts.
    let lengths = lengths.into_iter().filter(|&length| length <= most);
    let case = scan_case(Engine::Block(policy), &PLACEMENTS);
    let case = |(number, length): (usize, usize)| Case {
        primitive,
        in_place: primitive == Primitive::Scan && case((number, length)).in_place,
        ..case((number, length))
    };
    let twice = lengths.flat_map(|length| [length; 2]);
    twice.enumerate().map(case).collect()
}

/// Around the ends of runs, shares, rows and tiles; and so many tiles that their sums are summed up
/// twice.
fn share_cases<T: Element>(policy: SharePolicy) -> Vec<Case> {
    let (run, tile) = (policy.run as usize, policy.tile() as usize);
    let (row, share, chunk) = (
        32 * run,
        run * policy.rows as usize,
        32 * run * policy.rows as usize,
    );
    let lengths = [
        vec![0, 1, 2, 3, run - 1, run, run + 1, 31, 32, 33],
        vec![share - 1, share, share + 1, row - 1, row, row + 1],
        vec![chunk - 1, chunk, chunk, chunk + 1, chunk + 3],
        vec![
            tile - 1,
            tile - 1,
            tile,
            tile,
            tile,
            tile,
            tile + 1,
            tile + 1,
        ],
        vec![
            2 * tile,
            2 * tile,
            2 * tile,
            2 * tile,
            3 * tile + 5,
            5 * tile - 7,
        ],
        vec![
            31 * tile,
            32 * tile,
            32 * tile,
            33 * tile + 1,
            37 * tile + 3,
        ],
        // The last tile begins where a level of the tree does, and is not full. With many warps
        // that is nine tenths of the threads of all lengths, so one type has it.
        match policy.warps {
            2 => vec![1024 * tile + 1, 1055 * tile - 3],
            _ if TypeId::of::<T>() == TypeId::of::<f32>() => vec![1055 * tile - 3],
            _ => vec![],
        },
    ]
    .concat();
    let case = scan_case(Engine::Shares(policy), &PLACEMENTS);
    lengths.into_iter().enumerate().map(case).collect()
}

/// Around the ends of runs, rows and tiles; for tiny tiles, also of waves.
fn wave_cases<T: Element>(policy: WavePolicy) -> Vec<Case> {
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
    let case = scan_case(Engine::Wave(policy), placements);
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
            Plan::new(Layouts::of_slice::<T>(), primitive, tile * tile + tile + 3).levels(),
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
                engine: Engine::Levels,
                length,
                seeded: number & 1 == 1,
                inclusive: number & 2 == 2,
                reverse: false,
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
            check_engine::<T, Op>(toolchain, primitive, engine, false, &data);
            if primitive == Primitive::Scan && !matches!(engine, Engine::Wave(_)) {
                check_engine::<T, Op>(toolchain, primitive, engine, true, &data);
            }
        }
    }
}

/// The source of kernels, and its functions.
fn generate<K: Kernels>(engine: Engine) -> (String, Vec<&'static str>) {
    let text = source::<K>(engine).expect("the source can be generated");
    (text, K::kernel(engine).functions().to_vec())
}

fn check_engine<T: Sample, Op: Monoid<T>>(
    toolchain: &Toolchain,
    primitive: Primitive,
    engine: Engine,
    reverse: bool,
    data: impl Fn(usize) -> Vec<T>,
) {
    let kernel = format!(
        "{}{} {}",
        if reverse { "reverse " } else { "" },
        primitive.name(),
        match engine {
            Engine::Levels => "levels",
            Engine::Rows(policy) if policy == RowPolicy::of_scan::<T>(true) => "long rows",
            Engine::Rows(policy) if policy == of_long_inputs::<T>() => "rows of long inputs",
            Engine::Rows(RowPolicy {
                way: Way::Grouped, ..
            }) => "grouped rows",
            Engine::Rows(RowPolicy {
                way: Way::Compact, ..
            }) => "compact rows",
            Engine::Rows(RowPolicy {
                way: Way::OneByOne, ..
            }) => "rows one by one",
            Engine::Rows(_) => "rows",
            Engine::Block(_) => "block",
            Engine::Wave(policy) if policy == small(policy) => "small wave",
            Engine::Wave(policy) => match (policy == tiny(policy), policy.anywhere) {
                (true, false) => "tiny wave",
                (true, true) => "tiny wave anywhere",
                (false, false) => "wave",
                (false, true) => "wave anywhere",
            },
            Engine::Shares(policy) if policy.warps > 2 => "shares of many warps",
            Engine::Shares(_) => "shares",
            _ => unreachable!("there are five engines"),
        },
    );
    let name = format!("{kernel} {} {}", type_name::<T>(), type_name::<Op>());
    // The shares engine treats types much alike, so one of them is enough. Of scans in reverse the
    // two pairs take turns.
    let is_float = TypeId::of::<T>() == TypeId::of::<f32>();
    let always = matrix::is_in_every_run::<T, Op>()
        && match engine {
            Engine::Shares(policy) => is_float && (!reverse || policy.warps == 2),
            _ => !reverse || matrix::has_turn(&kernel, usize::from(is_float), 2),
        };
    if !matrix::is_drawn(&name, always) {
        return;
    }
    let (text, functions) = match primitive {
        Primitive::Reduce => generate::<kernels::Reduce<T, Op>>(engine),
        Primitive::Scan if reverse => generate::<kernels::Scan<T, Op, Slice<T>, true>>(engine),
        Primitive::Scan => generate::<kernels::Scan<T, Op>>(engine),
    };
    let module = toolchain.module(&name, &text, &functions);

    let mut cases = cases::<T>(primitive, engine);
    cases.iter_mut().for_each(|case| case.reverse = reverse);
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
    script.file("workspace", &used_workspace(1 << 18));
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
            Primitive::Scan if reverse => {
                let scan = [oracle::exclusive::<T, Op>, oracle::inclusive::<T, Op>];
                let backwards = |data: &[T]| data.iter().rev().copied().collect::<Vec<_>>();
                let items = backwards(&data[..case.length]);
                let init = case.seeded.then_some(*init);
                backwards(&scan[usize::from(case.inclusive)](&items, init))
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

/// The values of `zeros`, with a NaN now and then from number 300 on.
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
