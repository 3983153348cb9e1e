//! What can be read in two ways is asked about, refused, or said.

use crate::support::{fail, fail_in, folder, noted, pass, pass_in, run_in};
use std::path::Path;

/// They are 1 and 0 in words as in columns; among others that is said, and above others they may
/// be names, as R counts them.
#[test]
fn truth_values_are_said_where_they_mix() {
    for (line, text) in [
        ("reduce", "TRUE FALSE TRUE\n"),
        ("reduce", "x\nTRUE\nFALSE\nTRUE\n"),
        ("reduce --delimiter ,", "TRUE,FALSE\nTRUE,FALSE\n"),
        ("reduce", "true 0 1\n"),
    ] {
        assert_eq!(pass(line, text), "2", "{text:?}");
    }
    for (line, text) in [
        ("reduce -q", "3 TRUE 12\n"),
        ("reduce -q --delimiter ,", "x\n3\nTRUE\n12\n"),
        ("reduce -q --delimiter ,", "x\n3.0\nTRUE\n12\n"),
    ] {
        let (sum, warning) = noted(line, text);
        assert_eq!(sum.parse(), Ok(16.0), "{text:?}");
        assert!(warning.contains("read as 1 and 0"), "{text:?}: {warning}");
    }
    let counts = "FALSE  TRUE \n   12    30 \n";
    for line in ["reduce", "stats", "scan"] {
        let error = fail(line, counts);
        assert!(error.contains("--header or --no-header"), "{line}: {error}");
    }
    assert_eq!(
        pass("reduce --header --column 1-2", counts),
        "FALSE TRUE 12 30"
    );
    assert_eq!(noted("reduce --no-header", counts).0, "43");
}

#[test]
fn codes_with_zeros_in_front_are_keys_of_their_own() {
    let text = "zip,n\n01234,1\n12345,2\n01234,3\n";
    assert_eq!(
        noted("group --delimiter , --by zip", text).0,
        "zip,count,n_sum,n_mean,n_min,n_max 01234,2,4,2.0,1,3 12345,1,2,2.0,2,2"
    );
    let (rows, note) = noted("sort --delimiter , --by zip:desc", text);
    assert_eq!(rows, "zip,n 12345,2 01234,1 01234,3");
    assert!(note.contains("zeros in front"), "{note}");
    assert_eq!(
        noted("top -k 1 --bottom --delimiter , --by zip", text).0,
        "zip,n 01234,1"
    );
    // Rows that are ordered by another column lose them, which is said.
    for command in ["sort -q --by n", "top -q --by n", "select -q --gt 0"] {
        let (rows, warning) = noted(&format!("{command} --delimiter ,"), text);
        assert!(rows.contains(" 1234,"), "{rows}");
        assert!(warning.contains("lose them: zip"), "{command}: {warning}");
    }
    // Of several lengths they may be numbers.
    let text = "k,n\n001,1\n01,2\n1,3\n";
    for command in ["group", "sort", "top", "group --runs"] {
        let error = fail(&format!("{command} --delimiter , --by k"), text);
        assert!(error.contains("give --dtype i64"), "{command}: {error}");
    }
    assert_eq!(
        pass("group --delimiter , --by k --dtype i64", text),
        "k,count,n_sum,n_mean,n_min,n_max 1,3,6,2.0,1,3"
    );
    // Also where the first thousands have none.
    let late = format!("k,n\n{}0700,1\n", "7001,1\n".repeat(3000));
    assert!(
        noted("group --delimiter , --by k", &late)
            .0
            .contains(" 0700,1,")
    );
    let gap = "k,n\n01,1\n,2\n01,3\n02,4\n";
    let (groups, _) = noted("group --delimiter , --by k --missing nan", gap);
    assert!(
        groups.contains(" 01,2,4,") && groups.contains(" 02,1,4,"),
        "{groups}"
    );
    // Numbers with fractions or signs are none, and dates are of one length.
    for (text, rows) in [
        ("k,n\n00.50,1\n-01.5,2\n", "k,n -1.5,2 0.5,1"),
        ("k,n\n0.5,1\n0,2\n", "k,n 0.0,2 0.5,1"),
        ("k,n\n10,1\n0,2\n", "k,n 0,2 10,1"),
        ("k,n\n-01,1\n02,2\n", "k,n -1,1 2,2"),
    ] {
        assert_eq!(pass("sort --delimiter , --by k", text), rows, "{text:?}");
    }
    for (line, text) in [
        ("unique", "001 01 1\n"),
        ("unique --sort", "1\n2\n01\n"),
        ("unique --delimiter , --column k", "k,n\n01,1\n1,2\n"),
        ("unique --flatten --delimiter ,", "1,01\n"),
    ] {
        let error = fail(line, text);
        assert!(error.contains("zeros in front"), "{text:?}: {error}");
        let numbers = pass(&format!("{line} --dtype i64"), text);
        assert!(numbers.starts_with('1'), "{numbers}");
    }
    assert_eq!(pass("unique", "0 0 10 100"), "0 10 100");
}

