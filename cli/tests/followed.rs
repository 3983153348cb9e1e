//! Remedies that name programs are followed, and the number is the right one, or a word says more.

use crate::support::{fail, mended, noted, pass, shell};
use std::path::Path;

/// The sum of what the remedy makes of a text.
fn sum_after(line: &str, text: &str) -> String {
    let error = fail(line, text);
    let mended = mended(&error, text);
    assert_ne!(mended, text, "{error}");
    noted(line, &mended).0
}

#[test]
fn errors_of_numbers_are_taken_out_and_nothing_else() {
    for (line, text, sum) in [
        ("reduce", "1.25(67)e-03\n2.5(12)e-03\n", "0.00375"),
        (
            "reduce --delimiter , --column v",
            "c,v\na,1.25(67)e-3\nb,2.5(12)e-3\n",
            "0.00375",
        ),
        ("reduce", "-1.5(2) 2(1), 3(1)\r\n1e2(5)\n", "103.5"),
        ("reduce", "1.5±0.1±0.2e-1 2+/-1e5\n", "3.5"),
        (
            "reduce --column pop --delimiter tab --thousands ,",
            "tract\tpop\n1\t12,500±1,200\n2\t8,000±1,900\n",
            "20500",
        ),
        (
            "reduce --thousands ,",
            "12,500+/-1,200\n8,000+/-1,900\n",
            "20500",
        ),
        (
            "reduce --thousands ,",
            "12,500 +/- 1,200\n8,000 ± 1,900\n",
            "20500",
        ),
        (
            "reduce --column wert --decimal , --delimiter ;",
            "probe;wert\nA;250±0,5\nB;100±0,25\n",
            "350",
        ),
        (
            "reduce --column b --delimiter ,",
            "a,b\n1,12.5 ± 0.3\n2,7.5 ± 0.2\n",
            "20.0",
        ),
        (
            "reduce --column a --delimiter ,",
            "a,b\r\n12.5 ± 0.3,1\r\n7.5±0.2,2\r\n",
            "20.0",
        ),
        (
            "reduce --column b --delimiter ,",
            "a,b\n1,12 (5%)\n2,15 (6%)\n",
            "27",
        ),
        (
            "reduce --column b --delimiter tab",
            "a\tb\tc\nFe2(1)\t12[a]\t5\nFe2(2)\t15 [b]\t6\n",
            "27",
        ),
    ] {
        assert_eq!(sum_after(line, text), sum, "{line} {text}");
    }
    // What is no number and an error stays.
    let text = "k\tv\nFe2(1)\t1(2)\nFe2(2)\t3(4)\nItem 5 (2)\t1(1)\n";
    let error = fail("reduce --column v --delimiter tab", text);
    assert_eq!(
        mended(&error, text),
        "k\tv\nFe2(1)\t1\nFe2(2)\t3\nItem 5 (2)\t1\n"
    );
}

/// A program that takes a mark out would take more, or nothing.
#[test]
fn where_no_program_helps_words_do() {
    for (line, text) in [
        (
            "reduce --column b --delimiter , --thousands ,",
            "a,b\n1,\"1,500[2]\"\n",
        ),
        (
            "reduce --column b --delimiter , --thousands ,",
            "a,b\n1,\"12,500±1,200\"\n",
        ),
        ("reduce --column b --delimiter ;", "a;b\n1;12 (n = 5)\n"),
    ] {
        let error = fail(line, text);
        assert!(
            error.contains("write the number alone: leave out") && !error.contains("sed"),
            "{error}"
        );
    }
    // These commas may stand between columns.
    for text in [
        "1.5±0.1,2.5±0.1\n",
        "1.5±0.1,2.5\n",
        "a;b\n1±0,2\n",
        "1.5±0.1 2±0.1,5\n",
        "1.5 ± 0.1,2.5 ± 0.1\n",
    ] {
        let error = fail("reduce", text);
        if error.contains(" as sed") {
            fail("reduce", &mended(&error, text));
        }
    }
    // Lines with quotes are left as they are.
    let text = "a,b\n1,5(2)\n2,\"12,500(1)\"\n";
    let error = fail("reduce --column b --delimiter ,", text);
    assert_eq!(mended(&error, text), "a,b\n1,5\n2,\"12,500(1)\"\n");
}

