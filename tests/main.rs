//! The tests of the library, in one binary; each file is named for the property it holds.

mod same_bits_on_the_cpu;
mod emulated;
mod support;