/// Where tabs separate words in each row, one row in which they do not is told of, however late.
#[test]
fn a_row_that_tabs_cut_otherwise_is_told_of() {
    let rows = "1\t2\t3\n".repeat(5000);
    for (line, odd) in [
        ("reduce --column 3", "a b\t\t7\n"),
        ("reduce --column 3", "1 5\t2\t\n"),
        ("reduce --column 2", "\t5\t2 7\n"),
        ("reduce", "4\t\t6\n"),
        ("reduce", "\t4\t6\n"),
        ("scan", "4\t6\t\n"),
    ] {
        for text in [
            format!("{rows}{odd}"),
            format!("{rows}{odd}{rows}"),
            format!("1\t2\t3\n1\t2\t3\n{odd}"),
        ] {
            let error = fail(line, &text);
            assert!(error.contains("give --delimiter tab"), "{odd:?}: {error}");
        }
    }
    for (line, text, sum) in [
        // Also where blocks end within a gap.
        ("reduce", "1\t2\n".repeat(1 << 20), "3145728"),
        ("reduce", "1\t2\n3\t4\t5\n".into(), "15"),
        ("reduce", "1\t2\n3 4\n".into(), "10"),
        ("reduce", "1\t2\t\n3\t4\n".into(), "10"),
        ("reduce", "1\t\t2\n3\t4\n".into(), "10"),
        ("reduce", "1\t2 # one\n3\t4\n".into(), "10"),
        ("reduce --delimiter space", "1\t2\n3\t\t4\n".into(), "10"),
    ] {
        assert_eq!(pass(line, &text), sum, "{:?}", &text[..8]);
    }
}

#[test]
fn spaces_between_thousands_of_words_are_asked_about() {
    for text in [
        "1 234,50\n3,00\n",
        "1 234,50\n2 345,60\n",
        "-1 234,50\n",
        "1 234 567,5\n12 345,5\n",
        "a 1 234,50\nb 2 100,00\n",
    ] {
        for line in ["reduce", "stats", "reduce --column 2"] {
            let error = fail(&format!("{line} --decimal ,"), text);
            assert!(
                error.contains("--delimiter ';' --thousands space")
                    && error.contains("--delimiter space"),
                "{text:?}: {error}"
            );
        }
    }
    let line = "reduce --decimal , --thousands space --delimiter ;";
    assert_eq!(pass(line, "1 234,50\n3,00\n"), "1237.5");
    for (line, text, sum) in [
        (
            "reduce --decimal , --delimiter space",
            "1 234,50\n",
            "235.5",
        ),
        // Other columns than groups of three digits.
        ("reduce --decimal ,", "1 234,50\n2 99,5\n", "337.0"),
        ("reduce --decimal ,", "1,5 234,50\n", "236.0"),
        ("reduce", "1 234\n2 345\n", "582"),
        ("reduce", "1 234\n2 99\n", "336"),
    ] {
        assert_eq!(pass(line, text), sum, "{text:?}");
    }
    let (sum, warning) = noted("reduce -q", "12 345\n1 234 567\n999\n");
    assert_eq!(sum, "2158");
    assert!(warning.contains("--thousands space"), "{warning}");
    assert_eq!(
        pass(
            "reduce --delimiter ; --thousands space",
            "12 345\n1 234 567\n999\n"
        ),
        "1247911"
    );
}

