//! `warpfold top`: the greatest or least numbers and rows of a stream.

use crate::support::{fail_in, folder, pass, pass_in};

#[test]
fn the_greatest_come_sorted() {
    assert_eq!(pass("top -k 2", "3 1 2"), "3 2");
    assert_eq!(pass("top --bottom -k 2", "3 1 2"), "1 2");
    assert_eq!(pass("top -k 0", "3 1 2"), "");
    assert_eq!(pass("top -k 9", "3 1 2"), "3 2 1");
    assert_eq!(pass("top", ""), "");
    assert_eq!(pass("top -k 2", "1 nan 3"), "NaN 3.0");
    assert_eq!(pass("top -k 2 --order nan-last", "1 nan 3"), "3.0 1.0");
    assert_eq!(pass("top -k 1 --bottom", "nan -1 3"), "-1.0");
}

/// Of equals the first.
#[test]
fn positions_are_those_of_the_first_equals() {
    assert_eq!(pass("top -k 3 --positions", "7 9 9 1 9"), "1 2 4");
    assert_eq!(pass("top -k 2 --bottom --positions", "7 1 9 1 1"), "1 3");
    let text = pass_in(
        std::path::Path::new("."),
        "top -k 2 --with-positions",
        b"7\n9\n9\n",
    );
    assert_eq!(String::from_utf8(text).unwrap(), "1 position\n9 1\n9 2\n");
}

/// Rows that are skipped are counted.
#[test]
fn positions_count_what_is_missing() {
    let line = "top -k 2 --positions -q --missing skip";
    assert_eq!(pass(line, "NA 7 NA 9"), "3 1");
    let folder = folder(&[("x.csv", b"a,b\n1,2\n,5\n3,4\n")]);
    let given = pass_in(
        folder.path(),
        "top x.csv -k 1 --positions -q --missing skip",
        b"",
    );
    assert_eq!(given, b"2\n");
    let line = "unique --sort -q --missing skip --starts starts.txt";
    pass_in(folder.path(), line, b"NA 7 NA 9 7 5");
    let starts = std::fs::read(folder.path().join("starts.txt")).unwrap();
    assert_eq!(starts, b"5\n1\n3\n");
}

/// Longer than a piece: the best come from all of them.
#[test]
fn a_stream_of_any_length_is_looked_through() {
    let numbers: Vec<u32> = (0..700_000)
        .map(|i: u32| i.wrapping_mul(0x9E37_79B1))
        .collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    let folder = folder(&[("x.bin", &bytes)]);
    for (line, descending) in [("", true), ("--bottom", false)] {
        let line = format!("top --dtype u32 x.bin -k 1000 --positions {line} --output-format text");
        let mut places: Vec<usize> = (0..numbers.len()).collect();
        match descending {
            true => places.sort_by_key(|&i| std::cmp::Reverse(numbers[i])),
            false => places.sort_by_key(|&i| numbers[i]),
        }
        let expected: String = places[..1000].iter().map(|i| format!("{i}\n")).collect();
        let given = pass_in(folder.path(), &line, b"");
        assert!(given == expected.as_bytes(), "{line}");
    }
    let rows: String = numbers
        .iter()
        .map(|x| format!("{},{x}\n", x % 10))
        .collect();
    std::fs::write(folder.path().join("x.csv"), rows).unwrap();
    let given = pass_in(folder.path(), "top x.csv -k 3 --by 1 --by 2:asc", b"");
    let mut rows: Vec<(u32, u32)> = numbers.iter().map(|&x| (x % 10, x)).collect();
    rows.sort_by_key(|&(a, b)| (std::cmp::Reverse(a), b));
    let expected: String = rows[..3]
        .iter()
        .map(|(a, b)| format!("{a},{b}\n"))
        .collect();
    assert_eq!(String::from_utf8(given).unwrap(), expected);
}

#[test]
fn rows_of_a_table_stay_whole() {
    let folder = folder(&[("x.csv", b"city,price\n2,1.5\n1,9\n2,9\n1,2\n")]);
    for (line, expected) in [
        ("-k 2 --by price", "city,price\n1,9.0\n2,9.0\n"),
        ("-k 2 --by price --bottom", "city,price\n2,1.5\n1,2.0\n"),
        ("-k 1", "city,price\n2,9.0\n"),
        ("-k 1 --by price:asc", "city,price\n2,1.5\n"),
        ("-k 2 --by price --positions", "1\n2\n"),
        ("-k 1 --with-positions", "city,price,position\n2,9.0,2\n"),
    ] {
        let text = pass_in(folder.path(), &format!("top x.csv {line}"), b"");
        assert_eq!(String::from_utf8(text).unwrap(), expected, "{line}");
    }
    let error = fail_in(folder.path(), "top x.csv --by town", b"");
    assert!(error.contains("--by town"), "{error}");
}
