//! A compiler that will not do is named, with what it lacks and what to do; a required emulator
//! that is not there is a failure, any other a skip.

use crate::emulator::Toolchain;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// Why none of the compilers will do.
fn failure(compilers: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    warpfold_emulator::Toolchain::find(compilers, folder.path()).unwrap_err()
}

#[test]
fn no_compiler() {
    let message = failure(&["/no/such/compiler", "no-such-compiler-either"]);
    for words in [
        "no C++ compiler here will do:\n  /no/such/compiler: it cannot be started: ",
        "\n  no-such-compiler-either: it cannot be started: ",
        "\n  remedy: install g++ 11 or clang++ 16",
    ] {
        assert!(message.contains(words), "{message}");
    }
}

/// A program that is a compiler as far as the shell commands `body` go.
///
/// Another process writes it. If this one did, what another test starts meanwhile would hold it
/// open for a moment, and Linux runs nothing that is open for writing ("Text file busy").
#[cfg(unix)]
fn pretended_compiler(body: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c++");
    let written = Command::new("sh")
        .args([
            "-c",
            r#"printf '#!/bin/sh\n%s\n' "$1" >"$0" && chmod +x "$0""#,
        ])
        .arg(&path)
        .arg(body)
        .status();
    assert!(written.unwrap().success());
    (folder, path)
}

#[cfg(unix)]
#[test]
fn a_pretended_compiler_starts_while_other_threads_start_programs() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    Command::new("true").status().unwrap();
                }
            });
        }
        let starts = (0..100).map(|_| {
            let (_folder, path) = pretended_compiler("exit 3");
            Command::new(path).status().map(|status| status.code())
        });
        let starts: Vec<_> = starts.collect();
        done.store(true, Ordering::Relaxed);
        for start in starts {
            assert_eq!(start.unwrap(), Some(3));
        }
    });
}

#[cfg(unix)]
#[test]
fn a_compiler_that_is_too_old() {
    let (_folder, path) = pretended_compiler(
        "case \"$*\" in
            *--version*) echo 'c++ (Antique) 7.5.0' ;;
            *-std=c++20*) echo \"c++: error: unrecognized command line option '-std=c++20'\" >&2; exit 1 ;;
        esac",
    );
    let message = failure(&[path.to_str().unwrap()]);
    assert!(
        message.contains(
            "it is too old for C++20: c++: error: unrecognized command line option '-std=c++20'"
        ),
        "{message}"
    );
}

#[cfg(unix)]
#[test]
fn a_compiler_without_its_sanitizers() {
    let Some(real) = Toolchain::get() else {
        return;
    };
    let (_folder, path) = pretended_compiler(&format!(
        "case \"$*\" in *-rdynamic*) echo '/usr/bin/ld: error: cannot find libubsan.so' >&2; exit 1 ;; esac
        exec {} \"$@\"",
        real.compiler()
    ));
    let message = failure(&[path.to_str().unwrap()]);
    assert!(
        message.contains("the undefined behaviour sanitizer (a package such as libubsan")
            && message.contains("cannot find libubsan.so"),
        "{message}"
    );
}

/// This test binary, asked for a test that needs a compiler, where there is none.
fn run_without_compiler(required: &str) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "planted_faults::places_are_those_of_the_kernel"])
        .arg("--nocapture")
        .env("CXX", "/no/such/compiler")
        .env("WARPFOLD_REQUIRE", required);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn a_missing_emulator_is_a_skip_unless_it_is_required() {
    let (passed, text) = run_without_compiler("");
    assert!(passed, "{text}");
    let skipped = "skipped (emulator): no C++ compiler here will do:\n  /no/such/compiler: it cannot be started";
    assert!(text.contains(skipped), "{text}");

    let (passed, text) = run_without_compiler("nvrtc, emulator");
    assert!(!passed, "{text}");
    let failed = "WARPFOLD_REQUIRE names emulator, but no C++ compiler here will do";
    assert!(text.contains(failed), "{text}");
}
