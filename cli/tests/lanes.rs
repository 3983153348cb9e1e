//! `--axis`, `warpfold segments`, `group` and `decode`: folds of many parts of an input.

use crate::support::{fail_in, folder, npy_of, pass_in, run_in};
use std::path::Path;

fn text(folder: &Path, line: &str) -> String {
    String::from_utf8(pass_in(folder, line, b"")).unwrap()
}

fn bytes<T: Copy, const N: usize>(values: &[T], of: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|&value| of(value)).collect()
}

/// 0 to 23 as 2 × 3 × 4.
fn cube() -> Vec<u8> {
    let data: Vec<i16> = (0..24).collect();
    npy_of("<i2", "(2, 3, 4)", &bytes(&data, i16::to_le_bytes))
}

#[test]
fn arrays_are_reduced_along_any_axis() {
    let folder = folder(&[("x.npy", &cube())]);
    let at = folder.path();
    let sums = |axis: &str| text(at, &format!("reduce --axis {axis} x.npy"));
    assert_eq!(sums("0"), "12 14 16 18\n20 22 24 26\n28 30 32 34\n");
    assert_eq!(sums("1"), "12 15 18 21\n48 51 54 57\n");
    assert_eq!(sums("2"), "6 22 38\n54 70 86\n");
    assert_eq!(sums("-1"), sums("2"));
    assert_eq!(sums("-3"), sums("0"));
    assert_eq!(
        text(at, "reduce --axis 1 --op max x.npy"),
        "8 9 10 11\n20 21 22 23\n"
    );
    assert_eq!(
        text(at, "reduce --axis 2 --init 100 x.npy"),
        "106 122 138\n154 170 186\n"
    );
    pass_in(at, "reduce --axis 0 x.npy -o s.npy", b"");
    let expected: Vec<i64> = (0..12).map(|i| 2 * i + 12).collect();
    let expected = npy_of("<i8", "(3, 4)", &bytes(&expected, i64::to_le_bytes));
    assert_eq!(std::fs::read(at.join("s.npy")).unwrap(), expected);
}

#[test]
fn arrays_are_scanned_along_any_axis() {
    let data: Vec<f32> = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let folder = folder(&[(
        "x.npy",
        &npy_of("<f4", "(2, 3)", &bytes(&data, f32::to_le_bytes)),
    )]);
    let at = folder.path();
    let scan = |line: &str| text(at, &format!("scan {line} x.npy --output-format text"));
    assert_eq!(scan("--axis 0"), "1.0 2.0 3.0\n5.0 7.0 9.0\n");
    assert_eq!(scan("--axis 1"), "1.0 3.0 6.0\n4.0 9.0 15.0\n");
    assert_eq!(scan("--axis 1 -x"), "0.0 1.0 3.0\n0.0 4.0 9.0\n");
    assert_eq!(scan("--axis 0 --op mul"), "1.0 2.0 3.0\n4.0 10.0 18.0\n");
    assert_eq!(scan("--axis 1 --reverse"), "6.0 5.0 3.0\n15.0 11.0 6.0\n");
    assert_eq!(scan("--axis 0 --reverse -x"), "4.0 5.0 6.0\n0.0 0.0 0.0\n");
    // The shape is that of the input.
    let written = pass_in(at, "scan --axis 0 x.npy", b"");
    let sums = bytes(&[1.0, 2.0, 3.0, 5.0, 7.0, 9.0], f32::to_le_bytes);
    assert_eq!(written, npy_of("<f4", "(2, 3)", &sums));
}

