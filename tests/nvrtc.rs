//! Which NVRTC is loaded, what is refused, and that the caller's locale stays: with libraries that
//! a C compiler makes, which pass for NVRTC of any release.

#[path = "support/skips.rs"]
mod skips;

use skips::skip;
use std::path::{Path, PathBuf};
use std::process::Command;
use warpfold::cuda::nvrtc::{Target, compile, file, release, version};

/// As much of NVRTC as is called. Like the real one of CUDA 12.0, it leaves the thread that it
/// compiles in, and the process's numbers, in the C locale.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <locale.h>
#include <stdlib.h>
#include <string.h>
static const char ptx[] = "//\n// Cuda compilation tools, release 0.0, V" RELEASE "\n";
int nvrtcVersion(int* major, int* minor) { *major = MAJOR; *minor = MINOR; return 0; }
const char* nvrtcGetErrorString(int status) { return "NVRTC_ERROR"; }
int nvrtcGetNumSupportedArchs(int* count) { *count = 1; return 0; }
int nvrtcGetSupportedArchs(int* all) { *all = 75; return 0; }
int nvrtcCreateProgram(void** program, const char* text, const char* name, int headers,
                       const char* const* texts, const char* const* names) {
    *program = malloc(1);
    return 0;
}
int nvrtcCompileProgram(void* program, int count, const char* const* options) {
    uselocale(newlocale(LC_ALL_MASK, "C", 0));
    setlocale(LC_NUMERIC, "C");
    return 0;
}
int nvrtcDestroyProgram(void** program) { free(*program); return 0; }
int nvrtcGetProgramLogSize(void* program, size_t* size) { *size = 1; return 0; }
int nvrtcGetProgramLog(void* program, char* log) { *log = 0; return 0; }
int nvrtcGetPTXSize(void* program, size_t* size) { *size = sizeof ptx; return 0; }
int nvrtcGetPTX(void* program, char* to) { memcpy(to, ptx, sizeof ptx); return 0; }
#ifndef WITHOUT_CUBIN
int nvrtcGetCUBINSize(void* program, size_t* size) { *size = 0; return 0; }
int nvrtcGetCUBIN(void* program, char* to) { return 0; }
#endif
"#;

/// A folder of libraries.
struct Folder(tempfile::TempDir);

impl Folder {
    /// `None` after reporting a skip, if there is no compiler.
    fn new() -> Option<Folder> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        if let Err(error) = Command::new("cc").arg("--version").output() {
            skip("emulator", &format!("cc cannot be started: {error}"));
            return None;
        }
        Some(Folder(tempfile::tempdir().unwrap()))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes a library of a release, such as 12.4.1.
    fn library(&self, name: &str, release: &str, more: &[&str]) -> PathBuf {
        let mut parts = release.split('.');
        let mut part = |name: &str| format!("-D{name}={}", parts.next().unwrap());
        let (source, path) = (self.at("nvrtc.c"), self.at(name));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&source, LIBRARY).unwrap();
        let status = Command::new("cc")
            .args([
                part("MAJOR"),
                part("MINOR"),
                format!("-DRELEASE=\"{release}\""),
            ])
            .args(more)
            .args(["-shared", "-fPIC", "-o"])
            .args([&path, &source])
            .status();
        assert!(status.unwrap().success());
        path
    }
}

/// Says which NVRTC a process loads.
#[test]
#[ignore = "is called by other tests"]
fn report_the_library() {
    match file().and_then(|file| Ok((file, version()?, release()?))) {
        Ok((file, version, release)) => {
            println!("[{} {version:?} {release}]", file.display());
        }
        Err(error) => println!("[{error}]"),
    }
}

/// What a process of its own loads, with this folder first in the loader's path.
fn loads(folder: &Path, named: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["report_the_library", "--exact"]);
    command.args(["--include-ignored", "--nocapture"]);
    command
        .env("LD_LIBRARY_PATH", folder)
        .env("WARPFOLD_NVRTC", named);
    let output = command.output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_newest_major_version_in_the_path_is_loaded() {
    let Some(folder) = Folder::new() else { return };
    let place = folder.0.path().canonicalize().unwrap();
    let expect = |name: &str, release: &str| {
        let text = loads(&place, "");
        let line = format!("[{} ", place.join(name).display());
        assert!(
            text.contains(&line) && text.contains(&format!(" {release}]")),
            "{text}"
        );
    };
    // Of the system's own folders nothing may be newer: 15 is the newest that is looked for.
    folder.library("libnvrtc.so", "15.1.2", &[]);
    folder.library("libnvrtc.so.12", "12.0.140", &[]);
    folder.library("libnvrtc.so.15", "15.0.3", &[]);
    expect("libnvrtc.so.15", "15.0.3");
    // One that does not work stands in nobody's way.
    folder.library("libnvrtc.so.15", "11.8.89", &[]);
    folder.library("libnvrtc.so.14", "14.2.86", &[]);
    expect("libnvrtc.so.14", "14.2.86");
}

