//! The rooms of `src/` stand in an order: each knows those below it, and none above. Rooms of
//! primitives know only those that they are built from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// From the lowest to the highest. Those of one line are one room.
const ROOMS: &[&[&str]] = &[
    // The vocabulary.
    &[
        "error",
        "definitions",
        "translated",
        "element",
        "function",
        "monoid",
        "scalar",
        "ops",
    ],
    &["math"],
    &["cpu"],
    &["carry"],
    &["source"],
    &["operator"],
    &["engine"],
    &["render"],
    &["cuda"],
    &["device"],
    &["primitives"],
    &["statistics", "testing", "ladder"],
    &["shards"],
];

/// The files that show the rooms to users, and that no room may use.
const DOORS: &[&str] = &["lib.rs", "codegen.rs", "cuda.rs"];

/// A path that a file names, from the crate's root on, such as `cuda::launch`.
type Named = BTreeSet<String>;

#[test]
fn rooms_know_only_what_lies_below() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let shown = shown_at_the_root(&root);
    let behind_cuda = primitives_behind(&root.join("cuda.rs"));
    let level = |room: &str| ROOMS.iter().position(|rooms| rooms.contains(&room));
    let mut faults = Vec::new();
    let mut between: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in files(&root) {
        if DOORS.contains(&file.as_str()) {
            continue;
        }
        let room = file.split(['/', '.']).next().unwrap();
        let Some(own) = level(room) else {
            faults.push(format!("{file}: `{room}` has no place in the order"));
            continue;
        };
        for path in named(&file, &text) {
            let path = shown.get(&path).cloned().unwrap_or(path);
            let mut parts = path.split("::");
            let (first, second) = (parts.next().unwrap(), parts.next());
            let is_behind =
                first == "cuda" && second.is_some_and(|name| behind_cuda.contains(name));
            let other = if is_behind { "primitives" } else { first };
            if other == "codegen" {
                faults.push(format!("{file} uses the door `{path}`"));
            }
            // Macros, `Result` and the like have no room.
            if level(other).is_some_and(|other| other > own) {
                faults.push(format!("{file} knows `{path}`, which lies above it"));
            }
            if let ("primitives", "primitives", Some(other)) = (room, other, second)
                && let Some((own, _)) = file["primitives/".len()..].split_once('/')
                && own != other
            {
                let others = between.entry(own.to_owned()).or_default();
                others.insert(other.to_owned());
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_no_circle(&between);
}

/// An order of all rooms takes away, again and again, those that know none of the rest.
fn assert_no_circle(between: &BTreeMap<String, BTreeSet<String>>) {
    let mut rest = between.clone();
    loop {
        let knowing: BTreeSet<_> = rest.keys().cloned().collect();
        let before = rest.len();
        rest.retain(|_, others| others.iter().any(|other| knowing.contains(other)));
        if rest.len() == before {
            break;
        }
    }
    assert!(
        rest.is_empty(),
        "these know each other in a circle: {rest:?}"
    );
}

/// All sources below a folder, without their comments and tests.
fn files(root: &Path) -> Vec<(String, String)> {
    let (mut all, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            let name = name.replace('\\', "/");
            if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                all.push((name, code(&fs::read_to_string(&path).unwrap())));
            }
        }
    }
    assert!(all.len() > 100, "{} files", all.len());
    all
}

/// A source without comments, and without its tests, which end it.
fn code(text: &str) -> String {
    let text = text.replace("#[cfg(test)]\nmod tests;\n", "");
    let tests = ["\n#[cfg(test)]\nmod ", "\n#[cfg(all(test,"].map(|start| text.find(start));
    let end = tests.into_iter().flatten().min().unwrap_or(text.len());
    let is_comment = |line: &&str| {
        ["//", "doc = "]
            .iter()
            .any(|c| line.trim_start().starts_with(c))
    };
    let lines = text[..end].lines().filter(|line| !is_comment(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// What a source names of the crate: after `crate::`, and in the room behind a door after
/// `super::`.
fn named(file: &str, code: &str) -> Named {
    let mut all = Named::new();
    let is_behind_a_door = file.starts_with("cuda/");
    for (start, prefix) in [("crate::", ""), ("super::", "cuda::")] {
        if start == "super::" && !is_behind_a_door {
            continue;
        }
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || "_$:".contains(c)) {
                continue;
            }
            for path in paths(&code[at + start.len()..]) {
                all.insert(format!("{prefix}{path}"));
            }
        }
    }
    all
}

/// The first two names of a path, or of each path in braces.
fn paths(text: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        let is_of_name = |c: &char| c.is_alphanumeric() || *c == '_';
        text.chars().take_while(is_of_name).collect()
    };
    let Some(group) = text.strip_prefix('{') else {
        let first = name(text);
        let rest = &text[first.len()..];
        return match rest.strip_prefix("::") {
            Some(rest) if rest.starts_with('{') => {
                let seconds = paths(rest).into_iter();
                seconds
                    .map(|second| format!("{first}::{}", name(&second)))
                    .collect()
            }
            Some(rest) if !name(rest).is_empty() => vec![format!("{first}::{}", name(rest))],
            _ => vec![first],
        };
    };
    let (mut all, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let path = group[start..at].trim();
                if !path.is_empty() {
                    all.extend(paths(path));
                }
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    all
}

/// Where the names come from that the crate shows at its root.
fn shown_at_the_root(root: &Path) -> BTreeMap<String, String> {
    let code = code(&fs::read_to_string(root.join("lib.rs")).unwrap());
    let mut shown = BTreeMap::new();
    for statement in code.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap();
        let Some((room, names)) = statement.rsplit_once("::") else {
            continue;
        };
        for name in names.trim_matches(['{', '}']).split(',') {
            let name = name.trim();
            shown
                .entry(name.to_owned())
                .or_insert_with(|| format!("{room}::{name}"));
        }
    }
    assert!(shown["Element"] == "element::Element" && shown.len() > 50);
    shown
}