#[test]
fn axes_that_are_not_there_are_refused() {
    let folder = folder(&[("x.npy", &cube()), ("t.csv", b"a,b\n1,2\n")]);
    let at = folder.path();
    let error = fail_in(at, "reduce --axis 3 x.npy", b"");
    assert!(
        error.contains("no axis 3") && error.contains("0 to 2, or -3 to -1"),
        "{error}"
    );
    let error = fail_in(at, "scan --axis -4 x.npy --output-format text", b"");
    assert!(error.contains("no axis -4"), "{error}");
    for line in ["reduce --axis 0 t.csv", "reduce --axis 0 --flatten x.npy"] {
        let error = fail_in(at, line, b"");
        assert!(
            error.contains("--axis is for arrays") && error.contains(".npy"),
            "{error}"
        );
    }
    let none = npy_of("<f4", "(3, 0)", b"");
    std::fs::write(at.join("n.npy"), none).unwrap();
    assert_eq!(text(at, "reduce --axis 1 n.npy"), "0.0\n0.0\n0.0\n");
    let error = fail_in(at, "reduce --axis 1 --op max n.npy", b"");
    assert!(
        error.contains("lane 0") && error.contains("--init"),
        "{error}"
    );
}

/// Integers add up and multiply in 64 bits, and say so where that is not enough.
#[test]
fn results_out_of_range_are_refused() {
    let data = bytes(&[u64::MAX, 1, 1, 5], u64::to_le_bytes);
    let folder = folder(&[
        ("x.npy", &npy_of("<u8", "(2, 2)", &data)),
        ("o.txt", b"0 2 4"),
    ]);
    let at = folder.path();
    assert_eq!(
        text(at, "reduce --axis 1 x.npy --op max"),
        "18446744073709551615\n5\n"
    );
    let error = fail_in(at, "reduce --axis 1 x.npy", b"");
    assert!(
        error.contains("lane 0") && error.contains("out of the range of u64"),
        "{error}"
    );
    assert_eq!(text(at, "reduce --axis 1 x.npy --wrapping"), "0\n6\n");
    let error = fail_in(at, "reduce --axis 0 x.npy --op mul --init 2", b"");
    assert!(error.contains("lane 0"), "{error}");
    let error = fail_in(
        at,
        "segments --offsets o.txt --scan x.npy --output-format text",
        b"",
    );
    assert!(error.contains("position 1"), "{error}");
}

#[test]
fn segments_are_folded_and_scanned() {
    let folder = folder(&[
        ("x.txt", b"1 2 3 4 5 6"),
        ("offsets.txt", b"0 2 2 6"),
        ("lengths.txt", b"2 0 4"),
    ]);
    let at = folder.path();
    for bounds in ["--offsets offsets.txt", "--lengths lengths.txt"] {
        assert_eq!(text(at, &format!("segments {bounds} x.txt")), "3\n0\n18\n");
        let scans = text(at, &format!("segments {bounds} --scan x.txt"));
        assert_eq!(scans, "1\n3\n3\n7\n12\n18\n");
        let scans = text(at, &format!("segments {bounds} --scan -x --init 10 x.txt"));
        assert_eq!(scans, "10\n11\n10\n13\n17\n22\n");
        let scans = text(at, &format!("segments {bounds} --scan --reverse x.txt"));
        assert_eq!(scans, "3\n2\n18\n15\n11\n6\n");
        let scans = text(
            at,
            &format!("segments {bounds} --scan --reverse -x x.txt --op mul"),
        );
        assert_eq!(scans, "2\n1\n120\n30\n6\n1\n");
        let error = fail_in(at, &format!("segments {bounds} --op min x.txt"), b"");
        assert!(
            error.contains("segment 1") && error.contains("--init"),
            "{error}"
        );
        let least = text(at, &format!("segments {bounds} --op min --init 9 x.txt"));
        assert_eq!(least, "1\n9\n3\n");
    }
}

/// Offsets may leave numbers out, and it is said; lengths that do so are a mistake.
#[test]
fn no_number_is_left_out_without_a_word() {
    let folder = folder(&[
        ("x.txt", b"1 2 3 4 5 6"),
        ("short.txt", b"2 0 3"),
        ("long.txt", b"2 0 5"),
        ("none.txt", b""),
        ("inner.txt", b"1 3 5"),
    ]);
    let at = folder.path();
    for (lengths, sum) in [("short", 5), ("long", 7), ("none", 0)] {
        for scan in ["", " --scan"] {
            let line = format!("segments{scan} --lengths {lengths}.txt x.txt");
            let error = fail_in(at, &line, b"");
            let cause = format!("the lengths add up to {sum}, but there are 6 numbers");
            assert!(error.contains(&cause), "{error}");
        }
    }
    let output = run_in(at, "segments -q --offsets inner.txt x.txt", b"");
    assert_eq!(output.stdout, b"5\n9\n");
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(
        notes.contains("go from 1 to 5, so 2 of 6 numbers are in none"),
        "{notes}"
    );
    // A scan writes them all.
    assert_eq!(
        text(at, "segments --scan --offsets inner.txt x.txt"),
        "1\n2\n5\n4\n9\n6\n"
    );
}

