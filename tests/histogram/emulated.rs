//! Histograms run in the emulator: they count what the CPU counts, in shared memory and in global,
//! with any number of copies, wherever their slices start.

use super::counters_emulated::{count_by, count_with};
use crate::emulator::{Argument, Grid, Toolchain, address, base_seed};
use crate::sources::emulated::{Case, MOST, drawn_module, leaf, lengths, place, script, slice};
use crate::support::data::{Random, Sample, assert_same, sample};
use warpfold::codegen::kernels::{
    BinRule, ByAnyValue, ByFixedGuess, ByGuess, BySearch, ByValue, Histogram, HistogramArguments,
    HistogramArgumentsOf, TablesAt,
};
use warpfold::codegen::{
    Engine, HistogramCounters, HistogramMachine, HistogramPlace, HistogramPlan, HistogramPolicy,
    Lookup, LookupBytes, RowPolicy,
};
use warpfold::source::{
    Form, Index, IndexArguments, Map, Slice, SliceArguments, Strided, StridedArguments, Zip,
    ZipArguments,
};
use warpfold::{Binned, Bins, Count, Counted, Integer, bytemuck, function, histogram};

type Value<F> = <<F as Form>::Item as Counted>::Value;

pub(crate) const MOST_SHARED: u32 = 227 << 10;

/// The bins of a case, by a rule that they have, with all copies, some and none of their counters.
fn check<C: Sample + Count, F: Form<Item: Sample + Counted>, R: BinRule>(
    name: &str,
    case: &Case<F>,
    bins: &[(Bins<Value<F>>, usize)],
) {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let rows = Histogram::<C, F, R>::rows_policy(90);
    let kernels = format!("{name} {}", R::CUDA);
    let engine = Engine::Rows(rows);
    let Some(module) = drawn_module::<Histogram<C, F, R>>(toolchain, &kernels, engine) else {
        return;
    };
    let share = rows.elements() as usize;
    let small = RowPolicy { warps: 3, ..rows };
    for (bins, channels) in bins {
        let channels = *channels;
        let counters = bins.count() * channels;
        for (number, length) in [0]
            .into_iter()
            .chain(lengths(rows.run as usize, share))
            .enumerate()
        {
            // A lookup that tells all edges apart, some of them, or hardly any.
            let room = [usize::MAX, 300, 64][number % 3];
            let lookup = bins.lookup(&[room]).filter(|_| R::SEARCHES);
            let table = lookup
                .as_ref()
                .map_or(LookupBytes::default(), Lookup::bytes);
            let behind = table.least() + table.firsts;
            // A block alone, or several, whose counters are in shared memory even for few items.
            let policy = HistogramPolicy {
                alone: (number % 3 * share) as u32,
                fewest_warps: 1,
                items_a_counter: 0,
                items_a_narrow_counter: 0,
                log_slots: number as u32 % 5,
                ..HistogramPolicy::for_capability(90)
            };
            let machine = HistogramMachine {
                multiprocessors: 3,
                shared_bytes: match number % 5 {
                    0 => MOST_SHARED,
                    1 => MOST_SHARED.min((4 * (counters + 1).next_multiple_of(4) + behind) as u32),
                    2 => MOST_SHARED.min(8 * (counters + 1) as u32),
                    3 => (2 * (counters + 1).next_multiple_of(8) + 128 + table.least()) as u32,
                    _ => (table.least() + number % 64) as u32,
                }
                .max(table.least() as u32 + 64),
            };
            let needs = HistogramCounters::of_items(counters);
            let plan = HistogramPlan::new(policy, small, machine, length, needs, table);
            assert!(plan.shared_bytes <= machine.shared_bytes, "{plan:?}");
            // Now and then several rounds, and whole batches of an input that has few.
            let mut plan = HistogramPlan {
                units_a_round: [plan.units_a_round, 1][number / 2 % 2],
                by_rows: plan.by_rows && number % 5 < 3,
                ..plan
            };
            // One warp alone, in as many rounds as it takes.
            if number % 4 == 2 {
                (plan.blocks, plan.threads) = (1, 32);
            }
            if plan.place == HistogramPlace::Narrow {
                plan.log_copies = [15, 3, 0][number % 3];
            }

            let mut script = script(case);
            let firsts = if [ByValue::CUDA, ByAnyValue::CUDA].contains(&R::CUDA) {
                &[]
            } else {
                bins.firsts()
            };
            let words = lookup
                .clone()
                .map_or(Vec::new(), |mut lookup| lookup.take_words());
            script.file("firsts", bytemuck::cast_slice(firsts));
            script.file("lookup", bytemuck::cast_slice(&words));
            script.seed(base_seed() + number as u64);
            place(&mut script, case, length, number);
            script.filled("firsts", 0, size_of_val(firsts), "firsts");
            script.filled("lookup", 0, 4 * words.len(), "lookup");
            script.buffer("counts", 0, size_of::<C>() * counters);
            let input = ((case.arguments)(length), length);
            let arguments = arguments::<_, _, R>(&plan, bins, lookup.as_ref(), channels, input);
            let function = function_of(&plan);
            let grid = Grid {
                shared: plan.shared_bytes as usize,
                ..Grid::new(plan.blocks.into(), plan.threads)
            };
            if plan.adds() {
                let grid = Grid::new(1 + number as u64 % 2, 64);
                script.launch("histogram_clear", grid, &[Argument::of_struct(&arguments)]);
            }
            script.launch(function, grid, &[Argument::of_struct(&arguments)]);
            script.save("counts");
            let what = format!("{name}, {counters} counters, {length} items, {plan:?}");
            let output = script.run_to_the_end(&what, &module);
            let counts: Vec<C> = bytemuck::pod_collect_to_vec(&output);
            let expected = histogram::<C, _>(&case.items[..length], bins).unwrap();
            assert_same(&counts, &expected, &what);
        }
    }
}