#[test]
fn integers_that_a_fold_rounds_are_told_of() {
    let bytes: Vec<u8> = [9_007_199_254_740_993_i64, 1]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let folder = folder(&[
        ("x.bin", &bytes[..]),
        ("t.csv", b"a,b\n9007199254740993,1\n"),
        ("o.txt", b"0 2"),
    ]);
    for line in [
        "reduce --dtype i64 x.bin",
        "reduce --dtype i64 --op mul x.bin",
        "scan --dtype i64 x.bin --output-format text",
        "segments --offsets o.txt --dtype i64 x.bin --output-format text",
        "reduce t.csv",
        "reduce --column 1-2 t.csv",
        "scan t.csv",
    ] {
        let output = run_in(folder.path(), &format!("{line} -q --accumulate f64"), b"");
        let warning = String::from_utf8_lossy(&output.stderr);
        assert!(
            warning.contains("integers beyond 2^53 are rounded to f64"),
            "{line}: {warning}"
        );
    }
    let (sum, note) = noted("reduce --accumulate f64", "9007199254740992 1");
    assert_eq!(sum, "9007199254740992.0");
    assert!(note.contains("the result is 2^53 or beyond"), "{note}");
    let (_, note) = noted("scan --accumulate f64", "9007199254740990 1 1 1");
    assert!(
        note.contains("the result at position 2, from 0, is 2^53"),
        "{note}"
    );
    assert_eq!(
        pass("reduce --accumulate f64", "9007199254740990 1"),
        "9007199254740991.0"
    );
}

#[test]
fn letters_that_look_like_digits_are_told() {
    for (word, number) in [
        ("O.5", "0.5"),
        ("l0", "10"),
        ("1O", "10"),
        ("I.5", "1.5"),
        ("l.5", "1.5"),
    ] {
        for text in [format!("{word}\n1.5\n"), format!("1.5\n{word}\n")] {
            let error = fail("reduce --no-header", &text);
            assert!(
                error.contains("look like digits") && error.contains(number),
                "{word}: {error}"
            );
        }
        let error = fail("reduce --no-comments", &format!("{word}\n1.5\n"));
        assert!(error.contains("look like digits"), "{word}: {error}");
        for line in ["reduce --column 1", "stats --delimiter ,"] {
            let error = fail(line, &format!("{word}\n20\n30\n"));
            assert!(
                error.contains("--header or --no-header") || error.contains("look like digits"),
                "{word}: {error}"
            );
        }
    }
    // Names are names.
    for text in ["O2,t\n1,2\n", "t,I0\n1,2\n", "l1,l2,n\n1,2,3\n"] {
        pass("reduce --delimiter ,", text);
    }
    assert_eq!(pass("reduce --column O2", "O2\n1\n2\n"), "3");
}

#[test]
fn the_bounds_of_options_have_the_marks_of_the_text() {
    let text = "0,5\n1,5\n2,5\n";
    assert_eq!(pass("select --decimal , --gt 1,5", text), "2.5");
    assert_eq!(pass("select --decimal , --ge 1,5 --lt 2,5", text), "1.5");
    assert_eq!(pass("select --decimal , --eq 1.5", text), "1.5");
    assert_eq!(pass("reduce --decimal , --init 0,5", text), "5.0");
    assert_eq!(pass("scan --decimal , --init 1,5", "0,5\n"), "2.0");
    assert_eq!(
        pass("histogram --decimal , --bins 1 --range 0,5 1,5", text),
        "0.5,1.5,2"
    );
    assert_eq!(
        pass(
            "select --thousands , --gt 1,500 --delimiter ;",
            "1,500\n2,000\n"
        ),
        "2000"
    );
    let error = fail("select --gt 1,5", "1.5\n");
    assert!(error.contains("write a point"), "{error}");
    let error = fail("select --decimal , --thousands . --gt 1.5", "1,5\n");
    assert!(error.contains("between thousands"), "{error}");
}

