//! Files and pipes: where data come from and where they go.

use crate::support::{command, fail_in, folder, names, npy_of, pass_in};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;

#[test]
fn the_standard_streams_take_every_format() {
    let here = Path::new(".");
    let file = npy_of("<i2", "(2, 1)", &[1, 0, 2, 0]);
    let sums = npy_of("<i8", "(2, 1)", &[1_i64, 3].map(i64::to_le_bytes).concat());
    for line in [
        "scan -i",
        "scan -i -",
        "scan -i - -o -",
        "scan -i --format npy --dtype i16",
    ] {
        assert_eq!(pass_in(here, line, &file), sums);
    }
    let sums = [1_u64, 3, 6].map(u64::to_le_bytes).concat();
    assert_eq!(
        pass_in(here, "scan -i --format raw --dtype u8", &[1, 2, 3]),
        sums
    );
    assert_eq!(
        pass_in(here, "scan -i --output-format raw --dtype u8", b"1 2 3"),
        sums
    );
    assert_eq!(
        pass_in(here, "scan -i --output-format text", &file),
        b"1\n3\n"
    );
}

#[test]
fn long_streams_arrive_whole() {
    // Several pieces of every buffer on the way, and an odd length.
    let values: Vec<u32> = (0..2_500_001).collect();
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let here = Path::new(".");
    let convert = |line: &str, input: &[u8]| {
        pass_in(here, &format!("scan -i --op max --dtype u32 {line}"), input)
    };
    let text = convert("--format raw --output-format text", &bytes);
    let file = convert("--output-format npy", &text);
    assert_eq!(file, npy_of("<u4", "(2500001,)", &bytes));
    assert!(convert("--output-format raw", &file) == bytes);
}

#[test]
fn the_input_may_be_the_output() {
    let folder = folder(&[("x.txt", b"1\n2\n3\n")]);
    assert!(pass_in(folder.path(), "scan -i x.txt -o x.txt", b"").is_empty());
    assert_eq!(fs::read(folder.path().join("x.txt")).unwrap(), b"1\n3\n6\n");
    assert_eq!(names(folder.path()), [Path::new("x.txt")]);
}

#[test]
fn a_failure_leaves_the_old_output() {
    let folder = folder(&[("y.txt", b"old")]);
    fail_in(folder.path(), "scan -o y.txt", b"1 2 x");
    assert_eq!(fs::read(folder.path().join("y.txt")).unwrap(), b"old");
    assert_eq!(names(folder.path()), [Path::new("y.txt")]);
}

#[cfg(unix)]
#[test]
fn outputs_have_the_permissions_of_files() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder(&[("plain", b""), ("private", b"")]);
    let at = |name| folder.path().join(name);
    let mode = |name| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(at("private"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("private", at("link")).unwrap();
    for name in ["new", "link"] {
        pass_in(folder.path(), &format!("scan -o {name}"), b"1 2");
    }
    assert_eq!(mode("new"), mode("plain"), "a new file follows the umask");
    assert_eq!(
        mode("private"),
        0o640,
        "a replaced file keeps its permissions"
    );
    assert!(
        fs::symlink_metadata(at("link")).unwrap().is_symlink(),
        "a link stays a link"
    );
    assert_eq!(fs::read(at("private")).unwrap(), b"1\n3\n");
    pass_in(folder.path(), "scan -o /dev/null", b"1 2");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut child = command()
        .args([
            "scan",
            "--exclusive",
            "--wrapping",
            "--format",
            "raw",
            "--dtype",
            "u64",
            "--output-format",
            "text",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&vec![1; 8 << 20])
        .unwrap();
    let mut first = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut first).unwrap();
    drop(stdout);
    assert_eq!(first, "0\n");
    let mut errors = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut errors)
        .unwrap();
    assert!(child.wait().unwrap().success(), "{errors}");
    assert!(errors.is_empty(), "{errors}");
}

/// What is read piece by piece has the bits of one call over everything.
#[test]
fn long_streams_fold_as_one() {
    let values: Vec<f32> = (0..700_001_u32).map(|i| (i as f32 * 0.37).sin()).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    let here = Path::new(".");
    let sum = warpfold::reduce::<f32, warpfold::ops::Add>(&values).unwrap();
    let line = "reduce --format raw --dtype f32 --output-format raw";
    assert_eq!(pass_in(here, line, &bytes), sum.to_le_bytes());
    let sums = warpfold::inclusive_scan::<f32, warpfold::ops::Add>(&values).unwrap();
    let expected: Vec<u8> = sums.iter().flat_map(|x| x.to_le_bytes()).collect();
    assert!(pass_in(here, "scan --format raw --dtype f32", &bytes) == expected);
    // Positions and extremes count from the start.
    let places = pass_in(
        here,
        "select --positions --ge 0.9999999 --format raw --dtype f32 --output-format text",
        &bytes,
    );
    let expected: String = (0..values.len())
        .filter(|&i| values[i] >= 0.999_999_9)
        .map(|i| format!("{i}\n"))
        .collect();
    assert_eq!(String::from_utf8(places).unwrap(), expected);
    let table = String::from_utf8(pass_in(here, "stats --format raw --dtype f32", &bytes)).unwrap();
    let greatest = warpfold::arg_max(&values).unwrap().unwrap();
    let told = |name: &str| {
        let line = table.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(told("argmax"), greatest.to_string());
    let moments = warpfold::moments(&values).unwrap();
    assert_eq!(told("mean").parse(), Ok(moments.mean()));
}

/// An input without an end is worked on as it comes.
#[test]
fn endless_streams_are_scanned() {
    let mut child = command()
        .arg("scan")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        // Until nobody reads any more.
        while stdin.write_all(&b"1\n".repeat(1 << 15)).is_ok() {}
    });
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let seen: Vec<_> = lines.take(3).map(|line| line.unwrap()).collect();
    assert_eq!(seen, ["1", "2", "3"]);
    feeder.join().unwrap();
    assert!(child.wait().unwrap().success());
}

