//! Where blocks of a histogram count, one kernel at a time: what it counts, and what that takes.

use super::emulated::{MOST_SHARED, arguments, function_of};
use crate::emulator::{Argument, Grid, Script, Tally, Toolchain, base_seed};
use crate::sources::emulated::{module, slice};
use crate::support::data::{Random, Sample};
use warpfold::codegen::kernels::{BinRule, ByValue, Histogram};
use warpfold::codegen::{
    Engine, HistogramCounters, HistogramMachine, HistogramPlace, HistogramPlan, HistogramPolicy,
    Lookup, LookupBytes,
};
use warpfold::source::{Form, Slice, SliceArguments};
use warpfold::{Binned, Bins, Count, bytemuck, histogram};

/// Counts items by a plan, from counts that are clear. Also tells what the kernel did.
pub(crate) fn count_by<C: Sample + Count, T: Sample + Binned, R: BinRule>(
    toolchain: &Toolchain,
    plan: &HistogramPlan,
    bins: &Bins<T>,
    items: &[T],
) -> (Vec<C>, Vec<Tally>)
where
    Slice<T>: Form<Item = T, Arguments = SliceArguments>,
{
    count_with::<C, T, R>(toolchain, plan, bins, usize::MAX, items)
}

/// Counts items by a plan, with a lookup of up to `room` bytes.
pub(crate) fn count_with<C: Sample + Count, T: Sample + Binned, R: BinRule>(
    toolchain: &Toolchain,
    plan: &HistogramPlan,
    bins: &Bins<T>,
    room: usize,
    items: &[T],
) -> (Vec<C>, Vec<Tally>)
where
    Slice<T>: Form<Item = T, Arguments = SliceArguments>,
{
    let rows = Histogram::<C, Slice<T>, R>::rows_policy(90);
    let name = format!("{} {} once", std::any::type_name::<(C, T)>(), R::CUDA);
    let module = module::<Histogram<C, Slice<T>, R>>(toolchain, &name, Engine::Rows(rows));
    let mut lookup = bins.lookup(&[room]).filter(|_| R::SEARCHES);
    let words = lookup.as_mut().map_or(Vec::new(), Lookup::take_words);
    let firsts = bins.firsts();
    let mut script = Script::new();
    script.seed(base_seed());
    for (name, bytes) in [
        ("a", bytemuck::cast_slice(items)),
        ("firsts", bytemuck::cast_slice(firsts)),
        ("lookup", bytemuck::cast_slice(&words)),
        (
            "counts",
            bytemuck::cast_slice(&vec![C::zeroed(); bins.count()]),
        ),
    ] {
        script.file(name, bytes);
        script.filled(name, 0, bytes.len(), name);
    }
    let input = (slice("a"), items.len());
    let arguments = arguments::<_, _, R>(plan, bins, lookup.as_ref(), 1, input);
    let grid = Grid {
        shared: plan.shared_bytes as usize,
        ..Grid::new(plan.blocks.into(), plan.threads)
    };
    script.launch(function_of(plan), grid, &[Argument::of_struct(&arguments)]);
    script.save("counts");
    let (output, tallies) = script.count(&format!("{name} {plan:?}"), &module);
    (bytemuck::pod_collect_to_vec(&output), tallies)
}

/// A plan for so many counters, with as many threads as blocks can have.
fn narrow_plan(counters: usize, blocks: u32) -> HistogramPlan {
    HistogramPlan {
        blocks,
        threads: 1024,
        shared_bytes: 4 * ((counters + 1).div_ceil(2) + 32) as u32,
        place: HistogramPlace::Narrow,
        by_rows: false,
        log_copies: 15,
        units_a_round: 1 << 20,
        log_cell_copies: 0,
        copies_table: false,
    }
}

/// More items than 16 bits hold of two places that share a word, and none of the others. A third
/// place is the one that warps count by themselves.
#[test]
fn narrow_counters_do_not_overflow() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let bins = Bins::<u16>::values(100).unwrap();
    let item = |i: usize| match i % 8 {
        7 => 70,
        i if i % 2 == 0 => 1,
        _ => 52,
    };
    let items: Vec<u16> = (0..152_000).map(item).collect();
    let plan = narrow_plan(100, 1);
    let (counts, tallies) = count_by::<u32, _, ByValue>(toolchain, &plan, &bins, &items);
    let mut expected = vec![0; 100];
    (expected[1], expected[52], expected[70]) = (76_000, 57_000, 19_000);
    assert_eq!(counts, expected);
    let emptied = lanes(
        &tallies,
        "if (more != 0 && place < places) atomicAdd(counts + place, (Count)(more >> shift));",
    );
    assert!((3..=4).contains(&emptied), "{emptied}");
}

/// A counter that each thread adds to by the first of its items alone.
#[test]
fn every_item_of_a_thread_empties_its_counter() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let bins = Bins::<u64>::values(100).unwrap();
    let items: Vec<u64> = (0..140_000).map(|i| [1, 70][i % 2]).collect();
    let plan = narrow_plan(100, 1);
    let (counts, _) = count_by::<u32, _, ByValue>(toolchain, &plan, &bins, &items);
    let mut expected = vec![0; 100];
    (expected[1], expected[70]) = (70_000, 70_000);
    assert_eq!(counts, expected);
}

/// What a warp counts by itself may have no bin.
#[test]
fn items_without_a_bin_come_most_often() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let bins = Bins::<u32>::values(301).unwrap();
    let items: Vec<u32> = (0..9000)
        .map(|i| if i % 50 == 0 { 7 } else { 301 })
        .collect();
    let plan = HistogramPlan {
        threads: 64,
        ..narrow_plan(301, 2)
    };
    let (counts, _) = count_by::<u32, _, ByValue>(toolchain, &plan, &bins, &items);
    assert_eq!((counts[7], counts.iter().sum()), (180, 180_u32));
}

