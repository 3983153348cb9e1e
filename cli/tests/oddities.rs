//! Words that are almost numbers: they are read where nothing else can be meant, and else told.

use crate::support::{fail, fail_in, folder, noted, pass, pass_in, run_in};
use std::path::Path;

#[test]
fn a_comment_names_the_columns_of_words() {
    for text in [
        "# a b\n1 10\n2 20\n",
        "#a b\n1 10\n2 20\n",
        "# made today\n# a b\n1, 10\n2, 20\n",
        "## a, b\n\n1\t10\n2\t20\n",
        "# a b\n1 10 # one\n2 20\n",
        "# a b\r\n1 10\r\n2 20\r\n",
    ] {
        assert_eq!(pass("reduce --column b", text), "30", "{text:?}");
        assert_eq!(pass("scan", text), "a b 1 10 3 30", "{text:?}");
        let table = pass("stats --json", text);
        assert!(
            table.contains("\"name\":\"b\",\"dtype\":\"i64\",\"count\":2"),
            "{table}"
        );
        assert_eq!(pass("sort --by b:desc", text), "a b 2 20 1 10", "{text:?}");
        assert_eq!(pass("reduce", text), "33", "{text:?}");
        assert_eq!(pass("scan --no-header", text), "1 11 13 33", "{text:?}");
    }
    assert_eq!(pass("scan --comment %", "% a b\n1 10\n"), "a b 1 10");
    assert_eq!(
        noted("scan --missing skip", "# a b\nNA 10\n2 20\n").0,
        "a b NA 10 2 30"
    );
    // Names fit the rows, are words, and several.
    for text in [
        "# sizes\n1\n2\n",
        "# 2 columns\n1 10\n",
        "# some numbers here\n1 10\n",
        "# two rows\n1 10\n2\n",
    ] {
        assert!(
            !pass("scan", text).contains(|c: char| c.is_alphabetic()),
            "{text:?}"
        );
    }
}

#[test]
fn plain_spellings_of_other_programs_are_read() {
    for (text, sum) in [
        ("\u{2212}5 1", "-4"),
        ("\u{2212}1.5e\u{2212}1 1", "0.85"),
        ("1.5D+03 1", "1501.0"),
        ("5D+03 1d-1", "5000.1"),
        ("TRUE true False 1", "3"),
        ("\u{a0}7\u{a0} 1", "8"),
        ("\u{feff}1 \u{200e}2", "3"),
    ] {
        assert_eq!(pass("reduce", text), sum, "{text:?}");
        let table = format!("x\n{}\n", text.replace(' ', "\n"));
        assert_eq!(pass("reduce --delimiter ,", &table), sum, "{text:?}");
    }
    let text = "\u{a0}a\u{a0},b\n5\u{a0},6\n\u{202f}7,8\n";
    assert_eq!(pass("reduce --delimiter , --column a", text), "12");
    assert_eq!(pass("reduce --delimiter ,", text), "26");
    for word in [".a", ".z", "._"] {
        assert_eq!(
            noted("reduce --missing skip", &format!("1 {word} 2")).0,
            "3"
        );
    }
    assert!(fail("reduce", "1 .ab 2").contains("is not a number"));
}

