//! Mapped and zipped sources, and the statistics made of them: as fast as what is plain and moves
//! as much.

use crate::arena::Arena;
use crate::bench::Bench;
use crate::compare::Check;
use crate::elements::{Sample, data};
use crate::measure::{Contender, Work};
use crate::record::Library;
use crate::trial::{Name, Trial};
use std::cell::RefCell;
use std::sync::Arc;
use warpfold::Prefixes;
use warpfold::cuda::cudarc::driver::{CudaStream, CudaView, CudaViewMut};
use warpfold::cuda::{Collect, Reduce, Scan, Workspace, allocate};
use warpfold::half::f16;
use warpfold::ops::{Add, Min};
use warpfold::source::{Map, Slice, Zip};
use warpfold::statistics::{
    Extremes, First, Number, Packed, Place, QuickMerge, QuickMoments, QuicklyMeasured, Ranked,
    Twice, greatest, greatest_packed, quickly_measured, twice,
};
use warpfold::{Element, function, map, zip};

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

#[function]
fn widen(x: u8) -> u64 {
    x as u64
}

#[function]
fn square(x: f32) -> f32 {
    x * x
}

type RankDown = <f32 as Number>::RankDown;
type Dot = Reduce<f32, Add, Map<product, Zip<(Slice<f32>, Slice<f32>)>>>;
type Bytes = Reduce<u64, Add, Map<widen, Slice<u8>>>;
type Squares = Scan<f32, Add, Map<square, Slice<f32>>>;

const LENGTHS: &[usize] = &[1000, 1_000_000, 1 << 22, 1 << 24, 1 << 26, 1 << 28];
/// Of the types that only show what the item's size costs.
const FEW: &[usize] = &[1_000_000, 1 << 26];

/// A call on input, output and workspace.
type Call<'a, T> = Box<dyn FnMut(&CudaView<'_, T>, &mut CudaViewMut<'_, T>, &mut Workspace) + 'a>;

/// The reduction of a source of the input to one result, which goes elsewhere: it is of another
/// type.
macro_rules! reduction {
    ($stream:ident, $bench:ident, $reduce:ty, |$input:ident| $source:expr) => {{
        let reduce = <$reduce>::load(&$bench.context).expect("kernels");
        let bytes = reduce.workspace_bytes(1 << 28);
        let mut result = allocate($stream, 1).expect("memory");
        let call: Call<'_, _> = Box::new(move |$input, _, workspace| {
            let enqueued = reduce.enqueue($stream, $source, &mut result, workspace);
            enqueued.expect("a launch");
        });
        (bytes, call)
    }};
}

pub(crate) fn run(bench: &mut Bench) {
    // The first half of the input times the second.
    family::<f32>(bench, LENGTHS, "reduce", "f32", "dot", |stream, bench| {
        let dot = Dot::load(&bench.context).expect("kernels");
        let bytes = dot.workspace_bytes(1 << 28);
        let call: Call<'_, f32> = Box::new(move |input, output, workspace| {
            let middle = input.len() / 2;
            let (a, b) = (input.slice(..middle), input.slice(middle..2 * middle));
            let source = map::<product, _>(zip(&a, &b));
            dot.enqueue(stream, source, output, workspace)
                .expect("a launch");
        });
        (bytes, call)
    });
    // The result, of 64 bits, goes elsewhere.
    family::<u8>(bench, LENGTHS, "reduce", "u8", "wide", |stream, bench| {
        let sum = Bytes::load(&bench.context).expect("kernels");
        let bytes = sum.workspace_bytes(1 << 28);
        let mut result = stream.alloc_zeros::<u64>(1).expect("memory");
        let call: Call<'_, u8> = Box::new(move |input, _, workspace| {
            let source = map::<widen, _>(input);
            sum.enqueue(stream, source, &mut result, workspace)
                .expect("a launch");
        });
        (bytes, call)
    });
    family::<f32>(bench, LENGTHS, "scan", "f32", "squares", |stream, bench| {
        let scan = Squares::load(&bench.context).expect("kernels");
        let bytes = scan.workspace_bytes(1 << 28);
        let call: Call<'_, f32> = Box::new(move |input, output, workspace| {
            let source = map::<square, _>(input);
            scan.enqueue(stream, Prefixes::exclusive(), source, output, workspace)
                .expect("a launch");
        });
        (bytes, call)
    });
    family::<f32>(
        bench,
        LENGTHS,
        "reduce",
        "f32",
        "argmax",
        |stream, bench| {
            type Of = Reduce<u64, Min, Packed<RankDown, Slice<f32>>>;
            reduction!(stream, bench, Of, |input| {
                greatest_packed::<f32, _>(input, input.len()).expect("32 bits")
            })
        },
    );
    family::<f32>(
        bench,
        LENGTHS,
        "reduce",
        "f32",
        "minmax",
        |stream, bench| {
            type Of = Reduce<[f32; 2], Extremes, Twice<f32>>;
            reduction!(stream, bench, Of, |input| twice::<f32, _>(input))
        },
    );
    family::<f32>(
        bench,
        LENGTHS,
        "reduce",
        "f32",
        "moments",
        |stream, bench| {
            type Of = Reduce<QuickMoments, QuickMerge, QuicklyMeasured<f32>>;
            reduction!(stream, bench, Of, |input| quickly_measured::<f32, _>(input))
        },
    );
    of_numbers::<u8>(bench, "u8");
    of_numbers::<i16>(bench, "i16");
    of_numbers::<f16>(bench, "f16");
    of_numbers::<u32>(bench, "u32");
    of_numbers::<u64>(bench, "u64");
    of_numbers::<f64>(bench, "f64");
    family::<f32>(
        bench,
        LENGTHS,
        "collect",
        "f32",
        "squares",
        |stream, bench| {
            let collect =
                Collect::<Map<square, Slice<f32>>>::load(&bench.context).expect("kernels");
            let call: Call<'_, f32> = Box::new(move |input, output, _| {
                collect
                    .enqueue(stream, map::<square, _>(input), output)
                    .expect("a launch");
            });
            (0, call)
        },
    );
}

