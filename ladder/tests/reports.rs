//! What a run finds.

use crate::support::{has_emulator, sums};
use warpfold::ladder::steps;
use warpfold::ops::Add;
use warpfold_ladder::{Error, Options, Outcome, run};

#[test]
fn every_step_is_right_and_the_racing_one_is_found_out() {
    let report = sums();
    assert_eq!(report.faults(), [""; 0]);
    let names: Vec<_> = report.steps.iter().map(|row| row.name).collect();
    assert_eq!(names, steps().map(|step| step.name).collect::<Vec<_>>());
    if !has_emulator() {
        return;
    }
    for row in &report.steps {
        match &row.outcome {
            Outcome::FoundOut(why) => {
                assert_eq!(row.name, "dot-racing");
                assert!(why.starts_with("a race: thread "), "{why}");
                assert!(why.contains("dot_racing.cuh:"), "{why}");
            }
            // Only a GPU runs it.
            Outcome::NotRun => assert_eq!(row.name, "sort-digits"),
            outcome => assert_eq!(outcome, &Outcome::Right, "{}", row.name),
        }
    }
}

#[test]
fn formulas_of_the_texts_hold() {
    if !has_emulator() {
        return;
    }
    let mut seen = 0;
    for row in &sums().steps {
        for prediction in &row.predictions {
            assert!(prediction.holds(), "{}: {prediction:?}", row.name);
            seen += 1;
        }
    }
    let formulas = steps().map(|step| step.formulas.len()).sum::<usize>();
    assert_eq!(seen, formulas);
}

/// The texts' own examples.
#[test]
fn formulas_give_what_the_texts_give() {
    let requests = |name: &str, n| {
        let step = warpfold::ladder::step(name).expect("there is such a step");
        let formula = step.formulas.last().expect("it has a formula");
        (formula.value)(n)
    };
    for (name, of_256, of_2048) in [
        ("tree-divergent", 141, 1149),
        ("tree-convergent", 36, 204),
        ("tree-shared", 9, 65),
    ] {
        assert_eq!(
            (requests(name, 256), requests(name, 2048)),
            (of_256, of_2048)
        );
    }
}

/// What each change is said to be good for shows in the counters.
#[test]
fn steps_help_as_they_say() {
    if !has_emulator() {
        return;
    }
    let count = |name: &str| {
        let row = sums().steps.iter().find(|row| row.name == name);
        row.and_then(|row| row.count).expect("it was counted")
    };
    let fewer = |less: u64, more: u64, what: &str| assert!(less < more, "{what}: {less} < {more}");
    let (first, second) = (count("tree-divergent"), count("tree-convergent"));
    fewer(second.requests, first.requests, "requests");
    assert!(second.lanes > first.lanes, "lanes");
    fewer(count("tree-shared").requests, second.requests, "requests");
    let atomics = |name| count(name).atomics;
    fewer(atomics("interleaved"), atomics("shared-atomic"), "atomics");
    fewer(atomics("add-first"), atomics("reversed"), "atomics");
    fewer(atomics("coarsened"), atomics("add-first") + 1, "atomics");
    let (plain, padded) = (count("scan-blelloch"), count("scan-padded"));
    fewer(10 * padded.conflicts, plain.conflicts, "conflicts");
    fewer(plain.passes, count("scan-log-steps").passes * 4, "passes");
    assert_eq!(count("scan-levels").conflicts, 0);
}

#[test]
fn a_step_that_there_is_not_is_an_error() {
    let options = Options {
        only: vec!["tree-shred".to_owned()],
        ..Options::default()
    };
    let error = run::<f32, Add>("add", &options).unwrap_err();
    assert!(matches!(error, Error::NoStep(_)));
    let message = error.to_string();
    assert!(
        message.contains("`tree-shred`") && message.contains("tree-shared"),
        "{message}"
    );
}

#[test]
fn json_says_all_that_was_found() {
    let json: serde_json::Value = serde_json::from_str(&sums().json()).unwrap();
    let steps = json["steps"].as_array().unwrap();
    assert_eq!(steps.len(), sums().steps.len());
    assert_eq!(steps[0]["name"], "loop");
    assert_eq!(steps[0]["outcome"]["is"], "right");
    assert!(steps[0]["time"]["microseconds"].as_f64().unwrap() > 0.0);
    assert_eq!(json["gpu"], serde_json::Value::Null);
}

#[test]
fn the_table_has_a_line_for_each_step() {
    let table = sums().table();
    for row in &sums().steps {
        let lines = table.lines();
        let mut mine = lines.filter(|line| line.split(' ').next() == Some(row.name));
        assert!(mine.next().is_some(), "{}:\n{table}", row.name);
    }
    let widest = table
        .lines()
        .map(|line| line.chars().count())
        .max()
        .unwrap();
    assert!(widest <= 110, "{widest} columns:\n{table}");
}
