//! Tables that programs printed, dumped or drew for people: what is said of them leads on.

use crate::support::{fail, noted, pass};
#[cfg(unix)]
use crate::support::{mended, shell};

#[test]
fn a_header_with_bars_above_rows_without_is_passed_over() {
    let text = "|ra  |dec |\n|dbl |dbl |\n|deg |deg |\n 1.5  2.5 \n 3.5  4.5 \n";
    for line in ["reduce --column 1", "reduce"] {
        let error = fail(line, text);
        assert!(
            error.contains("if '|' separates columns, give --delimiter '|'")
                && error.contains("or --skip 3 if line 4 is the first row of the table"),
            "{error}"
        );
    }
    assert_eq!(pass("reduce --column 1 --skip 3", text), "5.0");
    let error = fail("reduce", &format!("\\fixlen = T\n{text}"));
    assert!(error.contains(r"give --comment '\'"), "{error}");
    for text in ["1|2\n3|4\n", "1|2\n"] {
        assert!(!fail("reduce", text).contains("--skip"), "{text}");
    }
}

#[test]
fn frames_of_printed_tables_are_named() {
    let polars = "shape: (2, 2)\n┌─────┬─────┐\n│ a   ┆ b   │\n│ --- ┆ --- │\n│ i64 ┆ f64 │\n\
                  ╞═════╪═════╡\n│ 1   ┆ 1.5 │\n│ 2   ┆ 2.5 │\n└─────┴─────┘\n";
    let duckdb = "┌───────┬────────┐\n│   a   │   b    │\n│ int32 │ double │\n├───────┼────────┤\n\
                  │     1 │    1.5 │\n└───────┴────────┘\n";
    for (line, text) in [
        ("reduce --skip 1", polars),
        ("reduce --skip 2", polars),
        ("reduce --skip 2 --column b", polars),
        ("reduce --skip 2 --column b --missing skip", polars),
        ("reduce", duckdb),
        ("reduce --skip 1", duckdb),
        ("reduce --skip 1 --column b", duckdb),
    ] {
        let error = fail(line, text);
        assert!(error.contains("let the program write CSV"), "{error}");
        assert!(!error.contains("missing-word"), "{error}");
    }
}

#[test]
fn numbers_in_parentheses_may_count_the_lines() {
    let text = "(1) 5\n(2) 6\n";
    let error = fail("reduce", text);
    assert!(
        error.contains("are the minus of accounts, or count the lines"),
        "{error}"
    );
    #[cfg(unix)]
    {
        let (minus, _) = error.split_once("; if they count").unwrap();
        assert_eq!(pass("reduce", &mended(minus, text)), "8");
        assert_eq!(pass("reduce", &mended(&error, text)), "11");
    }
    for text in ["(1)\n(2)\n", "5 (1)\n", "(1.5) 5\n"] {
        assert!(!fail("reduce", text).contains("count the lines"), "{text}");
    }
}

#[test]
fn places_with_values_are_no_times() {
    let text = "1 1:0.5 3:2.5\n-1 2:0.5 13:2.5\n";
    for line in ["reduce", "reduce --column 2"] {
        let error = fail(line, text);
        assert!(error.contains("LIBSVM"), "{error}");
        #[cfg(unix)]
        {
            let (_, rest) = error.split_once("give grep").unwrap();
            let (programs, _) = rest.split_once(" | warpfold").unwrap();
            let all = format!("grep{}", programs.replace(" FILE", ""));
            assert_eq!(pass("reduce", &shell(&all, text)), "6.0");
            let third = all.replace("-oE '[0-9]+:", "-owE '3:");
            assert!(error.contains("grep -owE '3:[^[:space:]]+'"), "{error}");
            assert_eq!(pass("reduce", &shell(&third, text)), "2.5");
        }
    }
    for text in ["1:30\n", "1:05.5\n", "10:20:30\n"] {
        assert!(fail("reduce", text).contains("a date or a time"), "{text}");
    }
}