/// What has digits is data: no message offers to take it for a missing value.
#[test]
fn almost_numbers_have_remedies_of_their_own() {
    for (word, remedy) in [
        ("5%", "tr -d %"),
        ("5 %", "tr -d %"),
        ("(5)", "write -5 for (5)"),
        ("(1,5)", "write -5 for (5)"),
        ("1\u{2019}500", "--thousands \u{2019}"),
        ("1'500", "--thousands \"'\""),
        ("1\u{a0}500", "--thousands space"),
        (
            "1.234.567",
            "give --thousands . --delimiter , if this is 1234567",
        ),
        (
            "1,500",
            "--thousands , --delimiter , if this is 1500, --decimal ,",
        ),
        ("$5", "`$` stands before a number"),
        ("\u{20ac} 5", "sed -E 's/\u{20ac} *([-+.0-9])/"),
        ("<0.1", "a bound"),
        (
            "135.5M",
            "write it out: 1.5K is 1500, or 1536 where K is 1024",
        ),
        ("1.5Gi", "write it out: 1.5K is 1500"),
        ("10k", "write the number out"),
        ("2.5 p", "sed -E 's/([0-9]) *p("),
        ("5kg", "sed -E 's/([0-9]) *kg("),
        ("1D3", "1E3 for 1D3"),
        ("0x1F", "hexadecimal"),
        ("\u{2013}5", "a dash"),
        ("yes", "a truth value"),
        ("\u{201c}5\u{201d}", "quotes are none here"),
        ("2024-01-31", "a date or a time"),
        ("12:30", "a date or a time"),
        ("1/2", "0.5 for 1/2"),
        ("1-2", "a range"),
    ] {
        let text = format!("x,y\n1,1\n2,2\n\"{word}\",3\n");
        let error = fail("reduce --delimiter , --column x", &text);
        assert!(error.contains(remedy), "{word}: {error}");
        assert!(!error.contains("--missing-word"), "{word}: {error}");
        assert!(error.contains("line 4, field 1"), "{word}: {error}");
    }
    let error = fail("reduce --delimiter , --column x", "x,y\n1,1\nn.k.,2\n");
    assert!(
        error.contains("--missing-word 'n.k.'") && error.contains("--column"),
        "{error}"
    );
    let error = fail("reduce --delimiter ;", "1,500;2\n");
    assert!(
        error.contains("--thousands , if this is 1500, --decimal , if this is 1.500"),
        "{error}"
    );
    let folder = folder(&[("x.csv", b"a;b\n1,500;2\n2,500;3\n" as &[u8])]);
    let error = fail_in(folder.path(), "reduce x.csv", b"");
    assert!(
        error.contains("--decimal ,") && error.contains("--delimiter ';' --thousands ,"),
        "{error}"
    );
    for (option, sum) in [(",", &b"4005\n"[..]), (". --decimal ,", b"9.0\n")] {
        let line = format!("reduce x.csv --delimiter ; --thousands {option}");
        assert_eq!(pass_in(folder.path(), &line, b""), sum, "{option}");
    }
    let line = "reduce --decimal , --thousands .";
    assert_eq!(pass(line, "1.234.567 1\n"), "1234568");
    for mark in ["'", "\u{2019}"] {
        let line = format!("reduce --thousands {mark}");
        assert_eq!(pass(&line, "1\u{2019}500 1'500"), "3000");
    }
}

#[test]
fn almost_numbers_and_truth_values_may_be_names() {
    for text in [
        "25%,50%\n5,6\n",
        "<5,>5\n5,6\n",
        "FALSE,TRUE\n5,6\n",
        "x,true\n1,6\n2,6\n",
    ] {
        let error = fail("stats --delimiter ,", text);
        assert!(error.contains("--header"), "{text:?}: {error}");
        let sum = pass("reduce --column 1 --header --delimiter ,", text);
        assert!(["3", "5"].contains(&sum.as_str()), "{text:?}: {sum}");
    }
    assert_eq!(pass("reduce --delimiter ,", "TRUE,1\nFALSE,2\n"), "4");
}

