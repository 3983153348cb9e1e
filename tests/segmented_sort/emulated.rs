//! In the emulator: every launch of a segmented sort, with tiles that are far smaller than a GPU's.

use super::{Mix, expected, offsets};
use crate::emulator::{Argument, Grid, Module, Script, Toolchain, address, base_seed};
use crate::sort::cases::{Key, ORDERS, PATTERNS, assert_bits, keys};
use crate::sort::emulated::code_of;
use crate::support::matrix::is_drawn;
use warpfold::codegen::SegmentedSortShape;
use warpfold::codegen::kernels::{SegmentedSort, SegmentedSortArguments};
use warpfold::{OffsetsArguments, OffsetsOf, bytemuck};

type Kernels<K> = SegmentedSort<K, OffsetsOf<u32>>;

/// Two warps have room for 192 items, and a tile has 168. A segment of 25 is long.
struct Sorting {
    shape: SegmentedSortShape,
    module: Module,
}

impl Sorting {
    fn new<K: Key>(toolchain: &Toolchain, name: &str, place_bytes: usize) -> Sorting {
        let shape = SegmentedSortShape::new([2, 2], 3, size_of::<K>(), place_bytes);
        Sorting::of_shape::<K>(toolchain, name, shape)
    }

    fn of_shape<K: Key>(toolchain: &Toolchain, name: &str, shape: SegmentedSortShape) -> Sorting {
        let kernel = Kernels::<K>::kernel(shape);
        let (tile, places) = (shape.tile(), shape.place_bytes);
        let name = format!("{name} segments, tiles of {tile}, places of {places}");
        Sorting {
            shape,
            module: toolchain.module(&name, &kernel.source().unwrap(), kernel.functions()),
        }
    }

    /// The sorted keys, and the places if they are wanted.
    fn run<K: Key>(
        &self,
        (what, seed): (&str, u64),
        code: u32,
        keys: &[K],
        offsets: &[u32],
        with_places: bool,
    ) -> (Vec<K>, Vec<u64>) {
        let (len, shape) = (keys.len(), self.shape);
        let scratch = shape.scratch(0, len, with_places);
        // Of offsets that fall it is unspecified what is read and written there.
        let junk = vec![0xa5; (scratch.end as usize).max(8 * len)];
        let falls = !offsets.is_sorted();
        let mut script = Script::new();
        script.seed(base_seed() + seed);
        for (name, bytes) in [
            ("keys", bytemuck::cast_slice(keys)),
            ("offsets", bytemuck::cast_slice(offsets)),
        ] {
            script.file(name, bytes);
            script.filled(name, 0, bytes.len(), name);
        }
        if falls {
            script.file("junk", &junk);
            script.filled("scratch", 0, junk.len(), "junk");
            script.filled("places", 0, 8 * len, "junk");
        } else {
            script.buffer("scratch", 0, scratch.end as usize);
            script.buffer("places", 0, 8 * len);
        }
        let null_or = |address, there| if there { address } else { 0 };
        let arguments = SegmentedSortArguments {
            segments: OffsetsArguments {
                offsets: address("offsets", 0),
                count: offsets.len() as u64 - 1,
                items: len as u64,
            },
            keys: address("keys", 0),
            room: address("scratch", scratch.room as usize),
            places: null_or(address("places", 0), with_places),
            place_rooms: address("scratch", scratch.place_rooms as usize),
            crossings: address("scratch", scratch.crossings as usize),
            length: len as u64,
            order: code,
            level: 0,
        };
        let form = usize::from(with_places);
        let grid = |blocks, threads| Grid {
            shared: shape.shared_bytes() as usize,
            ..Grid::new(blocks, threads)
        };
        let tiles = grid(shape.tiles(len) as u64, shape.threads());
        let argument = Argument::of_struct(&arguments);
        script.launch(Kernels::<K>::TILES[form].name, tiles, &[argument]);
        for level in 0..shape.levels(len) {
            let argument = Argument::of_struct(&SegmentedSortArguments { level, ..arguments });
            // A block has several tiles.
            let few = grid(3, shape.merge_threads());
            script.launch(Kernels::<K>::MERGE[form].name, few, &[argument]);
        }
        script.save("keys");
        if with_places {
            script.save("places");
        }
        let saved = script.run_to_the_end(what, &self.module);
        let (keys, places) = saved.split_at(size_of_val(keys));
        (
            bytemuck::pod_collect_to_vec(keys),
            bytemuck::pod_collect_to_vec(places),
        )
    }
}

