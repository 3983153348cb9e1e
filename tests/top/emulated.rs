//! In the emulator: every launch of top-k, with blocks that are far smaller than a GPU's.

use crate::emulator::{Argument, Grid, Module, Script, Toolchain, address, base_seed};
use crate::sort::cases::{Key, ORDERS, PATTERNS, Pattern, assert_bits, by_places, keys, oracle};
use crate::sort::emulated::code_of;
use crate::support::matrix::is_drawn;
use crate::support::workspace::{KEY, used_workspace};
use warpfold::codegen::kernels::{Top, TopArguments};
use warpfold::codegen::{Function, TopPlan, TopShape, TopWay, WorkspaceArguments};
use warpfold::source::{Flagged, Form, Slice, SliceArguments};
use warpfold::{Candidate, bytemuck, function};

/// Those of an H200. The emulator's grids are smaller.
const MULTIPROCESSORS: u32 = 132;

struct Chooser<F> {
    shape: TopShape,
    module: Module,
    form: std::marker::PhantomData<F>,
}

/// What bounds the candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    Sampled,
    /// So few are admitted that some are missed, or so many that they have no room.
    TooTight,
    TooWide,
    /// A rank and a place, of numbers of 32 bits.
    At(u32, u64),
}

type KeyOf<F> = <<F as Form>::Item as Candidate>::Key;

impl<F: Form<Arguments = SliceArguments>> Chooser<F>
where
    F::Item: Candidate,
    KeyOf<F>: Key,
{
    fn new(toolchain: &Toolchain, name: &str) -> Self {
        let shape = Top::<F>::shape().small();
        let kernel = Top::<F>::kernel(shape);
        let source = kernel.source().unwrap();
        Chooser {
            shape,
            module: toolchain.module(&format!("{name} top"), &source, kernel.functions()),
            form: std::marker::PhantomData,
        }
    }

    /// The first `k` of each row, `stored` in all, and how many are found in one.
    fn run(
        &self,
        what: &str,
        (code, seed): (u32, u64),
        data: &[KeyOf<F>],
        (rows, k): (usize, usize),
        (bound, way): (Bound, TopWay),
        stored: usize,
    ) -> (Vec<KeyOf<F>>, Vec<u64>, u64) {
        let columns = data.len() / rows.max(1);
        let plan = TopPlan::new(self.shape, MULTIPROCESSORS, rows, columns, k);
        let size = size_of::<KeyOf<F>>();
        let mut script = Script::new();
        script.seed(base_seed() + seed);
        script.file("data", bytemuck::cast_slice(data));
        script.filled(
            "in",
            align_of::<KeyOf<F>>() * (seed as usize % 3),
            size_of_val(data),
            "data",
        );
        script.buffer("values", 0, stored * size);
        script.buffer("places", 0, stored * 8);
        script.buffer("found", 0, 8);
        let state = match bound {
            Bound::TooTight => [0_u8; 64],
            _ => [0xff; 64],
        };
        // Behind the bound stands the number of candidates, and whether there is a second filter.
        let mut state = state.to_vec();
        let (count, again) = (size.max(8) + 8, size.max(8) + 16);
        state[count..count + 8].fill(0);
        state[again..again + 8].fill(0);
        if let Bound::At(rank, place) = bound {
            state[..4].copy_from_slice(&rank.to_ne_bytes());
            state[8..16].copy_from_slice(&place.to_ne_bytes());
        }
        script.file("state", &state);
        script.filled("state", 0, 64, "state");
        let groups = self.shape.capacity as usize;
        script.buffer("sample_ranks", 0, groups * size);
        script.buffer("sample_places", 0, groups * 8);
        let room = if bound == Bound::TooWide {
            k.max(1)
        } else {
            (8 * groups).min(columns)
        };
        script.buffer("ranks", 0, rows * room * size);
        script.buffer("at", 0, rows * room * 8);
        script.file("workspace", &used_workspace(64));
        script.filled("workspace", 0, 64, "workspace");
        let arguments = TopArguments {
            found: if rows == 1 { address("found", 0) } else { 0 },
            ..arguments(&plan, code, columns, room)
        };
        let shape = self.shape;
        let sorting = |blocks: u64, threads| Grid {
            shared: shape.shared_bytes() as usize,
            ..Grid::new(blocks, threads)
        };
        let mut launch = |function: &Function<_>, grid| {
            script.launch(function.name, grid, &[Argument::of_struct(&arguments)]);
        };
        match way {
            TopWay::Rows => launch(&Top::<F>::ROWS, sorting(rows as u64, shape.threads)),
            TopWay::Once => launch(&Top::<F>::ONCE, sorting(3, shape.threads)),
            _ => {
                if bound == Bound::Sampled {
                    let blocks = plan.sample_blocks().into();
                    launch(&Top::<F>::SAMPLE, sorting(blocks, shape.filter_threads()));
                }
                launch(&Top::<F>::FILTER, Grid::new(3, shape.filter_threads()));
                launch(&Top::<F>::FINISH, sorting(1, shape.threads));
            }
        }
        script.save("values");
        script.save("places");
        if rows == 1 {
            script.save("found");
        }
        let saved = script.run_to_the_end(what, &self.module);
        let (values, rest) = saved.split_at(stored * size);
        let (places, found) = rest.split_at(stored * 8);
        let found = found.try_into().map_or(0, u64::from_ne_bytes);
        (
            bytemuck::pod_collect_to_vec(values),
            bytemuck::pod_collect_to_vec(places),
            found,
        )
    }
}