#[test]
fn rows_of_sql_become_rows_of_csv() {
    for (text, column, sum) in [
        ("(1,'a',2.5),\n(2,'b',3.5);\n", 3, "6.0"),
        ("(1,'a, b',2.5),(2,'(3)',3.5);\r\n", 3, "6.0"),
        ("(1,2.5,3),\n(4,5.5,6),\n", 1, "5"),
        ("[(1,2,3),(4,5,6)]\n", 1, "5"),
    ] {
        let error = fail("reduce", text);
        assert!(
            error.contains("a row as SQL and Python write it"),
            "{error}"
        );
        let line = format!("reduce --delimiter , --no-header --column {column}");
        #[cfg(unix)]
        assert_eq!(pass(&line, &mended(&error, text)), sum, "{text}");
    }
    let text = "[(1, 2.5), (2, 3.5)]\n";
    let error = fail("reduce", text);
    #[cfg(unix)]
    assert_eq!(pass("reduce", &mended(&error, text)), "9.0", "{error}");
    for text in ["(1,234)\n", "(1,234,567)\n", "(1,234.50)\n"] {
        assert!(fail("reduce", text).contains("minus of accounts"), "{text}");
    }
}

#[test]
fn images_of_one_number_a_line_are_refused() {
    let rows: String = (0..6).map(|value| format!("{}\n", 40 * value)).collect();
    for (head, body) in [("P2\n2\n3\n255\n", &rows), ("P3\n2\n1\n200\n", &rows)] {
        let text = format!("{head}{body}");
        let error = fail("stats", &text);
        assert!(error.contains("begins an image"), "{error}");
        pass("stats --header", &text);
    }
    assert!(fail("reduce", "P1\n2\n2\n0\n1\n1\n0\n").contains("an image"));
    // A column has other numbers.
    for (head, body) in [
        ("P2\n2\n3\n", &rows),
        ("P2\n2\n3\n100\n", &rows),
        ("P2\n2\n4\n255\n", &rows),
        ("P4\n2\n3\n255\n", &rows),
    ] {
        noted("stats", &format!("{head}{body}"));
    }
}

#[test]
fn unique_takes_no_codes_with_points() {
    for text in ["k\n01.10\n1.1\n", "k\n12E5\n01E5\n"] {
        let error = fail("unique --delimiter ,", text);
        assert!(
            error.contains("has zeros in front") && error.contains("--dtype f64"),
            "{error}"
        );
        pass("unique --delimiter , --dtype f64", text);
    }
    assert_eq!(pass("unique", "0.10\n0\n0.1\n10.5\n"), "0.1 0.0 0.1 10.5");
}

#[test]
#[cfg(unix)]
fn labels_of_several_words_are_taken_out() {
    for (text, sum) in [
        ("x = 5\ny = 6\n", "11"),
        ("Total energy = -5.5\nTotal energy = 6\n", "0.5"),
        ("Final loss: 5\nFinal loss: 6\n", "11"),
        ("E = 5 F = 6\n", "11"),
        ("Loop 1 of 5: 0.5\nLoop 2 of 5: 0.5\n", "1.0"),
    ] {
        let error = fail("reduce", text);
        let (first, _) = error.split_once("; or choose").expect(&error);
        assert_eq!(pass("reduce", &mended(first, text)), sum, "{text}");
    }
    let error = fail("reduce", "Start 12:30\n");
    assert!(!error.contains("a label"), "{error}");
}

#[test]
#[cfg(unix)]
fn lines_of_words_among_numbers_are_taken_out() {
    let text = "1 2\nColumns 4 through 5\n3 4\nColumns 6 through 7\n";
    let error = fail("reduce", text);
    let (_, rest) = error.split_once("as grep").expect(&error);
    let (program, _) = rest.split_once(" FILE").unwrap();
    assert_eq!(
        pass("reduce", &shell(&format!("grep{program}"), text)),
        "10"
    );
}

#[test]
fn what_a_program_leaves_out_is_not_missing() {
    for text in ["1\n...\n9\n", "1 … 9\n", "1\n..\n9\n"] {
        assert!(fail("reduce", text).contains("let "), "{text}");
    }
    assert!(!fail("reduce", "1\n...\n9\n").contains("missing"));
    assert!(fail("reduce", "1.5*^3\n").contains("it is a power"));
}

#[test]
fn spaces_between_numbers_of_a_csv_are_named() {
    for text in ["-1e-1 -2e-1\n0.3 0.4\n", "0.1 0.2\n0.3 0.4\n"] {
        let error = fail("reduce --delimiter ,", text);
        assert!(error.contains("give --delimiter space"), "{error}");
    }
}

