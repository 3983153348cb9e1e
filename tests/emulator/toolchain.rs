//! From C++ to a program that runs: the compiler, the emulator, and the modules of kernels that it loads.

use crate::support::skip;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const HEADER: &str = include_str!("emulator.hpp");
const PROGRAM: &str = include_str!("emulator.cpp");

/// Float contraction is off as with `--fmad=false`; kernels move elements as words, so that aliasing
/// is not a question of types.
const OPTIONS: &[&str] = &[
    "-std=c++20",
    "-O1",
    "-g",
    "-fPIC",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-Wno-unknown-pragmas",
];

/// A C++ compiler whose programs run under the sanitizers here, and the emulator compiled with it.
pub(crate) struct Emulator {
    compiler: String,
    version: String,
    program: PathBuf,
}

impl Emulator {
    /// The emulator, or `None` after reporting the skip.
    pub(crate) fn get() -> Option<&'static Emulator> {
        static EMULATOR: OnceLock<Result<Emulator, String>> = OnceLock::new();
        match EMULATOR.get_or_init(Emulator::find) {
            Ok(emulator) => Some(emulator),
            Err(why) => {
                skip("emulator", why);
                None
            }
        }
    }

    fn find() -> Result<Emulator, String> {
        let named = std::env::var("CXX").ok();
        let mut candidates = named
            .iter()
            .map(String::as_str)
            .chain(["g++", "clang++", "c++"]);
        let (compiler, version) = candidates
            .find_map(|name| {
                let output = Command::new(name).arg("--version").output().ok()?;
                let version = String::from_utf8_lossy(&output.stdout)
                    .lines()
                    .next()?
                    .to_owned();
                output.status.success().then(|| (name.to_owned(), version))
            })
            .ok_or("there is no C++ compiler: neither $CXX, g++, clang++ nor c++")?;
        let mut emulator = Emulator {
            compiler,
            version,
            program: PathBuf::new(),
        };

        let probe = emulator.compile("probe", "int main() {}\n", &[]);
        let runs = probe.and_then(|probe| {
            let status = Command::new(probe)
                .status()
                .map_err(|error| error.to_string())?;
            status.success().then_some(()).ok_or(status.to_string())
        });
        runs.map_err(|why| {
            format!(
                "a program that {} compiles with sanitizers does not run: {why}",
                emulator.compiler
            )
        })?;

        let program = emulator.compile("emulator", PROGRAM, &["-rdynamic", "-ldl"]);
        emulator.program = program.unwrap_or_else(|message| panic!("{message}"));
        Ok(emulator)
    }

    /// Compiles `text` unless that has been done before; returns what it became.
    fn compile(&self, name: &str, text: &str, options: &[&str]) -> Result<PathBuf, String> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulator");
        fs::create_dir_all(&folder).expect("cargo's folder for tests can be written");
        let text = text.replace(
            "#include \"emulator.hpp\"",
            &format!("#line 1 \"emulator.hpp\"\n{HEADER}"),
        );
        let text = format!(
            "// {} {OPTIONS:?} {options:?}\n#line 1 \"{name}.cpp\"\n{text}",
            self.version
        );
        let source = folder.join(format!("{name}.cpp"));
        let output = folder.join(format!("{name}.out"));
        if fs::read_to_string(&source).is_ok_and(|known| known == text) && output.exists() {
            return Ok(output);
        }

        // Only what was compiled to the end gets the name that is looked for.
        let unfinished = folder.join(format!("{name}.{}.tmp", std::process::id()));
        let _ = fs::remove_file(&output);
        fs::write(&source, text).expect("cargo's folder for tests can be written");
        let mut command = Command::new(&self.compiler);
        command
            .args(OPTIONS)
            .arg("-o")
            .arg(&unfinished)
            .arg(&source)
            .args(options);
        let result = command.output().map_err(|error| error.to_string())?;
        if !result.status.success() {
            return Err(format!(
                "{command:?}:\n{}",
                String::from_utf8_lossy(&result.stderr)
            ));
        }
        fs::rename(&unfinished, &output).expect("cargo's folder for tests can be written");
        Ok(output)
    }

    /// Compiles `text` and makes its `kernels` known to the emulator.
    pub(crate) fn module(&self, name: &str, text: &str, kernels: &[&str]) -> PathBuf {
        let mut text = format!("#include \"emulator.hpp\"\n{text}\n");
        for kernel in kernels {
            writeln!(text, "EMULATE({kernel})").expect("writing to a string cannot fail");
        }
        self.compile(name, &text, &["-shared"])
            .unwrap_or_else(|message| panic!("{message}"))
    }

    /// Runs a script in `folder`.
    pub(crate) fn run(&self, module: &Path, script: &str, folder: &Path) -> Output {
        let path = folder.join("script");
        fs::write(&path, script).expect("the temporary folder can be written");
        let mut command = Command::new(&self.program);
        command.arg(module).arg(path).current_dir(folder);
        // The leak sanitizer needs more rights than some containers give.
        command
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .env("UBSAN_OPTIONS", "print_stacktrace=1");
        command.output().expect("the emulator starts")
    }
}