/// What launches take that choose from `len` items, with room for so many candidates.
fn arguments(plan: &TopPlan, order: u32, len: usize, room: usize) -> TopArguments<SliceArguments> {
    let [rounds, lanes] = plan.sampling();
    TopArguments {
        source: SliceArguments {
            address: address("in", 0),
        },
        values: address("values", 0),
        places: address("places", 0),
        found: address("found", 0),
        length: len as u64,
        k: plan.k as u64,
        state: address("state", 0),
        sample_ranks: address("sample_ranks", 0),
        sample_places: address("sample_places", 0),
        ranks: address("ranks", 0),
        at: address("at", 0),
        room: room as u64,
        workspace: WorkspaceArguments {
            address: address("workspace", 0),
            key: KEY.key,
        },
        row: 0,
        order,
        rounds,
        lanes,
        flags: 0,
    }
}

impl<F: Form<Arguments = SliceArguments>> Chooser<F>
where
    F::Item: Candidate<Key = u32>,
{
    /// The first `k` of one row, where other launches sort the candidates: here the host does.
    fn run_sorted(
        &self,
        what: &str,
        (code, seed): (u32, u64),
        data: &[u32],
        k: usize,
        bound: Bound,
    ) -> (Vec<u32>, Vec<u64>) {
        let shape = self.shape;
        let plan = TopPlan::new(shape, MULTIPROCESSORS, 1, data.len(), k);
        let (room, groups) = (plan.room(), shape.capacity as usize);
        let arguments = |flags: u32| TopArguments {
            flags,
            ..arguments(&plan, code, data.len(), room)
        };
        let new_script = |pairs: &[(u32, u64)]| {
            let mut script = Script::new();
            script.seed(base_seed() + seed);
            script.file("data", bytemuck::cast_slice(data));
            script.filled("in", 4 * (seed as usize % 3), size_of_val(data), "data");
            // Nothing is admitted, unless a sample says more; and there is a second filter, unless
            // it says that there is none.
            let mut state = [0_u8; 64];
            if bound == Bound::Sampled {
                state.fill(0x55);
            }
            script.file("state", &state);
            script.filled("state", 0, 64, "state");
            script.buffer("sample_ranks", 0, groups * 4);
            script.buffer("sample_places", 0, groups * 8);
            let (ranks, at): (Vec<u32>, Vec<u64>) = pairs.iter().copied().unzip();
            script.file("pair_ranks", bytemuck::cast_slice(&ranks));
            script.file("pair_places", bytemuck::cast_slice(&at));
            match pairs.len() {
                0 => {
                    script.buffer("ranks", 0, 4 * room);
                    script.buffer("at", 0, 8 * room);
                }
                _ => {
                    script.filled("ranks", 0, 4 * room, "pair_ranks");
                    script.filled("at", 0, 8 * room, "pair_places");
                }
            }
            for (name, bytes) in [("values", 4), ("places", 8)] {
                script.file("untouched", &vec![0xee; k * 8]);
                script.filled(name, 0, k * bytes, "untouched");
            }
            script.buffer("found", 0, 8);
            script.file("workspace", &used_workspace(64));
            script.filled("workspace", 0, 64, "workspace");
            script
        };
        let sorting = |blocks: u64, threads| Grid {
            shared: shape.shared_bytes() as usize,
            ..Grid::new(blocks, threads)
        };
        let threads = shape.filter_threads();
        let mut script = new_script(&[]);
        let mut launch = |function: &Function<_>, grid, flags| {
            let arguments = arguments(flags);
            script.launch(function.name, grid, &[Argument::of_struct(&arguments)]);
        };
        match plan.way() {
            TopWay::Sort => launch(&Top::<F>::ALL, Grid::new(3, threads), 0),
            TopWay::FilterAndSort => {
                if bound == Bound::Sampled {
                    let blocks = plan.sample_blocks().into();
                    launch(&Top::<F>::SAMPLE, sorting(blocks, threads), 0);
                }
                launch(&Top::<F>::FILTER, Grid::new(3, threads), 0);
                launch(&Top::<F>::FINISH, sorting(1, shape.threads), 1);
                launch(&Top::<F>::FILTER, Grid::new(3, threads), 3);
                launch(&Top::<F>::FILL, Grid::new(2, threads), 0);
            }
            way => panic!("{what}: {way:?} sorts by itself"),
        }
        script.save("ranks");
        script.save("at");
        let saved = script.run_to_the_end(what, &self.module);
        let (ranks, at) = saved.split_at(4 * room);
        let ranks: Vec<u32> = bytemuck::pod_collect_to_vec(ranks);
        let at: Vec<u64> = bytemuck::pod_collect_to_vec(at);
        let mut pairs: Vec<_> = ranks.into_iter().zip(at).collect();
        pairs.sort_unstable();

        let mut script = new_script(&pairs);
        let given = arguments(0);
        let grid = Grid::new(2, threads);
        script.launch(Top::<F>::STORE.name, grid, &[Argument::of_struct(&given)]);
        script.save("found");
        script.save("values");
        script.save("places");
        let saved = script.run_to_the_end(what, &self.module);
        let (found, rest) = saved.split_at(8);
        let found = u64::from_ne_bytes(found.try_into().expect("8 bytes")) as usize;
        let (values, places) = rest.split_at(4 * k);
        let untouched = values[4 * found..].iter().chain(&places[8 * found..]);
        assert!(untouched.into_iter().all(|&byte| byte == 0xee), "{what}");
        (
            bytemuck::pod_collect_to_vec(&values[..4 * found]),
            bytemuck::pod_collect_to_vec(&places[..8 * found]),
        )
    }
}

