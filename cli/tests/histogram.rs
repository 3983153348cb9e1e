//! `warpfold histogram`: what is counted, how it is shown, and what cannot be asked for.

use crate::support::{fail, fail_in, folder, npy_of, pass, pass_in};

#[test]
fn bins_are_those_of_numpy() {
    let text = "1 2 2.5 3 4";
    assert_eq!(pass("histogram --bins 3", text), "1,2,1 2,3,2 3,4,2");
    assert_eq!(
        pass("histogram --bins 2 --range 0 3", text),
        "0,1.5,1 1.5,3,3"
    );
    assert_eq!(
        pass("histogram --bins 2 --range -3 3 --dtype f32", text),
        "-3,0,0 0,3,4"
    );
    assert_eq!(pass("histogram --edges 0,2,10", text), "0,2,1 2,10,4");
    assert_eq!(
        pass("histogram --edges=-1,2.5,2.75", text),
        "-1,2.5,2 2.5,2.75,1"
    );
    assert_eq!(pass("histogram --bins 1", "7 7"), "6.5,7.5,2");
    assert_eq!(pass("histogram", ""), pass("histogram --range 0 1", ""));
    assert_eq!(pass("histogram", "0 10").split(' ').count(), 10);
}

#[test]
fn values_are_counted() {
    assert_eq!(pass("histogram --bincount", "3 0 1 1"), "0,1 1,2 2,0 3,1");
    assert_eq!(pass("histogram --bincount", ""), "");
    assert_eq!(pass("histogram --bincount --bins 2", ""), "0,0 1,0");
}

/// As `minlength` of NumPy, which leaves out no value.
#[test]
fn bins_of_values_are_no_fewer_than_the_values() {
    for (line, input, counts) in [
        ("--bins 3", "0 1 1 5", "0,1 1,2 2,0 3,0 4,0 5,1"),
        ("--bins 3", "0 1 1", "0,1 1,2 2,0"),
        ("--bins 2 --dtype u8", "3 0 1 1", "0,1 1,2 2,0 3,1"),
        ("--bins 1", "1", "0,0 1,1"),
    ] {
        assert_eq!(pass(&format!("histogram --bincount {line}"), input), counts);
    }
    let all = pass("histogram --bincount --bins 300 --dtype u8", "255");
    assert_eq!(all.split(' ').count(), 300);
    assert!(all.contains(" 255,1 256,0 "), "{all}");
    assert!(fail("histogram --bincount --bins 200 --dtype i8", "-1").contains("is negative"));
}

#[test]
fn a_comma_before_fractions_separates_no_edges() {
    let line = "histogram --decimal , --edges";
    for edges in ["0,5,20", "0,5", "0.5;20", "0;1.500", "0,5,1;20"] {
        let error = fail(&format!("{line} {edges}"), "0\n5\n");
        assert!(error.contains("separate edges by semicolons"), "{error}");
    }
    assert_eq!(
        pass(&format!("{line} 0;0,5;20"), "0,25\n5\n"),
        "0,0.5,1 0.5,20,1"
    );
    assert_eq!(pass("histogram --edges 0;5;20", "0\n5\n"), "0,5,1 5,20,1");
    for option in ["--range 0,5 20", "--edges 0;0,5"] {
        let error = fail(&format!("histogram {option}"), "0\n5\n");
        assert!(
            error.contains("write a point before the fraction"),
            "{error}"
        );
    }
    // Edges in a file have the comma of the data.
    let folder = folder(&[
        ("e.txt", b"0,5\n20,25\n" as &[u8]),
        ("e.csv", b"0,5\n20,25\n"),
    ]);
    let counts = pass_in(folder.path(), &format!("{line} e.txt"), b"5\n");
    assert_eq!(counts, b"0.5,20.25,1\n");
    let error = fail_in(folder.path(), &format!("{line} e.csv"), b"5\n");
    assert!(error.contains("mend this file"), "{error}");
}

/// NumPy raises, too.
#[test]
fn what_is_negative_is_not_counted_by_value() {
    for (line, input, at) in [
        (
            "histogram --bincount",
            "0 3 -5",
            "-5, the number at position 2",
        ),
        (
            "histogram --bincount --bins 4",
            "-1 0",
            "-1, the number at position 0",
        ),
        (
            "histogram --bincount --dtype i8 --json",
            "1 -128",
            "-128, the number at position 1",
        ),
    ] {
        let error = fail(line, input);
        assert!(
            error.contains(at) && error.contains("--ge 0"),
            "{line}: {error}"
        );
    }
}

