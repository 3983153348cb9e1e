//! Texts that can be misread without a sign of it: the number is right, or a word says more.

#[cfg(unix)]
use crate::support::{fail, mended};
use crate::support::{fail_in, folder, noted, pass, pass_in, run_in};
use std::path::Path;

#[test]
fn a_header_below_the_names_is_told() {
    for (line, text, sum) in [
        (
            "reduce --delimiter , --column 3",
            "#,name,score\n1,Ann,10\n2,Bob,20\n",
            "30",
        ),
        (
            "reduce --delimiter , --column 2",
            "#id,2019,2020\nx,10,20\ny,30,40\n",
            "40",
        ),
        ("reduce --column 1", "# score\n10\n20\n", "30"),
        ("reduce --column 2", "# k v\nx 1\ny 3\n", "4"),
    ] {
        let told = noted(&format!("{line} --header"), text).1;
        assert!(told.contains("--no-header reads it as data"), "{text}");
        let line = format!("{line} --no-header");
        assert_eq!(noted(&line, text).0, sum, "{text}");
    }
    let text = "name,score\nAnn,10\nBob,20\n";
    let line = "reduce --delimiter , --skip 1 --column 2";
    let told = noted(&format!("{line} --header"), text).1;
    assert!(told.contains("the last line that --skip passes"), "{told}");
    assert_eq!(pass(&format!("{line} --no-header"), text), "30");
    for (line, text) in [
        ("--skip 1", "a,b,c\n,2019,2020\nx,10,20\ny,1,2\n"),
        ("", "# made today\nid,2019,2020\nx,10,20\n"),
        ("", "# a,b,c\nx,y,z\n1,10,2\n"),
    ] {
        let line = format!("reduce --delimiter , --column 2 --header {line}");
        assert!(pass(&line, text).starts_with('1'), "{text}");
    }
}

#[test]
fn names_of_rows_need_a_header_that_is_one_short() {
    for (line, text, sum) in [
        ("--delimiter ,", "city,pop\nA,1,234\nB,2,345\n", "579"),
        ("", "city pop\nA 1 234\nB 2 345\n", "579"),
        ("", "city pop\nA 1 234.50\nB 2 345.25\n", "579.75"),
    ] {
        let line = format!("reduce --column pop --row-names {line}");
        let (found, told) = noted(&line, text);
        assert_eq!(found, sum);
        assert!(told.contains("columns 2 and 3 can be one number"), "{told}");
    }
    // As many fields as the header has, with and without --ragged.
    for line in ["--delimiter ,", "--delimiter , --ragged --missing skip"] {
        let error = fail(
            &format!("reduce --column city --row-names {line}"),
            "city,pop\nA,1\nB,2\n",
        );
        assert!(
            error.contains("leave --row-names out if the header names the first column")
                && error.contains("has one less than these"),
            "{error}"
        );
    }
    for text in [
        "x,y\na,1,23\nb,2,345\n",
        "x,y\na,1,234\nb,2,34\n",
        "x,y\na,1234,234\nb,2,345\n",
    ] {
        pass("reduce --column y --row-names --delimiter ,", text);
    }
}

#[test]
fn scales_of_fractions_and_signs_may_be_names() {
    for (line, text, below) in [
        (
            "reduce --delimiter ,",
            "-10,0,10\n0.1,0.2,0.3\n0.4,0.5,0.6\n",
            "2.0999999999999996",
        ),
        (
            "reduce",
            "-10 0 10\n0.1 0.2 0.3\n0.4 0.5 0.6\n",
            "2.0999999999999996",
        ),
        (
            "reduce --delimiter ,",
            "400.0,400.5\n0.1,0.2\n0.4,0.5\n",
            "1.2000000000000002",
        ),
        (
            "reduce --delimiter ,",
            "-1.5,-0.5,0.5,1.5\n1.1,2.2,0.3,2\n4.4,0.5,0.6,1\n",
            "12.1",
        ),
        (
            "reduce --delimiter ; --decimal ,",
            "400,0;400,5;401,0\n0,5;0,2;0,3\n0,5;0,2;0,3\n",
            "2.0",
        ),
    ] {
        let told = noted(line, text).1;
        assert!(told.contains("look like names of columns"), "{text}");
        if line.contains("--delimiter") && !text.starts_with('-') {
            assert_eq!(pass(&format!("{line} --header"), text), below);
        }
        pass(&format!("{line} --no-header"), text);
    }
    for text in [
        "-1,0,1\n2,1,0\n-3,4,-1\n",
        "400.0,400.7\n0.1,0.2\n0.4,0.5\n",
        "0.1,0.2,0.3,0.4\n0.5,0.6,0.7,0.8\n",
    ] {
        noted_without(text, "look like names");
    }
}

