//! Which kernels a run takes: some in every run, and others in turn, a source a day.

use crate::emulator::{Module, Toolchain};
use crate::support::matrix::{has_turn, is_drawn};
use warpfold::codegen::{Engine, Kernels, source};

/// Sources that engines read, as the dot product. Of each kernel a run has one of them, the next
/// one on the next day.
const IN_TURN: [&str; 4] = [
    "gathered",
    "greater of floats",
    "lesser of floats",
    "pairs with a parameter",
];

/// What every run tests, by its name; the others take turns.
const IN_EVERY_RUN: [&str; 7] = [
    "dot product",
    "parameter",
    "words collect",
    "u32 Kept",
    "u8 Sides",
    "u8 ByValue",
    "f32 ByGuess",
];

/// The module for a test, if it is one of this run's.
pub(crate) fn drawn_module<K: Kernels>(
    toolchain: &Toolchain,
    name: &str,
    engine: Engine,
) -> Option<Module> {
    let full_name = format!("{name} {} {}", K::NAME, engine.name());
    let always = IN_EVERY_RUN.iter().any(|one| full_name.starts_with(one));
    let turn = IN_TURN.iter().enumerate().find_map(|(number, source)| {
        let kernel = full_name.strip_prefix(source)?;
        Some(has_turn(kernel, number, IN_TURN.len()))
    });
    is_drawn(&full_name, always || turn == Some(true)).then(|| module::<K>(toolchain, name, engine))
}

pub(crate) fn module<K: Kernels>(toolchain: &Toolchain, name: &str, engine: Engine) -> Module {
    let text = source::<K>(engine).expect("the source can be generated");
    let name = format!("{name} {} {}", K::NAME, engine.name());
    toolchain.module(&name, &text, K::kernel(engine).functions())
}