/// A column of numbers with something beside them is no column of labels.
#[test]
fn no_column_of_quantities_is_left_out() {
    for words in [
        ["1.5M", "2.5M", "7"],
        ["135.5M", "2K", "3B"],
        ["2.5 p", "3 p", "4"],
        ["10 kg", "12 kg", "13 kg"],
        ["5%", "6%", "7%"],
        ["$5", "$6", "7"],
        ["(5)", "(6)", "7"],
        ["<0.1", "<0.2", "5"],
        ["12 km/h", "13 km/h", "14 km/h"],
        ["'5'", "'6'", "'7'"],
        ["\u{201c}5\u{201d}", "\u{201c}6\u{201d}", "7"],
    ] {
        let rows: Vec<_> = words.iter().map(|word| format!("1,{word}\n")).collect();
        let text = format!("n,p\n{}", rows.concat());
        for command in ["stats", "histogram", "scan", "reduce", "sort"] {
            let error = fail(&format!("{command} --delimiter ,"), &text);
            assert!(
                error.contains("line 2, field 2") && error.contains("--column"),
                "{words:?}: {error}"
            );
        }
        assert_eq!(pass("reduce --delimiter , --column n", &text), "3");
    }
    let error = fail("stats --delimiter ,", "n,p\n1,5 # five\n2,6 # six\n");
    assert!(
        error.contains("line 2, field 2") && error.contains("--comment '#'"),
        "{error}"
    );
    // Labels are told of, and left out.
    for words in [
        ["2024-01-02", "2024-01-03", "2024-01-04"],
        ["12A", "13B", "1C"],
        ["1st", "2nd", "3rd"],
        ["A/5 21171", "PC 17599", "C85"],
        ["10.0.0.1", "10.0.0.2", "x"],
    ] {
        let rows: Vec<_> = words.iter().map(|word| format!("1,{word}\n")).collect();
        let text = format!("n,p\n{}", rows.concat());
        let (sum, warning) = noted("reduce --delimiter ,", &text);
        assert_eq!(sum, "3", "{words:?}");
        assert!(warning.contains("left out: p"), "{words:?}: {warning}");
    }
}

#[test]
fn each_column_has_a_type_of_its_own() {
    let text = "id,x\n18446744073709551615,0.5\n3,1.5\n";
    let table = pass("stats --delimiter , --json", text);
    assert!(
        table.contains("\"dtype\":\"u64\"") && table.contains("\"max\":18446744073709551615"),
        "{table}"
    );
    assert_eq!(
        pass("sort --delimiter ,", text),
        "id,x 3,1.5 18446744073709551615,0.5"
    );
    assert_eq!(
        pass("reduce --op max --delimiter , --column id", text),
        "18446744073709551615"
    );
    // One type for all numbers rounds, and says so.
    let (_, warning) = noted("reduce -q --delimiter ,", text);
    assert!(warning.contains("this integer is beyond 2^53"), "{warning}");
    assert_eq!(
        pass("reduce --op max", "18446744073709551615 1"),
        "18446744073709551615"
    );
    let error = fail("reduce", "18446744073709551615 -1");
    assert!(error.contains("out of the range of i64"), "{error}");
    // Also far behind the first rows.
    let late = format!("{}18446744073709551615,0.5\n", "1,0.5\n".repeat(5000));
    let max = pass("reduce --op max --delimiter , --column 1", &late);
    assert_eq!(max, "18446744073709551615");
}

/// As the World Bank has them.
#[test]
fn lines_above_a_table_are_told() {
    let text = "\"Data Source\",\"World Development Indicators\"\n\n\
                \"Last Updated Date\",\"2024-01-01\"\n\n\
                \"Country\",\"Code\",\"1960\",\"1961\"\n\
                \"Aruba\",\"ABW\",\"1\",\"2\"\n\"Angola\",\"AGO\",\"3\",\"4\"\n";
    for (text, lines) in [
        (text, 4),
        ("Sales of the year\nmonth,sales\n1,5\n2,6\n", 1),
        ("Report\nmade,today\na,b,c\n1,2,3\n4,5,6\n", 2),
    ] {
        for line in ["stats", "scan", "reduce --column 1960", "reduce --column 4"] {
            let error = fail(&format!("{line} --delimiter ,"), text);
            assert!(
                error.contains(&format!("--skip {lines}")),
                "{line}: {error}"
            );
        }
        let line = format!("reduce --delimiter , --header --skip {lines} --column 2");
        let output = run_in(Path::new("."), &line, text.as_bytes());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!error.contains("--skip"), "{error}");
    }
}