#[test]
fn sizes_above_rows_with_names_are_passed_over() {
    let text = "3 2\na 0.5 1.5\nb 1.5 2.5\nc 0.25 0.5\n";
    let error = fail("reduce --column 2", text);
    assert!(error.contains("give --skip 1 if line 2"), "{error}");
    assert_eq!(pass("reduce --column 2 --skip 1 --no-header", text), "2.25");
}

#[test]
fn a_text_of_comments_alone_may_be_data() {
    for text in ["#1\n#2\n", "#1.5 2\n"] {
        let (sum, told) = noted("reduce", text);
        assert_eq!(sum, "0");
        assert!(told.contains("what follows # looks like data"), "{told}");
    }
    for text in ["# made 2024\n", "# 5\n", ""] {
        assert_eq!(pass("reduce", text), "0");
    }
}

#[test]
fn zeros_behind_a_space_are_those_of_thousands() {
    let (sum, told) = noted("reduce", "1 000\n2 500\n");
    assert_eq!(sum, "503");
    assert!(told.contains("--thousands space reads it as one"), "{told}");
    pass("reduce --delimiter space", "1 000\n2 500\n");
    pass("reduce", "1 100\n2 500\n");
}

#[test]
#[cfg(unix)]
fn a_unit_behind_any_space_is_taken_out() {
    for space in ["\u{a0}", "\u{202f}", " "] {
        let text = format!("k;v\na;1{space}234,50{space}€\nb;2,00{space}€\n");
        let line = "reduce --delimiter ; --column v";
        let error = fail(line, &text);
        let (first, _) = error.split_once("; or choose").expect(&error);
        let mended = mended(first, &text);
        let line = format!("{line} --decimal , --thousands space");
        assert_eq!(pass(&line, &mended), "1236.5", "{mended}");
    }
    let error = fail("reduce --delimiter ;", "v\n5\u{a0}M\n");
    assert!(error.contains("write the number out"), "{error}");
    let error = fail("reduce --delimiter ;", "v\n7.0 e\n");
    assert!(error.contains("`e` follows a number"), "{error}");
}

#[test]
fn a_header_below_other_lines_is_found() {
    let text = "Model,TDS\nSample Interval,1e-6\n\nTIME,CH1\n0,1.5\n1,2.5\n";
    let error = fail("reduce --delimiter , --column CH1", text);
    assert!(
        error.contains("give --skip 3 if line 4 is the header"),
        "{error}"
    );
    assert_eq!(
        pass("reduce --delimiter , --column CH1 --skip 3", text),
        "4.0"
    );
    let text = "a;report\na;b\nv;w\n";
    let error = fail("reduce --delimiter ; --column c", text);
    assert!(!error.contains("--skip"), "{error}");
}

