//! Running the command, and building its input by hand.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// The command, without the variables of the developer's environment.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpfold"));
    command.env_remove("WARPFOLD_DEVICE");
    command
}

/// Splits `line` at spaces, runs the command with these arguments in `folder`, and feeds it
/// `input`.
pub(crate) fn run_in(folder: &Path, line: &str, input: &[u8]) -> Output {
    let mut child = command()
        .args(line.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || {
        // A command that fails early does not read its input.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output
}

/// The standard output of a run that must succeed in silence.
pub(crate) fn pass_in(folder: &Path, line: &str, input: &[u8]) -> Vec<u8> {
    let output = run_in(folder, line, input);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && errors.is_empty(),
        "`warpfold {line}`: {errors}"
    );
    output.stdout
}

/// What a command writes to its standard output, as text with a space for each newline within it.
pub(crate) fn pass(line: &str, input: &str) -> String {
    let output = pass_in(Path::new("."), line, input.as_bytes());
    let text = String::from_utf8(output).unwrap();
    text.strip_suffix('\n').unwrap_or(&text).replace('\n', " ")
}

/// The message of a run that must fail with exit code 1 and write nothing.
pub(crate) fn fail_in(folder: &Path, line: &str, input: &[u8]) -> String {
    let output = run_in(folder, line, input);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "`warpfold {line}`: {errors}");
    assert!(
        output.stdout.is_empty(),
        "`warpfold {line}` wrote, and failed then"
    );
    errors
        .strip_prefix("warpfold: error: ")
        .expect("the prefix of errors")
        .trim_end()
        .to_owned()
}

/// The message of a run that must fail for what it reads from its standard input.
pub(crate) fn fail(line: &str, input: &str) -> String {
    fail_in(Path::new("."), line, input.as_bytes())
}

/// What a command says about an input that it takes: its output and its notes.
pub(crate) fn noted(line: &str, input: &str) -> (String, String) {
    let output = run_in(Path::new("."), line, input.as_bytes());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    assert!(output.status.success(), "{line}: {}", text(output.stderr));
    let lines = text(output.stdout);
    (lines.trim_end().replace('\n', " "), text(output.stderr))
}

/// A folder that is removed after the test, with files in it.
pub(crate) fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into())
        .collect();
    names.sort();
    names
}

/// An .npy file of a version, with the header's dictionary as given, and padded as NumPy does.
pub(crate) fn npy(version: u8, dictionary: &str, data: &[u8]) -> Vec<u8> {
    let length_bytes = if version == 1 { 2 } else { 4 };
    let before = 8 + length_bytes;
    let total = (before + dictionary.len() + 1).next_multiple_of(64);
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    file.extend(&((total - before) as u32).to_le_bytes()[..length_bytes]);
    file.extend(dictionary.as_bytes());
    file.resize(total - 1, b' ');
    file.push(b'\n');
    file.extend(data);
    file
}

/// Version 1, in C order.
pub(crate) fn npy_of(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    npy(1, &dictionary, data)
}

/// What a shell prints for a line, whose input is a text.
#[cfg(unix)]
pub(crate) fn shell(line: &str, input: &str) -> String {
    let mut child = Command::new("sh")
        .args(["-c", line])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

/// The text that the programs of a remedy make of another one: what stands between ` as ` and
/// ` | warpfold`.
#[cfg(unix)]
pub(crate) fn mended(error: &str, input: &str) -> String {
    let (before, _) = error.rsplit_once(" | warpfold ...").expect(error);
    let (_, programs) = before.rsplit_once(" as ").expect(error);
    shell(&programs.replace(" < FILE", "").replace(" FILE", ""), input)
}
