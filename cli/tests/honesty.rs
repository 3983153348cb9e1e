//! What a result rests on is said: missing values, comments, rounding, ranges.

use crate::support::{fail_in, folder, names, noted, pass, pass_in, run_in};
use std::path::Path;

const GAPS: &str = "a,b\n1,2\n,5\n3,NA\n4,1\n";

/// A missing value that is skipped takes part in nothing, and keeps its place.
#[test]
fn a_missing_value_keeps_its_place() {
    let run = |line: &str| noted(&format!("{line} --delimiter , --missing skip"), GAPS);
    assert_eq!(run("reduce").0, "16");
    assert_eq!(run("reduce --column 1-2").0, "a,b 8,8");
    // The last running sum of a column is its sum.
    assert_eq!(run("scan").0, "a,b 1,2 ,7 4, 8,8");
    assert_eq!(run("scan --column b").0, "2 7 NA 8");
    assert_eq!(run("scan --flatten").0, "1 3 NA 8 11 NA 15 16");
    assert_eq!(
        run("scan --json").0,
        "{\"columns\":[\"a\",\"b\"],\"dtypes\":[\"i64\",\"i64\"],\
         \"rows\":[[1,2],[null,7],[4,null],[8,8]]}"
    );
    let (rows, note) = run("select --gt 0");
    assert_eq!(rows, "a,b 1,2 4,1");
    assert_eq!(
        note,
        "warpfold: note: standard input: 2 missing values were skipped, and 2 rows with them\n"
    );
    assert_eq!(run("select --gt 0 --positions").0, "0 3");
    assert_eq!(run("select --gt 0 --positions --column b").0, "0 1 3");
    let statistics = run("stats --json").0;
    let places: Vec<_> = statistics
        .match_indices("\"argmax\":")
        .map(|(at, name)| statistics[at + name.len()..].split(',').next().unwrap())
        .collect();
    assert_eq!(places, ["3", "1"], "{statistics}");
    assert_eq!(
        noted("scan --missing skip", "x y\n1 NA\n2 3\n").0,
        "x y 1 NA 3 3"
    );
    let folder = folder(&[
        ("x.csv", GAPS.as_bytes()),
        ("y.csv", b"v\n7\n\"\"\n7\nNA\n8\n"),
    ]);
    let line = "unique -q --missing skip y.csv --starts starts.txt --counts counts.txt";
    assert_eq!(pass_in(folder.path(), line, b""), b"7\n8\n");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(
        (read("starts.txt"), read("counts.txt")),
        ("0\n4\n".into(), "2\n1\n".into())
    );
    let error = fail_in(folder.path(), "scan -q --missing skip x.csv -o x.npy", b"");
    assert!(
        error.contains("i64 has no NaN") && error.contains("--dtype f64"),
        "{error}"
    );
    pass_in(
        folder.path(),
        "scan -q --missing skip --dtype f64 x.csv -o x.npy",
        b"",
    );
    let written = pass_in(
        folder.path(),
        "scan --op max x.npy --output-format text",
        b"",
    );
    assert_eq!(
        String::from_utf8(written).unwrap().lines().next(),
        Some("1.0 2.0")
    );
}

/// Over many pieces as well.
#[test]
fn places_go_on_from_piece_to_piece() {
    let text = "1\nNA\n".repeat(300_000) + "9\n";
    let run = |line: &str| noted(&format!("{line} --missing skip"), &text).0;
    assert_eq!(run("select --gt 1 --positions"), "600000");
    assert!(run("stats --json").contains("\"argmax\":600000,"));
    assert!(run("scan").ends_with("NA 300009"));
}

#[test]
fn a_comment_that_may_be_data_is_told_of() {
    for (line, text, result) in [
        ("reduce --column v", "t v\n#1 3\n#2 4\n", "0"),
        ("reduce --column v", "t v\n0 1\n#1 3\n2 4\n", "5"),
        (
            "reduce --column v --delimiter tab",
            "t\tv\n#1\t3\n2\t4\n",
            "4",
        ),
        ("reduce", "1 2 3\n4 #5 6\n", "10"),
        ("reduce", "1 2 #3\n4 5 6\n", "18"),
        ("reduce", "5\n#6\n7\n", "12"),
        ("reduce", "5\n####\n7\n", "12"),
        // The comment ends in the middle of a field.
        (
            "reduce --delimiter , --column b",
            "a,b\n#\"x\ny\",1\n2,3\n",
            "4",
        ),
    ] {
        for quiet in ["", " -q"] {
            let (sum, warning) = noted(&format!("{line}{quiet}"), text);
            assert_eq!(sum, result, "{text:?}");
            assert!(
                warning.contains("looks like data, and is left out as a comment"),
                "{text:?}"
            );
        }
    }
    for text in [
        "# t v\nt v\n0 1\n# 1 3\n2 4\n",
        "t v\n0 1 # one\n2 4 #two\n",
        "##x\nt v\n0 5\n",
    ] {
        assert_eq!(pass("reduce --column v", text), "5");
    }
    assert_eq!(
        pass("reduce --column v --comment #", "t v\n#1 3\n2 4\n"),
        "4"
    );
}

