//! Gathers and scatters by near and by random indices, beside PyTorch.

use crate::arena::{Arena, POISON};
use crate::bench::Bench;
use crate::elements::{data, mixed};
use crate::measure::Contender;
use crate::trial::{Calls, Name, Outcome, Row};
use std::cell::RefCell;
use warpfold::cuda::{Collect, Scatter, Workspace};
use warpfold::source::{Gather, Slice};
use warpfold::{Indices, collect, gather, scatter};

const LENGTH: usize = 1 << 26;

/// The index at a position.
type Index = fn(usize) -> u32;

/// At most 31 away from the position, or anywhere.
/// `benches/peers/torch_peer.py` has the same ranges.
const INDICES: &[(&str, Index)] = &[
    ("near", |i| (i as u32 & !31) | (mixed(i) & 31)),
    ("random", |i| mixed(i) % LENGTH as u32),
];

pub(crate) fn run(bench: &mut Bench) {
    for primitive in ["gather", "scatter"] {
        for &(operator, index) in INDICES {
            let name = Name {
                primitive,
                element: "f32",
                operator,
            };
            if bench.wants(&name.text()) {
                hold(bench, name, index);
            }
        }
    }
}

fn hold(bench: &mut Bench, name: Name<'_>, index: Index) {
    let stream = &bench.stream.clone();
    let elements = data::<f32>(LENGTH);
    let indices: Vec<u32> = (0..LENGTH).map(index).collect();
    let upload = stream.clone_htod(&elements).expect("memory on the device");
    let arena = RefCell::new(Arena::new(stream, upload, LENGTH));
    arena.borrow_mut().arrange(LENGTH, 0);
    let places = stream.clone_htod(&indices).expect("memory on the device");
    let (arena, places) = (&arena, &places);
    let checked = Indices::new(&indices[..]).expect("positions");
    let (ours, expected) = if name.primitive == "gather" {
        type Of = Collect<Gather<Slice<f32>, Slice<u32>>>;
        let kernels = Of::load(&bench.context).expect("kernels");
        let ours = Contender::ours(move || {
            let mut arena = arena.borrow_mut();
            let (input, mut output) = arena.next();
            let source = gather(&input, Indices::unchecked(places));
            kernels
                .enqueue(stream, source, &mut output)
                .expect("a launch");
        });
        let expected = collect(gather(&elements[..], checked)).expect("memory");
        (ours, expected)
    } else {
        let kernels = Scatter::<Slice<f32>>::load(&bench.context).expect("kernels");
        let workspace = Workspace::new(stream, kernels.workspace_bytes(LENGTH));
        let mut workspace = workspace.expect("memory");
        let ours = Contender::ours(move || {
            let mut arena = arena.borrow_mut();
            let (input, mut output) = arena.next();
            let indices = Indices::unchecked(places);
            kernels
                .enqueue(stream, &input, indices, &mut output, &mut workspace)
                .expect("launches");
        });
        // Places that no index names stay as they were.
        let mut expected = vec![f32::from_ne_bytes([POISON; 4]); LENGTH];
        scatter(&elements[..], checked, &mut expected).expect("memory");
        (ours, expected)
    };
    let row = Row {
        name,
        element_bytes: size_of::<f32>(),
        length: LENGTH,
        moved: 12 * LENGTH,
    };
    let outcomes = vec![Outcome::of_arena(stream, arena, &expected)];
    row.hold(bench, [ours], outcomes, Calls::default());
}
