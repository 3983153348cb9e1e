//! Which fields of a table are its data: rows that do not fit, names of rows, headers of numbers.

use crate::support::{fail, fail_in, folder, noted, pass, pass_in};

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
        ("--delimiter ,", ",x,y\n0,1,2\n1,3,4\n"),
        ("--delimiter , --header", ",0,1\n0,1,2\n1,3,4\n"),
        ("--delimiter ,", "\"\",\"x\",\"y\"\n\"1\",1,2\n\"2\",3,4\n"),
        ("", "\"x\" \"y\"\n\"1\" 1 2\n\"2\" 3 4\n"),
    ] {
        let (sum, warning) = noted(&format!("reduce {line}"), text);
        assert_eq!(sum, "10", "{line}: {text:?}");
        assert!(
            warning.contains("the first column has no name"),
            "{warning}"
        );
        let sums = noted(&format!("scan {line}"), text).0;
        assert!(
            sums.replace([',', '\t'], " ").ends_with(" 4 6"),
            "{line}: {text:?}: {sums}"
        );
    }
    for ragged in ["", " --ragged"] {
        let line = format!("reduce --delimiter , --row-names --column y{ragged}");
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

/// Names of rows are quoted, or the user says that they are there.
#[test]
fn a_short_header_is_that_of_named_rows_alone() {
    for (line, text, what) in [
        (
            "--delimiter ,",
            "date,amount\n2024-01-02,1,250\n2024-01-03,2,500\n",
            "numbers with a comma in them",
        ),
        (
            "--delimiter ,",
            "x,y\n1,5,7\n2,25,8\n",
            "numbers with a comma",
        ),
        (
            "--delimiter ,",
            "x,y\nann,1,250.5\nbob,-2,500\n",
            "numbers with a comma",
        ),
        (
            "",
            "date amount\n2024-01-02 1 250\n2024-01-03 12 500\n",
            "numbers with a space",
        ),
        (
            "--delimiter tab",
            "x\ty\na\t1\t2\nb\t3\t4\n",
            "a column without a name",
        ),
        (
            "--delimiter ;",
            "x;y\n0.5;1;2\n1.5;3;4\n",
            "a column without a name",
        ),
        (
            "",
            "year pop\n2001 5 7\n2002 6 9\n",
            "a column without a name",
        ),
    ] {
        for column in ["", " --column 2", " --column 3 -q", " --ragged"] {
            let error = fail(&format!("reduce {line}{column}"), text);
            assert!(error.contains(what), "{line}{column}: {text:?}: {error}");
            let line = format!("reduce {line}{column} --row-names");
            let (sum, warning) = noted(&line, text);
            assert!(sum.parse::<f64>().is_ok());
            // That each row has one is said.
            let is_one = text.contains("250");
            assert_eq!(warning.contains("can be one number"), is_one, "{warning}");
        }
    }
    for (line, text, sum) in [
        (
            "--delimiter tab --column y --row-names",
            "x\ty\na\t1\t2\nb\t3\t4\n",
            "6",
        ),
        (
            "--column y",
            "\"x\" \"y\"\n\"a\" 1 250\n\"b\" 2 500\n",
            "750",
        ),
        (
            "--delimiter , --column y",
            "\"x\",\"y\"\n\"a\",1.5,2\n\"b\",3.5,4\n",
            "6",
        ),
        (
            "--delimiter , --column y --row-names",
            "y\n1,5\n2,5\n",
            "10",
        ),
    ] {
        assert_eq!(pass(&format!("reduce {line}"), text), sum, "{text:?}");
    }
    let error = fail("reduce --delimiter , --row-names --column x", "x,y\n1,2\n");
    assert!(error.contains("leave --row-names out"), "{error}");
    // Numbers that are left out are told of, whatever the user wants.
    let (_, warning) = noted("reduce -q --delimiter ,", ",x\n1,2\n2,3\n");
    assert!(
        warning.contains("the first column has no name"),
        "{warning}"
    );
    let (_, warning) = noted("reduce -q --delimiter ,", "a,b\n1,x\n2,y\n3,9\n");
    assert!(
        warning.contains("more words than numbers are left out: b"),
        "{warning}"
    );
}

/// A word of the header can stand in its column, too.
#[test]
fn numbers_that_may_be_names_are_no_data_in_silence() {
    for (line, text) in [
        (
            "--delimiter , --column 3",
            "Total,2019,2020\nx,1,2\nTotal,4,6\n",
        ),
        ("--delimiter , --column 2", "id,2020\nid,5\n"),
        ("--delimiter , --column 3", "id,0,1,2\nid,5,6,7\n"),
        ("--delimiter , --column 2", "q,0.25,0.5,0.75\nq,5,6,7\n"),
        ("--delimiter , --column 2", "Total,2019,Sum\nTotal,4,6\n"),
        (
            "--delimiter , --column 2",
            "\"Total\",\"50\",\"9\"\n\"Total\",4,6\n",
        ),
        ("--column 1", "2019 2020 Total\n1 2 3\n"),
    ] {
        for command in ["reduce", "sort", "stats", "top"] {
            let error = fail(&format!("{command} {line}"), text);
            assert!(
                error.contains("give --header or --no-header"),
                "{text:?}: {error}"
            );
        }
        noted(&format!("reduce {line} --header"), text);
    }
    // A number with a comment behind it is no name.
    let error = fail("reduce", "5# x\n1 2\n3 4\n");
    assert!(error.contains("put a space before it"), "{error}");
    let error = fail("reduce --column 2", "5# x\n1 2\n3 4\n");
    assert!(error.contains("give --header"), "{error}");
    for (line, text, sum) in [
        ("--column 1", "5,setosa\n6,setosa\n", "11"),
        ("--column 2", "5# x,6\n1,2\n", "8"),
        ("--column 2", "ann,2019\nbob,2020\nann,2021\n", "6060"),
        ("--column 1", "5.1,3.5,x\n4.9,3,x\n", "10.0"),
        ("--column 2", "2026-01-01,2020\n2026-01-02,5\n", "2025"),
    ] {
        assert_eq!(pass(&format!("reduce --delimiter , {line}"), text), sum);
    }
}

#[test]
fn a_semicolon_beside_numbers_may_be_the_delimiter() {
    let folder = folder(&[
        ("a.csv", b"1;2,5\n3;4,5\n" as &[u8]),
        ("b.csv", b"a;b\n1,5;2\n2,5;3\n"),
        ("c.csv", b"x;1,5\ny;2,5\n"),
        ("d.csv", b"1|2,5\n3|4,5\n"),
        ("list.csv", b"n,tags\n1,5;6\n2,7\n"),
    ]);
    for (file, mark, sum) in [
        ("a.csv --column 2", ';', "7.0\n"),
        ("b.csv --column 1", ';', "4.0\n"),
        ("c.csv --no-header --column 2", ';', "4.0\n"),
        ("d.csv --column 2", '|', "7.0\n"),
    ] {
        let error = fail_in(folder.path(), &format!("reduce {file}"), b"");
        let remedy = format!("give --delimiter '{mark}' --decimal , if they do");
        assert!(error.contains(&remedy), "{file}: {error}");
        let line = format!("reduce {file} --delimiter {mark} --decimal ,");
        assert_eq!(pass_in(folder.path(), &line, b""), sum.as_bytes(), "{file}");
    }
    let (sum, warning) = noted("reduce -q --delimiter , --column 2", "1;2,5\n3;4,5\n");
    assert_eq!(sum, "10");
    assert!(warning.contains("may separate columns"), "{warning}");
    assert_eq!(
        pass_in(folder.path(), "reduce --column n list.csv", b""),
        b"3\n"
    );
}

/// What a table is cannot be told before its first row ends.
#[test]
fn a_first_row_that_is_broken_is_an_error_in_every_command() {
    let wide = format!("{},b\n1,2\n", "a".repeat(17_000_000));
    let folder = folder(&[
        (
            "semicolons.csv",
            b"\"\";\"mpg\"\n\"a\";21,5\n\"b\";22,8\n" as &[u8],
        ),
        ("open.csv", b"\"a,b\n1,2\n3,4\n"),
        ("behind.csv", b"# c\n\"x\"y,b\n1,2\n"),
        ("wide.csv", wide.as_bytes()),
    ]);
    for command in [
        "reduce",
        "stats",
        "scan",
        "scan --reverse",
        "scan --json",
        "sort",
        "top",
        "unique",
        "select --gt 0",
        "histogram --bins 1",
    ] {
        for file in ["semicolons.csv", "open.csv", "behind.csv", "wide.csv"] {
            for column in ["", " --column b"] {
                let error = fail_in(folder.path(), &format!("{command} {file}{column}"), b"");
                assert!(
                    !error.contains("no row at all"),
                    "{command} {file}: {error}"
                );
            }
        }
    }
    let error = fail_in(folder.path(), "stats semicolons.csv", b"");
    assert!(
        error.contains("follows the quote that closes") && error.contains("--delimiter ';'"),
        "{error}"
    );
    let line = "reduce semicolons.csv --column mpg --delimiter ; --decimal ,";
    assert_eq!(pass_in(folder.path(), line, b""), b"44.3\n");
}

#[test]
fn tabs_between_columns_of_words_are_told() {
    for (column, text) in [
        ("name", "first name\tb\n1\t2\n3\t4\n"),
        ("b", "a\tb\tc\n1\t\t60\n2\t\t70\n"),
        ("pop", "city\tyear\tpop\nOslo\t2001\t5\nNew York\t2002\t6\n"),
        (
            "year",
            "year\tpop\tplace\n2001\t5\tNew York\n2002\t6\tLos Angeles\n",
        ),
    ] {
        let error = fail(&format!("reduce --column {column}"), text);
        assert!(error.contains("give --delimiter tab"), "{text:?}: {error}");
        assert!(!error.contains("--ragged"), "{text:?}: {error}");
    }
    assert_eq!(
        pass(
            "reduce --delimiter tab --column year",
            "year\tpop\tplace\n2001\t5\tNew York\n2002\t6\tLos Angeles\n"
        ),
        "4003"
    );
}

#[test]
fn years_above_words_of_numbers_are_told() {
    let text = "1990 1991 1992\n5 6 7\n8 9 10\n";
    let (_, warning) = noted("reduce -q", text);
    assert!(warning.contains("look like names of columns"), "{warning}");
    assert_eq!(pass("reduce --header", text), "45");
    for (line, text) in [
        ("reduce -q --no-header", text),
        ("reduce -q", "1990 1991 1992\n1993 1994 1995\n"),
    ] {
        assert_eq!(noted(line, text).1, "", "{line}");
    }
}

#[test]
fn a_header_that_comes_again_is_asked_for_and_told() {
    let text = "name,10,25,100\na,1,2,3\nname,10,25,100\nb,3,4,5\n";
    for line in ["--column 2", "", "--column 3 --column 4"] {
        let error = fail(&format!("reduce --delimiter , {line}"), text);
        assert!(error.contains("line 3 repeats it"), "{error}");
        assert!(error.contains("--header or --no-header"), "{error}");
    }
    let (sum, warning) = noted("reduce -q --delimiter , --header --column 3", text);
    assert_eq!(sum, "31");
    assert!(warning.contains("line 3 repeats the header"), "{warning}");
    let (_, warning) = noted("reduce -q --delimiter , --column name:25", text);
    assert!(warning.contains("line 3 repeats the header"), "{warning}");
    // Far below the first rows, too.
    let part = format!("name 10\n{}", "a 1\n".repeat(3000));
    let (_, warning) = noted("reduce -q --header --column 2", &part.repeat(3));
    assert!(
        warning.contains("2 rows, from line 3002 on, repeat the header"),
        "{warning}"
    );
    assert_eq!(
        pass("reduce --delimiter , --no-header --column 3", text),
        "56"
    );
    // Data that come again.
    for (text, sum) in [("5,x\n6,y\n5,x\n", "16"), ("5,x\n5,x\n", "10")] {
        assert_eq!(
            pass("reduce --delimiter , --column 1", text),
            sum,
            "{text:?}"
        );
    }
    let text = "x,5\ny,6\nx,5\nx,7\n";
    assert_eq!(pass("reduce --delimiter , --column 2", text), "23");
}

/// Words and empty fields can make up for one another.
#[test]
fn tabs_are_told_also_where_rows_are_as_long() {
    let flags = "date\tvalue\tflag\n2024-01-01 00:00\t5\t\n2024-01-02 00:00\t6\t\n";
    for (line, text) in [
        ("--column flag", flags),
        ("", flags),
        ("--column 3 --ragged", flags),
        (
            "--column 2",
            "New York\t5\t\nLos Angeles\t6\t\nOslo\t7\t8\n",
        ),
        ("--column 2", "1 2\t3\n4 5\t6\n"),
        ("--column c", "a\tb\tc\n\t1 2\t3\n4\t5\t6\n"),
        ("--column 1", "\t1\t2 5\n3\t4\t6\n"),
    ] {
        let error = fail(&format!("reduce {line}"), text);
        assert!(
            error.contains("give --delimiter tab") && error.contains("--delimiter space"),
            "{text:?}: {error}"
        );
    }
    for (line, text, sum) in [
        ("--column flag --delimiter space", flags, "11"),
        ("--column value --delimiter tab", flags, "11"),
        ("--column 2 --no-header", "a\t1\nb\t2\n", "3"),
        ("--column 2 --no-header", "a\t\t1\nbbbbbbbbb\t2\n", "3"),
        ("--column 2 --no-header", "\ta \t 1\t\n\tb\t2\t\n", "3"),
        ("--column 2 --no-header", "a\t1\t# one\nb\t2\n", "3"),
        ("--column 3 --no-header", "a\tb 1\nc d 2\n", "3"),
    ] {
        assert_eq!(pass(&format!("reduce {line}"), text), sum, "{text:?}");
    }
}

#[test]
fn ragged_says_what_it_leaves_out() {
    for (line, text, count) in [
        (
            "--column b",
            "a b\n1 2 3\n4 5\n",
            "1 field beyond those of the header was",
        ),
        (
            "--delimiter ,",
            "a,b\n1,2,3,4\n5,6,7\n",
            "3 fields beyond those of the header were",
        ),
        (
            "--column 1",
            "1 2\n3 4 5\n",
            "1 field beyond those of the first row was",
        ),
    ] {
        let (_, note) = noted(&format!("reduce --ragged {line}"), text);
        assert!(note.contains(count), "{text:?}: {note}");
    }
    assert_eq!(
        pass("reduce --ragged --delimiter ,", "a,b\n1,2,\n3,4\n"),
        "10"
    );
    // White space does not tell which field lacks.
    let error = fail("reduce --column c", "a b c\n1 2 3\n4   6\n");
    assert!(
        !error.contains("--ragged") && error.contains("fill the gaps"),
        "{error}"
    );
    let error = fail("reduce --column c", "a b c\n1 2 3\n4 5 6 7\n");
    assert!(error.contains("--ragged"), "{error}");
}
