//! In the emulator: merges and merge sorts, with tiles that are far smaller than a GPU's.

use super::{Fraction, fractions, lengths, less, merged, sorted};
use crate::emulator::{Argument, Grid, Module, Script, Toolchain, address, base_seed};
use crate::sort::cases::{Key, ORDERS, PATTERNS, assert_bits, by_places, keys, oracle};
use crate::support::matrix::is_drawn;
use warpfold::codegen::{
    Kernel, MERGE, MergeArguments, MergeShape, SORT_RUNS, SORT_TILES, merge_by_kernel,
    merge_kernel, sort_by_kernel,
};
use warpfold::half::f16;
use warpfold::{Element, Order, bytemuck, function};

fn module(toolchain: &Toolchain, name: &str, kernel: &Kernel) -> Module {
    let text = kernel.source().unwrap();
    toolchain.module(&format!("{name} merge"), &text, kernel.functions())
}

/// Two warps, with three items each thread.
fn shape<T>() -> MergeShape {
    MergeShape::of(size_of::<T>()).tile_of(64, 3)
}

const TILE: usize = 64 * 3;

fn arguments(first_length: usize, length: usize, order: u32) -> MergeArguments {
    MergeArguments {
        first: address("a", 0),
        second: address("b", 0),
        out: address("out", 0),
        first_length: first_length as u64,
        length: length as u64,
        run: TILE as u64,
        order,
        unused: 0,
    }
}

fn merge<T: Element>(module: &Module, what: &str, order: u32, a: &[T], b: &[T]) -> Vec<T> {
    let mut script = Script::new();
    script.seed(base_seed() + a.len() as u64);
    for (name, items) in [("a", a), ("b", b)] {
        script.file(name, bytemuck::cast_slice(items));
        // Slices start anywhere.
        script.filled(name, align_of::<T>(), size_of_val(items), name);
    }
    let len = a.len() + b.len();
    script.buffer("out", align_of::<T>(), len * size_of::<T>());
    let shape = shape::<T>();
    let grid = Grid {
        shared: shape.tile_bytes() as usize,
        ..Grid::new(shape.tiles(len), shape.threads())
    };
    let argument = Argument::of_struct(&arguments(a.len(), b.len(), order));
    script.launch(MERGE.name, grid, &[argument]);
    script.save("out");
    bytemuck::pod_collect_to_vec(&script.run_to_the_end(what, module))
}

/// `Order::code`, said again, apart from the direction and what floats are.
fn code_of(order: (Order, bool, crate::sort::cases::Floats), kind: u32) -> u32 {
    use crate::sort::cases::Floats;
    let (_, descending, floats) = order;
    u32::from(descending)
        | u32::from(floats == Floats::Total) << 2
        | u32::from(floats == Floats::NanLast) << 3
        | kind
}

fn check<K: Key>(toolchain: &Toolchain, name: &str, kind: u32) {
    if !is_drawn(&format!("{name} merge"), ["u32", "f64"].contains(&name)) {
        return;
    }
    let module = module(toolchain, name, &merge_kernel::<K>(shape::<K>()));
    for (number, (len, other)) in lengths(TILE).into_iter().enumerate() {
        if len + other == 0 {
            continue;
        }
        let (pattern, order) = (PATTERNS[number % 8], ORDERS[number % 6]);
        let [a, b] = [(len, 1), (other, 2)].map(|(len, seed)| {
            let data: Vec<K> = keys(pattern, len, seed);
            by_places(&data, &oracle(order, &data))
        });
        let what = format!("{name} {pattern:?} {len} {other} {order:?}");
        let given = merge(&module, &what, code_of(order, kind), &a, &b);
        assert_bits(&given, &merged(order, &a, &b), &what);
    }
}

#[test]
fn merges_in_the_emulator_are_stable_sorts_of_both() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    check::<u32>(toolchain, "u32", 0);
    check::<i8>(toolchain, "i8", 2);
    check::<f64>(toolchain, "f64", 52 << 8);
    check::<f16>(toolchain, "f16", 10 << 8);
    check::<i128>(toolchain, "i128", 2);
}

