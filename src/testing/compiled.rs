//! An operator's CUDA function, compiled by a C++ compiler for the CPU.

use crate::definitions::Definitions;
use crate::render::with_kernels;
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
    // Kernels extend short integers, or leave anything above their bits. If that makes a
    // difference, it is the result.
    let again = definitions.define_register_width(&combine).map(|written| {
        let above = if written.are_of_lower_bits {
            format!("(i32)(0x5a5a5a5au << 8 * sizeof({ty}))")
        } else {
            "0".to_owned()
        };
        format!(
            "i32 a = (i32)pair.a ^ {above}, b = (i32)pair.b ^ {above};
        if ({ty} again = ({ty})({}); again != result) result = again;",
            written.call
        )
    });
    let again = again.unwrap_or_default();
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
        {again}
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

#[cfg(test)]
mod tests {
    use super::{Failure, combine};
    use crate::definitions::Definitions;
    use crate::{Element, Monoid, function, monoid};
    use std::fmt::Debug;

    /// Its arguments and its result are short, and what it computes between leaves the type, or
    /// does not.
    struct Everything;

    macro_rules! everything {
        ($($t:ident $other:ident $(by $of_sign:ident)?;)*) => {$(
            #[monoid]
            impl Monoid<$t> for Everything {
                fn identity() -> $t {
                    0
                }

                fn combine(a: $t, b: $t) -> $t {
                    let mut all = hashed(a.saturating_add(b) as u32, a.saturating_sub(b) as u32);
                    all = hashed(all, a.saturating_mul(b) as u32);
                    all = hashed(all, a.wrapping_add(b).wrapping_mul(a).wrapping_sub(b) as u32);
                    all = hashed(all, (a & b | !a ^ b) as u32);
                    all = hashed(all, a.wrapping_shl(3) as u32);
                    all = hashed(all, (a >> 2) as u32);
                    all = hashed(all, a.min(b) as u32);
                    all = hashed(all, a.max(b).clamp(3, 100) as u32);
                    all = hashed(all, a.abs_diff(b) as u32);
                    all = hashed(all, a.rotate_left(3) as u32);
                    all = hashed(all, b.rotate_right(1) as u32);
                    all = hashed(all, a.count_ones());
                    all = hashed(all, a.count_zeros());
                    all = hashed(all, a.leading_zeros());
                    all = hashed(all, a.leading_ones());
                    all = hashed(all, a.trailing_zeros());
                    all = hashed(all, a.trailing_ones());
                    all = hashed(all, a.swap_bytes() as u32);
                    all = hashed(all, a.reverse_bits() as u32);
                    all = hashed(all, a.wrapping_pow(b as u32 & 7) as u32);
                    if b > 0 {
                        all = hashed(all, (a / b) as u32);
                        all = hashed(all, (a % b) as u32);
                        all = hashed(all, a.rem_euclid(b) as u32);
                        all = hashed(all, a.div_euclid(b) as u32);
                    }
                    all = hashed(all, a as $other as u32);
                    all = hashed(all, (a as $other >> 1) as u32);
                    all = hashed(all, (a as f32 * 3.7) as $t as u32);
                    all = hashed(all, (a as f64 * -3.7) as $other as u32);
                    all = hashed(all, a.wrapping_neg() as u32);
                    let (less, more) = if a < b { (a, b) } else { (b, a) };
                    for i in (less & 3)..=(more & 7) {
                        all = hashed(all, i as u32);
                    }
                    for i in (0..(more & 3)).rev() {
                        all = hashed(all, i.wrapping_add(less) as u32);
                    }
                    all = match (a, b) {
                        (0, _) => hashed(all, 1),
                        (1..=20, 7) => hashed(all, 2),
                        _ => hashed(all, 3),
                    };
                    $(all = hashed(all, $of_sign(a, b));)?
                    (all ^ all >> 16) as $t
                }
            }

            $(
                #[function]
                fn $of_sign(a: $t, b: $t) -> u32 {
                    let magnitudes = hashed(a.unsigned_abs() as u32, b.wrapping_abs() as u32);
                    let is_one = a.is_positive() ^ b.is_negative();
                    hashed(magnitudes, hashed(a.signum() as u32, is_one as u32))
                }
            )?
        )*};
    }

    everything! {
        u8 i8;
        i8 u8 by signs_of_bytes;
        u16 i16;
        i16 u16 by signs_of_pairs;
    }

    #[function]
    fn hashed(all: u32, more: u32) -> u32 {
        (all ^ more).wrapping_mul(0x0100_0193) ^ all >> 15
    }

    /// Everything by the translation for registers, compiled for the CPU, has Rust's bits.
    fn check<T>(pairs: Vec<[T; 2]>)
    where
        T: Element<Accumulator = T> + PartialEq + Debug,
        Everything: Monoid<T>,
    {
        let mut definitions = Definitions::default();
        let called = <Everything as Monoid<T>>::cuda(&mut definitions);
        assert!(definitions.define_register_width(&called).is_some());
        let results = match combine::<T, Everything>(&pairs) {
            Ok(results) => results,
            Err(Failure::Rejected(why)) => panic!("{why}"),
            Err(Failure::NoCompiler(why)) => {
                let required = std::env::var("WARPFOLD_REQUIRE").unwrap_or_default();
                assert!(!required.contains("emulator"), "{why}");
                return eprintln!("skipped (emulator): {why}");
            }
        };
        for ([a, b], result) in pairs.into_iter().zip(results) {
            let expected = <Everything as Monoid<T>>::combine(a, b);
            assert_eq!(result, expected, "of {a:?} and {b:?}");
        }
    }

    #[test]
    fn all_functions_of_short_integers_are_the_same_in_registers() {
        let bytes = || (0..=u16::MAX).map(|pair| pair.to_ne_bytes());
        check::<u8>(bytes().collect());
        check::<i8>(bytes().map(|pair| pair.map(|byte| byte as i8)).collect());
        let mix = |i: u32| i.wrapping_mul(0x9e37_79b9) ^ i.wrapping_mul(0x85eb_ca6b) >> 13;
        let halves = |i: u32| [mix(i) as u16, (mix(i) >> 16) as u16];
        let edges = [
            0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff,
        ];
        let both = edges.iter().flat_map(|&a| edges.map(|b| [a, b]));
        let pairs: Vec<[u16; 2]> = both.chain((0..50_000).map(halves)).collect();
        check::<i16>(
            pairs
                .iter()
                .map(|pair| pair.map(|half| half as i16))
                .collect(),
        );
        check::<u16>(pairs);
    }
}