/// A header in silence would drop the first value.
#[test]
fn a_damaged_first_value_is_no_header_in_silence() {
    for word in [
        "<0.05",
        "$5.00",
        "1.5-",
        "1.5+300",
        "4.0K",
        "2024-01-01",
        "10%",
        "$5",
        "(3)",
        "~5",
        "*****",
        ":",
        "1.2G",
        "5-",
        "1.5e",
        "'5",
        "1/2",
        "1:30",
        "nan(a b)",
        "\u{221e}",
        "0x1F",
        "5kg",
        "1.#J",
        "R$5",
        "Err:502",
        "NA*",
        "unknown",
        "\u{bd}",
        "5\u{20ac}",
        "\u{b1}5",
        "%",
        "(m)",
        "\u{b0}C",
        "\u{665}",
        "[5]",
        "+-5",
        "5_",
        "=A1",
    ] {
        for (line, text) in [
            ("--column 1", format!("{word} a\n20 b\n5 c\n")),
            (
                "--delimiter ; --column 2",
                format!("\"alice\";\"{word}\"\nbob;6\n"),
            ),
        ] {
            let error = fail(&format!("reduce {line}"), &text);
            let is_header = error.contains("--header");
            assert!(is_header, "{word}: {line}: {text:?}: {error}");
        }
    }
    for (line, text) in [
        ("--column 2", "rent;1,5 \u{20ac}\nfood;2,5\n"),
        ("--column 2", "rent;EUR 5\nfood;2\n"),
        ("--column 2", "a;$ total\nb;2\n"),
        ("--column 1", "# no names\n5 kg;a\n2;b\n"),
    ] {
        let error = fail(&format!("reduce --delimiter ; {line}"), text);
        assert!(error.contains("--header"), "{text:?}: {error}");
    }
    let error = fail("reduce --column 2", "alice $5.00\nbob 6.00\n");
    assert!(
        error.contains("line 1") && error.contains("`$5.00`") && error.contains("--no-header"),
        "{error}"
    );
    for (line, text) in [
        ("--delimiter ;", "alice;(500)\nbob;6\n"),
        ("--delimiter ; --column 1", "1.5-;alice\n"),
        (
            "--delimiter ; --column 2 --missing skip",
            "alice;5-\nbob;NA\n",
        ),
    ] {
        for command in ["reduce", "stats", "sort", "select --gt 0", "top -k 1"] {
            let error = fail(&format!("{command} {line}"), text);
            assert!(error.contains("--header"), "{text:?}: {error}");
        }
    }
    let header = "reduce --column 2 --header";
    assert_eq!(pass(header, "alice $5.00\nbob 6.00\n"), "6.0");
    let error = fail("reduce --column 2 --no-header", "alice $5.00\nbob 6.00\n");
    assert!(error.contains("`$` stands before a number"), "{error}");
}

#[test]
fn names_above_numbers_stay_names() {
    for name in [
        "x",
        "y",
        "n",
        "t",
        "_x",
        "_1",
        "gr\u{f6}\u{df}e",
        "\u{5e74}",
        "\u{3b1}",
        "x2",
        "pop(m)",
        "t[s]",
        "p-value",
        "nan_count",
        "NaNs?",
        "a%",
        "q0.25",
        "rate_%",
        "\u{b5}g",
        "n_5",
        "US$",
    ] {
        for (line, text) in [
            ("--column 1", format!("{name} b\n20 u\n5 v\n")),
            ("--column 2 --delimiter ,", format!("a,{name}\nu,20\nv,5\n")),
            (
                "--column 2 --delimiter ,",
                format!("\"a\",\"{name}\"\n\"u\",20\n\"v\",5\n"),
            ),
        ] {
            assert_eq!(pass(&format!("reduce {line}"), &text), "25", "{text:?}");
        }
    }
    // Quotes around names alone, or the name of a column.
    let text = "\"a\",\"$ total\"\n\"u\",20\n\"v\",5\n";
    assert_eq!(pass("reduce --delimiter , --column 2", text), "25");
    let text = "-log10(p),%\n20,1\n5,2\n";
    assert_eq!(pass("reduce --delimiter , --column -log10(p)", text), "25");
    assert_eq!(pass("reduce --delimiter , --column name:%", text), "3");
    assert_eq!(
        pass("sort --delimiter , --by %:desc", "p,%\n20,1\n5,2\n"),
        "p,% 5,2 20,1"
    );
    assert!(fail("reduce --delimiter , --column 1", text).contains("--header"));
}

