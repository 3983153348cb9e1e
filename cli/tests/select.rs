//! `warpfold select`: what is kept, in which form, and what cannot be asked for.

use crate::support::{command, fail_in, folder, npy_of, pass, pass_in};
use std::path::Path;

#[test]
fn the_example_of_the_help_is_true() {
    let ten: Vec<_> = (1..=10).map(|i| i.to_string()).collect();
    assert_eq!(pass("select --gt 3", &ten.join("\n")), "4 5 6 7 8 9 10");
}

#[test]
fn conditions_mean_what_their_names_say() {
    for (condition, kept) in [
        ("--gt 2", "3 5"),
        ("--ge 2", "2 3 2 5"),
        ("--lt 2", "-1"),
        ("--le 2", "2 -1 2"),
        ("--eq 2", "2 2"),
        ("--ne 2", "3 -1 5"),
        ("--gt -1 --lt 5", "2 3 2"),
        ("--ge -1 --le 2", "2 -1 2"),
        ("--gt=-1 --le 3", "2 3 2"),
        ("--ge 2 --lt 3", "2 2"),
        ("--gt 2 --lt 2", ""),
        ("--ge 3 --le 1", ""),
    ] {
        for dtype in ["i8", "i16", "i32", "i64"] {
            let line = format!("select {condition} --dtype {dtype}");
            assert_eq!(pass(&line, "2 3 -1 2 5"), kept, "{line}");
        }
        for dtype in ["f16", "bf16", "f32", "f64"] {
            let line = format!("select {condition} --dtype {dtype}");
            let kept: Vec<_> = kept.split_whitespace().map(|x| format!("{x}.0")).collect();
            assert_eq!(pass(&line, "2 3 -1 2 5"), kept.join(" "), "{line}");
        }
    }
    assert_eq!(pass("select --gt 2", ""), "");
}

/// Beyond the ends of a type there is nothing, and at them there is something.
#[test]
fn bounds_at_the_ends_of_a_type() {
    for (line, kept) in [
        ("--dtype u8 --gt 255", ""),
        ("--dtype u8 --gt 254", "255"),
        ("--dtype u8 --lt 0", ""),
        ("--dtype u8 --lt 1", "0"),
        ("--dtype u8 --gt 255 --lt 7", ""),
        ("--dtype u8 --lt 0 --gt 7", ""),
        ("--dtype u8 --gt 255 --le 255", ""),
        ("--dtype u8 --ge 0 --lt 0", ""),
        ("--dtype u8 --ge 0 --le 255", "0 7 255"),
        ("--dtype f32 --gt inf", ""),
        ("--dtype f32 --lt -inf", ""),
        ("--dtype f32 --ge 255 --le inf", "255.0"),
    ] {
        assert_eq!(pass(&format!("select {line}"), "0 7 255"), kept, "{line}");
    }
    let extremes = "-inf -3.4028235e+38 -0.0 0.0 1e-45 3.4028235e+38 inf";
    for (line, kept) in [
        ("--gt 3.4028235e38", "inf"),
        ("--lt -3.4028235e38", "-inf"),
        ("--gt 0", "1e-45 3.4028235e+38 inf"),
        ("--eq 0", "-0.0 0.0"),
        ("--lt 1e-45 --ge -0.0", "-0.0 0.0"),
        (
            "--gt -inf --lt inf",
            "-3.4028235e+38 -0.0 0.0 1e-45 3.4028235e+38",
        ),
    ] {
        let line = format!("select --dtype f32 {line}");
        assert_eq!(pass(&line, extremes), kept, "{line}");
    }
}

/// A bound may be any number. Integers are compared with it exactly.
#[test]
fn bounds_of_any_kind_are_compared_exactly() {
    for (line, input, kept) in [
        ("--dtype u8 --gt 0.5", "0 1 2", "1 2"),
        ("--dtype u8 --ge 0.5", "0 1 2", "1 2"),
        ("--dtype u8 --lt 1.5", "0 1 2", "0 1"),
        ("--dtype u8 --le 1.5", "0 1 2", "0 1"),
        ("--dtype i8 --gt -0.5 --lt 0.5", "-1 0 1", "0"),
        ("--dtype i8 --gt -1e-3 --le 1e0", "-1 0 1", "0 1"),
        ("--dtype i8 --le -.5", "-1 0 1", "-1"),
        ("--dtype u8 --eq 0.5", "0 1", ""),
        ("--dtype u8 --eq 1.0", "0 1", "1"),
        ("--dtype u8 --ne 0.5", "0 1", "0 1"),
        ("--dtype u8 --ne 300", "0 1", "0 1"),
        ("--dtype u8 --eq 300", "0 44", ""),
        ("--dtype u8 --gt 300", "0 44 255", ""),
        ("--dtype u8 --lt 300", "0 255", "0 255"),
        ("--dtype u8 --ge -1", "0 255", "0 255"),
        ("--dtype u8 --lt -1", "0 255", ""),
        ("--gt inf", "1", ""),
        ("--lt inf", "1", "1"),
        ("--gt nan", "1", ""),
        ("--ne nan", "1", "1"),
        (
            "--ge 9007199254740993",
            "9007199254740992 9007199254740993",
            "9007199254740993",
        ),
        (
            "--lt 9007199254740992.5",
            "9007199254740992 9007199254740993",
            "9007199254740992",
        ),
        (
            "--dtype u64 --gt 18446744073709551614",
            "18446744073709551614 18446744073709551615",
            "18446744073709551615",
        ),
        (
            "--le 1e18",
            "1000000000000000000 1000000000000000001",
            "1000000000000000000",
        ),
        ("--dtype f32 --gt 1e39", "3e38 inf", "inf"),
        ("--dtype f32 --le 1e39", "3e38 inf -inf", "3e+38 -inf"),
        ("--dtype f16 --lt -1e6", "-65504 -inf", "-inf"),
        ("--dtype f32 --ne 1e39", "1 nan", "1.0 NaN"),
    ] {
        assert_eq!(pass(&format!("select {line}"), input), kept, "{line}");
    }
}

