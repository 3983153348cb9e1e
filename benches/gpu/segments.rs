//! Segments by their lengths: sums, extremes, scans and sorts, beside CUB and PyTorch; and sums of
//! rows.

use crate::arena::Arena;
use crate::bench::Bench;
use crate::compare::Check;
use crate::elements::data;
use crate::measure::{Arrays, Contender};
use crate::trial::{Calls, Name, Outcome, Row};
use std::cell::RefCell;
use std::sync::Arc;
use warpfold::cuda::cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use warpfold::cuda::{
    SegmentedReduce, SegmentedReduceVectors, SegmentedScan, SegmentedSort, Workspace,
};
use warpfold::ops::{Add, Max};
use warpfold::{
    Monoid, Offsets, Order, Prefixes, segmented_reduce, segmented_reduce_vectors, segmented_scan,
    segmented_sort,
};

/// How items are cut into segments.
#[derive(Clone, Copy)]
enum Mix {
    /// All of one length.
    Of(usize),
    /// All items in one.
    One,
    /// Of 1/u items, up to 10^7, u being uniform.
    PowerLaw,
    /// Half of the items in one, and half in tens.
    Half,
}

use Mix::{Half, Of, One, PowerLaw};

/// Numbers of items, and the segments that they are cut into.
type Cases = &'static [(usize, &'static [Mix])];

const SHORT: &[Mix] = &[Of(16), One];
const MIDDLE: &[Mix] = &[Of(1), Of(16), Of(1000), PowerLaw];
#[rustfmt::skip]
const LONG: &[Mix] = &[
    Of(1), Of(4), Of(16), Of(100), Of(1000), Of(32_000), Of(100_000), One, PowerLaw, Half,
];
const EVERY: Cases = &[
    (1000, SHORT),
    (1_000_000, MIDDLE),
    (1 << 24, &[Of(10)]),
    (1 << 26, LONG),
];
/// Enough to see what another operator costs.
const FEW: Cases = &[
    (1_000_000, &[Of(16)]),
    (1 << 26, &[Of(16), Of(1000), PowerLaw]),
];

impl Mix {
    fn name(self) -> String {
        match self {
            Of(length) => format!("of {length}"),
            One => "of one".to_owned(),
            PowerLaw => "by a power law".to_owned(),
            Half => "half in one".to_owned(),
        }
    }

    fn offsets(self, items: usize) -> Vec<u64> {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut draw = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            ((1_u64 << 53) as f64 / ((state >> 11) + 1) as f64).min(1e7) as u64
        };
        let items = items as u64;
        let mut offsets = vec![0];
        let mut at = 0;
        while at < items {
            at += match self {
                Of(length) => length as u64,
                One => items,
                PowerLaw => draw(),
                Half if at == 0 => items / 2,
                Half => 10,
            };
            offsets.push(at.min(items));
        }
        offsets
    }
}

pub(crate) fn run(bench: &mut Bench) {
    reductions::<Add>(bench, "sum", EVERY, Check::NearF32);
    reductions::<Max>(bench, "max", FEW, Check::Bits);
    scans(bench);
    sorts(bench);
    vectors(bench);
}

/// Some items, and the segments that they are cut into.
struct Segmented<'a> {
    stream: &'a Arc<CudaStream>,
    arena: &'a RefCell<Arena<f32>>,
    elements: &'a [f32],
    offsets: Vec<u64>,
    on_device: CudaSlice<u64>,
}

impl Segmented<'_> {
    fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    fn segments(&self) -> Offsets<&[u64]> {
        Offsets::new(&self.offsets[..]).expect("ascending offsets")
    }

    /// What CUB's functions for segments take: items and offsets; and results.
    fn arrays(&self) -> Arrays<'_> {
        Box::new(move |peer| {
            let mut arena = self.arena.borrow_mut();
            let (input, mut output) = arena.next();
            let (input, _reading) = input.device_ptr(self.stream);
            let (offsets, _cutting) = self.on_device.device_ptr(self.stream);
            let (output, _writing) = output.device_ptr_mut(self.stream);
            peer(&[input, offsets], &[output]);
        })
    }
}