/// More than a block sorts: of many items, and of few more.
#[test]
fn candidates_that_are_sorted_outside_in_the_emulator_begin_the_stable_sort() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let chooser = Chooser::<Slice<u32>>::new(toolchain, "u32");
    let mut seed = 0;
    for pattern in [
        Pattern::Random,
        Pattern::Two,
        Pattern::Equal,
        Pattern::Rising,
    ] {
        for (len, k) in [(3000, 100), (6001, 700), (1000, 300)] {
            for bound in [Bound::Sampled, Bound::TooTight] {
                seed += 1;
                let order = ORDERS[seed as usize % 2];
                let keys: Vec<u32> = keys(pattern, len, seed);
                let expected = &oracle(order, &keys)[..k];
                let what = format!("{pattern:?} {len} {k} {bound:?}");
                let given = (code_of::<u32>(order), seed);
                let (values, places) = chooser.run_sorted(&what, given, &keys, k, bound);
                assert_eq!(places, expected, "{what}");
                assert_eq!(values, by_places(&keys, expected), "{what}");
            }
        }
    }
    // Fewer have a flag than are wanted.
    let chooser = Chooser::<Flagged<even, Slice<u32>>>::new(toolchain, "flagged");
    for (len, k, bound) in [
        (3000, 200, Bound::Sampled),
        (3000, 200, Bound::TooTight),
        (500, 200, Bound::Sampled),
    ] {
        for every in [1, 20] {
            let mut keys: Vec<u32> = keys(Pattern::Random, len, len as u64);
            let odd = |i: usize| u32::from(!i.is_multiple_of(every));
            keys.iter_mut()
                .enumerate()
                .for_each(|(i, key)| *key = *key << 1 | odd(i));
            let mut expected = oracle(ORDERS[0], &keys);
            expected.retain(|&place| keys[place as usize].is_multiple_of(2));
            expected.truncate(k);
            let what = format!("flagged {len} {k} {bound:?} {every}");
            let given = (code_of::<u32>(ORDERS[0]), 5);
            let (values, places) = chooser.run_sorted(&what, given, &keys, k, bound);
            assert_eq!(places, expected, "{what}");
            assert_eq!(values, by_places(&keys, &expected), "{what}");
        }
    }
}