fn check<K: Key>(name: &str, place_bytes: usize, lens: &[usize], mixes: &[Mix]) {
    let toolchain = Toolchain::get();
    let Some(toolchain) =
        toolchain.filter(|_| is_drawn(&format!("{name} segments"), name == "f32"))
    else {
        return;
    };
    let sorting = Sorting::new::<K>(toolchain, name, place_bytes);
    check_with::<K>(&sorting, name, lens, mixes);
}

fn check_with<K: Key>(sorting: &Sorting, name: &str, lens: &[usize], mixes: &[Mix]) {
    let mut seed = 0;
    for &len in lens {
        for &mix in mixes {
            seed += 1;
            let (order, pattern) = (ORDERS[seed as usize % 6], PATTERNS[seed as usize % 8]);
            let (keys, offsets) = (keys::<K>(pattern, len, seed), offsets(mix, len, seed));
            let (sorted, places) = expected(order, &keys, &offsets);
            let offsets: Vec<u32> = offsets.iter().map(|&offset| offset as u32).collect();
            let what = format!("{name} {len} {mix:?} {pattern:?} {:?}", order.0);
            let code = code_of::<K>(order);
            let given = sorting.run((&what, seed), code, &keys, &offsets, true);
            assert_bits(&given.0, &sorted, &what);
            assert_eq!(given.1, places, "{what}");
            let given = sorting.run((&what, seed), code, &keys, &offsets, false);
            assert_bits(&given.0, &sorted, &format!("{what}, without places"));
        }
    }
}

/// Three tiles and thirteen, of which the last ones have few items: others have room for them. A
/// segment moves up to four times.
const LENS: [usize; 3] = [5, 360, 2036];

#[test]
fn segments_of_floats_in_the_emulator_are_sorted_one_by_one() {
    let mixes = [
        Mix::Ones,
        Mix::Tens,
        Mix::Empties,
        Mix::Thousands(24),
        Mix::Thousands(168),
        Mix::PowerLaw,
        Mix::HalfInOne,
        Mix::One,
    ];
    check::<f32>("f32", 4, &LENS, &mixes);
}

#[test]
fn segments_of_other_sizes_in_the_emulator_are_sorted_one_by_one() {
    check::<u8>("u8", 8, &LENS, &[Mix::Tens, Mix::HalfInOne, Mix::One]);
    check::<i64>("i64", 4, &LENS, &[Mix::Hundreds, Mix::PowerLaw, Mix::One]);
}

/// Tiles with so many items that a warp looks twice for the next head, and runs that several warps
/// have.
#[test]
fn segments_in_long_tiles_in_the_emulator_are_sorted_one_by_one() {
    let Some(toolchain) = Toolchain::get().filter(|_| is_drawn("long tiles of segments", false))
    else {
        return;
    };
    let shape = SegmentedSortShape::new([8, 4], 5, 4, 4);
    let sorting = Sorting::of_shape::<f32>(toolchain, "f32", shape);
    let mixes = [Mix::Hundreds, Mix::Thousands(1100), Mix::PowerLaw, Mix::One];
    check_with::<f32>(&sorting, "f32", &[1150, 2500], &mixes);
}

/// Unspecified, but every access is within the arrays, and launches end.
#[test]
fn offsets_that_fall_in_the_emulator_lead_nowhere() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let sorting = Sorting::new::<f32>(toolchain, "f32", 4);
    let len = 1500;
    let x: Vec<f32> = keys(PATTERNS[0], len, 1);
    for (seed, offsets) in [
        [1200, 10, 1300, 1300, 3, 4_000_000_000, 700],
        [1500, 0, 1500, 0, 1500, 0, 1500],
        [700, 600, 500, 400, 300, 200, 100],
    ]
    .iter()
    .enumerate()
    {
        for with_places in [false, true] {
            let what = ("offsets that fall", seed as u64);
            let code = code_of::<f32>(ORDERS[0]);
            let (sorted, _) = sorting.run(what, code, &x, offsets, with_places);
            assert_eq!(sorted.len(), len);
        }
    }
}
