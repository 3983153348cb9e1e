//! The emulator as the tests use it. The emulator itself is the C++ beside this file; `program.cpp` is
//! where to start reading.

mod script;
mod toolchain;

pub(crate) use script::{Argument, Grid, Script, Tally, base_seed};
pub(crate) use toolchain::{Module, Toolchain};
