//! One type with one operator: ours, CUB and a copy, on the same buffers, taking turns.

use crate::arena::Arena;
use crate::bench::Bench;
use crate::cells::{Family, Primitive, Shape};
use crate::compare::Check;
use crate::elements::{Sample, data};
use crate::measure::{Contender, Work};
use crate::record::Library;
use crate::roofline;
use crate::trial::Trial;
use std::cell::RefCell;
use std::sync::Arc;
use warpfold::Monoid;
use warpfold::Prefixes;
use warpfold::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView};
use warpfold::cuda::{Reduce, Scan, Workspace};

/// The part of the device's memory that may be used.
const MEMORY_SHARE: f64 = 0.85;

/// Measures a family, and keeps its cells.
pub(crate) fn run<T: Sample, Op: Monoid<T>>(bench: &mut Bench, family: &Family) {
    let mut primitives = family.primitives.to_vec();
    primitives.retain(|primitive| bench.wants(&family.name(*primitive).text()));
    let memory = bench.context.total_mem().expect("the device's memory");
    let mut shapes = family.shapes(bench.run.quick);
    shapes.retain(|shape| {
        let bytes = Arena::<T>::bytes_for(shape.length * size_of::<T>());
        bytes as f64 <= MEMORY_SHARE * memory as f64
    });
    let longest = shapes.iter().map(|shape| shape.length).max().unwrap_or(0);
    if primitives.is_empty() || longest == 0 {
        return;
    }
    roofline::measure::<T, Op>(bench, family);

    // By the law, the results for all lengths are parts of one scan: element n of it is the fold of
    // the first n.
    let stream = bench.stream.clone();
    let elements = data::<T>(longest + 1);
    let expected = warpfold::scan::<T, Op>(&elements).expect("memory for the oracle");
    let upload = |values: &[T]| stream.clone_htod(values).expect("memory on the device");
    let arena = RefCell::new(Arena::new(&stream, upload(&elements), longest));
    let expected = Expected(upload(&expected));
    drop(elements);
    for primitive in primitives {
        for shape in &shapes {
            let contest = Contest {
                family,
                primitive,
                shape: *shape,
                arena: &arena,
                expected: &expected,
            };
            contest.hold::<Op>(bench);
        }
    }
}

/// The exclusive scan of one more element than there are, on the device.
struct Expected<T>(CudaSlice<T>);

impl<T> Expected<T> {
    fn of(&self, primitive: Primitive, length: usize) -> CudaView<'_, T> {
        match primitive {
            Primitive::Reduce => self.0.slice(length..=length),
            Primitive::Scan => self.0.slice(..length),
            Primitive::Inclusive => self.0.slice(1..=length),
        }
    }
}

struct Contest<'a, T> {
    family: &'a Family,
    primitive: Primitive,
    shape: Shape,
    arena: &'a RefCell<Arena<T>>,
    expected: &'a Expected<T>,
}

impl<T: Sample> Contest<'_, T> {
    /// Times all whose results are right.
    fn hold<Op: Monoid<T>>(&self, bench: &mut Bench) {
        let Shape { length, offset } = self.shape;
        self.arena.borrow_mut().arrange(length, offset);
        let stream = bench.stream.clone();
        let mut contenders = vec![self.warpfold::<Op>(&bench.context, &stream)];
        let peers = [
            (Library::Cub, "", self.family.cub),
            (Library::CubRounded, "_rounded", Check::Nothing),
        ];
        for (library, suffix, check) in peers {
            let function = self.family.name(self.primitive).function() + suffix;
            let cub = bench.cub.as_ref();
            let work = cub.and_then(|cub| cub.work(&function, &stream, self.arena, length));
            let contender = work.map(|work| Contender {
                library,
                work,
                check,
            });
            contenders.extend(contender);
        }
        contenders.push(Contender::copy(&stream, self.arena));
        let trial = Trial {
            name: self.family.name(self.primitive),
            element_bytes: size_of::<T>(),
            length,
            offset,
            moved: None,
            contenders,
            poison: Box::new(|| self.arena.borrow_mut().poison_next()),
            fault: Box::new(|comparer, contender| {
                let arena = self.arena.borrow();
                let expected = self.expected.of(self.primitive, length);
                let got = arena.last_output().slice(..expected.len());
                let at = comparer.first_difference(contender.check, &got, &expected)?;
                Some(format!("differs at {at}"))
            }),
        };
        trial.hold(bench);
    }

    fn warpfold<'a, Op: Monoid<T>>(
        &'a self,
        context: &Arc<CudaContext>,
        stream: &'a Arc<CudaStream>,
    ) -> Contender<'a> {
        let length = self.shape.length;
        let workspace = |bytes| Workspace::new(stream, bytes).expect("memory");
        let work: Work<'a> = if self.primitive == Primitive::Reduce {
            let reduce = Reduce::<T, Op>::load(context).expect("kernels");
            let mut workspace = workspace(reduce.workspace_bytes(length));
            Box::new(move || {
                let mut arena = self.arena.borrow_mut();
                let (input, mut output) = arena.next();
                let enqueued = reduce.enqueue(stream, &input, &mut output, &mut workspace);
                enqueued.expect("a launch");
            })
        } else {
            let scan = Scan::<T, Op>::load(context).expect("kernels");
            let mut workspace = workspace(scan.workspace_bytes(length));
            let form = match self.primitive {
                Primitive::Inclusive => Prefixes::inclusive,
                _ => Prefixes::exclusive,
            };
            Box::new(move || {
                let mut arena = self.arena.borrow_mut();
                let (input, mut output) = arena.next();
                let enqueued = scan.enqueue(stream, form(), &input, &mut output, &mut workspace);
                enqueued.expect("a launch");
            })
        };
        Contender {
            library: Library::Warpfold,
            work,
            check: self.family.ours,
        }
    }
}
