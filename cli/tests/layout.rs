//! Which fields of a table are its data: rows that do not fit, names of rows, headers of numbers.

use crate::support::{fail_in, folder, noted, pass, pass_in};
use std::path::Path;

fn fail(line: &str, input: &str) -> String {
    fail_in(Path::new("."), line, input.as_bytes())
}

#[test]
fn rows_of_a_table_without_a_header_are_alike() {
    for line in [
        "reduce",
        "scan --flatten",
        "scan",
        "stats",
        "select --gt 0",
        "histogram",
    ] {
        let error = fail(&format!("{line} --delimiter ,"), "1,2\n3\n5,6,7\n");
        assert!(
            error.contains("line 2: this row has 1 field, but the first row has 2, in line 1"),
            "{line}: {error}"
        );
    }
    let text = "1,2\n3\n5,6,7\n";
    let options = "--delimiter , --ragged --missing skip";
    assert_eq!(noted(&format!("reduce {options}"), text).0, "17");
    assert_eq!(
        noted(&format!("scan {options}"), text)
            .0
            .split([' ', ','])
            .next_back(),
        Some("8")
    );
    assert_eq!(noted(&format!("reduce --flatten {options}"), text).0, "17");
    // A first row that is too long to look at says how long the others are, too.
    let long = format!("{}1\n2\n", "0,".repeat(1 << 20));
    let error = fail("reduce --delimiter ,", &long);
    assert!(
        error.contains("line 2: this row has 1 field, but the first row has 1048577"),
        "{error}"
    );
}

#[test]
fn names_of_rows_are_not_added_up() {
    for (line, text) in [
        ("--delimiter ,", "x,y\n1,1,2\n2,3,4\n"),
        ("--delimiter ,", ",x,y\n0,1,2\n1,3,4\n"),
        ("--delimiter , --header", ",0,1\n0,1,2\n1,3,4\n"),
        ("--delimiter ,", "\"\",\"x\",\"y\"\n\"1\",1,2\n\"2\",3,4\n"),
        ("", "\"x\" \"y\"\n\"1\" 1 2\n\"2\" 3 4\n"),
        ("", "x y\n1 1 2\n2 3 4\n"),
        ("--delimiter , --ragged", "x,y\n1,1,2\n2,3,4\n"),
    ] {
        let (sum, warning) = noted(&format!("reduce {line}"), text);
        assert_eq!(sum, "10", "{line}: {text:?}");
        assert!(
            warning.contains("the first column has no name"),
            "{warning}"
        );
        let sums = noted(&format!("scan {line}"), text).0;
        assert!(
            sums.replace(',', " ").ends_with(" 4 6"),
            "{line}: {text:?}: {sums}"
        );
    }
    for ragged in ["", " --ragged"] {
        let line = format!("reduce --delimiter , --column y{ragged}");
        assert_eq!(pass(&line, "x,y\n1,1,2\n2,3,4\n"), "6");
    }
    let error = fail(
        "reduce --delimiter , --column y --ragged",
        "x,y\n1,1,2\n2,3,4\n3,4\n",
    );
    assert!(
        error.contains("they may begin with names of rows"),
        "{error}"
    );
    // Numbers that name columns are data or names: neither is chosen in silence.
    for (line, text) in [
        ("--delimiter , --missing skip", ",0,1\n0,5,6\n1,7,8\n"),
        ("--delimiter ,", "\"\",\"2020\",\"2021\"\n\"1\",5,6\n"),
        ("--delimiter , --column 1", "\"2020\",\"2021\"\n1,2\n3,4\n"),
        ("", "\"2020\" \"2021\"\n1 2\n3 4\n"),
    ] {
        let error = fail(&format!("reduce {line}"), text);
        assert!(
            error.contains("give --header or --no-header"),
            "{line}: {error}"
        );
    }
    assert_eq!(
        pass("reduce --delimiter ,", "\"1\",\"2\"\n\"3\",\"4\"\n"),
        "10"
    );
}

#[test]
fn a_comma_is_a_delimiter_or_a_decimal_comma() {
    let folder = folder(&[
        ("a.csv", b"a,b\n1,2\n3,4\n" as &[u8]),
        ("b.csv", b"1,5\n2,5\n"),
        ("c.csv", b"x\n1,5\n2,5\n"),
        ("d.csv", b"x;y\n1,5;2\n"),
    ]);
    for line in ["a.csv --column 1", "a.csv", "b.csv", "b.csv --column 1"] {
        let error = fail_in(folder.path(), &format!("reduce --decimal , {line}"), b"");
        assert!(
            error.contains("the commas of the first row may separate columns"),
            "{error}"
        );
        assert!(error.contains("--delimiter ','"), "{error}");
    }
    let sum = |line: &str| pass_in(folder.path(), &format!("reduce --decimal , {line}"), b"");
    assert_eq!(sum("c.csv"), b"4.0\n");
    assert_eq!(sum("d.csv"), b"3.5\n");
    assert_eq!(sum("b.csv --delimiter ;"), b"4.0\n");
    let error = fail("reduce --decimal , --column 1", "a,b\n1,2\n3,4\n");
    assert!(error.contains("may separate columns"), "{error}");
}

#[test]
fn what_can_be_a_name_or_a_range_is_refused() {
    for (column, text, message) in [
        (
            "1-2",
            "1-2,b,c\n1,2,3\n",
            "column 1, which has this name, or columns 1 to 2",
        ),
        (
            "2-",
            "a,2-,c\n1,2,3\n",
            "column 2, which has this name, or columns 2 to 3",
        ),
        (
            "a:b",
            "a:b,a,b\n1,2,3\n",
            "column 1, which has this name, or columns 2 to 3",
        ),
        (
            "a:b:c",
            "a,b:c,a:b,c\n1,2,3,4\n",
            "columns 1 to 2, or columns 3 to 4",
        ),
    ] {
        let error = fail(&format!("reduce --delimiter , --column {column}"), text);
        assert!(error.contains(message), "{column}: {error}");
    }
    assert_eq!(
        pass("reduce --delimiter , --column name:1-2", "b,1-2\n1,2\n"),
        "2"
    );
    assert_eq!(
        pass("reduce --delimiter , --column a:b", "a:b,c\n1,2\n"),
        "1"
    );
}

/// Whether a column is read does not depend on how late its first number comes.
#[test]
fn columns_that_begin_empty_are_read() {
    let empty = "1,\n".repeat(2000);
    let text = format!("a,b\n{empty}2,5\n");
    assert_eq!(
        noted("reduce --delimiter , --missing skip", &text).0,
        "2007"
    );
    let empty = "1,\n".repeat(6 << 20);
    let text = format!("a,b\n{empty}2,5\n");
    let error = fail("reduce -q --delimiter , --missing skip", &text);
    assert!(
        error.contains("`5` is the first number of a column that seemed empty"),
        "{error}"
    );
}
