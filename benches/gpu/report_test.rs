//! The report needs no GPU, only a run's file.

mod chart;
mod readme;
mod record;
mod report;
mod rows;
mod scaling;
mod table;

use record::{Cell, Combination, Library, Run, Sharded};
use std::path::Path;

/// A run of one reduction, with CUB's time if it is given.
fn run(ours: f64, cub: Option<f64>) -> Run {
    let cub = cub.map_or(String::new(), |cub| format!(r#", "cub": {cub}"#));
    let times = format!(r#"{{ "warpfold": {ours}{cub} }}"#);
    let json = format!(
        r#"{{
            "machine": {{
                "gpu": "A GPU", "multiprocessors": 132, "memory_gib": 140.0, "driver": "580.1", "clocks": null, "nvrtc": "13.0",
                "cub": null, "torch": null, "host_threads": 16, "date": "2026-11-21"
            }},
            "quick": false, "batches": 15, "copy": 500.0,
            "cells": [{{
                "primitive": "reduce", "element": "f32", "operator": "add", "element_bytes": 4, "length": 268435456, "offset": 0,
                "stream": {times}
            }}],
            "loading": [], "host_data": [], "missing": ["PyTorch: it is not there"], "wrong": []
        }}"#
    );
    serde_json::from_str(&json).unwrap()
}

/// Both documents.
fn documents(runs: &[Run]) -> String {
    report::markdown(runs, Path::new("benches/charts")) + &rows::markdown(runs)
}

fn markdown(ours: f64, cub: Option<f64>) -> String {
    documents(&[run(ours, cub)])
}

#[test]
fn a_ratio_below_one_is_red_and_never_rounded_up() {
    assert!(markdown(100.0, Some(50.0)).contains("| 🔴 0.50 |"));
    assert!(markdown(100.0, Some(99.9)).contains("| 🔴 0.99 |"));
    assert!(markdown(100.0, Some(100.0)).contains("| 1.00 |"));
    assert!(markdown(100.0, Some(125.9)).contains("| 1.25 |"));
    assert!(markdown(100.0, Some(126.0)).contains("| **1.26** |"));
}

#[test]
fn what_was_not_measured_is_blank_and_said() {
    let text = markdown(100.0, None);
    assert!(text.contains("| reduce f32 add | 2^28 | 100.0 | 250% |  |  |  |"));
    assert!(text.contains("Not measured: PyTorch: it is not there."));
    assert!(!text.contains("Compiling and loading"));
}

#[test]
fn every_row_that_is_slower_than_cub_is_named_with_its_worst_length() {
    let mut run = run(100.0, Some(99.5));
    assert!(documents(&[run.clone()]).contains("in 0 of 1 cells, of 0 rows."));
    let mut short = run.cells[0].clone();
    short.length = 1000;
    let cub = serde_json::from_str("80.0").unwrap();
    short.stream.insert(Library::Cub, cub);
    run.cells.push(short);
    let text = documents(&[run]);
    assert!(text.contains("in 1 of 2 cells, of 1 rows."));
    assert!(text.contains("| reduce f32 add | 🔴 0.80 | 1000 | 1 |"));
    assert!(text.contains("| reduce | 2 | 🔴 0.99 | 🔴 0.80 | f32 add at 1000 |"));
    assert!(text.contains("| reduce f32 add | 2^28 | 100.0 | 250% | 🔴 0.99 | 🔴 0.80 | 1000 |"));
}

#[test]
fn each_card_has_columns_of_its_own() {
    let mut other = run(200.0, Some(100.0));
    other.machine.gpu = "NVIDIA B".to_owned();
    let text = documents(&[run(100.0, Some(100.0)), other]);
    assert!(text.contains("| A GPU: µs |") && text.contains("| B: µs |"));
    assert!(text.contains(
        "| reduce f32 add | 2^28 | 100.0 | 250% | 1.00 | 1.00 | 2^28 | 200.0 | 125% | 🔴 0.50 | 🔴 0.50 | 2^28 |"
    ));
}

#[test]
fn a_file_has_six_digits_of_a_time() {
    let written = run(1234.56789, Some(0.000123456789)).to_json();
    assert!(written.contains(r#""warpfold":1234.57}"#), "{written}");
    assert!(written.contains(r#""cub":0.000123457,"#), "{written}");
    let read: Run = serde_json::from_str(&written).unwrap();
    assert_eq!(read.to_json(), written);
}

#[test]
fn text_outside_of_the_markers_stays() {
    let document = "before\n<!-- gpu:begin -->\nold\n<!-- gpu:end -->\nafter\n";
    let replaced = report::replace(document, "new\n").unwrap();
    assert_eq!(
        replaced,
        "before\n<!-- gpu:begin -->\n\nnew\n\n<!-- gpu:end -->\nafter\n"
    );
    assert_eq!(report::replace(&replaced, "new\n").unwrap(), replaced);
    assert!(report::replace("<!-- gpu:end --> <!-- gpu:begin -->", "new").is_err());
}

/// A cell of one of our times, in µs, at a length of 4-byte elements.
fn cell(primitive: &str, operator: &str, length: usize, us: f64) -> Cell {
    let mut cell = run(us, None).cells.remove(0);
    cell.primitive = primitive.to_owned();
    cell.operator = operator.to_owned();
    cell.length = length;
    cell
}

#[test]
fn the_roofline_is_the_slower_of_memory_and_arithmetic() {
    let mut run = run(300.0, Some(250.0));
    // In 500 µs the copy moves 2 GiB: 4295 GB/s. CUB's reduction reads at as much.
    run.cells = vec![
        run.cells[0].clone(),
        cell("scan", "add", 1 << 20, 10.0),
        cell("scan", "add", 1 << 28, 1000.0),
        cell("reduce", "softmax", 1 << 28, 999.0),
        cell("scan", "softmax", 1 << 28, 1000.0),
        cell("scan", "unknown", 1 << 28, 1000.0),
        cell("select", "add", 1 << 28, 1000.0),
    ];
    run.combinations = [("add", 0.1), ("softmax", 1.5)]
        .map(|(operator, ps)| Combination {
            element: "f32".to_owned(),
            operator: operator.to_owned(),
            ps: serde_json::from_str(&ps.to_string()).unwrap(),
        })
        .to_vec();
    let text = documents(&[run]);
    assert!(text.contains(
        "0 of 4 rows reach 85% of their limit at their longest; the lowest: `reduce f32 softmax` 40%, \
         `scan f32 add` 50%, `scan f32 softmax` 80%, `reduce f32 add` 83%."
    ));
}

#[test]
fn segments_and_sorts_have_a_table_of_their_own_if_they_were_measured() {
    let mut run = run(100.0, Some(50.0));
    let title = "segments, axes, keys and sorts";
    assert!(!documents(&[run.clone()]).contains(title));
    let mut sums = cell("segments", "vectors of 64", 1 << 26, 100.0);
    sums.moved = Some(1 << 28);
    let other = |us: f64| serde_json::from_str(&us.to_string()).unwrap();
    sums.stream.insert(Library::Cub, other(90.0));
    sums.stream.insert(Library::Torch, other(200.0));
    sums.stream.insert(Library::TorchAdd, other(300.0));
    run.cells.push(sums);
    run.cells.push(cell("sort", "places", 1000, 8.0));
    let text = documents(&[run]);
    let (before, table) = text.split_once(title).unwrap();
    let (_, before) = before.split_once("# Every row of the benchmark").unwrap();
    assert!(!before.contains("| segments") && !before.contains("| sort"));
    assert!(table.contains(
        "| segments f32 vectors of 64 | 2^26 | 100.0 | 2684 | 62% | 90.0 | 🔴 0.90 | \
         200.0; `index_add_` 300.0 | **2.00** |"
    ));
    assert!(table.contains("| sort f32 places | 1000 | 8.00 | 1 | 0% |  |  |  |  |"));
    assert!(!table.contains("reduce f32 add"));
    assert!(text.contains("| segments f32 vectors of 64 | 🔴 0.90 | 2^26 | 1 |"));
}

/// The documents hold what the files of results say, and nothing else.
#[test]
fn documents_are_made_of_the_results() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let runs: Vec<Run> = ["benches/results/h200.json", "benches/results/h100.json"]
        .map(|name| serde_json::from_str(&read(name)).unwrap())
        .into();
    for (name, part) in [
        (
            "BENCHMARKS.md",
            report::markdown(&runs, Path::new("benches/charts")),
        ),
        ("README.md", readme::markdown(&runs[0])),
    ] {
        let document = read(name);
        let made = report::replace(&document, &part).unwrap();
        assert!(
            made == document,
            "{name}: benches/README.md says how to make it"
        );
    }
    assert!(read("benches/results/rows.md") == rows::markdown(&runs));
}

#[test]
fn where_cub_is_ahead_is_said() {
    let mut run = run(100.0, Some(99.5));
    assert!(!readme::markdown(&run).contains("ahead"));
    let mut slow = cell("sort", "ascending", 1000, 10.0);
    slow.stream
        .insert(Library::Cub, serde_json::from_str("6.0").unwrap());
    run.cells.push(slow);
    let text = readme::markdown(&run);
    assert!(text.contains("| sort | 1 of 1 | 🔴 0.60 | f32 ascending, 1000 |"));
    assert!(text.contains("| reduce `u8` to `u64`, `f32`, `f64` | 2^28 | 250% | 🔴 0.99 |"));
}

#[test]
fn a_run_without_the_cost_of_operators_has_no_limits() {
    assert!(!markdown(100.0, None).contains("of their limit"));
}

#[test]
fn charts_have_a_line_for_each_library_that_was_measured() {
    let run = run(100.0, Some(50.0));
    let [scan, reduce] = chart::CHARTS else {
        panic!("two charts")
    };
    let svg = reduce.svg(&run).unwrap();
    assert!(svg.contains("warpfold") && svg.contains("CUB") && !svg.contains("PyTorch"));
    assert!(scan.svg(&run).is_ok(), "also without a single cell");
}

#[test]
fn several_gpus_stand_beside_what_the_paper_expects() {
    let mut run = run(100.0, None);
    let mut row = |call: &str, exchange: &str, cut: &str, gpus: usize, length: usize, us: f64| {
        let spread = serde_json::from_str(&us.to_string()).unwrap();
        run.shards.push(Sharded {
            call: call.to_owned(),
            exchange: exchange.to_owned(),
            cut: cut.to_owned(),
            gpus,
            length,
            us: spread,
            beside_one: (gpus > 1 && call == "scan").then_some(1.25),
        });
    };
    for (call, share, whole) in [("reduce", 20.0, 40.0), ("scan", 50.0, 100.0)] {
        row(call, "one GPU", "", 1, 1 << 20, share);
        row(call, "one GPU", "", 1, 1 << 21, whole);
    }
    row("exchange of bytes", "threads", "", 2, 8192, 5.0);
    row("scan", "threads", "even", 2, 1 << 21, 80.0);
    row("scan", "no exchange", "even", 2, 1 << 21, 51.0);
    let text = documents(&[run]);
    // A scan reduces its share first: 20 + 5 + 50.
    assert!(
        text.contains("| scan | 2^21 | even | 100.0 | 80.0 1.25 × (75.0) |"),
        "{text}"
    );
    assert!(text.contains("| scan | 2^21 | even | 2 | 51.0 1.25 × (50.0) | 80.0 1.25 × (75.0) |"));
}
