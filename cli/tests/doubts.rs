//! What can mean two things is told, in files beside the data, first rows, quotes and points.

use crate::support::{fail, fail_in, folder, noted, npy_of, pass, pass_in};
#[cfg(unix)]
use crate::support::{mended, shell};

#[test]
fn a_table_is_no_list_beside_the_data() {
    let folder = folder(&[
        ("ends.csv", b"start,end\n0,2\n2,5\n"),
        ("bare.csv", b"0,2\n2,5\n"),
        ("ends.txt", b"start end\n0 2\n2 5\n"),
        ("named.csv", b"id,length\n1,2\n0,3\n"),
        ("bins.csv", b"bin,high\n0,1\n2,3\n"),
        ("square.npy", &npy_of("|u1", "(2, 2)", &[0, 2, 2, 5])),
        ("row.csv", b"0,2,5\n"),
        ("column.csv", b"name,offset\na,0\nb,2\nc,5\n"),
        ("words.txt", b"0 2\n5\n"),
        ("row.npy", &npy_of("|u1", "(1, 3)", &[0, 2, 5])),
    ]);
    for line in [
        "segments --offsets ends.csv",
        "segments --offsets bare.csv",
        "segments --offsets ends.txt",
        "segments --offsets square.npy",
        "segments --lengths named.csv",
        "decode --counts named.csv",
        "histogram --edges bins.csv",
    ] {
        let error = fail_in(folder.path(), line, b"1\n2\n3\n4\n5\n");
        assert!(error.contains("are a list"), "{line}: {error}");
    }
    for file in ["row.csv", "words.txt", "row.npy"] {
        let line = format!("segments --offsets {file}");
        let sums = pass_in(folder.path(), &line, b"1\n2\n3\n4\n5\n");
        assert_eq!(sums, b"3\n12\n", "{file}");
    }
    let (sums, _) = {
        let line = "segments --offsets column.csv -q";
        let output = crate::support::run_in(folder.path(), line, b"1\n2\n3\n4\n5\n");
        (output.stdout, output.stderr)
    };
    assert_eq!(sums, b"3\n12\n");
}

#[test]
fn a_first_row_may_lack_its_numbers() {
    for text in [
        "x,\ny,1\nz,2\n",
        "x,,\ny,1,6\nz,2,7\n",
        "#k,v\nx,\ny,1\nz,2\n",
        "x,w,\ny,v,1\n",
    ] {
        for line in ["stats --delimiter ,", "group --by 1 --delimiter ,"] {
            let error = fail(line, text);
            assert!(
                error.contains("nothing stands above numbers"),
                "{text}: {error}"
            );
        }
    }
    for (line, text, sum) in [
        ("reduce --delimiter , --column 2 --header", "x,\ny,1\n", "1"),
        ("reduce --delimiter , --column x", "x,y,\n1,2,\n3,4,\n", "4"),
        (
            "reduce --delimiter , --column 3",
            "x,,z\n1,2,3\n3,4,4\n",
            "7",
        ),
    ] {
        assert_eq!(pass(line, text), sum, "{line}");
    }
}

#[test]
fn quotes_that_hold_rows_are_told() {
    for (delimiter, text) in [
        ("tab", "t\tn\n\"Heroes\t5\nBowie\t6\nLow\"\t7\n"),
        (",", "t,n\n\"Heroes,5\nBowie,6\nLow\",7\n"),
        ("tab", "i\tt\tn\n1\t\"Heroes\t5\n2\tBowie\t6\n3\tLow\"\t7\n"),
    ] {
        let line = format!("reduce --column n --delimiter {delimiter}");
        let (sum, told) = noted(&line, text);
        assert_eq!(sum, "7");
        assert!(told.contains("line 2 and closes in line 4"), "{told}");
        assert_eq!(pass(&line, &text.replace('"', "")), "18");
    }
    for text in [
        "a,n\n\"12 High Street\nTown\",7\n",
        "a,n\n\"High Street, East\nTown\",7\n",
        "a,n\n\"High Street, 5\nTown\",7\n",
        "a,n\n\"x\n1,2,3\ny\",7\n",
    ] {
        assert_eq!(pass("reduce --column n --delimiter ,", text), "7", "{text}");
    }
}

