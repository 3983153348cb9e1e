//! What becomes of files: nothing is lost, half-written or left behind, whatever happens.

use crate::support::{fail_in, folder, names, pass_in, run_in};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A shell in a folder, with the command as `$warpfold`.
fn shell(folder: &Path, script: &str) -> std::process::Output {
    Command::new("sh")
        .args(["-c", script])
        .env("warpfold", env!("CARGO_BIN_EXE_warpfold"))
        .current_dir(folder)
        .output()
        .unwrap()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The command in the middle of its work, with results written that are not complete.
fn interrupted(folder: &Path, signal: Signal) {
    // Tests may run where signals are ignored, as in the background of a shell. `env` gives the
    // command their defaults.
    let mut env = Command::new("env");
    env.args(["-u", "WARPFOLD_DEVICE"]);
    if cfg!(target_os = "linux") {
        env.arg("--default-signal");
    }
    let mut child = env
        .arg(env!("CARGO_BIN_EXE_warpfold"))
        .args(["scan", "--dtype", "u8", "--format", "raw", "-o", "y.npy"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // The pipe holds less: the command has read most of this, and waits for more.
    stdin.write_all(&vec![1; 4 << 20]).unwrap();
    kill_process(Pid::from_child(&child), signal).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.signal(), Some(signal.as_raw()), "{output:?}");
}

#[test]
fn signals_leave_no_file() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let folder = folder(&[("y.npy", b"old")]);
        // Where files need names, nothing can be done about the last.
        if signal == Signal::KILL && !cfg!(target_os = "linux") {
            continue;
        }
        interrupted(folder.path(), signal);
        assert_eq!(names(folder.path()), [Path::new("y.npy")], "{signal:?}");
        assert_eq!(fs::read(folder.path().join("y.npy")).unwrap(), b"old");
    }
}

/// Where files cannot be without a name, a signal takes the temporary one along. Without /proc they
/// cannot.
#[cfg(target_os = "linux")]
#[test]
fn signals_remove_files_that_have_a_name() {
    let folder = folder(&[("y.npy", b"old")]);
    for signal in ["INT", "TERM", "HUP"] {
        // A shell makes its background jobs ignore SIGINT; `env` gives them back the default.
        let script = format!(
            "mount -t tmpfs tmpfs /proc || exit 77
            mkfifo in && exec 9<>in && rm in
            env --default-signal=INT $warpfold scan -o y.npy <&9 & pid=$!
            for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
                ls -A | grep -q warpfold- && break; sleep 0.1
            done
            ls -A | grep -c warpfold-
            kill -{signal} $pid; wait $pid
            kill -l $?; ls -A; cat y.npy; exit 33"
        );
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
        unshare.env("warpfold", env!("CARGO_BIN_EXE_warpfold"));
        let output = unshare.current_dir(folder.path()).output();
        match output {
            Ok(output) if output.status.code() == Some(33) => {
                let text = String::from_utf8(output.stdout).unwrap();
                assert_eq!(
                    text,
                    format!("1\n{signal}\ny.npy\nold"),
                    "{:?}",
                    output.stderr
                );
            }
            other => return eprintln!("skipped: a system without /proc: {other:?}"),
        }
    }
}