#[test]
fn colours_and_lists_are_named() {
    for (text, what) in [
        ("\u{1b}[31m5\u{1b}[0m\n", "colours of a terminal"),
        ("[1, 2]\n", "tr -d '[]{}'"),
        ("1\n[2\n", "tr -d '[]{}'"),
        ("{\"a\": 1}\n", "jq takes numbers"),
        ("1\n1/2\n", "it is a fraction"),
        ("1\n1-2\n", "a range"),
        ("1.5\n1.5-300\n", "1.5E-300"),
        ("1\n5-\n", "-5 for 5-"),
        ("1\n1+2j\n", "complex"),
        ("1\n(1+2j)\n", "complex"),
        ("1\n1.5x10^3\n", "1.5e3"),
        ("1\n=\"5\"\n", "formula"),
        ("1\n1.5e+\n", "cut off"),
        ("1\n0b11\n", "binary"),
        ("1\n0o17\n", "octal"),
        ("1\n****\n", "no room"),
        ("(1, 2)\n", "tr -d '()'"),
        ("1.5\n1.5\u{b1}0.1\n", "an error or a mark"),
        ("1.5\n1.234(5)\n", "an error or a mark"),
        ("1.5\n1.5[2]\n", "an error or a mark"),
        ("< 5\n", "a sign by itself"),
        ("$ 5\n", "a sign by itself"),
        ("1\n1:30.5\n", "a date or a time"),
        ("1\n\u{ff11}\u{ff12}\n", "write 12"),
        ("1\n\u{663}\n", "write 3"),
    ] {
        let error = fail("reduce", text);
        assert!(error.contains(what), "{text:?}: {error}");
    }
}

/// Tapes and archives end their blocks with zeros.
#[test]
fn zeros_behind_gzip_are_no_data() {
    use std::io::Write;
    let pack = |text: &[u8]| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    };
    let two = [pack(b"1\n"), pack(b"2\n")].concat();
    for zeros in [1, 2, 3, 10, 511, 20_000] {
        let padded = [&two[..], &vec![0; zeros]].concat();
        assert_eq!(
            pass_in(Path::new("."), "reduce", &padded),
            b"3\n",
            "{zeros}"
        );
    }
    for more in [&b"\0\0x"[..], b"junk and more junk", b"\0\x1f\x8b"] {
        let error = fail_in(Path::new("."), "reduce", &[&two[..], more].concat());
        assert!(error.contains("not gzip throughout"), "{error}");
    }
}

#[test]
fn other_kinds_of_files_are_named() {
    let mut tar = b"x.txt".to_vec();
    tar.resize(257, 0);
    tar.extend(b"ustar\x0000");
    tar.resize(1024, 0);
    for (bytes, what) in [
        (&tar[..], "an archive of tar"),
        (
            b"MATLAB 5.0 MAT-file, Platform: GLNXA64",
            "a file of MATLAB",
        ),
        (b"$FL2@(#) SPSS DATA FILE", "a file of SPSS"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"\xff\xfe\0\x001\0\0\0", "UTF-32"),
        (b"\xff\xfe1\0", "UTF-16"),
        (b"RDX3\nX\n", "a file of R"),
        (b"SQLite format 3\0", "SQLite"),
    ] {
        let error = fail_in(Path::new("."), "reduce", bytes);
        assert!(error.contains(what) && error.contains("remedy"), "{error}");
    }
}

/// It is told whatever stands in its first field, in quotes, and where it is the only one.
#[test]
fn rows_that_begin_as_comments_are_told() {
    for (line, text) in [
        (
            "reduce --no-header --delimiter , --column 2",
            "#A1,5\nB2,6\n",
        ),
        (
            "reduce --no-header --delimiter tab --column 2",
            "#FF0000\t12\n00FF00\t5\n",
        ),
        ("reduce --column 2", "#user1 12\nbob 5\nbob 6\n"),
        (
            "reduce --delimiter , --column v",
            "k,t,v\n#a,\"x, y\",5\nb,\"z, w\",6\n",
        ),
        (
            "reduce --column score",
            "name score\n\"x y\" 5\n#\"c d\" 7\nd 6\n",
        ),
        ("reduce --delimiter ,", "id\n#12\n15\n"),
        ("reduce", "#5\n6\n7\n"),
    ] {
        let (_, note) = noted(line, text);
        assert!(note.contains("looks like data"), "{line}: {text:?}: {note}");
    }
    for (line, text, sum) in [
        ("reduce", "#samples 3\n1\n2\n3\n", "6"),
        ("reduce --delimiter ,", "#made 2020,by me\n1,2,3\n", "6"),
        ("reduce", "# 5\n6\n7\n", "13"),
    ] {
        assert_eq!(pass(line, text), sum, "{text:?}");
    }
}

