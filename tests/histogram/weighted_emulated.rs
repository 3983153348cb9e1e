//! The kernels of weighted histograms run in the emulator: those that find the places of items, and
//! those that add up integers. The sort and the fold of others are tested in their own rooms.

use crate::emulator::{Argument, Grid, Module, Script, Toolchain, address, base_seed};
use crate::sources::emulated::drawn_module;
use crate::support::data::{Sample, assert_same, sample};
use warpfold::codegen::kernels::{
    BinRule, ByAnyValue, ByFixedGuess, ByGuess, BySearch, ByValue, HistogramArguments, PlacesOf,
    SumsOf, TablesAt, Weight, WeightedForm,
};
use warpfold::codegen::{
    Engine, Function, HistogramCounters, HistogramMachine, HistogramPlace, HistogramPlan,
    HistogramPolicy, Lookup, LookupBytes, RowPolicy,
};
use warpfold::ops::Add;
use warpfold::source::{Form, Slice, SliceArguments, ZipArguments};
use warpfold::{Bins, Counted, Monoid, bytemuck, histogram, histogram_weighted};

/// What a launch reads, and what it writes, by name. Buffers start a little behind an allocation.
struct Launch<'a> {
    what: String,
    module: &'a Module,
    script: Script,
    outputs: Vec<&'static str>,
}

