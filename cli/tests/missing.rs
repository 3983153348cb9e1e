//! Missing values: which words and numbers stand for them, and what becomes of them.

use crate::support::{fail, folder, noted, pass, run_in};

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
