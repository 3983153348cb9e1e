//! What was counted, as the report has it.

use crate::report::{Count, Prediction};
use std::collections::HashSet;
use warpfold::ladder::{self, Kernel, Quantity, Step};
use warpfold_emulator::Tally;

/// What a step asks of the machine for so many numbers.
pub(crate) fn count(tallies: &[Tally], elements: usize) -> Count {
    let all = Tally::sum(tallies, |tally| !tally.operation.ends_with("barrier"));
    Count {
        elements,
        lanes: all.lanes as f64 / (32 * all.issued.max(1)) as f64,
        requests: all.lines,
        atomics: atomics(tallies),
        passes: all.passes,
        conflicts: all.conflicts,
    }
}

fn atomics(tallies: &[Tally]) -> u64 {
    Tally::sum(tallies, |tally| tally.operation == "atomic").lanes
}

/// What the texts predict of a step, beside what was counted. Their formulas are for numbers of 4
/// bytes, and lengths that are powers of two from 256 on.
pub(crate) fn predictions(
    step: &Step,
    kernel: &Kernel,
    tallies: &[Tally],
    elements: usize,
    element_bytes: usize,
) -> Vec<Prediction> {
    if element_bytes != 4 || !elements.is_power_of_two() || elements < 256 {
        return Vec::new();
    }
    let all = Tally::sum(tallies, |_| true);
    let predictions = step.formulas.iter().map(|formula| Prediction {
        quantity: formula.quantity.name(),
        formula: formula.text,
        predicted: (formula.value)(elements as u64),
        counted: match formula.quantity {
            Quantity::Requests => all.lines,
            Quantity::Atomics => atomics(tallies),
            Quantity::Combinations => {
                let places = marked_lines(kernel);
                let is_marked = |tally: &Tally| {
                    tally.operation.ends_with("_store") && places.contains(&tally.place)
                };
                Tally::sum(tallies, is_marked).lanes
            }
        },
        besides: formula.besides,
    });
    predictions.collect()
}

/// The files of the ladder that a kernel consists of: its own, and those that it includes.
pub(crate) fn files(kernel: &Kernel) -> Vec<(String, &'static str)> {
    let (mut files, mut next) = (Vec::<(String, &str)>::new(), 0);
    files.push((kernel.file.to_owned(), kernel.text()));
    while next < files.len() {
        for line in files[next].1.lines() {
            let included = line.strip_prefix("#include \"ladder/");
            let Some(name) = included.and_then(|rest| rest.strip_suffix('"')) else {
                continue;
            };
            if files.iter().all(|(known, _)| known != name) {
                let text = ladder::file(name).expect("kernels include files of the ladder");
                files.push((name.to_owned(), text));
            }
        }
        next += 1;
    }
    files
}

/// The lines that combine two values in memory, as the counters name them.
fn marked_lines(kernel: &Kernel) -> HashSet<String> {
    let mut places = HashSet::new();
    for (file, text) in files(kernel) {
        let lines = text.lines().zip(1..);
        let marked = lines.filter(|(line, _)| line.ends_with("// ⊕"));
        places.extend(marked.map(|(_, number)| format!("{file}:{number}")));
    }
    places
}
