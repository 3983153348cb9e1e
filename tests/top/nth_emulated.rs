//! In the emulator: the items at some places, by the digits of their ranks.

use crate::emulator::{Argument, Grid, Script, Toolchain, address, base_seed};
use crate::sort::cases::{
    Floats, Key, ORDERS, PATTERNS, Pattern, assert_bits, by_places, keys, oracle,
};
use crate::sort::emulated::code_of;
use crate::support::matrix::is_drawn;
use crate::support::workspace::{KEY, used_workspace};
use half::f16;
use warpfold::codegen::kernels::{Nth, NthArguments};
use warpfold::codegen::{NthShape, WorkspaceArguments};
use warpfold::source::{Form, Map, Slice, SliceArguments};
use warpfold::{bytemuck, function};

/// The items of `wanted` places, which rise, over the buffers of a script; and the tables
/// afterwards.
fn enqueue<F: Form<Arguments = SliceArguments>>(
    script: &mut Script,
    shape: NthShape,
    (code, ambiguous): (u32, bool),
    len: usize,
    wanted: &[u64],
) where
    F::Item: Key,
{
    let (count, size) = (wanted.len(), size_of::<F::Item>());
    script.file("wanted", bytemuck::cast_slice(wanted));
    script.filled("wanted", 0, 8 * count, "wanted");
    let zeros = [
        ("ranks", count * size),
        ("positions", count * 8),
        ("found", count * 8),
        ("counts", shape.counts() * 8),
    ];
    for (name, bytes) in zeros {
        script.file(name, &vec![0; bytes]);
        script.filled(name, 0, bytes, name);
    }
    script.buffer("values", 0, count * size);
    script.file("workspace", &used_workspace(64));
    script.filled("workspace", 0, 64, "workspace");
    for (shift, bits, of_positions) in shape.digits(len, ambiguous) {
        let arguments = NthArguments {
            source: SliceArguments {
                address: address("in", 0),
            },
            length: len as u64,
            ranks: address("ranks", 0),
            positions: address("positions", 0),
            places: address("wanted", 0),
            found: address("found", 0),
            values: address("values", 0),
            counts: address("counts", 0),
            workspace: WorkspaceArguments {
                address: address("workspace", 0),
                key: KEY.key,
            },
            wanted: count as u32,
            order: code,
            shift,
            bits,
            of_positions: of_positions.into(),
        };
        let grid = Grid::new(3, shape.threads);
        script.launch(
            Nth::<F>::COUNT.name,
            grid,
            &[Argument::of_struct(&arguments)],
        );
    }
    script.save("values");
    script.save("counts");
}

/// Few and many places of each pattern, in all orders.
fn check<K: Key>(name: &str, lens: &[usize], patterns: &[Pattern]) {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    for (number, shape) in Nth::<Slice<K>>::shapes().into_iter().enumerate() {
        let shape = shape.small();
        let name = format!("{name} nth of {}", ["few", "many"][number]);
        if !is_drawn(&name, name == "f32 nth of few") {
            continue;
        }
        let kernel = Nth::<Slice<K>>::kernel(shape);
        let module = toolchain.module(&name, &kernel.source().unwrap(), kernel.functions());
        for (seed, &len) in lens.iter().enumerate() {
            for (turn, &pattern) in patterns.iter().enumerate() {
                let order = ORDERS[(seed + turn) % 6];
                let keys: Vec<K> = keys(pattern, len, (seed + turn) as u64);
                let n = len as u64;
                let mut wanted = match number {
                    0 => vec![n - 1, n / 2, n / 2 + 1, turn as u64],
                    _ => (0..30).map(|i| i * n / 31).chain([n - 1, 1]).collect(),
                };
                wanted.retain(|&place| place < n);
                wanted.sort_unstable();
                wanted.dedup();
                let mut script = Script::new();
                script.seed(base_seed() + turn as u64);
                script.file("data", bytemuck::cast_slice(&keys));
                let shift = align_of::<K>() * (turn % 3);
                script.filled("in", shift, size_of_val(&*keys), "data");
                let code = code_of::<K>(order);
                // Only floats have a mantissa.
                let given = (code, code >> 8 != 0 && order.2 != Floats::Total);
                enqueue::<Slice<K>>(&mut script, shape, given, len, &wanted);
                let what = format!("{name} {pattern:?} {len} {:?} {wanted:?}", order.0);
                let saved = script.run_to_the_end(&what, &module);
                let (values, counts) = saved.split_at(wanted.len() * size_of::<K>());
                let values: Vec<K> = bytemuck::pod_collect_to_vec(values);
                let sorted = oracle(order, &keys);
                let places = by_places(&sorted, &wanted);
                assert_bits(&values, &by_places(&keys, &places), &what);
                assert!(counts.iter().all(|&byte| byte == 0), "{what}");
            }
        }
    }
}