/// The first array comes before the second one, or behind it, at lengths around a warp's probes:
/// searches end at an end of an array.
#[test]
fn merges_in_the_emulator_are_of_arrays_that_do_not_meet() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let module = module(toolchain, "u32", &merge_kernel::<u32>(shape::<u32>()));
    for (len, other) in [
        (33, 5),
        (33, TILE),
        (65, TILE + 2),
        (TILE - 1, 40),
        (97, 97),
    ] {
        let low: Vec<u32> = (0..len as u32).collect();
        let high: Vec<u32> = (0..other as u32).map(|i| 1000 + i).collect();
        let all = [&low[..], &high].concat();
        let what = format!("{len} before {other}");
        assert_eq!(merge(&module, &what, 0, &low, &high), all, "{what}");
        assert_eq!(merge(&module, &what, 0, &high, &low), all, "{what}, turned");
    }
}

#[function]
fn nonsense(a: u32, b: u32) -> bool {
    (a ^ b.rotate_left(7)).wrapping_mul(0x9e37_79b9) >> 31 == 1
}

/// A comparison that is none: the order is any, and nothing but the buffers is touched. The
/// emulator stops at anything else.
#[test]
fn merges_by_nonsense_stay_within_their_buffers() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let shape = shape::<u32>();
    let kernel = merge_by_kernel::<u32, nonsense>(shape);
    let merging = module(toolchain, "nonsense", &kernel);
    for (number, (len, other)) in lengths(TILE).into_iter().enumerate() {
        if len + other > 0 {
            let [a, b] = [(len, 1), (other, 2)]
                .map(|(len, seed)| keys::<u32>(PATTERNS[number % 8], len, seed));
            assert_eq!(merge(&merging, "nonsense", 0, &a, &b).len(), len + other);
        }
    }
}

#[test]
fn merges_by_a_comparison_in_the_emulator_are_stable() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let kernel = merge_by_kernel::<Fraction, less>(shape::<Fraction>());
    let module = module(toolchain, "fractions", &kernel);
    for (len, other) in [(1, TILE), (2 * TILE, TILE + 7)] {
        let (a, b) = (sorted(fractions(len, 1)), sorted(fractions(other, 2)));
        let given = merge(&module, "fractions", 0, &a, &b);
        assert_eq!(given, sorted([a, b].concat()));
    }
}

#[test]
fn sorts_by_a_comparison_in_the_emulator_are_stable() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let shape = shape::<Fraction>();
    let module = module(toolchain, "sort", &sort_by_kernel::<Fraction, less>(shape));
    for len in [
        1,
        2,
        3,
        4,
        33,
        TILE - 1,
        TILE,
        TILE + 1,
        2 * TILE + 1,
        5 * TILE - 2,
    ] {
        let data = fractions(len, len as u64);
        let mut script = Script::new();
        script.seed(base_seed() + len as u64);
        script.file("a", bytemuck::cast_slice(&data));
        script.filled("a", 4, size_of_val(&data[..]), "a");
        script.buffer("b", 0, size_of_val(&data[..]));
        let grid = Grid {
            shared: shape.tile_bytes() as usize,
            ..Grid::new(shape.tiles(len), shape.threads())
        };
        // In place: tiles go to where the last merge ends at the data.
        let passes = shape.passes(len);
        let (mut from, mut to) = if passes.is_multiple_of(2) {
            ("a", "b")
        } else {
            ("b", "a")
        };
        let mut call = MergeArguments {
            out: address(from, 0),
            ..arguments(0, len, 0)
        };
        script.launch(SORT_TILES.name, grid, &[Argument::of_struct(&call)]);
        for _ in 0..passes {
            (call.first, call.out) = (address(from, 0), address(to, 0));
            script.launch(SORT_RUNS.name, grid, &[Argument::of_struct(&call)]);
            call.run *= 2;
            std::mem::swap(&mut from, &mut to);
        }
        script.save("a");
        let given: Vec<Fraction> =
            bytemuck::pod_collect_to_vec(&script.run_to_the_end("fractions", &module));
        assert_eq!(given, sorted(data), "{len}");
    }
}
