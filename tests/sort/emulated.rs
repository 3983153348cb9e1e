//! In the emulator: every launch of a sort, with tiles that are far smaller than a GPU's.

use super::cases::{Floats, Key, ORDERS, PATTERNS, Pattern, assert_bits, by_places, keys, oracle};
use crate::emulator::{Argument, Grid, Module, Script, Toolchain, address, base_seed};
use crate::support::matrix::is_drawn;
use crate::support::workspace::used_workspace;
use std::cell::OnceCell;
use warpfold::codegen::{
    GatherArguments, SORT_BEGIN, SORT_COPY, SORT_COUNT, SORT_COUNT_THREADS, SORT_MERGE_THREADS,
    SORT_PASS, SORT_SHORT_MERGE, SORT_SHORT_RUNS, SortArguments, SortPlan, SortShape,
    WorkspaceArguments, sort_gather,
};
use warpfold::half::f16;
use warpfold::{Element, Order, bytemuck};

/// What a sort in the emulator gives.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Keys,
    InPlace,
    /// Places of 64 bits, and no keys.
    Places,
    /// Keys, and places as values.
    KeysAndPlaces,
}

/// The modules of a shape. Few lengths need all of them, so each is compiled when it is first
/// launched.
struct Modules<'a> {
    toolchain: &'a Toolchain,
    name: String,
    shape: SortShape,
    short: OnceCell<Module>,
    long: [OnceCell<Module>; 2],
}