/// Few are admitted, and no more than some are missed or come twice without a word: the filter
/// keeps each one, wherever it stands.
#[test]
fn the_filter_in_the_emulator_keeps_each_candidate() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let chooser = Chooser::<Slice<u32>>::new(toolchain, "u32");
    let chunk = chooser.shape.chunk() as usize;
    for (seed, (k, more)) in [(1, 3), (5, 30), (30, 30)].into_iter().enumerate() {
        let len = 20 * chunk + 3;
        let mut keys: Vec<u32> = keys(Pattern::Random, len, seed as u64);
        // What stands for the items behind the end is one of the first.
        keys[20 * chunk] = 0;
        let sorted = oracle(ORDERS[0], &keys);
        let last = sorted[k + more];
        let what = format!("{k} of {more} more");
        let way = (Bound::At(keys[last as usize], last), TopWay::Filter);
        let given = (code_of::<u32>(ORDERS[0]), seed as u64);
        let (values, places, found) = chooser.run(&what, given, &keys, (1, k), way, k);
        assert_eq!(found, k as u64, "{what}");
        assert_eq!(places, sorted[..k], "{what}");
        assert_eq!(values, by_places(&keys, &sorted[..k]), "{what}");
    }
}

/// One row, by each way.
fn check<K: Key + Candidate<Key = K>>(name: &str, lens: &[usize], patterns: &[Pattern]) {
    let always = ["u32", "f32"].contains(&name);
    let Some(toolchain) = Toolchain::get().filter(|_| is_drawn(&format!("{name} top"), always))
    else {
        return;
    };
    let chooser = Chooser::<Slice<K>>::new(toolchain, name);
    let mut seed = 0;
    for &len in lens {
        for &pattern in patterns {
            // Each meets another bound.
            let bounds = [
                Bound::Sampled,
                Bound::TooTight,
                Bound::Sampled,
                Bound::TooWide,
            ];
            {
                let bound = bounds[seed as usize % 4];
                seed += 1;
                let order = ORDERS[seed as usize % 6];
                let k = [1, 5, 64, 33][seed as usize % 4].min(len);
                let keys: Vec<K> = keys(pattern, len, seed);
                let expected = &oracle(order, &keys)[..k];
                let way = match bound {
                    Bound::TooTight => TopWay::Filter,
                    _ => [TopWay::Rows, TopWay::Once, TopWay::Filter][seed as usize % 3],
                };
                let what = format!(
                    "{name} {pattern:?} {len} {k} {:?} {bound:?} {way:?}",
                    order.0
                );
                let code = code_of::<K>(order);
                let (values, places, found) =
                    chooser.run(&what, (code, seed), &keys, (1, k), (bound, way), k);
                assert_eq!(found, k as u64, "{what}");
                assert_eq!(places, expected, "{what}");
                assert_bits(&values, &by_places(&keys, expected), &what);
            }
        }
    }
}

