//! Sources that are stored: on the CPU and in the emulator.

mod emulated;
mod host;