fn noted_without(text: &str, what: &str) {
    let told = noted("reduce --delimiter ,", text).1;
    assert!(!told.contains(what), "{text}: {told}");
}

#[test]
fn a_row_that_is_short_may_be_names() {
    for text in [
        "\t18\t15\n18\t0.0\t2.5\n15\t2.5\t0.0\n",
        "   0   1\n0 1.5 2.5\n1 2.5 0.5\n",
        "2 3\n1 2 3\n4 5 6\n",
    ] {
        for line in ["reduce", "stats", "scan"] {
            let told = noted(line, text).1;
            assert!(told.contains("a field less than all others"), "{told}");
        }
        pass("reduce --no-header", text);
    }
    let text = "\t18\t15\n18\t0.0\t2.5\n15\t2.5\t0.0\n";
    assert_eq!(noted("reduce --delimiter tab --header", text).0, "5.0");
    let text = "   0   1\n0 1.5 2.5\n1 2.5 0.5\n";
    assert_eq!(noted("reduce --row-names", text).0, "7.0");
    assert_eq!(pass("reduce --skip 1", "2 3\n1 2 3\n4 5 6\n"), "21");
    for text in [
        "1 2\n3 4 5\n",
        "1 2\n3 4 5\n6\n",
        "1 2\n3 4 5 6\n7 8 9 10\n",
    ] {
        pass("reduce", text);
    }
}

#[test]
fn words_that_numbers_begin_are_not_ordered_in_silence() {
    for (column, first) in [
        ("9:30 10:20 10:5", "10:20"),
        ("5-9 10-14 15-19", "10-14"),
        ("31/12/2023 01/02/2024 05/05/2024", "01/02/2024"),
        ("9PM 10AM 11AM", "10AM"),
        ("1.9.0 1.10.0 1.2.0", "1.10.0"),
    ] {
        let rows = column.split(' ').enumerate();
        let rows: String = rows.map(|(row, word)| format!("{word},{row}\n")).collect();
        let text = format!("t,v\n{rows}");
        for line in [
            "sort --delimiter , --by t",
            "top -k 1 --bottom --delimiter , --by t",
        ] {
            let (found, told) = noted(line, &text);
            assert!(
                told.contains("column t holds words, which are in the order of their bytes"),
                "{column}: {told}"
            );
            assert!(found.starts_with(&format!("t,v {first},")), "{found}");
            assert_eq!(pass(&format!("{line} --words"), &text), found);
        }
    }
    for column in [
        "09:30 10:20 11:05",
        "2023-12-31 2024-01-02",
        "01/12/2023 02/02/2023",
        "v9 v10",
        "a b",
    ] {
        let rows: String = column
            .split(' ')
            .map(|word| format!("{word},1\n"))
            .collect();
        pass("sort --delimiter , --by t", &format!("t,v\n{rows}"));
    }
}

