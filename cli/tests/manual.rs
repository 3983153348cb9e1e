//! What the command says about itself: pages of the manual, and completions.

use crate::support::{command, fail_in, pass};
use std::path::Path;

const COMMANDS: [&str; 13] = [
    "reduce",
    "scan",
    "select",
    "sort",
    "top",
    "unique",
    "stats",
    "histogram",
    "completions",
    "man",
    "devices",
    "source",
    "explain",
];

#[test]
fn every_command_has_a_page() {
    let page = pass("man", "");
    for name in COMMANDS {
        assert!(page.contains(&format!("warpfold\\-{name}(1)")), "{name}");
        let page = pass(&format!("man {name}"), "");
        assert!(page.contains(&format!(".TH warpfold-{name} 1")), "{page}");
        assert!(page.contains("OPTIONS"), "{name}");
    }
    let page = pass("man scan", "");
    assert!(
        page.contains("\\-\\-exclusive") && page.contains("numpy.cumsum"),
        "{page}"
    );
    let error = fail_in(Path::new("."), "man fold", b"");
    assert!(
        error.contains("there is no command `fold`") && error.contains("scan"),
        "{error}"
    );
}

#[test]
fn shells_complete_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = pass(&format!("completions {shell}"), "");
        for name in COMMANDS.iter().chain(&["accumulate", "float32"][..1]) {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
}

/// The script is one that a shell takes.
#[test]
#[cfg(unix)]
fn bash_takes_its_completions() {
    let script = pass("completions bash", "").replace(' ', "\n");
    assert!(!script.is_empty());
    let warpfold = env!("CARGO_BIN_EXE_warpfold");
    let line = format!("source <({warpfold} completions bash) && complete -p warpfold");
    match std::process::Command::new("bash")
        .args(["-c", &line])
        .output()
    {
        Err(error) => eprintln!("skipped: bash: {error}"),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success() && text.contains("_warpfold"),
                "{output:?}"
            );
        }
    }
}

#[test]
fn the_help_names_the_other_names() {
    let help = command().args(["reduce", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for name in [
        "`sum`",
        "`prod`",
        "`xor`",
        "`float32`",
        "`uint8`",
        "`double`",
    ] {
        assert!(help.contains(name), "{name}: {help}");
    }
}
