//! What a message recommends helps, and is not given already.

use crate::support::{fail, fail_in, folder, noted, npy_of, pass, pass_in, run_in};
use std::path::Path;

#[test]
fn another_delimiter_is_named() {
    for (line, text, remedy) in [
        (
            "reduce --column 2",
            "1,2,3\n4,5,6\n",
            "give --delimiter ','",
        ),
        ("reduce --column b", "a;b\n1;2\n", "give --delimiter ';'"),
        (
            "reduce --column b --delimiter ,",
            "a;b\n1;2\n",
            "give --delimiter ';'",
        ),
        (
            "reduce --column b --delimiter ,",
            "a\tb\n1\t2\n",
            "give --delimiter tab",
        ),
        ("reduce --delimiter ,", "1;2\n", "--delimiter ';'"),
        (
            "reduce --column a-c --delimiter ,",
            "a,b,c\n1,2,3\n",
            "give --column a:c",
        ),
    ] {
        let error = fail(line, text);
        assert!(error.contains(remedy), "{line}: {error}");
    }
    for (name, text) in [
        ("x.csv", "sep=;\na;b\n1;2\n"),
        ("x.csv", "\u{feff}sep=;\r\na;b\r\n1;2\r\n"),
        ("x.csv", "sep=,\na,b\n1,2\n"),
        ("x.psv", "a|b\n1|2\n"),
        ("x.tab", "a\tb\n1\t2\n"),
    ] {
        let folder = folder(&[(name, text.as_bytes())]);
        let sum = pass_in(folder.path(), &format!("reduce --column b {name}"), b"");
        assert_eq!(sum, b"2\n", "{text:?}");
    }
}

#[test]
fn dos_ends_a_text_with_a_control_character() {
    assert_eq!(pass("reduce", "1\r\n2\r\n\x1a"), "3");
    assert_eq!(
        pass("reduce --delimiter , --column b", "a,b\r\n1,2\r\n\x1a"),
        "2"
    );
    assert!(fail("reduce", "1\n\x1a2\n").contains("binary data"));
}

#[test]
fn words_for_missing_values_are_known_or_can_be_named() {
    for word in ["\\N", "NaT", "#DIV/0!", "#VALUE!", "N.D.", "#NV"] {
        assert!(
            fail("reduce", &format!("1 {word} 2")).contains("--missing skip"),
            "{word}"
        );
        assert_eq!(
            noted("reduce --missing skip", &format!("1 {word} 2")).0,
            "3",
            "{word}"
        );
    }
    let error = fail("reduce", "1 2\nunknown 4\n");
    assert!(
        error.contains("--missing skip --missing-word 'unknown'"),
        "{error}"
    );
    let line = "reduce -q --missing skip --missing-word unknown";
    assert_eq!(pass(line, "1 2\nunknown 4\n"), "7");
    let error = fail("reduce", "1e400");
    assert!(
        error.ends_with("mend it: no type of numbers here holds it"),
        "{error}"
    );
    // A comment character that is given is not recommended.
    let error = fail("reduce --delimiter , --comment #", "1,2\n3,4#5\n");
    assert!(!error.contains("give --comment"), "{error}");
}

#[test]
fn numbers_of_options_have_every_spelling() {
    assert_eq!(pass("reduce --init -1e3", "1 2"), "-997");
    assert_eq!(pass("reduce --init 5.0", "1 2"), "8");
    assert!(fail("reduce --init 0.5", "1 2").contains("is not an integer"));
    assert!(fail("reduce --init 1e30", "1 2").contains("out of the range of i64"));
    for line in [
        "--bins -3",
        "--bins 0",
        "--bincount --bins 0",
        "--bins many",
        "--bins 1e9",
    ] {
        let error = fail(&format!("histogram {line}"), "1 5");
        assert!(
            error.contains("remedy: give one from 1 to 16777216"),
            "{line}: {error}"
        );
    }
    let error = fail("histogram --bincount", "1 5000000000");
    assert!(
        error.contains("a bin for each of 5000000001 values") && error.contains("--bins N"),
        "{error}"
    );
    // A level has one name.
    let table = pass("stats --json --quantiles=.50,2.5e-1", "1 2");
    assert!(table.contains("\"q0.5\":1.5,\"q0.25\":1.25"), "{table}");
    let error = fail("stats --quantiles=.5,0.50", "1 2");
    assert!(error.contains("the level 0.5 comes twice"), "{error}");
}