/// The arguments of kernels that read `firsts` and `lookup`, and write `counts`.
pub(crate) fn arguments<S, V: Binned, R: BinRule>(
    plan: &HistogramPlan,
    bins: &Bins<V>,
    lookup: Option<&Lookup>,
    channels: usize,
    input: (S, usize),
) -> HistogramArgumentsOf<S, R, V> {
    let tables = TablesAt {
        firsts: address("firsts", 0),
        lookup: lookup.map(|lookup| (lookup, address("lookup", 0))),
    };
    let counts = address("counts", 0);
    HistogramArguments::new::<R, V>(plan, bins, tables, channels, input, counts)
}

pub(crate) fn function_of(plan: &HistogramPlan) -> &'static str {
    match plan.place {
        HistogramPlace::Shared => "histogram_shared",
        HistogramPlace::Narrow => "histogram_narrow",
        HistogramPlace::Global => "histogram_global",
    }
}

fn slice_case<T: Sample>(data: Vec<T>) -> Case<Slice<T>>
where
    Slice<T>: Form<Item = T, Arguments = SliceArguments>,
{
    let (mut leaf, _) = leaf::<T>("a", MOST, 1);
    leaf.bytes = bytemuck::cast_slice(&data).to_vec();
    Case {
        arguments: |_| slice("a"),
        leaves: vec![leaf],
        elements: |length| length,
        items: data,
    }
}

fn one_channel<T: Binned>(bins: impl IntoIterator<Item = Bins<T>>) -> Vec<(Bins<T>, usize)> {
    bins.into_iter().map(|bins| (bins, 1)).collect()
}

fn values<T: Integer>(counts: &[usize]) -> Vec<(Bins<T>, usize)> {
    one_channel(counts.iter().map(|&count| Bins::values(count).unwrap()))
}

#[test]
fn values_in_any_number_of_bins() {
    let counts = [1, 2, 31, 32, 33, 256, 257];
    check::<u32, _, ByValue>("u8", &slice_case(sample::<u8>(MOST, 1)), &values(&counts));
    let all = values(&[256, 300]);
    check::<u32, _, ByAnyValue>("u8", &slice_case(sample::<u8>(MOST, 1)), &all);
    let data = sample::<u32>(MOST, 2).into_iter().map(|x| x % 300);
    check::<u64, _, ByValue>("u32", &slice_case(data.collect()), &values(&counts));
}

#[test]
fn negative_values_have_no_bin() {
    check::<u32, _, ByValue>("i8", &slice_case(sample::<i8>(MOST, 1)), &values(&[100]));
    check::<u32, _, ByValue>("i64", &slice_case(sample::<i64>(MOST, 1)), &values(&[3]));
}

#[test]
fn values_in_very_many_bins() {
    let case = slice_case(sample::<u16>(MOST, 2));
    check::<u32, _, ByValue>("u16", &case, &values(&[4096, 60_000]));
}

/// All items have one bin.
#[test]
fn equal_values() {
    check::<u64, _, ByValue>("u64", &slice_case(vec![5_u64; MOST]), &values(&[7, 3]));
}

/// Numbers near edges, with what has no bin.
fn near<T: Binned>(bins: &Bins<T>, data: Vec<T>) -> Vec<T> {
    let mut random = Random::new(7);
    let mut data = data;
    for x in &mut data {
        let firsts = bins.firsts();
        let first = firsts[random.next() as usize % firsts.len()].rank();
        match random.next() % 8 {
            0 => *x = T::of_rank(first),
            1 => *x = T::of_rank(first.saturating_sub(1).max(T::ENDS.0.rank())),
            2 => *x = T::of_rank((first + 1).min(T::ENDS.1.rank())),
            _ => {}
        }
    }
    data
}

