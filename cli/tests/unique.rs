//! `warpfold unique`: equal neighbours become one, and are counted.

use crate::support::{command, fail_in, folder, names, npy_of, pass, pass_in};
use std::path::Path;

#[test]
fn the_example_of_the_help_is_true() {
    let text = pass_in(Path::new("."), "unique -c", b"7 7 2 2 2 7");
    assert_eq!(text, b"      2 7\n      3 2\n      1 7\n");
}

#[test]
fn equal_neighbours_become_one() {
    for dtype in ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"] {
        let line = format!("unique --dtype {dtype}");
        assert_eq!(pass(&line, "7 7 2 2 2 7"), "7 2 7", "{line}");
        assert_eq!(pass(&line, ""), "", "{line}");
        assert_eq!(pass(&line, "5"), "5", "{line}");
    }
    for dtype in ["f16", "bf16", "f32", "f64"] {
        let line = format!("unique --dtype {dtype}");
        assert_eq!(pass(&line, "nan nan 0 -0 1 1"), "NaN NaN 0.0 1.0", "{line}");
    }
}

/// The output of `uniq -c`, to the byte.
#[test]
#[cfg(unix)]
fn counts_are_written_as_uniq_writes_them() {
    let lines: Vec<_> = (0..3000_u32).map(|i| (i * i / 700).to_string()).collect();
    let text = lines.join("\n") + "\n";
    let folder = folder(&[("x.txt", text.as_bytes())]);
    let uniq = std::process::Command::new("uniq")
        .args(["-c", "x.txt"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let ours = pass_in(folder.path(), "unique --count x.txt", b"");
    assert_eq!(ours, uniq.stdout);
}

fn u64s(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

#[test]
fn counts_and_starts_go_to_files_of_their_own() {
    let file = npy_of("<i2", "(2, 3)", &[7, 0, 7, 0, 2, 0, 2, 0, 2, 0, 7, 0]);
    let folder = folder(&[("x.npy", &file)]);
    let line = "unique x.npy -o y.npy --counts counts.npy --starts starts.bin";
    assert!(pass_in(folder.path(), line, b"").is_empty());
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("y.npy"), npy_of("<i2", "(3,)", &[7, 0, 2, 0, 7, 0]));
    assert_eq!(read("counts.npy"), npy_of("<u8", "(3,)", &u64s(&[2, 3, 1])));
    assert_eq!(read("starts.bin"), u64s(&[0, 2, 5]));

    // Names that say nothing have the output's format.
    let line = "unique x.npy --output-format text --counts counts --starts starts.txt -c";
    let text = pass_in(folder.path(), line, b"");
    assert_eq!(text, b"      2 7\n      3 2\n      1 7\n");
    assert_eq!(read("counts"), b"2\n3\n1\n");
    assert_eq!(read("starts.txt"), b"0\n2\n5\n");
}

#[test]
fn what_cannot_be_written_is_said_before_anything_is() {
    let file = npy_of("<i2", "(2,)", &[7, 0, 7, 0]);
    let folder = folder(&[("x.npy", &file)]);
    for (line, message) in [
        ("unique -c x.npy", "--count: binary output has no room"),
        (
            "unique x.npy -o y.npy --counts no/x.npy",
            "no/x.npy: there is no folder",
        ),
        ("unique x.npy -o y.npy --starts .", ".: it is a folder"),
        (
            "unique --dtype f32 x.npy -o y.npy --counts z.npy",
            "x.npy: the elements are i16",
        ),
    ] {
        let error = fail_in(folder.path(), line, b"");
        assert!(error.starts_with(message), "{line}: {error}");
        assert_eq!(names(folder.path()), [Path::new("x.npy")], "{line}");
    }
}

#[test]
fn long_streams_are_made_unique() {
    let values: Vec<u32> = (0..2_500_001_u32).map(|i| i / 3).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let unique: Vec<u8> = (0..=833_333_u32).flat_map(|x| x.to_le_bytes()).collect();
    let line = "unique --format raw --dtype u32";
    assert!(pass_in(Path::new("."), line, &bytes) == unique);
}

#[test]
fn the_help_has_the_example() {
    let help = command().args(["unique", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(
        help.contains("printf '7 7 2 2 2 7' | warpfold unique -c"),
        "{help}"
    );
}

/// A result that cannot be written leaves what was to lie beside it.
#[test]
#[cfg(target_os = "linux")]
fn counts_are_written_after_the_numbers() {
    let folder = folder(&[("counts.txt", b"old")]);
    fail_in(
        folder.path(),
        "unique --counts counts.txt -o /dev/full",
        b"1 1 2",
    );
    let counts = std::fs::read(folder.path().join("counts.txt"));
    assert_eq!(counts.expect("it is there"), b"old");
}

/// Not only neighbours: each number once, with its count and where it stood first.
#[test]
fn with_sort_equal_numbers_are_one_wherever_they_stand() {
    assert_eq!(pass("unique --sort", "7 2 7 -1 2"), "-1 2 7");
    assert_eq!(pass("unique -s", ""), "");
    assert_eq!(pass("unique -s", "nan 0 nan -0 1"), "0.0 1.0 NaN");
    let text = pass_in(Path::new("."), "unique -s -c", b"7 7 2 7 2 2 7");
    assert_eq!(text, b"      3 2\n      4 7\n");
    // More than a piece.
    let numbers: Vec<u32> = (0..900_000)
        .map(|i: u32| i.wrapping_mul(i) % 70_001)
        .collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    let folder = folder(&[("x.bin", &bytes)]);
    let line = "unique -s --dtype u32 x.bin -o y.bin --counts counts.bin --starts starts.bin";
    pass_in(folder.path(), line, b"");
    let mut distinct = std::collections::BTreeMap::new();
    for (place, &number) in numbers.iter().enumerate() {
        distinct.entry(number).or_insert((place as u64, 0)).1 += 1;
    }
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let keys: Vec<u8> = distinct.keys().flat_map(|x| x.to_le_bytes()).collect();
    assert!(read("y.bin") == keys);
    let places: Vec<u64> = distinct.values().map(|(place, _)| *place).collect();
    assert!(read("starts.bin") == u64s(&places));
    let counts: Vec<u64> = distinct.values().map(|(_, count)| *count).collect();
    assert!(read("counts.bin") == u64s(&counts));
}
