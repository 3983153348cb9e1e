//! Selects and partitions run in the emulator: they store what a sequential loop stores, wherever
//! their slices start, and nothing beyond the room that there is.

use crate::emulator::{Argument, Grid, Toolchain, address, base_seed};
use crate::engines::emulated::cases::workspace_of;
use crate::sources::emulated::{
    Case, MOST, drawn_module, leaf, lengths, place, resident, script, slice, tiny,
};
use crate::support::data::{Sample, assert_same};
use std::any::type_name;
use warpfold::codegen::kernels::{Kept, Outputs, Places, RunParts, Select, SelectArguments, Sides};
use warpfold::codegen::{Engine, ScanPlan, WavePlan, WavePolicy};
use warpfold::source::{
    Comparable, Constant, ConstantArguments, Equal, Flagged, FlaggedWith, Form, Heads, Index,
    IndexArguments, Map, NonZero, Slice, SliceArguments, UpTo, UpToArguments, Zip, ZipArguments,
};
use warpfold::{bytemuck, function};

/// What is stored by a select, and how much of it there is room for: all, or half of it.
struct Stored<T> {
    kept: Vec<T>,
    places: Vec<u64>,
    /// How far it is from each place to the next, or to the end.
    lengths: Vec<u64>,
    others: Vec<T>,
}

impl<T: Sample> Stored<T> {
    fn of(items: &[(T, bool)]) -> Stored<T> {
        let all = || items.iter().zip(0_u64..);
        let kept = all().filter(|((_, flag), _)| *flag);
        let others = all().filter(|((_, flag), _)| !*flag);
        let places: Vec<u64> = kept.clone().map(|(_, place)| place).collect();
        let ends = places.iter().skip(1).copied().chain([items.len() as u64]);
        Stored {
            kept: kept.map(|((item, _), _)| *item).collect(),
            lengths: ends.zip(&places).map(|(end, place)| end - place).collect(),
            places,
            others: others.map(|((item, _), _)| *item).collect(),
        }
    }
}

/// The select of a case, by each engine; also in place, and into too little room.
fn check<T: Sample, F: Form<Item = (T, bool)>, O: Outputs>(name: &str, case: &Case<F>) {
    check_up_to::<T, F, O>(name, case, |length| length);
}