#[test]
fn top_of_u32s_in_the_emulator_begins_the_stable_sort() {
    check::<u32>("u32", &[1, 64, 257, 700, 5003], &PATTERNS);
}

#[test]
fn top_of_floats_in_the_emulator_begins_the_stable_sort() {
    let patterns = [Pattern::Random, Pattern::Two, Pattern::Equal];
    check::<f32>("f32", &[33, 300, 3001], &patterns);
    check::<f64>("f64", &[1000], &patterns);
}

#[test]
fn top_of_other_sizes_in_the_emulator_begins_the_stable_sort() {
    check::<u8>("u8", &[300, 4000], &[Pattern::Random, Pattern::Equal]);
    check::<i128>("i128", &[300, 1500], &[Pattern::Random, Pattern::Rising]);
}

/// Short rows, and rows that are sampled.
#[test]
fn rows_in_the_emulator_are_chosen_from_one_by_one() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let chooser = Chooser::<Slice<i16>>::new(toolchain, "i16");
    for (seed, (rows, columns, k)) in [(5, 7, 7), (3, 700, 20), (2, 3001, 1)]
        .into_iter()
        .enumerate()
    {
        let keys: Vec<i16> = keys(Pattern::Random, rows * columns, seed as u64);
        let code = code_of::<i16>(ORDERS[1]);
        let what = format!("{rows} rows of {columns}, {k}");
        let way = (Bound::Sampled, TopWay::Rows);
        let (values, places, _) =
            chooser.run(&what, (code, seed as u64), &keys, (rows, k), way, rows * k);
        for (row, keys) in keys.chunks_exact(columns).enumerate() {
            let expected = &oracle(ORDERS[1], keys)[..k];
            assert_eq!(&places[row * k..][..k], expected, "{what}");
            assert_eq!(&values[row * k..][..k], by_places(keys, expected), "{what}");
        }
    }
}

#[function]
fn even(x: u32) -> bool {
    x & 1 == 0
}

/// Also if fewer have a flag than are wanted.
#[test]
fn items_without_a_flag_in_the_emulator_are_passed_over() {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let chooser = Chooser::<Flagged<even, Slice<u32>>>::new(toolchain, "flagged");
    for (seed, len) in [40, 300, 3000].into_iter().enumerate() {
        for few in [false, true] {
            let mut keys: Vec<u32> = keys(Pattern::Random, len, seed as u64);
            if few {
                keys.iter_mut()
                    .enumerate()
                    .for_each(|(i, key)| *key = *key << 1 | u32::from(i % 20 != 3));
            }
            let k = 60.min(len);
            let mut expected = oracle(ORDERS[0], &keys);
            expected.retain(|&place| keys[place as usize].is_multiple_of(2));
            expected.truncate(k);
            for way in [TopWay::Rows, TopWay::Once, TopWay::Filter] {
                let what = format!("{len} {few} {way:?}");
                let code = code_of::<u32>(ORDERS[0]);
                let bound = (Bound::Sampled, way);
                let (values, places, found) = chooser.run(
                    &what,
                    (code, seed as u64),
                    &keys,
                    (1, k),
                    bound,
                    expected.len(),
                );
                assert_eq!(found, expected.len() as u64, "{what}");
                assert_eq!(places, expected, "{what}");
                assert_eq!(values, by_places(&keys, &expected), "{what}");
            }
        }
    }
}
