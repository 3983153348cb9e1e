//! The tuning tables: what was measured to be fastest. A folder for each engine that is tuned, and
//! in it a file for each architecture. Only speed depends on them.
//!
//! A table says what it was measured by: the card, the day and the command. The day's notebook in
//! `docs/notebook/` has the rest. What gains under 2% is no row.
//!
//! An architecture without a file takes that of the newest one before it. To give it one, add the
//! file, its `mod` and its line in the engine's `TABLES`. GPUs older than all files get the oldest.
//!
//! `warpfold tune` prints the file of the wave engine on a GPU of that architecture. Replace its
//! rows as far as the benchmark confirms them, and change nothing by hand, so that the diff shows
//! what a new search found.

pub(crate) mod plans;
pub(super) mod rows;
pub(super) mod wave;

pub(crate) use wave::WaveRow;

use super::Machine;

/// The tables of some engine, oldest first: each with the compute capability from which on it
/// holds, such as 90 for 9.0.
pub(crate) type Tables<T> = [(u32, &'static T)];

/// The multiprocessors of the GPUs that the tables were measured on.
///
/// Measured: an NVIDIA H200 and an H100, 2026-11-28, as both say.
const MEASURED_MULTIPROCESSORS: u64 = 132;

/// What a table says in bytes of a whole input, for a GPU of an architecture without a table of its
/// own: as many bytes for each multiprocessor.
pub(crate) fn scaled(bytes: u64, machine: Machine) -> u64 {
    if bytes == u64::MAX || rows::has_table(machine.capability) {
        return bytes;
    }
    let multiprocessors = u64::from(machine.multiprocessors.max(1));
    bytes.saturating_mul(multiprocessors) / MEASURED_MULTIPROCESSORS
}

/// The table for a compute capability.
pub(crate) fn choose<T: ?Sized>(tables: &Tables<T>, capability: u32) -> &'static T {
    let newest = tables.iter().rfind(|(from, _)| *from <= capability);
    newest.unwrap_or(&tables[0]).1
}

/// The row of a table for a size. Rows go from small sizes to large ones.
pub(super) fn row_for<R>(table: &[R], largest: impl Fn(&R) -> u32, size: u32) -> &R {
    let row = table.iter().find(|row| size <= largest(row));
    row.expect("elements have at most 64 bytes")
}