#[test]
fn the_variable_names_a_file_a_folder_or_a_name() {
    let Some(folder) = Folder::new() else { return };
    let place = folder.0.path().canonicalize().unwrap();
    folder.library("libnvrtc.so.15", "15.0.3", &[]);
    let other = folder.library("other/libnvrtc.so.12", "12.0.140", &[]);
    let other = place.join(other.strip_prefix(folder.0.path()).unwrap());
    let expected = format!("[{} (12, 0) 12.0.140]", other.display());
    for named in [&other, other.parent().unwrap()] {
        let text = loads(&place, named.to_str().unwrap());
        assert!(text.contains(&expected), "{text}");
    }
    let text = loads(other.parent().unwrap(), "libnvrtc.so.12");
    assert!(text.contains(&expected), "{text}");
    // And no other takes its place.
    for (named, why) in [
        (
            place.join("none.so"),
            "none.so: cannot open shared object file",
        ),
        (place.join("other/.."), "15.0.3"),
        (place.join("nvrtc.c"), "nvrtc.c: "),
        (place.join("empty"), "it holds no file of that name"),
    ] {
        std::fs::create_dir_all(place.join("empty")).unwrap();
        let text = loads(&place, named.to_str().unwrap());
        assert!(text.contains(why), "{text}");
        let named = format!("WARPFOLD_NVRTC is {}: ", named.display());
        assert!(why == "15.0.3" || text.contains(&named), "{text}");
    }
}

#[test]
fn what_is_too_old_is_refused_with_its_file_its_version_and_a_remedy() {
    let Some(folder) = Folder::new() else { return };
    let old = folder.library("old.so", "11.8.89", &[]);
    let text = loads(folder.0.path(), old.to_str().unwrap());
    let old = old.canonicalize().unwrap();
    let words = format!(
        "{} is of CUDA 11.8, and kernels need 12.0 or later",
        old.display()
    );
    assert!(text.contains(&words), "{text}");
    assert!(
        text.contains("remedy: let WARPFOLD_NVRTC name NVRTC's library of CUDA 12"),
        "{text}"
    );

    let older = folder.library("older.so", "12.0.0", &["-DWITHOUT_CUBIN"]);
    let text = loads(folder.0.path(), older.to_str().unwrap());
    assert!(
        text.contains("older.so has no function nvrtcGetCUBINSize"),
        "{text}"
    );
}

/// Compiles in this thread, as a program with a locale does.
#[test]
#[ignore = "is called by the next test"]
fn report_the_locale() {
    unsafe extern "C" {
        fn setlocale(category: i32, name: *const std::ffi::c_char) -> *const std::ffi::c_char;
        fn uselocale(locale: usize) -> usize;
    }
    const LC_NUMERIC: i32 = 1;
    let numbers = || {
        // SAFETY: it asks, and gives a string that stands until the locale is set again.
        let name = unsafe { std::ffi::CStr::from_ptr(setlocale(LC_NUMERIC, std::ptr::null())) };
        name.to_owned()
    };
    // SAFETY: no other thread of this process asks for a locale.
    let set = unsafe { setlocale(LC_NUMERIC, c"C.UTF-8".as_ptr()) };
    assert!(!set.is_null(), "every system has C.UTF-8");
    // SAFETY: 0 asks for the thread's locale.
    let before = (numbers(), unsafe { uselocale(0) });
    let compile = || compile("", "nothing", Target::Ptx(75)).map(drop);
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..8).map(|_| scope.spawn(compile)).collect();
        others
            .into_iter()
            .for_each(|other| other.join().unwrap().unwrap());
    });
    compile().unwrap();
    // SAFETY: as before.
    let after = (numbers(), unsafe { uselocale(0) });
    println!("[locale {}]", before == after);
}

#[test]
fn compiling_leaves_the_locale_of_the_thread_and_of_the_process() {
    let Some(folder) = Folder::new() else { return };
    let library = folder.library("libnvrtc.so.12", "12.0.140", &[]);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["report_the_locale", "--exact"]);
    command.args(["--include-ignored", "--nocapture"]);
    let output = command.env("WARPFOLD_NVRTC", library).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("[locale true]"), "{text}");
}