#[test]
fn a_name_with_letters_for_digits_is_told() {
    let (sum, told) = noted("reduce --delimiter ,", "a,l5\nb,2\n");
    assert_eq!(sum, "2");
    assert!(told.contains("may be 15 with letters"), "{told}");
    let told = noted("reduce --delimiter , --header", "a,l5\nb,2\n").1;
    assert!(!told.contains("letters"), "{told}");
    for text in ["a,l5\n1,2\n", "name,O2\nx,2\n"] {
        noted_without(text, "letters");
    }
    // Where words outnumber numbers in each column, what is wrong in one with numbers is told.
    let error = fail("stats --delimiter ,", "k,v\na,l5\nb,l6\nc,7\n");
    assert!(error.contains("as in 15"), "{error}");
}

#[test]
fn formats_with_rows_of_sizes_are_named() {
    for (line, text, what) in [
        ("reduce", "P2\n2 2\n255\n0 100\n200 50\n", "an image"),
        ("stats", "P3\n2 1\n255\n0 100 200 50 4 3\n", "an image"),
        ("reduce", "P2\n1 2\n255\n0\n100\n", "an image"),
        ("reduce", "P2 2 2 255\n0 100\n200 50\n", "an image"),
        ("reduce --no-header", "P2\n2 2\n255\n0 100\n", "an image"),
        ("reduce", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n", "a mesh"),
        ("reduce", "DSAA\n2 2\n0 1\n0 1\n1 4\n1 2\n3 4\n", "a grid"),
        (
            "reduce --comment % --column 3",
            "%%MatrixMarket matrix coordinate real general\n% mine\n3 3 2\n1 1 5\n2 2 6\n",
            "a matrix",
        ),
        (
            "stats",
            "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 5\n2 2 6\n",
            "a matrix",
        ),
    ] {
        let error = fail(line, text);
        assert!(
            error.contains(&format!("begins {what}"))
                && error.contains("the number of lines of its header: this one, "),
            "{text}: {error}"
        );
    }
    let matrix = "%%MatrixMarket matrix coordinate real general\n% mine\n3 3 2\n1 1 5\n2 2 6\n";
    assert_eq!(pass("reduce --skip 3 --column 3", matrix), "11");
    assert_eq!(pass("reduce", "P2\n1\n2\n"), "3");
    // What looks like the first row may hold sizes in formats without a name.
    let error = fail("reduce", "mesh\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n");
    assert!(
        error.contains("--skip 1 if line 2 is the first row of the table, and holds no sizes"),
        "{error}"
    );
}

#[test]
fn commas_in_errors_are_asked_about_first() {
    let text = "950 ± 1,200\n980 ± 120\n";
    let error = fail("reduce", text);
    assert!(error.contains("give --thousands , first"), "{error}");
    #[cfg(unix)]
    {
        let line = "reduce --thousands ,";
        assert_eq!(pass(line, &mended(&fail(line, text), text)), "1930");
    }
}

#[test]
#[cfg(unix)]
fn a_minus_behind_goes_before_whatever_the_marks_of_thousands_are() {
    for (line, text, sum) in [
        ("reduce --thousands '", "1'000- 5- -3\n2'000\n7-,\n", "985"),
        (
            "reduce --thousands ' --column b --delimiter ,",
            "a,b,c\n2024-01-02,1'000-,A5-\n2,2'000 -,x\n",
            "-3000",
        ),
        (
            "reduce --thousands space --column b --delimiter ;",
            "a;b\n1;1 000-\r\n2;2 000\r\n",
            "1000",
        ),
        ("reduce --delimiter , --no-header", "3-,4-,5\n", "-2"),
        (
            "reduce --no-header --decimal , --delimiter ;",
            "1,5-;1\n",
            "-0.5",
        ),
    ] {
        let error = fail(line, text);
        let mended = mended(&error, text);
        assert!(
            !mended.contains("-A5") && !mended.contains("02-1"),
            "{mended}"
        );
        assert_eq!(noted(line, &mended).0, sum, "{mended}");
    }
}

#[test]
#[cfg(unix)]
fn comments_of_sql_are_named() {
    for (line, text) in [
        ("reduce", "1\n2\n-- 5 rows\n"),
        ("reduce --delimiter , --column a", "a,b\n3,2\n-- 5 rows\n"),
    ] {
        let error = fail(line, text);
        let (_, program) = error.split_once(", as grep").expect(&error);
        let (program, _) = program.split_once(" FILE").unwrap();
        let text = crate::support::shell(&format!("grep{program}"), text);
        assert_eq!(pass(line, &text), "3");
    }
    assert!(!fail("reduce", "-- 5\n1 2\n").contains("grep"));
}

#[test]
fn records_that_end_in_nul_are_told() {
    for (line, text) in [
        ("reduce --column 1", "4096\t./a\08192\t./b\0"),
        (
            "reduce --column 1 --delimiter tab --no-header",
            "4096\t./a\08192\t./b\0",
        ),
    ] {
        let told = noted(line, text).1;
        assert!(told.contains("it holds NUL"), "{told}");
        pass(line, &text.replace('\0', "\n"));
    }
    let error = fail("reduce", "5\x006\x007\0");
    assert!(
        error.contains("UTF-16") && error.contains(r"tr '\0' '\n'"),
        "{error}"
    );
    assert!(fail("reduce", "15\x0016\0").contains(r"tr '\0' '\n'"));
    assert!(fail("reduce", "1\u{8}12\u{8}2\n").contains("col -b"));
    // What is skipped need be no text.
    assert_eq!(pass("reduce --skip 1", "a\0b\n1\n2\n"), "3");
}

#[test]
fn a_semicolon_that_ends_rows_separates_nothing() {
    for (line, text, sum) in [
        ("reduce", "1 2 3;\n4 5 6;\n", "21"),
        ("reduce", "1 2 3; 4 5 6\n", "21"),
        ("reduce", "1;\n2;\n", "3"),
        ("reduce --delimiter , --column 2", "a,b;\n1,2;\n2,3;\n", "5"),
        (
            "reduce --delimiter , --column 3 --ragged --no-header",
            "1,'a',2.5,\n2,'b',3.5;\n",
            "6.0",
        ),
    ] {
        let error = fail(line, text);
        assert!(error.contains("`;` ends rows"), "{error}");
        assert!(!error.contains("--delimiter ';'"), "{error}");
        #[cfg(unix)]
        assert_eq!(noted(line, &mended(&error, text)).0, sum, "{text}");
    }
    let error = fail("reduce", "1; 2; 3\n");
    assert!(error.contains("give --delimiter ';'"), "{error}");
    let text = "a;b;\n1;2;\n2;3;\n";
    assert_eq!(pass("reduce --delimiter ; --column b", text), "5");
}

#[test]
fn lines_of_words_in_dat_are_text() {
    let preamble = "this is a long preamble line of words\n".repeat(200);
    let folder = folder(&[
        ("pre.dat", format!("{preamble}1 2\n3 4\n").as_bytes()),
        ("na.dat", b"N/A\nN/A\n"),
        ("h.dat", b"x y\n"),
        ("raw.dat", b"\x01\0\x02\0abc\n"),
        ("ten.dat", b"\n"),
    ]);
    let pass = |line: &str| String::from_utf8(pass_in(folder.path(), line, b"")).unwrap();
    assert_eq!(pass("reduce --skip 200 pre.dat"), "10\n");
    assert_eq!(pass("reduce --column x h.dat"), "0\n");
    assert_eq!(pass("reduce --dtype u16 raw.dat"), "27847\n");
    assert_eq!(pass("reduce --dtype u8 ten.dat"), "10\n");
    let error = fail_in(folder.path(), "reduce --dtype f32 pre.dat", b"");
    assert!(error.contains("`this` is not a number"), "{error}");
    let output = run_in(folder.path(), "reduce --missing skip na.dat", b"");
    assert_eq!(output.stdout, b"0\n");
}

#[test]
fn quantiles_of_large_integers_are_rounded_once() {
    for (level, text, value) in [
        (
            "0.5",
            "9007199254740993\n9007199254740994\n",
            "9007199254740994.0",
        ),
        (
            "0.1",
            "18014398509481990\n18014398509481986\n",
            "1.8014398509481988e+16",
        ),
        (
            "0.25",
            "9007199254740995\n9007199254741001\n9007199254741892\n9007199254740994\n",
            "9007199254740994.0",
        ),
        (
            "0.5",
            "-9007199254740993\n-9007199254740994\n",
            "-9007199254740994.0",
        ),
        ("0.5", "18446744073709551615\n0\n", "9.223372036854776e+18"),
        ("0.5", "-9223372036854775808\n9223372036854775807\n", "-0.5"),
        ("0.3", "1\n2\n", "1.3"),
    ] {
        let stats = pass(&format!("stats --quantiles={level}"), text);
        assert_eq!(stats.rsplit(' ').next(), Some(value), "{text}");
    }
}

#[test]
fn an_initial_value_takes_part_in_all_results() {
    let line = "reduce --op max --column a --column b --missing skip --delimiter ,";
    let output = run_in(Path::new("."), line, b"a,b\nNA,-5\nNA,-7\n");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("all results start with it, so no number may be greater"),
        "{error}"
    );
    let line = line.replace("reduce", "reduce --init -99");
    assert_eq!(noted(&line, "a,b\nNA,-5\nNA,-7\n").0, "a,b -99,-5");
}