/// No `f64` lies between 2^53 and 2^53 + 2.
#[test]
fn edges_of_integers_are_integers() {
    for (line, input, lines) in [
        (
            "--edges 9007199254740993,9007199254740995",
            "9007199254740992",
            "9007199254740993,9007199254740995,0",
        ),
        (
            "--edges 9007199254740992,9007199254740993,9007199254740994",
            "9007199254740992 9007199254740993 9007199254740994 9007199254740995",
            "9007199254740992,9007199254740993,1 9007199254740993,9007199254740994,2",
        ),
        (
            "--dtype u64 --edges 18446744073709551613,18446744073709551614,18446744073709551615",
            "18446744073709551612 18446744073709551613 18446744073709551615",
            "18446744073709551613,18446744073709551614,1 18446744073709551614,18446744073709551615,1",
        ),
        (
            "--edges=-9223372036854775808,-9223372036854775807,0",
            "-9223372036854775808 -9223372036854775807 1",
            "-9223372036854775808,-9223372036854775807,1 -9223372036854775807,0,1",
        ),
        // A range of integers is as exact, and so is that of the data.
        (
            "--range 9007199254740993 9007199254740995 --bins 2",
            "9007199254740992 9007199254740993 9007199254740994 9007199254740995 9007199254740996",
            "9007199254740993,9007199254740994,1 9007199254740994,9007199254740995,2",
        ),
        (
            "--bins 2",
            "9007199254740993 9007199254740994 9007199254740996",
            "9007199254740993,9007199254740994.5,2 9007199254740994.5,9007199254740996,1",
        ),
        (
            "--bins 1 --dtype u64",
            "18446744073709551615",
            "18446744073709551614.5,18446744073709551615.5,1",
        ),
        // Edges between integers, below and beyond a type.
        (
            "--dtype u8 --edges 0.5,1.5,1.7,2.5",
            "0 1 2",
            "0.5,1.5,1 1.5,1.7,0 1.7,2.5,1",
        ),
        (
            "--dtype u8 --edges=-10,-5,300,400",
            "0 255",
            "-10,-5,0 -5,300,2 300,400,0",
        ),
        ("--dtype i8 --edges 300,400", "0 127", "300,400,0"),
        (
            "--dtype i8 --edges=-inf,0,inf",
            "-128 0 127",
            "-inf,0,1 0,inf,2",
        ),
    ] {
        assert_eq!(pass(&format!("histogram {line}"), input), lines, "{line}");
    }
    let nanoseconds = [1_700_000_000_000_000_001_i64, 1_700_000_000_000_000_002];
    let bytes: Vec<u8> = nanoseconds.iter().flat_map(|x| x.to_le_bytes()).collect();
    let file = npy_of("<i8", "(2,)", &bytes);
    let folder = folder(&[
        ("edges.npy", &file),
        ("times.npy", &npy_of("<M8[ns]", "(2,)", &bytes)),
    ]);
    let counted = pass_in(
        folder.path(),
        "histogram -q --edges edges.npy times.npy",
        b"",
    );
    assert_eq!(counted, b"1700000000000000001,1700000000000000002,2\n");
}

/// A minus is part of a number, in every spelling.
#[test]
fn negative_bounds_have_a_spelling() {
    for (line, lines) in [
        ("--range -1e-3 1e-3 --bins 2", "-0.001,0,1 0,0.001,1"),
        ("--range -.5 .5 --bins 1", "-0.5,0.5,2"),
        ("--range -5.e-1 +.5e0 --bins 1", "-0.5,0.5,2"),
        ("--bins 1 --range -1E-3 1E3", "-0.001,1000,2"),
        ("--edges -1e-3,0,1", "-0.001,0,1 0,1,1"),
        ("--edges -.5,.5", "-0.5,0.5,2"),
    ] {
        let line = format!("histogram {line}");
        assert_eq!(pass(&line, "-0.0005 0.0005"), lines, "{line}");
    }
    assert_eq!(pass("reduce --init -1e-3 --dtype f64", "1"), "0.999");
    assert_eq!(pass("reduce --init -.5 --dtype f64", "1"), "0.5");
    assert_eq!(pass("select --gt -1e-3", "-0.5 0.5"), "0.5");
}

#[test]
fn edges_are_short() {
    assert_eq!(pass("histogram --edges 0,1e300", "1.5"), "0,1e300,1");
    assert_eq!(pass("histogram --edges 1e-300,1", "0.5"), "1e-300,1,1");
}