/// The names of primitives that a door shows.
fn primitives_behind(door: &Path) -> BTreeSet<String> {
    let code = code(&fs::read_to_string(door).unwrap());
    let statements = code.split("pub use crate::primitives::").skip(1);
    let names = statements.flat_map(|statement| {
        let statement = statement.split(';').next().unwrap();
        let names = statement
            .rsplit("::")
            .next()
            .unwrap()
            .trim_matches(['{', '}']);
        names.split(',').map(|name| name.trim().to_owned())
    });
    let names: BTreeSet<_> = names.collect();
    assert!(names.contains("Scan") && names.contains("Reduce"));
    names
}

#[test]
fn paths_are_read_as_rust_reads_them() {
    let read = |file: &str, text: &str| Vec::from_iter(named(file, text));
    assert_eq!(
        read(
            "a/b.rs",
            "use crate::{Element, cuda::{Scan, launch::launch}};"
        ),
        ["Element", "cuda::Scan", "cuda::launch"]
    );
    assert_eq!(read("a/b.rs", "crate::cpu::tree::fold(x)"), ["cpu::tree"]);
    assert_eq!(read("a/b.rs", "$crate::cuda::x(super::y)"), [""; 0]);
    assert_eq!(
        read("cuda/b.rs", "use super::{Scan, gpu::Gpu};"),
        ["cuda::Scan", "cuda::gpu::Gpu"]
    );
}

/// Files of numbers that only speed depends on.
#[test]
fn tables_say_what_they_were_measured_by() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_day = |word: &&str| word.len() == 10 && word.starts_with("20") && word.contains('-');
    // `bytes: 64` and `= 64`.
    let is_number = |line: &str| {
        let values = line.split(": ").chain(line.split("= ")).skip(1);
        let mut values = values.filter(|value| *value != line);
        values.any(|value| value.starts_with(|c: char| c.is_ascii_digit()))
    };
    let (mut tables, mut faults) = (0, Vec::new());
    for (file, code) in files(&root.join("src")) {
        if !file.contains("tuning") || !code.lines().any(is_number) {
            continue;
        }
        tables += 1;
        let text = fs::read_to_string(root.join("src").join(&file)).unwrap();
        let measured = text.split_once("Measured: ").map(|(_, rest)| rest);
        let day = measured.and_then(|rest| rest.split([' ', ',', '.']).find(is_day));
        let notebook = day.map(|day| root.join(format!("docs/notebook/{day}.md")));
        if !notebook.is_some_and(|notebook| notebook.exists()) {
            faults.push(file);
        }
    }
    assert!(tables >= 15, "{tables} tables");
    assert!(faults.is_empty(), "no card and day: {faults:?}");
}

/// Where comments lie beside what they are about, and move with it.
const COMMENTED: &[&str] = &[
    "src",
    "kernels",
    "templates",
    "macros",
    "emulator",
    "tests",
    "cli",
    "benches",
    "python",
    "candle",
    "ladder",
    "examples",
    "findings",
    "scripts",
];

/// Whether a file is a source in which comments are looked at.
fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|end| {
        [
            "rs", "cuh", "cu", "cpp", "hpp", "h", "jinja", "py", "pyi", "sh",
        ]
        .contains(&end.to_str().unwrap())
    })
}

/// Whether a folder holds what tools made: outputs of builds, caches, an environment of Python.
fn is_made(folder: &Path) -> bool {
    let name = folder.file_name().unwrap().to_str().unwrap();
    name.starts_with('.') || ["target", "__pycache__"].contains(&name)
}

