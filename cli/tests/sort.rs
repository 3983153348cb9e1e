//! `warpfold sort`: numbers, rows of tables, and what does not fit the memory.

use crate::support::{command, fail_in, folder, names, npy_of, pass, pass_in, run_in};
use std::path::Path;

#[test]
fn numbers_of_every_type_are_sorted() {
    for dtype in ["i8", "i16", "i32", "i64"] {
        let line = format!("sort --dtype {dtype}");
        assert_eq!(pass(&line, "3 -1 2 3 0"), "-1 0 2 3 3", "{line}");
        assert_eq!(
            pass(&format!("{line} -r"), "3 -1 2 3 0"),
            "3 3 2 0 -1",
            "{line}"
        );
        assert_eq!(pass(&line, ""), "", "{line}");
    }
    for dtype in ["f16", "bf16", "f32", "f64"] {
        let line = format!("sort --dtype {dtype}");
        let text = "nan 2 -inf 0 -0 inf -3";
        let sorted = "-inf -3.0 0.0 -0.0 2.0 inf NaN";
        assert_eq!(pass(&line, text), sorted, "{line}");
        let line = format!("{line} --descending");
        assert_eq!(
            pass(&line, text),
            "NaN inf 2.0 0.0 -0.0 -3.0 -inf",
            "{line}"
        );
        let last = format!("{line} --order nan-last");
        assert_eq!(
            pass(&last, text),
            "inf 2.0 0.0 -0.0 -3.0 -inf NaN",
            "{line}"
        );
        let total = format!("sort --dtype {dtype} --order total");
        assert_eq!(pass(&total, "0 -0 nan -nan"), "NaN -0.0 0.0 NaN", "{line}");
    }
    assert_eq!(
        pass("sort --dtype u64", "18446744073709551615 1"),
        "1 18446744073709551615"
    );
}

const SALES: &[u8] = b"city,price,stock\n2,1.5,7\n1,9,1\n2,0.5,7\n1,2,8\n2,1.5,3\n";

/// Rows stay whole, and equal ones in their order.
#[test]
fn rows_of_a_table_move_whole() {
    let folder = folder(&[("x.csv", SALES)]);
    for (line, rows) in [
        ("", "1,2.0,8|1,9.0,1|2,0.5,7|2,1.5,3|2,1.5,7"),
        ("--by city", "1,9.0,1|1,2.0,8|2,1.5,7|2,0.5,7|2,1.5,3"),
        (
            "--by city --by price",
            "1,2.0,8|1,9.0,1|2,0.5,7|2,1.5,7|2,1.5,3",
        ),
        (
            "--by 1 --by 2:desc",
            "1,9.0,1|1,2.0,8|2,1.5,7|2,1.5,3|2,0.5,7",
        ),
        (
            "--by stock:asc --by price -r",
            "1,9.0,1|2,1.5,3|2,1.5,7|2,0.5,7|1,2.0,8",
        ),
        ("--by city -r", "2,1.5,7|2,0.5,7|2,1.5,3|1,9.0,1|1,2.0,8"),
        ("--by name:city", "1,9.0,1|1,2.0,8|2,1.5,7|2,0.5,7|2,1.5,3"),
    ] {
        let text = pass_in(folder.path(), &format!("sort x.csv {line}"), b"");
        let expected = format!("city,price,stock\n{}\n", rows.replace('|', "\n"));
        assert_eq!(String::from_utf8(text).unwrap(), expected, "{line}");
    }
    let text = pass_in(
        folder.path(),
        "sort x.csv --column stock --column city --by stock -r",
        b"",
    );
    assert!(
        text.starts_with(b"stock,city\n8,1\n7,2\n7,2\n3,2\n1,1\n"),
        "{text:?}"
    );
}

#[test]
fn a_key_that_is_no_column_is_an_error_that_lists_them() {
    let folder = folder(&[("x.csv", SALES)]);
    for line in [
        "--by town",
        "--by 4",
        "--by price:down",
        "--column city --by price",
    ] {
        let error = fail_in(folder.path(), &format!("sort x.csv {line}"), b"");
        assert!(
            error.contains("--by") && error.contains("choose one of city"),
            "{error}"
        );
    }
    let given = run_in(folder.path(), "sort x.csv --memory lots", b"");
    let error = String::from_utf8(given.stderr).unwrap();
    assert!(
        error.contains("--memory") && error.contains("512M"),
        "{error}"
    );
}

#[test]
fn arrays_come_out_with_one_axis() {
    let file = npy_of("<i2", "(2, 2)", &[7, 0, 1, 0, 255, 255, 3, 0]);
    let folder = folder(&[("x.npy", &file)]);
    pass_in(folder.path(), "sort x.npy -o y.npy", b"");
    let written = std::fs::read(folder.path().join("y.npy")).unwrap();
    assert_eq!(
        written,
        npy_of("<i2", "(4,)", &[255, 255, 1, 0, 3, 0, 7, 0])
    );
}

fn numbers(count: u32) -> Vec<u32> {
    (0..count)
        .map(|i| i.wrapping_mul(0x9E37_79B1) >> 7)
        .collect()
}