impl<'a> Modules<'a> {
    fn new(toolchain: &'a Toolchain, name: &str, shape: SortShape) -> Modules<'a> {
        Modules {
            toolchain,
            name: name.to_owned(),
            shape,
            short: OnceCell::new(),
            long: [OnceCell::new(), OnceCell::new()],
        }
    }

    /// The module of short sorts, or that of long ones whose positions have so many bits.
    fn module(&self, long: Option<usize>) -> &Module {
        let compile = |what: &str, kernel: warpfold::codegen::Kernel| {
            let name = format!("{} sort {what}", self.name);
            let source = kernel.source().unwrap();
            self.toolchain.module(&name, &source, kernel.functions())
        };
        match long {
            None => self
                .short
                .get_or_init(|| compile("short", self.shape.short())),
            Some(bits) => self.long[usize::from(bits == 64)]
                .get_or_init(|| compile(&format!("long{bits}"), self.shape.long(bits as u64))),
        }
    }

    /// The keys, and values or places if there are some.
    fn run<K: Key, V: Element>(
        &self,
        what: &str,
        code: u32,
        keys: &[K],
        values: Option<&[V]>,
        form: Form,
        (bits, seed): (usize, u64),
    ) -> (Vec<K>, Vec<u8>) {
        let (len, places) = (keys.len(), form == Form::Places);
        let plan = SortPlan::new(self.shape, len);
        let mut script = Script::new();
        script.seed(base_seed() + seed);
        script.file("keys", bytemuck::cast_slice(keys));
        let (bytes, align) = (size_of_val(keys), align_of::<K>());
        // Slices start anywhere.
        script.filled("in", align, bytes, "keys");
        script.buffer("out", align, if form == Form::InPlace { 0 } else { bytes });
        script.buffer("room", 0, bytes);
        let beside = form == Form::KeysAndPlaces;
        let value_bytes = match beside {
            true => size_of::<V>() * len,
            false => values.map_or(0, size_of_val),
        };
        script.file("values", values.map_or(&[], bytemuck::cast_slice));
        let given_bytes = values.map_or(0, size_of_val);
        script.filled("values_in", align_of::<V>(), given_bytes, "values");
        let out_bytes = if places { 8 * len } else { value_bytes };
        let in_place = form == Form::InPlace;
        script.buffer("values_out", 8, if in_place { 0 } else { out_bytes });
        script.buffer(
            "values_room",
            0,
            if places {
                size_of::<V>() * len
            } else {
                value_bytes
            },
        );
        script.buffer("bins", 0, 8 * 256 * size_of::<K>());
        script.buffer("varying", 0, 8);
        script.buffer("status", 0, 2 * plan.tiles() as usize * 256 * 8);
        script.file("workspace", &used_workspace(64));
        script.filled("workspace", 0, 64, "workspace");
        let has_values = values.is_some();
        let (keys_out, values_out) = match form {
            Form::InPlace => ("in", "values_in"),
            _ => ("out", "values_out"),
        };
        let arguments = SortArguments {
            keys: address("in", 0),
            keys_out: address(keys_out, 0),
            keys_room: address("room", 0),
            values: if has_values {
                address("values_in", 0)
            } else {
                0
            },
            values_out: address(values_out, 0),
            values_room: address("values_room", 0),
            length: len as u64,
            bins: address("bins", 0),
            varying: address("varying", 0),
            status: address("status", 0),
            workspace: WorkspaceArguments {
                address: address("workspace", 0),
                key: crate::support::workspace::KEY.key,
            },
            order: code,
            pass: 0,
            passes: self.shape.passes(),
            places_only: places.into(),
        };
        let grid = |blocks: u64, threads: u32, shared: u32| Grid {
            shared: shared as usize,
            ..Grid::new(blocks, threads)
        };
        let shape = self.shape;
        let tiled = |blocks| grid(blocks, shape.threads(), shape.tile_bytes());
        let module = if plan.is_short() {
            let passes = plan.stages();
            for pass in 0..passes {
                let argument = Argument::of_struct(&SortArguments {
                    pass,
                    passes,
                    ..arguments
                });
                let runs = grid(plan.runs(), shape.run_threads(), shape.run_bytes());
                let merging = (len as u64).div_ceil(SORT_MERGE_THREADS.into());
                let (function, grid) = match pass {
                    0 => (SORT_SHORT_RUNS.name, runs),
                    _ => (SORT_SHORT_MERGE.name, grid(merging, SORT_MERGE_THREADS, 0)),
                };
                script.launch(function, grid, &[argument]);
            }
            self.module(None)
        } else {
            let argument = [Argument::of_struct(&arguments)];
            script.launch(SORT_BEGIN.name, grid(2, 64, 0), &argument);
            let counting = grid(2, SORT_COUNT_THREADS, shape.count_bytes());
            script.launch(SORT_COUNT.name, counting, &argument);
            if in_place {
                script.launch(SORT_COPY.name, grid(2, 64, 0), &argument);
            }
            for pass in 0..shape.passes() {
                let argument = Argument::of_struct(&SortArguments { pass, ..arguments });
                script.launch(SORT_PASS.name, tiled(plan.tiles()), &[argument]);
            }
            self.module(Some(bits))
        };
        if !places {
            script.save(keys_out);
        }
        if has_values || places || beside {
            script.save(values_out);
        }
        let saved = script.run_to_the_end(what, module);
        let (keys, values) = saved.split_at(if places { 0 } else { bytes });
        (bytemuck::pod_collect_to_vec(keys), values.to_vec())
    }
}

/// `Order::code`, said again.
pub(crate) fn code_of<K: Key>((_, descending, floats): (Order, bool, Floats)) -> u32 {
    let name = std::any::type_name::<K>();
    let mantissa = match name.rsplit("::").next() {
        Some("f32") => 23,
        Some("f64") => 52,
        Some("f16") => 10,
        Some("bf16") => 7,
        _ => 0,
    };
    let is_signed = name.starts_with('i');
    u32::from(descending)
        | u32::from(is_signed) << 1
        | u32::from(floats == Floats::Total) << 2
        | u32::from(floats == Floats::NanLast) << 3
        | mantissa << 8
}

/// The sorts of one type. To compile them takes seconds, so a run has words, floats, and of the
/// other types those that it draws.
fn check<K: Key>(toolchain: &Toolchain, name: &str, lens: &[usize], patterns: &[Pattern]) {
    if !is_drawn(&format!("{name} sort"), ["u32", "f32"].contains(&name)) {
        return;
    }
    let modules = Modules::new(toolchain, name, SortShape::of_keys::<K>().rows(1));
    let with_places = Modules::new(
        toolchain,
        &format!("{name} places"),
        SortShape::of_pairs::<K, u32>().rows(1),
    );
    let mut seed = 0;
    for &len in lens {
        for &pattern in patterns {
            seed += 1;
            let order = ORDERS[seed as usize % 6];
            let code = code_of::<K>(order);
            let bits = if seed % 2 == 0 { 32 } else { 64 };
            let what = format!("{name} {pattern:?} {len} {order:?}");
            let keys: Vec<K> = keys(pattern, len, seed);
            let places = oracle(order, &keys);
            let sorted = by_places(&keys, &places);
            // Another form each time; over all lengths and patterns each form meets each of both.
            match seed % 6 {
                form @ 0..2 => {
                    let form = [Form::Keys, Form::InPlace][form as usize];
                    let given = modules.run::<K, u8>(&what, code, &keys, None, form, (bits, seed));
                    assert_bits(&given.0, &sorted, &format!("{what} {form:?}"));
                }
                2 => {
                    let form = Form::Places;
                    let given =
                        with_places.run::<K, u32>(&what, code, &keys, None, form, (bits, seed));
                    let given: Vec<u64> = bytemuck::pod_collect_to_vec(&given.1);
                    assert_eq!(given, places, "{what}");
                }
                3 => {
                    let form = Form::KeysAndPlaces;
                    let given =
                        with_places.run::<K, u32>(&what, code, &keys, None, form, (bits, seed));
                    assert_bits(&given.0, &sorted, &format!("{what} {form:?}"));
                    let given = bytemuck::pod_collect_to_vec::<u8, u32>(&given.1);
                    let given: Vec<u64> = given.into_iter().map(u64::from).collect();
                    assert_eq!(given, places, "{what} {form:?}");
                }
                form => {
                    let form = [Form::Keys, Form::InPlace][form as usize - 4];
                    let values: Vec<u32> = (0..len as u32)
                        .map(|i| i.wrapping_mul(0x9E37_79B1))
                        .collect();
                    let given =
                        with_places.run(&what, code, &keys, Some(&values), form, (bits, seed));
                    assert_bits(&given.0, &sorted, &format!("{what} {form:?}"));
                    let moved: Vec<u32> = bytemuck::pod_collect_to_vec(&given.1);
                    assert_eq!(moved, by_places(&values, &places), "{what} {form:?}");
                }
            }
        }
    }
}

/// Beyond 2^32 keys places have 64 bits.
#[test]
fn places_of_64_bits_in_the_emulator_are_those_of_the_standard_library() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let shape = SortShape::of_pairs::<u32, u64>().rows(1);
    let modules = Modules::new(toolchain, "u32 wide places", shape);
    let order = ORDERS[0];
    for (seed, len) in [33, 65, TILE + 1, 3 * TILE + 7].into_iter().enumerate() {
        for pattern in [Pattern::Random, Pattern::Two, Pattern::Equal] {
            let keys: Vec<u32> = keys(pattern, len, seed as u64);
            let places = oracle(order, &keys);
            for form in [Form::Places, Form::KeysAndPlaces] {
                let what = format!("wide places {pattern:?} {len} {form:?}");
                let code = code_of::<u32>(order);
                let bits = (32, seed as u64);
                let given = modules.run::<u32, u64>(&what, code, &keys, None, form, bits);
                let found: Vec<u64> = bytemuck::pod_collect_to_vec(&given.1);
                assert_eq!(found, places, "{what}");
                if form == Form::KeysAndPlaces {
                    assert_bits(&given.0, &by_places(&keys, &places), &what);
                }
            }
        }
    }
}

