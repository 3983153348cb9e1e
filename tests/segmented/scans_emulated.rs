//! Segmented scans in the emulator.

use super::cases::{Case, Form, cases};
use super::emulated::{counted_arguments, counted_script};
use crate::emulator::{Argument, Grid, Module, Script, Toolchain, address, base_seed};
use crate::support::data::{Sample, assert_same, sample};
use crate::support::matrix::is_drawn;
use crate::support::operators::{
    Bicyclic, BicyclicProduct, Bracketing, Guarded, GuardedBracketing, Sums,
};
use crate::support::workspace::{KEY, used_workspace};
use half::f16;
use warpfold::codegen::WorkspaceArguments;
use warpfold::codegen::kernels::{SegmentedPolicy, SegmentedScan, SegmentedScanArguments};
use warpfold::ops::Add;
use warpfold::source::{Form as SourceForm, Map, Slice, SliceArguments, Zip, ZipArguments};
use warpfold::{
    CountedStartsOf, Cut, Element, Monoid, OffsetsArguments, OffsetsOf, Rows, RowsArguments,
    StartsOf, bytemuck, function,
};

/// Tiles that are as short as they can be, of one unit, which has `unit` items or as many as usual.
fn policy<T: Element>(unit: Option<u32>) -> SegmentedPolicy {
    let usual = SegmentedPolicy::of::<T>();
    let unit = unit.unwrap_or(usual.unit);
    let (warps, rows) = match unit {
        1024 => (2, 16),
        unit => (4, unit / 128),
    };
    SegmentedPolicy {
        warps,
        rows,
        unit,
        ..usual
    }
}

fn module<T: Sample, Op: Monoid<T>, F: SourceForm<Item = T>, C: Cut>(
    name: &str,
    policy: SegmentedPolicy,
    reverse: bool,
) -> Option<Module> {
    let toolchain = Toolchain::get()?;
    let name = match reverse {
        false => format!("segmented scan {name}"),
        true => format!("segmented scan {name} in reverse"),
    };
    let always = [
        "segmented scan brackets",
        "segmented scan levels",
        "segmented scan ordered in reverse",
    ]
    .contains(&&*name);
    is_drawn(&name, always).then(|| {
        let kernel = SegmentedScan::<T, Op, F, C>::kernel(policy, reverse);
        let text = kernel.source().expect("a source");
        toolchain.module(&name, &text, kernel.functions())
    })
}

/// A source with its data, and how segments are given.
struct Input<'a, T, F: SourceForm, G> {
    slices: &'a [(&'static str, &'a [T])],
    source: F::Arguments,
    segments: fn(&Case) -> G,
    /// The offsets, or what stands for them.
    numbers: fn(&Case) -> Vec<u8>,
}

/// Runs all forms of some cases, one after the other in one workspace.
fn check<T: Sample, Op: Monoid<T>, F: SourceForm<Item = T>, C: Cut>(
    name: &str,
    policy: SegmentedPolicy,
    cases: &[Case],
    input: &Input<'_, T, F, C::Arguments>,
    values: &[T],
) {
    for reverse in [false, true] {
        check_direction::<T, Op, F, C>(name, policy, cases, input, values, reverse);
    }
}