#[test]
fn files_that_their_name_calls_raw_are_looked_at() {
    let folder = folder(&[
        ("packed.bin", b"\x1f\x8b\x08\0\0\0\0\0"),
        ("arrays.raw", b"PK\x03\x04\0\0\0\0"),
        ("numbers.bin", b"\xff\xfe\0\0\x01\0\0\0"),
    ]);
    for (file, what) in [("packed.bin", "gzip -dc"), ("arrays.raw", ".npz")] {
        let error = fail_in(folder.path(), &format!("reduce --dtype u8 {file}"), b"");
        assert!(
            error.contains(what) && error.contains("--format raw"),
            "{error}"
        );
        let line = format!("reduce --dtype u8 --format raw {file}");
        assert!(!pass_in(folder.path(), &line, b"").is_empty());
    }
    assert_eq!(
        pass_in(folder.path(), "reduce --dtype u32 numbers.bin", b""),
        b"65280\n"
    );
}

/// A comma between columns is not moved with the sign.
#[test]
fn the_remedy_for_a_sign_behind_leaves_the_other_column() {
    let line = "reduce --delimiter , --column amount";
    let text = "qty,amount\n3,5-\n4,6\n";
    let error = fail(line, text);
    assert!(error.contains("write -5 for 5-, as sed"), "{error}");
    #[cfg(unix)]
    assert_eq!(
        crate::support::mended(&error, text),
        "qty,amount\n3,-5\n4,6\n"
    );
}

/// The remedy takes them together: none takes the sign away, or is about lists.
#[test]
fn signs_and_parentheses_apart_from_their_numbers_are_told() {
    let negative = r"s/\( *([0-9.,]+) *\)/-\1/g";
    for (line, text, remedy) in [
        ("reduce", "1\n( 5 )\n", negative),
        ("reduce", "1\n(5 )\n", negative),
        ("reduce", "1 ( 5) 3\n", negative),
        ("reduce", "$ (5)\n", r"s/\$ *\( *([0-9.,]+) *\)/-\1/g"),
        ("reduce --delimiter ,", "a\n( 5 )\n", negative),
        (
            "reduce --delimiter ,",
            "a\n($5)\n",
            r"s/\( *\$ *([0-9.,]+) *\)/-\1/g",
        ),
        (
            "reduce --delimiter ,",
            "a\nUS$ (5)\n",
            r"s/US\$ *\( *([0-9.,]+) *\)/-\1/g",
        ),
        ("reduce", "3\n- 5\n", r"s/(^| ) *- +([0-9.])/\1-\2/g"),
        ("reduce", "3\n+ 5\n", r"s/(^| ) *\+ +([0-9.])/\1+\2/g"),
        (
            "reduce",
            "3\n\u{2212} 5\n",
            "s/(^| ) *\u{2212} +([0-9.])/\\1-\\2/g",
        ),
        (
            "reduce",
            "3\n\u{2013} 5\n",
            "s/(^| ) *\u{2013} +([0-9.])/\\1-\\2/g",
        ),
        (
            "reduce --delimiter ,",
            "a\n- 5\n",
            r#"s/(^|[,"]) *- +([0-9.])/\1-\2/g"#,
        ),
        (
            "stats --delimiter ,",
            "a,b\n1,- 5\n2,- 6\n3,7\n",
            r"- +([0-9.])/\1-\2/g",
        ),
        ("reduce --delimiter ,", "a\n-$5\n", "tr -d '$'"),
    ] {
        let error = fail(line, text);
        assert!(error.contains(remedy), "{text:?}: {error}");
        assert!(!error.contains("jq"), "{text:?}: {error}");
    }
    // It may be a missing value as well, and before a tab it is one.
    let error = fail("reduce", "3\n- 5\n");
    assert!(error.contains("--missing skip"), "{error}");
    for text in ["1\t-\t5\n", "1 -\n5\n"] {
        let error = fail("reduce", text);
        assert!(!error.contains("sed"), "{text:?}: {error}");
    }
    // A list is one.
    for text in ["( 1, 2 )\n", "( 1 2 3 )\n"] {
        assert!(fail("reduce", text).contains("tr -d '()'"), "{text:?}");
    }
}