#[test]
fn wrong_segments_are_refused() {
    let folder = folder(&[
        ("x.txt", b"1 2 3 4"),
        ("falls.txt", b"0 3 1"),
        ("passes.txt", b"0 9"),
        ("negative.txt", b"-1 2"),
        ("floats.txt", b"0.5 2"),
        ("none.txt", b""),
    ]);
    let at = folder.path();
    for (file, part) in [
        ("falls.txt", "offsets[2] is 1"),
        ("passes.txt", "end at 9, but there are 4 numbers"),
        ("negative.txt", "number 0, from 0, is -1"),
        ("floats.txt", "the offsets are f64"),
        ("none.txt", "are none"),
    ] {
        let error = fail_in(at, &format!("segments --offsets {file} x.txt"), b"");
        assert!(error.contains(part), "{file}: {error}");
    }
}

/// Positions mean something: no number may lie elsewhere, and columns do not mix.
#[test]
fn columns_and_missing_numbers_do_not_move_others() {
    let folder = folder(&[
        ("two.csv", b"a,b\n1,2\n3,4\n"),
        ("gap.csv", b"a\n1\nNA\n4\n"),
        ("o.txt", b"0 2"),
        ("counts.txt", b"1 1 1 1"),
    ]);
    let at = folder.path();
    assert_eq!(
        text(at, "segments --offsets o.txt --column b two.csv"),
        "6\n"
    );
    for line in [
        "segments --offsets o.txt two.csv",
        "decode --counts counts.txt two.csv",
    ] {
        let error = fail_in(at, line, b"");
        assert!(
            error.contains("takes one column") && error.contains("--column"),
            "{error}"
        );
    }
    let error = fail_in(
        at,
        "segments --offsets o.txt --missing skip -q gap.csv",
        b"",
    );
    assert!(error.contains("numbers are missing"), "{error}");
}

#[test]
fn rows_are_grouped_by_sorted_keys() {
    let rows = b"key,price,pieces\n1,0.5,3\n1,1.5,4\n2,9,-1\n4,2,7\n4,4,8\n4,6,9\n";
    let folder = folder(&[("x.csv", rows)]);
    let at = folder.path();
    assert_eq!(
        text(at, "group --by key x.csv"),
        "key,count,price_sum,price_mean,price_min,price_max,pieces_sum,pieces_mean,pieces_min,pieces_max\n\
         1,2,2.0,1.0,0.5,1.5,7,3.5,3,4\n\
         2,1,9.0,9.0,9.0,9.0,-1,-1.0,-1,-1\n\
         4,3,12.0,4.0,2.0,6.0,24,8.0,7,9\n"
    );
    assert_eq!(
        text(at, "group --by 1 --column key x.csv"),
        "key,count\n1,2\n2,1\n4,3\n"
    );
}

#[test]
fn keys_are_grouped_in_any_order_or_by_runs() {
    let folder = folder(&[("x.csv", b"k,v\n3,1\n3,2\n1,3\n3,4\n")]);
    let at = folder.path();
    let grouped = "k,count,v_sum,v_mean,v_min,v_max\n1,1,3,3.0,3,3\n3,3,7,2.3333333333333335,1,4\n";
    assert_eq!(text(at, "group --by k x.csv"), grouped);
    pass_in(at, "sort --by k x.csv -o sorted.csv", b"");
    assert_eq!(text(at, "group --by k sorted.csv"), grouped);
    assert_eq!(
        text(at, "group --by k --runs x.csv"),
        "k,count,v_sum,v_mean,v_min,v_max\n3,2,3,1.5,1,2\n1,1,3,3.0,3,3\n3,1,4,4.0,4,4\n"
    );
    // Descending keys stay so.
    let sorted = pass_in(at, "sort -r --by k x.csv", b"");
    let grouped = String::from_utf8(pass_in(at, "group --by k --delimiter ,", &sorted)).unwrap();
    assert!(
        grouped.contains("3,3,7,") && grouped.contains("1,1,3,3.0"),
        "{grouped}"
    );
    let error = fail_in(at, "group --by q x.csv", b"");
    assert!(
        error.contains("no such column") && error.contains("k, v"),
        "{error}"
    );
}

