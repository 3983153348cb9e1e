//! Selects: ours, CUB and a copy of as many bytes, on the same buffers, taking turns.

use crate::arena::Arena;
use crate::bench::Bench;
use crate::compare::Check;
use crate::contest::{LONGEST_IN_A_GRAPH_BYTES, LONGEST_ON_THE_HOST};
use crate::elements::{Sample, data};
use crate::measure::{Contender, Work};
use crate::record::{Cell, Library, Times};
use std::cell::RefCell;
use warpfold::cuda::{SelectBy, Workspace};
use warpfold::source::{Flagged, Form, Slice};
use warpfold::{Element, Function, flagged, function};

#[derive(Clone, Copy, Debug, Element)]
#[repr(C)]
pub(crate) struct Pair {
    key: u32,
    value: u32,
}

impl Sample for Pair {
    fn sample(random: u64) -> Pair {
        Pair {
            key: (random >> 7) as u32,
            value: random as u32,
        }
    }
}

#[function]
fn half(x: u32) -> bool {
    x < 0x8000_0000
}

#[function]
fn twentieth(x: u32) -> bool {
    x < 0x0ccc_cccd
}

#[function]
fn half_of_pairs(x: Pair) -> bool {
    x.key < 0x8000_0000
}

#[function]
fn half_of_bytes(x: u8) -> bool {
    x < 128
}

const EVERY: &[usize] = &[
    1,
    1000,
    1 << 14,
    1 << 16,
    1 << 18,
    1_000_000,
    1 << 20,
    1 << 22,
    1 << 24,
    1 << 26,
    1 << 28,
    1 << 30,
];
const SOME: &[usize] = &[1000, 1_000_000, 1 << 22, 1 << 24, 1 << 26, 1 << 28];

pub(crate) fn run(bench: &mut Bench) {
    family::<u32, half>(bench, "u32", "half", EVERY, half);
    family::<u32, twentieth>(bench, "u32", "twentieth", EVERY, twentieth);
    family::<Pair, half_of_pairs>(bench, "pair", "half", SOME, half_of_pairs);
    family::<u8, half_of_bytes>(bench, "u8", "half", SOME, half_of_bytes);
}

fn family<T, P>(
    bench: &mut Bench,
    element: &str,
    operator: &str,
    lengths: &[usize],
    holds: fn(T) -> bool,
) where
    T: Sample,
    P: Function<Input = (T,), Output = bool>,
    Flagged<P, Slice<T>>: Form<Item = (T, bool)>,
{
    let name = format!("select {element} {operator}");
    if !bench.wants(&name) {
        return;
    }
    let lengths = lengths.iter().copied();
    let lengths: Vec<usize> = lengths
        .filter(|&length| !bench.run.quick || length <= 1 << 28)
        .collect();
    let longest = lengths.iter().copied().max().expect("lengths");
    let stream = bench.stream.clone();
    let elements = data::<T>(longest);
    // What is kept of a prefix is a prefix of what is kept.
    let kept: Vec<T> = elements.iter().copied().filter(|&x| holds(x)).collect();
    let expected = stream.clone_htod(&kept).expect("memory on the device");
    let upload = stream.clone_htod(&elements).expect("memory on the device");
    let arena = RefCell::new(Arena::new(&stream, upload, longest));
    for length in lengths {
        let kept = elements[..length].iter().filter(|&&x| holds(x)).count();
        let bytes = (length + kept) * size_of::<T>();
        let copied = bytes / size_of::<T>() / 2;
        arena.borrow_mut().arrange(length, 0);
        let count = RefCell::new(stream.alloc_zeros::<u64>(1).expect("memory"));
        let select = SelectBy::<T, P>::load(&bench.context).expect("kernels");
        let mut workspace =
            Workspace::new(&stream, select.workspace_bytes(length)).expect("memory");
        let ours: Work<'_> = Box::new(|| {
            let mut arena = arena.borrow_mut();
            let (input, mut output) = arena.next();
            let (source, count) = (flagged::<P, _>(&input), &mut *count.borrow_mut());
            let enqueued = select.enqueue(&stream, source, &mut output, count, &mut workspace);
            enqueued.expect("a launch");
        });
        let mut contenders = vec![Contender {
            library: Library::Warpfold,
            work: ours,
            check: Check::Bits,
        }];
        let function = name.replace(' ', "_");
        let cub = bench.cub.as_ref();
        if let Some(mut call) = cub.and_then(|cub| cub.select::<T>(&function, &stream, length)) {
            let (arena, count) = (&arena, &count);
            contenders.push(Contender {
                library: Library::Cub,
                work: Box::new(move || {
                    let mut arena = arena.borrow_mut();
                    let (input, mut output) = arena.next();
                    call(&input, &mut output, &mut count.borrow_mut());
                }),
                check: Check::Bits,
            });
        }
        // As many bytes, read and written.
        contenders.push(Contender {
            library: Library::Memcpy,
            work: Box::new(|| {
                let mut arena = arena.borrow_mut();
                let (input, mut output) = arena.next();
                let (input, mut output) = (input.slice(..copied), output.slice_mut(..copied));
                stream.memcpy_dtod(&input, &mut output).expect("a copy");
            }),
            check: Check::Nothing,
        });
        contenders.retain_mut(|contender| {
            if contender.check == Check::Nothing {
                return true;
            }
            arena.borrow_mut().poison_next();
            (contender.work)();
            let counted = stream.clone_dtoh(&*count.borrow()).expect("the count")[0];
            let arena = arena.borrow();
            let got = arena.last_output().slice(..kept);
            let comparer = &mut bench.comparer;
            let differs = comparer.first_difference(Check::Bits, &got, &expected.slice(..kept));
            if counted == kept as u64 && differs.is_none() {
                return true;
            }
            let library = contender.library;
            let wrong =
                format!("{name} {length}: {library:?} counts {counted}, differs at {differs:?}");
            println!("WRONG: {wrong}");
            bench.run.wrong.push(wrong);
            false
        });
        if contenders[0].library != Library::Warpfold {
            continue;
        }
        let mut cell = Cell {
            primitive: "select".to_owned(),
            element: element.to_owned(),
            operator: operator.to_owned(),
            element_bytes: size_of::<T>(),
            length,
            offset: 0,
            moved: Some(bytes),
            stream: bench.clock.stream(&mut contenders, bytes),
            graph: Times::new(),
            host: Times::new(),
        };
        if length * size_of::<T>() <= LONGEST_IN_A_GRAPH_BYTES {
            cell.graph = bench.clock.graph(&mut contenders);
        }
        if length <= LONGEST_ON_THE_HOST {
            cell.host = bench.clock.host(&mut contenders);
        }
        drop(contenders);
        bench.record(cell);
    }
}
