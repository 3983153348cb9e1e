//! Random functions give the same bits in Rust and in their translations to C++.
//!
//! `build.rs` writes 2000 functions, in the Rust that `#[warpfold::function]` translates. Each is
//! called with 64 arguments, all edges of the types among them. Its translation is compiled for the
//! CPU, as the emulator's kernels are, and called with the same. So is what kernels compute with
//! where integers of 8 and 16 bits are extended to registers. The results must be the same, bit for
//! bit; the sources of what differs are shown.
//!
//! That takes two minutes on two cores, so a plain `cargo test` leaves it out. To run it: `cargo
//! test -p warpfold-programs`. It needs a C++ compiler. `WARPFOLD_SEED=7` makes other functions and
//! arguments, `WARPFOLD_PROGRAMS=200` fewer functions; CI makes 500. What the translation learns,
//! `generator/` must learn too.

mod compiler;
#[allow(warnings, clippy::all, reason = "some forms are odd on purpose")]
mod fixed;
#[path = "generator/random.rs"]
mod random;
#[path = "../support/skips.rs"]
mod skips;
mod words;

use compiler::Compiler;
use random::Random;
use std::fmt::Write as _;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use warpfold::Function;
use warpfold::codegen::{Definitions, with_kernels};
use words::{Words, words};

#[allow(
    warnings,
    arithmetic_overflow,
    clippy::all,
    reason = "nobody reads it unless it fails"
)]
mod programs {
    include!(concat!(env!("OUT_DIR"), "/programs.rs"));
}

const SOURCE: &str = include_str!(concat!(env!("OUT_DIR"), "/programs.rs"));
const FIXED: &str = include_str!("fixed.rs");
/// CUDA's words and built-in names, for C++.
const CUDA: &str = include_str!("../../kernels/machine/host.hpp");
const PROGRAM: &str = include_str!("program.hpp");

/// How many arguments each program is called with.
const CASES: usize = 64;
/// How many programs make one C++ source.
const CHUNK: usize = 250;
/// How many failures are shown.
const SHOWN: usize = 5;

/// A random function on both sides.
struct Program {
    number: u64,
    name: &'static str,
    /// A case: the words of the arguments and those of the result.
    evaluate: fn(&mut Random) -> (Vec<u64>, Vec<u64>),
    /// A case as people read it.
    describe: fn(&mut Random) -> String,
    /// The body of a C++ function that takes arguments, calls the translation and puts the result.
    cuda: fn(&mut Definitions) -> String,
}

impl Program {
    fn of<F: Function<Input: Arguments, Output: Words>>(
        number: u64,
        name: &'static str,
    ) -> Program {
        Program {
            number,
            name,
            evaluate: |random| {
                let (mut input, mut output) = (Vec::new(), Vec::new());
                let arguments = F::Input::sample(random);
                arguments.put(&mut input);
                F::call(arguments).put(&mut output);
                (input, output)
            },
            describe: |random| {
                let arguments = F::Input::sample(random);
                format!(
                    "arguments: {arguments:?}\nin Rust:   {:?}",
                    F::call(arguments)
                )
            },
            cuda: |definitions| {
                let name = F::cuda(definitions);
                let arguments = F::Input::cuda_take(definitions);
                let spread = F::Input::spread("arguments");
                let mut body = format!(
                    "const auto arguments = {arguments};\n    auto result = {name}({spread});\n    "
                );
                // The function once more, where short integers are extended to registers.
                let is_number = F::Input::ARE_NUMBERS && F::Output::IS_NUMBER;
                if let Some(extended) = definitions.extend(&name).filter(|_| is_number) {
                    body += &format!(
                        "decltype(result) again = {extended}({spread});\n    \
                         if (memcmp(&again, &result, sizeof again) != 0) result = again;\n    "
                    );
                }
                body + &F::Output::cuda_put("result")
            },
        }
    }

    /// The random numbers that a program's arguments come from.
    fn random(&self) -> Random {
        Random::new(seed().rotate_left(32) ^ self.number)
    }
}

