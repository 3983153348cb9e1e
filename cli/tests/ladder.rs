//! `warpfold ladder`. What it finds is tested in `ladder/`.

use crate::support::{command, fail_in, folder, names, pass_in};
use std::path::Path;

/// What needs no compiler: two steps of the CPU, and no counting.
const QUICK: &str = "ladder --device cpu -n 1000 --counted 0 loop halving";

#[test]
fn the_table_shows_the_steps_that_were_asked_for() {
    let table = String::from_utf8(pass_in(Path::new("."), QUICK, b"")).unwrap();
    let names = ["loop", "halving", "two-step"];
    let shows = names.map(|name| table.lines().any(|line| line.starts_with(name)));
    assert_eq!(shows, [true, true, false], "{table}");
    assert!(table.contains("not timed: `--device cpu`"), "{table}");
}

#[test]
fn every_type_and_operator_has_a_ladder() {
    for (op, dtype) in [("max", "u8"), ("bitxor", "i64"), ("mul", "bf16")] {
        let line = format!("{QUICK} --op {op} --dtype {dtype} --json");
        let json = String::from_utf8(pass_in(Path::new("."), &line, b"")).unwrap();
        assert!(json.contains(&format!("\"operator\": \"{op}\"")), "{json}");
        assert!(
            json.contains(&format!("\"element\": \"{dtype}\"")),
            "{json}"
        );
        assert_eq!(json.matches("\"is\": \"right\"").count(), 2, "{json}");
    }
}

#[test]
fn pages_are_files_of_their_own() {
    let folder = folder(&[]);
    let line = format!("{QUICK} --html ladder.html --markdown ladder.md");
    pass_in(folder.path(), &line, b"");
    let files = names(folder.path());
    let files: Vec<_> = files.iter().map(|name| name.to_str().unwrap()).collect();
    assert_eq!(files, ["ladder", "ladder.html", "ladder.md"]);
    let page = std::fs::read_to_string(folder.path().join("ladder.html")).unwrap();
    assert!(page.contains("<article id=\"halving\">"), "{page}");
}

/// Without a C++ compiler kernels are not counted, and the rest is shown.
#[test]
fn a_missing_compiler_is_said() {
    let mut command = command();
    command.args([
        "ladder",
        "--device",
        "cpu",
        "-n",
        "1000",
        "loop",
        "tree-shared",
    ]);
    let output = command.env("CXX", "no-such-compiler").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table.contains("not counted or drawn: no C++ compiler here will do"),
        "{table}"
    );
    assert!(table.contains("remedy: install g++"), "{table}");
    let ends = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(ends("loop").ends_with("right"), "{table}");
    assert!(ends("tree-shared").ends_with("not run"), "{table}");
}

#[test]
fn what_cannot_be_run_is_said() {
    let fail = |line| fail_in(Path::new("."), line, b"");
    let message = fail("ladder --device cpu halfing");
    assert!(
        message.contains("no step `halfing`") && message.contains("halving"),
        "{message}"
    );
    let message = fail("ladder --op bitor --dtype f32");
    assert!(message.contains("not defined on f32"), "{message}");
    let message = fail("ladder --html no/such/folder/ladder.html");
    assert!(message.contains("no/such/folder"), "{message}");
}
