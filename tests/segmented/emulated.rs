//! The kernels in the emulator.

use super::cases::{Case, cases};
use crate::emulator::{Argument, Grid, Module, Script, Toolchain, address, base_seed};
use crate::support::data::{Sample, assert_same, sample};
use crate::support::matrix::is_drawn;
use crate::support::operators::{
    Bicyclic, BicyclicProduct, Bracketing, Guarded, GuardedBracketing, Sums,
};
use crate::support::oracle;
use crate::support::workspace::{KEY, used_workspace};
use half::f16;
use warpfold::codegen::kernels::{SegmentedArguments, SegmentedPolicy, SegmentedReduce};
use warpfold::codegen::{HEADER_BYTES, WorkspaceArguments};
use warpfold::ops::Add;
use warpfold::source::{Form, Map, Slice, SliceArguments, Zip, ZipArguments};
use warpfold::{
    CountedArguments, CountedStartsOf, Cut, Element, Monoid, Offset, OffsetsArguments, OffsetsOf,
    Rows, RowsArguments, StartsOf, bytemuck, function,
};

/// Tiles that are as short as they can be.
pub(super) fn policy<T: Element>() -> SegmentedPolicy {
    let usual = SegmentedPolicy::of::<T>();
    let (warps, rows) = match usual.unit {
        1024 => (2, 16),
        unit => (4, unit / 128),
    };
    SegmentedPolicy {
        warps,
        rows,
        finish_warps: warps,
        ..usual
    }
}

fn module<T: Sample, Op: Monoid<T>, F: Form<Item = T>, C: Cut>(name: &str) -> Option<Module> {
    let toolchain = Toolchain::get()?;
    let name = format!("segmented {name}");
    let always = ["segmented f32", "segmented products"].contains(&&*name);
    is_drawn(&name, always).then(|| {
        let kernel = SegmentedReduce::<T, Op, F, C>::kernel(policy::<T>());
        let text = kernel.source().expect("a source");
        toolchain.module(&name, &text, kernel.functions())
    })
}

/// A source with its data, and segments with theirs.
struct Input<'a, T, F: Form, G> {
    slices: &'a [(&'static str, &'a [T])],
    source: F::Arguments,
    segments: fn(&Case) -> G,
}

pub(super) fn scratch_bytes<T: Element>(items: usize) -> usize {
    policy::<T>().scratch::<T>(HEADER_BYTES as u64, items).end as usize
}

/// The arguments of a call over the buffers "out" and "workspace".
pub(super) fn arguments<T: Sample, S, G>(
    (source, segments): (S, G),
    items: usize,
    (init, seeded): (T, bool),
) -> SegmentedArguments<S, G, T::Accumulator> {
    let plan = policy::<T>();
    let scratch = plan.scratch::<T>(HEADER_BYTES as u64, items);
    let at = |offset: u64| address("workspace", offset as usize);
    SegmentedArguments {
        source,
        segments,
        out: address("out", 0),
        workspace: WorkspaceArguments {
            address: at(0),
            key: KEY.key,
        },
        sums: at(scratch.sums),
        tails: at(scratch.tails),
        list: at(scratch.list),
        capacity: plan.most_long(items) as u32,
        seeded: seeded.into(),
        init: init.widen(),
    }
}

