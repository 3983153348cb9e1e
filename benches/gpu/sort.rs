//! Sorts of keys, pairs and places, beside CUB, a copy and PyTorch; and the greatest items.

use crate::arena::{Arena, poison};
use crate::bench::Bench;
use crate::compare::Check;
use crate::cub::arrays;
use crate::elements::{Sample, data, mixed};
use crate::measure::{Arrays, Contender};
use crate::record::Library;
use crate::trial::{Calls, Name, Outcome, Row};
use rayon::prelude::*;
use std::cell::RefCell;
use std::sync::Arc;
use warpfold::cuda::cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};
use warpfold::cuda::{ArgSort, SegmentedSort, Sort, SortPairs, TopK, Workspace};
use warpfold::source::Slice;
use warpfold::{Candidate, Order, Rows, Sortable, segmented_argsort, sort, top_k, top_k_rows};

const LENGTHS: &[usize] = &[
    100,
    1000,
    10_000,
    100_000,
    1_000_000,
    3_000_000,
    1 << 22,
    1 << 24,
    1 << 26,
    1 << 28,
];
/// Enough to see what other keys and values cost.
const FEW: &[usize] = &[1000, 1_000_000, 1 << 24, 1 << 28];
const FEWER: &[usize] = &[1000, 1_000_000, 1 << 26];
const LONG: &[usize] = &[1_000_000, 1 << 24, 1 << 28];
const LONGEST: &[usize] = &[1_000_000, 1 << 28];
/// The longest of a quick run.
const QUICK: usize = 1 << 24;

/// So many elements.
type Made<K> = fn(usize) -> Vec<K>;

/// Keys that are not spread evenly.
const SKEWED: &[(&str, Made<u32>)] = &[
    ("equal", equal),
    ("two values", |length| made(length, |i| mixed(i) & 1)),
    ("sorted", |length| made(length, |i| i as u32 * 16)),
    ("reversed", |length| made(length, |i| !(i as u32 * 16))),
    ("zipf", |length| {
        // The number k as often as one over it.
        made(length, |i| {
            (f64::from(mixed(i)) * (20.0 / 4_294_967_296.0)).exp2() as u32
        })
    }),
];

fn equal<T: Sample>(length: usize) -> Vec<T> {
    vec![T::sample(0x1234_5678_9abc_def0); length]
}

fn made(length: usize, key: fn(usize) -> u32) -> Vec<u32> {
    (0..length).into_par_iter().map(key).collect()
}

pub(crate) fn run(bench: &mut Bench) {
    keys::<u32>(bench, "u32", "ascending", LENGTHS, data);
    keys::<f32>(bench, "f32", "ascending", LENGTHS, data);
    keys::<u64>(bench, "u64", "ascending", LENGTHS, data);
    keys::<u16>(bench, "u16", "ascending", LENGTHS, data);
    for (operator, elements) in SKEWED {
        keys::<u32>(bench, "u32", operator, LONGEST, *elements);
    }
    pairs::<u32>(bench, "u32", |i| i as u32);
    pairs::<u64>(bench, "u64", |i| i as u64);
    places::<u32>(bench, "u32");
    places::<f32>(bench, "f32");
    places_of_rows(bench);
    for (operator, k, lengths) in [("100", 100, LENGTHS), ("10000", 10_000, LONG)] {
        tops::<u32>(bench, "u32", operator, k, lengths, data);
        tops::<f32>(bench, "f32", operator, k, lengths, data);
    }
    tops::<u32>(bench, "u32", "100 of equal", 100, LONG, equal);
    tops::<f32>(bench, "f32", "100 of equal", 100, LONG, equal);
    tops_of_rows(bench, "256 of 256 rows", 256, [256, 524_288]);
    tops_of_rows(bench, "50 of 32 rows", 50, [32, 128_000]);
}

/// The lengths of one name.
struct Family<'a, K> {
    name: Name<'a>,
    elements: Vec<K>,
    lengths: Vec<usize>,
    arena: RefCell<Arena<K>>,
}

