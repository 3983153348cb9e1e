//! From C++ to a program that runs: the compiler, the emulator, and the modules of kernels that it
//! loads.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

macro_rules! files {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../cpp/", $name)))),*]
    };
}

const PROGRAM: &str = include_str!("../cpp/program.cpp");
/// `host.hpp` is a link to what the emulator shares with those who only compute values.
const HEADERS: &[(&str, &str)] = files!(
    "host.hpp",
    "kernel.hpp",
    "machine.hpp",
    "memory.hpp",
    "clock.hpp",
    "counters.hpp",
    "fiber.hpp"
);

/// In DWARF 5, addr2line may take the name of the file for that of the first `#line`.
const OPTIONS: &[&str] = &["-std=c++20", "-gdwarf-4", "-fPIC", "-Wno-unknown-pragmas"];
/// Messages name lines and what was inlined there. All else that gdb knows takes g++ as long again
/// as the kernels do, and half as long as the emulator does: `WARPFOLD_GDB` asks for it.
const LINES_ALONE: &str = "-g1";
/// With assertions: a wrong emulator is of no use. Its functions call each other at each load and
/// store; nobody takes their place, so they may be inlined. `-O3` does not make it faster.
const PROGRAM_OPTIONS: &[&str] = &[
    "-O2",
    "-fno-semantic-interposition",
    "-D_GLIBCXX_ASSERTIONS",
];
/// Of the sanitizers' libraries only that for undefined behaviour, whose functions modules find in
/// the program. The emulator itself takes the place of the thread sanitizer's.
const PROGRAM_LINK_OPTIONS: &[&str] = &[
    "-Wl,--no-as-needed",
    "-fsanitize=undefined",
    "-rdynamic",
    "-ldl",
];
/// The thread sanitizer's instrumentation calls the emulator at each load and store. Float
/// contraction is off as with `--fmad=false`; kernels move elements as words, so that aliasing is
/// not a question of types. More optimisation than `-O1` would merge accesses that a GPU makes one
/// by one.
const MODULE_OPTIONS: &[&str] = &[
    "-O1",
    "-fsanitize=thread,undefined",
    "-fno-sanitize-recover=all",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
];
/// GCC's marks of where statements begin leave out many lines, at which gdb then cannot stop. And
/// it takes an array at the end of a struct for one without an end, unless it is told to be strict.
const GCC_MODULE_OPTIONS: &[&str] = &["-gno-statement-frontiers", "-fsanitize=bounds-strict"];
/// Clang leaves out a load that a store to the same place follows, unless told not to.
const CLANG_MODULE_OPTIONS: &[&str] = &["-mllvm", "-tsan-instrument-read-before-write=1"];
/// A pattern fills local variables that nothing sets, so that what is made of them shows. g++ 11
/// cannot.
const PATTERN: &str = "-ftrivial-auto-var-init=pattern";
const MODULE_LINK_OPTIONS: &[&str] = &["-shared"];
/// What `kernel.hpp` and `host.hpp` include. To read it takes g++ as long as to read the kernels,
/// so it is compiled once for all modules.
const LIBRARY: &str = "\
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <type_traits>
#include <utility>
";

/// A C++ compiler, and the emulator compiled with it.
#[derive(Debug)]
pub struct Toolchain {
    compiler: String,
    version: String,
    folder: PathBuf,
    program: PathBuf,
    has_pattern: bool,
    /// What modules include first, which the compiler has precompiled, if it has.
    library: Option<PathBuf>,
}

/// Kernels that the emulator can load.
#[derive(Debug, Clone)]
pub struct Module {
    pub(crate) program: PathBuf,
    pub(crate) object: PathBuf,
}

impl Module {
    /// The command that runs a script.
    pub fn command(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(&self.object).arg(script);
        command.env("UBSAN_OPTIONS", "print_stacktrace=0");
        command
    }
}

impl Toolchain {
    /// The toolchain of `$CXX`, or of the first suitable compiler; or why there is none.
    ///
    /// A process looks once. What it compiles goes into the folder of the first call, and stays
    /// there until its source changes. So a folder that outlives the process saves much time.
    pub fn get(folder: &Path) -> Result<&'static Toolchain, &'static str> {
        static TOOLCHAIN: OnceLock<Result<Toolchain, String>> = OnceLock::new();
        let found = TOOLCHAIN.get_or_init(|| match std::env::var("CXX") {
            Ok(named) => Toolchain::find(&[&named], folder),
            Err(_) => Toolchain::find(&["g++", "clang++", "c++"], folder),
        });
        found.as_ref().map_err(String::as_str)
    }