/// Files beside the arrays of an archive are none of them.
#[test]
fn other_files_of_an_archive_are_no_arrays() {
    let folder = folder(&[("x.npy", &npy_of("<i2", "(2,)", &[1, 0, 2, 0]))]);
    pass_in(folder.path(), "scan --op max x.npy -o x.npz", b"");
    let mut archive = zip::ZipWriter::new_append(
        std::fs::File::options()
            .read(true)
            .write(true)
            .open(folder.path().join("x.npz"))
            .unwrap(),
    )
    .unwrap();
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    archive.start_file("README.txt", options).unwrap();
    std::io::Write::write_all(&mut archive, b"1 2 3").unwrap();
    archive.finish().unwrap();
    assert_eq!(pass_in(folder.path(), "reduce x.npz", b""), b"3\n");
    let error = fail_in(folder.path(), "reduce --array README.txt x.npz", b"");
    assert!(error.contains("there is no array `README.txt`"), "{error}");
}

/// Nobody finds numbers of NumPy under a name that says nothing.
#[test]
fn names_that_say_nothing_are_asked_about() {
    let folder = folder(&[("x.npy", &npy_of("<i2", "(2,)", &[1, 0, 2, 0]))]);
    for name in ["s.csvz", "s.out"] {
        let error = fail_in(folder.path(), &format!("scan x.npy -o {name}"), b"");
        assert!(
            error.contains("says no format") && error.contains("--output-format"),
            "{error}"
        );
        pass_in(
            folder.path(),
            &format!("scan x.npy --output-format npy -o {name}"),
            b"",
        );
    }
    pass_in(folder.path(), "scan x.npy -o s.psv", b"");
    assert_eq!(
        std::fs::read_to_string(folder.path().join("s.psv")).unwrap(),
        "1\n3\n"
    );
    pass_in(folder.path(), "scan x.npy -o s", b"");
}

/// What is skipped as a header is lost if it is data.
#[test]
fn only_what_can_be_a_name_is_skipped_as_a_header() {
    for (word, is_name) in [
        ("size", true),
        ("0x10", false),
        ("$5", false),
        ("50%", false),
    ] {
        let error = fail("reduce --no-header", &format!("{word} 1\n"));
        assert_eq!(error.contains("--skip 1"), is_name, "{error}");
    }
}

#[test]
fn a_word_for_a_shell_is_quoted_whole_or_not_named() {
    let line = "reduce --column b --delimiter ,";
    let error = fail(line, "a,b\nx,it's\nz,2\n");
    assert!(error.contains(r"--missing-word 'it'\''s'"), "{error}");
    let error = fail(line, &format!("a,b\nx,{}\nz,2\n", "w".repeat(50)));
    assert!(!error.contains("--missing-word"), "{error}");
}

/// A comment above a table can name its columns by numbers.
#[test]
fn without_a_header_a_number_is_a_place() {
    let text = "# 2,1\n5,7\n6,8\n";
    let line = "reduce --delimiter , --column 2";
    assert!(fail(line, text).contains("give --column name:2, or --column name:1"));
    assert_eq!(pass(&format!("{line} --header"), "1,2\n5,7\n"), "7");
    for (name, sum) in [("name:1", "15"), ("name:2", "11")] {
        let line = format!("reduce --delimiter , --column {name}");
        assert_eq!(pass(&line, text), sum);
    }
    assert_eq!(noted(&format!("{line} --no-header"), text).0, "15");
}

