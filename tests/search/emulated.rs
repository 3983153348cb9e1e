//! In the emulator: bounds of needles, and ends of sorted numbers, as they are collected.

use super::host::counted;
use crate::emulator::{Argument, Grid, Module, Script, Toolchain, address, base_seed};
use crate::sort::cases::{Key, ORDERS, PATTERNS, compare, keys};
use crate::sort::cases::{by_places, oracle};
use crate::support::matrix::is_drawn;
use std::cmp::Ordering;
use warpfold::bytemuck;
use warpfold::codegen::kernels::CollectArguments;
use warpfold::codegen::{Kernel, RowPolicy, search_kernels};
use warpfold::half::f16;
use warpfold::source::{ConstantArguments, IndexArguments, SliceArguments, ZipArguments};

fn module(toolchain: &Toolchain, name: &str, kernel: &Kernel) -> Module {
    toolchain.module(name, &kernel.source().unwrap(), kernel.functions())
}

/// Collects so many places in the emulator: the sorted numbers are the buffer `sorted`.
fn run<A: Copy + Send + Sync + 'static>(
    (module, policy): (&Module, &RowPolicy),
    (source, count): (A, usize),
    buffers: &[(&str, usize, &[u8])],
    seed: u64,
) -> Vec<u64> {
    let mut script = Script::new();
    script.seed(base_seed() + seed);
    for &(name, align, bytes) in buffers {
        script.file(name, bytes);
        script.filled(name, align, bytes.len(), name);
    }
    script.buffer("out", 8, 8 * count);
    let arguments = CollectArguments {
        source,
        out: address("out", 0),
        length: count as u64,
        in_place: 0,
        unused: 0,
    };
    let tile = policy.elements() * u64::from(policy.warps);
    let blocks = (count as u64).div_ceil(tile);
    let grid = Grid::new(blocks, 32 * policy.warps);
    script.launch("collect_rows", grid, &[Argument::of_struct(&arguments)]);
    script.save("out");
    bytemuck::pod_collect_to_vec(&script.run_to_the_end("search", module))
}

fn check<K: Key>(toolchain: &Toolchain, flags: impl Fn(usize) -> u64, seed: u64) {
    let [(bounds, policy), (ends, policy_of_ends)] = search_kernels::<K>(90);
    let name = std::any::type_name::<K>();
    let bounds = (
        &module(toolchain, &format!("{name} bounds"), &bounds),
        &policy,
    );
    let ends = (
        &module(toolchain, &format!("{name} ends"), &ends),
        &policy_of_ends,
    );
    for (number, pattern) in PATTERNS.into_iter().enumerate() {
        let (order, len) = (ORDERS[number % 6], [1, 2, 31, 700][number % 4]);
        let data: Vec<K> = keys(pattern, len, seed);
        let sorted = by_places(&data, &oracle(order, &data));
        let mut needles: Vec<K> = keys(PATTERNS[0], 40, seed);
        needles.extend(&data);
        let bytes = |keys: &[K]| bytemuck::cast_slice::<K, u8>(keys).to_vec();
        let align = align_of::<K>();
        let (kept, wanted) = (bytes(&sorted), bytes(&needles));
        for (equals, expected) in counted(order, &sorted, &needles).into_iter().enumerate() {
            let how = flags(number % 6) | (equals as u64) << 32;
            let value = [address("sorted", 0), len as u64, how];
            let source = ZipArguments(
                SliceArguments {
                    address: address("needles", 0),
                },
                ConstantArguments { value },
            );
            let buffers = [
                ("sorted", align, &kept[..]),
                ("needles", align, &wanted[..]),
            ];
            let given = run(bounds, (source, needles.len()), &buffers, seed);
            assert_eq!(given, expected, "{pattern:?} {len} {order:?}");
        }
        if len == 1 {
            continue;
        }
        let expected: Vec<u64> = (1..len)
            .map(|i| match compare(order, data[i], data[i - 1]) {
                Ordering::Less => i as u64,
                _ => u64::MAX,
            })
            .collect();
        let value = [address("sorted", 0), len as u64, flags(number % 6)];
        let source = ZipArguments(IndexArguments { first: 0 }, ConstantArguments { value });
        let given = bytes(&data);
        let buffers = [("sorted", align, &given[..])];
        let given = run(ends, (source, len - 1), &buffers, seed);
        assert_eq!(given, expected, "{pattern:?} {len} {order:?}");
    }
}

/// The flags of the orders, said again: descending, total, NaN last.
fn flags(order: usize) -> u64 {
    let (_, descending, floats) = ORDERS[order];
    use crate::sort::cases::Floats;
    u64::from(descending)
        | u64::from(floats == Floats::Total) << 2
        | u64::from(floats == Floats::NanLast) << 3
}

#[test]
fn searches_in_the_emulator_find_what_comes_before() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    check::<f64>(toolchain, flags, 3);
    if is_drawn("searches among i8", false) {
        check::<i8>(toolchain, flags, 1);
    }
    if is_drawn("searches among f16", false) {
        check::<f16>(toolchain, flags, 2);
    }
}