impl<'a> Launch<'a> {
    fn new(what: &str, module: &'a Module) -> Launch<'a> {
        let mut script = Script::new();
        script.seed(base_seed());
        Launch {
            what: what.into(),
            module,
            script,
            outputs: Vec::new(),
        }
    }

    fn reads<T: bytemuck::NoUninit>(&mut self, name: &'static str, data: &[T]) -> u64 {
        self.reads_from(name, align_of::<T>(), data)
    }

    /// Data that start so many bytes after an address that is well aligned.
    fn reads_from<T: bytemuck::NoUninit>(
        &mut self,
        name: &'static str,
        offset: usize,
        data: &[T],
    ) -> u64 {
        self.script.file(name, bytemuck::cast_slice(data));
        self.script.filled(name, offset, size_of_val(data), name);
        address(name, 0)
    }

    fn writes<T>(&mut self, name: &'static str, len: usize) -> u64 {
        self.script
            .buffer(name, align_of::<T>(), size_of::<T>() * len);
        self.outputs.push(name);
        address(name, 0)
    }

    fn run<A: Copy>(mut self, function: &Function<A>, grid: Grid, arguments: A) -> Vec<u8> {
        let argument = Argument::of_struct(&arguments);
        self.script.launch(function.name, grid, &[argument]);
        for output in self.outputs {
            self.script.save(output);
        }
        self.script
            .run_to_the_end(&format!("{}: {}", self.what, function.name), self.module)
    }
}

fn vec_of<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(bytes: &[u8]) -> Vec<T> {
    bytemuck::pod_collect_to_vec(bytes)
}

/// The counter of each part of each item, which is what a histogram of that item alone counts.
fn check_places<X: Sample + Counted, R: BinRule>(name: &str, data: &[X], bins: &Bins<X::Value>)
where
    Slice<X>: Form<Item = X, Arguments = SliceArguments>,
{
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let rows = warpfold::codegen::kernels::Histogram::<u32, Slice<X>, R>::rows_policy(90);
    let rows = RowPolicy { warps: 2, ..rows };
    let name = format!("places of {name} {}", R::CUDA);
    let Some(module) = drawn_module::<PlacesOf<Slice<X>, R>>(toolchain, &name, Engine::Rows(rows))
    else {
        return;
    };
    let of_one = |item: &X| histogram::<u32, X>(std::slice::from_ref(item), bins).unwrap();
    let all = of_one(&data[0]).len();
    let parts = X::CHANNELS;
    let channels = all / bins.count();
    let expected: Vec<u32> = data
        .iter()
        .flat_map(|item| {
            let counts = of_one(item);
            (0..parts).map(move |part| {
                let range = part * (all / channels)..(part + 1) * (all / channels);
                let of_part = counts.get(range.clone()).unwrap_or(&[]);
                let bin = of_part.iter().position(|&count| count > 0);
                bin.map_or(all as u32, |bin| (range.start + bin) as u32)
            })
        })
        .collect();
    for length in [0, 1, 33, data.len() / 2, data.len()] {
        let mut launch = Launch::new(&name, &module);
        let source = SliceArguments {
            address: launch.reads("data", &data[..length]),
        };
        let to = address("to", 0);
        launch
            .script
            .buffer("to", 0, size_of::<u32>() * length * parts);
        launch.outputs.push("to");
        let firsts = launch.reads("firsts", bins.firsts());
        let machine = HistogramMachine {
            multiprocessors: 1,
            shared_bytes: 227 << 10,
        };
        // Now and then one that does not tell the edges apart.
        let room = [64, HistogramPlan::lookup_room_of_places(machine)][length % 2];
        let mut lookup = bins.lookup(&[room]);
        let words = lookup.as_mut().map_or(Vec::new(), Lookup::take_words);
        let words = launch.reads_from("lookup", 0, &words);
        let bytes = lookup
            .as_ref()
            .map_or(LookupBytes::default(), Lookup::bytes);
        let plan = HistogramPlan::of_places(rows, machine, length, bytes);
        let tables = TablesAt {
            firsts,
            lookup: lookup.as_ref().map(|lookup| (lookup, words)),
        };
        let input = (source, length);
        let arguments = HistogramArguments::new::<R, _>(&plan, bins, tables, channels, input, to);
        let grid = Grid {
            shared: plan.shared_bytes as usize,
            ..Grid::new(plan.blocks.into(), plan.threads)
        };
        let output = launch.run(&HistogramArguments::PLACES, grid, arguments);
        assert_eq!(
            vec_of::<u32>(&output),
            expected[..length * parts],
            "{name}, {length} items"
        );
    }
}

#[test]
fn places_of_items() {
    let even = |lo, hi, count| Bins::even(lo, hi, count).unwrap();
    let mut data = sample::<f32>(1500, 1);
    data.extend([f32::NAN, f32::INFINITY, -0.0, 0.0, 1.0]);
    check_places::<f32, ByGuess>("f32", &data, &even(-0.7, 0.9, 10));
    let data = sample::<u32>(1500, 2);
    check_places::<u32, ByFixedGuess>("u32", &data, &Bins::even(0.0, 4e9, 7).unwrap());
    let edges = Bins::with_edges(&[-1.0, 0.0, 0.1, 0.2]).unwrap();
    check_places::<f64, BySearch>("f64", &sample::<f64>(1500, 3), &edges);
    let values = Bins::values(200).unwrap();
    check_places::<u8, ByValue>("u8", &sample::<u8>(1500, 4), &values);
    let colours = values.channels(3);
    check_places::<[u8; 4], ByValue>("[u8; 4]", &sample::<[u8; 4]>(700, 5), &colours);
}

/// Weights that are integers, added up by the kernels that count.
fn check_sums<X, R, W>(name: &str, data: &[X], bins: &Bins<X::Value>)
where
    X: Sample + Counted,
    R: BinRule,
    W: Sample + Weight<Sum: Sample + From<W>> + TryFrom<u64>,
    Slice<X>: Form<Item = X, Arguments = SliceArguments>,
    Slice<W>: Form<Item = W, Arguments = SliceArguments>,
    Add: Monoid<W::Sum>,
{
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let rows = RowPolicy::for_histogram::<WeightedForm<Slice<X>, W>>(90);
    let name = format!("sums of {name} {} {}", std::any::type_name::<W>(), R::CUDA);
    let engine = Engine::Rows(rows);
    let Some(module) = drawn_module::<SumsOf<Slice<X>, R, W>>(toolchain, &name, engine) else {
        return;
    };
    let small = RowPolicy { warps: 3, ..rows };
    let mut weights = sample::<W>(data.len(), 6);
    // Some have no lower word, and some are 0.
    let upper = W::try_from(3_u64 << 32).unwrap_or(W::zeroed());
    weights
        .iter_mut()
        .step_by(3)
        .for_each(|weight| *weight = upper);
    let wide: Vec<W::Sum> = weights.iter().map(|&weight| weight.into()).collect();
    let counters = bins.count() * X::CHANNELS;
    let mut lookup = bins.lookup(&[2000]).filter(|_| R::SEARCHES);
    let words = lookup.as_mut().map_or(Vec::new(), Lookup::take_words);
    let table = lookup
        .as_ref()
        .map_or(LookupBytes::default(), Lookup::bytes);
    for (number, length) in [0, 1, 33, 700, data.len()].into_iter().enumerate() {
        for global in [false, true] {
            let policy = HistogramPolicy {
                alone: 600,
                fewest_warps: 1,
                items_a_counter: 0,
                items_a_narrow_counter: 0,
                log_slots: number as u32,
                ..HistogramPolicy::for_capability(90)
            };
            let machine = HistogramMachine {
                multiprocessors: 3,
                shared_bytes: table.least() as u32 + (64 << if global { 0 } else { 2 * number }),
            };
            let needs = HistogramCounters {
                count: counters,
                words: W::WORDS,
                once: false,
            };
            let mut plan = HistogramPlan::new(policy, small, machine, length, needs, table);
            // Now and then one warp alone, in several rounds.
            if number % 2 == 1 {
                (plan.blocks, plan.threads, plan.units_a_round) = (1, 32, 1);
            }
            let what = format!("{name}, {length} items, {plan:?}");
            let mut launch = Launch::new(&what, &module);
            let source = ZipArguments(
                SliceArguments {
                    address: launch.reads("data", &data[..length]),
                },
                SliceArguments {
                    address: launch.reads("weights", &weights[..length]),
                },
            );
            let sums = launch.writes::<W::Sum>("sums", counters);
            let firsts = launch.reads("firsts", bins.firsts());
            let words = launch.reads_from("lookup", 0, &words);
            let tables = TablesAt {
                firsts,
                lookup: lookup.as_ref().map(|lookup| (lookup, words)),
            };
            let input = (source, length);
            let arguments =
                HistogramArguments::new::<R, _>(&plan, bins, tables, X::CHANNELS, input, sums);
            if plan.adds() {
                let argument = Argument::of_struct(&arguments);
                launch
                    .script
                    .launch("histogram_clear", Grid::new(2, 64), &[argument]);
            }
            let function = if plan.place == HistogramPlace::Global {
                "histogram_global"
            } else {
                "histogram_shared"
            };
            let grid = Grid {
                shared: plan.shared_bytes as usize,
                ..Grid::new(plan.blocks.into(), plan.threads)
            };
            let output = launch.run(&Function::new(function), grid, arguments);
            let expected = histogram_weighted(&data[..length], &wide[..length], bins).unwrap();
            assert_same(&vec_of::<W::Sum>(&output), &expected, &what);
        }
    }
}

#[test]
fn sums_of_integers() {
    let bins = Bins::even(-0.7, 0.9, 20).unwrap();
    let data = sample::<f32>(2000, 1);
    check_sums::<f32, ByGuess, u8>("f32", &data, &bins);
    check_sums::<f32, ByGuess, u32>("f32", &data, &bins);
    check_sums::<f32, ByGuess, u64>("f32", &data, &bins);
    let values = Bins::values(256).unwrap();
    check_sums::<[u8; 4], ByAnyValue, u64>("[u8; 4]", &sample::<[u8; 4]>(1500, 2), &values);
    check_sums::<u8, ByAnyValue, u16>("u8", &sample::<u8>(3000, 3), &values);
    let edges = Bins::with_edges(&[-1.0, -0.3, 0.0, 0.1, 0.7]).unwrap();
    check_sums::<f32, BySearch, u16>("f32", &data, &edges);
    check_sums::<f32, BySearch, u64>("f32", &data, &edges);
    // All of one bin: words wrap, and carry.
    check_sums::<u8, ByAnyValue, u64>("equal u8", &[9; 3000], &values);
}
