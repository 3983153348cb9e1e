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
    const NAMES: &str = "count missing nan min argmin max argmax sum mean std";
    let table = stats(line, input.as_bytes());
    let names: Vec<_> = table.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.join(" "), NAMES, "{line}");
    let mut values: Vec<_> = table.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values.remove(1), "0", "nothing is missing");
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
    check("stats --sample", "7", "1 - 7 0 7 0 7 7.0 -");
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
fn nothing_has_neither_extremes_nor_a_mean() {
    check("stats", "", "0 - - - - - 0 - -");
    check("stats --sample --dtype f32", "", "0 0 - - - - 0.0 - -");
}

#[test]
fn statistics_are_json() {
    let json =
        |line: &str, input: &[u8]| String::from_utf8(pass_in(Path::new("."), line, input)).unwrap();
    assert_eq!(
        json(
            "stats --json --dtype u64",
            b"18446744073709551615 18446744073709551615"
        ),
        "{\"columns\":[{\"name\":\"standard input\",\"dtype\":\"u64\",\"count\":2,\"missing\":0,\"nan\":null,\
         \"min\":18446744073709551615,\"argmin\":0,\"max\":18446744073709551615,\"argmax\":0,\
         \"sum\":36893488147419103230,\"mean\":1.8446744073709552e+19,\"std\":0.0}]}\n"
    );
    let nothing = json("stats --json --dtype f32", b"");
    assert!(
        nothing.contains("\"count\":0,\"missing\":0,\"nan\":0,\"min\":null,\"argmin\":null,")
            && nothing.contains("\"sum\":0.0,\"mean\":null,\"std\":null"),
        "{nothing}"
    );
    let nan = json("stats --json --dtype f32", b"nan inf");
    assert!(nan.contains("\"min\":\"NaN\",\"argmin\":0"), "{nan}");
}

#[test]
fn sums_of_integers_are_exact() {
    let large = "9007199254740990 1";
    assert_eq!(stats("stats", large.as_bytes())[7].1, "9007199254740991");
    let bytes = vec![255; 1_000_003];
    let table = stats("stats --format raw --dtype u8", &bytes);
    assert_eq!(table[7].1, "255000765");
    let long = stats(
        "stats --dtype u64",
        b"18446744073709551615 18446744073709551615",
    );
    assert_eq!(long[7].1, "36893488147419103230");
}

