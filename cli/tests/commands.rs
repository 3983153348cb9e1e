//! What the commands compute and print.

use crate::support::{command, fail_in, npy_of, pass};
use std::path::Path;

#[test]
fn the_example_of_the_help_is_true() {
    let ten: Vec<_> = (1..=10).map(|i| i.to_string()).collect();
    assert_eq!(pass("scan", &ten.join("\n")), "1 3 6 10 15 21 28 36 45 55");
}

#[test]
fn all_operators_fold() {
    for (op, fold, scan) in [
        ("add", "18", "0 6 9"),
        ("mul", "162", "1 6 18"),
        ("min", "3", "7 6 3"),
        ("max", "9", "-7 6 6"),
        ("bitand", "0", "-1 6 2"),
        ("bitor", "15", "0 6 7"),
        ("bitxor", "12", "0 6 5"),
    ] {
        assert_eq!(pass(&format!("reduce --op {op}"), "6 3 9"), fold, "{op}");
        let init = match op {
            "min" => "--init 7",
            "max" => "--init -7",
            _ => "",
        };
        let line = format!("scan --exclusive --op {op} {init}");
        assert_eq!(pass(&line, "6 3 9"), scan, "{op}");
    }
}

#[test]
fn init_is_where_a_fold_begins() {
    assert_eq!(pass("reduce --init -5", "1 2"), "-2");
    assert_eq!(pass("reduce --init=0.5 --dtype f64", "1 2"), "3.5");
    assert_eq!(pass("scan -x --init 100", "1 2"), "100 101");
    assert_eq!(pass("scan --init 100", "1 2"), "101 103");
    assert_eq!(pass("scan -i --init 100", "1 2"), "101 103");
    // The last word counts.
    assert_eq!(pass("scan -x -i", "1 2"), "1 3");
    assert_eq!(pass("scan -i -x", "1 2"), "0 1");
}

#[test]
fn the_fold_of_nothing_is_the_identity() {
    assert_eq!(pass("reduce", ""), "0");
    assert_eq!(pass("reduce --op mul --dtype f32", " \n"), "1.0");
    assert_eq!(pass("reduce --init 7", ""), "7");
    assert_eq!(pass("scan", ""), "");
}

#[test]
fn extrema_with_a_nan_are_nan() {
    for op in ["min", "max"] {
        for input in ["nan 1", "1 nan", "-inf nan inf"] {
            let line = format!("reduce --dtype f32 --op {op}");
            assert_eq!(pass(&line, input).to_lowercase(), "nan", "{op} of {input}");
        }
    }
}

/// NumPy raises, too. Sums, products and bits of nothing have a value.
#[test]
fn extremes_of_nothing_are_an_error() {
    let here = Path::new(".");
    for dtype in ["i8", "u16", "i64", "u64", "f16", "bf16", "f32", "f64"] {
        for (op, word) in [("min", "least"), ("max", "greatest")] {
            let line = format!("reduce --op {op} --dtype {dtype}");
            for input in ["", " \n", "# none\n"] {
                let error = fail_in(here, &line, input.as_bytes());
                assert!(
                    error.starts_with("standard input: there are no numbers")
                        && error.contains(word),
                    "{line}: {error}"
                );
            }
            let raw = fail_in(here, &format!("{line} --format raw"), b"");
            assert!(raw.contains("--init"), "{raw}");
            let given = pass(&format!("{line} --init 7"), "");
            assert_eq!(given.trim_end_matches(".0"), "7");
            // The first result of an exclusive scan is that of nothing.
            let error = fail_in(here, &format!("scan -x --op {op} --dtype {dtype}"), b"1 2");
            assert!(
                error.contains("--exclusive") && error.contains("--init"),
                "{error}"
            );
            assert_eq!(pass(&format!("scan --op {op} --dtype {dtype}"), ""), "");
        }
    }
    for descr in ["<i4", "<f8", "|b1"] {
        let empty = npy_of(descr, "(3, 0)", &[]);
        let error = fail_in(here, "reduce --op max", &empty);
        assert!(error.contains("there are no numbers"), "{error}");
    }
    assert_eq!(pass("reduce --op bitand", ""), "-1");
}

/// What other programs call a command leads to the one that is there.
#[test]
fn commands_of_other_names_are_found() {
    for (name, meant) in [
        ("mean", "warpfold stats"),
        ("std", "warpfold stats"),
        ("sum", "warpfold reduce"),
        ("max", "warpfold reduce --op max"),
        ("cumsum", "warpfold scan"),
        ("hist", "warpfold histogram"),
        ("filter", "warpfold select"),
    ] {
        let output = command().args([name, "x.npy"]).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.ends_with(&format!("remedy: {meant}\n")), "{errors}");
    }
}

#[test]
fn devices_are_listed_with_the_reason_for_what_is_missing() {
    let output = command().arg("devices").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(text.starts_with("cpu "), "{text}");
    assert!(text.contains("\ncuda"), "{text}");
    // The compiler of kernels: its release and its file, or what to install.
    if cfg!(feature = "cuda") {
        let (_, line) = text.split_once("\nnvrtc    ").expect("a line");
        assert!(
            line.starts_with("none: NVRTC") || line.contains("libnvrtc"),
            "{text}"
        );
    }
}