/// Inputs are larger than the memory that the command gets: they are worked on piece by piece.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_raw_input() {
    memory_does_not_grow(
        "head -c 144M /dev/zero",
        &[
            "reduce --format raw --dtype u64",
            "reduce --format raw --dtype f64",
            "scan --format raw --dtype u64 -o y.bin",
            "select --gt 0 --format raw --dtype f32",
            "unique --format raw --dtype i32",
            "stats --format raw --dtype i64",
            "histogram --format raw --dtype f64",
        ],
    );
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_text() {
    memory_does_not_grow(
        "yes 1234567890.12345 | head -c 144M",
        &["reduce", "reduce --delimiter ,"],
    );
}

#[cfg(target_os = "linux")]
fn memory_does_not_grow(input: &str, commands: &[&str]) {
    let folder = folder(&[]);
    for command in commands {
        let script = format!("{input} | (ulimit -d 131072; exec \"$warpfold\" {command})");
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .env("warpfold", env!("CARGO_BIN_EXE_warpfold"))
            .env("RAYON_NUM_THREADS", "2")
            .current_dir(folder.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && errors.is_empty(),
            "{command}: {errors}"
        );
    }
}

/// Threads read a file where it lies; a pipe comes in pieces. Nobody can tell from the result.
#[test]
fn a_file_gives_what_a_pipe_gives() {
    // No whole number of anything: not of threads' chunks, nor of blocks, nor of runs.
    let bytes: Vec<u8> = (0..1_100_003_u32 * 8)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8 & 0x3b)
        .collect();
    let types = [
        ("u8", "|u1"),
        ("i8", "|i1"),
        ("u16", "<u2"),
        ("u32", "<u4"),
        ("i32", "<i4"),
        ("f16", "<f2"),
        ("f32", "<f4"),
        ("f64", "<f8"),
    ];
    let folder = folder(&[("x.bin", &bytes)]);
    for (dtype, descr) in types {
        let size: usize = descr[2..].parse().unwrap();
        let npy = npy_of(descr, &format!("({},)", bytes.len() / size), &bytes);
        fs::write(folder.path().join("x.npy"), npy).unwrap();
        // The sum is beyond the halves, which would be told.
        let sum = match dtype {
            "f16" => "add --accumulate f32",
            _ => "add",
        };
        for op in [sum, "max", "min --init 7"] {
            let line = format!("reduce --format raw --dtype {dtype} --op {op}");
            let piped = pass_in(folder.path(), &line, &bytes);
            assert_eq!(pass_in(folder.path(), &format!("{line} x.bin"), b""), piped);
            let line = format!("reduce --op {op} x.npy");
            assert_eq!(pass_in(folder.path(), &line, b""), piped, "{dtype} {op}");
        }
    }
    let line = "reduce --accumulate f64 --dtype u16 --op add --init 0.5";
    let piped = pass_in(folder.path(), &format!("{line} --format raw"), &bytes);
    let shared = pass_in(folder.path(), &format!("{line} x.bin"), b"");
    assert_eq!(shared, piped);
}

#[test]
fn a_sum_of_a_file_that_is_out_of_range_is_an_error() {
    let numbers = vec![u64::MAX; 100_000];
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    let folder = folder(&[("x.bin", &bytes)]);
    let error = fail_in(folder.path(), "reduce --dtype u64 x.bin", b"");
    let sum = u128::from(u64::MAX) * 100_000;
    assert!(error.starts_with(&format!(
        "x.bin: the sum, {sum}, is out of the range of u64"
    )));
    // What is left over is found out here, too.
    let error = fail_in(
        folder.path(),
        "reduce --dtype u64 --op max x.bin --format npy",
        b"",
    );
    assert!(error.contains("not an .npy file"), "{error}");
    fs::write(folder.path().join("x.bin"), &bytes[..7_999]).unwrap();
    let error = fail_in(folder.path(), "reduce --dtype u64 x.bin", b"");
    assert!(error.contains("7 left over at byte 7992"), "{error}");
}

/// Files of the system tell no length.
#[cfg(target_os = "linux")]
#[test]
fn a_file_without_a_length_is_read() {
    let line = "reduce --format raw --dtype u8 --op min --accumulate u8 /proc/version";
    assert_eq!(pass_in(Path::new("."), line, b""), b"10\n");
}

/// Only what is worked on is in memory, with files as with pipes.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_a_file() {
    let folder = folder(&[]);
    let file = fs::File::create(folder.path().join("x.bin")).unwrap();
    file.set_len(144 << 20).unwrap();
    for dtype in ["u8", "u64", "f16", "f32"] {
        let script = "ulimit -d 131072; exec \"$warpfold\" reduce --dtype \"$dtype\" x.bin";
        let output = std::process::Command::new("sh")
            .args(["-c", script])
            .env("warpfold", env!("CARGO_BIN_EXE_warpfold"))
            .env("dtype", dtype)
            .env("RAYON_NUM_THREADS", "2")
            .current_dir(folder.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{dtype}: {errors}");
    }
}