/// The arguments of a function, as a tuple.
trait Arguments: Words {
    /// Whether all of them are numbers.
    const ARE_NUMBERS: bool;

    /// The parts of a tuple in C++, one after the other.
    fn spread(tuple: &str) -> String;
}

macro_rules! arguments {
    ($(($($part:ident $number:literal),*)),*) => {$(
        impl<$($part: Words),*> Arguments for ($($part,)*) {
            const ARE_NUMBERS: bool = $($part::IS_NUMBER)&&*;

            fn spread(tuple: &str) -> String {
                [$(format!("{tuple}._{}", $number)),*].join(", ")
            }
        }
    )*};
}
arguments!((A 0), (A 0, B 1), (A 0, B 1, C 2), (A 0, B 1, C 2, D 3));

fn seed() -> u64 {
    std::env::var("WARPFOLD_SEED").map_or(0, |text| {
        text.parse().expect("WARPFOLD_SEED is a whole number")
    })
}

#[test]
fn translations_give_the_same_bits() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    let compiler = match Compiler::find(&folder) {
        Ok(compiler) => compiler,
        Err(why) => return skips::skip("emulator", &why),
    };
    let (fixed, programs) = (fixed::all(), programs::all());
    let chunks: Vec<_> = [&fixed[..]]
        .into_iter()
        .chain(programs.chunks(CHUNK))
        .collect();
    let next = AtomicUsize::new(0);
    let failures = std::thread::scope(|scope| {
        let work = || {
            let mut failures = Vec::new();
            while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
                failures.extend(failures_of(chunk, &compiler));
            }
            failures
        };
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let workers: Vec<_> = (0..cores.min(chunks.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let failures = workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("it reports what fails"));
        failures.collect::<Vec<_>>()
    });
    for failure in failures.iter().take(SHOWN) {
        eprintln!("{failure}\n");
    }
    assert!(
        failures.is_empty(),
        "{} of {} programs fail, {} of them shown; again with WARPFOLD_SEED={} WARPFOLD_PROGRAMS={}",
        failures.len(),
        programs.len(),
        failures.len().min(SHOWN),
        seed(),
        programs.len(),
    );
}

/// What Rust computes for a program's cases.
struct Expected {
    input: Vec<u64>,
    output: Vec<u64>,
}

/// Computes some programs on both sides, and tells which of them differ, and how.
fn failures_of(programs: &[Program], compiler: &Compiler) -> Vec<String> {
    let name = programs[0].name;
    let mut failures = Vec::new();
    let mut expected = Vec::new();
    for program in programs {
        match catch_unwind(AssertUnwindSafe(|| evaluate(program))) {
            Ok(cases) => expected.push(cases),
            Err(_) => {
                return vec![format!(
                    "{} panics in Rust:\n{}",
                    program.name,
                    rust_source(program)
                )];
            }
        }
    }
    let (text, functions) = match cuda_source(programs, &expected) {
        Ok(source) => source,
        Err(error) => return vec![format!("the programs from {name} on: {error}")],
    };
    let executable = match compiler.compile(name, &text) {
        Ok(executable) => executable,
        Err(error) => {
            return vec![format!(
                "the translations from {name} on do not compile: {error}"
            )];
        }
    };
    let input: Vec<u8> = expected
        .iter()
        .flat_map(|cases| &cases.input)
        .flat_map(|word| word.to_ne_bytes())
        .collect();
    let file = executable.with_extension("input");
    fs::write(&file, input).expect("there is room for the arguments");

    let mut first = 0;
    while first < programs.len() {
        let run = Command::new(&executable)
            .arg(first.to_string())
            .arg(&file)
            .output()
            .expect("it can be started");
        let words: Vec<u64> = run
            .stdout
            .chunks_exact(8)
            .map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
            .collect();
        let mut words = &words[..];
        for (program, cases) in programs.iter().zip(&expected).skip(first) {
            first += 1;
            let Some((results, rest)) = words.split_at_checked(cases.output.len()) else {
                // It stopped there. Run the ones after it as well.
                let message = String::from_utf8_lossy(&run.stderr);
                failures.push(format!(
                    "{} stops in C++: {message}({})\n{}\n{}",
                    program.name,
                    run.status,
                    rust_source(program),
                    cuda_function(&functions, program)
                ));
                break;
            };
            words = rest;
            if let Some(wrong) = results.iter().zip(&cases.output).position(|(a, b)| a != b) {
                failures.push(difference(program, cases, results, wrong, &functions));
            }
        }
    }
    failures
}