#[test]
fn points_beside_commas_may_stand_between_thousands() {
    for (line, text) in [
        (
            "reduce --column a --delimiter ;",
            "a;b\n1.234;12,5\n2.100;13,5\n",
        ),
        (
            "stats --column a --delimiter tab",
            "a\tb\n1.234\t12,5\n210\t13,25\n",
        ),
        ("sort --by a --delimiter ;", "a;b\n1.234;12,5\n2.100;13,5\n"),
        (
            "reduce --column a --delimiter ,",
            "a,b\n1.234,\"12,5\"\n2.100,\"13,5\"\n",
        ),
    ] {
        let error = fail(line, text);
        assert!(error.contains("--decimal , --thousands ."), "{error}");
        assert!(error.contains("--decimal . if"), "{error}");
    }
    let text = "a;b\n1.234;12,5\n2.100;13,5\n";
    for (options, sum) in [
        ("--decimal , --thousands .", "3334"),
        ("--decimal .", "3.334"),
    ] {
        let line = format!("reduce --column a --delimiter ; {options}");
        assert_eq!(pass(&line, text), sum, "{options}");
    }
    let folder = folder(&[("x.csv", b"a,b\n1.234,\"12,5\"\n2.100,\"13,5\"\n")]);
    let error = fail_in(folder.path(), "reduce --column a x.csv", b"");
    assert!(error.contains("--delimiter , --decimal ,"), "{error}");
    let line = "reduce --column a x.csv --delimiter , --decimal , --thousands .";
    assert_eq!(pass_in(folder.path(), line, b""), b"3334\n");
    // Others tell that a point stands before fractions.
    for text in [
        "a;b\n1.234;12,5\n2.1;13,5\n",
        "a;b\n1.234;12,5\n1234;13,5\n",
        "a;b\n0.234;12,5\n0.100;13,5\n",
        "a;b\n1.234;12,500\n2.100;13,500\n",
        "a;b\n1.234;12,5\n2.100;x\n",
        "a;b\n1.234;12,5\n2.100;1.5\n",
    ] {
        pass("reduce --column a --delimiter ;", text);
    }
}

#[test]
fn a_late_truth_value_is_told() {
    let numbers: String = (2..3000).map(|number| format!("{number}\n")).collect();
    let rows: String = (2..3000)
        .map(|number| format!("{number},x,true\n"))
        .collect();
    for (line, text) in [
        ("reduce", format!("{numbers}true\n")),
        ("stats", format!("{numbers}1.5\ntrue\nfalse\n")),
        (
            "reduce --column a --delimiter ,",
            format!("a,b,c\n{rows}true,x,true\n"),
        ),
        (
            "group --by b --delimiter ,",
            format!("a,b,c\n{rows}true,x,true\n"),
        ),
    ] {
        let (_, told) = noted(line, &text);
        assert_eq!(told.matches("truth value").count(), 1, "{line}: {told}");
    }
    let flags: String = (0..3000).map(|_| "1,x,true\n").collect();
    pass(
        "reduce --column c --delimiter ,",
        &format!("a,b,c\n{flags}"),
    );
}

#[test]
fn words_hold_what_stands_for_missing_values_elsewhere() {
    let text = "k,v\nNA,1\nDE,2\nNA,3\n";
    let error = fail("group --by k --delimiter ,", text);
    assert!(error.contains("--words"), "{error}");
    assert_eq!(
        pass("sort --by k --delimiter , --words", text),
        "k,v DE,2 NA,1 NA,3"
    );
    assert_eq!(
        pass("group --by k --delimiter , --words", "k,v\nNA,1\nNA,3\n"),
        "k,count,v_sum,v_mean,v_min,v_max NA,2,4,2.0,1,3"
    );
    // Nothing at all is no word.
    let error = fail("group --by k --delimiter , --words", "k,v\nNA,1\n,3\n");
    assert!(error.contains("missing here"), "{error}");
    let (rows, _) = noted("sort --by k --delimiter , --words --missing skip", text);
    assert_eq!(rows, "k,v DE,2");
}