    /// The toolchain of the first suitable compiler, or what each of them lacks.
    pub fn find(compilers: &[&str], folder: &Path) -> Result<Toolchain, String> {
        let mut failures = String::new();
        for compiler in compilers {
            match Toolchain::of(compiler, folder) {
                Ok(toolchain) => return Ok(toolchain),
                Err(why) => write!(failures, "\n  {compiler}: {why}").expect("strings grow"),
            }
        }
        Err(format!(
            "no C++ compiler here will do:{failures}\n  remedy: install g++ 11 or clang++ 16, or a later one, \
             with its sanitizers, or name one in CXX"
        ))
    }

    /// The compiler's name, or its path.
    pub fn compiler(&self) -> &str {
        &self.compiler
    }

    fn of(compiler: &str, folder: &Path) -> Result<Toolchain, String> {
        let output = Command::new(compiler)
            .arg("--version")
            .output()
            .map_err(|error| format!("it cannot be started: {error}"))?;
        let version = String::from_utf8_lossy(&output.stdout)
            .lines()
            .next()
            .filter(|_| output.status.success())
            .ok_or("it does not tell its version")?
            .to_owned();
        fs::create_dir_all(folder)
            .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
        let mut toolchain = Toolchain {
            compiler: compiler.to_owned(),
            version,
            folder: folder.to_owned(),
            program: PathBuf::new(),
            has_pattern: false,
            library: None,
        };

        let probe =
            |name, text, options: &[_], link| toolchain.compile(name, text, options, Some(link));
        probe(
            "probe-language",
            "int main() { return [](auto... x) requires(sizeof...(x) == 0) { return 0; }(); }\n",
            PROGRAM_OPTIONS,
            &[],
        )
        .map_err(|message| format!("it is too old for C++20: {}", first_error(&message)))?;
        let module = "extern \"C\" int add(int* a) { return *a + 1; }\n";
        probe(
            "probe-instrumentation",
            module,
            &toolchain.module_options(),
            MODULE_LINK_OPTIONS,
        )
        .and_then(|_| {
            let program = "int main() {}\n";
            probe(
                "probe-library",
                program,
                PROGRAM_OPTIONS,
                PROGRAM_LINK_OPTIONS,
            )
        })
        .map_err(|message| {
            format!(
                "it lacks the instrumentation of the thread sanitizer, or the undefined behaviour \
                 sanitizer (a package such as libubsan or libclang-rt): {}",
                first_error(&message)
            )
        })?;
        let with_pattern = [&toolchain.module_options()[..], &[PATTERN]].concat();
        let has_pattern =
            probe("probe-pattern", module, &with_pattern, MODULE_LINK_OPTIONS).is_ok();
        toolchain.has_pattern = has_pattern;
        let options = [PROGRAM_OPTIONS, lines()].concat();
        toolchain.program = toolchain
            .compile("emulator", PROGRAM, &options, Some(PROGRAM_LINK_OPTIONS))
            .map_err(|message| format!("it does not compile the emulator: {message}"))?;
        if !toolchain.is_clang() {
            toolchain.library = toolchain.precompile().ok();
        }
        Ok(toolchain)
    }

    fn is_clang(&self) -> bool {
        self.version.contains("clang")
    }