#[test]
fn a_point_between_thousands_stands_nowhere_else() {
    let line = "reduce --decimal , --thousands .";
    for text in ["1.5\n2,5\n", "2,5\n1.5000\n", ".5\n2,5\n", "5.\n2,5\n"] {
        let error = fail(line, text);
        assert!(error.contains("is not a number"), "{text}: {error}");
    }
    assert_eq!(pass(line, "1.234,5\n2\n"), "1236.5");
}

#[test]
fn a_missing_value_below_no_name_is_no_name() {
    let text = "London,NA\nParis,5\nRome,7\n";
    let line = "reduce --delimiter , --column 2 --missing skip";
    let error = fail(line, text);
    assert!(error.contains("give --header or --no-header"), "{error}");
}

#[test]
fn what_numbers_hold_starts_no_comment() {
    for comment in ["-", "+", ".", "5", "e", "n"] {
        let line = format!("reduce --comment={comment}");
        let output = run_in(Path::new("."), &line, b"-5\n3\n");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("numbers, quotes and lines"), "{error}");
        assert_eq!(output.status.code(), Some(2), "{error}");
    }
    assert_eq!(pass("reduce --comment %", "% x\n3\n"), "3");
}

/// Each remedy of these messages is given, until there is a result.
#[test]
fn a_number_and_a_name_have_spellings_of_their_own() {
    let text = "2,1,0\n5,6,7\n3,4,9\n";
    let numbered = "reduce --delimiter , --header --column";
    for (column, message) in [
        ("1", "column 1 is `2`, and column 2 has the name `1`"),
        (
            "1-2",
            "this can mean column 1, or columns 1 to 2, or column 2",
        ),
    ] {
        let error = fail(&format!("{numbered} {column}"), text);
        assert!(error.contains(message), "{error}");
    }
    for (column, sums) in [
        ("name:2", "8"),
        ("name:1", "10"),
        ("number:1", "8"),
        ("number:1-2", "2,1 8,10"),
        ("number:2-", "1,0 10,16"),
        ("name:2:1", "2,1 8,10"),
        ("3", "16"),
    ] {
        assert_eq!(
            pass(&format!("{numbered} {column}"), text),
            sums,
            "{column}"
        );
    }
    for command in ["sort", "top", "group --runs"] {
        let line = format!("{command} --delimiter , --header --by");
        let error = fail(&format!("{line} 1"), text);
        assert!(
            error.contains("--by name:2 for column 1, `2`, or --by name:1 for column 2, `1`"),
            "{error}"
        );
        for by in ["name:2", "name:1", "number:1", "3"] {
            pass(&format!("{line} {by}"), text);
        }
    }
    assert_eq!(
        pass("sort --delimiter , --header --by name:1", text),
        "2,1,0 3,4,9 5,6,7"
    );
    // Names that look like more than that.
    let text = "x:desc,x\n1,2\n3,1\n";
    let error = fail("sort --delimiter , --by x:desc", text);
    assert!(
        error.contains("--by number:1 for column 1, `x:desc`"),
        "{error}"
    );
    assert!(
        error.contains("--by number:2:desc for column 2, `x`"),
        "{error}"
    );
    assert_eq!(
        pass("sort --delimiter , --by number:2:desc", text),
        text.trim().replace('\n', " ")
    );
    assert_eq!(
        pass("sort --delimiter , --by number:1:desc", text),
        "x:desc,x 3,1 1,2"
    );
    let text = "name:x,x\n1,2\n";
    let error = fail("reduce --delimiter , --column name:x", text);
    assert!(
        error.contains("give --column name:name:x, or --column number:2"),
        "{error}"
    );
    assert_eq!(pass("reduce --delimiter , --column name:name:x", text), "1");
    assert_eq!(pass("reduce --delimiter , --column number:2", text), "2");
    // Numbers that are names only with --header.
    let error = fail(
        "sort -q --delimiter , --no-header --by 2020",
        "2019,2020\n1,2\n",
    );
    assert!(
        error.contains("give --header if the first row names"),
        "{error}"
    );
    assert_eq!(
        pass("sort --delimiter , --header --by 2020", "2019,2020\n1,2\n"),
        "2019,2020 1,2"
    );
}