#[test]
fn quotes_around_rows_of_words_are_told() {
    for (text, sum) in [
        ("name size\n\"foo 10\nbar 20\nbaz\" 30\nq 40\n", "70"),
        ("size name\n10 \"foo\n20 bar\n30 baz\"\n40 q\n", "50"),
    ] {
        let (found, told) = noted("reduce --column size", text);
        assert_eq!(found, sum);
        assert!(told.contains("look like rows"), "{told}");
        assert_eq!(pass("reduce --column size", &text.replace('"', "")), "100");
    }
    pass("reduce --column size", "name size\n\"a b\nc\" 7\n");
}

#[test]
fn a_quote_in_the_header_that_holds_rows_is_told() {
    for (line, text, sum) in [
        ("tab", "v\t\"note\n5\tx\n6\ty\"\n7\tz\n", "7"),
        (",", "v,\"size 6\"\"\n5,1\"\n6,2\n7,3\n", "13"),
    ] {
        let line = format!("reduce --column v --delimiter {line}");
        let (found, told) = noted(&line, text);
        assert_eq!(found, sum);
        assert!(told.contains("look like rows"), "{told}");
        assert_eq!(pass(&line, &text.replace('"', "")), "18");
    }
    pass("reduce --column v --delimiter ,", "v,\"unit\n(m)\"\n6,2\n");
}