#[test]
fn units_of_other_sizes_are_named() {
    for (text, other) in [
        ("12.3kB\n1.2MB\n", "KB"),
        ("1.5GiB\n2MiB\n", "TiB"),
        ("5 s\n", "ms"),
        ("x\n5ms\n3s\n", "us"),
        ("x\n5mg\n3g\n", "ug"),
    ] {
        let error = fail("reduce --delimiter ;", text);
        assert!(
            error.contains(&format!("such as {other}, write all in one")),
            "{text}: {error}"
        );
    }
    assert!(!fail("reduce", "5EUR\n").contains("write all in one"));
}

#[test]
#[cfg(unix)]
fn south_and_west_are_a_minus() {
    let text = "lat,v\n48.5N,1\n12.5S,2\n3 W,1\n";
    let line = "reduce --column lat --delimiter ,";
    let error = fail(line, text);
    let (_, program) = error.split_once("a minus, as ").unwrap();
    let (program, _) = program.split_once(" < FILE").unwrap();
    assert_eq!(pass(line, &shell(program, text)), "33.0");
    let error = fail("reduce --column a --delimiter ,", "a,b\n5 DR,1\n6 CR,1\n");
    assert!(error.contains("one is a minus"), "{error}");
}

#[test]
#[cfg(unix)]
fn numbers_without_room_leave_dates_whole() {
    let text = "2020-01-01 1.0000-2.0000\n2020-01-02 1.0E-01-2.0E+00-3.5\n";
    let error = fail("reduce --column 2", text);
    let text = mended(&error, text);
    assert_eq!(
        text,
        "2020-01-01 1.0000 -2.0000\n2020-01-02 1.0E-01 -2.0E+00 -3.5\n"
    );
    let error = fail("reduce", "1.000 2.000 3.000\n-1.000-2.000-3.000\n");
    assert!(error.contains("side by side"), "{error}");
    // In a table a space makes no other field.
    let error = fail(
        "reduce --column v --delimiter ,",
        "d,v\n2020-01-01,1.0-2.0\n",
    );
    assert!(
        error.contains("write two fields") && !error.contains("sed"),
        "{error}"
    );
}

#[test]
#[cfg(unix)]
fn the_error_of_a_number_is_none() {
    for text in [
        "1.25 ± 0.04\n2.5 ± 1e-1\n",
        "1.25 +/- 0.04\n2.5 +/- 0.1\n",
        "1.25 +- 0.04\n2.5 +- 0.1\n",
        "1.25+/-0.04\n2.5±0.1\n",
    ] {
        let error = fail("reduce", text);
        assert_eq!(pass("reduce", &mended(&error, text)), "3.75", "{error}");
    }
}

#[test]
#[cfg(unix)]
fn a_label_of_one_line_may_be_a_total() {
    let error = fail("reduce", "1\n2\nTotal: 3\n");
    let (_, program) = error.split_once("take it out, as ").unwrap();
    let (program, _) = program.split_once(" < FILE").unwrap();
    assert_eq!(pass("reduce", &shell(program, "1\n2\nTotal: 3\n")), "3");
    let error = fail("reduce", "lines: 5\n1\n2\n");
    assert_eq!(pass("reduce", &mended(&error, "lines: 5\n1\n2\n")), "3");
    let text = "a: 1\nb: 2\n";
    assert!(fail("reduce", text).contains("take labels out"));
}

#[test]
fn comments_behind_numbers_are_named() {
    for (text, mark) in [
        ("1 ! 5\n2 ! 6\n", '!'),
        ("1 % a\n2 % b\n", '%'),
        ("1 // a\n2 // b\n", '/'),
    ] {
        let error = fail("reduce", text);
        let option = format!("--comment '{mark}'");
        assert!(error.contains(&option), "{text}: {error}");
        assert_eq!(pass(&format!("reduce --comment {mark}"), text), "3");
    }
    let error = fail("reduce", "5 % 6 %\n");
    assert!(!error.contains("--comment"), "{error}");
}

