//! An operator's CUDA function, compiled by a C++ compiler for the CPU.

use crate::codegen::{Definitions, with_kernels};
use crate::{CudaType, Element, Monoid, bytemuck};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// CUDA's words and built-in names, for C++.
const HOST: &str = include_str!("../../kernels/machine/host.hpp");

/// No contraction, as on a GPU. What is undefined in C++ stops the program.
const OPTIONS: &[&str] = &[
    "-std=c++20",
    "-O1",
    "-w",
    "-ffp-contract=off",
    "-fsanitize=undefined",
    "-fno-sanitize-recover=all",
];

pub(super) enum Failure {
    /// There is no suitable compiler; what each lacks.
    NoCompiler(String),
    /// The text is wrong, or the program fails.
    Rejected(String),
}

/// What the CUDA function gives for each pair.
pub(super) fn combine<T: Element, Op: Monoid<T>>(
    pairs: &[[T::Accumulator; 2]],
) -> Result<Vec<T::Accumulator>, Failure> {
    let rejected = |why: String| Failure::Rejected(why);
    let text = program::<T, Op>().map_err(|error| rejected(error.to_string()))?;
    let folder = tempfile::tempdir()
        .map_err(|error| rejected(format!("there is no place for a temporary file: {error}")))?;
    let program = compile(folder.path(), &text)?;

    let input = folder.path().join("input");
    fs::write(&input, bytemuck::cast_slice(pairs))
        .map_err(|error| rejected(format!("{}: {error}", input.display())))?;
    let output = fs::File::open(&input)
        .and_then(|input| Command::new(&program).stdin(Stdio::from(input)).output())
        .map_err(|error| {
            rejected(format!(
                "its CUDA function, compiled for the CPU, does not start: {error}"
            ))
        })?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        return Err(rejected(format!(
            "its CUDA function does what is undefined in C++: {messages}"
        )));
    }
    let mut results = vec![bytemuck::Zeroable::zeroed(); pairs.len()];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut results);
    if output.stdout.len() != bytes.len() {
        return Err(rejected(
            "its CUDA function, compiled for the CPU, ended early".to_owned(),
        ));
    }
    bytes.copy_from_slice(&output.stdout);
    Ok(results)
}

/// Reads pairs, writes what they are combined to.
fn program<T: Element, Op: Monoid<T>>() -> crate::Result<String> {
    let mut definitions = Definitions::default();
    let ty = T::Accumulator::cuda_type(&mut definitions);
    let combine = Op::cuda(&mut definitions);
    let definitions = definitions.text()?;
    let host: String = HOST
        .lines()
        .filter(|line| *line != "#pragma once")
        .fold(String::new(), |text, line| text + line + "\n");
    with_kernels(
        &format!(
            "{host}
#include <stdio.h>
#include \"machine/rust.cuh\"
namespace user {{
using namespace warpfold;
{definitions}
struct Pair {{ {ty} a, b; }};
}}
int main() {{
    using namespace user;
    for (Pair pair; fread(&pair, sizeof pair, 1, stdin) == 1;) {{
        {ty} result = {combine}(pair.a, pair.b);
        if (fwrite(&result, sizeof result, 1, stdout) != 1) return 1;
    }}
    return fflush(stdout);
}}
"
        ),
        "operator.cpp",
    )
}

/// Compiles with `$CXX`, or else with the first compiler that is there.
fn compile(folder: &Path, text: &str) -> Result<std::path::PathBuf, Failure> {
    let source = folder.join("operator.cpp");
    fs::write(&source, text)
        .map_err(|error| Failure::Rejected(format!("{}: {error}", source.display())))?;
    let named = std::env::var("CXX");
    let compilers = match &named {
        Ok(named) => vec![named.as_str()],
        Err(_) => vec!["g++", "clang++", "c++"],
    };
    let mut missing = Vec::new();
    for compiler in compilers {
        let program = folder.join("operator");
        let output = Command::new(compiler)
            .args(OPTIONS)
            .arg("-o")
            .arg(&program)
            .arg(&source)
            .output();
        match output {
            Ok(output) if output.status.success() => return Ok(program),
            Ok(output) => {
                let messages = String::from_utf8_lossy(&output.stderr);
                return Err(Failure::Rejected(format!(
                    "{compiler} does not take its CUDA function: {messages}"
                )));
            }
            Err(error) => missing.push(format!("{compiler}: {error}")),
        }
    }
    Err(Failure::NoCompiler(format!(
        "there is no C++ compiler to compile CUDA's function with ({}); install g++ 11 or clang++ 16, or a later one, or name one in CXX",
        missing.join("; ")
    )))
}