/// Cuts items into segments, for each case that is wanted.
fn each(
    bench: &mut Bench,
    kind: &str,
    cases: Cases,
    result_bytes: impl Fn(usize, usize) -> usize,
    hold: impl Fn(&mut Bench, Row<'_>, &Segmented<'_>),
) {
    let operator = |mix: Mix| format!("{kind} {}", mix.name());
    let name = |operator: &str| format!("segments f32 {operator}");
    let wanted = |mix: &&Mix| bench.wants(&name(&operator(**mix)));
    let cases = cases
        .iter()
        .filter(|(items, _)| !bench.run.quick || *items > 1 << 24);
    let cases: Vec<(usize, Vec<Mix>)> = cases
        .map(|(items, mixes)| (*items, mixes.iter().filter(&wanted).copied().collect()))
        .collect();
    let longest = cases.iter().filter(|(_, mixes)| !mixes.is_empty());
    let Some(longest) = longest.map(|(items, _)| *items).max() else {
        return;
    };
    let stream = bench.stream.clone();
    let elements = data::<f32>(longest);
    let upload = stream.clone_htod(&elements).expect("memory on the device");
    let arena = RefCell::new(Arena::new(&stream, upload, longest));
    for (items, mixes) in cases {
        for mix in mixes {
            arena.borrow_mut().arrange(items, 0);
            let offsets = mix.offsets(items);
            let segmented = Segmented {
                stream: &stream,
                arena: &arena,
                elements: &elements[..items],
                on_device: stream.clone_htod(&offsets).expect("memory on the device"),
                offsets,
            };
            let row = Row {
                name: Name {
                    primitive: "segments",
                    element: "f32",
                    operator: &operator(mix),
                },
                element_bytes: size_of::<f32>(),
                length: items,
                moved: 4 * items
                    + 8 * segmented.offsets.len()
                    + result_bytes(items, segmented.count()),
            };
            hold(bench, row, &segmented);
        }
    }
}

fn reductions<Op: Monoid<f32>>(bench: &mut Bench, kind: &str, cases: Cases, cub: Check) {
    each(
        bench,
        kind,
        cases,
        |_, count| 4 * count,
        |bench, row, of| {
            let stream = of.stream;
            let reduce = SegmentedReduce::<f32, Op>::load(&bench.context).expect("kernels");
            let workspace = Workspace::new(stream, reduce.workspace_bytes(row.length));
            let mut workspace = workspace.expect("memory");
            let ours = Contender::ours(|| {
                let mut arena = of.arena.borrow_mut();
                let (input, mut output) = arena.next();
                let mut output = output.slice_mut(..of.count());
                let segments = Offsets::unchecked(&of.on_device).expect("offsets");
                let enqueued =
                    reduce.enqueue(stream, &input, segments, &mut output, &mut workspace);
                enqueued.expect("launches");
            });
            let function = format!("segments_f32_{kind}");
            let peer = bench.peer(&function, stream, row.length, of.count());
            let expected = segmented_reduce::<f32, Op>(of.elements, of.segments()).expect("memory");
            row.hold(
                bench,
                [ours]
                    .into_iter()
                    .chain(Contender::cub(peer, cub, of.arrays())),
                vec![Outcome::of_arena(stream, of.arena, &expected)],
                Calls::default(),
            );
        },
    );
}

/// Beside CUB's scan by key, which reads a number of its segment for each item.
fn scans(bench: &mut Bench) {
    each(
        bench,
        "scan",
        EVERY,
        |items, _| 4 * items,
        |bench, row, of| {
            let stream = of.stream;
            let scan = SegmentedScan::<f32, Add>::load(&bench.context).expect("kernels");
            let workspace = Workspace::new(stream, scan.workspace_bytes(row.length));
            let mut workspace = workspace.expect("memory");
            let ours = Contender::ours(|| {
                let mut arena = of.arena.borrow_mut();
                let (input, mut output) = arena.next();
                let segments = Offsets::unchecked(&of.on_device).expect("offsets");
                let form = Prefixes::inclusive();
                scan.enqueue(stream, form, &input, segments, &mut output, &mut workspace)
                    .expect("a launch");
            });
            let lengths = of
                .offsets
                .windows(2)
                .map(|pair| (pair[1] - pair[0]) as usize);
            let ids = lengths.zip(0_u32..);
            let ids: Vec<u32> = ids
                .flat_map(|(length, id)| std::iter::repeat_n(id, length))
                .collect();
            let ids = stream.clone_htod(&ids).expect("memory on the device");
            let arrays: Arrays<'_> = Box::new(|peer| {
                let mut arena = of.arena.borrow_mut();
                let (input, mut output) = arena.next();
                let (ids, _cutting) = ids.device_ptr(stream);
                let (input, _reading) = input.device_ptr(stream);
                let (output, _writing) = output.device_ptr_mut(stream);
                peer(&[ids, input], &[output]);
            });
            let peer = bench.peer("by_key_f32_scan", stream, row.length, 1);
            let form = Prefixes::inclusive();
            let expected = segmented_scan::<f32, Add>(form, of.elements, of.segments());
            row.hold(
                bench,
                [ours]
                    .into_iter()
                    .chain(Contender::cub(peer, Check::NearF32, arrays)),
                vec![Outcome::of_arena(
                    stream,
                    of.arena,
                    &expected.expect("memory"),
                )],
                Calls::default(),
            );
        },
    );
}