/// Words are keys by their bytes, and what they group is what numbers in their place would.
#[test]
fn words_are_keys() {
    let folder = folder(&[
        (
            "x.csv",
            b"city,v\nRome,1\nOslo,2\n\"Rome\",3\nBern,4\n" as &[u8],
        ),
        (
            "two.tsv",
            "who\tday\tv\nb\t2024-01-02\t1\na\t2023-05-06\t2\nb\t2023-05-06\t3\n".as_bytes(),
        ),
        ("w.txt", b"name x\nbob 2\nann 1\nbob 3\n"),
        (
            "quoted.csv",
            b"k,v\n\"a,b\",1\n\"say \"\"c\"\"\",2\n#1,5\n\"#1\",3\n",
        ),
        ("mixed.csv", b"k,v\nA1,1\n5,2\nB,3\n"),
        ("gap.csv", b"k,v\nb,1\n,2\nb,3\na,4\n"),
    ]);
    let at = folder.path();
    assert_eq!(
        text(at, "group --by city x.csv"),
        "city,count,v_sum,v_mean,v_min,v_max\nBern,1,4,4.0,4,4\nOslo,1,2,2.0,2,2\nRome,2,4,2.0,1,3\n"
    );
    assert_eq!(
        text(at, "group --by city --runs x.csv"),
        "city,count,v_sum,v_mean,v_min,v_max\nRome,1,1,1.0,1,1\nOslo,1,2,2.0,2,2\nRome,1,3,3.0,3,3\n\
         Bern,1,4,4.0,4,4\n"
    );
    assert_eq!(
        text(at, "group --by 1 --column 1 x.csv"),
        "city,count\nBern,1\nOslo,1\nRome,2\n"
    );
    assert_eq!(
        text(at, "sort --by city:desc x.csv"),
        "city,v\nRome,1\nRome,3\nOslo,2\nBern,4\n"
    );
    assert_eq!(
        text(at, "top -k 2 --by city --bottom x.csv"),
        "city,v\nBern,4\nOslo,2\n"
    );
    assert_eq!(
        text(at, "sort --by day --by who two.tsv"),
        "who\tday\tv\na\t2023-05-06\t2\nb\t2023-05-06\t3\nb\t2024-01-02\t1\n"
    );
    assert_eq!(
        text(at, "group --by name w.txt"),
        "name count x_sum x_mean x_min x_max\nann 1 1 1.0 1 1\nbob 2 5 2.5 2 3\n"
    );
    assert_eq!(
        text(at, "group --by city --json x.csv").lines().next(),
        Some(
            "{\"columns\":[\"city\",\"count\",\"v_sum\",\"v_mean\",\"v_min\",\"v_max\"],\
             \"dtypes\":[\"str\",\"u64\",\"i64\",\"f64\",\"i64\",\"i64\"],\
             \"rows\":[[\"Bern\",1,4,4.0,4,4],[\"Oslo\",1,2,2.0,2,2],[\"Rome\",2,4,2.0,1,3]]}"
        )
    );
    // What is written reads back as the same words.
    let line = "sort --no-comments --by k quoted.csv";
    let sorted = text(at, line);
    assert_eq!(
        sorted,
        "k,v\n\"#1\",5\n\"#1\",3\n\"a,b\",1\n\"say \"\"c\"\"\",2\n"
    );
    std::fs::write(at.join("again.csv"), &sorted).unwrap();
    assert_eq!(text(at, "sort --by k again.csv"), sorted);
    // Numbers among words are words, which is told; words among numbers are a mistake.
    let output = run_in(at, "sort --by k mixed.csv", b"");
    assert_eq!(output.stdout, b"k,v\n5,2\nA1,1\nB,3\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("are words as well"));
    let error = fail_in(at, "sort --by k --delimiter ,", b"k,v\n1,1\n2,2\nx,3\n");
    assert!(
        error.contains("line 4, field 1: `x` is not a number"),
        "{error}"
    );
    let error = fail_in(at, "group --by k gap.csv", b"");
    assert!(error.contains("line 3, field 1"), "{error}");
    let output = run_in(at, "group -q --missing skip --by k gap.csv", b"");
    assert_eq!(
        output.stdout,
        b"k,count,v_sum,v_mean,v_min,v_max\nb,2,4,2.0,1,3\na,1,4,4.0,4,4\n"
    );
    let error = fail_in(at, "sort --by city x.csv -o y.npy", b"");
    assert!(error.contains("column city holds words"), "{error}");
    let latin = fail_in(at, "sort --by k --delimiter ,", b"k,v\nb\xe9,1\n");
    assert!(latin.contains("this is no UTF-8"), "{latin}");
}

/// Words keep their order over many pieces, and what does not fit the memory is no silent disorder.
#[test]
fn words_are_keys_of_long_tables() {
    let rows: Vec<String> = (0..300_000_u32)
        .map(|row| format!("w{},1\n", row % 7))
        .collect();
    let folder = folder(&[("x.csv", format!("k,v\n{}", rows.concat()).as_bytes())]);
    let at = folder.path();
    let grouped = text(at, "group --by k x.csv");
    assert_eq!(grouped.lines().count(), 8);
    assert!(grouped.contains("\nw0,42858,42858,1.0,1,1\n"), "{grouped}");
    assert!(text(at, "top -k 1 --by k --bottom x.csv").ends_with("\nw0,1\n"));
    let long = rows.concat().repeat(2);
    let error = fail_in(
        at,
        "sort --by 1 --no-header --delimiter , --memory 1",
        long.as_bytes(),
    );
    assert!(error.contains("sorted by words do not fit"), "{error}");
}

#[test]
fn decode_undoes_unique() {
    let folder = folder(&[("x.txt", b"7 7 7 2 2 9")]);
    let at = folder.path();
    pass_in(at, "unique --counts counts.npy x.txt -o values.txt", b"");
    assert_eq!(
        text(at, "decode --counts counts.npy values.txt"),
        "7\n7\n7\n2\n2\n9\n"
    );
    std::fs::write(at.join("two.txt"), "1 2").unwrap();
    let error = fail_in(at, "decode --counts two.txt values.txt", b"");
    assert!(error.contains("3 numbers and 2 counts"), "{error}");
}

/// As `stats` has them: exact of integers, and finite of finite numbers.
#[test]
fn means_of_groups_are_rounded_once() {
    let rows = b"k,i,x\n1,9007199254740993,1e308\n1,9007199254740993,1e308\n1,9007199254740999,1e308\n2,1,2\n";
    let folder = folder(&[("x.csv", rows)]);
    let output = run_in(folder.path(), "group --by k x.csv", b"");
    let text = String::from_utf8(output.stdout).unwrap();
    // The exact mean, 9007199254740995, is a tie, which goes to an even last digit.
    assert!(
        text.contains("1,3,27021597764222985,9007199254740996.0,"),
        "{text}"
    );
    assert!(text.contains(",inf,1e+308,1e+308,1e+308\n"), "{text}");
    assert!(text.contains("\n2,1,1,1.0,1,1,2.0,2.0,2.0,2.0\n"), "{text}");
}

/// An array of several axes is no table, so columns of it cannot be meant.
#[test]
fn arrays_of_several_axes_have_no_keys() {
    let folder = folder(&[("x.npy", &cube())]);
    for line in ["group --by 1 --runs", "sort --by 1", "top --by 1"] {
        let error = fail_in(
            folder.path(),
            &format!("{line} x.npy --output-format text"),
            b"",
        );
        assert!(error.contains("array of several axes"), "{error}");
        pass_in(
            folder.path(),
            &format!("{line} x.npy --output-format text --flatten"),
            b"",
        );
    }
}
