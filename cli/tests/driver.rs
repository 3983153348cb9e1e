//! Every function of the CUDA libraries that the command calls is looked up before any is called:
//! `cudarc` panics if one is missing.

use std::collections::BTreeSet;
use std::process::Command;

/// The lists of what is looked up.
const LOOKED_UP: &str = include_str!("../../src/cuda/library.rs");

/// The command links exactly what it calls, through any function of `cudarc`. NVRTC it calls by
/// itself: `cudarc` would look for another file.
#[test]
fn every_function_that_is_linked_is_looked_up() {
    let program = env!("CARGO_BIN_EXE_warpfold");
    let symbols = match Command::new("nm").arg(program).output() {
        Ok(output) if output.status.success() => output.stdout,
        Ok(output) => panic!("nm: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => return eprintln!("skipped: nm, of binutils: {error}"),
    };
    let linked: BTreeSet<String> = String::from_utf8_lossy(&symbols)
        .lines()
        .filter_map(cuda_function)
        .collect();
    if cfg!(feature = "cuda") {
        assert!(linked.contains("cuInit"), "nm finds functions");
    }
    for function in linked {
        assert!(
            LOOKED_UP.contains(&format!("\"{function}\"")),
            "{function} is called, and not looked up before: add it to src/cuda/library.rs"
        );
    }
}

/// `cuInit` of a symbol such as `_ZN6cudarc6driver3sys6cuInit17h0123456789abcdefE`.
fn cuda_function(symbol: &str) -> Option<String> {
    let (_, path) = ["6driver3sys", "5nvrtc3sys"]
        .iter()
        .find_map(|module| symbol.split_once(module))?;
    let digits = path.find(|c: char| !c.is_ascii_digit())?;
    let length = path[..digits].parse().ok()?;
    let name = path[digits..].get(..length)?;
    let rest = name.strip_prefix("cu").or(name.strip_prefix("nvrtc"))?;
    let is_function = rest.starts_with(|c: char| c.is_ascii_uppercase());
    is_function.then(|| name.to_owned())
}
