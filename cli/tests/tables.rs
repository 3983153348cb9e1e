//! Tables: a column each goes in, and a column each comes out.

use crate::support::{fail_in, folder, pass_in, run_in};
use std::path::Path;

const TEXT: &[u8] = b"a,b,label\n1,0.5,x\n2,1.5,y\n3,-1,z\n";

/// The output of a run whose only warning names the columns without numbers.
fn run(folder: &Path, line: &str) -> String {
    let output = run_in(folder, line, b"");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {errors}");
    assert_eq!(
        errors,
        "warpfold: warning: x.csv: columns without numbers are left out: label\n"
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_column_is_scanned_by_itself() {
    let folder = folder(&[("x.csv", TEXT)]);
    let run = |line: &str| run(folder.path(), line);
    assert_eq!(run("reduce x.csv"), "7.0\n");
    assert_eq!(run("reduce --op max x.csv"), "3.0\n");
    assert_eq!(run("scan x.csv"), "a,b\n1,0.5\n3,2.0\n6,1.0\n");
    assert_eq!(run("scan -x x.csv"), "a,b\n0,0.0\n1,0.5\n3,2.0\n");
    assert_eq!(run("scan --op mul x.csv"), "a,b\n1,0.5\n2,0.75\n6,-0.75\n");
}

#[test]
fn rows_are_kept_if_all_numbers_are() {
    let folder = folder(&[("x.csv", TEXT)]);
    let run = |line: &str| run(folder.path(), line);
    assert_eq!(run("select --gt 0 x.csv"), "a,b\n1,0.5\n2,1.5\n");
    assert_eq!(run("select --gt 0 --positions x.csv"), "0\n1\n");
    assert_eq!(run("select --gt 9 x.csv"), "a,b\n");
}

#[test]
fn each_column_has_bins_of_its_own() {
    let folder = folder(&[("x.csv", TEXT)]);
    let run = |line: &str| run(folder.path(), line);
    assert_eq!(
        run("histogram --bins 2 x.csv"),
        "a,1,2,1\na,2,3,2\nb,-1,0.25,1\nb,0.25,1.5,2\n"
    );
    assert_eq!(
        run("histogram --edges 0,2,4 --json x.csv"),
        "{\"columns\":[{\"name\":\"a\",\"dtype\":\"i64\",\"edges\":[0,2,4],\"counts\":[1,2]},\
         {\"name\":\"b\",\"dtype\":\"f64\",\"edges\":[0.0,2.0,4.0],\"counts\":[2,0]}]}\n"
    );
    let error = run_in(folder.path(), "histogram -q x.csv -o y.npy", b"");
    assert!(String::from_utf8_lossy(&error.stderr).contains("room for one column"));
}

#[test]
fn columns_are_chosen_and_written_as_asked() {
    let folder = folder(&[
        ("x.csv", b"a,b,c\n1,2,3\n4,5,6\n" as &[u8]),
        ("y.tsv", b"a\tb\n1\t2\n"),
    ]);
    let run = |line: &str| String::from_utf8(pass_in(folder.path(), line, b"")).unwrap();
    assert_eq!(run("scan --column a --column c x.csv"), "a,c\n1,3\n5,9\n");
    assert_eq!(run("reduce --column b x.csv"), "7\n");
    assert_eq!(run("reduce --column a --column c x.csv"), "a,c\n5,9\n");
    assert_eq!(run("reduce x.csv"), "21\n");
    assert_eq!(run("scan --column b x.csv"), "2\n7\n");
    assert_eq!(run("reduce --flatten --skip 1 x.csv"), "21\n");
    assert_eq!(
        run("scan --flatten --skip 1 x.csv"),
        "1\n3\n6\n10\n15\n21\n"
    );
    assert_eq!(run("scan y.tsv"), "a\tb\n1\t2\n");
    run("scan x.csv -o z.tsv");
    let written = std::fs::read_to_string(folder.path().join("z.tsv")).unwrap();
    assert_eq!(written, "a\tb\tc\n1\t2\t3\n5\t7\t9\n");
    run("scan x.csv -o z.npy");
    assert_eq!(
        run("scan --op max z.npy --output-format text"),
        "1 2 3\n5 7 9\n"
    );
    assert_eq!(
        run("scan --json --column 1-2 x.csv"),
        "{\"columns\":[\"a\",\"b\"],\"dtypes\":[\"i64\",\"i64\"],\"rows\":[[1,2],[5,7]]}\n"
    );
    let error = fail_in(folder.path(), "unique x.csv", b"");
    assert!(
        error.starts_with("x.csv: unique takes one column, and there are a, b, c"),
        "{error}"
    );
}

/// Types that differ have no array in common.
#[test]
fn mixed_columns_are_no_array() {
    let folder = folder(&[("x.csv", b"a,b\n1,0.5\n" as &[u8])]);
    let error = fail_in(folder.path(), "scan x.csv -o y.npy", b"");
    assert!(
        error.contains("a is i64, b is f64") && error.contains("--dtype f64"),
        "{error}"
    );
    pass_in(folder.path(), "scan --dtype f64 x.csv -o y.npy", b"");
}

#[test]
fn names_are_quoted_where_they_must_be() {
    let folder = folder(&[("x.csv", b"\"a,b\",\"say \"\"c\"\"\"\n1,2\n" as &[u8])]);
    let written = pass_in(folder.path(), "scan x.csv", b"");
    assert_eq!(written, b"\"a,b\",\"say \"\"c\"\"\"\n1,2\n");
}

/// A sum out of range names its column, and the rows before it are written.
#[test]
fn what_is_wrong_in_a_column_is_said() {
    let folder = folder(&[("x.csv", b"a,b\n1,9223372036854775807\n2,1\n" as &[u8])]);
    let output = run_in(folder.path(), "scan x.csv", b"");
    assert_eq!(output.stdout, b"a,b\n1,9223372036854775807\n");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains("x.csv, column b: the result for the number at position 1"),
        "{errors}"
    );
}

#[test]
fn long_tables_are_whole() {
    let mut text = b"a,b\n".to_vec();
    let mut expected = b"a,b\n".to_vec();
    for row in 1..=300_000_u64 {
        text.extend(format!("{row},1\n").bytes());
        expected.extend(format!("{},{row}\n", row * (row + 1) / 2).bytes());
    }
    let folder = folder(&[("x.csv", &text)]);
    assert!(pass_in(folder.path(), "scan x.csv", b"") == expected);
    let sum = pass_in(folder.path(), "reduce --column 1-2 x.csv", b"");
    assert_eq!(sum, b"a,b\n45000150000,300000\n");
    let counts = pass_in(folder.path(), "histogram --bins 1 x.csv", b"");
    assert_eq!(counts, b"a,1,300000,300000\nb,0.5,1.5,300000\n");
}