/// A limit for the size of files is an error like others.
#[test]
fn a_file_beyond_its_limit_leaves_nothing() {
    let folder = folder(&[("y.npy", b"old")]);
    let script = "ulimit -f 100; yes 1 | head -n 1000000 | $warpfold scan -o y.npy";
    let output = shell(folder.path(), script);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.starts_with("warpfold: error: y.npy: "), "{errors}");
    assert_eq!(names(folder.path()), [Path::new("y.npy")]);
    assert_eq!(fs::read(folder.path().join("y.npy")).unwrap(), b"old");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_nothing() {
    let folder = folder(&[]);
    let script = "mkdir disk && mount -t tmpfs -o size=1m tmpfs disk || exit 77
        printf old > disk/y.npy
        yes 1 | head -n 1000000 | $warpfold scan -o disk/y.npy; code=$?
        ls -A disk; cat disk/y.npy; exit $code";
    let script = format!("unshare --user --map-root-user --mount sh -c '{script}'");
    let output = shell(folder.path(), &script);
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(1) {
        return eprintln!("skipped: a disk of its own for the test: {errors}");
    }
    assert!(
        errors.starts_with("warpfold: error: disk/y.npy: "),
        "{errors}"
    );
    assert!(errors.contains("No space left"), "{errors}");
    assert_eq!(output.stdout, b"y.npy\nold");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error() {
    for line in ["scan -o /dev/full", "scan -o /dev/full --output-format npy"] {
        let error = fail_in(Path::new("."), line, b"1 2");
        assert!(error.starts_with("/dev/full: "), "{error}");
    }
}

/// Somebody who is not root, and a copy of the command that everybody may run.
fn as_nobody(folder: &Path, script: &str) -> Option<std::process::Output> {
    let copy: PathBuf = folder.join("warpfold");
    // By another process: if this one wrote it, what another test starts meanwhile would hold it
    // open for a moment, and Linux runs nothing that is open for writing.
    let mut cp = Command::new("cp");
    let copied = cp.arg(env!("CARGO_BIN_EXE_warpfold")).arg(&copy).status();
    assert!(copied.unwrap().success());
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = match is_root() {
        false => Command::new("sh"),
        true => {
            let mut setpriv = Command::new("setpriv");
            setpriv.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh"]);
            setpriv
        }
    };
    let command = command.args(["-c", script]).env("warpfold", copy);
    match command.current_dir(folder).output() {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("skipped: setpriv, to test as another user: {error}");
            None
        }
    }
}

/// A place that cannot be written to is found out before the work: here the input never ends.
#[test]
fn closed_folders_are_found_out_first() {
    let folder = folder(&[]);
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("open.txt"), b"old").unwrap();
    fs::write(folder.path().join("protected.txt"), b"old").unwrap();
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(&closed.join("open.txt"), 0o666);
    mode(&folder.path().join("protected.txt"), 0o444);
    mode(&closed, 0o555);
    let cases = [
        (
            "closed/new.txt",
            "closed/new.txt: in the folder `",
            "Permission denied",
        ),
        (
            "closed/open.txt",
            "closed/open.txt: the file is replaced",
            "> closed/open.txt",
        ),
        (
            "protected.txt",
            "protected.txt: the file is write-protected",
            "chmod +w",
        ),
    ];
    for (file, message, more) in cases {
        let script = format!("yes 1 | $warpfold scan -o {file}");
        let Some(output) = as_nobody(folder.path(), &script) else {
            return;
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(
            errors.contains(message) && errors.contains(more),
            "{errors}"
        );
    }
    // The remedy is true.
    let script = "echo 1 2 | $warpfold scan > closed/open.txt";
    let output = as_nobody(folder.path(), script).unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read(closed.join("open.txt")).unwrap(), b"1\n3\n");
    assert_eq!(names(&closed), [Path::new("open.txt")]);
    mode(&closed, 0o755);
}

#[test]
fn owner_and_mode_stay_and_setuid_goes() {
    let folder = folder(&[("y.txt", b"old")]);
    let file = folder.path().join("y.txt");
    let other = is_root();
    if other {
        std::os::unix::fs::chown(&file, Some(65534), Some(65534)).unwrap();
    } else {
        eprintln!("skipped: owners, which only root can change");
    }
    for (before, after) in [(0o640, 0o640), (0o4755, 0o755), (0o2664, 0o664)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(before)).unwrap();
        pass_in(folder.path(), "scan -o y.txt", b"1 2");
        let metadata = fs::metadata(&file).unwrap();
        assert_eq!(metadata.mode() & 0o7777, after, "{before:o}");
        if other {
            assert_eq!((metadata.uid(), metadata.gid()), (65534, 65534));
        }
    }
    assert_eq!(fs::read(&file).unwrap(), b"1\n3\n");
}

