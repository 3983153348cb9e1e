//! Headers and columns: what is a name and what is data, and which rows fit below them.

use crate::support::{fail, noted, pass};

#[test]
fn headers_are_told_from_data() {
    for (line, text, result) in [
        // Names that are numbers.
        ("--column 2020", "name,2019,2020\nann,1,2\nbob,3,4\n", "6"),
        ("--column name:2", "name,2,1\nann,1,2\nbob,3,4\n", "4"),
        (
            "--column 3 --header",
            "name,2019,2020\nann,1,2\nbob,3,4\n",
            "6",
        ),
        ("--column 3 --no-header", "ann,1,2\nbob,3,4\n", "6"),
        ("--column 1 --header", "2019,2020\n1,2\n", "1"),
        ("--column name:2020", "2019,2020\n1,2\n", "2"),
        ("--column 2", "2026-01-01,5\n2026-01-02,6\n", "11"),
        // A name that comes again is none.
        ("--column 1", "5,setosa\n6,setosa\n", "11"),
        ("--column 2", "a,b\n1,10\n2,20\n", "30"),
        ("--column 1", "size\n4\n5\n", "9"),
        ("", "size\n4\n5\n", "9"),
        ("--column b", "# a,b\n1,10\n2,20\n", "30"),
        ("--column b", "# a file\n# a,b\n1,10\n2,20\n", "30"),
        ("--column 2", "a,b\n", "0"),
        ("--column b", "a,b\n", "0"),
        ("--column b", "\u{feff}a,b\n1,2", "2"),
        ("--column a", "\u{feff}\"a\",b\n1,2", "1"),
        ("--skip 1 --column 2", "name,age\nann,30\nbob,40\n", "70"),
    ] {
        let line = format!("reduce --delimiter , {line}");
        assert_eq!(pass(&line, text), result, "{line}: {text:?}");
    }
    for (line, text, message) in [
        (
            "--column 3",
            "name,2019,2020\nann,1,2\nbob,3,4\n",
            "give --header or --no-header",
        ),
        (
            "--column 2",
            "unknown,5\n3,6\n4,7\n",
            "give --header or --no-header",
        ),
        (
            "--column 2",
            ",5,6\n1,2,3\n2,4,4\n",
            "give --header or --no-header",
        ),
        (
            "--skip 1 --column 3",
            "made today\nname,2019,2020\nann,1,2\n",
            "give --header or",
        ),
        (
            "--column 2 --header",
            "a,1,2\n5,6,7\n",
            "column 2 is `1`, and column 3 has the name `2`\n  remedy: give --column name:1, or \
             --column name:2",
        ),
        (
            "--column a",
            "a,a\n1,2\n",
            "columns 1 and 2 are both named `a`",
        ),
        ("--column 4", "a,b\n1,2\n", "there is no column 4, only 2"),
        ("--column b", "", "no column is named `b`"),
    ] {
        let line = format!("reduce --delimiter , {line}");
        let error = fail(&line, text);
        assert!(error.contains(message), "{line}: {text:?}: {error}");
    }
    // Words have the headers that tables have.
    for (text, result) in [
        ("# made today\nx y\n1 2\n3 4\n", "6"),
        ("# x y\n1 2\n3 4\n", "6"),
        ("x y # and no more\n1 2\n3 4\n", "6"),
        ("\n\nx, y\n1, 2\n3, 4\n", "6"),
    ] {
        assert_eq!(pass("reduce --column y", text), result, "{text:?}");
    }
    assert_eq!(pass("reduce --column 1", "4096 lib\n512 main\n"), "4608");
    // A name may begin with a hyphen.
    assert_eq!(
        pass("reduce --column -log10(p) ", "-log10(p) x\n3 1\n4 1\n"),
        "7"
    );
}

#[test]
fn what_is_no_name_is_no_header() {
    for text in [
        "<0.1\n2\n3\n",
        "~5\n2\n",
        "=5\n2\n",
        "½\n2\n",
        "ND\n5\n6\n",
        "yes\n1\n",
        "---\n1\n",
        "#DIV/0!\n2\n",
    ] {
        let error = fail("reduce", text);
        assert!(error.contains("line 1"), "{text}: {error}");
    }
    let error = fail("stats --delimiter ,", "\\N,\\N\n1,2\n3,4\n");
    assert!(error.contains("line 1"), "{error}");
    fail("reduce --delimiter , --column a", "a\n5\n#NV\n2\n");
    assert_eq!(pass("reduce --delimiter ,", "größe\n1\n2\n"), "3");
}

/// Nobody sees whether these are names or numbers, so it is said what they are read as.
#[test]
fn integers_that_look_like_names_are_told() {
    for (text, is_told) in [
        ("2020,2021\n1.5,2.5\n", true),
        ("2019,2020,2021\n100,200,300\n", true),
        ("0,1,2\n1.5,2.0,3.5\n", true),
        ("2019,2020\n2021,2022\n", false),
        ("2020,5\n1.5,2.5\n", false),
        ("0,1,2\n3,4,5\n", true),
        ("1,2,3\n3,4,5\n", false),
        ("2020,2021\n", false),
    ] {
        let (_, notes) = noted("stats --delimiter ,", text);
        assert_eq!(
            notes.contains("--header makes them names"),
            is_told,
            "{text:?}"
        );
        assert_eq!(is_told, !notes.is_empty(), "{text:?}");
        for said in ["--header", "--no-header"] {
            let (_, notes) = noted(&format!("stats --delimiter , {said}"), text);
            assert_eq!(notes, "", "{text:?} {said}");
        }
    }
}

