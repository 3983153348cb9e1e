//! One call at one length: ours, CUB's and a copy, taking turns.

use crate::arena::{Arena, poison};
use crate::bench::Bench;
use crate::compare::{Check, Comparer};
use crate::elements::Sample;
use crate::measure::{Contender, Work};
use crate::record::{Cell, Library, Times};
use std::cell::RefCell;
use std::sync::Arc;
use warpfold::cuda::cudarc::driver::{CudaSlice, CudaStream};

/// What takes longer hides its launches, and is not measured in graphs.
const LONGEST_IN_A_GRAPH_BYTES: usize = 64 << 20;

/// Beyond, the queue would take long to run dry.
const LONGEST_ON_THE_HOST: usize = 1 << 20;

/// What is called: the cell's name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'a> {
    pub(crate) primitive: &'a str,
    pub(crate) element: &'a str,
    pub(crate) operator: &'a str,
}

impl Name<'_> {
    pub(crate) fn text(self) -> String {
        let Name {
            primitive,
            element,
            operator,
        } = self;
        format!("{primitive} {element} {operator}")
    }

    /// The name of the peer's function.
    pub(crate) fn function(self) -> String {
        self.text().replace(' ', "_")
    }
}

/// What is wrong with the results of a contender's last call, if anything.
pub(crate) type Fault<'a> = Box<dyn Fn(&Comparer, &Contender<'_>) -> Option<String> + 'a>;

/// All that is timed together.
pub(crate) struct Trial<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) element_bytes: usize,
    pub(crate) length: usize,
    pub(crate) offset: usize,
    /// What the problem must move, in bytes, where that does not follow from the primitive.
    pub(crate) moved: Option<usize>,
    /// Ours comes first.
    pub(crate) contenders: Vec<Contender<'a>>,
    /// Overwrites what the next call is to write.
    pub(crate) poison: Work<'a>,
    pub(crate) fault: Fault<'a>,
}

/// What is particular about the calls of a trial.
pub(crate) struct Calls<'a> {
    /// Whether graphs can capture all of them.
    pub(crate) captured: bool,
    /// Makes the inputs again where calls change them. It is not timed.
    pub(crate) restore: Work<'a>,
}

impl Default for Calls<'_> {
    fn default() -> Self {
        Calls {
            captured: true,
            restore: Box::new(|| {}),
        }
    }
}

/// One thing that calls store: how it is overwritten before a call, and what is wrong with it
/// afterwards, by the library and the check.
pub(crate) struct Outcome<'a> {
    pub(crate) poison: Work<'a>,
    pub(crate) fault: Wrong<'a>,
}

pub(crate) type Wrong<'a> = Box<dyn Fn(&Comparer, Library, Check) -> Option<String> + 'a>;

impl<'a> Outcome<'a> {
    /// The first elements of an arena's outputs.
    pub(crate) fn of_arena<T: Sample>(
        stream: &Arc<CudaStream>,
        arena: &'a RefCell<Arena<T>>,
        expected: &[T],
    ) -> Self {
        let expected = stream.clone_htod(expected).expect("memory on the device");
        Outcome {
            poison: Box::new(move || arena.borrow_mut().poison_next()),
            fault: Box::new(move |comparer, _, check| {
                let arena = arena.borrow();
                let got = arena.last_output().slice(..expected.len());
                differs(comparer.first_difference(check, &got, &expected.slice(..)))
            }),
        }
    }

    /// An arena's inputs, which ours changes in their place; CUB stores to its outputs.
    pub(crate) fn in_place<T: Sample>(
        stream: &Arc<CudaStream>,
        arena: &'a RefCell<Arena<T>>,
        expected: &[T],
    ) -> Self {
        let expected = stream.clone_htod(expected).expect("memory on the device");
        Outcome {
            poison: Box::new(move || arena.borrow_mut().poison_next()),
            fault: Box::new(move |comparer, library, check| {
                let arena = arena.borrow();
                let got = match library {
                    Library::Warpfold => arena.last_input(),
                    _ => arena.last_output(),
                };
                differs(comparer.first_difference(check, &got, &expected.slice(..)))
            }),
        }
    }

    /// The first elements of a buffer.
    pub(crate) fn of_buffer<T: Sample>(
        stream: &'a Arc<CudaStream>,
        buffer: &'a RefCell<CudaSlice<T>>,
        expected: &[T],
    ) -> Self {
        let expected = stream.clone_htod(expected).expect("memory on the device");
        Outcome {
            poison: Box::new(move || poison(stream, &mut buffer.borrow_mut().slice_mut(..))),
            fault: Box::new(move |comparer, _, check| {
                let buffer = buffer.borrow();
                let got = buffer.slice(..expected.len());
                differs(comparer.first_difference(check, &got, &expected.slice(..)))
            }),
        }
    }

