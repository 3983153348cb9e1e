//! `warpfold stats`: what the table says, of which numbers.

use crate::support::{command, fail_in, folder, npy_of, pass_in};
use std::path::Path;

/// The names and values of a table of one column.
fn stats(line: &str, input: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8(pass_in(Path::new("."), line, input)).unwrap();
    text.lines()
        .map(|line| {
            let mut words = line.split_whitespace().map(str::to_owned);
            let pair = (words.next().unwrap(), words.next().unwrap());
            assert_eq!(words.next(), None, "{line}");
            pair
        })
        .collect()
}

#[track_caller]
fn check(line: &str, input: &str, expected: &str) {
    const NAMES: &str = "count nan min argmin max argmax sum mean std";
    let table = stats(line, input.as_bytes());
    let names: Vec<_> = table.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.join(" "), NAMES, "{line}");
    let values: Vec<_> = table.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values.join(" "), expected, "{line} of {input}");
}

#[test]
fn the_example_of_the_help_is_true() {
    let ten: Vec<_> = (1..=10).map(|i| i.to_string()).collect();
    check(
        "stats",
        &ten.join("\n"),
        "10 - 1 0 10 9 55 5.5 2.8722813232690143",
    );
}

#[test]
fn a_sample_has_one_degree_of_freedom_less() {
    check("stats", "1 2 6", "3 - 1 0 6 2 9 3.0 2.160246899469287");
    check(
        "stats --sample",
        "1 2 6",
        "3 - 1 0 6 2 9 3.0 2.6457513110645907",
    );
    check("stats --sample", "7", "1 - 7 0 7 0 7 7.0 NaN");
}

#[test]
fn every_type_has_statistics() {
    for dtype in ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"] {
        let line = format!("stats --dtype {dtype}");
        check(&line, "2 9 1 9 1", "5 - 1 2 9 1 22 4.4 3.7735924528226414");
    }
    for dtype in ["f16", "bf16", "f32", "f64"] {
        let line = format!("stats --dtype {dtype}");
        check(
            &line,
            "2 9 1 9 1",
            "5 0 1.0 2 9.0 1 22.0 4.4 3.7735924528226414",
        );
    }
}

#[test]
fn a_nan_shows_and_is_found() {
    for dtype in ["f16", "bf16", "f32", "f64"] {
        let line = format!("stats --dtype {dtype}");
        check(&line, "3 nan 1 nan", "4 2 NaN 1 NaN 1 NaN NaN NaN");
        check(&line, "3 inf 1", "3 0 1.0 2 inf 1 inf inf NaN");
    }
}

#[test]
fn nothing_has_no_extremes() {
    check("stats", "", "0 - - - - - 0 NaN NaN");
    check("stats --dtype f32", "", "0 0 - - - - 0.0 NaN NaN");
}

#[test]
fn sums_of_integers_are_exact() {
    let large = "9007199254740990 1";
    assert_eq!(stats("stats", large.as_bytes())[6].1, "9007199254740991");
    let bytes = vec![255; 1_000_003];
    let table = stats("stats --format raw --dtype u8", &bytes);
    assert_eq!(table[6].1, "255000765");
    let long = stats(
        "stats --dtype u64",
        b"18446744073709551615 18446744073709551615",
    );
    assert_eq!(long[6].1, "36893488147419103230");
}

/// A column for each file, of any shape, format and type.
#[test]
fn files_stand_side_by_side() {
    let npy = npy_of("<i2", "(2, 2)", &[1, 0, 5, 0, 2, 0, 7, 0]);
    let folder = folder(&[("a.npy", &npy), ("b c.csv", b"0.5,1.5\n")]);
    let output = command()
        .args(["stats", "a.npy", "b c.csv"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let expected = "
                      a.npy  b c.csv
        count             4        2
        nan               -        0
        min               1      0.5
        argmin            0        0
        max               7      1.5
        argmax            3        1
        sum              15      2.0
        mean           3.75      1.0
        std     2.384848003542364      0.5
";
    let words = |text: &str| -> Vec<Vec<String>> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let split = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        lines.map(split).collect()
    };
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(words(&text), words(expected));
    let ends: Vec<_> = text.lines().map(str::len).collect();
    assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = folder(&[("a.txt", b"1 2"), ("b.txt", b"1 two"), ("c.bin", b"123")]);
    for (line, message) in [
        ("stats a.txt b.txt", "b.txt: line 1, column 3: `two` is not"),
        ("stats a.txt c.bin", "c.bin: raw data do not tell"),
        ("stats a.txt d.txt", "d.txt: "),
        (
            "stats --dtype u16 a.txt c.bin",
            "c.bin: 3 bytes are no whole",
        ),
    ] {
        let error = fail_in(folder.path(), line, b"");
        assert!(error.starts_with(message), "{line}: {error}");
    }
    let output = command().args(["stats", "-o", "x"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_help_names_every_line_of_the_table() {
    let help = command().args(["stats", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for (name, _) in stats("stats", b"1") {
        let line = format!("\n  {name} ");
        assert!(help.contains(&line), "{name} in {help}");
    }
}