impl<'a, K: Sample> Family<'a, K> {
    /// If it is wanted. In an arena that leaves `slots` calls their own inputs.
    fn new(
        bench: &Bench,
        name: Name<'a>,
        lengths: &[usize],
        elements: impl FnOnce(usize) -> Vec<K>,
        slots: usize,
    ) -> Option<Self> {
        if !bench.wants(&name.text()) {
            return None;
        }
        let quick = bench.run.quick;
        let lengths = lengths.iter().filter(|length| !quick || **length <= QUICK);
        let lengths: Vec<usize> = lengths.copied().collect();
        let longest = *lengths.last()?;
        let elements = elements(longest);
        let uploaded = bench.stream.clone_htod(&elements);
        let uploaded = uploaded.expect("memory on the device");
        let arena = Arena::with_slots(&bench.stream, uploaded, longest, slots);
        Some(Family {
            name,
            elements,
            lengths,
            arena: RefCell::new(arena),
        })
    }

    /// With the bytes that move for an element.
    fn row(&self, length: usize, moved: usize) -> Row<'a> {
        self.arena.borrow_mut().arrange(length, 0);
        Row {
            name: self.name,
            element_bytes: size_of::<K>(),
            length,
            moved: moved * length,
        }
    }
}

fn workspace(stream: &Arc<CudaStream>, bytes: usize) -> Workspace {
    Workspace::new(stream, bytes).expect("memory")
}

fn keys<K: Sample + Sortable>(
    bench: &mut Bench,
    element: &str,
    operator: &str,
    lengths: &[usize],
    elements: Made<K>,
) {
    let name = Name {
        primitive: "sort",
        element,
        operator,
    };
    let Some(family) = Family::new(bench, name, lengths, elements, 1) else {
        return;
    };
    let stream = &bench.stream.clone();
    let arena = &family.arena;
    let kernels = Sort::<K>::load(&bench.context).expect("kernels");
    for &length in &family.lengths {
        let row = family.row(length, 2 * size_of::<K>());
        let expected = sort(&family.elements[..length], Order::ascending()).expect("memory");
        let mut workspace = workspace(stream, kernels.workspace_bytes(length));
        let ours = Contender::ours(|| {
            let mut arena = arena.borrow_mut();
            let (input, mut output) = arena.next();
            let order = Order::ascending();
            kernels
                .enqueue(stream, order, &input, &mut output, &mut workspace)
                .expect("launches");
        });
        let peer = bench.peer(&format!("sort_{element}_ascending"), stream, length, 1);
        let cub = Contender::cub(peer, Check::Bits, arrays(stream, arena));
        row.hold(
            bench,
            [ours]
                .into_iter()
                .chain(cub)
                .chain([Contender::copy(stream, arena)]),
            vec![Outcome::of_arena(stream, arena, &expected)],
            Calls::default(),
        );
    }
}

/// The calls of a batch of long arrays, and the one before it. So many inputs must be unsorted.
const CALLS: usize = 4;

/// Keys with values of their size, the places. Ours sorts in place, so its inputs are made again
/// before each batch.
fn pairs<K: Sample + Sortable>(bench: &mut Bench, element: &str, place: fn(usize) -> K) {
    let name = Name {
        primitive: "sort",
        element,
        operator: "pairs",
    };
    let Some(family) = Family::new(bench, name, FEW, data::<K>, CALLS) else {
        return;
    };
    let stream = &bench.stream.clone();
    let keys = &family.arena;
    let longest = family.elements.len();
    let values: Vec<K> = (0..longest).map(place).collect();
    let values = stream.clone_htod(&values).expect("memory on the device");
    let values = &RefCell::new(Arena::with_slots(stream, values, longest, CALLS));
    let kernels = SortPairs::<K, K>::load(&bench.context).expect("kernels");
    let types = format!("{element}_{element}");
    for &length in &family.lengths {
        let row = family.row(length, 4 * size_of::<K>());
        values.borrow_mut().arrange(length, 0);
        let mut workspace = workspace(stream, kernels.workspace_bytes(length));
        let ours = Contender::ours(|| {
            let (mut keys, mut values) = (keys.borrow_mut(), values.borrow_mut());
            let (mut keys, mut values) = (keys.next_in_place(), values.next_in_place());
            let order = Order::ascending();
            kernels
                .enqueue_in_place(stream, order, &mut keys, &mut values, &mut workspace)
                .expect("launches");
        });
        let arrays: Arrays<'_> = Box::new(|peer| {
            let (mut keys, mut values) = (keys.borrow_mut(), values.borrow_mut());
            let ((keys, mut keys_out), (values, mut values_out)) = (keys.next(), values.next());
            let (keys, _reading) = keys.device_ptr(stream);
            let (values, _reading_too) = values.device_ptr(stream);
            let (keys_out, _writing) = keys_out.device_ptr_mut(stream);
            let (values_out, _writing_too) = values_out.device_ptr_mut(stream);
            peer(&[keys, values], &[keys_out, values_out]);
        });
        let peer = bench.peer(&format!("sort_{types}_pairs"), stream, length, 1);
        let outcome = Outcome {
            poison: Box::new(|| {
                keys.borrow_mut().poison_next();
                values.borrow_mut().poison_next();
            }),
            fault: Box::new(|comparer, library, _| {
                let (keys, values) = (keys.borrow(), values.borrow());
                let (sorted, places) = match library {
                    Library::Warpfold => (keys.last_input(), values.last_input()),
                    _ => (keys.last_output(), values.last_output()),
                };
                let given = keys.elements();
                let at = comparer.first_disorder(&types, &given, Some(&sorted), &places)?;
                Some(format!("is not in order at {at}"))
            }),
        };
        row.hold(
            bench,
            [ours]
                .into_iter()
                .chain(Contender::cub(peer, Check::Bits, arrays)),
            vec![outcome],
            Calls {
                // A graph's calls need inputs of their own, too.
                captured: length <= 1_000_000,
                restore: Box::new(|| {
                    keys.borrow_mut().arrange(length, 0);
                    values.borrow_mut().arrange(length, 0);
                }),
            },
        );
    }
}

