//! Sorts of keys, beside CUB and a copy, and the greatest items.

use crate::arena::Arena;
use crate::bench::Bench;
use crate::compare::Check;
use crate::elements::{Sample, data};
use crate::measure::{Contender, Work};
use crate::record::Library;
use crate::trial::{Name, Trial};
use std::cell::RefCell;
use warpfold::cuda::cudarc::driver::CudaSlice;
use warpfold::cuda::{Sort, TopK, Workspace};
use warpfold::source::Slice;
use warpfold::{Candidate, Order, Sortable, sort, top_k};

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
const QUICK: &[usize] = &[1000, 1_000_000, 1 << 24];

/// How many of the greatest are wanted.
const BEST: usize = 100;

pub(crate) fn run(bench: &mut Bench) {
    sorts::<u32>(bench, "u32");
    sorts::<f32>(bench, "f32");
    sorts::<u64>(bench, "u64");
    sorts::<u16>(bench, "u16");
    tops::<u32>(bench, "u32");
    tops::<f32>(bench, "f32");
}

fn lengths(bench: &Bench) -> &'static [usize] {
    if bench.run.quick { QUICK } else { LENGTHS }
}

/// Inputs that calls rotate through.
fn arena<K: Sample>(bench: &Bench, elements: &[K]) -> RefCell<Arena<K>> {
    let uploaded = bench
        .stream
        .clone_htod(elements)
        .expect("memory on the device");
    RefCell::new(Arena::new(&bench.stream, uploaded, elements.len()))
}

fn memcpy<'a, K: Sample>(bench: &Bench, arena: &'a RefCell<Arena<K>>) -> Contender<'a> {
    let stream = bench.stream.clone();
    Contender {
        library: Library::Memcpy,
        work: Box::new(move || {
            let mut arena = arena.borrow_mut();
            let (input, mut output) = arena.next();
            stream.memcpy_dtod(&input, &mut output).expect("a copy");
        }),
        check: Check::Nothing,
    }
}

fn sorts<K: Sample + Sortable>(bench: &mut Bench, element: &'static str) {
    let name = Name {
        primitive: "sort",
        element,
        operator: "ascending",
    };
    if !bench.wants(&name.text()) {
        return;
    }
    let lengths = lengths(bench);
    let elements = data::<K>(lengths[lengths.len() - 1]);
    let arena = arena(bench, &elements);
    for &length in lengths {
        arena.borrow_mut().arrange(length, 0);
        let stream = bench.stream.clone();
        let expected = sort(&elements[..length], Order::ascending()).expect("memory");
        let expected = stream.clone_htod(&expected).expect("memory on the device");
        let sort = Sort::<K>::load(&bench.context).expect("kernels");
        let workspace = Workspace::new(&stream, sort.workspace_bytes(length));
        let mut workspace = workspace.expect("memory");
        let ours: Work<'_> = Box::new(|| {
            let mut arena = arena.borrow_mut();
            let (input, mut output) = arena.next();
            sort.enqueue(
                &stream,
                Order::ascending(),
                &input,
                &mut output,
                &mut workspace,
            )
            .expect("a launch");
        });
        let mut contenders = vec![Contender {
            library: Library::Warpfold,
            work: ours,
            check: Check::Bits,
        }];
        let cub = bench.cub.as_ref();
        let work = cub.and_then(|cub| cub.work(&name.function(), &stream, &arena, length));
        contenders.extend(work.map(|work| Contender {
            library: Library::Cub,
            work,
            check: Check::Nothing,
        }));
        contenders.push(memcpy(bench, &arena));
        let trial = Trial {
            name,
            element_bytes: size_of::<K>(),
            length,
            offset: 0,
            moved: Some(2 * length * size_of::<K>()),
            contenders,
            poison: Box::new(|| arena.borrow_mut().poison_next()),
            fault: Box::new(|comparer, contender| {
                let arena = arena.borrow();
                let (got, expected) = (arena.last_output(), expected.slice(..));
                let at = comparer.first_difference(contender.check, &got, &expected)?;
                Some(format!("differs at {at}"))
            }),
        };
        trial.hold(bench);
    }
}

fn tops<K: Sample + Candidate<Key = K> + Sortable>(bench: &mut Bench, element: &'static str) {
    let name = Name {
        primitive: "top",
        element,
        operator: "100",
    };
    if !bench.wants(&name.text()) {
        return;
    }
    let lengths = lengths(bench);
    let elements = data::<K>(lengths[lengths.len() - 1]);
    let arena = arena(bench, &elements);
    for &length in lengths {
        arena.borrow_mut().arrange(length, 0);
        let stream = bench.stream.clone();
        let (_, expected) = top_k(&elements[..length], BEST, Order::default()).expect("memory");
        let top = TopK::<Slice<K>>::load(&bench.context).expect("kernels");
        let workspace = Workspace::new(&stream, top.workspace_bytes(length, BEST));
        let mut workspace = workspace.expect("memory");
        let mut values = stream.alloc_zeros::<K>(BEST).expect("memory");
        let mut count = stream.alloc_zeros::<u64>(1).expect("memory");
        let places: RefCell<CudaSlice<u64>> =
            RefCell::new(stream.alloc_zeros(BEST).expect("memory"));
        let ours: Work<'_> = Box::new(|| {
            let (mut arena, mut places) = (arena.borrow_mut(), places.borrow_mut());
            let (input, _) = arena.next();
            let outputs = (&mut values, &mut *places, &mut count);
            top.enqueue_top(&stream, Order::default(), &input, outputs, &mut workspace)
                .expect("a launch");
        });
        let contenders = vec![
            Contender {
                library: Library::Warpfold,
                work: ours,
                check: Check::Bits,
            },
            memcpy(bench, &arena),
        ];
        let trial = Trial {
            name,
            element_bytes: size_of::<K>(),
            length,
            offset: 0,
            moved: Some(length * size_of::<K>()),
            contenders,
            poison: Box::new(|| {
                let mut places = places.borrow_mut();
                stream.memset_zeros(&mut *places).expect("a memset");
            }),
            fault: Box::new(|_, _| {
                let got = stream.clone_dtoh(&*places.borrow()).expect("a copy");
                let at = got.iter().zip(&expected).position(|(a, b)| a != b)?;
                Some(format!("has another place at {at}"))
            }),
        };
        trial.hold(bench);
    }
}
