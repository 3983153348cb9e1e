//! What `warpfold explain` says.

use crate::support::{command, pass};

fn explain(line: &str) -> String {
    pass(&format!("explain {line}"), "")
}

#[test]
fn a_scan_of_a_million_stays_in_registers() {
    let text = explain("scan --op add --dtype f32 -n 1e6");
    for part in [
        "on a GPU of compute capability 9.0 with 132 multiprocessors",
        "scan of 1000000 items",
        "engine: rows, since the GPU holds all items at once",
        "launch: scan_rows, ",
        "workspace: ",
        "depends on: compute capability 9.0, bytes of an item 4, cost ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_engine_depends_on_length_gpu_and_primitive() {
    for (line, engine) in [
        ("scan --dtype f32 -n 1000", "block"),
        ("scan --dtype f32 -n 268435456", "wave"),
        (
            "scan --dtype f32 -n 268435456 --capability 8.0 --multiprocessors 108",
            "rows",
        ),
        ("reduce --dtype f64 -n 1000", "block"),
        ("reduce --dtype f64 -n 1e9", "rows"),
        ("select --dtype u32 -n 1000", "rows"),
        (
            "select --dtype u32 -n 1e9 --capability 12.0 --multiprocessors 170",
            "rows",
        ),
    ] {
        let text = explain(line);
        assert!(
            text.contains(&format!("engine: {engine}, since ")),
            "{line}: {text}"
        );
    }
}

/// All that `explain` explains, as its help lists them, with what each needs beside its items.
#[test]
fn everything_is_explained() {
    let needs = [
        ("reduce", ""),
        ("scan", ""),
        ("select", ""),
        ("sort", ""),
        ("argsort", ""),
        ("sort-segments", ""),
        ("top", "-k 10"),
        ("merge", ""),
        ("segments", "--segments 10"),
        ("vectors", "--columns 10"),
        ("axis", ""),
        ("histogram", "--bins 20"),
        ("search", ""),
        ("collect", ""),
        ("decode", "--segments 10"),
        ("scatter", ""),
    ];
    let output = command().args(["explain", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let values = help.split_once("The primitive").unwrap().1;
    let values = values.split_once("\n\nOptions:").unwrap().0;
    let is_value = |line: &&str| line.trim_start().starts_with("- ");
    let listed: Vec<_> = (values.lines().filter(is_value))
        .map(|line| line.trim_start()[2..].split(':').next().unwrap())
        .collect();
    assert_eq!(listed, needs.map(|(name, _)| name), "{help}");
    for (name, options) in needs {
        for dtype in ["f32", "u64"] {
            for items in [0, 1000, 1_000_000] {
                let size = match name {
                    "axis" => format!("--shape {},100 --axis 0", items / 100),
                    "vectors" => format!("--segments {items}"),
                    _ => format!("-n {items}"),
                };
                let dtype = match name {
                    "vectors" | "decode" | "scatter" => String::new(),
                    _ => format!(" --dtype {dtype}"),
                };
                let text = explain(&format!("{name}{dtype} {size} {options}"));
                assert!(text.contains("engine: "), "{text}");
                assert!(text.contains("workspace: "), "{text}");
                assert!(text.contains("depends on: "), "{text}");
                assert!(items == 0 || !text.contains("launch: none"), "{text}");
            }
        }
    }
}

#[test]
fn scans_of_segments_and_axes_are_explained() {
    let text = explain("segments --scan --dtype f32 -n 1e6 --segments 10");
    assert!(text.contains("launch: segmented_scan, "), "{text}");
    let text = explain("axis --scan --dtype f32 --shape 100000,3 --axis -2");
    assert!(text.contains("launch: axis_scan, "), "{text}");
}

#[test]
fn rows_of_a_top_are_explained() {
    let text = explain("top --dtype f32 -n 1e6 --rows 1000 -k 10");
    for part in [
        "top of rows of 10 of each of 1000 rows of 1000 items",
        "engine: rows, ",
        "launch: top_rows, 1000 blocks ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("times: "), "{text}");
    let text = explain("top --dtype f32 -n 2e8 --rows 4 -k 10");
    for part in [
        "engine: filter, since rows are taken one by one, ",
        "launch: top_filter, ",
        "times: 4, once for each row",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    explain("top --dtype f32 -n 0 --rows 0 -k 10");
}

#[test]
fn weighted_histograms_are_explained() {
    let text = explain("histogram --dtype f32 -n 1e6 --bins 256 --weights u8");
    for part in [
        "weighted histogram of 1000000 items with weights in 256 counters",
        "engine: shared, since weights are integers, ",
        "launch: histogram_shared, ",
        "launch: collect_rows, ",
        "bytes of a weight 1",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = explain("histogram --dtype f16 -n 1e6 --bins 256 --weights f64");
    for part in [
        "engine: sort and fold, ",
        "launch: histogram_places, ",
        "launch: segmented_reduce, ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn wrong_questions_are_errors() {
    for (line, cause) in [
        (
            "select --op add --dtype u32 -n 1",
            "a select does not depend on it: it is for `reduce` and `scan`",
        ),
        (
            "segments --op add --dtype u32 -n 1 --segments 1",
            "a fold of segments does not depend on it",
        ),
        (
            "axis --op add --dtype u32 --shape 2,3 --axis 0",
            "a fold along an axis does not depend on it",
        ),
        ("sort --dtype u32 -n 1 -k 3", "it is for `top`"),
        ("sort --dtype u32 -n 1 --rows 3", "it is for `top`"),
        ("sort --dtype u32", "-n: it is missing"),
        (
            "sort -n 1",
            "--dtype: it is missing\n  remedy: give the type of the elements",
        ),
        ("top --dtype u32 -n 1", "-k: it is missing"),
        (
            "top --dtype u32 -n 10 --rows 3 -k 1",
            "do not make so many rows of one length\n  remedy: give a -n",
        ),
        ("top --dtype u32 -n 10 --rows 0 -k 1", "--rows 0: "),
        ("segments --dtype u32 -n 1", "--segments: it is missing"),
        ("vectors --columns 3", "--segments: it is missing"),
        ("vectors --segments 3", "--columns: it is missing"),
        (
            "vectors --segments 3 --columns 3 -n 9",
            "there is a thread for each column of a segment",
        ),
        (
            "decode --dtype u32 -n 1 --segments 1",
            "--dtype: a decoding does not depend on it",
        ),
        (
            "scatter --dtype u32 -n 1",
            "--dtype: a scatter does not depend on it",
        ),
        (
            "collect --dtype u32 -n 1 --weights f32",
            "it is for `histogram`",
        ),
        ("reduce --op xor --dtype f32 -n 1", "not defined on f32"),
        ("axis --dtype u32 -n 1", "--shape says how many"),
        ("axis --dtype u32 --shape 2,3 --axis 2", "has no such axis"),
        ("axis --dtype u32 --shape 2,3 --axis -3", "give 0 to 1"),
        ("histogram --dtype u32 -n 1", "--bins: it is missing"),
        ("reduce --dtype u32 -n 2e12", "2000000000000"),
        (
            "reduce --dtype u32 -n 1.5",
            "give a whole number up to 2^53, such as 1000 or 1e6",
        ),
        ("reduce --dtype u32 -n -3", "-3"),
        (
            "reduce --dtype u32 -n 1 --capability nine",
            "give it as 7.5 or 9.0",
        ),
        ("reduce --dtype u32 -n 1 --multiprocessors 0", "0 is not in"),
    ] {
        let mut command = command();
        let output = command
            .arg("explain")
            .args(line.split(' '))
            .output()
            .unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && errors.contains(cause),
            "{line}: {errors}"
        );
    }
}
