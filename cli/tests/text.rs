//! Text and tables as people and programs write them.

use crate::support::{fail_in, folder, noted, pass, pass_in, run_in};
use std::path::Path;

fn fail(line: &str, input: &str) -> String {
    fail_in(Path::new("."), line, input.as_bytes())
}

/// Each text must read alike with every kind of line end.
#[test]
fn lines_end_with_lf_cr_or_both() {
    for (line, text, result) in [
        ("reduce", "# sizes\n4\n5\n", "9"),
        ("reduce", "# sizes\n\n4 # four\n5", "9"),
        ("reduce --skip 1", "size\n4\n5\n", "9"),
        ("reduce --skip 2", "3\n\n4\n5\n", "9"),
        ("reduce --column b", "a b\n1 10\n2 20\n", "30"),
        ("reduce --column 2", "1 10\n2 20", "30"),
        ("reduce --delimiter , --skip 1", "a,b\n1,10\n2,20\n", "33"),
        (
            "reduce --delimiter , --column b",
            "# x\na,b\n1,10\n\n2,20",
            "30",
        ),
        (
            "reduce --delimiter , --column b",
            "a,b\n\"1\n1\",10\n2,\"20\"\n",
            "30",
        ),
        ("scan --column 1", "a b\n1 10\n2 20\n", "1 3"),
    ] {
        for end in ["\n", "\r", "\r\n"] {
            let text = text.replace('\n', end);
            assert_eq!(pass(line, &text), result, "{line}: {text:?}");
        }
    }
    // Messages count lines alike, too.
    for end in ["\n", "\r", "\r\n"] {
        for (line, text, place) in [
            ("reduce", "1\n\n# 2\n3 x", "line 4, column 3"),
            ("reduce --skip 1", "1\n2\nx", "line 3, column 1"),
            ("reduce --delimiter ,", "1,2\n\n3,x", "line 3, field 2"),
            (
                "reduce --delimiter , --column 2 --no-header",
                "\"1\n\n\",2\n3,x",
                "line 4, field 2",
            ),
            (
                "reduce --delimiter , --column 2 --no-header",
                "\"1\n\n\",x",
                "line 3, field 2",
            ),
        ] {
            let error = fail(line, &text.replace('\n', end));
            assert!(
                error.contains(place),
                "{line}: {text:?} with {end:?}: {error}"
            );
        }
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

#[test]
fn quotes_end_where_they_should() {
    for (line, text, result) in [
        ("--delimiter ,", "\"1\",\"5\"\n", "6"),
        ("--delimiter ,", "1 , \"5\" \n \"2\",3", "11"),
        (
            "--delimiter , --column Quantity",
            "\"Year\", \"Quantity\"\n2019, \"7\"\n2020, 8\n",
            "15",
        ),
        (
            "--delimiter , --column b",
            "a,b\n\"say \"\"x\"\", y\",5\n",
            "5",
        ),
        (
            "--delimiter , --column 2 --no-header",
            "12\" disk,5\n3\" disk,6\n",
            "11",
        ),
        (
            "--delimiter , --column b",
            "a,b\n\"one\n# two\n\nthree\",5\n",
            "5",
        ),
        ("", "\"1\" \"5\",\n\"2\"", "8"),
    ] {
        assert_eq!(
            pass(&format!("reduce {line} "), text),
            result,
            "{line}: {text:?}"
        );
    }
    for (line, text, message) in [
        (
            "--delimiter ,",
            "1,2\n\"3,4\n5,6\n",
            "line 2, field 1: the quote that opens here is never closed",
        ),
        (
            "--delimiter , --column 1",
            "1,2\n3,\"4\n5,6\n",
            "line 2, field 2: the quote that opens",
        ),
        (
            "--delimiter ,",
            "\"1\"5,2\n",
            "line 1, field 1: `5` follows the quote that closes",
        ),
        (
            "--delimiter , --column 2",
            "1,2\n\"a\n\" b,3\n",
            "line 2, field 1: `b` follows the quote",
        ),
        (
            "--delimiter ,",
            "1,\"2\"\"\n3,4\n",
            "line 1, field 2: the quote that opens here",
        ),
        ("", "1 \"2 3\n4", "line 1, field 2: the quote that opens"),
        ("", "\"1\"5 2", "`5` follows the quote"),
    ] {
        let error = fail(&format!("reduce {line}"), text);
        assert!(error.contains(message), "{line}: {text:?}: {error}");
    }
}

#[test]
fn a_comment_starts_a_word_and_can_be_another() {
    for (line, text, result) in [
        ("reduce --op max", "1.#INF 2", "inf"),
        ("reduce --op min", "-1.#INF00 2.5", "-inf"),
        ("reduce --op max", "-1.#IND 2", "NaN"),
        ("reduce --op max --delimiter ,", "1.#QNAN,2", "NaN"),
        ("reduce", "1 2 # 9\n#3\n4", "7"),
        ("reduce --comment %", "% 1\n2 % 3\n4", "6"),
        ("reduce --comment % --delimiter ,", "1,2 % 3\n4,5", "12"),
        ("reduce --comment # --delimiter ,", "1,2 # 3\n4,5", "12"),
        (
            "reduce --delimiter , --column n --no-comments",
            "id,n\n#1,2\n#2,3\n",
            "5",
        ),
        (
            "reduce --delimiter , --column n",
            "id,n\nApt # 1,2\nx#2,3\n",
            "5",
        ),
        (
            "reduce --delimiter , --column n --comment ;",
            "id,n\n#1,2\n;2,3\n",
            "2",
        ),
    ] {
        assert_eq!(pass(line, text), result, "{line}: {text:?}");
    }
    for (line, text, message) in [
        ("reduce", "1 2#9", "`2#9` is not a number"),
        ("reduce", "1.#J 2", "`1.#J` is not a number"),
        ("reduce --no-comments", "1 # 2", "`#` is not a number"),
        ("reduce --delimiter ,", "1,2 # 3\n4,5", "--comment '#'"),
        ("reduce --dtype i32", "1.#INF", "is not an integer"),
        (
            "reduce --comment , --delimiter ,",
            "1,2",
            "comments start with this character",
        ),
    ] {
        let error = fail(line, text);
        assert!(error.contains(message), "{line}: {text:?}: {error}");
    }
    // A row that looks commented out is left out, but not in silence.
    let (sum, note) = noted("reduce --delimiter , --column n", "id,n\n1,2\n#2,3\n");
    assert_eq!(sum, "2");
    assert!(
        note.contains("line 3") && note.contains("--no-comments"),
        "{note}"
    );
    assert_eq!(
        pass(
            "reduce --delimiter , --column n --comment #",
            "id,n\n1,2\n#2,3\n"
        ),
        "2"
    );
}

#[test]
fn a_comma_before_the_fraction_is_read_where_it_is_said() {
    for (line, text, result) in [
        ("", "1,5 2,25\n", "3.75"),
        ("", "1,5, 2\n", "3.5"),
        ("--delimiter ;", "1,5;2\n", "3.5"),
        ("--delimiter ;", "-1,5e1;2\n", "-13.0"),
        ("--delimiter ,", "\"1,5\",\"2,5\"\n", "4.0"),
        ("--thousands .", "1.234,5 1.000.000\n", "1001234.5"),
    ] {
        assert_eq!(
            pass(&format!("reduce --decimal , {line}"), text),
            result,
            "{line}: {text}"
        );
    }
    for (line, text, result) in [
        (
            "--thousands , --delimiter ,",
            "\"1,234\",\"1,000,000.5\"\n",
            "1001234.5",
        ),
        ("--thousands ,", "1,234, 5\n", "1239"),
        ("--thousands '", "1'234'567\n", "1234567"),
        (
            "--thousands space --delimiter ;",
            "1 234;-5 000\n1\u{a0}000;1\u{202f}000\n",
            "-1766",
        ),
        ("--thousands _", "1_000\n", "1000"),
        ("--thousands ,", "12,34,567\n", "1234567"),
    ] {
        assert_eq!(
            pass(&format!("reduce {line}"), text),
            result,
            "{line}: {text}"
        );
    }
    for (line, text, message) in [
        ("", "1,5", "--decimal ,"),
        ("", "1,500", "--thousands , if this is 1500"),
        ("", "1.234,5", "--decimal , --thousands . if this is 1234.5"),
        ("--decimal ,", "1.234,5", "--thousands . if this is 1234.5"),
        ("", "1,23,4", "--thousands ,"),
        ("--decimal ,", "1.5", "`1.5` is not a number"),
        ("--decimal ,", "1.234", "--thousands ."),
        ("--thousands ,", "1,5", "`1,5` is not a number"),
        ("--thousands ,", "0,001", "`0,001` is not a number"),
        (
            "--thousands , --delimiter ,",
            "1,234",
            "stands within no quotes",
        ),
        (
            "--decimal , --delimiter ,",
            "1,5",
            "stands within no quotes",
        ),
        ("--thousands ,", "1234,567", "is not a number"),
        (
            "--thousands ,",
            ",123",
            "there is no number before this comma",
        ),
        ("--thousands ,", "1.234,567", "is not a number"),
        (
            "--decimal , --thousands ,",
            "1",
            "stands before the fraction already",
        ),
    ] {
        let error = fail(&format!("reduce {line}"), text);
        assert!(error.contains(message), "{line}: {text}: {error}");
        assert!(!error.contains("tr -d"), "{error}");
    }
    // Where a comma stands before the fraction, .csv has semicolons.
    let folder = folder(&[("x.csv", b"a;b\n1,5;2\n2,5;3\n")]);
    let sum = pass_in(folder.path(), "reduce --decimal , --column a x.csv", b"");
    assert_eq!(sum, b"4.0\n");
}

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
fn missing_values_are_skipped_said_or_refused() {
    let text = "n,x\n1,1.5\n2,NA\n3,\n4,-\n5,n/a\n6,2.5\n";
    let error = fail("reduce --delimiter , --column x", text);
    assert!(
        error.contains("line 3, field 2: `NA` stands for a missing number")
            && error.contains("--missing skip"),
        "{error}"
    );
    let (sum, note) = noted("reduce --delimiter , --column x --missing skip", text);
    assert_eq!(sum, "4.0");
    assert_eq!(
        note,
        "warpfold: note: standard input: 4 missing values were skipped\n"
    );
    assert_eq!(
        pass(
            "reduce --op max --delimiter , --column x --missing nan",
            text
        ),
        "NaN"
    );
    assert_eq!(
        pass(
            "scan --delimiter , --column x --missing nan",
            "n,x\n1,2\n2,NA\n"
        ),
        "2.0 NaN"
    );
    for word in [
        "NA", "N/A", "#N/A", "null", "NULL", "None", "-", "?", ".", "NaN", "<NA>", "--",
    ] {
        let line = "reduce --missing skip";
        let (sum, note) = noted(line, &format!("1 {word} 2"));
        assert_eq!((sum.parse(), note.is_empty()), (Ok(3.0), false), "{word}");
    }
    // The user's own, which may be a number.
    let line = "reduce --missing skip --missing-word -999 --missing-word none";
    assert_eq!(noted(line, "1 -999 none 2 -999.0").0.parse(), Ok(3.0));
    let error = fail("reduce --missing-word -999", "1 -999");
    assert!(
        error.contains("`-999` stands for a missing number"),
        "{error}"
    );
    let error = fail("reduce --dtype i32 --missing nan", "1 NA");
    assert!(error.contains("i32 has no NaN"), "{error}");
    let error = fail("reduce", "1 NA");
    assert!(error.contains("--missing"), "{error}");
    // A file that is read twice is told of once, and with --quiet not at all.
    let folder = folder(&[("x.txt", b"1 NA 2\n")]);
    for (line, notes) in [("", 1), (" --quiet", 0)] {
        let line = format!("histogram --bins 2 --missing skip x.txt{line}");
        let output = run_in(folder.path(), &line, b"");
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            told.matches("1 missing value was skipped").count(),
            notes,
            "{line}: {told}"
        );
    }
    // Without it, a NaN is a number.
    assert_eq!(pass("reduce", "1 nan"), "NaN");
}

#[test]
fn text_is_read_whatever_its_name_promises() {
    let folder = folder(&[
        ("x.dat", b"# time value\n1 2.5\n2 3.5\n"),
        ("y.dat", b"12 13\n"),
        ("z.raw", b"12\n13\n"),
        ("u.dat", &[12, 13, 200]),
    ]);
    assert_eq!(
        pass_in(folder.path(), "reduce --column value x.dat", b""),
        b"6.0\n"
    );
    for line in [
        "reduce y.dat",
        "reduce --dtype u8 y.dat",
        "reduce --format text z.raw",
    ] {
        assert_eq!(pass_in(folder.path(), line, b""), b"25\n", "{line}");
    }
    let line = "reduce --dtype u8 --format raw y.dat";
    assert_eq!(pass_in(folder.path(), line, b""), b"241\n");
    assert_eq!(
        pass_in(folder.path(), "reduce --dtype u8 u.dat", b""),
        b"225\n"
    );
    // Also where a mark or other letters are much of a short one.
    let utf16 = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<_>>()
    };
    let texts = crate::support::folder(&[
        ("mark.dat", "\u{feff}1\n2\n".as_bytes()),
        ("letters.dat", "größe\n1\n2\n".as_bytes()),
        ("dos.dat", b"1\r\n2\r\n\x1a"),
        ("dos.bin", b"1\r\n2\r\n\x1a"),
        ("latin.dat", b"gr\xf6\xdfe\n1\n2\n"),
        ("wide.dat", &utf16("\u{feff}x\n1\n2\n")),
        ("wide.bin", &utf16("1\n2\n")),
    ]);
    for name in ["mark.dat", "letters.dat", "dos.dat"] {
        let sum = pass_in(texts.path(), &format!("reduce --dtype u8 {name}"), b"");
        assert_eq!(sum, b"3\n", "{name}");
    }
    for (name, remedy) in [
        ("dos.bin", "give --format text or --format raw"),
        ("latin.dat", "give --format text or --format raw"),
        (
            "wide.dat",
            "iconv -f UTF-16LE -t UTF-8 FILE | warpfold ..., or give --format raw",
        ),
        ("wide.bin", "iconv -f UTF-16LE"),
    ] {
        let error = fail_in(texts.path(), &format!("reduce --dtype u8 {name}"), b"");
        assert!(error.contains(remedy), "{name}: {error}");
        pass_in(
            texts.path(),
            &format!("reduce --dtype u8 --format raw {name}"),
            b"",
        );
    }
    let error = fail_in(folder.path(), "reduce --dtype u8 z.raw", b"");
    assert!(error.contains("--format text or --format raw"), "{error}");
}