/// Ours sorts in place, so its inputs are made again before each batch. CUB's waits for the GPU,
/// so no graph can have it.
fn sorts(bench: &mut Bench) {
    each(
        bench,
        "sort",
        EVERY,
        |items, _| 4 * items,
        |bench, row, of| {
            let stream = of.stream;
            let sort = SegmentedSort::<f32>::load(&bench.context).expect("kernels");
            let workspace = Workspace::new(stream, sort.workspace_bytes(row.length));
            let mut workspace = workspace.expect("memory");
            let order = Order::ascending();
            let ours = Contender::ours(|| {
                let mut arena = of.arena.borrow_mut();
                let mut items = arena.next_in_place();
                let segments = Offsets::unchecked(&of.on_device).expect("offsets");
                sort.enqueue_in_place(stream, order, &mut items, segments, &mut workspace)
                    .expect("launches");
            });
            let peer = bench.peer("segments_f32_sort", stream, row.length, of.count());
            let expected = segmented_sort(of.elements, of.segments(), order).expect("memory");
            row.hold(
                bench,
                [ours]
                    .into_iter()
                    .chain(Contender::cub(peer, Check::Bits, of.arrays())),
                vec![Outcome::in_place(stream, of.arena, &expected)],
                Calls {
                    captured: false,
                    restore: Box::new(|| of.arena.borrow_mut().arrange(row.length, 0)),
                },
            );
        },
    );
}

/// 10^5 segments of some hundred rows of 64 each.
fn vectors(bench: &mut Bench) {
    const WIDTH: usize = 64;
    const SEGMENTS: u64 = 100_000;
    const ROWS: u64 = 100 * SEGMENTS;
    let name = Name {
        primitive: "segments",
        element: "f32",
        operator: "vectors of 64",
    };
    if !bench.wants(&name.text()) || bench.run.quick {
        return;
    }
    let stream = &bench.stream.clone();
    let length = ROWS as usize * WIDTH;
    // `benches/peers/torch_peer.py` has the same.
    let jitter = |i: u64| ((i.wrapping_mul(2_654_435_761) % (1 << 32)) >> 16) % 51;
    let inner = (1..SEGMENTS).map(|i| 100 * i + jitter(i));
    let offsets: Vec<u64> = [0].into_iter().chain(inner).chain([ROWS]).collect();
    let elements = data::<f32>(length);
    let segments = Offsets::new(&offsets[..]).expect("ascending offsets");
    let expected = segmented_reduce_vectors::<f32, Add>(&elements[..], WIDTH, segments);
    let expected = expected.expect("memory");
    let upload = stream.clone_htod(&elements).expect("memory on the device");
    drop(elements);
    let arena = &RefCell::new(Arena::new(stream, upload, length));
    arena.borrow_mut().arrange(length, 0);
    let offsets = stream.clone_htod(&offsets).expect("memory on the device");
    let reduce = SegmentedReduceVectors::<f32, Add>::load(&bench.context).expect("kernels");
    let ours = Contender::ours(|| {
        let mut arena = arena.borrow_mut();
        let (input, mut output) = arena.next();
        let mut output = output.slice_mut(..SEGMENTS as usize * WIDTH);
        let segments = Offsets::unchecked(&offsets).expect("offsets");
        reduce
            .enqueue(stream, &input, WIDTH, segments, &mut output)
            .expect("a launch");
    });
    let row = Row {
        name,
        element_bytes: size_of::<f32>(),
        length,
        moved: 4 * (length + expected.len()) + 8 * offsets.len(),
    };
    let outcomes = vec![Outcome::of_arena(stream, arena, &expected)];
    row.hold(bench, [ours], outcomes, Calls::default());
}
