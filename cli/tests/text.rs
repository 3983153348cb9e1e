//! Text as people and programs write it: line ends, quotes, comments, and how long a word may be.

use crate::support::{fail, fail_in, folder, noted, pass, pass_in};

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