/// A column for each file, of any shape, format and type.
#[test]
fn files_stand_side_by_side() {
    let npy = npy_of("<i2", "(2, 2)", &[1, 0, 5, 0, 2, 0, 7, 0]);
    let folder = folder(&[("a.npy", &npy), ("b c.csv", b"0.5\n1.5\n")]);
    let output = command()
        .args(["stats", "a.npy", "b c.csv"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let expected = "
                      a.npy  b c.csv
        count             4        2
        missing           -        0
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

/// pandas' describe, for what both have.
#[test]
fn the_columns_of_a_table_stand_side_by_side() {
    let text = "name,weight,length\nann,1,0.5\nbob,NA,1.5\neve,4,2.5\n";
    let folder = folder(&[("x.csv", text.as_bytes()), ("y.txt", b"1 2 3")]);
    let run = |line: &str| {
        let output = command()
            .args(line.split(' '))
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().map(words).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        run("stats --missing skip --quantiles x.csv"),
        "weight length\ncount 2 3\nmissing 1 0\nnan - 0\nmin 1 0.5\nargmin 0 0\nmax 4 2.5\n\
         argmax 2 2\nsum 5 4.5\nmean 2.5 1.5\nstd 1.5 0.816496580927726\n\
         q0.25 1.75 1.0\nq0.5 2.5 1.5\nq0.75 3.25 2.0"
    );
    let two = run("stats --missing skip x.csv y.txt");
    assert!(
        two.starts_with("x.csv:weight x.csv:length y.txt\n"),
        "{two}"
    );
    let all = run("stats --column weight --column length --missing skip --flatten x.csv");
    assert!(all.starts_with("count 5\n"), "{all}");
    let json = run("stats --missing skip --json x.csv");
    assert!(
        json.starts_with(
            "{\"columns\":[{\"name\":\"weight\",\"dtype\":\"i64\",\"count\":2,\"missing\":1,"
        ),
        "{json}"
    );
}

#[test]
fn quantiles_are_those_of_numpy() {
    let table = |line: &str, input: &[u8]| -> Vec<String> {
        let all = stats(line, input);
        all[10..]
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect()
    };
    assert_eq!(
        table("stats --quantiles=0,0.1,0.5,1", b"3 1 2 10"),
        ["q0 1", "q0.1 1.3", "q0.5 2.5", "q1 10"]
    );
    assert_eq!(
        table("stats --quantiles=0.5 --dtype f32", b"nan 1"),
        ["q0.5 NaN"]
    );
    assert_eq!(table("stats --quantiles=0.5", b""), ["q0.5 -"]);
    assert_eq!(
        table(
            "stats --quantiles=.5",
            b"9007199254740993 9007199254740995 9007199254740999"
        ),
        ["q0.5 9007199254740995"]
    );
    let error = fail_in(Path::new("."), "stats --quantiles=50", b"1");
    assert!(
        error.starts_with("--quantiles: `50` is no number from 0 to 1"),
        "{error}"
    );
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

/// 0 to 5 as 2 × 3, one of them NaN.
fn matrix() -> Vec<u8> {
    let data = [0.0_f64, 1.0, 2.0, 3.0, f64::NAN, 8.0];
    npy_of("<f8", "(2, 3)", &data.map(f64::to_le_bytes).concat())
}

#[test]
fn arrays_have_statistics_along_an_axis() {
    let ints: Vec<u8> = [7_i16, -1, 3, 3, 3, 3]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let folder = folder(&[
        ("x.npy", &matrix()),
        ("i.npy", &npy_of("<i2", "(3, 1, 2)", &ints)),
        ("t.csv", b"1,2\n"),
        ("none.npy", &npy_of("<f4", "(2, 0)", b"")),
    ]);
    let words = |line: &str| {
        let text = String::from_utf8(pass_in(folder.path(), line, b"")).unwrap();
        let lines = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        lines.collect::<Vec<_>>()
    };
    let heading = "lane count nan min argmin max argmax sum mean std";
    assert_eq!(
        words("stats --axis 0 x.npy"),
        [
            heading,
            "0 2 0 0.0 0 3.0 1 3.0 1.5 1.5",
            "1 2 1 NaN 1 NaN 1 NaN NaN NaN",
            "2 2 0 2.0 0 8.0 1 10.0 5.0 3.0",
        ]
    );
    assert_eq!(
        words("stats --axis -1 --sample --quantiles=0.5 i.npy"),
        [
            &format!("{heading} q0.5"),
            "0,0 2 - -1 1 7 0 6 3.0 5.656854249492381 3.0",
            "1,0 2 - 3 0 3 0 6 3.0 0.0 3",
            "2,0 2 - 3 0 3 0 6 3.0 0.0 3",
        ]
    );
    assert_eq!(
        words("stats --axis 1 none.npy"),
        [heading, "0 0 0 - - - - 0.0 - -", "1 0 0 - - - - 0.0 - -"]
    );
    assert_eq!(words("stats --axis 0 none.npy"), [heading]);
    let json = pass_in(folder.path(), "stats --axis 0 --json x.npy", b"");
    let json = String::from_utf8(json).unwrap();
    assert!(
        json.contains(r#"{"name":"2","dtype":"f64","count":2,"nan":0,"min":2.0,"argmin":0"#),
        "{json}"
    );
    for (line, part) in [
        ("stats --axis 2 x.npy", "no axis 2"),
        ("stats --axis 0 t.csv", "--axis is for arrays"),
        (
            "stats --axis 0 x.npy i.npy",
            "run the command for each file",
        ),
    ] {
        let error = fail_in(folder.path(), line, b"");
        assert!(error.contains(part), "{error}");
    }
}

/// Each lane has what the command says of it alone.
#[test]
fn a_lane_has_the_statistics_of_its_numbers_alone() {
    let number = |i: u32| f64::from(i * 7919 % 10_007) * 0.37 - 900.0;
    let numbers: Vec<f64> = (0..3 * 500 * 2).map(number).collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    let folder = folder(&[("x.npy", &npy_of("<f8", "(3, 500, 2)", &bytes))]);
    let all = pass_in(folder.path(), "stats --axis 1 --quantiles x.npy", b"");
    let all = String::from_utf8(all).unwrap();
    for lane in 0..6 {
        let start = lane / 2 * 1000 + lane % 2;
        let lane_numbers = (0..500).map(|row| numbers[start + 2 * row]);
        let alone: Vec<u8> = lane_numbers.flat_map(f64::to_le_bytes).collect();
        let line = "stats --quantiles --format raw --dtype f64";
        let expected = stats(line, &alone);
        let expected: Vec<_> = expected
            .iter()
            .filter(|(name, _)| name != "missing")
            .collect();
        let given: Vec<&str> = all
            .lines()
            .nth(lane + 1)
            .unwrap()
            .split_whitespace()
            .collect();
        assert_eq!(given[0], format!("{},{}", lane / 2, lane % 2));
        for (given, (name, value)) in given[1..].iter().zip(expected) {
            assert_eq!(given, value, "{name} of lane {lane}");
        }
    }
}

#[test]
fn times_in_several_units_are_not_compared_without_a_word() {
    let bytes: Vec<u8> = [5_i64, 7].iter().flat_map(|x| x.to_le_bytes()).collect();
    let folder = folder(&[
        ("days.npy", &npy_of("<M8[D]", "(2,)", &bytes)),
        ("more.npy", &npy_of("<M8[D]", "(2,)", &bytes)),
        ("seconds.npy", &npy_of("<M8[s]", "(2,)", &bytes)),
    ]);
    let notes = |line: &str| {
        let output = crate::support::run_in(folder.path(), line, b"");
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let told = "days.npy has the unit datetime64[D], and seconds.npy datetime64[s]";
    assert!(notes("stats days.npy more.npy seconds.npy").contains(told));
    assert!(notes("stats --json days.npy seconds.npy").contains(told));
    assert!(!notes("stats days.npy more.npy").contains("unit"));
}