#[test]
fn names_of_other_formats_are_refused() {
    for ending in [
        "kmz", "gguf", "vtu", "geojsonl", "ipynb", "dbl", "zlib", "mcap",
    ] {
        let folder = folder(&[]);
        let error = fail_in(folder.path(), &format!("scan -o x.{ending}"), b"1 2\n");
        assert!(error.contains("write "), "{error}");
    }
}

#[test]
fn codes_with_points_are_numbers_with_a_word() {
    for column in ["01.10 01.11 10.10", "00123 12E05 00456", "001.0 008.45"] {
        let rows: String = column.split(' ').map(|key| format!("{key},1\n")).collect();
        let text = format!("k,v\n{rows}");
        for command in ["sort", "top", "group"] {
            let line = format!("{command} --by k --delimiter ,");
            let told = noted(&line, &text).1;
            assert!(told.contains("01.10 is 1.1; --words says"), "{told}");
            pass(&format!("{line} --dtype f64"), &text);
            let rows = pass(&format!("{line} --words"), &text);
            assert!(rows.contains(column.split(' ').next().unwrap()), "{rows}");
        }
    }
    pass("sort --by k --delimiter ,", "k,v\n0.10,1\n0,2\n10.5,1\n");
}

#[test]
#[cfg(unix)]
fn lines_that_end_in_cr_alone_get_no_tools_of_lines() {
    for (line, text, sum) in [
        ("reduce", "a: 1\rb: 2\r", "3"),
        ("reduce", "size:\t5\nlen:\t6\n", "11"),
        ("reduce", "[1] 1.5 2.5\r[4] 4.5\r", "8.5"),
        ("reduce", "12.5±0.3\r1.5\r", "14.0"),
        ("reduce", "1) 5\n2) 6\n", "11"),
        (
            "reduce --column price",
            "id price\r-- -----\r1 2.5\r",
            "2.5",
        ),
    ] {
        let mut text = text.to_owned();
        for _ in 0..2 {
            let output = run_in(Path::new("."), line, text.as_bytes());
            if !output.status.success() {
                let error = String::from_utf8(output.stderr).unwrap();
                let remedy = error.split("; or").next().unwrap();
                let remedy = format!(
                    "{} | warpfold ...",
                    remedy.split(" | warpfold").next().unwrap()
                );
                text = mended(&remedy, &text);
            }
        }
        assert_eq!(noted(line, &text).0, sum, "{text:?}");
    }
}