/// Ours gives places of 64 bits. CUB sorts given ones of 32, with the keys.
fn places<K: Sample + Sortable>(bench: &mut Bench, element: &str) {
    let name = Name {
        primitive: "sort",
        element,
        operator: "places",
    };
    let Some(family) = Family::new(bench, name, FEWER, data::<K>, 1) else {
        return;
    };
    let stream = &bench.stream.clone();
    let arena = &family.arena;
    let longest = family.elements.len();
    let narrow: Vec<u32> = (0..longest as u32).collect();
    let narrow = stream.clone_htod(&narrow).expect("memory on the device");
    let narrow_out = RefCell::new(stream.alloc_zeros::<u32>(longest).expect("memory"));
    let places = RefCell::new(stream.alloc_zeros::<u64>(longest).expect("memory"));
    let kernels = ArgSort::<K>::load(&bench.context).expect("kernels");
    let types = format!("{element}_u64");
    for &length in &family.lengths {
        let row = family.row(length, size_of::<K>() + size_of::<u64>());
        let mut workspace = workspace(stream, kernels.workspace_bytes(length));
        let ours = Contender::ours(|| {
            let (mut arena, mut places) = (arena.borrow_mut(), places.borrow_mut());
            let (input, _) = arena.next();
            let (order, mut places) = (Order::ascending(), places.slice_mut(..length));
            kernels
                .enqueue(stream, order, &input, &mut places, &mut workspace)
                .expect("launches");
        });
        let arrays: Arrays<'_> = Box::new(|peer| {
            let (mut arena, mut out) = (arena.borrow_mut(), narrow_out.borrow_mut());
            let (keys, mut keys_out) = arena.next();
            let (keys, _reading) = keys.device_ptr(stream);
            let (narrow, _reading_too) = narrow.device_ptr(stream);
            let (keys_out, _writing) = keys_out.device_ptr_mut(stream);
            let (out, _writing_too) = out.device_ptr_mut(stream);
            peer(&[keys, narrow], &[keys_out, out]);
        });
        let peer = bench.peer(&format!("sort_{element}_u32_pairs"), stream, length, 1);
        let outcome = Outcome {
            poison: Box::new(|| poison(stream, &mut places.borrow_mut().slice_mut(..))),
            fault: Box::new(|comparer, _, _| {
                let (arena, places) = (arena.borrow(), places.borrow());
                let (given, places) = (arena.elements(), places.slice(..length));
                let at = comparer.first_disorder(&types, &given, None, &places)?;
                Some(format!("is not in order at {at}"))
            }),
        };
        row.hold(
            bench,
            [ours]
                .into_iter()
                .chain(Contender::cub(peer, Check::Nothing, arrays)),
            vec![outcome],
            Calls::default(),
        );
    }
}

