//! Writes random programs to `$OUT_DIR/programs.rs`.

mod generator;

use std::{env, fs, path::Path};

/// How many programs there are unless `WARPFOLD_PROGRAMS` says otherwise: as many as are compiled
/// and run in about two minutes on two cores.
const PROGRAMS: usize = 2000;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=generator");
    let seed = variable("WARPFOLD_SEED").unwrap_or(0);
    let programs = variable("WARPFOLD_PROGRAMS").map_or(PROGRAMS, |number| number as usize);
    let folder = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(
        Path::new(&folder).join("programs.rs"),
        generator::programs(seed, programs),
    )
    .expect("there is room for the programs");
}

/// A number in the environment, which the programs depend on.
fn variable(name: &str) -> Option<u64> {
    println!("cargo::rerun-if-env-changed={name}");
    let text = env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a whole number, not {text:?}")),
    )
}