#[test]
fn a_nan_of_c_is_read() {
    for text in [
        "nan(0x8000000000000)\n1\n",
        "-nan(ind) 1\n",
        "nan(snan) 1\n",
        "nan() 1\n",
    ] {
        assert_eq!(pass("reduce", text), "NaN", "{text}");
        assert_eq!(noted("reduce --missing skip", text).0.parse(), Ok(1.0));
    }
    let text = "a,b\n1,nan(0x8000000000000)\n2,3\n";
    assert_eq!(pass("reduce --column b --delimiter ,", text), "NaN");
    assert!(fail("reduce --dtype i64", "nan(1)\n").contains("--dtype f64"));
    assert!(fail("reduce", "nan(a b)\n").contains("is not a number"));
}

#[test]
fn digits_behind_a_unit_stay_there() {
    for (text, unit) in [
        ("d,h\na,8h\nb,7h30\n", "h"),
        ("n,h\na,5\u{20ac}\nb,5\u{20ac}50\n", "\u{20ac}"),
        ("n,h\na,6ft\nb,5ft10\n", "ft"),
        ("race,h\na,9s\nb,9s58\n", "s"),
        ("race,h\na,9h\nb,9h 58min\n", "h"),
    ] {
        let line = "reduce --column h --delimiter ,";
        let error = fail(line, text);
        assert!(
            error.contains(&format!("`{unit}` follows a number")),
            "{error}"
        );
        let error = fail(line, &mended(&error, text));
        assert!(
            error.contains("line 3") && error.contains("a number of two units"),
            "{error}"
        );
        assert!(!error.contains("sed"), "{error}");
    }
    for (line, text, sum) in [
        (
            "reduce --column b --delimiter ,",
            "a,b\r\n1,5 kg\r\n2,\"6kg\"\r\n",
            "11",
        ),
        ("reduce", "5kg, 6kg 7kg\n", "18"),
        (
            "reduce --column a --delimiter ;",
            "a;b\n5%o;1\n6%o;2\n",
            "11",
        ),
    ] {
        assert_eq!(sum_after(line, text), sum, "{text}");
    }
}

#[test]
fn lines_of_windows_are_mended_too() {
    let rule = |line: &str, text: &str| {
        let error = fail(line, text);
        assert!(error.contains("grep -vE"), "{error}");
        noted(line, &mended(&error, text)).0
    };
    for (line, text) in [
        (
            "reduce --column price",
            "id price\r\n----------- -----\r\n1 2.5\r\n2 3.5\r\n",
        ),
        (
            "reduce --column price --delimiter ,",
            "id,price\n--,-----\n1,2.5\n2,3.5\n",
        ),
        (
            "reduce --column price --delimiter ,",
            "id,price\r\n--,-----\r\n1,2.5\r\n2,3.5\r\n",
        ),
        (
            "reduce --column price --delimiter tab",
            "id\tprice\n---\t-----\n1\t2.5\n2\t3.5\n",
        ),
        (
            "reduce --column price --delimiter |",
            "|id|price|\r\n|:-:|---:|\r\n|1|2.5|\r\n|2|3.5|\r\n",
        ),
    ] {
        assert_eq!(rule(line, text), "6.0", "{text}");
    }
    // Rows without values are no lines between rows.
    let text = "a,b\n-,---\n,\n-,-\n1,2\n";
    let error = fail("reduce --column b --delimiter ,", text);
    assert_eq!(mended(&error, text), "a,b\n,\n-,-\n1,2\n");
    if shell("numfmt --version 2>&1", "").contains("coreutils") {
        for (line, text, sum) in [
            (
                "reduce --column val --delimiter ,",
                "name,val\r\na,1.2M\r\nb,3M\r\n",
                "4200000.0",
            ),
            ("reduce", "10K\r\n20K\r\n", "30000.0"),
            ("reduce", "10K\n20K\n", "30000.0"),
        ] {
            assert_eq!(sum_after(line, text), sum, "{text}");
        }
    }
    for line in [
        "reduce --column v --delimiter ; --decimal ,",
        "reduce --column v --delimiter ;",
    ] {
        let error = fail(line, "n;v\na;1,5K\nb;2K\n");
        assert!(!error.contains("numfmt"), "{error}");
        assert!(error.contains("1.5K is 1500"), "{error}");
    }
}