    fn module_options(&self) -> Vec<&'static str> {
        let more = if self.is_clang() {
            CLANG_MODULE_OPTIONS
        } else {
            GCC_MODULE_OPTIONS
        };
        let pattern: &[_] = if self.has_pattern { &[PATTERN] } else { &[] };
        [MODULE_OPTIONS, more, pattern, lines()].concat()
    }

    /// Precompiles what modules include first, unless that has been done before. If another
    /// compiler or other options did it, g++ reads the text instead.
    fn precompile(&self) -> Result<PathBuf, String> {
        let options = [&self.module_options()[..], &["-x", "c++-header"]].concat();
        self.compile("library", LIBRARY, &options, None)?;
        Ok(self.folder.join("library.cpp"))
    }

    /// Compiles and links `text` unless that has been done before; returns what it became. Without
    /// options for the linker it is a header, and precompiled.
    fn compile(
        &self,
        name: &str,
        text: &str,
        options: &[&str],
        link: Option<&[&str]>,
    ) -> Result<PathBuf, String> {
        let file = if text == PROGRAM {
            path_of("program.cpp")
        } else {
            format!("{name}.cpp")
        };
        let mut whole = format!(
            "// {} {OPTIONS:?} {options:?} {:?}\n#line 1 \"{file}\"\n",
            self.version,
            link.unwrap_or_default()
        );
        include(text, &file, &mut Vec::new(), &mut whole);
        let source = self.folder.join(format!("{name}.cpp"));
        let result = match link {
            Some(_) => self.folder.join(format!("{name}.out")),
            // Where g++ looks for it when the source is included.
            None => self.folder.join(format!("{name}.cpp.gch")),
        };
        let write = |error: std::io::Error| format!("{}: {error}", self.folder.display());
        // Tests of one process, and of several, may ask for the same module at once. The first one
        // compiles it, the others wait. The lock ends with the file.
        let lock = fs::File::create(self.folder.join(format!("{name}.lock"))).map_err(write)?;
        lock.lock().map_err(write)?;
        if fs::read_to_string(&source).is_ok_and(|known| known == whole) && result.exists() {
            return Ok(result);
        }

        // Only what was compiled to the end gets the name that is looked for.
        let unfinished = |what: &str| {
            self.folder
                .join(format!("{name}.{}.{what}", std::process::id()))
        };
        let _ = fs::remove_file(&result);
        fs::write(&source, whole).map_err(write)?;
        let compiler = || Command::new(&self.compiler);
        let mut compile = compiler();
        compile.args(OPTIONS).args(options);
        if let Some(library) = &self.library {
            compile.arg("-include").arg(library);
        }
        run(compile
            .arg("-c")
            .arg(&source)
            .arg("-o")
            .arg(unfinished("o")))?;
        let Some(link) = link else {
            fs::rename(unfinished("o"), &result).map_err(write)?;
            return Ok(result);
        };
        let linked = run(compiler()
            .arg(unfinished("o"))
            .args(link)
            .arg("-o")
            .arg(unfinished("out")));
        let _ = fs::remove_file(unfinished("o"));
        linked?;
        fs::rename(unfinished("out"), &result).map_err(write)?;
        Ok(result)
    }

    /// Compiles CUDA source, and makes its `kernels` known to the emulator.
    ///
    /// # Panics
    ///
    /// If the compiler rejects the source; its messages are those of the panic.
    pub fn module(&self, name: &str, text: &str, kernels: &[&str]) -> Module {
        self.try_module(name, text, kernels)
            .unwrap_or_else(|message| panic!("{message}"))
    }

    /// Compiles as [`module`](Self::module) does, or returns the compiler's messages.
    pub fn try_module(&self, name: &str, text: &str, kernels: &[&str]) -> Result<Module, String> {
        let name: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let mut text = format!("#include \"kernel.hpp\"\n#line 1 \"{name}.cu\"\n{text}\n");
        for kernel in kernels {
            writeln!(text, "EMULATE({kernel})").expect("strings grow");
        }
        let object = self.compile(
            &name,
            &text,
            &self.module_options(),
            Some(MODULE_LINK_OPTIONS),
        )?;
        Ok(Module {
            program: self.program.clone(),
            object,
        })
    }
}

/// The option for lines alone, unless gdb is to know more.
fn lines() -> &'static [&'static str] {
    match std::env::var_os("WARPFOLD_GDB") {
        Some(set) if !set.is_empty() => &[],
        _ => &[LINES_ALONE],
    }
}

/// Runs a compiler.
fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}:\n{messages}"))
}

/// The line of a compiler's messages that says what is wrong.
fn first_error(messages: &str) -> &str {
    let mut lines = messages.lines();
    lines
        .find(|line| line.contains("error"))
        .or(messages.lines().nth(1))
        .unwrap_or(messages)
}

/// Where one of the emulator's files is.
fn path_of(name: &str) -> String {
    format!("{}/cpp/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Puts the text of the emulator's headers where they are first included, so that one file holds
/// all that decides whether to compile again.
fn include(text: &str, file: &str, done: &mut Vec<&'static str>, output: &mut String) {
    for (number, line) in text.lines().enumerate() {
        let header = HEADERS
            .iter()
            .find(|(name, _)| line == format!("#include \"{name}\""));
        let result = match header {
            _ if line == "#pragma once" => writeln!(output),
            None => writeln!(output, "{line}"),
            Some((name, _)) if done.contains(name) => writeln!(output),
            Some((name, header)) => {
                done.push(name);
                let path = path_of(name);
                writeln!(output, "#line 1 \"{path}\"").expect("strings grow");
                include(header, &path, done, output);
                writeln!(output, "#line {} \"{file}\"", number + 2)
            }
        };
        result.expect("strings grow");
    }
}