/// Runs all cases with and without `init`, one after the other in one workspace.
fn check<T: Sample, Op: Monoid<T>, F: Form<Item = T>, C: Cut>(
    name: &str,
    input: &Input<'_, T, F, C::Arguments>,
    values: &[T],
    offset_bytes: fn(&Case) -> Vec<u8>,
    fits: fn(&Case) -> bool,
) {
    let Some(module) = module::<T, Op, F, C>(name) else {
        return;
    };
    let plan = policy::<T>();
    let cases = cases(plan.unit as usize);
    let some = cases.iter().filter(|case| case.count() > 0 && fits(case));
    for (number, case) in some.enumerate() {
        let mut script = Script::new();
        script.seed(base_seed() + number as u64);
        for (name, slice) in input.slices {
            script.file(name, bytemuck::cast_slice(&slice[..case.items]));
            let shift = number % 3 * align_of::<T>();
            script.filled(name, shift, case.items * size_of::<T>(), name);
        }
        let offsets = offset_bytes(case);
        script.file("offsets", &offsets);
        script.filled("offsets", 0, offsets.len(), "offsets");
        script.file("workspace", &used_workspace(scratch_bytes::<T>(case.items)));
        script.filled("workspace", 0, scratch_bytes::<T>(case.items), "workspace");
        script.buffer("out", 0, case.count() * size_of::<T>());
        let mut expected = Vec::new();
        for seeded in [false, true] {
            let init = if seeded { values[3] } else { Op::identity() };
            let bound = (input.source, (input.segments)(case));
            let given = arguments::<T, _, _>(bound, case.items, (init, seeded));
            let threads = 32 * policy::<T>().warps;
            let tiles = plan.tiles(case.items, case.count());
            let grid = Grid::new(tiles, threads);
            script.launch("segmented_reduce", grid, &[Argument::of_struct(&given)]);
            if plan.has_long(case.items) {
                let grid = Grid::new(1 + number as u64 % 3, threads);
                script.launch("segmented_finish", grid, &[Argument::of_struct(&given)]);
            }
            script.save("out");
            let init = seeded.then_some(init);
            expected.extend(case.folds::<T, Op>(&values[..case.items], init));
        }
        let what = format!("{name}: {}", case.name);
        let got: Vec<T> = bytemuck::pod_collect_to_vec(&script.run_to_the_end(&what, &module));
        assert_same(&got, &expected, &what);
    }
}

/// The items of the longest case, and some more.
fn most<T: Element>() -> usize {
    let unit = policy::<T>().unit as usize;
    let cases = cases(unit).into_iter().map(|case| case.items);
    cases.max().expect("there are cases") + 1
}

pub(super) fn slice(name: &'static str) -> SliceArguments {
    SliceArguments {
        address: address(name, 0),
    }
}

fn offsets(case: &Case) -> OffsetsArguments {
    OffsetsArguments {
        offsets: address("offsets", 0),
        count: case.count() as u64,
        items: case.items as u64,
    }
}

fn short_offsets(case: &Case) -> Vec<u8> {
    let offsets: Vec<_> = case.offsets.iter().map(|&offset| offset as u32).collect();
    bytemuck::cast_slice(&offsets).to_vec()
}

fn check_slices<T: Sample, Op: Monoid<T>, I: Offset>(name: &str, bytes: fn(&Case) -> Vec<u8>) {
    let items = sample::<T>(most::<T>(), 5);
    let input = Input::<T, Slice<T>, _> {
        slices: &[("items", &items)],
        source: slice("items"),
        segments: offsets,
    };
    check::<T, Op, Slice<T>, OffsetsOf<I>>(name, &input, &items, bytes, |_| true);
}

macro_rules! slices {
    ($($test:ident: $ty:ty, $op:ty;)*) => {$(
        #[test]
        fn $test() {
            check_slices::<$ty, $op, u32>(stringify!($test), short_offsets);
        }
    )*};
}

slices! {
    f32: f32, Add;
    halves: f16, Add;
    bytes: u8, Add;
    words: u64, Add;
    brackets: u64, Bracketing;
    bracketed_bytes: u8, Bracketing;
    bracketed_triples: [u8; 3], Bracketing;
    bracketed_arrays: [u8; 24], Bracketing;
    long_bracketed_arrays: [u8; 33], Bracketing;
    ordered: Bicyclic, BicyclicProduct;
    guarded: Guarded, GuardedBracketing;
    long_elements: [u64; 8], Sums;
}

