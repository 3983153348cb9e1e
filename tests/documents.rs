//! What comments and documents say of files.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders of the repository.
const FOLDERS: &[&str] = &[
    "benches",
    "candle",
    "cli",
    "docs",
    "emulator",
    "examples",
    "findings",
    "kernels",
    "ladder",
    "macros",
    "python",
    "scripts",
    "src",
    "templates",
    "tests",
];

/// What is written in them.
const ENDINGS: &[&str] = &["md", "rs", "cuh", "cu", "jinja", "hpp", "cpp", "py", "sh"];

/// A path within backticks that names a file is one that is there: below the root, or beside the
/// file that names it.
#[test]
fn files_that_are_named_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            texts.push(path);
        }
    }
    for folder in FOLDERS {
        collect(&root.join(folder), &mut texts);
    }
    let (mut named, mut missing) = (0, Vec::new());
    for file in texts {
        // Scripts have no ending.
        let is_text = match file.extension() {
            Some(ending) => ENDINGS.iter().any(|known| ending == *known),
            None => file.starts_with(root.join("scripts")),
        };
        // What stood in the repository on a day.
        let is_history = file.starts_with(root.join("docs/notebook"));
        if is_history || !is_text {
            continue;
        }
        let text = String::from_utf8(fs::read(&file).unwrap()).unwrap();
        for path in paths(&text) {
            named += 1;
            let places = file
                .ancestors()
                .skip(1)
                .take_while(|place| place.starts_with(root));
            let mut places = places.map(|place| place.join(path));
            if !places.any(|place| place.exists()) {
                let file = file.strip_prefix(root).unwrap();
                missing.push(format!("{}: {path}", file.display()));
            }
        }
    }
    assert!(named > 200, "{named} paths");
    assert!(missing.is_empty(), "no such files: {missing:#?}");
}

fn collect(folder: &Path, texts: &mut Vec<PathBuf>) {
    let built = ["target", "node_modules", "__pycache__"];
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_file() {
            texts.push(path);
        } else if !built.iter().any(|name| path.ends_with(name)) {
            collect(&path, texts);
        }
    }
}

/// What stands between backticks and begins with a folder of the repository. `NAME` and `XX` stand
/// for what a reader puts there.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    text.split('`').skip(1).filter(move |path| {
        let folder = path.split_once('/').map(|(folder, _)| folder);
        folder.is_some_and(|folder| FOLDERS.contains(&folder))
            && path.chars().all(is_of_path)
            && !path.contains("NAME")
            && !path.contains("XX")
    })
}