/// The select of a source of which only so many items count, by each engine. The kernels read that
/// number from the buffer `limit`.
fn check_up_to<T: Sample, F: Form<Item = (T, bool)>, O: Outputs>(
    name: &str,
    case: &Case<F>,
    up_to: fn(usize) -> usize,
) {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let mut engines = vec![Engine::Rows(Select::<T, F, O>::rows_policy(90))];
    let long = Select::<T, F, O>::long_rows_policy(90);
    let short = Select::<T, F, O>::short_rows_policy(90);
    engines.extend(short.into_iter().chain(long).map(Engine::Rows));
    let wave = Select::<T, F, O>::wave_policy(90).map(tiny);
    engines.extend(wave.map(Engine::Wave));
    // Several rows a chunk, of which the room is reused.
    let rows = wave.map(|wave| WavePolicy {
        rows: 4,
        batch: if O::OTHERS { 4 } else { 2 },
        ..wave
    });
    engines.extend(rows.map(Engine::Wave));
    for (number_of_engine, engine) in engines.into_iter().enumerate() {
        let outputs = type_name::<O>().rsplit("::").next().unwrap();
        let name = format!("{name} {outputs} {number_of_engine}");
        let Some(module) = drawn_module::<Select<T, F, O>>(toolchain, &name, engine) else {
            continue;
        };
        let (run, share, aligned) = match engine {
            Engine::Rows(policy) => (policy.run, policy.elements(), false),
            Engine::Wave(policy) => (policy.run, policy.tile(), true),
            _ => unreachable!("not among the engines"),
        };
        let mut lengths = lengths(run as usize, share as usize);
        if !aligned {
            lengths.push(0);
        }
        let can_be_in_place = F::of_address(0).is_some() && O::KEPT && !O::OTHERS && !O::PLACES;
        for (number, length) in lengths.into_iter().enumerate() {
            for in_place in [false, true] {
                if in_place && (!can_be_in_place || length == 0) {
                    continue;
                }
                let mut script = script(case);
                script.seed(base_seed() + number as u64);
                place(&mut script, case, length, if aligned { 0 } else { number });
                script.filled("workspace", 0, 1 << 14, "workspace");
                let counted = up_to(length);
                script.file("limit", &(counted as u64).to_ne_bytes());
                script.filled("limit", 0, 8, "limit");
                let stored = Stored::of(&case.items[..counted.min(length)]);
                // Now and then too little room.
                let room = |count: usize, often: usize| match number % often {
                    4 => count / 2,
                    _ => count,
                };
                let (kept, others) = (room(stored.kept.len(), 5), room(stored.others.len(), 6));
                let shift = number % 4 * align_of::<T>();
                script.buffer(
                    "out",
                    shift,
                    if O::KEPT { kept * size_of::<T>() } else { 0 },
                );
                let shift = number % 3 * align_of::<T>();
                script.buffer(
                    "others",
                    shift,
                    if O::OTHERS {
                        others * size_of::<T>()
                    } else {
                        0
                    },
                );
                script.buffer(
                    "places",
                    number % 2 * 8,
                    if O::PLACES { 8 * kept } else { 0 },
                );
                let measures = O::KEPT && O::PLACES;
                script.buffer(
                    "lengths",
                    number % 3 * 8,
                    if measures { 8 * kept } else { 0 },
                );
                script.buffer("count", 0, 8);
                let (out, capacity) = if in_place {
                    (address("a", 0), length)
                } else {
                    (address("out", 0), kept)
                };
                let mut arguments = SelectArguments {
                    source: (case.arguments)(length),
                    out,
                    others: address("others", 0),
                    places: address("places", 0),
                    lengths: address("lengths", 0),
                    capacity: capacity as u64,
                    others_capacity: others as u64,
                    count: address("count", 0),
                    length: length as u64,
                    workspace: workspace_of(2),
                    by_ticket: 1,
                };
                let grid = match engine {
                    Engine::Rows(policy) => {
                        let multiprocessors = if number % 2 == 0 { 1 } else { u32::MAX };
                        let plan = ScanPlan::with_warps(policy, length, false, multiprocessors, 1);
                        let blocks = plan.blocks.max(1);
                        arguments.by_ticket = u32::from(plan.by_ticket);
                        arguments.workspace = workspace_of(blocks);
                        Grid {
                            resident: resident(plan.by_ticket, blocks),
                            ..Grid::new(blocks, 32 * plan.warps)
                        }
                    }
                    Engine::Wave(policy) => {
                        let plan = WavePlan::new(policy, length);
                        Grid {
                            shared: WavePolicy::SHARED_BYTES as usize,
                            ..Grid::new(plan.tiles(false).min(3), plan.threads())
                        }
                    }
                    _ => unreachable!("not among the engines"),
                };
                let function = format!("select_{}", engine.name());
                script.launch(&function, grid, &[Argument::of_struct(&arguments)]);
                script.save("count");
                let kept = if in_place { stored.kept.len() } else { kept };
                let mut saved = Vec::new();
                if O::KEPT {
                    saved.push(if in_place { "a" } else { "out" });
                }
                saved.extend(O::OTHERS.then_some("others"));
                saved.extend(O::PLACES.then_some("places"));
                saved.extend(measures.then_some("lengths"));
                saved.iter().for_each(|name| script.save(name));
                let what = format!("{name}, {length} items, in place: {in_place}");
                let output = script.run_to_the_end(&what, &module);
                let (count, mut output) = output.split_at(8);
                assert_eq!(count, (stored.kept.len() as u64).to_ne_bytes(), "{what}");
                let mut next = |bytes: usize| {
                    let (part, rest) = output.split_at(bytes);
                    output = rest;
                    part.to_vec()
                };
                let items = |bytes: Vec<u8>| -> Vec<T> { bytemuck::pod_collect_to_vec(&bytes) };
                for name in saved {
                    match name {
                        "others" => {
                            let got = items(next(others * size_of::<T>()));
                            assert_same(&got, &stored.others[..others], &what);
                        }
                        "lengths" => {
                            let got: Vec<u64> = bytemuck::pod_collect_to_vec(&next(8 * kept));
                            assert_eq!(got, stored.lengths[..kept], "{what}");
                        }
                        "places" => {
                            let got: Vec<u64> = bytemuck::pod_collect_to_vec(&next(8 * kept));
                            assert_eq!(got, stored.places[..kept], "{what}");
                        }
                        _ => {
                            let bytes = if in_place { length } else { kept } * size_of::<T>();
                            let got = items(next(bytes));
                            assert_same(&got[..kept], &stored.kept[..kept], &what);
                        }
                    }
                }
            }
        }
    }
}

#[function]
fn small_part(x: u32) -> bool {
    x & 7 < 3
}

