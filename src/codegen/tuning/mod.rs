//! The tuning tables: what was measured to be fastest, a file for each architecture.
//!
//! `warpfold tune` prints such a file on a GPU of that architecture. Replace its rows as far as the
//! benchmark confirms them, and change nothing by hand, so that the diff shows what a new search
//! found. Only speed depends on it. An architecture without a file takes that of the newest one
//! before it. To give it one, add the file, its `mod` and its line in [`WAVE`].
//!
//! So far only the wave engine has tables. To add another engine: a row type and a list of tables
//! like [`WAVE`] here, a second constant in each file, and the parameters that the search varies in
//! the command line tool's `tune`.

mod sm_90;

/// What the wave engine does with elements of some sizes.
#[derive(Debug)]
pub(super) struct WaveRow {
    /// The largest of these elements, in bytes.
    pub(super) element: u32,
    /// What a tile may take of shared memory, in bytes.
    pub(super) tile: u32,
    /// The rest is that of [`WavePolicy`](super::WavePolicy).
    pub(super) warps: u32,
    pub(super) reducers: u32,
    pub(super) stages: u32,
    pub(super) loads: u32,
    pub(super) wave: u32,
    pub(super) batch: u32,
}

/// The compute capability from which on a table holds, oldest first.
const WAVE: &[(u32, &[WaveRow])] = &[(90, sm_90::WAVE)];

/// The wave engine's table for GPUs of a compute capability, such as 90 for 9.0. Its rows go from
/// small elements to large ones. GPUs older than all tables get the oldest: the engine does not run
/// there, but its source can be shown.
pub(super) fn wave(capability: u32) -> &'static [WaveRow] {
    let (_, table) = WAVE
        .iter()
        .rfind(|(from, _)| *from <= capability)
        .unwrap_or(&WAVE[0]);
    table
}
