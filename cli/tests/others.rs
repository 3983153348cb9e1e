//! What other programs write: printed tables, archives, and marks of their own.

use crate::support::{fail, fail_in, folder, noted, pass, pass_in};
use std::io::Write;

/// Brackets are those of a list only where they are no index; what is followed gives the sum.
#[test]
fn printed_vectors_and_pairs_are_told() {
    for (line, text, remedy) in [
        (
            "reduce",
            "[1]  1  2  3\n[4]  4  5\n",
            r"sed -E 's/^ *(\[[0-9]*,?\]|[0-9]+\))//'",
        ),
        (
            "reduce",
            "  [1]  1  2\n[10]  4  5\n",
            r"sed -E 's/^ *(\[[0-9]*,?\]|[0-9]+\))//'",
        ),
        (
            "reduce",
            "[1,] 5 6\n[2,] 7 8\n",
            r"sed -E 's/^ *(\[[0-9]*,?\]|[0-9]+\))//'",
        ),
        ("reduce", "[1] [2] [3]\n", "tr -d '[]{}'"),
        ("reduce", "[1]\n[2]\n", "tr -d '[]{}'"),
        ("reduce", "(1.5,2.5)\n", "write its parts as two numbers"),
        (
            "reduce",
            "(-1.5,2.5E-3)\n",
            "write its parts as two numbers",
        ),
        (
            "reduce",
            "1\n2\n-----\n3\n",
            "grep -vE '^[-=_+|:,;[:space:]]*([-=_]{3}",
        ),
        ("reduce --column b", "a   b\n--- ---\n1   2\n", "grep -vE"),
        (
            "reduce --column b --delimiter |",
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "grep -vE",
        ),
    ] {
        let error = fail(line, text);
        assert!(error.contains(remedy), "{text:?}: {error}");
    }
}

#[test]
fn comments_of_other_programs_are_asked_about() {
    for mark in ["%", "!", ">", "*", "//", ";"] {
        let option = mark.chars().next().unwrap();
        for text in [
            format!("{mark} a b\n1 2\n3 4\n"),
            format!("{mark} 2020 5\n1 2\n3 4\n"),
            format!("{mark}made today\n1 2\n3 4\n"),
            format!("1 2\n{mark} the rest\n3 4\n"),
        ] {
            let error = fail("reduce", &text);
            assert!(
                error.contains(&format!("--comment '{option}'")),
                "{text:?}: {error}"
            );
            let said = format!("reduce --comment {option}");
            assert_eq!(noted(&said, &text).0, "10", "{text:?}");
        }
    }
    for (text, other) in [
        ("1\n****\n", "no room"),
        ("1\n>5\n", "a bound"),
        ("1\n%5\n", "%5"),
    ] {
        let error = fail("reduce", text);
        assert!(
            error.contains(other) && !error.contains("--comment"),
            "{error}"
        );
    }
}

/// What a spreadsheet writes in place of a number is no comment, so no end of the row.
#[test]
fn errors_of_spreadsheets_end_no_row() {
    for word in ["#NV", "#DIV/0!", "#N/A", "###"] {
        for text in [format!("b a\n5 {word}\n6 1\n"), format!("5 {word}\n6 1\n")] {
            assert_eq!(pass("reduce --column 1", &text), "11", "{text:?}");
        }
    }
}

#[test]
fn old_infinities_have_the_decimal_of_the_text() {
    let text = "a;b\n1;1,#INF\n2;2,5\n";
    let line = "reduce --delimiter ; --decimal , --column b";
    assert_eq!(pass(line, text), "inf");
    assert_eq!(pass(line, "a;b\n1;-1,#IND\n"), "NaN");
    let error = fail("reduce --delimiter ; --column b", text);
    assert!(
        error.contains("--decimal ,") && !error.contains("--comment"),
        "{error}"
    );
}

/// A column of chromosomes or houses is of words, most of which look like numbers.
#[test]
fn keys_that_are_mostly_numbers_can_be_words() {
    let text = "chrom,v\n2,1\n10,2\nX,3\n2,4\n";
    let folder = folder(&[("c.csv", text.as_bytes())]);
    for command in ["group", "sort", "top"] {
        let error = fail_in(folder.path(), &format!("{command} --by chrom c.csv"), b"");
        assert!(error.contains("give --words"), "{command}: {error}");
        assert!(!error.contains("--missing-word"), "{command}: {error}");
    }
    let of = |line: &str| {
        let output = pass_in(folder.path(), line, b"");
        String::from_utf8(output).unwrap().trim().replace('\n', " ")
    };
    assert_eq!(
        of("group --by chrom --words c.csv"),
        "chrom,count,v_sum,v_mean,v_min,v_max 10,1,2,2.0,2,2 2,2,5,2.5,1,4 X,1,3,3.0,3,3"
    );
    assert_eq!(
        of("sort --by chrom --words c.csv"),
        "chrom,v 10,2 2,1 2,4 X,3"
    );
    assert_eq!(of("top -k 1 --by chrom --words c.csv"), "chrom,v X,3");
    // As words, codes of several lengths are told apart.
    assert_eq!(
        pass("sort --by k --words --delimiter ,", "k,n\n1,1\n01,2\n"),
        "k,n 01,2 1,1"
    );
    let error = fail("reduce --words", "1\n");
    assert!(error.contains("leave --words out"), "{error}");
}