#[function]
fn often(x: u8) -> bool {
    x < 200
}

#[function]
fn odd(x: u16) -> bool {
    x & 1 == 1
}

#[function]
fn first_is_even(x: [u32; 3]) -> bool {
    x[0] & 1 == 0
}

#[function]
fn middle_is_small(x: [u8; 3]) -> bool {
    x[1] < 100
}

#[function]
fn never(x: u32) -> bool {
    x > 0 && x < 1
}

#[function]
fn above(x: u16, limit: u16) -> (u16, bool) {
    (x, x > limit)
}

fn predicate_case<T, P>(holds: fn(T) -> bool) -> Case<Flagged<P, Slice<T>>>
where
    T: Sample,
    Flagged<P, Slice<T>>: Form<Item = (T, bool), Arguments = SliceArguments>,
{
    let (leaf, data) = leaf::<T>("a", MOST, 1);
    Case {
        arguments: |_| slice("a"),
        leaves: vec![leaf],
        elements: |length| length,
        items: data.iter().map(|&x| (x, holds(x))).collect(),
    }
}

#[test]
fn select_some_words() {
    let case = predicate_case::<u32, small_part>(small_part);
    check::<u32, _, Kept>(type_name::<u32>(), &case);
}

#[test]
fn select_most_bytes() {
    check::<u8, _, Kept>("u8", &predicate_case::<u8, often>(often));
}

#[test]
fn select_long_elements() {
    let case = predicate_case::<[u32; 3], first_is_even>(first_is_even);
    check::<[u32; 3], _, Kept>("[u32; 3]", &case);
}

#[function]
fn every(x: u8) -> bool {
    x.wrapping_add(1) != x
}

/// In place each tile is written where it was read, up to its last byte.
#[test]
fn select_everything() {
    check::<u8, _, Kept>("everything", &predicate_case::<u8, every>(every));
}

#[test]
fn select_nothing() {
    check::<u32, _, Kept>("nothing", &predicate_case::<u32, never>(never));
}

#[test]
fn select_by_a_limit() {
    let (a, x) = leaf::<u16>("a", MOST, 1);
    let case = Case::<Map<above, Zip<(Slice<u16>, Constant<u16>)>>> {
        arguments: |_| ZipArguments(slice("a"), ConstantArguments { value: 30000 }),
        leaves: vec![a],
        elements: |length| length,
        items: x.iter().map(|&x| (x, x > 30000)).collect(),
    };
    check::<u16, _, Kept>("limit", &case);
}

#[function]
fn beyond(x: u16, limit: u16) -> bool {
    x > limit
}

#[test]
fn select_by_a_predicate_with_a_parameter() {
    let (a, x) = leaf::<u16>("a", MOST, 1);
    let case = Case::<FlaggedWith<beyond, Slice<u16>, u16>> {
        arguments: |_| ZipArguments(slice("a"), ConstantArguments { value: 30000 }),
        leaves: vec![a],
        elements: |length| length,
        items: x.iter().map(|&x| (x, x > 30000)).collect(),
    };
    check::<u16, _, Kept>("parameter", &case);
    check::<u16, _, Sides>("parameter", &case);
}

/// Items beside bytes that are flags.
type WithFlags<T> = Zip<(Slice<T>, Map<NonZero<u8>, Slice<u8>>)>;

/// Items and flags, each in a slice of its own.
fn flags_case<T: Sample>() -> Case<WithFlags<T>> {
    let ((a, items), (mut b, mut flags)) = (leaf::<T>("a", MOST, 1), leaf::<u8>("b", MOST, 2));
    flags.iter_mut().for_each(|flag| *flag &= 3);
    b.bytes.clone_from(&flags);
    Case {
        arguments: |_| ZipArguments(slice("a"), slice("b")),
        leaves: vec![a, b],
        elements: |length| length,
        items: items
            .iter()
            .zip(flags)
            .map(|(&item, flag)| (item, flag != 0))
            .collect(),
    }
}

#[test]
fn select_by_flags() {
    check::<u8, _, Kept>("u8 by flags", &flags_case());
    check::<u32, _, Kept>("u32 by flags", &flags_case());
}

#[test]
fn partition_words() {
    let case = predicate_case::<u32, small_part>(small_part);
    check::<u32, _, Sides>(type_name::<u32>(), &case);
}

#[test]
fn partition_bytes() {
    check::<u8, _, Sides>("u8", &predicate_case::<u8, often>(often));
}

#[test]
fn partition_halves() {
    check::<u16, _, Sides>("u16", &predicate_case::<u16, odd>(odd));
}