#[test]
fn zoned_decimals_and_rows_of_formats_are_named() {
    for text in ["0010000{", "0005000}", "0001234J"] {
        let error = fail(
            "reduce --delimiter , --column v",
            &format!("k,v\n1,{text}\n"),
        );
        assert!(
            error.contains("mainframes write the sign") && !error.contains(" as "),
            "{error}"
        );
    }
    for (line, text, sum) in [
        (
            "reduce --delimiter tab --column n",
            "site\tdate\tn\n5s\t20d\t14n\nA\t2024-01-01\t1500\n",
            "1500",
        ),
        ("reduce --column y", "x y\n5N 8N\n1 2\n3 4\n", "6"),
    ] {
        let output = run_in(Path::new("."), line, text.as_bytes());
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("RDB tables have widths"), "{error}");
        #[cfg(unix)]
        assert_eq!(pass(line, &mended(&error, text)), sum);
    }
    let error = fail("reduce --delimiter ,", "t\n5s\n7s\n");
    assert!(error.contains("`s` follows a number"), "{error}");
}

#[test]
fn settings_above_a_table_are_told() {
    for (text, lines) in [
        ("Serial: 123\nGain: 2\n\n0 1.5\n1 2.5\n", 3),
        ("Samples 3\nRate 100\n0 1.5\n1 2.5\n2 0\n", 2),
    ] {
        let error = fail("reduce --column 2", text);
        assert!(
            error.contains(&format!("or --skip {lines} if the table")),
            "{error}"
        );
        assert_eq!(
            pass(&format!("reduce --column 2 --skip {lines}"), text),
            "4.0"
        );
    }
    let text = "Operator: Bob\nGain: 2\n\n0 1.5\n1 2.5\n";
    let (sum, told) = noted("reduce --column 2", text);
    assert_eq!(sum, "6.0");
    assert!(
        told.contains("give --skip 3 if the table begins there"),
        "{told}"
    );
    for text in ["k v\na 1\n2 2\n", "k v\n1 1\na 2\n", "k v\na 1\nb 2\n"] {
        assert_eq!(pass("reduce --column 2", text), "3");
    }
}

#[test]
fn keys_may_begin_with_a_minus() {
    for line in ["sort", "top -k 9 --bottom", "group"] {
        let text = "a,-log10(p)\n1,2\n3,1\n";
        let found = pass(&format!("{line} --delimiter , --by -log10(p)"), text);
        assert!(
            found.ends_with("1,2") || found.contains(" 1,1,3,"),
            "{found}"
        );
    }
}

#[test]
fn a_first_row_with_a_mark_is_no_row_of_labels() {
    let error = fail("reduce --delimiter , --no-header", "3-,4-,5\n");
    assert!(error.contains("its sign stands behind it"), "{error}");
}
