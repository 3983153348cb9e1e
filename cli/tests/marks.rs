//! The marks within numbers as others write them: before fractions, between thousands, before
//! exponents.

use crate::support::{fail, folder, pass, pass_in};

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

#[test]
fn fortran_writes_exponents_with_d() {
    assert_eq!(pass("reduce", "1.5D+03 2.0d0\n"), "1502.0");
    let line = "reduce --decimal , --delimiter ; --column b";
    assert_eq!(pass(line, "a;b\n1;1,5D3\n"), "1500.0");
    // This can be a label.
    assert!(fail("reduce", "1D3\n").contains("is not a number"));
}