fn evaluate(program: &Program) -> Expected {
    let mut random = program.random();
    let (mut input, mut output) = (Vec::new(), Vec::new());
    for _ in 0..CASES {
        let (arguments, result) = (program.evaluate)(&mut random);
        input.extend(arguments);
        output.extend(result);
    }
    Expected { input, output }
}

/// The whole C++ source of some programs, and the part of it that is translated.
fn cuda_source(programs: &[Program], expected: &[Expected]) -> warpfold::Result<(String, String)> {
    let mut definitions = Definitions::default();
    let (mut calls, mut table) = (String::new(), String::new());
    for (program, cases) in programs.iter().zip(expected) {
        let (name, body) = (program.name, (program.cuda)(&mut definitions));
        writeln!(calls, "static void run_{name}() {{\n    {body}\n}}").expect("strings grow");
        let (taken, put) = (cases.input.len() / CASES, cases.output.len() / CASES);
        writeln!(table, "    {{user::run_{name}, {taken}, {put}}},").expect("strings grow");
    }
    let functions = definitions.text()?;
    let text = format!(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n{CUDA}\n#include \"machine/rust.cuh\"\n\
         namespace user {{\nusing namespace warpfold;\n{functions}\n\
         constexpr int CASES = {CASES};\n{PROGRAM}\n{calls}}}  // namespace user\n\
         static const user::Program PROGRAMS[] = {{\n{table}}};\n\
         int main(int, char** words) {{ return user::run_all(PROGRAMS, atoi(words[1]), words[2]); }}\n"
    );
    Ok((with_kernels(&text, "programs.cpp")?, functions))
}

/// What there is to say about a program that differs at a word of its results.
fn difference(
    program: &Program,
    cases: &Expected,
    results: &[u64],
    wrong: usize,
    functions: &str,
) -> String {
    let words = results.len() / CASES;
    let case = wrong / words;
    let mut random = program.random();
    for _ in 0..case {
        (program.evaluate)(&mut random);
    }
    let of_case = case * words..(case + 1) * words;
    format!(
        "{} differs\n{}\n{}\nwords in Rust: {:x?}\nwords in C++:  {:x?}\n{}",
        program.name,
        rust_source(program),
        (program.describe)(&mut random),
        &cases.output[of_case.clone()],
        &results[of_case],
        cuda_function(functions, program),
    )
}

/// The Rust text of a program.
fn rust_source(program: &Program) -> &'static str {
    let start = format!("fn {}(", program.name);
    [SOURCE, FIXED]
        .into_iter()
        .find_map(|text| function_in(text, &start))
        .unwrap_or("(not found)")
}

/// The C++ text of a program.
fn cuda_function<'a>(functions: &'a str, program: &Program) -> &'a str {
    function_in(functions, &format!(" {}(", program.name)).unwrap_or("(not found)")
}

/// The function whose first line has `start` in it, to its last line.
fn function_in<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let is_first = |position: usize| {
        let line = &text[text[..position].rfind('\n').map_or(0, |end| end + 1)..position];
        line.is_empty() || line.starts_with("__device__")
    };
    let (position, _) = text
        .match_indices(start)
        .find(|(position, _)| is_first(*position))?;
    let begin = text[..position].rfind('\n').map_or(0, |end| end + 1);
    let end = text[begin..]
        .find("\n}")
        .map_or(text.len(), |end| begin + end + 2);
    Some(&text[begin..end])
}