#[test]
fn a_nan_satisfies_ne_and_nan_only() {
    for dtype in ["f16", "bf16", "f32", "f64"] {
        for (condition, kept) in [
            ("--nan", "NaN"),
            ("--not-nan", "1.0 inf -inf"),
            ("--ne 1", "NaN inf -inf"),
            ("--gt nan", ""),
            ("--le nan", ""),
            ("--eq nan", ""),
            ("--ne nan", "1.0 NaN inf -inf"),
            ("--le inf", "1.0 inf -inf"),
        ] {
            let line = format!("select --dtype {dtype} {condition}");
            assert_eq!(pass(&line, "1 nan inf -inf"), kept, "{line}");
        }
    }
}

#[test]
fn positions_instead_of_numbers() {
    assert_eq!(pass("select --ge 2 --positions", "2 3 -1 2 5"), "0 1 3 4");
    assert_eq!(pass("select --positions --eq 9", "2 3"), "");
    for dtype in ["f16", "bf16", "f32", "f64"] {
        let line = format!("select --nan --positions --dtype {dtype}");
        assert_eq!(pass(&line, "1 nan inf nan"), "1 3", "{line}");
    }
    let file = npy_of("<i2", "(2, 2)", &[1, 0, 5, 0, 2, 0, 7, 0]);
    let places: Vec<u8> = [1_u64, 3].iter().flat_map(|x| x.to_le_bytes()).collect();
    let expected = npy_of("<u8", "(2,)", &places);
    assert_eq!(
        pass_in(Path::new("."), "select --gt 2 --positions", &file),
        expected
    );
    // NumPy has no bf16, but it has the positions.
    let line = "select --gt 2 --positions --dtype bf16 --output-format npy";
    assert_eq!(pass_in(Path::new("."), line, b"1 5 2 7"), expected);
}

#[test]
fn every_format_and_one_axis() {
    let here = Path::new(".");
    let file = npy_of("<i2", "(2, 2)", &[1, 0, 5, 0, 2, 0, 7, 0]);
    let kept = npy_of("<i2", "(3,)", &[5, 0, 2, 0, 7, 0]);
    assert_eq!(pass_in(here, "select --gt 1", &file), kept);
    let none = npy_of("<i2", "(0,)", &[]);
    assert_eq!(pass_in(here, "select --gt 7", &file), none);
    assert_eq!(
        pass_in(here, "select --ne 2 --format raw --dtype u8", &[1, 2, 3]),
        [1, 3]
    );
    assert_eq!(
        pass_in(here, "select --ge 5 --output-format text", &file),
        b"5\n7\n"
    );
    let folder = folder(&[("x.csv", b"1\n2\n3\n4\n5\n")]);
    assert!(pass_in(folder.path(), "select --lt 4 x.csv -o y.bin", b"").is_empty());
    let kept: Vec<u8> = [1_i64, 2, 3].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(std::fs::read(folder.path().join("y.bin")).unwrap(), kept);
}

#[test]
fn long_streams_are_selected_whole() {
    let values: Vec<u32> = (0..2_500_001)
        .map(|i: u32| i.wrapping_mul(2_654_435_761))
        .collect();
    let bytes =
        |values: &[u32]| -> Vec<u8> { values.iter().flat_map(|x| x.to_le_bytes()).collect() };
    let kept: Vec<u32> = values.iter().copied().filter(|&x| x >= 1 << 31).collect();
    let line = "select --ge 2147483648 --format raw --dtype u32";
    assert!(pass_in(Path::new("."), line, &bytes(&values)) == bytes(&kept));
}

#[test]
fn values_that_make_no_sense() {
    for (line, message) in [
        ("select --gt one", "--gt: `one` is not a number"),
        ("select --le 1,5", "--le: `1,5` is not a number"),
    ] {
        let error = fail_in(Path::new("."), line, b"1 2");
        assert!(error.starts_with(message), "{line}: {error}");
        if !error.ends_with("is not a number") {
            assert!(error.contains("\n  remedy: "), "{line}: {error}");
        }
    }
}

/// So tables of both kinds of columns can be cleaned of NaN.
#[test]
fn integers_are_never_nan() {
    assert_eq!(pass("select --not-nan", "1 2"), "1 2");
    assert_eq!(pass("select --dtype u8 --not-nan", "0 255"), "0 255");
    assert_eq!(pass("select --nan", "1 2"), "");
    let table = "a,b\n1,0.5\n2,nan\n";
    assert_eq!(pass("select --not-nan --delimiter ,", table), "a,b 1,0.5");
}

#[test]
fn conditions_that_exclude_each_other() {
    for line in [
        "select",
        "select x.txt",
        "select --gt",
        "select --gt 1 --ge 2",
        "select --lt 1 --le 2",
        "select --eq 1 --lt 2",
        "select --eq 1 --ne 2",
        "select --nan --not-nan",
        "select --gt 1 --not-nan",
    ] {
        let output = command().args(line.split_whitespace()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}");
    }
    let help = command().args(["select", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("seq 10 | warpfold select --gt 3"), "{help}");
}