fn check_even<T: Sample + Binned, R: BinRule>(name: &str, lo: f64, hi: f64, counts: &[usize])
where
    Slice<T>: Form<Item = T, Arguments = SliceArguments>,
{
    let bins: Vec<_> = counts
        .iter()
        .map(|&n| Bins::even(lo, hi, n).unwrap())
        .collect();
    let mut data = near(&bins[bins.len() - 1], sample::<T>(MOST, 3));
    // The last number has the last bin.
    data.iter_mut().step_by(9).for_each(|x| *x = T::near(hi));
    check::<u32, _, R>(name, &slice_case(data), &one_channel(bins));
}

#[test]
fn even_bins() {
    check_even::<f32, ByGuess>("f32", -0.7, 0.9, &[1, 10, 1000]);
    check_even::<f64, ByGuess>("f64", 0.1, 0.8, &[3, 257]);
    check_even::<i64, ByGuess>("i64", -9e18, 9e18, &[100]);
    check_even::<u8, ByGuess>("u8", 0.0, 256.0, &[1000]);
}

#[test]
fn even_bins_of_short_integers() {
    check_even::<u8, ByFixedGuess>("u8", 0.0, 256.0, &[16, 31, 256]);
    check_even::<i8, ByFixedGuess>("i8", -100.5, 90.0, &[17]);
    check_even::<i16, ByFixedGuess>("i16", -20_000.5, 10_000.0, &[33]);
    check_even::<u32, ByFixedGuess>("u32", 0.0, 4_294_967_295.0, &[256, 4096]);
    check_even::<i32, ByFixedGuess>("i32", -3e9, 1.5e9, &[7, 1000]);
}

#[test]
fn floats_that_are_not_numbers_have_no_bin() {
    let special = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        -f32::NAN,
        0.0,
        -0.0,
        1.0,
        f32::MAX,
    ];
    let data: Vec<_> = special.into_iter().cycle().take(MOST).collect();
    let even = Bins::even(0.0, 1.0, 4).unwrap();
    check::<u32, _, ByGuess>(
        "special f32",
        &slice_case(data.clone()),
        &one_channel([even]),
    );
    let all = [f64::NEG_INFINITY, 0.0, 1.0, f64::INFINITY];
    let edges = [&all[..], &all[1..3], &all[..2]].map(|edges| Bins::with_edges(edges).unwrap());
    check::<u32, _, BySearch>("special f32", &slice_case(data), &one_channel(edges));
    let data: Vec<_> = special
        .into_iter()
        .map(f64::from)
        .cycle()
        .take(MOST)
        .collect();
    let edges = [&all[..], &all[1..3], &all[..2]].map(|edges| Bins::with_edges(edges).unwrap());
    check::<u32, _, BySearch>("special f64", &slice_case(data), &one_channel(edges));
}

fn check_edges<T: Sample + Binned>(name: &str, edges: &[f64])
where
    Slice<T>: Form<Item = T, Arguments = SliceArguments>,
{
    let bins = Bins::with_edges(edges).unwrap();
    let data = near(&bins, sample::<T>(MOST, 4));
    check::<u64, _, BySearch>(name, &slice_case(data), &one_channel([bins]));
}

#[test]
fn bins_between_edges() {
    check_edges::<f32>("f32", &[-1.0, -0.3, 0.0, 0.1, 0.100001, 2.0]);
    check_edges::<f64>("f64", &[0.5, 0.75]);
    check_edges::<i8>("i8", &[-128.0, -3.0, 7.5, 100.0]);
    check_edges::<i16>("i16", &[-3000.0, 5.0, 6.0, 7.0, 32_767.0]);
    check_edges::<u32>("u32", &[0.0, 1.0, 3e9, 4_294_967_295.0]);
    check_edges::<i64>("i64", &[-1e18, -1.0, 0.0, 3.0, 8e18]);
    check_edges::<u64>("u64", &[0.0, 1e3, 1.8e19]);
    check_edges::<u8>("u8", &[0.0, 3.5, 77.0, 77.5, 200.0, 300.0, 400.0]);
    check_edges::<i32>("i32", &[-1e9, -1e8, 0.0, 0.5, 1e9]);
    let edges: Vec<f64> = (0..1000).map(|i| f64::from(i * i)).collect();
    check_edges::<u16>("u16", &edges);
}

