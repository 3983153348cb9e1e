//! From C++ to a program that runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Contraction is off, as it is in kernels; the sanitizer stops at what C++ does not define.
const OPTIONS: &[&str] = &[
    "-std=c++20",
    "-O1",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fsanitize=undefined",
    "-fno-sanitize-recover=all",
    "-w",
];

/// A C++ compiler, and a folder for what it compiles.
#[derive(Debug)]
pub(crate) struct Compiler {
    name: String,
    version: String,
    folder: PathBuf,
}

impl Compiler {
    /// The compiler of `$CXX`, or else the first that will do; the error says what each lacks.
    pub(crate) fn find(folder: &Path) -> Result<Compiler, String> {
        let named = std::env::var("CXX");
        let candidates = named
            .as_ref()
            .map_or(vec!["g++", "clang++", "c++"], |name| vec![name.as_str()]);
        let mut failures = Vec::new();
        for name in candidates {
            match Compiler::new(name, folder) {
                Ok(compiler) => return Ok(compiler),
                Err(why) => failures.push(format!("{name}: {why}")),
            }
        }
        Err(format!(
            "no C++ compiler with the undefined behaviour sanitizer will do: {}",
            failures.join("; ")
        ))
    }

    fn new(name: &str, folder: &Path) -> Result<Compiler, String> {
        let output = Command::new(name)
            .arg("--version")
            .output()
            .map_err(|error| error.to_string())?;
        let version = String::from_utf8_lossy(&output.stdout)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let compiler = Compiler {
            name: name.to_owned(),
            version,
            folder: folder.to_owned(),
        };
        let probe =
            "int main() { return [](auto... x) requires(sizeof...(x) == 0) { return 0; }(); }\n";
        compiler.compile("probe", probe)?;
        Ok(compiler)
    }

    /// Where the source of that name is.
    pub(crate) fn source(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.cpp"))
    }

    /// Compiles and links `text`, unless that has been done before.
    pub(crate) fn compile(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let text = format!("// {} {OPTIONS:?}\n{text}", self.version);
        let (source, result) = (self.source(name), self.folder.join(name));
        if fs::read_to_string(&source).is_ok_and(|known| known == text) && result.exists() {
            return Ok(result);
        }
        let _ = fs::remove_file(&result);
        fs::write(&source, text).map_err(|error| error.to_string())?;
        let output = Command::new(&self.name)
            .args(OPTIONS)
            .arg(&source)
            .arg("-o")
            .arg(&result)
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(result);
        }
        let messages = String::from_utf8_lossy(&output.stderr);
        let errors: Vec<_> = messages
            .lines()
            .filter(|line| line.contains("error"))
            .take(10)
            .collect();
        Err(format!("{}:\n{}", source.display(), errors.join("\n")))
    }
}
