//! The report needs no GPU, only a run's file.

mod chart;
mod record;
mod report;

use record::{Cell, Combination, Library, Run};
use std::path::Path;

fn spread(median: f64) -> String {
    format!(
        r#"{{ "median": {median}, "min": {median}, "lower_quartile": {median}, "upper_quartile": {median}, "max": {median} }}"#
    )
}

/// A run of one reduction, with CUB's time if it is given.
fn run(ours: f64, cub: Option<f64>) -> Run {
    let cub = cub.map_or(String::new(), |cub| format!(r#", "cub": {}"#, spread(cub)));
    let times = format!(r#"{{ "warpfold": {}{cub} }}"#, spread(ours));
    let json = format!(
        r#"{{
            "machine": {{
                "gpu": "A GPU", "multiprocessors": 132, "memory_gib": 140.0, "driver": "580.1", "clocks": null, "nvrtc": "13.0",
                "cub": null, "torch": null, "host_threads": 16, "date": "2026-11-21"
            }},
            "quick": false, "batches": 15, "copy": {},
            "cells": [{{
                "primitive": "reduce", "element": "f32", "operator": "add", "element_bytes": 4, "length": 268435456, "offset": 0,
                "stream": {times}, "graph": {{}}, "host": {{}}
            }}],
            "loading": [], "host_data": [], "missing": ["PyTorch: it is not there"], "wrong": []
        }}"#,
        spread(500.0)
    );
    serde_json::from_str(&json).unwrap()
}

fn markdown(ours: f64, cub: Option<f64>) -> String {
    report::markdown(&run(ours, cub), Path::new("benches/charts"))
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
fn cub_by_operators_that_round_as_ours_do_has_a_table_of_its_own() {
    let mut run = run(100.0, Some(50.0));
    let heading = "CUB by operators that round as ours do";
    let text = |run: &Run| report::markdown(run, Path::new("benches/charts"));
    assert!(!text(&run).contains(heading));
    let rounded = serde_json::from_str(&spread(130.0)).unwrap();
    let times = &mut run.cells[0].stream;
    times.insert(Library::CubRounded, rounded);
    let text = text(&run);
    let (before, after) = text.split_once(heading).unwrap();
    assert!(before.contains("🔴 0.50"));
    assert!(after.contains("| reduce f32 add | **1.30** |"));
}

#[test]
fn what_was_not_measured_is_blank_and_said() {
    let text = markdown(100.0, None);
    assert!(
        text.contains("| reduce f32 add | 2^28 | 100.0 | 100.0–100.0 | 10737 | 250% |  |  |  |")
    );
    assert!(text.contains("Not measured:\n\n- PyTorch: it is not there\n"));
    assert!(!text.contains("Compiling and loading"));
}

#[test]
fn a_file_has_six_digits_of_a_time() {
    let written = serde_json::to_string(&run(1234.56789, Some(0.000123456789))).unwrap();
    assert!(written.contains(r#""median":1234.57,"#));
    assert!(written.contains(r#""median":0.000123457,"#));
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
        cell("reduce", "dear", 1 << 28, 999.0),
        cell("scan", "dear", 1 << 28, 1000.0),
        cell("scan", "unknown", 1 << 28, 1000.0),
        cell("select", "add", 1 << 28, 1000.0),
    ];
    run.combinations = [("add", 0.1), ("dear", 1.5)]
        .map(|(operator, ps)| Combination {
            element: "f32".to_owned(),
            operator: operator.to_owned(),
            ps: serde_json::from_str(&spread(ps)).unwrap(),
        })
        .to_vec();
    let text = report::markdown(&run, Path::new("benches/charts"));
    let (_, table) = text.split_once("### The roofline\n").unwrap();
    let (table, _) = table.split_once("No call takes").unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.contains("f32")).collect();
    assert_eq!(
        rows,
        [
            "| reduce f32 add | 2^28 | 0.100 | bytes | 250.0 | 300.0 | 83% |",
            "| scan f32 add | 2^28 | 0.100 | bytes | 500.0 | 1000.0 | 50% |",
            "| reduce f32 dear | 2^28 | 1.500 | combinations | 402.7 | 999.0 | 40% |",
            "| scan f32 dear | 2^28 | 1.500 | combinations | 805.3 | 1000.0 | 80% |",
        ]
    );
}

#[test]
fn a_run_from_before_there_were_rooflines_has_none() {
    assert!(!markdown(100.0, None).contains("The roofline"));
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
