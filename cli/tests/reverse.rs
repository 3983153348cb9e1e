//! `warpfold scan --reverse`: from the last number to the first.

use crate::support::{fail_in, folder, npy_of, pass, pass_in};
use std::path::Path;

#[test]
fn each_result_folds_what_comes_behind() {
    assert_eq!(pass("scan --reverse", "3 1 7"), "11 8 7");
    assert_eq!(pass("scan --reverse -x", "3 1 7"), "8 7 0");
    assert_eq!(pass("scan --reverse -x --init 10", "3 1 7"), "18 17 10");
    assert_eq!(pass("scan --reverse --op max", "3 1 7 2"), "7 7 7 2");
    assert_eq!(
        pass("scan --reverse --op mul --dtype u8", "3 1 7"),
        "21 7 7"
    );
    assert_eq!(pass("scan --reverse", ""), "");
    assert_eq!(pass("scan --reverse", "5"), "5");
    assert_eq!(
        pass("scan --reverse --json", "1 2"),
        r#"{"dtype":"i64","values":[3,2],"shape":[2]}"#
    );
    // An array keeps its shape, and is one row.
    let array = npy_of("|u1", "(2, 2)", &[1, 2, 3, 4]);
    let given = pass_in(Path::new("."), "scan --reverse", &array);
    let sums: Vec<u8> = [10_u64, 9, 7, 4]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    assert_eq!(given, npy_of("<u8", "(2, 2)", &sums));
}

/// Bit for bit the scan of the reversed numbers, in reverse; also where they come in many pieces.
#[test]
fn it_is_the_scan_of_the_reversed_numbers() {
    let number = |i: u32| (i.wrapping_mul(2_654_435_761) >> 9) as f32 * 1e-3 - 3000.0;
    for count in [1, 1000, 262_144, 262_145, 1_000_003] {
        let numbers: Vec<f32> = (0..count).map(number).collect();
        let bytes = |numbers: &mut dyn Iterator<Item = &f32>| -> Vec<u8> {
            numbers.flat_map(|x| x.to_le_bytes()).collect()
        };
        let (forward, backward) = (bytes(&mut numbers.iter()), bytes(&mut numbers.iter().rev()));
        for form in ["", "-x --init 0.5"] {
            let line = format!("scan {form} --format raw --dtype f32");
            let expected = pass_in(Path::new("."), &line, &backward);
            let given = pass_in(Path::new("."), &format!("{line} --reverse"), &forward);
            let turned: Vec<&[u8]> = expected.chunks(4).rev().collect();
            assert!(given == turned.concat(), "{count} {form}");
        }
    }
}

#[test]
fn columns_and_missing_numbers_keep_their_places() {
    let folder = folder(&[("t.csv", b"a,b\n1,0.5\n,1\n3,NA\n4,2\n")]);
    let given = pass_in(folder.path(), "scan --reverse -q --missing skip t.csv", b"");
    assert_eq!(
        String::from_utf8(given).unwrap(),
        "a,b\n8,3.5\n,3.0\n7,\n4,2.0\n"
    );
}

#[test]
fn what_is_out_of_range_is_named_by_its_own_place() {
    let folder = folder(&[]);
    let text = b"1 NA 1 9223372036854775807 0";
    let error = fail_in(
        folder.path(),
        "scan --reverse -q --missing skip -o y.txt",
        text,
    );
    assert!(
        error.contains("the number at position 2, from 0"),
        "{error}"
    );
    assert!(!folder.path().join("y.txt").exists());
    let error = fail_in(folder.path(), "scan --reverse -x --op min", b"1");
    assert!(error.contains("--init"), "{error}");
}