/// A group that cannot stay does not pass its rights on to another.
#[test]
fn rights_of_a_group_do_not_move_to_another() {
    let folder = folder(&[("y.txt", b"old")]);
    if !is_root() {
        return eprintln!("skipped: files of others, which only root can make");
    }
    let file = folder.path().join("y.txt");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let script = "umask 022; echo 1 | $warpfold scan -o y.txt";
    // The folder is closed again by the call, so the script is run in one that is open to all.
    let open = folder.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    fs::rename(&file, open.join("y.txt")).unwrap();
    fs::set_permissions(open.join("y.txt"), fs::Permissions::from_mode(0o662)).unwrap();
    let Some(output) = as_nobody(folder.path(), &format!("cd open; {script}")) else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let metadata = fs::metadata(open.join("y.txt")).unwrap();
    assert_eq!((metadata.uid(), metadata.mode() & 0o777), (65534, 0o622));
}

/// A file is replaced: its other names keep what they had, and a symbolic link stays one.
#[test]
fn other_names_keep_the_old_file() {
    let folder = folder(&[("y.txt", b"old")]);
    let at = |name: &str| folder.path().join(name);
    fs::hard_link(at("y.txt"), at("hard.txt")).unwrap();
    symlink("y.txt", at("soft.txt")).unwrap();
    pass_in(folder.path(), "scan -o soft.txt", b"1 2");
    assert_eq!(fs::read(at("hard.txt")).unwrap(), b"old");
    assert_eq!(fs::read(at("y.txt")).unwrap(), b"1\n3\n");
    assert!(fs::symlink_metadata(at("soft.txt")).unwrap().is_symlink());
    assert_eq!(names(folder.path()).len(), 3);
}

/// The link stays, and the file appears where it leads.
#[test]
fn links_to_nothing_yet_are_followed() {
    let folder = folder(&[("old.txt", b"1 2")]);
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("there")).unwrap();
    symlink("there/new.txt", at("link.txt")).unwrap();
    symlink("link.txt", at("chain.txt")).unwrap();
    for link in ["link.txt", "chain.txt"] {
        pass_in(folder.path(), &format!("scan old.txt -o {link}"), b"");
        assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink());
        assert_eq!(fs::read(at("there/new.txt")).unwrap(), b"1\n3\n");
        fs::remove_file(at("there/new.txt")).unwrap();
    }
    let error = fail_in(folder.path(), "scan old.txt -o nowhere/", b"");
    assert!(error.contains("give the name of a file"), "{error}");
    symlink("nowhere/new.txt", at("lost.txt")).unwrap();
    let error = fail_in(folder.path(), "scan old.txt -o lost.txt", b"");
    assert!(error.contains("there is no folder"), "{error}");
    symlink("loop.txt", at("loop.txt")).unwrap();
    fail_in(folder.path(), "scan old.txt -o loop.txt", b"");
    assert!(fs::symlink_metadata(at("loop.txt")).unwrap().is_symlink());
}

/// Counts of the numbers would take the place of the numbers.
#[test]
fn what_is_read_is_not_replaced_by_something_else() {
    let folder = folder(&[
        ("x.txt", b"1\n1\n2\n"),
        ("o.txt", b"0\n2\n3\n"),
        ("x.svg", b"1 2 3"),
    ]);
    symlink("x.txt", folder.path().join("link.txt")).unwrap();
    for line in [
        "unique x.txt --counts x.txt",
        "unique x.txt -o y.txt --starts ./x.txt",
        "unique x.txt --counts link.txt",
        "unique link.txt --counts x.txt",
        "segments --offsets o.txt x.txt -o o.txt",
        "segments --lengths x.txt o.txt -o x.txt",
        "decode --counts o.txt x.txt -o o.txt",
        "histogram --edges o.txt x.txt -o o.txt",
        "histogram --format text x.svg --svg x.svg",
        "histogram --edges x.svg --format text x.txt --svg x.svg",
    ] {
        let error = fail_in(folder.path(), line, b"");
        assert!(error.contains("this file is read"), "{line}: {error}");
    }
    let output = shell(folder.path(), "$warpfold unique --counts x.txt < x.txt");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    for script in [
        "$warpfold scan x.txt >> x.txt",
        "$warpfold stats < x.txt >> x.txt",
    ] {
        let output = shell(folder.path(), script);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("goes into the file that is read"), "{error}");
        assert_eq!(output.status.code(), Some(1), "{error}");
    }
    assert_eq!(fs::read(folder.path().join("x.txt")).unwrap(), b"1\n1\n2\n");
    assert_eq!(fs::read(folder.path().join("o.txt")).unwrap(), b"0\n2\n3\n");
    // Results may take the place of what they were made of.
    pass_in(folder.path(), "unique x.txt -o x.txt", b"");
    assert_eq!(fs::read(folder.path().join("x.txt")).unwrap(), b"1\n2\n");
}