#[test]
fn ranges_go_from_left_to_right() {
    let text = "a,2019,2020\n1,2,3\n";
    for (column, other) in [
        ("2020-a", "a:2020"),
        ("a-2020", "a:2020"),
        ("2020:a", "a:2020"),
        ("2020:2019", "2019:2020"),
        ("2020-2019", "2019:2020"),
        ("3-2", "2:3"),
    ] {
        let error = fail(
            &format!("reduce --delimiter , --header --column {column}"),
            text,
        );
        assert!(
            error.contains(&format!("give --column {other}")),
            "{column}: {error}"
        );
        pass(
            &format!("reduce --delimiter , --header --column {other}"),
            text,
        );
    }
    assert_eq!(
        pass("reduce --delimiter , --column 2019:2020", text),
        "2019,2020 2,3"
    );
}

#[test]
fn what_no_integer_holds_is_not_sent_in_circles() {
    for (line, text, remedy) in [
        ("", "99999999999999999999", "give --dtype f64"),
        ("--dtype u64", "99999999999999999999", "give --dtype f64"),
        (
            "--dtype i64",
            "9223372036854775808",
            "give --dtype u64; if others are negative",
        ),
        (
            "--dtype u64",
            "-1",
            "give --dtype i64; if others are above its range",
        ),
        ("--dtype u8", "300", "give --dtype i64"),
        ("--dtype i8", "9223372036854775808", "give --dtype u64"),
        ("--dtype f16", "1e5", "give --dtype f64"),
    ] {
        let error = fail(&format!("reduce {line}"), text);
        assert!(error.contains(remedy), "{line} {text}: {error}");
        let dtype = remedy.strip_prefix("give --dtype ").unwrap();
        noted(&format!("reduce --dtype {}", &dtype[..3]), text);
    }
}

#[test]
fn commas_in_quoted_numbers_of_a_comma_table_are_read() {
    let folder = folder(&[
        ("a.csv", b"\"1,5\",\"2,5\"\n\"2,5\",\"1\"\n" as &[u8]),
        ("b.csv", b"a,b\n\"1,5\",\"2,5\"\n\"2,5\",\"1\"\n"),
    ]);
    for file in ["a.csv", "b.csv"] {
        let error = fail_in(folder.path(), &format!("reduce {file}"), b"");
        assert!(
            error.contains("give --decimal , --delimiter , if this is 1.5"),
            "{error}"
        );
        let error = fail_in(folder.path(), &format!("reduce --decimal , {file}"), b"");
        assert!(error.contains("give --delimiter ','"), "{error}");
        let line = format!("reduce --decimal , --delimiter , {file}");
        assert_eq!(pass_in(folder.path(), &line, b""), b"7.5\n", "{file}");
    }
}

#[test]
fn what_is_no_utf8_is_named_with_what_makes_it_so() {
    for (bytes, message) in [
        (&b"1\x0b2\n"[..], "tr '\\013' ' ' < FILE"),
        (b"1\x002\x00\n\x00", "iconv -f UTF-16LE"),
        (b"\x001\x002\x00\n", "text in UTF-16"),
        (b"1\xa0234\n", "iconv -f LATIN1"),
        (b"1\n2\n\x1a3\n", "tr -d '\\032'"),
        (b"\x01\x80\xff\n", "give --format raw"),
    ] {
        let error = fail_in(Path::new("."), "reduce", bytes);
        assert!(error.contains(message), "{bytes:?}: {error}");
    }
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive
        .start_file("data.csv", zip::write::SimpleFileOptions::default())
        .unwrap();
    std::io::Write::write_all(&mut archive, b"a,b\n1,2\n").unwrap();
    let folder = folder(&[("x.zip", archive.finish().unwrap().get_ref().as_slice())]);
    let error = fail_in(folder.path(), "reduce --column a x.zip", b"");
    let remedy = "unzip -p FILE data.csv | warpfold ... --delimiter ,";
    assert!(error.contains(remedy), "{error}");
}