fn check_direction<T: Sample, Op: Monoid<T>, F: SourceForm<Item = T>, C: Cut>(
    name: &str,
    policy: SegmentedPolicy,
    cases: &[Case],
    input: &Input<'_, T, F, C::Arguments>,
    values: &[T],
    reverse: bool,
) {
    let Some(module) = module::<T, Op, F, C>(name, policy, reverse) else {
        return;
    };
    for (number, case) in cases.iter().enumerate().filter(|(_, case)| case.items > 0) {
        let mut script = Script::new();
        script.seed(base_seed() + number as u64);
        let shift = number % 3 * align_of::<T>();
        for (name, slice) in input.slices {
            script.file(name, bytemuck::cast_slice(&slice[..case.items]));
            script.filled(name, shift, case.items * size_of::<T>(), name);
        }
        let numbers = (input.numbers)(case);
        script.file("offsets", &numbers);
        script.filled("offsets", 0, numbers.len(), "offsets");
        let bytes = policy.scan_bytes::<T>(case.items);
        script.file("workspace", &used_workspace(bytes));
        script.filled("workspace", 0, bytes, "workspace");
        script.buffer("out", 0, case.items * size_of::<T>());
        let mut expected = Vec::new();
        let forms = Form::all(values[3]).into_iter();
        for form in forms.filter(|form| form.reverse == reverse) {
            let given = SegmentedScanArguments {
                source: input.source,
                segments: (input.segments)(case),
                out: address("out", 0),
                workspace: WorkspaceArguments {
                    address: address("workspace", 0),
                    key: KEY.key,
                },
                init: form.init.unwrap_or_else(Op::identity).widen(),
                seeded: form.init.is_some().into(),
                inclusive: form.inclusive.into(),
            };
            let tiles = policy.tiles(case.items, case.count());
            let grid = Grid::new(tiles, 32 * policy.warps);
            script.launch("segmented_scan", grid, &[Argument::of_struct(&given)]);
            script.save("out");
            expected.extend(case.scans::<T, Op>(values, form));
        }
        let what = format!("{name}: {}", case.name);
        let got: Vec<T> = bytemuck::pod_collect_to_vec(&script.run_to_the_end(&what, &module));
        assert_same(&got, &expected, &what);
    }
}

fn most(cases: &[Case]) -> usize {
    let items = cases.iter().map(|case| case.items);
    items.max().expect("there are cases") + 4
}