/// The statistics of other numbers than `f32`.
fn of_numbers<T: Sample + Number>(bench: &mut Bench, element: &str) {
    family::<T>(bench, FEW, "reduce", element, "argmax", |stream, bench| {
        type Places<T> = Reduce<Place, First, Ranked<<T as Number>::RankDown, Slice<T>>>;
        type InWords<T> = Reduce<u64, Min, Packed<<T as Number>::RankDown, Slice<T>>>;
        // In one word, if the number leaves room for its position.
        if size_of::<T>() <= 4 {
            reduction!(stream, bench, InWords<T>, |input| {
                greatest_packed::<T, _>(input, input.len()).expect("32 bits")
            })
        } else {
            reduction!(stream, bench, Places<T>, |input| {
                greatest::<T, _>(input, input.len())
            })
        }
    });
    family::<T>(bench, FEW, "reduce", element, "minmax", |stream, bench| {
        type Of<T> = Reduce<[<T as Element>::Accumulator; 2], Extremes, Twice<T>>;
        reduction!(stream, bench, Of<T>, |input| twice::<T, _>(input))
    });
    family::<T>(bench, FEW, "reduce", element, "moments", |stream, bench| {
        type Of<T> = Reduce<QuickMoments, QuickMerge, QuicklyMeasured<T>>;
        reduction!(stream, bench, Of<T>, |input| quickly_measured::<T, _>(
            input
        ))
    });
    family::<T>(bench, FEW, "reduce", element, "mean", |stream, bench| {
        type Whole<T> = Reduce<i64, Add, Map<<T as Number>::AsI64, Slice<T>>>;
        type Floats<T> = Reduce<f64, Add, Map<<T as Number>::AsF64, Slice<T>>>;
        // As integers, where these are exact.
        if T::MOST_EXACT > 0 {
            reduction!(stream, bench, Whole<T>, |input| map::<T::AsI64, _>(input))
        } else {
            reduction!(stream, bench, Floats<T>, |input| map::<T::AsF64, _>(input))
        }
    });
}

fn family<T: Sample>(
    bench: &mut Bench,
    lengths: &[usize],
    primitive: &str,
    element: &str,
    operator: &str,
    load: impl for<'a> FnOnce(&'a Arc<CudaStream>, &Bench) -> (usize, Call<'a, T>),
) {
    let name = Name {
        primitive,
        element,
        operator,
    };
    if !bench.wants(&name.text()) {
        return;
    }
    let stream = bench.stream.clone();
    let longest = *lengths.iter().max().expect("lengths");
    let elements = stream.clone_htod(&data::<T>(longest)).expect("memory");
    let arena = RefCell::new(Arena::new(&stream, elements, longest));
    let (bytes, call) = load(&stream, bench);
    let call = RefCell::new(call);
    let workspace = RefCell::new(Workspace::new(&stream, bytes).expect("memory"));
    for &length in lengths {
        arena.borrow_mut().arrange(length, 0);
        let ours: Work<'_> = Box::new(|| {
            let mut arena = arena.borrow_mut();
            let (input, mut output) = arena.next();
            call.borrow_mut()(&input, &mut output, &mut workspace.borrow_mut());
        });
        let mut contenders = vec![Contender {
            library: Library::Warpfold,
            work: ours,
            check: Check::Nothing,
        }];
        let cub = bench.cub.as_ref();
        let peer = cub.and_then(|cub| cub.work(&name.function(), &stream, &arena, length));
        contenders.extend(peer.map(|work| Contender {
            library: Library::Cub,
            work,
            check: Check::Nothing,
        }));
        let trial = Trial {
            name,
            element_bytes: size_of::<T>(),
            length,
            offset: 0,
            moved: None,
            contenders,
            poison: Box::new(|| {}),
            fault: Box::new(|_, _| None),
        };
        trial.hold(bench);
    }
}