/// Runs in a temporary file, which are merged.
#[test]
fn what_exceeds_the_memory_is_sorted_all_the_same() {
    let mut sorted = numbers(1_200_000);
    let bytes: Vec<u8> = sorted.iter().flat_map(|x| x.to_le_bytes()).collect();
    let folder = folder(&[("x.bin", &bytes)]);
    pass_in(
        folder.path(),
        "sort --dtype u32 x.bin -o y.bin --memory 64K -r",
        b"",
    );
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let expected: Vec<u8> = sorted.iter().flat_map(|x| x.to_le_bytes()).collect();
    let given = std::fs::read(folder.path().join("y.bin")).unwrap();
    assert!(given == expected);

    // Rows of a table: equal keys stay in their order.
    let rows: Vec<(u32, u32)> = (0..1_100_000).map(|i| (i * 7 % 50, i)).collect();
    let lines: String = rows.iter().map(|(key, i)| format!("{key},{i}\n")).collect();
    std::fs::write(folder.path().join("x.csv"), lines).unwrap();
    let given = pass_in(folder.path(), "sort x.csv --by 1 --memory 1M", b"");
    let mut rows = rows;
    rows.sort_by_key(|(key, _)| *key);
    let expected: String = rows.iter().map(|(key, i)| format!("{key},{i}\n")).collect();
    assert!(given == expected.as_bytes());
}

/// Not even SIGKILL leaves a temporary file: it never has a name.
#[test]
#[cfg(target_os = "linux")]
fn no_signal_leaves_a_temporary_file() {
    use std::io::Write;
    let folder = folder(&[]);
    let mut child = command()
        .args([
            "sort", "--dtype", "u32", "--format", "raw", "--memory", "1M",
        ])
        .env("TMPDIR", folder.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let bytes: Vec<u8> = numbers(1_500_000)
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&bytes).unwrap();
    // It has written a run when a file without a name is open, and waits for more.
    let descriptors = Path::new("/proc").join(child.id().to_string()).join("fd");
    let is_there = || {
        let open = std::fs::read_dir(&descriptors).unwrap().flatten();
        let targets = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        targets.into_iter().any(|target| {
            target.starts_with(folder.path()) && target.to_string_lossy().ends_with("(deleted)")
        })
    };
    let start = std::time::Instant::now();
    while !is_there() {
        assert!(start.elapsed().as_secs() < 120, "no temporary file");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(names(folder.path()).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    drop(input);
    assert!(names(folder.path()).is_empty());
}

/// Nothing sets columns apart there, so `--by` would sort all numbers as one.
#[test]
fn columns_of_words_must_be_named_for_by() {
    let folder = folder(&[("t.txt", b"2 2\n1 9\n"), ("h.txt", b"a b\n2 2\n1 9\n")]);
    for line in ["sort --by 1", "top --by 1", "group --by 1 --runs"] {
        let error = fail_in(folder.path(), &format!("{line} t.txt"), b"");
        assert!(error.contains("so all are one column"), "{error}");
        assert!(error.contains("--column 1-2"), "{error}");
        pass_in(folder.path(), &format!("{line} t.txt --column 1-2"), b"");
        pass_in(folder.path(), &format!("{line} h.txt"), b"");
    }
    let sorted = pass_in(folder.path(), "sort --by 1 t.txt --column 1-2", b"");
    assert_eq!(sorted, b"1 9\n2 2\n");
}

#[test]
fn a_name_that_comes_twice_is_no_key() {
    let folder = folder(&[("t.csv", b"k,k\n2,1\n1,3\n")]);
    for command in ["sort", "top", "group"] {
        let error = fail_in(folder.path(), &format!("{command} --by k t.csv"), b"");
        assert!(error.contains("this can mean 2 columns"), "{error}");
    }
    assert_eq!(
        pass_in(folder.path(), "sort --by 2 t.csv", b""),
        b"k,k\n2,1\n1,3\n"
    );
}

/// No rows and no header, or no rows alone.
#[test]
fn tables_of_nothing_have_results() {
    let folder = folder(&[("none.csv", b""), ("header.csv", b"a,b\n")]);
    let at = folder.path();
    for (line, none, header) in [
        ("sort", "", "a,b\n"),
        ("sort --by 1", "", "a,b\n"),
        ("top -k 3", "", "a,b\n"),
        ("select --gt 0", "", "a,b\n"),
        ("select --gt 0 --positions", "", ""),
        ("scan", "", "a,b\n"),
        ("scan --reverse", "", "a,b\n"),
    ] {
        for (name, expected) in [("none.csv", none), ("header.csv", header)] {
            let given = pass_in(at, &format!("{line} {name}"), b"");
            assert_eq!(String::from_utf8(given).unwrap(), expected, "{line} {name}");
        }
    }
    assert_eq!(pass_in(at, "unique none.csv", b""), b"");
    let table = String::from_utf8(pass_in(at, "stats --quantiles none.csv", b"")).unwrap();
    assert!(table.starts_with("count    0\n"), "{table}");
    assert!(table.ends_with("q0.75    -\n"), "{table}");
}