fn slice(name: &'static str) -> SliceArguments {
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

fn check_slices<T: Sample, Op: Monoid<T>>(name: &str, policy: SegmentedPolicy, cases: &[Case]) {
    let items = sample::<T>(most(cases), 5);
    let input = Input::<T, Slice<T>, _> {
        slices: &[("items", &items)],
        source: slice("items"),
        segments: offsets,
        numbers: short_offsets,
    };
    check::<T, Op, Slice<T>, OffsetsOf<u32>>(name, policy, cases, &input, &items);
}

macro_rules! slices {
    ($($test:ident: $ty:ty, $op:ty;)*) => {$(
        #[test]
        fn $test() {
            let policy = policy::<$ty>(None);
            check_slices::<$ty, $op>(stringify!($test), policy, &cases(policy.unit as usize));
        }
    )*};
}

slices! {
    f32: f32, Add;
    halves: f16, Add;
    bytes: u8, Add;
    brackets: u64, Bracketing;
    bracketed_bytes: u8, Bracketing;
    bracketed_triples: [u8; 3], Bracketing;
    bracketed_arrays: [u8; 24], Bracketing;
    long_bracketed_arrays: [u8; 33], Bracketing;
    ordered: Bicyclic, BicyclicProduct;
    guarded: Guarded, GuardedBracketing;
    long_elements: [u64; 8], Sums;
}

/// Segments of up to more than 32² units: there are nodes of 32 of them, and of 1024.
#[test]
fn levels_of_units() {
    let policy = policy::<u64>(Some(128));
    let unit = policy.unit as usize;
    let cases = [
        Case::new("31 to 33 units", &[31 * unit, 32 * unit, 33 * unit], 3, 0),
        Case::new("65 units and some", &[5, 65 * unit + 7, 1], 0, 9),
        Case::new("1057 units and some", &[40, 1057 * unit + 1], 0, 0),
    ];
    check_slices::<u64, Bracketing>("levels", policy, &cases);
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

#[test]
fn products_of_two_slices() {
    let policy = policy::<f32>(None);
    let cases = cases(policy.unit as usize);
    let (a, b) = (sample::<f32>(most(&cases), 1), sample(most(&cases), 2));
    let products: Vec<_> = a.iter().zip(&b).map(|(&x, &y)| product(x, y)).collect();
    type Products = Map<product, Zip<(Slice<f32>, Slice<f32>)>>;
    let input = Input::<f32, Products, _> {
        slices: &[("a", &a), ("b", &b)],
        source: ZipArguments(slice("a"), slice("b")),
        segments: offsets,
        numbers: |case| bytemuck::cast_slice(&case.offsets).to_vec(),
    };
    let name = "products";
    check::<f32, Add, Products, OffsetsOf<u64>>(name, policy, &cases, &input, &products);
}

/// Starts, of which there is one less than there are offsets.
#[test]
fn starts() {
    let policy = policy::<f32>(None);
    let mut cases = cases(policy.unit as usize);
    cases.retain(Case::reaches_the_end);
    let items = sample::<f32>(most(&cases), 5);
    let input = Input::<f32, Slice<f32>, _> {
        slices: &[("items", &items)],
        source: slice("items"),
        segments: offsets,
        numbers: |case| bytemuck::cast_slice(&case.offsets[..case.count()]).to_vec(),
    };
    check::<f32, Add, Slice<f32>, StartsOf<u64>>("starts", policy, &cases, &input, &items);
}

/// As many starts as memory says, with more room, with just as much, and with less.
#[test]
fn counted_starts() {
    let policy = policy::<f32>(None);
    let name = "counted";
    let module = module::<f32, Add, Slice<f32>, CountedStartsOf<u64>>(name, policy, false);
    let Some(module) = module else {
        return;
    };
    let mut cases = cases(policy.unit as usize);
    cases.retain(Case::reaches_the_end);
    let items = sample::<f32>(most(&cases), 5);
    for (number, case) in cases.iter().enumerate().filter(|(_, case)| case.items > 0) {
        let count = case.count();
        let room = [count + 700, count, count.div_ceil(2)][number % 3];
        let bytes = policy.scan_bytes::<f32>(case.items);
        let mut script = counted_script(number, (case, room), &items, bytes);
        let mut expected = vec![-7.5; case.items];
        script.file("out", bytemuck::cast_slice(&expected));
        script.filled("out", 0, 4 * case.items, "out");
        let form = Form::all(items[3])[1];
        let given = SegmentedScanArguments {
            source: slice("items"),
            segments: counted_arguments(case, room),
            out: address("out", 0),
            workspace: WorkspaceArguments {
                address: address("workspace", 0),
                key: KEY.key,
            },
            init: <Add as Monoid<f32>>::identity(),
            seeded: 0,
            inclusive: form.inclusive.into(),
        };
        let grid = Grid::new(policy.tiles(case.items, room), 32 * policy.warps);
        script.launch("segmented_scan", grid, &[Argument::of_struct(&given)]);
        script.save("out");
        let what = format!("counted: {}, room for {room}", case.name);
        let got: Vec<f32> = bytemuck::pod_collect_to_vec(&script.run_to_the_end(&what, &module));
        // Where there is no room for all starts, nothing behind the last one is looked at.
        let end = if room < count {
            case.offsets[room - 1] as usize
        } else {
            case.items
        };
        let scans = case.scans::<f32, Add>(&items, form);
        expected[..end].copy_from_slice(&scans[..end]);
        assert_same(&got, &expected, &what);
    }
}

#[test]
fn rows() {
    let policy = policy::<f32>(None);
    let shapes = [
        (1, 1),
        (2000, 1),
        (300, 17),
        (40, 100),
        (3, 1024),
        (3, 1025),
        (1, 5000),
    ];
    let cases = shapes.map(|(count, length)| Case::rows(count, length));
    let items = sample::<f32>(most(&cases), 9);
    let input = Input::<f32, Slice<f32>, _> {
        slices: &[("items", &items)],
        source: slice("items"),
        segments: |case| RowsArguments {
            length: (case.items / case.count()) as u64,
            count: case.count() as u64,
            items: case.items as u64,
        },
        numbers: |_| vec![0; 4],
    };
    check::<f32, Add, Slice<f32>, Rows>("rows", policy, &cases, &input, &items);
}

/// In its place, where the input lies at odd addresses, too.
#[test]
fn in_place() {
    let policy = policy::<u64>(None);
    let module = |reverse| {
        module::<u64, Bracketing, Slice<u64>, OffsetsOf<u32>>("brackets", policy, reverse)
    };
    let modules = [module(false), module(true)];
    let cases = cases(policy.unit as usize);
    let items = sample::<u64>(most(&cases), 5);
    for (number, case) in cases.iter().enumerate().filter(|(_, case)| case.items > 0) {
        for form in Form::all(items[3]) {
            let Some(module) = &modules[usize::from(form.reverse)] else {
                continue;
            };
            let mut script = Script::new();
            script.seed(base_seed() + number as u64);
            script.file("data", bytemuck::cast_slice(&items[..case.items]));
            script.filled("data", number % 2 * 8, case.items * 8, "data");
            let numbers = short_offsets(case);
            script.file("offsets", &numbers);
            script.filled("offsets", 0, numbers.len(), "offsets");
            let bytes = policy.scan_bytes::<u64>(case.items);
            script.file("workspace", &used_workspace(bytes));
            script.filled("workspace", 0, bytes, "workspace");
            let given = SegmentedScanArguments {
                source: slice("data"),
                segments: offsets(case),
                out: address("data", 0),
                workspace: WorkspaceArguments {
                    address: address("workspace", 0),
                    key: KEY.key,
                },
                init: form.init.unwrap_or(<Bracketing as Monoid<u64>>::identity()),
                seeded: form.init.is_some().into(),
                inclusive: form.inclusive.into(),
            };
            let tiles = policy.tiles(case.items, case.count());
            let grid = Grid::new(tiles, 32 * policy.warps);
            script.launch("segmented_scan", grid, &[Argument::of_struct(&given)]);
            script.save("data");
            let what = format!("in place: {}, {form:?}", case.name);
            let got: Vec<u64> = bytemuck::pod_collect_to_vec(&script.run_to_the_end(&what, module));
            assert_same(&got, &case.scans::<u64, Bracketing>(&items, form), &what);
        }
    }
}

/// Offsets that nobody checked: whatever they are, blocks touch nothing but their buffers, and none
/// waits for ever.
#[test]
fn wild_offsets_end_a_scan() {
    let policy = SegmentedPolicy {
        rows: 4,
        ..policy::<f32>(Some(128))
    };
    let Some(module) = module::<f32, Add, Slice<f32>, OffsetsOf<u64>>("wild", policy, false) else {
        return;
    };
    let items = 7000_usize;
    let data = sample::<f32>(items, 9);
    let far = |i: u64, seed: u64| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut all: Vec<Vec<u64>> = vec![
        (0..700).map(|i| 7000_u64.saturating_sub(13 * i)).collect(),
        (0..700).map(|i| far(i, 0) >> 54).collect(),
        (0..700).map(|i| i << (i % 60)).collect(),
        (0..700).map(|i| u64::MAX - i).collect(),
        (0..700)
            .map(|i| if i % 350 < 100 { 0 } else { i })
            .collect(),
    ];
    // Few offsets that fall once or twice, so that long segments begin and end anywhere.
    for seed in 0..60 {
        let mut offsets: Vec<u64> = (0..9).map(|i| far(i, 100 * seed) % 7001).collect();
        offsets.sort_unstable();
        offsets.swap(far(1, seed) as usize % 9, far(2, seed) as usize % 9);
        if seed % 3 == 0 {
            offsets[far(3, seed) as usize % 9] = far(4, seed);
        }
        all.push(offsets);
    }
    for (number, offsets) in all.iter().enumerate() {
        let mut script = Script::new();
        script.seed(base_seed() + number as u64);
        script.file("items", bytemuck::cast_slice(&data));
        script.filled("items", 0, 4 * items, "items");
        script.file("offsets", bytemuck::cast_slice(offsets));
        script.filled("offsets", 0, 8 * offsets.len(), "offsets");
        let bytes = policy.scan_bytes::<f32>(items);
        script.file("workspace", &used_workspace(bytes));
        script.filled("workspace", 0, bytes, "workspace");
        script.file("out", bytemuck::cast_slice(&data));
        script.filled("out", 0, 4 * items, "out");
        let count = offsets.len() - 1;
        let given = SegmentedScanArguments {
            source: slice("items"),
            segments: OffsetsArguments {
                offsets: address("offsets", 0),
                count: count as u64,
                items: items as u64,
            },
            out: address("out", 0),
            workspace: WorkspaceArguments {
                address: address("workspace", 0),
                key: KEY.key,
            },
            init: 0.0,
            seeded: 0,
            inclusive: (number % 2) as u32,
        };
        let grid = Grid::new(policy.tiles(items, count), 32 * policy.warps);
        script.launch("segmented_scan", grid, &[Argument::of_struct(&given)]);
        script.save("out");
        let what = format!(
            "wild offsets {number}: {:?}",
            &offsets[..offsets.len().min(10)]
        );
        assert_eq!(script.run_to_the_end(&what, &module).len(), 4 * items);
    }
}