/// The last of several results fails, after all of the others are written.
#[test]
fn several_results_come_all_or_none() {
    let folder = folder(&[
        ("x.txt", b"1\n1\n2\n"),
        ("values.txt", b"old"),
        ("counts.txt", b"old"),
    ]);
    for line in [
        "unique x.txt -o values.txt --counts counts.txt --starts /dev/full",
        "unique x.txt -o values.txt --counts /dev/full --starts counts.txt",
        "unique x.txt -o /dev/full --counts counts.txt --starts values.txt",
        "unique --sort x.txt -o values.txt --counts counts.txt --starts /dev/full",
        "histogram x.txt -o /dev/full --svg values.txt",
    ] {
        let line = line.replace("--svg values.txt", "--svg values.svg");
        fail_in(folder.path(), &line, b"");
        for name in ["values.txt", "counts.txt"] {
            assert_eq!(
                fs::read(folder.path().join(name)).unwrap(),
                b"old",
                "{line}"
            );
        }
        assert!(!folder.path().join("values.svg").exists(), "{line}");
    }
}

/// A pipe that is closed early is no error, unless something else was asked for.
#[test]
fn files_beside_a_closed_pipe_are_missed() {
    let numbers: String = (0..100_000).map(|i| format!("{i}\n")).collect();
    let folder = folder(&[("x.txt", numbers.as_bytes())]);
    let error = |line: &str| {
        let script = format!("$warpfold unique x.txt {line} | head -n 1");
        String::from_utf8(shell(folder.path(), &script).stderr).unwrap()
    };
    assert_eq!(error(""), "");
    assert!(error("--counts c.npy").contains("were not written"));
    assert!(!folder.path().join("c.npy").exists());
}

#[test]
fn two_results_need_two_files() {
    let folder = folder(&[]);
    for line in [
        "unique -o y.txt --counts y.txt",
        "unique --starts y.txt --counts ./y.txt",
    ] {
        let error = fail_in(folder.path(), line, b"1 2");
        assert!(error.contains("y.txt: two results"), "{error}");
    }
    assert!(names(folder.path()).is_empty());
}

/// The length of an array stands at its start, and is known at its end.
#[test]
fn arrays_of_unknown_length_go_anywhere() {
    let folder = folder(&[]);
    let expected = pass_in(folder.path(), "select --gt 1 --output-format npy", b"1 2 3");
    assert_eq!(
        expected,
        crate::support::npy_of("<i8", "(2,)", &[2_i64, 3].map(i64::to_le_bytes).concat())
    );
    pass_in(folder.path(), "select --gt 1 -o y.npy", b"1 2 3");
    assert_eq!(fs::read(folder.path().join("y.npy")).unwrap(), expected);
    let script = "mkfifo pipe
        echo 1 2 3 | $warpfold select --gt 1 -o pipe --output-format npy & cat pipe; wait";
    assert_eq!(shell(folder.path(), script).stdout, expected);
    assert!(run_in(folder.path(), "reduce y.npy", b"").stdout == b"5\n");
}
