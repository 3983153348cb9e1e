//! `warpfold histogram`: what is counted, how it is shown, and what cannot be asked for.

use crate::support::{fail_in, folder, npy_of, pass, pass_in};
use std::path::Path;

fn fail(line: &str, input: &str) -> String {
    fail_in(Path::new("."), line, input.as_bytes())
}

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
    assert_eq!(
        pass("histogram --bincount --bins 2 --dtype u8", "3 0 1 1"),
        "0,1 1,2"
    );
    assert_eq!(pass("histogram --bincount", "-5 0 -1"), "0,1");
    assert_eq!(pass("histogram --bincount", ""), "0,0");
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
        ("histogram --bins 0", "1", "the bins' `count` is 0"),
        ("histogram --range 2 1", "1", "the bins' `hi` is 1"),
        ("histogram --edges 1", "1", "the bins' `edges` are 1"),
        (
            "histogram --edges 1,3,2",
            "1",
            "the one at index 2, 2, is below",
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
            "the bins' `count` is 100000000; at most 16777216",
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
