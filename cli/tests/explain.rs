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

#[test]
fn wrong_questions_are_errors() {
    for (line, cause) in [
        ("select --op add --dtype u32 -n 1", "a select folds nothing"),
        ("reduce --dtype u32 -n 2e12", "2000000000000"),
        (
            "reduce --dtype u32 -n 1.5",
            "give a whole number, such as 1000 or 1e6",
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