#[test]
fn a_table_below_many_comments_is_told() {
    let text = format!("{}a,b\n1,2\n", "# nothing\n".repeat(1_700_000));
    let error = fail("reduce --delimiter , --column b", &text);
    assert!(error.contains("no row begins within"), "{error}");
    let sum = pass("reduce --delimiter , --column b --skip 1700000", &text);
    assert_eq!(sum, "2");
}

#[test]
fn remedies_lead_on() {
    for (line, text, remedy) in [
        (
            "reduce --skip 1",
            "ncols 2\nnrows 2\n1 2\n3 4\n",
            "--skip 2",
        ),
        (
            "reduce --delimiter ,",
            "x\n\"1\n2\"\n",
            "close them before the line ends",
        ),
        (
            "reduce --delimiter ,",
            "1\t2\n3\t4\n",
            "give --delimiter tab",
        ),
        (
            "reduce --delimiter ,",
            "1 2\n3 4\n",
            "give --delimiter space",
        ),
        (
            "reduce",
            "1\n2\n(2 rows)\n",
            r"grep -vE '^\([0-9]+ rows?\)[[:space:]]*$'",
        ),
        (
            "reduce --delimiter ,",
            "v\n1\n(1 row)\n",
            r"grep -vE '^\([0-9]+ rows?\)[[:space:]]*$'",
        ),
        ("reduce", "1\n\u{221e}\n", "write inf"),
        ("reduce --delimiter ,", "a,b\n1,-\u{221e}\n", "write -inf"),
        (
            "reduce --column b --delimiter ,",
            "a,b\nx,:---:\n",
            "_+|:,;[:space:]]*$'",
        ),
    ] {
        let error = fail(line, text);
        assert!(error.contains(remedy), "{text}: {error}");
    }
}

#[test]
#[cfg(unix)]
fn remedies_match_what_they_are_for() {
    for (line, text, sum) in [
        (
            "reduce --column a --delimiter ,",
            "a,b\nUSD 5,x\nUSD -6,x\n",
            "-1",
        ),
        (
            "reduce --column a --delimiter ; --thousands '",
            "a;b\n(1'000.50);x\n5;x\n",
            "-995.5",
        ),
        (
            "reduce --column a --delimiter ; --thousands space",
            "a;b\n(1 000.50);x\n5;x\n",
            "-995.5",
        ),
    ] {
        let error = fail(line, text);
        assert_eq!(pass(line, &mended(&error, text)), sum, "{error}");
    }
}

#[test]
fn quotes_of_the_last_column_that_hold_rows_are_told() {
    let line = "reduce --column v --delimiter ,";
    for (text, sum, lines) in [
        (
            "v,note\n1,ok\n2,\"six inch\n3,ok\n4,12\"\n5,ok\n",
            "8",
            "line 3 and closes in line 5",
        ),
        (
            "id,v,note\n1,5,\"six inch\n2,6,twelve\"\n3,7,ok\n",
            "12",
            "line 2 and closes in line 3",
        ),
    ] {
        let (found, told) = noted(line, text);
        assert_eq!(found, sum);
        assert!(told.contains(lines), "{told}");
    }
    for text in [
        "v,note\n1,\"one\ntwo\"\n",
        "v,note\n1,\"one\n5, and six\"\n",
        "v,note\n1,\"one\n\ntwo, 5\nthree\"\n",
        "v,note\n1,\"Street 5\nTown,Land\"\n",
    ] {
        assert_eq!(pass(line, text), "1", "{text}");
    }
}

#[test]
fn fractions_far_above_others_may_be_names() {
    let text = "400.0,400.5,401.0\n0.1,0.2,0.3\n0.4,0.5,0.6\n";
    let (sum, told) = noted("reduce --delimiter ,", text);
    assert!(sum.starts_with("1203.6"), "{sum}");
    assert!(told.contains("look like names of columns"), "{told}");
    assert_eq!(pass("reduce --delimiter , --header", text), "2.1");
    for text in [
        "4.0,4.5,5.0\n0.1,0.2,0.3\n6,0.5,0.6\n",
        "4.0,4.7,5.0\n0.1,0.2,0.3\n",
    ] {
        pass("reduce --delimiter ,", text);
    }
}