/// Equal items are counted in registers, each warp's once.
#[test]
fn warps_count_equal_items_by_themselves() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let bins = Bins::<u16>::values(60_000).unwrap();
    let plan = narrow_plan(60_000, 2);
    let items = vec![59_999; 200_000];
    let (counts, tallies) = count_by::<u64, _, ByValue>(toolchain, &plan, &bins, &items);
    assert_eq!(
        (counts[59_999], counts.iter().sum()),
        (200_000, 200_000_u64)
    );
    let flushed = lanes(
        &tallies,
        "if (threadIdx.x % WARP == 0 && hot < places) atomicAdd(counts + hot, (Count)sum);",
    );
    assert_eq!(flushed, 64);
    let emptied = lanes(
        &tallies,
        "if (more != 0 && place < places) atomicAdd(counts + place, (Count)(more >> shift));",
    );
    assert_eq!(emptied, 0);
}

/// What comes often changes from unit to unit.
#[test]
fn warps_change_the_place_that_they_count() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let bins = Bins::<u16>::values(301).unwrap();
    let mut random = Random::new(11);
    let items: Vec<u16> = (0..30_000)
        .map(|i| match random.next() % 4 {
            0 => (random.next() % 310) as u16,
            _ => (i / 1200 % 5 * 75) as u16,
        })
        .collect();
    let expected = histogram::<u32, _>(&items, &bins).unwrap();
    for log_full in [0, 4, 15] {
        let plan = HistogramPlan {
            threads: 64,
            units_a_round: 3,
            log_copies: log_full,
            ..narrow_plan(301, 2)
        };
        let (counts, _) = count_by::<u32, _, ByValue>(toolchain, &plan, &bins, &items);
        assert_eq!(counts, expected, "{log_full}");
    }
}

/// As many counters as there is room for, and one fewer; and their last places.
#[test]
fn counters_fill_shared_memory() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let rows = Histogram::<u32, Slice<u32>, ByValue>::rows_policy(90);
    let policy = HistogramPolicy {
        items_a_counter: 0,
        items_a_narrow_counter: 0,
        ..HistogramPolicy::for_capability(90)
    };
    let machine = HistogramMachine {
        multiprocessors: 1,
        shared_bytes: MOST_SHARED,
    };
    for (count, place) in [
        (58_111, HistogramPlace::Shared),
        (58_112, HistogramPlace::Narrow),
        (116_158, HistogramPlace::Narrow),
        (116_159, HistogramPlace::Narrow),
        (116_160, HistogramPlace::Global),
    ] {
        let bins = Bins::<u32>::values(count).unwrap();
        let last = count as u32 - 1;
        let near = [
            0,
            last / 2 - 1,
            last / 2,
            last / 2 + 1,
            last / 2 + 2,
            last - 1,
            last,
        ];
        let items: Vec<u32> = (0..20_000)
            .map(|i| near.get(i % 8).map_or(last + 1, |x| *x))
            .collect();
        let needs = HistogramCounters::of_items(count);
        let lookup = LookupBytes::default();
        let plan = HistogramPlan::new(policy, rows, machine, items.len(), needs, lookup);
        assert_eq!(plan.place, place, "{plan:?}");
        let (counts, _) = count_by::<u32, _, ByValue>(toolchain, &plan, &bins, &items);
        assert!(
            counts == histogram::<u32, _>(&items, &bins).unwrap(),
            "{plan:?}"
        );
    }
}

/// How many lanes were active in an atomic operation, which is there once.
fn lanes(tallies: &[Tally], line: &str) -> u64 {
    let place = place_of(line);
    Tally::sum(tallies, |t| t.place == place && t.operation == "atomic").lanes
}

/// Where a line of the kernels is.
fn place_of(line: &str) -> String {
    let text = include_str!("../../kernels/histogram/counters.cuh");
    let mut places = (1..)
        .zip(text.lines())
        .filter(|(_, text)| text.trim() == line);
    let (number, _) = places.next().expect("the line is there");
    assert!(places.next().is_none(), "it is there once");
    format!("counters.cuh:{number}")
}

/// All items are of two bins, whose counters each block adds to global memory once.
#[test]
fn a_cache_gathers_the_items_of_a_bin() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let bins = Bins::<u64>::values(100).unwrap();
    let items: Vec<u64> = (0..1000)
        .map(|i| if i % 100 == 99 { 6 } else { 5 })
        .collect();
    let plan = HistogramPlan {
        blocks: 2,
        threads: 64,
        shared_bytes: 64,
        place: HistogramPlace::Global,
        by_rows: true,
        log_copies: 3,
        units_a_round: 1 << 20,
        log_cell_copies: 0,
        copies_table: false,
    };
    let (counts, tallies) = count_by::<u32, _, ByValue>(toolchain, &plan, &bins, &items);
    assert_eq!((counts[5], counts[6]), (990, 10));
    let lanes = |line| lanes(&tallies, line);
    let by_themselves = lanes("else atomicAdd(counts + place, (Count)amount);");
    let gathered = lanes("if (bin == place) atomicAdd(counters() + slot, (u32)amount);");
    let at_the_end = lanes("if (count != 0) atomicAdd(counts + bins()[slot], (Count)count);");
    assert_eq!((by_themselves, gathered), (0, 1000));
    assert!(at_the_end <= 4, "{at_the_end}");
}