#[test]
fn errors_of_spreadsheets_are_no_comments() {
    let words = [
        "#VALEUR!",
        "#NOMBRE!",
        "#\u{a1}VALOR!",
        "#\u{bf}NOMBRE?",
        "#SPILL!",
        "#CALC!",
        "#ERROR!",
        "#DIV/0",
        "#NAN",
        "#INF",
        "#BUSY!",
        "#SAYI/0!",
        "#\u{417}\u{41d}\u{410}\u{427}!",
        "#\u{41d}/\u{414}",
        "#I/T",
        "#GETTING_DATA",
        "#NAME?",
        "#DIVISION/0!",
    ];
    for word in words {
        for text in [format!("1\n{word}\n3\n"), format!("1 2\n3 {word}")] {
            let error = fail("reduce", &text);
            assert!(error.contains(word), "{text:?}: {error}");
            assert!(error.contains("--comment '#'"), "{text:?}: {error}");
        }
        let table = format!("a,b\n{word},1\n2,3\n");
        assert!(fail("reduce --delimiter , --column a", &table).contains(word));
        let text = format!("1 {word}\n");
        assert_eq!(noted("reduce --missing skip", &text).0, "1", "{word}");
        assert_eq!(pass("reduce --comment #", &text), "1", "{word}");
    }
    for text in ["1 ##### 3\n", "1 2\n3 ###\n", "1 ########"] {
        let error = fail("reduce", text);
        assert!(error.contains("too narrow"), "{text:?}: {error}");
    }
    for word in ["#n/a", "#nan", "#value!"] {
        assert!(fail("reduce", &format!("1 {word}\n")).contains(word));
    }
    for (text, sum) in [
        ("#####\n1\n2\n", "3"),
        ("##### sizes #####\n1\n2\n", "3"),
        ("# SPILL!\n1\n", "1"),
        ("#WARNING! see below\n1\n", "1"),
        ("#Note!\n1\n", "1"),
        ("#VALUE\n1\n", "1"),
        ("1 # one\n2 #two!\n3 ## three\n", "6"),
        ("#\n#!\n1\n", "1"),
    ] {
        assert_eq!(pass("reduce", text), sum, "{text:?}");
    }
    // Also where a block ends within the word.
    for spaces in [2, 5, 8] {
        let text = format!("1{}#SPILL! 3\n", " ".repeat((1 << 20) - spaces));
        assert!(fail("reduce", &text).contains("#SPILL!"), "{spaces}");
    }
}

#[test]
fn inf_and_nan_of_old_c_are_read_or_told() {
    for (word, value) in [
        ("1.#INF00e+000", "inf"),
        ("-1.#INF00e+000", "-inf"),
        ("1.#QNAN0e+000", "NaN"),
        ("-1.#IND00e+000", "NaN"),
        ("1.#R", "NaN"),
        ("1.#QO", "NaN"),
    ] {
        assert_eq!(pass("reduce", &format!("{word}\n1.5\n")), value, "{word}");
    }
    for word in ["1.#J", "-1.#J", "1.#IO"] {
        for line in ["reduce", "reduce --delimiter ,"] {
            let error = fail(line, &format!("1.5\n{word}\n"));
            assert!(error.contains("inf or nan"), "{word}: {error}");
            assert!(!error.contains("put a space"), "{word}: {error}");
        }
    }
}

#[test]
fn the_remedy_for_multiples_knows_whether_there_is_a_header() {
    let error = fail("reduce", "1\n4.0K\n");
    assert!(
        error.contains("--from=si --format=%.6f --invalid=ignore --field 1"),
        "{error}"
    );
    assert!(error.contains("--from=iec"), "{error}");
    let error = fail("reduce --column x", "x\n1\n4.0K\n");
    assert!(error.contains("--header --field 1"), "{error}");
}