    /// Bit for bit, whatever else need not be.
    pub(crate) fn exact(self) -> Self {
        let Outcome { poison, fault } = self;
        Outcome {
            poison,
            fault: Box::new(move |comparer, library, _| fault(comparer, library, Check::Bits)),
        }
    }

    /// No other library stores it.
    pub(crate) fn ours_only(self) -> Self {
        let Outcome { poison, fault } = self;
        Outcome {
            poison,
            fault: Box::new(move |comparer, library, check| match library {
                Library::Warpfold => fault(comparer, library, check),
                _ => None,
            }),
        }
    }
}

fn differs(at: Option<u64>) -> Option<String> {
    at.map(|at| format!("differs at {at}"))
}

/// One name at one length, and what the problem must move, in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) name: Name<'a>,
    pub(crate) element_bytes: usize,
    pub(crate) length: usize,
    pub(crate) moved: usize,
}

impl Row<'_> {
    /// Times all whose outcomes are right; ours comes first.
    pub(crate) fn hold<'a>(
        self,
        bench: &mut Bench,
        contenders: impl IntoIterator<Item = Contender<'a>>,
        outcomes: Vec<Outcome<'a>>,
        calls: Calls<'a>,
    ) {
        let (poisons, faults): (Vec<_>, Vec<_>) = outcomes
            .into_iter()
            .map(|outcome| (outcome.poison, outcome.fault))
            .unzip();
        let mut poisons = poisons;
        let trial = Trial {
            name: self.name,
            element_bytes: self.element_bytes,
            length: self.length,
            offset: 0,
            moved: Some(self.moved),
            contenders: contenders.into_iter().collect(),
            poison: Box::new(move || poisons.iter_mut().for_each(|poison| poison())),
            fault: Box::new(move |comparer, contender| {
                let (library, check) = (contender.library, contender.check);
                faults
                    .iter()
                    .find_map(|fault| fault(comparer, library, check))
            }),
        };
        trial.hold_as(bench, calls);
    }
}

impl<'a> Trial<'a> {
    /// Times all whose results are right, and records their times if ours are.
    pub(crate) fn hold(self, bench: &mut Bench) {
        self.hold_as(bench, Calls::default());
    }

    pub(crate) fn hold_as(mut self, bench: &mut Bench, mut calls: Calls<'_>) {
        let mut contenders = std::mem::take(&mut self.contenders);
        contenders.retain_mut(|contender| {
            (calls.restore)();
            self.is_right(bench, contender, "at first")
        });
        if contenders.first().map(|contender| contender.library) != Some(Library::Warpfold) {
            return;
        }
        let mut cell = Cell {
            primitive: self.name.primitive.to_owned(),
            element: self.name.element.to_owned(),
            operator: self.name.operator.to_owned(),
            element_bytes: self.element_bytes,
            length: self.length,
            offset: self.offset,
            moved: self.moved,
            stream: Times::new(),
            graph: Times::new(),
            host: Times::new(),
        };
        let restore = &mut *calls.restore;
        let bytes = cell.bytes();
        cell.stream = bench.clock.stream(&mut contenders, bytes, restore);
        if calls.captured && self.length * self.element_bytes <= LONGEST_IN_A_GRAPH_BYTES {
            cell.graph = bench.clock.graph(&mut contenders, restore);
        }
        if self.length <= LONGEST_ON_THE_HOST {
            cell.host = bench.clock.host(&mut contenders);
        }
        // What calls leave behind in a workspace must not have spoilt the next one.
        restore();
        if self.is_right(bench, &mut contenders[0], "after all others") {
            bench.record(cell);
        }
    }

    /// Whether the next call's results are the oracle's, all of them.
    fn is_right(&mut self, bench: &mut Bench, contender: &mut Contender<'_>, when: &str) -> bool {
        if contender.check == Check::Nothing {
            return true;
        }
        (self.poison)();
        (contender.work)();
        let fault = (self.fault)(&bench.comparer, contender);
        if let Some(fault) = &fault {
            let (name, library) = (self.name.text(), contender.library);
            let Trial { length, offset, .. } = self;
            let wrong = format!("{name} {length}+{offset} {when}: {library:?} {fault}");
            println!("WRONG: {wrong}");
            bench.run.wrong.push(wrong);
        }
        fault.is_none()
    }
}