#[test]
fn integers_that_are_rounded_are_told_of() {
    for (line, text) in [
        ("reduce", "9007199254740993 0.5\n"),
        (
            "reduce --column a --missing nan --delimiter ,",
            "a,b\n-9007199254740993,1\n,2\n",
        ),
        ("stats --delimiter ,", "a\n0.5\n9007199254740993\n"),
    ] {
        let (_, warning) = noted(&format!("{line} -q"), text);
        assert!(
            warning.contains("this integer is beyond 2^53"),
            "{line}: {warning}"
        );
    }
    assert_eq!(
        pass("reduce", "9007199254740992 0.5\n"),
        "9007199254740992.0"
    );
    // Also where the user chose the type: nobody sees which integers that rounds.
    for (dtype, text, bits, held) in [
        ("f64", "9007199254740993 0.5", 53, "; i64 holds it"),
        ("f64", "9007199254740993.0", 53, "; i64 holds it"),
        ("f64", "18446744073709551615", 53, "; u64 holds it"),
        ("f64", "99999999999999999999", 53, ""),
        ("f32", "16777217", 24, "; i64 holds it"),
        ("f16", "2049", 11, "; i64 holds it"),
        ("bf16", "257", 8, "; i64 holds it"),
    ] {
        let (_, warning) = noted(&format!("reduce -q --dtype {dtype}"), text);
        let said = format!("beyond 2^{bits}, and rounded to {dtype}, as --dtype says{held}\n");
        assert!(warning.ends_with(&said), "{dtype} {text}: {warning}");
    }
    for (dtype, text) in [
        ("f64", "9007199254740994 1e23 0.1000000000000000055"),
        ("f32", "16777218 0.123456789"),
        ("f16", "2050"),
    ] {
        pass(&format!("reduce --dtype {dtype}"), text);
    }
    let (_, warning) = noted("reduce -q --init 9007199254740993", "1.5 2");
    assert!(
        warning.contains("--init: 9007199254740993 is beyond 2^53"),
        "{warning}"
    );
    for (init, text) in [
        ("9007199254740993", "1 2"),
        ("9007199254740994", "1.5"),
        ("1e300", "1.5"),
    ] {
        pass(&format!("reduce --init {init}"), text);
    }
    let late = format!("{}0.5\n", "9007199254740993\n".repeat(1 << 20));
    let error = fail_in(Path::new("."), "reduce", late.as_bytes());
    assert!(
        error.contains("which rounds integers beyond 2^53"),
        "{error}"
    );
    let skipped = noted("reduce --missing skip", "9007199254740993 NA\n");
    assert_eq!(skipped.0, "9007199254740993");
    assert!(!skipped.1.contains("2^53"));
}

/// The sum is exact, and its quotient is rounded once.
#[test]
fn means_of_integers_are_rounded_once() {
    let mean = |text: &str| {
        let table = pass("stats --json", text);
        let from = table.find("\"mean\":").unwrap() + 7;
        table[from..].split(',').next().unwrap().to_owned()
    };
    assert_eq!(
        mean("9007199254740993 9007199254740993 9007199254740994"),
        "9007199254740994.0"
    );
    assert_eq!(
        mean("9223372036854775807 9223372036854775807 1"),
        "6.148914691236517e+18"
    );
    assert_eq!(mean("-1 0 0"), "-0.3333333333333333");
}

#[test]
fn finite_numbers_with_an_infinite_result_are_told_of() {
    for (line, text, result) in [
        ("reduce --op mul", "0 1e200 1e200 1e200 1e200", "NaN"),
        ("reduce", "1e308 1e308 -1e308 -1e308", "NaN"),
        ("reduce --dtype f16", "60000 60000", "inf"),
        ("scan --op mul", "0 1e200 1e200 1e200", "0.0 0.0 0.0 NaN"),
        ("scan -x", "1e308 1e308 1", "0.0 1e+308 inf"),
    ] {
        let (found, warning) = noted(&format!("{line} -q"), text);
        assert_eq!(found, result, "{line}");
        assert!(
            warning.contains("and all numbers are finite"),
            "{line}: {warning}"
        );
    }
    for (line, text, result) in [
        ("reduce", "inf -inf 1", "NaN"),
        ("scan", "1 inf 2", "1.0 inf inf"),
        ("scan --op mul", "0 inf 2", "0.0 NaN NaN"),
    ] {
        assert_eq!(pass(line, text), result);
    }
    // From a file, too, which several threads read.
    let bytes: Vec<u8> = [0.0, 1e200, 1e200, 1e200_f64]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let folder = folder(&[("x.bin", &bytes)]);
    let output = run_in(folder.path(), "reduce --op mul --dtype f64 x.bin", b"");
    assert!(String::from_utf8_lossy(&output.stderr).contains("all numbers are finite"));
    assert!(pass("stats --json", "1e308 1e308 -1e308 -1e308").contains("\"sum\":0.0"));
}

/// What is not whole is not there.
#[test]
fn results_are_written_as_a_whole_or_not_at_all() {
    for text in ["9223372036854775807 1", "1 x"] {
        fail_in(Path::new("."), "scan --json", text.as_bytes());
    }
    fail_in(
        Path::new("."),
        "scan --json --delimiter ,",
        b"a,b\n9223372036854775807,1\n1,2\n",
    );
    #[cfg(target_os = "linux")]
    {
        let folder = folder(&[("x.txt", b"1 2 3\n" as &[u8])]);
        std::os::unix::fs::symlink("/dev/full", folder.path().join("full.csv")).unwrap();
        fail_in(
            folder.path(),
            "histogram x.txt --svg chart.svg -o full.csv",
            b"",
        );
        let error = fail_in(folder.path(), "histogram x.txt --svg y -o y", b"");
        assert!(
            error.contains("two results are to be written to this file"),
            "{error}"
        );
        assert_eq!(
            names(folder.path()),
            ["full.csv", "x.txt"].map(std::path::PathBuf::from)
        );
    }
}