/// Numbers above numbers are names where they are periods, or count and the rows do not.
#[test]
fn numbers_that_count_above_others_are_told() {
    for (line, text) in [
        ("stats", "202001,202002,202003\n1,2,3\n4,5,6\n"),
        ("reduce --column 2", "202001,202002,202003\n1,2,3\n4,5,6\n"),
        ("stats", "202011,202012,202101\n10,12,13\n14,15,6\n"),
        ("stats", "20240130,20240131\n10,12\n14,15\n"),
        ("stats", "10,20,30\n7,7,9\n4,9,6\n"),
        ("stats", "1,2,3,4\n70,91,9,12\n34,12,16,8\n"),
        ("stats", "0.5,1.0,1.5\n7,7,9\n4,9,6\n"),
        ("stats", "1,7,30,90\n512,401,388,120\n490,377,265,100\n"),
        ("stats", "400.5,410.5,420.5\n0.12,0.11,0.5\n0.2,0.14,0.6\n"),
        ("stats", "1000,2000\n7,6\n4,9\n"),
    ] {
        for (delimiter, text) in [
            (" --delimiter ,", text.to_owned()),
            (" --delimiter tab", text.replace(',', "\t")),
            ("", text.replace(',', " ")),
        ] {
            let (_, warning) = noted(&format!("{line} -q{delimiter}"), &text);
            assert!(warning.contains("names of columns"), "{text:?}: {warning}");
            for said in ["--header", "--no-header"] {
                let (_, silence) = noted(&format!("{line} -q {said}{delimiter}"), &text);
                assert_eq!(silence, "", "{text:?}");
            }
        }
    }
    for text in [
        "1,2,3\n4,5,6\n7,8,9\n",
        "1,2\n4,5\n9,8\n",
        "10,20,30\n20,40,60\n70,140,210\n",
        "1,2,3\n2,1,4\n0,3,3\n",
        "1,5,9,20\n2,6,10,21\n3,7,12,25\n",
        "5,2,9,1\n7,3,4,8\n",
        "200001,150\n180512,130\n",
    ] {
        for (delimiter, text) in [
            (" --delimiter ,", text.to_owned()),
            ("", text.replace(',', " ")),
        ] {
            pass(&format!("stats{delimiter}"), &text);
        }
    }
    // One sequence in several lines.
    pass("reduce", "1 2 3 4 5\n60 7 80 9\n1 2\n");
}

/// The parser of the standard library caps exponents, which zeros can make up for.
#[test]
fn exponents_of_any_length_are_read_right() {
    let zeros = "0".repeat(100_000);
    let nines = "9".repeat(100_000);
    for (number, value) in [
        (format!("1e{zeros}"), 1.0),
        (format!("2e{zeros}1"), 20.0),
        (format!("3e-{zeros}1"), 0.3),
        (format!("-1e-{nines}"), -0.0),
        (format!("0e{nines}"), 0.0),
        (format!("0.{zeros}125e100003"), 125.0),
        (format!("0.{zeros}1e100001"), 1.0),
        (format!("+125{zeros}e-100001"), 12.5),
        (format!("{zeros}7.5{zeros}e+0"), 7.5),
        (format!("-.{zeros}5e+100001"), -5.0),
    ] {
        let sum = pass("reduce --dtype f64", &number);
        assert_eq!(sum.parse(), Ok(value), "{}", &number[..9]);
    }
    for number in [
        format!("1e{nines}"),
        format!("{zeros}1{zeros}"),
        format!("1{zeros}e-1"),
    ] {
        let error = fail("reduce --dtype f64", &number);
        assert!(error.contains("out of the range"), "{error}");
    }
    for number in [
        format!("1e{zeros}x"),
        format!("1e+-{zeros}"),
        format!("1.{zeros}.e1"),
    ] {
        let error = fail("reduce --dtype f64", &number);
        assert!(error.contains("is not a number"), "{error}");
    }
}