#[test]
fn a_missing_device_is_an_error_that_names_those_there_are() {
    for (line, variable) in [("reduce --device cuda:9", None), ("reduce", Some("cuda:9"))] {
        let mut command = command();
        command.args(line.split(' '));
        variable.map(|value| command.env("WARPFOLD_DEVICE", value));
        let output = command.output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.starts_with("warpfold: error: "), "{errors}");
        assert!(!errors.contains("panicked"), "{errors}");
        // Remedies are for those who type commands.
        assert!(!errors.contains("Device::"), "{errors}");
        if variable.is_none() {
            assert!(
                errors.contains("cuda:9") && errors.contains("available: cpu"),
                "{errors}"
            );
        }
    }
    assert_eq!(pass("reduce --device cpu", "1 2"), "3");
}

#[test]
fn the_source_holds_the_operator() {
    let scan = pass("source scan --op max --dtype f32", "");
    assert!(scan.contains("ops::Max") && scan.contains("maximum(a, b)"));
    let wave = pass("source scan-wave --op max --dtype u8", "");
    assert!(
        wave.contains("maximum(a, b)") && wave.contains("scan_wave("),
        "{wave}"
    );
    let reduce = pass("source reduce --dtype bf16", "");
    assert!(reduce.contains("ops::Add") && reduce.contains("bf16"));
    let error = fail_in(Path::new("."), "source scan --op bitor --dtype f64", b"");
    assert!(error.contains("not defined on f64"), "{error}");
}

#[test]
fn every_primitive_has_a_source() {
    for (primitive, function) in [
        ("reduce-levels", "reduce_finish("),
        ("reduce-block", "reduce_block("),
        ("scan-levels", "scan_tiles("),
        ("scan-block", "scan_block("),
        ("scan-wave-anywhere", "scan_wave("),
        ("scan-shares", "scan_shares("),
        ("select", "select_rows("),
        ("select-wave", "select_wave("),
        ("partition", "select_rows("),
        ("positions", "select_rows("),
        ("unique", "select_rows("),
        ("runs", "select_rows("),
        ("collect", "collect_rows("),
        ("histogram-even", "histogram_shared("),
        ("histogram-edges", "histogram_global("),
        ("histogram-values", "histogram_shared("),
    ] {
        for dtype in ["u8", "i64"] {
            if (primitive, dtype) == ("select-wave", "i64") {
                continue;
            }
            let text = pass(&format!("source {primitive} --dtype {dtype}"), "");
            assert!(text.contains(function), "{primitive} of {dtype}");
        }
    }
    let fail = |arguments: &str| fail_in(Path::new("."), arguments, b"");
    let error = fail("source select --op max --dtype u8");
    assert!(error.contains("there is no operator"), "{error}");
    let error = fail("source select-wave --dtype i64");
    assert!(error.contains("ask for `select`"), "{error}");
    let error = fail("source histogram-values --dtype f16");
    assert!(error.contains("not defined on f16"), "{error}");
}

#[test]
#[cfg(not(all(feature = "ladder", feature = "tune")))]
fn a_command_that_a_build_leaves_out_says_how_to_get_it() {
    for (command, is_there) in [
        ("ladder", cfg!(feature = "ladder")),
        ("tune", cfg!(feature = "tune")),
    ] {
        if !is_there {
            let error = fail_in(Path::new("."), command, b"");
            assert!(error.contains(&format!("--features {command}")), "{error}");
        }
    }
}

#[test]
#[cfg(feature = "tune")]
fn tuning_needs_a_gpu() {
    let error = fail_in(Path::new("."), "tune --device cuda:99 --quick", b"");
    assert!(error.starts_with("--device cuda:99: "), "{error}");
    assert!(
        error.contains("available: ") || error.contains("remedy: "),
        "{error}"
    );
}

#[test]
fn mistakes_on_the_command_line_are_told_apart() {
    for line in [
        "",
        "fold",
        "reduce --op pow",
        "reduce --device gpu",
        "reduce --inclusive",
        "tune --device cpu",
        "tune --elements 0",
    ] {
        let output = command().args(line.split_whitespace()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}");
    }
    for line in ["--help", "--version", "scan --help", "reduce -h"] {
        let output = command().args(line.split_whitespace()).output().unwrap();
        assert!(
            output.status.success() && !output.stdout.is_empty(),
            "{line}"
        );
    }
}

/// The loader's list of libraries: what the command cannot start without.
#[test]
#[cfg(target_os = "linux")]
fn the_command_starts_where_there_is_no_cuda() {
    let list = std::process::Command::new("ldd")
        .arg(env!("CARGO_BIN_EXE_warpfold"))
        .output()
        .expect("ldd lists the libraries of a program");
    let list = String::from_utf8_lossy(&list.stdout);
    assert!(list.contains("libc."), "{list}");
    for library in ["cuda", "nvrtc", "nvidia"] {
        assert!(!list.contains(library), "{list}");
    }
}