#[test]
fn counts_are_json() {
    assert_eq!(
        pass("histogram --json --bins 2", "1 2 4"),
        r#"{"dtype":"i64","edges":[1.0,2.5,4.0],"counts":[2,1]}"#
    );
    assert_eq!(
        pass(
            "histogram --json --edges 9007199254740993,9007199254740995",
            "9007199254740993"
        ),
        r#"{"dtype":"i64","edges":[9007199254740993,9007199254740995],"counts":[1]}"#
    );
    assert_eq!(
        pass("histogram --json --bincount", "0 2 2"),
        r#"{"dtype":"i64","values":[0,1,2],"counts":[1,0,2]}"#
    );
    assert_eq!(
        pass("histogram --json --bins 2", "9007199254740993"),
        r#"{"dtype":"i64","edges":[9007199254740992.5,9007199254740993,9007199254740993.5],"counts":[0,1]}"#
    );
}

#[test]
fn halves_are_counted_as_floats() {
    for dtype in ["f16", "bf16"] {
        let line = format!("histogram --edges 0,1,2 --dtype {dtype}");
        assert_eq!(pass(&line, "0.5 1 1.5 nan"), "0,1,1 1,2,2");
    }
}

#[test]
fn arrays_of_any_shape_and_format_are_read_and_written() {
    let numbers = npy_of("|u1", "(2, 3)", &[0, 1, 2, 2, 1, 2]);
    let folder = folder(&[("x.npy", &numbers), ("edges.txt", b"0\n2\n3\n")]);
    let run = |line: &str| pass_in(folder.path(), line, b"");
    assert_eq!(run("histogram --edges edges.txt x.npy"), b"0,2,3\n2,3,3\n");
    run("histogram --bincount x.npy -o counts.npy");
    let counts: Vec<u8> = [1_u64, 2, 3]
        .iter()
        .flat_map(|count| count.to_le_bytes())
        .collect();
    let expected = npy_of("<u8", "(3,)", &counts);
    let written = std::fs::read(folder.path().join("counts.npy")).unwrap();
    assert_eq!(
        written[written.len() - 24..],
        expected[expected.len() - 24..]
    );
    assert!(String::from_utf8_lossy(&written).contains("'<u8'"));
    assert_eq!(
        run("histogram --bincount x.npy --output-format raw"),
        counts
    );
}

#[test]
fn a_chart_is_drawn_into_a_file() {
    let folder = folder(&[]);
    let counted = pass_in(
        folder.path(),
        "histogram --bins 4 --svg chart.svg",
        b"1 2 2 3 9",
    );
    assert_eq!(counted, b"1,3,3\n3,5,1\n5,7,0\n7,9,1\n");
    let svg = std::fs::read_to_string(folder.path().join("chart.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    // The ground, and a bar for each bin that is not empty.
    assert_eq!(svg.matches("<rect").count(), 4, "{svg}");
}

#[test]
fn what_cannot_be_is_said() {
    for (line, input, message) in [
        (
            "histogram --bins 0",
            "1",
            "--bins: 0 is no possible number of bins\n  remedy: give one from 1 to 16777216",
        ),
        ("histogram --range 2 1", "1", "--range: 1 is not above 2"),
        ("histogram --range 1 1", "1", "--range: 1 is not above 1"),
        ("histogram --range 0 inf", "1", "--range: inf is not finite"),
        ("histogram --range 0 x", "1", "--range: `x` is not a number"),
        ("histogram --edges 1", "1", "--edges: 1 of them make no bin"),
        ("histogram --edges 1,nan", "1", "--edges: edge 2 is NaN"),
        (
            "histogram --edges missing.npy",
            "1",
            "--edges: there is no file `missing.npy`",
        ),
        (
            "histogram --edges 9007199254740993,9007199254740993",
            "1",
            "edge 2, 9007199254740993, is not above",
        ),
        (
            "histogram --edges 1,3,2",
            "1",
            "--edges: edge 3, 2, is not above the one before it, 3",
        ),
        ("histogram --edges 1,x", "1", "--edges: `x` is not a number"),
        (
            "histogram",
            "1 nan",
            "one of them is NaN\n  remedy: give --range LO HI",
        ),
        ("histogram", "1 inf 2", "one of them is inf"),
        (
            "histogram --bincount --dtype f32",
            "1",
            "--bincount: not defined on f32",
        ),
        (
            "histogram --bincount",
            "99999999",
            "--bincount: a bin for each of 100000000 values; 16777216 are possible",
        ),
        (
            "histogram --svg x.png",
            "1",
            "give a name that ends in .svg",
        ),
        (
            "histogram --edges 0,inf --svg x.svg",
            "1",
            "x.svg: an infinite bin cannot be drawn",
        ),
    ] {
        let error = fail(line, input);
        assert!(error.contains(message), "`warpfold {line}`: {error}");
    }
}
