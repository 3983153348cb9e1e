//! In the emulator: every launch of a segmented sort, with tiles that are far smaller than a GPU's.

use super::{Mix, expected, offsets};
use crate::emulator::{Argument, Grid, Module, Script, Toolchain, address, base_seed};
use crate::sort::cases::{Key, ORDERS, PATTERNS, assert_bits, keys};
use crate::sort::emulated::code_of;
use crate::support::matrix::is_drawn;
use crate::support::workspace::{KEY, used_workspace};
use warpfold::codegen::kernels::{SegmentedSort, SegmentedSortArguments};
use warpfold::codegen::{
    Kernel, SORT_BEGIN, SORT_COPY, SORT_COUNT, SORT_COUNT_THREADS, SORT_PASS, SegmentedSortShape,
    SortArguments, SortPlan, SortShape, WorkspaceArguments,
};
use warpfold::{OffsetsArguments, OffsetsOf, bytemuck};

/// The modules of the three sources.
struct Sorting {
    shape: SegmentedSortShape,
    tiles: Module,
    sorts: [(SortShape, Module); 2],
}

fn module(toolchain: &Toolchain, name: &str, kernel: Kernel) -> Module {
    toolchain.module(name, &kernel.source().unwrap(), kernel.functions())
}

/// A memory that lives from launch to launch.
struct Memory(Vec<(&'static str, Vec<u8>)>);

impl Memory {
    fn at(&mut self, name: &str) -> &mut Vec<u8> {
        &mut self
            .0
            .iter_mut()
            .find(|(other, _)| *other == name)
            .unwrap()
            .1
    }

    /// Runs launches of one module, and keeps what they leave in `written`.
    fn run(
        &mut self,
        (what, seed): (&str, u64),
        module: &Module,
        launches: &[(&str, Grid, Argument)],
        written: &[&'static str],
    ) {
        let mut script = Script::new();
        script.seed(base_seed() + seed);
        for (name, bytes) in &self.0 {
            script.file(name, bytes);
            script.filled(name, 0, bytes.len(), name);
        }
        for (function, grid, argument) in launches {
            script.launch(function, *grid, std::slice::from_ref(argument));
        }
        for name in written {
            script.save(name);
        }
        let mut saved = &script.run_to_the_end(what, module)[..];
        for name in written {
            let bytes = self.at(name);
            let (own, rest) = saved.split_at(bytes.len());
            bytes.copy_from_slice(own);
            saved = rest;
        }
        assert!(saved.is_empty());
    }
}

impl Sorting {
    fn new<K: Key>(toolchain: &Toolchain, name: &str) -> Sorting {
        type Sort<K> = SegmentedSort<K, OffsetsOf<u32>>;
        let shape = SegmentedSortShape::of::<K>(1);
        let sorts = [
            SortShape::of_pairs::<K, u64>(),
            SortShape::of_pairs::<u32, u64>(),
        ];
        Sorting {
            shape,
            tiles: module(
                toolchain,
                &format!("{name} segments"),
                Sort::<K>::kernel(shape),
            ),
            sorts: sorts.map(|shape| shape.rows(1)).map(|shape| {
                // Types that have the shape share its module.
                let module = module(toolchain, &format!("pairs {shape:?}"), shape.long(32));
                (shape, module)
            }),
        }
    }

    /// The sorted keys, and the places.
    fn run<K: Key>(
        &self,
        (what, seed): (&str, u64),
        code: u32,
        keys: &[K],
        offsets: &[u32],
    ) -> (Vec<K>, Vec<u64>) {
        type Sort<K> = SegmentedSort<K, OffsetsOf<u32>>;
        let len = keys.len();
        let (size, most) = (size_of::<K>(), self.shape.most_long(len));
        let junk = |bytes: usize| vec![0xa5; bytes.max(8)];
        let mut memory = Memory(vec![
            ("keys", bytemuck::cast_slice(keys).to_vec()),
            ("offsets", bytemuck::cast_slice(offsets).to_vec()),
            ("places", junk(8 * len)),
            ("counter", junk(8)),
            ("limit", junk(8)),
            ("list", junk(16 * most)),
            ("gathered", junk(size * len)),
            ("tags", junk(8 * len)),
            ("numbers", junk(4 * len)),
            ("which", junk(8 * len)),
            ("key_room", junk(size.max(4) * len)),
            ("value_room", junk(8 * len)),
            ("bins", junk(8 * 256 * size.max(4))),
            ("varying", junk(8)),
            ("status", junk(2 * len.div_ceil(256) * 256 * 4)),
            ("workspace", used_workspace(64)),
        ]);
        let arguments = SegmentedSortArguments {
            segments: OffsetsArguments {
                offsets: address("offsets", 0),
                count: offsets.len() as u64 - 1,
                items: len as u64,
            },
            keys: address("keys", 0),
            places: address("places", 0),
            length: len as u64,
            counter: address("counter", 0),
            limit: address("limit", 0),
            list: address("list", 0),
            capacity: most as u64,
            gathered: address("gathered", 0),
            tags: address("tags", 0),
            numbers: address("numbers", 0),
            which: address("which", 0),
            order: code.into(),
        };
        let argument = || Argument::of_struct(&arguments);
        let (few, tile) = (Grid::new(2, 64), self.shape.tile);
        let tiles = Grid {
            shared: self.shape.shared_bytes() as usize,
            ..Grid::new(self.shape.tiles(len), tile.threads())
        };
        let launches = [
            (Sort::<K>::BEGIN.name, few, argument()),
            (Sort::<K>::TILES.name, tiles, argument()),
            (Sort::<K>::GATHER.name, few, argument()),
        ];
        let written = [
            "keys", "places", "counter", "limit", "list", "gathered", "tags",
        ];
        memory.run((what, seed), &self.tiles, &launches, &written);
        self.sort(
            &mut memory,
            (what, seed),
            0,
            ["gathered", "tags"],
            code,
            len,
        );
        let launches = [(Sort::<K>::NUMBER.name, few, argument())];
        memory.run((what, seed), &self.tiles, &launches, &["numbers", "which"]);
        self.sort(&mut memory, (what, seed), 1, ["numbers", "which"], 0, len);
        let launches = [(Sort::<K>::SCATTER.name, few, argument())];
        memory.run((what, seed), &self.tiles, &launches, &["keys", "places"]);
        let bytes = memory.at("keys").clone();
        (
            bytemuck::pod_collect_to_vec(&bytes),
            bytemuck::pod_collect_to_vec(&memory.at("places").clone()),
        )
    }

    /// Sorts pairs in place, as many as the limit says.
    fn sort(
        &self,
        memory: &mut Memory,
        what: (&str, u64),
        number: usize,
        [keys, values]: [&'static str; 2],
        code: u32,
        len: usize,
    ) {
        let (shape, module) = &self.sorts[number];
        let plan = SortPlan::new(*shape, len);
        let arguments = SortArguments {
            keys: address(keys, 0),
            keys_out: address(keys, 0),
            keys_room: address("key_room", 0),
            values: address(values, 0),
            values_out: address(values, 0),
            values_room: address("value_room", 0),
            length: len as u64,
            limit: address("limit", 0),
            bins: address("bins", 0),
            varying: address("varying", 0),
            status: address("status", 0),
            workspace: WorkspaceArguments {
                address: address("workspace", 0),
                key: KEY.key,
            },
            order: code,
            pass: 0,
            passes: shape.passes(),
            places_only: 0,
        };
        let argument = Argument::of_struct(&arguments);
        let shared = |blocks, threads, bytes: u32| Grid {
            shared: bytes as usize,
            ..Grid::new(blocks, threads)
        };
        let counting = shared(2, SORT_COUNT_THREADS, shape.count_bytes());
        let mut launches = vec![
            (SORT_BEGIN.name, Grid::new(2, 64), argument.clone()),
            (SORT_COUNT.name, counting, argument.clone()),
            (SORT_COPY.name, Grid::new(2, 64), argument),
        ];
        for pass in 0..shape.passes() {
            let argument = Argument::of_struct(&SortArguments { pass, ..arguments });
            let grid = shared(plan.tiles(), shape.threads(), shape.tile_bytes());
            launches.push((SORT_PASS.name, grid, argument));
        }
        let written = [keys, values, "key_room", "value_room", "workspace"];
        memory.run(what, module, &launches, &written);
    }
}

fn check<K: Key>(name: &str, lens: &[usize], mixes: &[Mix]) {
    let toolchain = Toolchain::get();
    let Some(toolchain) =
        toolchain.filter(|_| is_drawn(&format!("{name} segments"), name == "f32"))
    else {
        return;
    };
    let sorting = Sorting::new::<K>(toolchain, name);
    let mut seed = 0;
    for &len in lens {
        for &mix in mixes {
            seed += 1;
            let (order, pattern) = (ORDERS[seed as usize % 6], PATTERNS[seed as usize % 8]);
            let (keys, offsets) = (keys::<K>(pattern, len, seed), offsets(mix, len, seed));
            let (sorted, places) = expected(order, &keys, &offsets);
            let offsets: Vec<u32> = offsets.iter().map(|&offset| offset as u32).collect();
            let what = format!("{name} {len} {mix:?} {pattern:?} {:?}", order.0);
            let given = sorting.run((&what, seed), code_of::<K>(order), &keys, &offsets);
            assert_bits(&given.0, &sorted, &what);
            assert_eq!(given.1, places, "{what}");
        }
    }
}

#[test]
fn segments_of_floats_in_the_emulator_are_sorted_one_by_one() {
    let around = Mix::Thousands(128);
    let mixes = [
        Mix::Ones,
        Mix::Empties,
        around,
        Mix::PowerLaw,
        Mix::HalfInOne,
        Mix::One,
    ];
    check::<f32>("f32", &[5, 700], &mixes);
}

#[test]
fn segments_of_other_sizes_in_the_emulator_are_sorted_one_by_one() {
    check::<u8>("u8", &[600], &[Mix::Tens, Mix::HalfInOne]);
    check::<i64>("i64", &[600], &[Mix::Hundreds, Mix::PowerLaw]);
}