#[test]
fn what_programs_write_around_numbers_is_told() {
    for (line, text, what) in [
        (
            "reduce",
            "[np.float64(1.5), np.float64(2.5)]\n",
            "a program shows",
        ),
        ("reduce --delimiter ;", "v\n'5\n'6\n", "its quotes are none"),
    ] {
        let error = fail(line, text);
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn a_total_below_a_column_is_told() {
    for (line, text) in [
        (
            "reduce --delimiter , --column v",
            "a,v\nx,5\ny,6\nTotal,11\n",
        ),
        (
            "stats --delimiter , --column v",
            "a,v\r\nx,5\r\ny,6\r\n\"Grand total:\",11\r\n\r\n",
        ),
        ("reduce --column 1", "10 a.txt\n20 b.txt\n30 total\n"),
    ] {
        let told = noted(line, text).1;
        assert!(told.contains(", the last one, has a total"), "{text}");
        #[cfg(unix)]
        assert_eq!(noted(line, &mended(told.trim_end(), text)).1, "", "{text}");
    }
    for text in [
        "a,total\nx,5\ny,6\n",
        "a,total\n",
        "a,v\ny,2\ntotally,5\n",
        "a,v\ny,2\ntotal,5\nz,4\n",
        "a,v\nx total,2\ny total,5\n",
        "a,v\ny,2\nthis is the total,5\n",
    ] {
        pass("reduce --delimiter , --column 2", text);
    }
}

#[test]
fn quotes_that_say_ditto_are_told() {
    for (line, text) in [
        ("--delimiter tab", "item\tqty\nfoo\t5\n\"\t6\n\"\t7\n"),
        ("", "item qty\nfoo 5\n\" 6\n\" 7\n"),
        ("--delimiter tab", "qty\titem\n5\tfoo\n6\t\"\n7\t\"\n"),
        ("", "qty item\n5 foo\n6 \"\n7 \"\n"),
        ("--delimiter ,", "a,b,qty\nx,y,5\nx,\",6\nx,\",7\n"),
        ("--delimiter ;", "qty;a;b\n5;x;y\n6;\";y\n7;\";y\n"),
        (
            "--delimiter tab",
            "qty\ta\tb\n5\t\"x\ty\n6\tfoo\tx\n7\tx\"\ty\n8\tz\ty\n",
        ),
    ] {
        let told = noted(&format!("reduce --column qty {line}"), text).1;
        assert!(told.contains("look like rows"), "{text}");
    }
    for text in [
        "qty,a\n6,\"5\n6\"\n7,\"\n5\n\"\n",
        "a,b,qty\nx,\"l1\n5\",6\nx,\"5\n6\n\",7\n",
    ] {
        assert_eq!(pass("reduce --delimiter , --column qty", text), "13");
    }
}

#[test]
fn letters_that_multiply_may_be_units() {
    for text in ["T\n300 K\n310 K\n", "T\n\"300 K\"\n\"310 K\"\n"] {
        let error = fail("reduce --delimiter ,", text);
        assert!(error.contains("as K of kelvin"), "{error}");
    }
    let error = fail("reduce", "5m\n6m\n");
    assert!(error.contains("as m of metre"), "{error}");
    let error = fail("reduce", "0m5.123s\n");
    assert!(error.contains("a number of two units"), "{error}");
}

#[test]
fn rows_around_printed_tables_are_taken_out() {
    let text = "  a  |  b\n 1   | 2.5\n 2   | 3.5\n(2 rows)\n";
    for line in ["reduce --column b", "reduce --column b --delimiter |"] {
        let error = fail(line, text);
        assert!(error.contains("grep -vE '^\\([0-9]+ rows?"), "{error}");
    }
    let text = "┏━━━┳━━━┓\n┃ a ┃ b ┃\n┡━━━╇━━━┩\n│ 1 │ 2 │\n└───┴───┘\n";
    let error = fail("reduce --skip 1 --column a", text);
    assert!(error.contains("let the program write CSV"), "{error}");
    let text = "****** 1. row ******\nid: 1\n v: 2.5\n****** 2. row ******\nid: 2\n v: 3.5\n";
    assert!(fail("reduce", text).contains("give --comment '*'"));
    #[cfg(unix)]
    {
        let line = "reduce --comment *";
        let error = fail(line, text);
        let (first, _) = error.split_once("; or choose").expect(&error);
        assert_eq!(pass(line, &mended(first, text)), "9.0");
    }
}

#[test]
fn a_header_below_sizes_is_passed_to() {
    for (line, text) in [
        (
            "reduce --delimiter , --column 2",
            "10,2\n\"id\",\"z\"\n1,2.5\n2,3.5\n",
        ),
        ("reduce --column 2", "10 2\nid z\n1 2.5\n2 3.5\n"),
    ] {
        let error = fail(line, text);
        assert!(
            error.contains("give --skip 1 if this line is the header"),
            "{error}"
        );
        assert_eq!(pass(&format!("{line} --skip 1"), text), "6.0");
    }
    for text in ["a,b\n1,2\nc,d\n3,4\n", "1,2\nc,5\n3,4\n", "1,2\nc,d\n"] {
        let error = fail("reduce --delimiter , --column 1", text);
        assert!(!error.contains("is the header"), "{error}");
    }
}

#[test]
fn backspaces_of_binary_data_are_not_struck_over() {
    for text in ["\u{8}\u{1}\u{1}\u{1}", "5\u{8}\u{1}"] {
        let error = fail("reduce", text);
        assert!(error.contains("--format raw"), "{error}");
    }
    assert!(fail("reduce", "1\u{8}1\n").contains("col -b"));
}

#[test]
fn a_row_that_a_comment_cuts_may_be_data() {
    let text = "v tag\n5 x\n6 #bar\n";
    let error = fail("reduce --column v", text);
    assert!(error.contains("give --no-comments if"), "{error}");
    assert_eq!(pass("reduce --column v --no-comments", text), "11");
    let error = fail("reduce --column v", "v tag\n5 x\n6\n");
    assert!(!error.contains("--no-comments"), "{error}");
}