#[test]
fn columns_come_in_ranges() {
    let text = "a,b,c,d\n1,2,3,4\n5,6,7,8\n";
    for (line, result) in [
        ("--column 2-3", "2 5 11 18"),
        ("--column 3-", "3 7 14 22"),
        ("--column 2:3", "2 5 11 18"),
        ("--column b:c", "2 5 11 18"),
        ("--column d --column a", "1 5 10 18"),
        ("--column d --column 1-2", "1 3 7 12 18 26"),
    ] {
        // Row by row, as they stand there.
        let flat = pass(&format!("scan --flatten --delimiter , {line}"), text);
        assert_eq!(flat, result, "{line}");
    }
    for (line, message) in [
        ("--column 1-2 --column b", "column 2 is named twice"),
        ("--column 3-9", "there is no column 9, only 4"),
        ("--column 3-2", "no column is named `3-2`"),
        ("--column c:a", "no column is named `c:a`"),
    ] {
        let error = fail(&format!("scan --delimiter , {line}"), text);
        assert!(error.contains(message), "{line}: {error}");
    }
}

#[test]
fn rows_fit_their_header_or_are_refused() {
    // R writes row names, and no name for them.
    for (line, text, result) in [
        (
            "--delimiter , --row-names --column weight",
            "weight,feed\n1,60,0.5\n2,70,0.25\n",
            "130",
        ),
        (
            "--delimiter , --row-names --column feed",
            "weight,feed\n1,60,0.5\n2,70,0.25\n",
            "0.75",
        ),
        (
            "--column weight",
            "\"weight\" \"feed\"\n\"1\" 60 \"horse bean\"\n\"2\" 70 \"x\"\n",
            "130",
        ),
        (
            "--delimiter , --row-names --column 2",
            "weight,feed\n1,60,0.5\n2,70,0.25\n",
            "130",
        ),
        ("--delimiter , --column a", "a,b,\n1,2,\n3,4,\n", "4"),
        ("--delimiter , --column b --ragged", "a,b\n1,2,\n3,4\n", "6"),
        ("--delimiter , --column a --ragged", "a,b\n1\n3,4\n", "4"),
    ] {
        assert_eq!(
            pass(&format!("reduce {line}"), text),
            result,
            "{line}: {text:?}"
        );
    }
    for (line, text, message) in [
        (
            "--delimiter , --column a",
            "a,b\n1,2\n3,4,5\n",
            "line 3: this row has 3 fields, but the header has 2, in line 1",
        ),
        (
            "--delimiter , --column a",
            "a,b\n1,2\n3\n",
            "line 3: this row has 1 field",
        ),
        (
            "--delimiter , --column a",
            "a,b,c\n1,2\n3,4\n",
            "line 2: this row has 2 fields",
        ),
        (
            "--delimiter , --column a",
            "a,b\n1,2,3,4\n5,6,7,8\n",
            "line 2: this row has 4 fields",
        ),
        (
            "--delimiter , --column a",
            "a,b\n1,2,\n3,4,\n",
            "an empty one at their end",
        ),
        (
            "--column b",
            "a b c\n1 2 3\n1 2\n",
            "line 3: this row has 2 fields",
        ),
        (
            "--column 2",
            "1 2\n3 4 5\n",
            "line 2: this row has 3 fields, but the first row has 2",
        ),
        (
            "--delimiter , --column w",
            "w,f\n1,60,5\n2,70\n",
            "line 2: this row has 3 fields",
        ),
        (
            "--delimiter , --column a,b",
            "a,b\n1,2\n",
            "no column is named `a,b`",
        ),
    ] {
        let error = fail(&format!("reduce {line}"), text);
        assert!(error.contains(message), "{line}: {text:?}: {error}");
    }
    assert!(fail("reduce --delimiter , --column a", "a,b\n1\n").contains("--ragged"));
    // What a short row lacks is a missing value.
    let error = fail("reduce --delimiter , --ragged --column b", "a,b\n1,2\n3\n");
    assert!(error.contains("line 3: a number is missing"), "{error}");
    let (sum, note) = noted(
        "reduce --delimiter , --ragged --column b --missing skip",
        "a,b\n1,2\n3\n",
    );
    assert_eq!(
        (sum.as_str(), note.contains("1 missing value was skipped")),
        ("2", true)
    );
}

/// R names the rows of a table of one column, too; and a fraction may stand behind a comma.
#[test]
fn one_name_above_two_fields_is_refused_also_with_ragged() {
    for (line, text) in [
        ("--column x", "\"x\"\n\"1\" 10\n\"2\" 20\n"),
        ("--column x --delimiter tab", "x\n1\t10\n2\t20\n"),
        ("--column x --delimiter ,", "x\n1,5\n2,5\n"),
        ("--delimiter ,", "x\n1,5\n2,5\n"),
    ] {
        for ragged in ["", " --ragged"] {
            let error = fail(&format!("reduce {line}{ragged}"), text);
            assert!(
                error.contains("they may begin with names of rows"),
                "{error}"
            );
            let fraction = error.contains("--decimal , if a comma stands before fractions");
            assert_eq!(fraction, text.contains(','), "{error}");
        }
    }
    assert_eq!(
        pass("reduce --column x --decimal ,", "x\n1,5\n2,5\n"),
        "4.0"
    );
    let text = "a b\n1 2 3\n4 5\n7 8\n";
    assert_eq!(noted("reduce --column b --ragged", text).0, "15");
}
