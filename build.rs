//! Lists the files of `templates/` and `kernels/`, so that a new one needs no line anywhere.
//! `src/render/template.rs` includes the lists.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("Cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets it"));
    println!("cargo::rerun-if-changed=build.rs");
    for (folder, ending) in [("templates", ".cu.jinja"), ("kernels", ".cuh")] {
        let mut files = Vec::new();
        collect(&root.join(folder), "", ending, &mut files)?;
        files.sort();
        let mut list = String::from("&[\n");
        for name in files {
            let path = root.join(folder).join(&name);
            writeln!(list, "    ({name:?}, include_str!({path:?})),").expect("strings take all");
        }
        list += "]\n";
        fs::write(out.join(format!("{folder}.rs")), list)?;
    }
    Ok(())
}

/// Adds the names of the files that end so, from `folder` on.
fn collect(folder: &Path, prefix: &str, ending: &str, files: &mut Vec<String>) -> io::Result<()> {
    // Cargo looks at the folder itself: a file that comes or goes changes it.
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str() else {
            continue;
        };
        let name = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            let teaches = name == "ladder" && env::var_os("CARGO_FEATURE_LADDER").is_none();
            if !teaches {
                collect(&entry.path(), &format!("{name}/"), ending, files)?;
            }
        } else if name.ends_with(ending) {
            files.push(name);
        }
    }
    Ok(())
}
