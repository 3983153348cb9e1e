//! The report needs no GPU, only a run's file.

mod chart;
mod record;
mod report;

use record::Run;
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
fn what_was_not_measured_is_blank_and_said() {
    let text = markdown(100.0, None);
    assert!(
        text.contains("| reduce f32 add | 2^28 | 100.0 | 100.0–100.0 | 10737 | 250% |  |  |  |")
    );
    assert!(text.contains("Not measured:\n\n- PyTorch: it is not there\n"));
    assert!(!text.contains("Compiling and loading"));
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
