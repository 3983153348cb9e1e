//! What is different when a person looks on.

use crate::support::{command, npy_of, pass_in};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Duration;

/// A terminal: the end that a person holds, and the one that programs write to.
fn terminal() -> (File, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap().into_string().unwrap();
    let program = OpenOptions::new()
        .read(true)
        .write(true)
        .open(name)
        .unwrap();
    (File::from(person), program)
}

/// What was shown, once all programs have left.
fn shown(mut person: File) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    // The last program's leaving reads as an error.
    while let Ok(count @ 1..) = person.read(&mut piece) {
        bytes.extend(&piece[..count]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn binary_data_are_kept_from_terminals() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.npy"), npy_of("<i2", "(1,)", &[1, 0])).unwrap();
    let run = |arguments: &[&str]| {
        let (person, program) = terminal();
        let mut command = command();
        command.args(arguments).current_dir(folder.path());
        let output = command
            .stdout(program)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(command);
        let output = output.wait_with_output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
            shown(person),
        )
    };
    let (code, errors, text) = run(&["scan", "x.npy"]);
    assert_eq!((code, text.as_str()), (Some(1), ""));
    assert!(
        errors.contains("-o FILE") && errors.contains("--output-format text"),
        "{errors}"
    );
    assert_eq!(
        run(&["reduce", "x.npy"]),
        (Some(0), "".into(), "1\r\n".into())
    );
    assert!(!pass_in(folder.path(), "scan x.npy", b"").is_empty());
}

#[test]
fn long_reading_shows_its_progress() {
    let (person, program) = terminal();
    let mut command = command();
    command.args(["reduce", "--op", "max", "--format", "raw", "--dtype", "u8"]);
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(program);
    let mut child = child.env("TERM", "xterm").spawn().unwrap();
    drop(command);
    let mut stdin = child.stdin.take().unwrap();
    for _ in 0..8 {
        stdin.write_all(&[1; 1 << 16]).unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"1\n");
    let shown = shown(person);
    // Its rate is told at once.
    let bar = shown.split("reading").nth(1).expect("a bar");
    let rate = bar
        .split("iB/s")
        .next()
        .and_then(|text| text.split(", ").last());
    let digits = rate.and_then(|rate| rate.split(' ').next());
    let rate: f64 = digits
        .and_then(|digits| digits.parse().ok())
        .expect("a rate");
    assert!(rate > 0.0, "{shown:?}");
}