#[test]
fn a_comma_begins_a_fraction() {
    for (line, text, sum) in [
        (
            "reduce --decimal , --column p",
            "n p\n1 ,5\n2 1,25\n",
            "1.75",
        ),
        (
            "reduce --decimal , --column p --delimiter space",
            "var p\nage ,025\nsex ,5\n",
            "0.525",
        ),
        ("reduce --decimal ,", ",5 -,25\n,25,\n", "0.5"),
        ("reduce --decimal ,", "1,5, ,5\n", "2.0"),
        ("reduce --decimal ,", "1\t,5e1\n", "6.0"),
        ("select --lt 1 --decimal ,", "7 ,5 2\n", "0.5"),
        (
            "reduce --decimal , --delimiter ; --column p",
            "n;p\n1;,5\n2; ,25\n",
            "0.75",
        ),
        // Commas that separate, as other words say.
        ("reduce", "1, 2 ,3\n", "6"),
        ("reduce", "1 , 2\n3 ,4\n", "10"),
        ("reduce", "1.5 ,2 ,3\n", "6.5"),
        ("reduce", "1 ,2.5\n3 ,4\n", "10.5"),
        ("reduce", "1 ,-2\n3 ,4\n", "6"),
        ("reduce --column b", "a ,b\n1 ,2\n3 ,4\n", "6"),
        ("reduce --column b --delimiter ,", "a ,b\n1 ,2\n3 ,4\n", "6"),
        ("reduce --decimal .", "1 ,2 ,3\n", "6"),
        ("reduce", "\"1\", \"2\" , \"3\"\n", "6"),
    ] {
        assert_eq!(pass(line, text), sum, "{line} {text}");
    }
    for (line, text) in [
        ("reduce --column p", "n p\n1 ,5\n2 1,25\n"),
        ("reduce --column p --delimiter space", "n p\n1 ,5\n2 ,25\n"),
        ("stats", "var p\nage ,025\nsex ,5\n"),
        ("reduce", ",5 1\n"),
        ("reduce", "1 ,2 ,3\n"),
        ("reduce", "1.234 ,5\n"),
    ] {
        let output = crate::support::run_in(Path::new("."), line, text.as_bytes());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}: {error}");
        assert!(
            error.contains("give --decimal , if commas stand before fractions, --delimiter ','"),
            "{text}: {error}"
        );
    }
    let error = fail("reduce --decimal ,", "1 , 2\n3 ,4\n");
    assert!(
        error.contains("write 0,4, or 4 with white space"),
        "{error}"
    );
    let error = fail("reduce --column p --delimiter ;", "n;p\n1;,5\n");
    assert!(error.contains("--decimal ,"), "{error}");
    // Also where a buffer ends.
    let text = format!("1{}", " ,5".repeat(1_000_000));
    assert_eq!(pass("reduce --decimal ,", &text), "500001.0");
}

#[test]
fn a_remedy_that_drops_a_row_says_when() {
    for (line, text, sum) in [
        (
            "reduce --column 3 --delimiter ,",
            "#,name,score\n1,Ann,10\n2,Bob,20\n",
            "30",
        ),
        (
            "reduce --column 2",
            "#name mass radius\nsun 10 1.5\nearth 20 2.5\n",
            "30",
        ),
    ] {
        let error = fail(line, text);
        assert!(
            error.contains("a comment above may name the columns: give --no-header"),
            "{error}"
        );
        assert_eq!(noted(&format!("{line} --no-header"), text).0, sum);
    }
    for (line, text) in [
        (
            "reduce --column pop --delimiter ,",
            "city,pop\nA,1,234\nB,2,345\n",
        ),
        ("reduce --column pop", "city pop\nA 1 234\nB 2 345\n"),
    ] {
        let error = fail(line, text);
        assert!(
            error.contains("and the header does not name that column"),
            "{error}"
        );
    }
    let text = "# name mass radius\nsun 10 1.5\nearth 20 2.5\n";
    let told = noted("stats --header", text).1;
    assert!(told.contains("--no-header reads it as data"), "{told}");
    assert_eq!(
        noted("reduce --no-header --column 2", text),
        ("30".into(), String::new())
    );
    let text = "P2\n# by a program\n2 2\n255\n0 100\n200 50\n";
    let error = fail("reduce", text);
    assert!(error.contains("the width and height"), "{error}");
    assert_eq!(pass("reduce --skip 4", text), "350");
}
