//! What the emulator catches, and what it says where there is no compiler for it.

mod at_once;
mod bad_compilers;
#[path = "../../tests/support/emulator.rs"]
mod emulator;
mod planted_faults;
#[path = "../../tests/support/skips.rs"]
mod skips;