#[test]
fn nth_floats_in_the_emulator_are_those_of_the_stable_sort() {
    check::<f32>("f32", &[1, 33, 1000, 4097], &PATTERNS);
    let patterns = [Pattern::Random, Pattern::Two, Pattern::Equal];
    check::<f64>("f64", &[700], &patterns);
    check::<f16>("f16", &[3000], &patterns);
}

#[test]
fn nth_integers_in_the_emulator_are_those_of_the_sort() {
    check::<u8>("u8", &[2, 3000], &PATTERNS);
    check::<i64>("i64", &[1300], &[Pattern::Random, Pattern::LowByte]);
    check::<u128>("u128", &[600], &[Pattern::Random, Pattern::HighByte]);
}

/// Zeros of both signs, and NaNs of several payloads: positions decide.
#[test]
fn nth_of_equal_floats_in_the_emulator_is_the_first_that_is_left() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let shape = Nth::<Slice<f32>>::shapes()[1].small();
    let kernel = Nth::<Slice<f32>>::kernel(shape);
    let module = toolchain.module(
        "f32 nth of many",
        &kernel.source().unwrap(),
        kernel.functions(),
    );
    let len = 2500;
    let keys: Vec<f32> = (0..len)
        .map(|i: usize| match i * i % 7 {
            0 => f32::from_bits(0x7fc0_0000 | ((i as u32 & 1) << 31) | i as u32),
            1 => 0.0,
            2 => -0.0,
            3 => -(i as f32),
            _ => (i % 50) as f32 - 25.0,
        })
        .collect();
    for order in ORDERS {
        let wanted: Vec<u64> = (0..32).map(|i| i * (len as u64 - 1) / 31).collect();
        let mut script = Script::new();
        script.seed(base_seed());
        script.file("data", bytemuck::cast_slice(&keys));
        script.filled("in", 4, 4 * len, "data");
        let given = (code_of::<f32>(order), order.2 != Floats::Total);
        enqueue::<Slice<f32>>(&mut script, shape, given, len, &wanted);
        let what = format!("{:?}", order.0);
        let saved = script.run_to_the_end(&what, &module);
        let values: Vec<f32> = bytemuck::pod_collect_to_vec(&saved[..4 * wanted.len()]);
        let places = by_places(&oracle(order, &keys), &wanted);
        assert_bits(&values, &by_places(&keys, &places), &what);
    }
}

#[function]
fn folded(x: u32) -> u32 {
    x % 1000
}

#[test]
fn nth_in_the_emulator_is_of_any_source() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    type Folded = Map<folded, Slice<u32>>;
    let shape = Nth::<Folded>::shapes()[0].small();
    let kernel = Nth::<Folded>::kernel(shape);
    let module = toolchain.module("folded nth", &kernel.source().unwrap(), kernel.functions());
    let data: Vec<u32> = keys(Pattern::Random, 2000, 3);
    let wanted = [0, 999, 1000, 1999];
    let mut script = Script::new();
    script.seed(base_seed());
    script.file("data", bytemuck::cast_slice(&data));
    script.filled("in", 0, 4 * data.len(), "data");
    let order = ORDERS[1];
    enqueue::<Folded>(
        &mut script,
        shape,
        (code_of::<u32>(order), false),
        2000,
        &wanted,
    );
    let saved = script.run_to_the_end("folded", &module);
    let values: Vec<u32> = bytemuck::pod_collect_to_vec(&saved[..16]);
    let mut sorted: Vec<u32> = data.iter().map(|&x| folded(x)).collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let expected: Vec<u32> = wanted.iter().map(|&place| sorted[place as usize]).collect();
    assert_eq!(values, expected);
}