/// The items of a tile here.
const TILE: usize = 256;

#[test]
fn u32s_in_the_emulator_are_sorted_as_by_the_standard_library() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let lens = [1, 33, 64, 65, 200, TILE, TILE + 1, 3 * TILE + 7];
    check::<u32>(toolchain, "u32", &lens, &PATTERNS);
}

#[test]
fn floats_in_the_emulator_are_sorted_as_by_the_standard_library() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let patterns = [Pattern::Random, Pattern::Two, Pattern::Random];
    check::<f32>(toolchain, "f32", &[2, TILE - 1, 2 * TILE + 1], &patterns);
    check::<f16>(toolchain, "f16", &[TILE + 1], &patterns);
}

#[test]
fn integers_of_all_sizes_in_the_emulator_are_sorted_as_by_the_standard_library() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let patterns = [Pattern::Random, Pattern::HighByte];
    check::<u8>(toolchain, "u8", &[TILE, TILE + 3], &patterns);
    check::<i64>(toolchain, "i64", &[33, TILE + 3], &patterns);
    check::<i128>(toolchain, "i128", &[33, TILE + 3], &patterns[..1]);
}

/// Values of sizes that move once, a word a thread.
#[test]
fn values_in_the_emulator_are_gathered_by_their_places() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    fn check<V: Element + PartialEq + std::fmt::Debug>(toolchain: &Toolchain, of: fn(usize) -> V) {
        let kernel = sort_gather::<V>();
        let name = format!("gather {}", size_of::<V>());
        let module = toolchain.module(&name, &kernel.source().unwrap(), kernel.functions());
        for len in [1, 5, 200] {
            let values: Vec<V> = (0..len).map(of).collect();
            let places: Vec<u64> = (0..len).map(|i| (7 * i + 3) as u64 % len as u64).collect();
            let mut script = Script::new();
            script.seed(base_seed() + len as u64);
            script.file("values", bytemuck::cast_slice(&values));
            script.filled(
                "values",
                align_of::<V>(),
                size_of_val(&values[..]),
                "values",
            );
            script.file("places", bytemuck::cast_slice(&places));
            script.filled("places", 8, 8 * len, "places");
            script.buffer("out", align_of::<V>(), size_of_val(&values[..]));
            let arguments = GatherArguments {
                values: address("values", 0),
                places: address("places", 0),
                out: address("out", 0),
                length: len as u64,
            };
            let argument = Argument::of_struct(&arguments);
            script.launch("sort_gather", Grid::new(2, 64), &[argument]);
            script.save("out");
            let saved = script.run_to_the_end(&name, &module);
            let given: Vec<V> = bytemuck::pod_collect_to_vec(&saved);
            assert_eq!(given, by_places(&values, &places), "{name} {len}");
        }
    }
    check::<[u32; 5]>(toolchain, |i| [i as u32; 5]);
    check::<[f64; 8]>(toolchain, |i| [i as f64; 8]);
    check::<[u8; 19]>(toolchain, |i| [i as u8; 19]);
}