/// A field has 16 MiB at most, and a row of many is never held as a whole.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_a_line() {
    let folder = folder(&[]);
    for (input, line, result) in [
        (
            "yes 0000000000000000000000000000001, | head -c 49499994 | tr -d '\\n'",
            "reduce --delimiter ,",
            "1499999",
        ),
        (
            "yes '0000000000000000000000000000001 ' | head -c 49500000 | tr -d '\\n'",
            "reduce",
            "1500000",
        ),
        (
            "{ echo '\"'; yes 1,2 | head -c 30M; }",
            "reduce --delimiter ,",
            "is not closed within 16 MiB",
        ),
        (
            "head -c 30M /dev/zero | tr '\\0' 1",
            "reduce",
            "it is longer than 16 MiB",
        ),
        (
            "{ echo a,b; yes 1, | head -c 30M | tr -d '\\n'; }",
            "reduce --delimiter , --column a",
            "line 2",
        ),
    ] {
        let script = format!("{input} | (ulimit -d 131072; exec \"$warpfold\" {line} 2>&1)");
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .env("warpfold", env!("CARGO_BIN_EXE_warpfold"))
            .env("RAYON_NUM_THREADS", "2")
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(result), "{input}: {said}");
    }
}

/// A word of more than a block is one word.
#[test]
fn long_words_are_whole() {
    let zeros = "0".repeat(3 << 20);
    assert_eq!(pass("reduce --dtype f64", &format!("{zeros}1.5 2")), "3.5");
    assert_eq!(pass("reduce", &format!("{zeros}7 2")), "9");
    assert_eq!(pass("reduce --delimiter ,", &format!("{zeros}7,2")), "9");
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

#[test]
fn a_space_within_numbers_needs_another_between_them() {
    for text in ["1 234\n2 345\n", "1 234 567\n"] {
        let error = fail("reduce --thousands space", text);
        assert!(error.contains("give --delimiter"), "{error}");
    }
    assert_eq!(
        pass("reduce --thousands space --delimiter ;", "1 234;2 345\n"),
        "3579"
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

#[test]
fn fortran_writes_exponents_with_d() {
    assert_eq!(pass("reduce", "1.5D+03 2.0d0\n"), "1502.0");
    let line = "reduce --decimal , --delimiter ; --column b";
    assert_eq!(pass(line, "a;b\n1;1,5D3\n"), "1500.0");
    // This can be a label.
    assert!(fail("reduce", "1D3\n").contains("is not a number"));
}

/// A number that stands for a missing value is that number alone.
#[test]
fn numbers_for_missing_values_are_exact_and_have_the_marks_of_the_text() {
    for (word, text, sum, count) in [
        (
            "-9223372036854775808",
            "-9223372036854775807 -9223372036854775808 1",
            "-9223372036854775806",
            1,
        ),
        (
            "9007199254740993",
            "9007199254740993 9007199254740992",
            "9007199254740992",
            1,
        ),
        ("-9999", "-9999.0 -9999 -9.999e3 1", "1", 3),
        ("99,9 --decimal ,", "99,90 1", "1", 1),
        ("99.9 --decimal ,", "99,90 1,5", "1.5", 1),
    ] {
        let line = format!("reduce --missing skip --missing-word {word}");
        let (result, notes) = noted(&line, text);
        assert_eq!(result, sum, "{word}");
        assert!(notes.contains(&format!("{count} missing value")), "{notes}");
    }
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
