//! What results look like: the name of a file says it, or else an option.

use crate::support::{fail_in, folder, names, npy_of, pass, pass_in, run_in};
use flate2::read::GzDecoder;
use std::io::Read;
use std::path::Path;

fn unpacked(folder: &Path, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(folder.join(name)).unwrap();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_file_is_what_its_name_says() {
    let sums: Vec<u8> = [1_i64, 3, 6].iter().flat_map(|x| x.to_le_bytes()).collect();
    let npy = npy_of("<i8", "(3,)", &sums);
    let folder = folder(&[]);
    for (name, expected) in [
        ("x.npy.gz", &npy[..]),
        ("X.NPY.GZ", &npy),
        ("x.csv.gz", b"1\n3\n6\n"),
        ("x.txt.gz", b"1\n3\n6\n"),
        ("x.bin.gz", &sums),
        ("x.gz", b"1\n3\n6\n"),
        (
            "x.json.gz",
            b"{\"dtype\":\"i64\",\"values\":[1,3,6],\"shape\":[3]}\n",
        ),
    ] {
        pass_in(folder.path(), &format!("scan -o {name}"), b"1 2 3");
        assert_eq!(unpacked(folder.path(), name), expected, "{name}");
        if !name.contains("json") && name != "x.bin.gz" {
            let sum = pass_in(folder.path(), &format!("reduce {name}"), b"");
            assert_eq!(sum, b"10\n", "{name}");
        }
    }
    pass_in(folder.path(), "scan -o x.json", b"1 2 3");
    let json = std::fs::read(folder.path().join("x.json")).unwrap();
    assert_eq!(
        json,
        b"{\"dtype\":\"i64\",\"values\":[1,3,6],\"shape\":[3]}\n"
    );
    // Options speak where a name does not.
    pass_in(folder.path(), "scan --output-format raw -o y.gz", b"1 2 3");
    assert_eq!(unpacked(folder.path(), "y.gz"), sums);
}

/// As numpy.savez names it, whether the length is known beforehand or not.
#[test]
fn an_npz_holds_the_array() {
    let values: Vec<u8> = (0..6_i64).flat_map(i64::to_le_bytes).collect();
    let folder = folder(&[("x.npy", &npy_of("<i8", "(2, 3)", &values))]);
    for line in ["scan x.npy", "select --ge 0 x.npy", "scan --op max x.npy"] {
        pass_in(folder.path(), &format!("{line} -o y.npz"), b"");
        let bytes = std::fs::read(folder.path().join("y.npz")).unwrap();
        assert!(bytes.starts_with(b"PK\x03\x04"), "{line}");
        let array = "--array arr_0 y.npz --output-format npy";
        let direct = pass_in(folder.path(), line, b"");
        let read = pass_in(folder.path(), &format!("select --ge 0 {array}"), b"");
        assert_eq!(
            read[read.len() - 48..],
            direct[direct.len() - 48..],
            "{line}"
        );
    }
    pass_in(folder.path(), "unique -o a.npz --counts b.npz", b"7 7 2");
    assert_eq!(pass_in(folder.path(), "reduce a.npz", b""), b"9\n");
    assert_eq!(pass_in(folder.path(), "reduce b.npz", b""), b"3\n");
    let error = fail_in(
        folder.path(),
        "scan x.npy --output-format text -o z.npz",
        b"",
    );
    assert!(
        error.starts_with("z.npz: an .npz file holds arrays"),
        "{error}"
    );
}

#[test]
fn a_name_that_cannot_be_kept_is_refused_before_the_work() {
    let folder = folder(&[("x.txt", b"1 not a number")]);
    for name in [
        "y.npz.gz",
        "y.npy.zst",
        "y.csv.bz2",
        "y.csv.xz",
        "y.parquet",
        "y.h5",
        "y.mat",
        "y.zip",
        "y.tar.gz",
        "Y.XLSX",
        "y.pkl",
        "y.npy.gzip",
        "y.csv.gzip",
        "y.gzip",
        "y.f32",
        "y.i64",
        "y.u8",
        "y.int16",
        "y.float32",
        "y.dta",
        "y.sas7bdat",
        "y.sqlite3",
        "y.msgpack",
        "y.nc4",
        "y.mtx",
        "y.csv.lz",
        "y.csv.bz",
        "y.csv.snappy",
    ] {
        for line in [
            "scan x.txt -o",
            "reduce x.txt -o",
            "unique x.txt --counts",
            "select --gt 0 x.txt -o",
        ] {
            let error = fail_in(folder.path(), &format!("{line} {name}"), b"");
            assert!(
                error.starts_with(&format!("{name}: ")) && error.contains("remedy"),
                "{error}"
            );
        }
    }
    assert_eq!(names(folder.path()), [Path::new("x.txt")]);
}

/// Rows of text, as numpy.savetxt has them.
#[test]
fn an_array_of_two_axes_stays_one_in_text() {
    let file = npy_of("|u1", "(2, 3)", &[1, 2, 3, 4, 5, 6]);
    let folder = folder(&[
        ("x.npy", &file),
        ("y.npy", &npy_of("|u1", "(2, 1, 2)", &[1, 2, 3, 4])),
    ]);
    let run = |line: &str| String::from_utf8(pass_in(folder.path(), line, b"")).unwrap();
    assert_eq!(run("scan x.npy --output-format text"), "1 3 6\n10 15 21\n");
    assert_eq!(run("scan y.npy --output-format text"), "1 3\n6 10\n");
    assert_eq!(
        run("scan x.npy --output-format text --flatten"),
        "1\n3\n6\n10\n15\n21\n"
    );
    assert_eq!(run("select --gt 4 x.npy --output-format text"), "5\n6\n");
    for (name, text) in [
        ("z.csv", "1,3,6\n10,15,21\n"),
        ("z.tsv", "1\t3\t6\n10\t15\t21\n"),
        ("z.txt", "1 3 6\n10 15 21\n"),
    ] {
        run(&format!("scan x.npy -o {name}"));
        assert_eq!(
            std::fs::read_to_string(folder.path().join(name)).unwrap(),
            text
        );
    }
    assert_eq!(
        run("scan x.npy --json"),
        "{\"dtype\":\"u64\",\"values\":[1,3,6,10,15,21],\"shape\":[2, 3]}\n"
    );
}

#[test]
fn every_result_is_json_with_all_digits() {
    for (line, input, json) in [
        (
            "reduce --dtype u64",
            "18446744073709551615",
            r#"{"dtype":"u64","value":18446744073709551615}"#,
        ),
        (
            "reduce --dtype f32",
            "0.1",
            r#"{"dtype":"f32","value":0.1}"#,
        ),
        (
            "reduce --op max --dtype f16",
            "1 inf",
            r#"{"dtype":"f16","value":"Infinity"}"#,
        ),
        (
            "scan",
            "9007199254740993 -1",
            r#"{"dtype":"i64","values":[9007199254740993,9007199254740992],"shape":[2]}"#,
        ),
        ("scan", "", r#"{"dtype":"i64","values":[],"shape":[0]}"#),
        (
            "select --nan --dtype f64",
            "1 nan",
            r#"{"dtype":"f64","values":["NaN"],"shape":[1]}"#,
        ),
        (
            "select --gt 1 --positions",
            "1 2",
            r#"{"dtype":"u64","values":[1],"shape":[1]}"#,
        ),
        (
            "unique",
            "7 7 2",
            r#"{"dtype":"i64","values":[7,2],"shape":[2]}"#,
        ),
        (
            "unique --count",
            "7 7 2",
            r#"{"dtype":"i64","runs":[{"value":7,"count":2},{"value":2,"count":1}]}"#,
        ),
    ] {
        assert_eq!(pass(&format!("{line} --json"), input), json, "{line}");
        assert_eq!(
            pass(&format!("{line} --output-format json"), input),
            json,
            "{line}"
        );
    }
    let devices = pass("devices --json", "");
    assert!(
        devices.starts_with(r#"{"devices":[{"#) && devices.ends_with('}'),
        "{devices}"
    );
    let source = pass("source reduce --dtype f32 --json", "");
    assert!(
        source.starts_with(r#"{"source":"#) && source.ends_with("\"}"),
        "{source}"
    );
}

/// Errors are shown all the same.
#[test]
fn quiet_hides_warnings() {
    let longer = [npy_of("|u1", "(2,)", &[1, 2]), vec![0; 3]].concat();
    let folder = folder(&[("x.npy", &longer)]);
    let loud = run_in(folder.path(), "reduce x.npy", b"");
    assert!(String::from_utf8_lossy(&loud.stderr).contains("warning: x.npy: more data follow"));
    for line in ["reduce --quiet x.npy", "reduce -q x.npy", "-q reduce x.npy"] {
        let quiet = run_in(folder.path(), line, b"");
        assert_eq!(
            (&quiet.stdout[..], &quiet.stderr[..]),
            (&b"3\n"[..], &b""[..]),
            "{line}"
        );
    }
    assert!(fail_in(folder.path(), "reduce -q nothing.npy", b"").starts_with("nothing.npy"));
}

#[test]
fn times_are_integers() {
    let bytes: Vec<u8> = [5_i64, -2].iter().flat_map(|x| x.to_le_bytes()).collect();
    for descr in ["<M8[ns]", "<m8[s]", "<M8[D]", "<M8"] {
        let file = npy_of(descr, "(2,)", &bytes);
        let here = Path::new(".");
        assert_eq!(
            pass_in(here, "reduce -q --op min", &file),
            b"-2\n",
            "{descr}"
        );
        assert_eq!(pass_in(here, "reduce -q", &file), b"3\n", "{descr}");
    }
}

/// What unit times have is said, and kept where they are written again.
#[test]
fn times_keep_their_unit() {
    let bytes: Vec<u8> = [5_i64, 7].iter().flat_map(|x| x.to_le_bytes()).collect();
    let days = npy_of("<M8[D]", "(2,)", &bytes);
    let seconds = npy_of("<M8[s]", "(2,)", &bytes);
    let folder = folder(&[
        ("days.npy", &days),
        ("seconds.npy", &seconds),
        ("plain.npy", &npy_of("<i8", "(2,)", &bytes)),
    ]);
    let run = |line: &str| String::from_utf8(pass_in(folder.path(), line, b"")).unwrap();
    let output = run_in(folder.path(), "reduce --op max days.npy", b"");
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "warpfold: note: days.npy: the numbers are datetime64[D], read as integers\n"
    );
    assert_eq!(
        run("reduce -q --op max --json days.npy"),
        "{\"dtype\":\"i64\",\"unit\":\"datetime64[D]\",\"value\":7}\n"
    );
    for command in ["select --gt 0", "unique", "scan --op max"] {
        run(&format!("{command} -q days.npy -o same.npy"));
        let same = std::fs::read(folder.path().join("same.npy")).unwrap();
        assert!(same == days, "{command}");
    }
    let table = run("stats -q days.npy seconds.npy");
    assert!(
        table.contains("unit     datetime64[D]  datetime64[s]\n"),
        "{table}"
    );
    assert!(run("stats -q --json days.npy").contains("\"unit\":\"datetime64[D]\""));
    for (edges, data) in [("days", "seconds"), ("days", "plain")] {
        let error = fail_in(
            folder.path(),
            &format!("histogram -q --edges {edges}.npy {data}.npy"),
            b"",
        );
        assert!(
            error.contains("the edges are datetime64[D], and the numbers"),
            "{error}"
        );
    }
    assert_eq!(run("histogram -q --edges days.npy days.npy"), "5,7,2\n");
    for line in [
        "select -q --ge 2020-01-01 days.npy",
        "histogram -q --edges 2020-01-01,2021-01-01 days.npy",
        "histogram -q --range 2020-01-01 2021-01-01 days.npy",
    ] {
        let error = fail_in(folder.path(), line, b"");
        assert!(
            error.contains("numpy.datetime64('2020-01-01', UNIT).astype(int)"),
            "{line}: {error}"
        );
    }
}

#[test]
fn an_archive_of_nothing_is_said_to_be_one() {
    let empty = [&b"PK\x05\x06"[..], &[0; 18]].concat();
    let folder = folder(&[("x.npz", &empty)]);
    let error = fail_in(folder.path(), "reduce x.npz", b"");
    assert!(
        error.starts_with("x.npz: no array is in this archive"),
        "{error}"
    );
}

#[test]
fn options_that_contradict_a_name_are_refused() {
    let folder = folder(&[]);
    for line in [
        "scan --json -o x.csv",
        "scan --json -o x.npy",
        "reduce --json -o x.tsv.gz",
        "scan --output-format text -o x.npy",
        "scan --output-format npy -o x.csv",
        "scan --output-format raw -o x.npy.gz",
        "scan --output-format text -o x.json",
        "histogram --json -o x.csv",
        "scan --output-format text -o x.raw",
        "scan --output-format text -o x.bin.gz",
        "scan --output-format npy -o x.bin",
        "scan --output-format npy -o x.dat",
        "scan --output-format npy -o x.txt",
        "scan --output-format raw -o x.txt",
        "scan --output-format json -o x.raw",
        "scan --output-format text -o .npy",
    ] {
        let error = fail_in(folder.path(), line, b"1 2 3");
        assert!(error.contains("promises another format"), "{line}: {error}");
    }
    assert!(names(folder.path()).is_empty());
    for line in [
        "scan --json -o x.txt",
        "scan --output-format npy -o x",
        "scan --output-format text -o x.dat",
    ] {
        pass_in(folder.path(), line, b"1 2 3");
    }
}

/// A name may be an ending and nothing else.
#[test]
fn a_name_that_is_only_an_ending_is_kept() {
    let npy = npy_of("|u1", "(3,)", &[1, 2, 3]);
    let folder = folder(&[("x.npy", &npy), (".csv", b"a,b\n1,2\n3,4\n")]);
    let at = folder.path();
    assert_eq!(pass_in(at, "reduce --column b .csv", b""), b"6\n");
    for (name, start) in [
        (".csv", &b"1\n3\n6\n"[..]),
        (".TSV", b"1\n3\n6\n"),
        (".json", b"{\"dtype\":"),
        (".npy", b"\x93NUMPY"),
        (".npz", b"PK"),
        (".npy.gz", b"\x1f\x8b"),
        (".gz", b"\x1f\x8b"),
        (".raw", &1_u64.to_le_bytes()),
    ] {
        if name == ".gz" {
            // It says how the bytes are packed, and not what they are.
            pass_in(at, "scan x.npy -o .gz --output-format text", b"");
        } else {
            pass_in(at, &format!("scan x.npy -o {name}"), b"");
        }
        let written = std::fs::read(at.join(name)).unwrap();
        assert!(written.starts_with(start), "{name}: {written:?}");
    }
    assert_eq!(unpacked(at, ".gz"), b"1\n3\n6\n");
    let error = fail_in(at, "scan x.npy -o .parquet", b"");
    assert!(error.contains("promises .parquet"), "{error}");
    let error = fail_in(at, "scan x.npy -o .out", b"");
    assert!(error.contains("the ending .out says no format"), "{error}");
}

/// Many programs write lines of text into .dat.
#[test]
fn a_dat_file_holds_text_where_the_results_are_text() {
    let npy = npy_of("|u1", "(2,)", &[1, 2]);
    let folder = folder(&[("x.npy", &npy)]);
    let at = folder.path();
    pass_in(at, "scan -o y.dat", b"1 2");
    assert_eq!(std::fs::read(at.join("y.dat")).unwrap(), b"1\n3\n");
    assert_eq!(pass_in(at, "reduce y.dat", b""), b"4\n");
    pass_in(at, "scan x.npy -o y.dat", b"");
    let sums: Vec<u8> = [1_u64, 3].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(std::fs::read(at.join("y.dat")).unwrap(), sums);
}

#[test]
fn counts_stand_in_columns_where_the_name_says_so() {
    let folder = folder(&[]);
    for (name, text) in [
        ("x.csv", "2,7\n1,5\n"),
        ("x.tsv", "2\t7\n1\t5\n"),
        ("x.txt", "      2 7\n      1 5\n"),
    ] {
        pass_in(folder.path(), &format!("unique -c -o {name}"), b"7 7 5");
        let written = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(written, text);
    }
}