#[test]
fn a_name_with_the_sign_of_comments_is_found() {
    let text = "#id,n\n1,2\n3,4\n";
    let error = fail("reduce --delimiter , --column #id", text);
    assert!(error.contains("the columns are id, n"), "{error}");
    assert_eq!(pass("reduce --delimiter , --column id", text), "4");
    let text = "#id,n\n#1,2\n#3,4\n";
    let error = fail("reduce --delimiter , --column n", text);
    assert!(error.contains("--no-comments"), "{error}");
    assert_eq!(
        pass("reduce --delimiter , --column n --no-comments", text),
        "6"
    );
}

/// An `f64` that is the neighbour of the number is not missing.
#[test]
fn a_missing_number_is_exact_in_each_form() {
    let text = "9007199254740993 9007199254740992 1";
    for word in [
        "9007199254740993",
        "9007199254740993.0",
        "9.007199254740993e15",
    ] {
        let line = format!("reduce -q --missing skip --missing-word {word}");
        assert_eq!(pass(&line, text), "9007199254740993", "{word}");
    }
    for text in ["20 1", "20.0 1.0", "2e1 1"] {
        let sum = pass("reduce -q --missing skip --missing-word 2e1", text);
        assert_eq!(sum.parse::<f64>(), Ok(1.0), "{text}");
    }
}

/// What holds one type cannot hold two, whatever the type of the numbers.
#[test]
fn tables_of_several_types_go_where_the_remedy_says() {
    let folder = folder(&[
        ("x.npy", &npy_of("<f4", "(2,)", &[0; 8])),
        ("t.csv", b"k,v\n1,0.5\n1,1.5\n"),
    ]);
    for line in ["top --with-positions x.npy", "group --by k t.csv"] {
        let error = fail_in(folder.path(), &format!("{line} -o y.npy"), b"");
        assert!(error.contains("give a name that ends in .csv"), "{error}");
        for name in ["y.csv", "y.tsv", "y.json"] {
            pass_in(folder.path(), &format!("{line} -o {name}"), b"");
        }
        let error = fail_in(folder.path(), &format!("{line} --output-format npy"), b"");
        assert!(error.contains("give --output-format text"), "{error}");
        pass_in(folder.path(), &format!("{line} --output-format text"), b"");
        pass_in(folder.path(), &format!("{line} --output-format json"), b"");
    }
}

#[test]
fn bins_for_negative_numbers_leave_no_row_out() {
    let folder = folder(&[("t.csv", b"a,b\n-1,5\n2,7\n")]);
    let error = fail_in(folder.path(), "histogram --bincount t.csv", b"");
    assert!(
        error.contains("--range or --edges in place of --bincount"),
        "{error}"
    );
    let counts = pass_in(folder.path(), "histogram --edges 0,3,8 t.csv", b"");
    assert_eq!(counts, b"a,0,3,1\na,3,8,0\nb,0,3,0\nb,3,8,2\n");
}

/// Nothing is not a packed file of nothing.
#[test]
fn empty_files_that_should_be_packed_are_truncated() {
    let folder = folder(&[
        ("x.gz", b""),
        ("x.csv.gz", b""),
        ("x.npz", b""),
        (".gz", b""),
        ("y.csv.gz", b"\x1f\x8b"),
    ]);
    for name in ["x.gz", "x.csv.gz", "x.npz", ".gz", "y.csv.gz"] {
        for command in ["reduce", "stats", "sort", "segments --lengths"] {
            let error = fail_in(folder.path(), &format!("{command} {name}"), b"");
            assert!(
                error.contains("truncated: the file ends before they begin"),
                "{error}"
            );
        }
    }
    assert_eq!(pass("reduce", ""), "0");
}