/// Whether a line of a source begins a comment with a look back at the one before.
fn looks_back(line: &str) -> bool {
    const MARKS: [&str; 5] = ["//", "{#", "#", "/*", "\"\"\""];
    let line = line.trim_start();
    let comment = MARKS.iter().find_map(|mark| line.strip_prefix(mark));
    comment.is_some_and(|comment| {
        let text = comment.trim_start_matches(['/', '!', '-', '*', ' ']);
        text.starts_with("The same")
    })
}

/// Whoever jumps to an item reads its comment alone, and items move.
#[test]
fn comments_stand_by_themselves() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<_> = COMMENTED.iter().map(|folder| root.join(folder)).collect();
    let (mut read, mut faults) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.extend((!is_made(&path)).then_some(path));
            } else if is_source(&path) {
                read += 1;
                let text = fs::read_to_string(&path).unwrap();
                let lines = text.lines().zip(1..).filter(|(line, _)| looks_back(line));
                let path = path.strip_prefix(root).unwrap().display();
                faults.extend(lines.map(|(line, number)| format!("{path}:{number}: {line}")));
            }
        }
    }
    assert!(read > 900, "{read} sources");
    assert!(
        faults.is_empty(),
        "no comment begins with \"The same\": it says what this is, or in what it differs from a \
         thing that it names (\"Rows in reverse.\", \"`split` by a whole warp.\")\n{}",
        faults.join("\n")
    );
}

#[test]
fn comments_that_look_back_are_told() {
    for line in [
        "/// The same, backwards.",
        "    //! The same for floats.",
        "// The same",
        "    /// // The same in an example.",
        "{#- The same in a template. #}",
        "    # The same in Python.",
        "    \"\"\"The same of columns.\"\"\"",
        "/* The same. */",
    ] {
        assert!(looks_back(line), "{line}");
    }
    for line in [
        "/// Rows, which are the same.",
        "let text = \"// The same\";",
        "\"The same call, once more.\"",
        "/// So is that. The same holds here.",
    ] {
        assert!(!looks_back(line), "{line}");
    }
}

/// A room with kernels has its numbers in a file of its own, `tuning.rs` or `tuning/mod.rs`, unless
/// candidates take those of the engines.
#[test]
fn rooms_with_kernels_have_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let all: BTreeMap<_, _> = files(&root).into_iter().collect();
    let rooms = all.keys().filter(|file| file.starts_with("primitives/"));
    let rooms = rooms.filter_map(|file| file.strip_suffix("/kernel.rs"));
    let (mut tables, mut missing) = (0, Vec::new());
    for room in rooms {
        let has = |file: &str| all.contains_key(&format!("{room}/{file}"));
        match has("tuning.rs") || has("tuning/mod.rs") {
            true => tables += 1,
            false if has("candidates.rs") => {}
            false => missing.push(room),
        }
    }
    assert!(tables >= 11, "{tables} rooms");
    assert!(missing.is_empty(), "no tables: {missing:?}");
}

/// Numbers of kernels and plans on which more than speed depends.
const FORCED: &[(&str, &str)] = &[
    // Half of what a counter of 16 bits holds.
    ("histogram/plan.rs", "LOG_FULL"),
    // Sizes of structs of the kernels.
    ("segmented/kernel.rs", "LONG_SEGMENT"),
    ("top/kernel.rs", "STATE_BYTES"),
    // The shared memory that any block may have, less what the engine needs.
    ("select/kernel.rs", "ROOM_BYTES"),
    // A digit is a byte.
    ("sort/kernel.rs", "DIGITS"),
];

/// Other numbers are in tables: kernels and plans have no constants of their own, and choose none
/// by the size of an element.
#[test]
fn kernels_and_plans_have_no_numbers_of_their_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/primitives");
    let is_number = |text: &str| text.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let constant = |line: &str| {
        let (_, rest) = line.split_once("const ")?;
        let (name, value) = rest.split_once(": ")?;
        let (_, value) = value.split_once("= ")?;
        is_number(value.trim_start_matches('[')).then(|| name.to_owned())
    };
    let (mut forced, mut faults) = (BTreeSet::new(), Vec::new());
    for (file, code) in files(&root) {
        if !["kernel.rs", "plan.rs"].contains(&file.rsplit('/').next().unwrap()) {
            continue;
        }
        for line in code.lines() {
            if let Some(name) = constant(line) {
                let known = FORCED.iter().position(|one| *one == (&file, &name));
                match known {
                    Some(number) => drop(forced.insert(number)),
                    None => faults.push(format!("{file}: {name}")),
                }
            }
            // `0..=4 => …`
            let range = line.split_once("..=").filter(|(from, _)| is_number(from));
            if range.is_some_and(|(_, to)| is_number(to) && to.contains("=>")) {
                faults.push(format!("{file}: {}", line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(forced.len(), FORCED.len(), "some are no more");
}