/// Numbers of 64 bits that differ from an edge in bits that the lookup drops, or that are equal to
/// it.
#[test]
fn edges_that_are_close_to_items() {
    let edges = [
        0.0,
        1.0,
        1.0 + 3.0 * f64::EPSILON,
        1.5,
        2.0 - f64::EPSILON,
        3.0,
    ];
    let bins = Bins::with_edges(&edges).unwrap();
    let mut random = Random::new(3);
    let item = |_| {
        let edge = edges[random.next() as usize % edges.len()].rank() + random.next() % 9;
        f64::of_rank(edge - 4)
    };
    let data = (0..MOST).map(item).collect();
    check::<u32, _, BySearch>("f64 close", &slice_case(data), &one_channel([bins]));
}

/// The first numbers of bins lie behind all copies of the cells.
#[test]
fn cells_have_copies_beside_first_numbers() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let edges: Vec<f64> = (0..40).map(|i| 1.0 + f64::from(i) * f64::EPSILON).collect();
    let bins = Bins::with_edges_of(&edges).unwrap();
    let items = near_items(&bins, 2000);
    let lookup = bins.lookup(&[64]).unwrap().bytes();
    assert!(lookup.firsts > 0, "{lookup:?}");
    let counters = 4 * (bins.count() + 1).next_multiple_of(4);
    for log_cell_copies in [0, 2, 5] {
        let table = lookup.segments + (lookup.cells << log_cell_copies) + lookup.firsts;
        let plan = HistogramPlan {
            blocks: 2,
            threads: 64,
            shared_bytes: (counters + table) as u32,
            place: HistogramPlace::Shared,
            by_rows: false,
            log_copies: 0,
            units_a_round: 1 << 20,
            log_cell_copies,
            copies_table: true,
        };
        let (counts, _) = count_with::<u32, _, BySearch>(toolchain, &plan, &bins, 64, &items);
        assert_eq!(counts, histogram::<u32, _>(&items, &bins).unwrap());
    }
}

/// Far more edges in one place than cells tell apart.
#[test]
fn very_many_edges_in_one_place() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let near = (0..20_000).map(|i| 1.0 + f64::from(i) * f64::EPSILON);
    let edges: Vec<f64> = [-1e300].into_iter().chain(near).chain([1e300]).collect();
    let bins = Bins::with_edges_of(&edges).unwrap();
    let items = near_items(&bins, 3000);
    let rows = Histogram::<u32, Slice<f64>, BySearch>::rows_policy(90);
    let policy = HistogramPolicy {
        items_a_counter: 0,
        items_a_narrow_counter: 0,
        ..HistogramPolicy::for_capability(90)
    };
    let machine = HistogramMachine {
        multiprocessors: 2,
        shared_bytes: MOST_SHARED,
    };
    let lookup = bins.lookup(&[usize::MAX]).unwrap().bytes();
    let needs = HistogramCounters::of_items(bins.count());
    let plan = HistogramPlan::new(policy, rows, machine, items.len(), needs, lookup);
    let (counts, _) = count_by::<u32, _, BySearch>(toolchain, &plan, &bins, &items);
    assert!(
        counts == histogram::<u32, _>(&items, &bins).unwrap(),
        "{plan:?}"
    );
}

fn near_items<T: Sample + Binned>(bins: &Bins<T>, count: usize) -> Vec<T> {
    near(bins, sample::<T>(count, 5))
}

#[test]
fn channels_of_pixels() {
    let all = Bins::<u8>::values(256).unwrap();
    let colours = (all.clone().channels(3), 3);
    let data = sample::<[u8; 4]>(MOST, 5);
    check::<u32, _, ByValue>("[u8; 4]", &slice_case(data), &[(all, 4), colours]);
    let data = sample::<[f32; 3]>(MOST, 5);
    let even = Bins::even(-1.0, 1.0, 10).unwrap();
    check::<u64, _, ByGuess>("[f32; 3]", &slice_case(data), &[(even, 3)]);
}

#[function]
fn remainder(place: u64, x: u16) -> u32 {
    ((place + x as u64) % 11) as u32
}

#[test]
fn mapped_pairs_of_a_slice_and_an_index() {
    let (a, x) = leaf::<u16>("a", MOST, 1);
    let case = Case::<Map<remainder, Zip<(Index, Slice<u16>)>>> {
        arguments: |_| ZipArguments(IndexArguments { first: 0 }, slice("a")),
        leaves: vec![a],
        elements: |length| length,
        items: x
            .iter()
            .zip(0..)
            .map(|(&x, place)| remainder(place, x))
            .collect(),
    };
    check::<u32, _, ByValue>("pairs", &case, &values(&[10, 11]));
}

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
        elements: |length| length.div_ceil(7) * 11,
        items: (0..MOST).map(|i| x[i / 7 * 11 + i % 7]).collect(),
    };
    let bins = one_channel([Bins::even(0.0, 65_536.0, 8).unwrap()]);
    check::<u64, _, ByFixedGuess>("columns", &case, &bins);
}