/// Ours also sorts the rows, in place.
fn places_of_rows(bench: &mut Bench) {
    let name = Name {
        primitive: "sort",
        element: "f32",
        operator: "places of 32 rows",
    };
    const ROWS: [usize; 2] = [32, 128_000];
    let length = ROWS[0] * ROWS[1];
    let Some(family) = Family::new(bench, name, &[length], data::<f32>, CALLS) else {
        return;
    };
    let stream = &bench.stream.clone();
    let arena = &family.arena;
    let row = family.row(length, 4 + 8);
    let (rows, order) = (Rows::new(ROWS[0], ROWS[1]), Order::ascending());
    let expected = segmented_argsort(&family.elements[..], rows, order).expect("memory");
    let kernels = SegmentedSort::<f32, Rows>::load(&bench.context).expect("kernels");
    let mut workspace = workspace(stream, kernels.workspace_bytes(length));
    let places = RefCell::new(stream.alloc_zeros::<u64>(length).expect("memory"));
    let ours = Contender::ours(|| {
        let (mut arena, mut places) = (arena.borrow_mut(), places.borrow_mut());
        let mut keys = arena.next_in_place();
        let (places, workspace) = (&mut *places, &mut workspace);
        kernels
            .enqueue_with_places(stream, order, &mut keys, rows, places, workspace)
            .expect("launches");
    });
    let outcome = Outcome::of_buffer(stream, &places, &expected);
    let calls = Calls {
        captured: true,
        restore: Box::new(|| arena.borrow_mut().arrange(length, 0)),
    };
    row.hold(bench, [ours], vec![outcome], calls);
}

fn tops<K: Sample + Candidate<Key = K> + Sortable>(
    bench: &mut Bench,
    element: &str,
    operator: &str,
    k: usize,
    lengths: &[usize],
    elements: Made<K>,
) {
    let name = Name {
        primitive: "top",
        element,
        operator,
    };
    let Some(family) = Family::new(bench, name, lengths, elements, 1) else {
        return;
    };
    let stream = &bench.stream.clone();
    let arena = &family.arena;
    let kernels = TopK::<Slice<K>>::load(&bench.context).expect("kernels");
    let values = RefCell::new(stream.alloc_zeros::<K>(k).expect("memory"));
    let places = RefCell::new(stream.alloc_zeros::<u64>(k).expect("memory"));
    let count = RefCell::new(stream.alloc_zeros::<u64>(1).expect("memory"));
    for &length in &family.lengths {
        let row = family.row(length, size_of::<K>());
        let order = Order::default();
        let (best, at) = top_k(&family.elements[..length], k, order).expect("memory");
        let mut workspace = workspace(stream, kernels.workspace_bytes(length, k));
        let ours = Contender::ours(|| {
            let mut arena = arena.borrow_mut();
            let (input, _) = arena.next();
            let (mut values, mut places) = (values.borrow_mut(), places.borrow_mut());
            let outputs = (&mut *values, &mut *places, &mut *count.borrow_mut());
            kernels
                .enqueue_top(stream, order, &input, outputs, &mut workspace)
                .expect("launches");
        });
        row.hold(
            bench,
            [ours, Contender::copy(stream, arena)],
            vec![
                Outcome::of_buffer(stream, &count, &[best.len() as u64]),
                Outcome::of_buffer(stream, &values, &best),
                Outcome::of_buffer(stream, &places, &at),
            ],
            Calls::default(),
        );
    }
}

fn tops_of_rows(bench: &mut Bench, operator: &str, k: usize, [count, columns]: [usize; 2]) {
    let name = Name {
        primitive: "top",
        element: "f32",
        operator,
    };
    let length = count * columns;
    let Some(family) = Family::new(bench, name, &[length], data::<f32>, 1) else {
        return;
    };
    let stream = &bench.stream.clone();
    let row = family.row(length, size_of::<f32>());
    let (rows, order) = (Rows::new(count, columns), Order::default());
    let (best, at) = top_k_rows(&family.elements[..], rows, k, order).expect("memory");
    let kernels = TopK::<Slice<f32>>::load(&bench.context).expect("kernels");
    let bytes = kernels.workspace_bytes_of_rows(count, columns, k);
    let mut workspace = workspace(stream, bytes);
    let values = RefCell::new(stream.alloc_zeros::<f32>(count * k).expect("memory"));
    let places = RefCell::new(stream.alloc_zeros::<u64>(count * k).expect("memory"));
    let ours = Contender::ours(|| {
        let mut arena = family.arena.borrow_mut();
        let (input, _) = arena.next();
        let outputs = (&mut *values.borrow_mut(), &mut *places.borrow_mut());
        kernels
            .enqueue_top_rows(stream, order, &input, rows, k, outputs, &mut workspace)
            .expect("launches");
    });
    let outcomes = vec![
        Outcome::of_buffer(stream, &values, &best),
        Outcome::of_buffer(stream, &places, &at),
    ];
    row.hold(bench, [ours], outcomes, Calls::default());
}