#[test]
fn offsets_of_64_bits() {
    check_slices::<f32, Add, u64>("long offsets", |case| {
        bytemuck::cast_slice(&case.offsets).to_vec()
    });
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

#[test]
fn products_of_two_slices() {
    let (a, b) = (
        sample::<f32>(most::<f32>(), 1),
        sample::<f32>(most::<f32>(), 2),
    );
    let products: Vec<_> = a.iter().zip(&b).map(|(&x, &y)| product(x, y)).collect();
    type Products = Map<product, Zip<(Slice<f32>, Slice<f32>)>>;
    let input = Input::<f32, Products, _> {
        slices: &[("a", &a), ("b", &b)],
        source: ZipArguments(slice("a"), slice("b")),
        segments: offsets,
    };
    check::<f32, Add, Products, OffsetsOf<u32>>(
        "products",
        &input,
        &products,
        short_offsets,
        |_| true,
    );
}

/// Starts, of which there is one less than there are offsets.
#[test]
fn starts() {
    let items = sample::<f32>(most::<f32>(), 5);
    let input = Input::<f32, Slice<f32>, _> {
        slices: &[("items", &items)],
        source: slice("items"),
        segments: offsets,
    };
    let starts = |case: &Case| bytemuck::cast_slice(&case.offsets[..case.count()]).to_vec();
    let fits = Case::reaches_the_end;
    check::<f32, Add, Slice<f32>, StartsOf<u64>>("starts", &input, &items, starts, fits);
}

/// As many starts as memory says, with more room, with just as much, and with less.
#[test]
fn counted_starts() {
    let Some(module) = module::<f32, Add, Slice<f32>, CountedStartsOf<u64>>("counted") else {
        return;
    };
    let plan = policy::<f32>();
    let items = sample::<f32>(most::<f32>(), 5);
    let cases = cases(plan.unit as usize);
    let some = cases.iter().filter(|case| case.reaches_the_end());
    for (number, case) in some.enumerate() {
        let count = case.count();
        let room = [count + 700, count, count.div_ceil(2)][number % 3];
        let bytes = scratch_bytes::<f32>(case.items);
        let mut script = counted_script(number, (case, room), &items, bytes);
        let mut expected = vec![-7.5; room];
        script.file("out", bytemuck::cast_slice(&expected));
        script.filled("out", 0, 4 * room, "out");
        let bound = (slice("items"), counted_arguments(case, room));
        let given = arguments::<f32, _, _>(bound, case.items, (0.0, false));
        let threads = 32 * plan.warps;
        let grid = Grid::new(plan.tiles(case.items, room), threads);
        script.launch("segmented_reduce", grid, &[Argument::of_struct(&given)]);
        if plan.has_long(case.items) {
            let grid = Grid::new(2, threads);
            script.launch("segmented_finish", grid, &[Argument::of_struct(&given)]);
        }
        script.save("out");
        let what = format!("counted: {}, room for {room}", case.name);
        let got: Vec<f32> = bytemuck::pod_collect_to_vec(&script.run_to_the_end(&what, &module));
        // Where there is no room for all starts, the last one says where the last segment ends.
        let stored = if room < count { room - 1 } else { count };
        let folds = case.folds::<f32, Add>(&items[..case.items], None);
        expected[..stored].copy_from_slice(&folds[..stored]);
        assert_same(&got, &expected, &what);
    }
}

/// A script with items, counted starts, and a workspace of so many bytes.
pub(super) fn counted_script(
    number: usize,
    (case, room): (&Case, usize),
    items: &[f32],
    bytes: usize,
) -> Script {
    let mut script = Script::new();
    script.seed(base_seed() + number as u64);
    script.file("items", bytemuck::cast_slice(&items[..case.items]));
    script.filled("items", 0, 4 * case.items, "items");
    let numbers = counted(case, room);
    script.file("starts", &numbers);
    script.filled("starts", 0, numbers.len(), "starts");
    script.file("workspace", &used_workspace(bytes));
    script.filled("workspace", 0, bytes, "workspace");
    script
}

/// The number of segments, and the starts that there is room for. What comes behind them is any.
pub(super) fn counted(case: &Case, room: usize) -> Vec<u8> {
    let mut numbers = vec![case.count() as u64];
    numbers.extend(&case.offsets[..case.count().min(room)]);
    numbers.resize(1 + room, 3);
    bytemuck::cast_slice(&numbers).to_vec()
}

/// They lie in the buffer "starts".
pub(super) fn counted_arguments(case: &Case, room: usize) -> CountedArguments {
    CountedArguments {
        starts: address("starts", 8),
        room: room as u64,
        items: case.items as u64,
        counted: address("starts", 0),
    }
}

fn rows_of(case: &Case) -> RowsArguments {
    let length = case.segments().next().map_or(0, |segment| segment.len());
    RowsArguments {
        length: length as u64,
        count: case.count() as u64,
        items: case.items as u64,
    }
}

#[test]
fn rows() {
    let Some(module) = module::<f32, Add, Slice<f32>, Rows>("rows") else {
        return;
    };
    let plan = policy::<f32>();
    let shapes = [
        (1, 1),
        (2000, 1),
        (300, 17),
        (40, 100),
        (3, 1024),
        (3, 1025),
        (1, 5000),
        (9, 0),
    ];
    for (count, length) in shapes {
        let case = Case::rows(count, length);
        let items = sample::<f32>(case.items + 1, 9);
        let mut script = Script::new();
        script.file("items", bytemuck::cast_slice(&items));
        script.filled("items", 0, case.items * 4, "items");
        script.file(
            "workspace",
            &used_workspace(scratch_bytes::<f32>(case.items)),
        );
        script.filled(
            "workspace",
            0,
            scratch_bytes::<f32>(case.items),
            "workspace",
        );
        script.buffer("out", 0, count * 4);
        let bound = (slice("items"), rows_of(&case));
        let given = arguments::<f32, _, _>(bound, case.items, (0.0, false));
        let threads = 32 * policy::<f32>().warps;
        let tiles = plan.tiles(case.items, count);
        let grid = Grid::new(tiles, threads);
        script.launch("segmented_reduce", grid, &[Argument::of_struct(&given)]);
        if plan.has_long(case.items) {
            let grid = Grid::new(2, threads);
            script.launch("segmented_finish", grid, &[Argument::of_struct(&given)]);
        }
        script.save("out");
        let what = format!("{count} rows of {length}");
        let got: Vec<f32> = bytemuck::pod_collect_to_vec(&script.run_to_the_end(&what, &module));
        assert_same(&got, &case.folds::<f32, Add>(&items, None), &what);
    }
}

/// Segments of more units than a group of lanes folds, up to rounds of chunks: the last launch
/// alone, over sums that are given.
#[test]
fn many_units_are_folded_by_a_block() {
    let Some(module) = module::<u64, Bracketing, Slice<u64>, OffsetsOf<u64>>("many units") else {
        return;
    };
    let plan = policy::<u64>();
    let unit = plan.unit as usize;
    let chunk = 1024;
    let counts = [
        257,
        1023,
        1024,
        1025,
        5 * chunk + 17,
        256 * chunk,
        257 * chunk + 3,
    ];
    let rests = [0, 1, 5, unit - 1, 512, 0, 77];
    for (number, (&units, &rest)) in counts.iter().zip(&rests).enumerate() {
        let start = unit * number + number;
        let length = units * unit + rest;
        let items = start + length;
        let scratch = plan.scratch::<u64>(HEADER_BYTES as u64, items);
        let mut workspace = used_workspace(scratch.end as usize);
        // As the first launch leaves it: one segment of many units.
        let tag = KEY.first_tag.wrapping_add(1 << 32);
        workspace[16..24].copy_from_slice(&tag.to_ne_bytes());
        let mut write = |at: u64, words: &[u64]| {
            let bytes: &[u8] = bytemuck::cast_slice(words);
            workspace[at as usize..][..bytes.len()].copy_from_slice(bytes);
        };
        let sums = sample::<u64>(units, number as u64);
        let nodes = sample::<u64>(10, 77);
        let slot = (start / unit) as u64;
        write(
            scratch.list + 24 * plan.most_long(items),
            &[0, start as u64, length as u64],
        );
        write(scratch.sums + 8 * slot, &sums);
        write(scratch.tails + 80 * (slot + units as u64), &nodes);
        let mut script = Script::new();
        script.seed(base_seed() + number as u64);
        script.file("workspace", &workspace);
        script.filled("workspace", 0, workspace.len(), "workspace");
        script.buffer("out", 0, 8);
        let segments = OffsetsArguments {
            offsets: 0,
            count: 1,
            items: items as u64,
        };
        let bound = (SliceArguments { address: 0 }, segments);
        let init = sample::<u64>(1, 5)[0];
        let given = arguments::<u64, _, _>(bound, items, (init, true));
        let grid = Grid::new(2, 32 * policy::<u64>().warps);
        script.launch("segmented_finish", grid, &[Argument::of_struct(&given)]);
        script.save("out");
        let mut expected = oracle::reduce::<u64, Bracketing>(&sums, Some(init));
        for bit in (0..10).rev().filter(|bit| rest >> bit & 1 == 1) {
            expected = <Bracketing as Monoid<u64>>::combine(expected, nodes[bit]);
        }
        let what = format!("{units} units and {rest}");
        let got: Vec<u64> = bytemuck::pod_collect_to_vec(&script.run_to_the_end(&what, &module));
        assert_same(&got, &[expected], &what);
    }
}

/// Offsets that nobody checked: whatever they are, tiles touch nothing but their buffers. The
/// emulator stops at anything else.
#[test]
fn wild_offsets_do_not_lead_out_of_bounds() {
    let Some(module) = module::<f32, Add, Slice<f32>, OffsetsOf<u64>>("wild") else {
        return;
    };
    let plan = policy::<f32>();
    let items = 7000;
    let data = sample::<f32>(items, 9);
    let far = |i: u64, seed: u64| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let long: [fn(u64) -> u64; 5] = [
        |i| 7000_u64.saturating_sub(13 * i),
        |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54,
        |i| i << (i % 60),
        |i| u64::MAX - i,
        |i| if i % 350 < 100 { 0 } else { i },
    ];
    let mut all: Vec<Vec<u64>> = long.map(|wild| (0..=700).map(wild).collect()).into();
    // The last one ends before it begins, and is all that a tile has.
    all.push(vec![0, 6000, 1500]);
    // Few offsets that fall, so that long segments begin and end anywhere.
    for seed in 0..30 {
        let mut offsets: Vec<u64> = (0..7).map(|i| far(i, 100 * seed) % 7001).collect();
        offsets.sort_unstable();
        offsets.swap(far(1, seed) as usize % 7, far(2, seed) as usize % 7);
        all.push(offsets);
    }
    for (number, offsets) in all.iter().enumerate() {
        let count = offsets.len() - 1;
        let mut script = Script::new();
        script.seed(base_seed() + number as u64);
        script.file("items", bytemuck::cast_slice(&data));
        script.filled("items", 0, 4 * items, "items");
        script.file("offsets", bytemuck::cast_slice(offsets));
        script.filled("offsets", 0, 8 * offsets.len(), "offsets");
        script.file("workspace", &used_workspace(scratch_bytes::<f32>(items)));
        script.filled("workspace", 0, scratch_bytes::<f32>(items), "workspace");
        script.file("out", &vec![0; 4 * count]);
        script.filled("out", 0, 4 * count, "out");
        let segments = OffsetsArguments {
            offsets: address("offsets", 0),
            count: count as u64,
            items: items as u64,
        };
        let given = arguments::<f32, _, _>((slice("items"), segments), items, (0.0, false));
        let grid = Grid::new(plan.tiles(items, count), 32 * plan.warps);
        script.launch("segmented_reduce", grid, &[Argument::of_struct(&given)]);
        let grid = Grid::new(2, 32 * plan.warps);
        script.launch("segmented_finish", grid, &[Argument::of_struct(&given)]);
        script.save("out");
        // Two segments may have the same result or the same units, which is a race; no more.
        match script.run(&module) {
            Ok(out) => assert_eq!(out.len(), 4 * count),
            Err(message) => {
                let is_race = ["out", "workspace"]
                    .iter()
                    .any(|name| message.contains(&format!(" {name}+")));
                let is_race = is_race && message.contains("emulator: a race: ");
                assert!(is_race, "wild offsets {number}: {message}");
            }
        }
    }
}