/// Other values of its row are lost with a missing one, which is said.
#[test]
fn rows_that_are_left_out_are_told_of() {
    let text = "k,b,c\n1,,5\n2,3,4\n";
    for command in ["group", "sort", "top"] {
        let line = format!("{command} --by k --missing skip --delimiter ,");
        let (_, note) = noted(&line, text);
        assert!(note.contains("1 row with it"), "{command}: {note}");
        let (_, silence) = noted(&format!("{line} -q"), text);
        assert_eq!(silence, "", "{command}");
    }
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(*name, options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn what_archives_hold_is_told() {
    let array = crate::support::npy_of(
        "<i8",
        "(2,)",
        &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0],
    );
    let whole = zip(&[("x.npy", &array), ("y.npy", &array)]);
    let texts = zip(&[("my file.csv", b"a\n1\n"), ("z.csv", b"a\n1\n")]);
    let mac = zip(&[
        ("__MACOSX/._x.npy", b"\0\x05"),
        ("x.npy", &array),
        ("._x.npy", b"\0\x05"),
    ]);
    let mut flipped = gzip(b"1\n2\n");
    let checksum = flipped.len() - 8;
    flipped[checksum] ^= 1;
    let folder = folder(&[
        ("flipped.csv.gz", &flipped),
        (
            "x.lzma",
            b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0\x18",
        ),
        ("cut.npz", &whole[..whole.len() - 30]),
        ("half.npz", &whole[..whole.len() / 2]),
        ("texts.zip", &texts),
        ("data.zip", &zip(&[("d/x.json", b"[1]")])),
        ("brackets.zip", &zip(&[("x[1].tsv", b"1\t2\n")])),
        ("none.zip", &zip(&[])),
        ("mac.npz", &mac),
        ("behind.npz", &[&[0; 100][..], &whole].concat()),
        ("twice.csv.gz", &gzip(&gzip(b"1\n"))),
        ("zip.csv.gz", &gzip(&texts)),
        ("junk.csv.gz", &[&gzip(b"1\n")[..], b"junk"].concat()),
        ("cut.csv.gz", &gzip(b"1\n2\n")[..15]),
    ]);
    for (file, remedy) in [
        ("cut.npz", "damaged or cut off"),
        ("half.npz", "make the file again"),
        (
            "texts.zip",
            "unzip -p FILE 'my file.csv' | warpfold ... --delimiter ,",
        ),
        ("data.zip", "unzip -p FILE d/x.json"),
        (
            "brackets.zip",
            "unzip -p FILE 'x[[]1].tsv' | warpfold ... --delimiter tab",
        ),
        ("none.zip", "numpy.savez"),
        ("behind.npz", "does not begin as an archive of zip"),
        ("twice.csv.gz", "gzip -dc FILE | gzip -dc"),
        ("zip.csv.gz", "an archive of zip again"),
        ("junk.csv.gz", "not gzip throughout"),
        ("cut.csv.gz", "make the file again"),
        ("flipped.csv.gz", "the compressed data are damaged"),
        ("flipped.csv.gz", "make the file again; gzip -t"),
        ("x.lzma", "xz -dc --format=lzma"),
    ] {
        let error = fail_in(folder.path(), &format!("reduce {file}"), b"");
        assert!(
            error.contains(remedy) && error.contains("remedy:"),
            "{file}: {error}"
        );
    }
    assert_eq!(pass_in(folder.path(), "reduce mac.npz", b""), b"3\n");
}

/// No remedy here gives another number when it is followed.
#[test]
fn numbers_as_people_write_them_are_told() {
    for (line, text, remedy) in [
        ("reduce", "5,-\n", r"sed -E 's/([0-9])[.,](-+|–|—)/\1/g'"),
        ("reduce", "5.--\n", "no cents"),
        ("reduce --delimiter ;", "a\n5,–\n", "no cents"),
        ("reduce", "1½\n", "0.5 for 1/2"),
        ("reduce", "½\n", "0.5 for 1/2"),
        ("reduce", "5²\n", "25 for 5²"),
        ("reduce", "10^3\n", "1.5e3 for 1.5x10^3"),
        ("reduce", "1.5×10³\n", "1.5e3 for 1.5x10^3"),
        ("reduce", "5'30\"\n", "minutes or seconds"),
        ("reduce", "48°51'24\"N\n", "minutes or seconds"),
        ("reduce", "0x1.8p3\n", "float.fromhex"),
        ("reduce", "1F 2A\n", "hexadecimal"),
        ("reduce", "np.float64(5.0)\n", "numpy.savetxt"),
        ("reduce", "Decimal('5')\n", "numpy.savetxt"),
        ("reduce", "array([1, 2, 3])\n", "numpy.savetxt"),
        (
            "reduce --no-header",
            "x=5\ny=6\n",
            r"sed -E 's/[[:alpha:]_][[:alnum:]_.]*[=:] *//g'",
        ),
        (
            "reduce",
            "x: 5\ny: 6\n",
            r"sed -E 's/[^[:space:]]*[=:][[:space:]]+//g'",
        ),
        ("reduce", "5 (3)\n", "an error or a share"),
        ("reduce", "(1,2)\n", "a pair of numbers"),
        ("reduce", "1.0e+03 *\n\n1.5 2.5\n", "format long g"),
        ("reduce", "7.0# 5\n", "tr -d '#'"),
        (
            "reduce --delimiter ,",
            "a\n(5%)\n",
            r"s/\( *([0-9.,]+ *%) *\)/-\1/g",
        ),
        (
            "reduce --delimiter , --column b",
            "a,b\nx,1.2345K\n",
            "numfmt --from=si --format=%.6f",
        ),
        (
            "reduce --delimiter , --column b",
            "a,b\n\"x, y\",1.5K\n",
            "write it out: 1.5K is 1500",
        ),
        (
            "reduce --delimiter , --thousands , --column b",
            "a,b\nx,\"1,234.50-\"\n",
            r#"s/"([0-9.][^[:alpha:]":/-]*)-"/"-\1"/g"#,
        ),
        (
            "reduce --delimiter , --column b",
            "\"a,b\"\n\"1,2\"\n",
            r#"sed -E 's/^"(.*)"(\r?)$/\1\2/;"#,
        ),
        (
            "reduce --delimiter ,",
            "\"a,b\"\n\"1,2\"\n",
            r#"sed -E 's/^"(.*)"(\r?)$/\1\2/;"#,
        ),
        ("reduce", "1.50-2.50\n", "write 1.5 -2.5"),
        ("reduce", "1.0000E+00-2.0000E-05\n", "write 1.5 -2.5"),
        ("reduce", "3*1.5 2\n", "Fortran have 3*1.5"),
        ("reduce", ".TRUE. .FALSE.\n", "true or false"),
        ("reduce", "1|2.5\n", "give --delimiter '|'"),
        (
            "reduce --delimiter | --column v",
            "id|v\n---+---\n1|5\n",
            "grep -vE",
        ),
        (
            "reduce --delimiter , --column y",
            "x y\n1 2\n",
            "--delimiter space",
        ),
        ("reduce --column #obs", "n #obs\n5 10\n", "--no-comments"),
        ("reduce --column 2", "1\t\t3\n4\t\t6\n", "--delimiter tab"),
    ] {
        let error = fail(line, text);
        assert!(error.contains(remedy), "{text:?}: {error}");
        assert!(!error.contains("--skip"), "{text:?}: {error}");
    }
}

/// Then a point is none before a fraction, and a comma that separates fields stands in no number.
#[test]
fn a_point_between_thousands_needs_no_other_option() {
    let text = "k,v\na0,1.361.406\na1,9.964\n";
    let error = fail("reduce --delimiter , --column v", text);
    assert!(
        error.contains("give --thousands . if this is 1361406"),
        "{error}"
    );
    assert_eq!(
        pass("reduce --delimiter , --column v --thousands .", text),
        "1371370"
    );
    assert_eq!(pass("reduce --thousands .", "1.234 2\n"), "1236");
    let text = "k,v\na,\"1.361,5\"\nb,9.964\n";
    assert_eq!(
        pass("reduce --delimiter , --column v --thousands .", text),
        "11325.5"
    );
    assert_eq!(
        pass("reduce --delimiter ; --thousands .", "1.361,5\n"),
        "1361.5"
    );
}

#[test]
fn messages_of_other_files_name_what_helps() {
    let folder = folder(&[("e.txt", b"0,5\n2,5\n"), ("w.csv", b"id,v\nx,5\ny,1\n")]);
    let error = fail_in(folder.path(), "histogram --edges e.txt", b"1\n");
    assert!(error.contains("but for --decimal"), "{error}");
    let error = fail_in(folder.path(), "sort --by id w.csv -o s.npy", b"");
    assert!(
        error.contains(".csv") && !error.contains("--output-format"),
        "{error}"
    );
    for ending in ["pq", "fts", "he5", "bam", "s3db", "json5"] {
        let error = fail_in(
            folder.path(),
            &format!("sort w.csv --column v -o x.{ending}"),
            b"",
        );
        assert!(error.contains("not written here"), "{error}");
    }
}

/// R has each name of a row once, and quotes no numbers.
#[test]
fn quoted_first_fields_that_are_no_names_of_rows_are_asked_about() {
    for text in [
        "\"name\",\"price\"\n\"A\",5,99\n\"A\",6,49\n",
        "\"name\",\"price\"\n\"A\",5,99\n\"B\",6,49\n",
        "\"item\",\"qty\"\n\"a\",1,234\n\"b\",2,345\n",
        "\"x\",\"y\"\n\"1\",\"2\",\"9\"\n\"3\",\"4\",\"9\"\n",
    ] {
        for line in ["reduce --column 2", "stats"] {
            let error = fail(&format!("{line} --delimiter ,"), text);
            assert!(error.contains("give --row-names"), "{text:?}: {error}");
        }
        noted("reduce --column 2 --row-names --delimiter ,", text);
    }
    let text = "\"weight\",\"feed\"\n\"1\",60,0.5\n\"2\",70,0.25\n";
    assert_eq!(pass("reduce --delimiter , --column weight", text), "130");
    let text = "\"x\" \"y\"\n\"a\" 21 6\n\"b\" 22 10\n";
    assert_eq!(pass("reduce --column y", text), "16");
}

#[test]
fn columns_from_the_end_are_told() {
    let error = fail("reduce --delimiter , --column -1", "a,b,c\n1,2,3\n");
    assert!(
        error.contains("--column 3 for number 1 from the end"),
        "{error}"
    );
}

/// Blanks in quotes belong to a key, and zeros in front of numbers are lost with a word.
#[test]
fn keys_are_what_stands_in_quotes() {
    let text = "k,v\n\" x\",3\nx,2\n";
    assert_eq!(
        pass("group --by k --delimiter ,", text),
        "k,count,v_sum,v_mean,v_min,v_max \" x\",1,3,3.0,3,3 x,1,2,2.0,2,2"
    );
    for line in ["sort -q", "top -q"] {
        let (_, warning) = noted(line, "010\n009\n");
        assert!(warning.contains("zeros in front"), "{line}: {warning}");
    }
    assert_eq!(pass("sort", "10 0 9\n"), "0 9 10");
}

/// What is asked about must be odd: these are not.
#[test]
fn plain_tables_are_read_without_a_word() {
    // Integers that rise evenly, in more rows than are looked at first.
    let rising: String = (5..5000)
        .map(|i| format!("{i},{},{}\n", i + 1, i + 2))
        .collect();
    let (sum, notes) = noted("reduce --delimiter ,", &rising);
    assert_eq!(sum, (5..5000).map(|i| 3 * i + 3).sum::<u64>().to_string());
    assert!(!notes.contains("names of columns"), "{notes}");
    // R's row names, and an empty text.
    let table = "\"x\",\"y\"\n\"1\",5,\"\"\n\"2\",6,\"a\"\n";
    assert_eq!(pass("reduce --delimiter , --column x", table), "11");
}

/// White space that nobody sees makes no other key, unless quotes keep it.
#[test]
fn keys_without_quotes_have_no_blanks_around_them() {
    let groups = pass(
        "group --by k --delimiter ,",
        "k,v\nx\u{a0},3\nx,2\n\u{feff}x,1\n",
    );
    assert!(groups.ends_with(" x,3,6,2.0,1,3"), "{groups}");
    let groups = pass("group --by k --delimiter ,", "k,v\n\"x\u{a0}\",3\nx,2\n");
    assert!(
        groups.ends_with(" \"x\u{a0}\",1,3,3.0,3,3 x,1,2,2.0,2,2"),
        "{groups}"
    );
}

/// Only columns that there are can be counted from the end.
#[test]
fn columns_beyond_the_first_are_not_counted_from_the_end() {
    for column in ["-9", "-0"] {
        let line = format!("reduce --delimiter , --column={column}");
        let error = fail(&line, "a,b,c\n1,2,3\n");
        assert!(!error.contains("from the end"), "{error}");
    }
    let error = fail("reduce --delimiter , --column=-1", "a,b,c\n1,2,3\n");
    assert!(
        error.contains("--column 3 for number 1 from the end"),
        "{error}"
    );
}

/// Points between thousands imply a comma before the fraction, which may separate fields as well.
#[test]
fn a_table_by_name_is_asked_about_where_a_comma_is_implied() {
    let folder = folder(&[("x.csv", b"1.234,5\n2.345,6\n")]);
    for line in [
        "reduce x.csv --thousands .",
        "reduce x.csv --thousands . --decimal ,",
    ] {
        let error = fail_in(folder.path(), line, b"");
        assert!(error.contains("--delimiter"), "{line}: {error}");
    }
}
