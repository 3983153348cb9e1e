//! One call at one length: ours, CUB's and a copy, taking turns.

use crate::bench::Bench;
use crate::compare::{Check, Comparer};
use crate::measure::{Contender, Work};
use crate::record::{Cell, Library, Times};

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

impl Trial<'_> {
    /// Times all whose results are right, and records their times if ours are.
    pub(crate) fn hold(mut self, bench: &mut Bench) {
        let mut contenders = std::mem::take(&mut self.contenders);
        contenders.retain_mut(|contender| self.is_right(bench, contender, "at first"));
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
        cell.stream = bench.clock.stream(&mut contenders, cell.bytes());
        if self.length * self.element_bytes <= LONGEST_IN_A_GRAPH_BYTES {
            cell.graph = bench.clock.graph(&mut contenders);
        }
        if self.length <= LONGEST_ON_THE_HOST {
            cell.host = bench.clock.host(&mut contenders);
        }
        // What calls leave behind in a workspace must not have spoilt the next one.
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
