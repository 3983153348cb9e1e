//! Axes of arrays of outer × axis × inner numbers: sums, running sums and places of the greatest,
//! beside PyTorch, and CUB where lanes are rows.

use crate::arena::Arena;
use crate::bench::Bench;
use crate::compare::Check;
use crate::cub::arrays;
use crate::elements::data;
use crate::measure::Contender;
use crate::trial::{Calls, Name, Outcome, Row};
use std::cell::RefCell;
use std::sync::Arc;
use warpfold::cuda::cudarc::driver::CudaStream;
use warpfold::cuda::{AlongAxis, Workspace};
use warpfold::ops::{Add, Min};
use warpfold::source::Slice;
use warpfold::statistics::{Number, Packed, greatest_packed};
use warpfold::{Axis, Prefixes, reduce_axis, scan_axis};

/// Outer × axis × inner.
type Shape = [usize; 3];

const SHAPES: &[Shape] = &[
    [1, 10_000, 10_000],
    [10_000, 10_000, 1],
    [1, 1 << 20, 64],
    [1, 1 << 22, 16],
    [1, 1 << 24, 4],
    [1024, 1024, 64],
    [65_536, 32, 32],
    [1, 256, 1 << 18],
    [1, 2, 1 << 25],
    [1 << 20, 64, 1],
    [1 << 24, 4, 1],
];
/// Where the greatest are looked for.
const FEW: &[Shape] = &[
    [1, 10_000, 10_000],
    [10_000, 10_000, 1],
    [1024, 1024, 64],
    [1 << 20, 64, 1],
    [1 << 24, 4, 1],
];

#[derive(Clone, Copy)]
enum Kind {
    Sum,
    Running,
    Greatest,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Sum => "sum",
            Kind::Running => "running",
            Kind::Greatest => "argmax",
        }
    }
}

pub(crate) fn run(bench: &mut Bench) {
    let items = |shape: Shape| shape.iter().product::<usize>();
    let mut wanted = Vec::new();
    for (kind, shapes) in [
        (Kind::Sum, SHAPES),
        (Kind::Running, SHAPES),
        (Kind::Greatest, FEW),
    ] {
        for &[outer, len, inner] in shapes {
            let operator = format!("{} {outer}x{len}x{inner}", kind.name());
            if bench.wants(&format!("axes f32 {operator}")) {
                wanted.push((kind, [outer, len, inner], operator));
            }
        }
    }
    let Some(longest) = wanted.iter().map(|(_, shape, _)| items(*shape)).max() else {
        return;
    };
    let stream = &bench.stream.clone();
    let elements = data::<f32>(longest);
    let upload = stream.clone_htod(&elements).expect("memory on the device");
    let arena = &RefCell::new(Arena::new(stream, upload, longest));
    for (kind, shape, operator) in &wanted {
        let [outer, len, inner] = *shape;
        let axis = Axis::new(outer, len, inner).expect("a shape");
        let items = items(*shape);
        arena.borrow_mut().arrange(items, 0);
        let results = match kind {
            Kind::Sum => 4 * axis.lanes(),
            Kind::Running => 4 * items,
            Kind::Greatest => 8 * axis.lanes(),
        };
        let row = Row {
            name: Name {
                primitive: "axes",
                element: "f32",
                operator,
            },
            element_bytes: size_of::<f32>(),
            length: items,
            moved: 4 * items + results,
        };
        let call = Along {
            stream,
            arena,
            elements: &elements[..items],
            axis,
        };
        match kind {
            Kind::Sum => call.sums(bench, row, if inner == 1 { outer } else { 0 }),
            Kind::Running => call.running_sums(bench, row),
            Kind::Greatest => call.greatest(bench, row),
        }
    }
}

/// An axis of the elements in an arena.
struct Along<'a> {
    stream: &'a Arc<CudaStream>,
    arena: &'a RefCell<Arena<f32>>,
    elements: &'a [f32],
    axis: Axis,
}

impl Along<'_> {
    /// Beside CUB if there are `rows`.
    fn sums(&self, bench: &mut Bench, row: Row<'_>, rows: usize) {
        let Along {
            stream,
            arena,
            elements,
            axis,
        } = *self;
        let along = AlongAxis::<f32, Add>::load(&bench.context).expect("kernels");
        let workspace = Workspace::new(stream, along.workspace_bytes(axis));
        let mut workspace = workspace.expect("memory");
        let ours = Contender::ours(|| {
            let mut arena = arena.borrow_mut();
            let (input, mut output) = arena.next();
            let mut output = output.slice_mut(..axis.lanes());
            let enqueued = along.enqueue_reduce(stream, &input, axis, &mut output, &mut workspace);
            enqueued.expect("launches");
        });
        let peer = (rows > 0).then(|| bench.peer("axes_f32_sum", stream, row.length, rows));
        let expected = reduce_axis::<f32, Add>(elements, axis).expect("memory");
        row.hold(
            bench,
            [ours].into_iter().chain(Contender::cub(
                peer.flatten(),
                Check::NearF32,
                arrays(stream, arena),
            )),
            vec![Outcome::of_arena(stream, arena, &expected)],
            Calls::default(),
        );
    }

    fn running_sums(&self, bench: &mut Bench, row: Row<'_>) {
        let Along {
            stream,
            arena,
            elements,
            axis,
        } = *self;
        let along = AlongAxis::<f32, Add>::load(&bench.context).expect("kernels");
        let workspace = Workspace::new(stream, along.workspace_bytes(axis));
        let mut workspace = workspace.expect("memory");
        let ours = Contender::ours(|| {
            let mut arena = arena.borrow_mut();
            let (input, mut output) = arena.next();
            let form = Prefixes::inclusive();
            along
                .enqueue_scan(stream, form, &input, axis, &mut output, &mut workspace)
                .expect("launches");
        });
        let expected = scan_axis::<f32, Add>(Prefixes::inclusive(), elements, axis);
        let outcome = Outcome::of_arena(stream, arena, &expected.expect("memory"));
        row.hold(bench, [ours], vec![outcome], Calls::default());
    }

    /// Without what turns a place in the array into one along the axis: a number a lane.
    fn greatest(&self, bench: &mut Bench, row: Row<'_>) {
        type Of = AlongAxis<u64, Min, Packed<<f32 as Number>::RankDown, Slice<f32>>>;
        let Along {
            stream,
            arena,
            elements,
            axis,
        } = *self;
        let along = Of::load(&bench.context).expect("kernels");
        let workspace = Workspace::new(stream, along.workspace_bytes(axis));
        let mut workspace = workspace.expect("memory");
        let places = stream.alloc_zeros::<u64>(axis.lanes()).expect("memory");
        let places = RefCell::new(places);
        let ours = Contender::ours(|| {
            let mut arena = arena.borrow_mut();
            let (input, _) = arena.next();
            let source = greatest_packed::<f32, _>(&input, input.len()).expect("32 bits");
            let places = &mut *places.borrow_mut();
            along
                .enqueue_reduce(stream, source, axis, places, &mut workspace)
                .expect("launches");
        });
        let source = greatest_packed::<f32, _>(elements, elements.len()).expect("32 bits");
        let expected = reduce_axis::<u64, Min>(source, axis).expect("memory");
        let outcome = Outcome::of_buffer(stream, &places, &expected);
        row.hold(bench, [ours], vec![outcome], Calls::default());
    }
}