#[test]
fn partition_odd_elements() {
    let case = predicate_case::<[u8; 3], middle_is_small>(middle_is_small);
    check::<[u8; 3], _, Sides>("[u8; 3]", &case);
}

#[test]
fn partition_long_elements() {
    let case = predicate_case::<[u32; 3], first_is_even>(first_is_even);
    check::<[u32; 3], _, Sides>("[u32; 3]", &case);
}

#[test]
fn partition_by_flags() {
    check::<u64, _, Sides>("u64 by flags", &flags_case());
}

#[test]
fn partition_into_one_side() {
    check::<u8, _, Sides>("everything", &predicate_case::<u8, every>(every));
    check::<u32, _, Sides>("nothing", &predicate_case::<u32, never>(never));
}

/// Half of the words, all of them, none, or more than there are.
fn some(length: usize) -> usize {
    match length % 4 {
        0 => 0,
        1 => length / 2,
        2 => length - 1,
        _ => length + 7,
    }
}

fn counted_case() -> Case<Flagged<small_part, UpTo<Slice<u32>>>> {
    let (a, x) = leaf::<u32>("a", MOST, 1);
    Case {
        arguments: |_| UpToArguments {
            source: slice("a"),
            count: address("limit", 0),
        },
        leaves: vec![a],
        elements: |length| length,
        items: x.iter().map(|&x| (x, small_part(x))).collect(),
    }
}

#[test]
fn a_length_on_the_device_limits_a_select() {
    check_up_to::<u32, _, Kept>("up to some", &counted_case(), some);
    check_up_to::<u32, _, Kept>("up to a third", &counted_case(), |length| length / 3);
    check_up_to::<u32, _, Kept>("up to nothing", &counted_case(), |_| 0);
}

#[test]
fn a_length_on_the_device_limits_a_partition() {
    check_up_to::<u32, _, Sides>("up to some", &counted_case(), some);
}

#[test]
fn a_length_on_the_device_limits_runs() {
    let case = runs_case::<u16>();
    let case = Case::<Heads<Equal<u16>, UpTo<Slice<u16>>>> {
        arguments: |_| UpToArguments {
            source: slice("a"),
            count: address("limit", 0),
        },
        leaves: case.leaves,
        elements: case.elements,
        items: case.items,
    };
    check_up_to::<u16, _, RunParts>("up to some", &case, some);
}

#[test]
fn positions_of_flags() {
    let (mut b, mut flags) = leaf::<u8>("b", MOST, 2);
    flags.iter_mut().for_each(|flag| *flag &= 1);
    b.bytes.clone_from(&flags);
    let case = Case::<Zip<(Index, Map<NonZero<u8>, Slice<u8>>)>> {
        arguments: |_| ZipArguments(IndexArguments { first: 0 }, slice("b")),
        leaves: vec![b],
        elements: |length| length,
        items: flags
            .iter()
            .zip(0..)
            .map(|(&flag, place)| (place, flag != 0))
            .collect(),
    };
    check::<u64, _, Places>("flags", &case);
}

/// Runs of up to four equal numbers.
fn runs_case<T: Sample + Comparable>() -> Case<Heads<Equal<T>, Slice<T>>> {
    let (mut a, mut data) = leaf::<T>("a", MOST, 1);
    for i in (0..MOST).filter(|i| i * 7 % 11 % 4 > 0) {
        data[i] = data[i.saturating_sub(1)];
    }
    a.bytes = bytemuck::cast_slice(&data).to_vec();
    let starts = |i: usize| i == 0 || data[i] != data[i - 1];
    Case {
        arguments: |_| slice("a"),
        leaves: vec![a],
        elements: |length| length,
        items: data
            .iter()
            .enumerate()
            .map(|(i, &x)| (x, starts(i)))
            .collect(),
    }
}

#[test]
fn the_first_of_each_run() {
    check::<u32, _, Kept>("u32 of runs", &runs_case());
    check::<u8, _, Kept>("u8 of runs", &runs_case());
    check::<f64, _, Kept>("f64 of runs", &runs_case());
    check::<u8, _, Sides>("u8 of runs", &runs_case());
    check::<u64, _, Sides>("u64 of runs", &runs_case());
}

#[test]
fn the_first_of_each_run_and_its_position() {
    check::<u32, _, RunParts>("u32 of runs", &runs_case());
    check::<u16, _, RunParts>("u16 of runs", &runs_case());
    check::<f64, _, RunParts>("f64 of runs", &runs_case());
}