#[test]
fn what_is_not_gzip_is_told() {
    let folder = folder(&[
        ("junk.txt.gz", b"junk" as &[u8]),
        ("five.txt.gz", b"5\n"),
        ("x.csv.gz", b"a,b\n1,2\n"),
        ("old.gz", b"\x1f\x9d\x90junk"),
        ("x.bin.gz", b"BZh91AY"),
    ]);
    for name in [
        "junk.txt.gz",
        "five.txt.gz",
        "x.csv.gz",
        "old.gz",
        "x.bin.gz",
    ] {
        for command in ["reduce", "stats", "sort", "segments --lengths"] {
            let error = fail_in(folder.path(), &format!("{command} {name}"), b"");
            assert!(error.contains("it is not gzip, though its name"), "{error}");
            assert!(!error.contains("truncated"), "{error}");
        }
    }
    let sum = pass_in(folder.path(), "reduce --format text five.txt.gz", b"");
    assert_eq!(sum, b"5\n");
}

#[test]
fn no_more_lines_are_skipped_than_there_are() {
    for (skip, text, count) in [
        (5, "1\n2\n", "2 lines"),
        (3, "1\n2", "2 lines"),
        (2, "1\r", "1 line"),
        (1, "", "0 lines"),
        (9, "\n\n", "2 lines"),
    ] {
        let error = fail(&format!("reduce --skip {skip}"), text);
        let cause = format!("it has {count}, and --skip passes over {skip}");
        assert!(error.contains(&cause), "{error}");
    }
    assert_eq!(pass("reduce --skip 1", "1\n2"), "2");
    for command in [
        "reduce",
        "scan",
        "stats",
        "sort",
        "histogram",
        "select --gt 0",
    ] {
        for text in ["1\n2", "1\n2\n", "1\r\n2\r\n"] {
            let error = fail(&format!("{command} --skip 2"), text);
            assert!(
                error.contains("it has 2 lines, and --skip passes over all"),
                "{command}: {error}"
            );
        }
    }
}

/// Options of texts are for the data: recommended for another file, they would lead nowhere.
#[test]
fn files_beside_the_data_are_mended_and_not_read_by_options() {
    let folder = folder(&[
        ("x.txt", b"1 2"),
        ("bad.txt", b"0 1 x"),
        ("gap.csv", b"a\n1\nNA\n"),
    ]);
    for option in [
        "segments --offsets",
        "segments --lengths",
        "decode --counts",
        "histogram --edges",
    ] {
        for name in ["bad.txt", "gap.csv"] {
            let error = fail_in(folder.path(), &format!("{option} {name} x.txt"), b"");
            assert!(error.contains("remedy: mend this file"), "{error}");
        }
    }
    for option in [
        "segments --offsets",
        "segments --lengths",
        "decode --counts",
    ] {
        let error = fail_in(folder.path(), &format!("{option} -"), b"0 1");
        assert!(
            error.contains("come from the standard input, too"),
            "{error}"
        );
    }
}

#[test]
fn a_sum_of_a_group_that_is_too_large_names_an_option_of_group() {
    let text = "a,b\n1,9223372036854775807\n1,9223372036854775807\n";
    let error = fail("group --by a --delimiter ,", text);
    assert!(
        error.contains("is out of the range of i64") && error.contains("give --dtype f64"),
        "{error}"
    );
    let (sums, warning) = noted("group --by a --delimiter , --dtype f64", text);
    assert!(sums.contains("1.8446744073709552e+19"), "{sums}");
    assert!(warning.contains("rounded to f64"), "{warning}");
}

#[test]
fn control_characters_are_no_part_of_numbers() {
    let error = fail("reduce", "12\x01\x0134");
    assert!(error.contains("tr '\\000-\\010\\016-\\037' ' '"), "{error}");
    let error = fail("reduce", "12\0\0\x0034");
    assert!(error.contains(r"tr '\0' '\n'"), "{error}");
}
