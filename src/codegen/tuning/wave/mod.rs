//! The wave engine.

#[cfg(feature = "cuda")]
mod dear_sm_90;
mod select_sm_90;
mod sm_90;

use super::{Tables, choose};

/// What the wave engine does with elements of some sizes.
#[derive(Debug)]
pub(in crate::codegen) struct WaveRow {
    /// The largest of these elements, in bytes.
    pub(in crate::codegen) element: u32,
    /// What a tile may take of shared memory, in bytes.
    pub(in crate::codegen) tile: u32,
    /// The rest is that of [`WavePolicy`](crate::codegen::WavePolicy).
    pub(in crate::codegen) warps: u32,
    pub(in crate::codegen) reducers: u32,
    pub(in crate::codegen) stages: u32,
    pub(in crate::codegen) loads: u32,
    pub(in crate::codegen) wave: u32,
    pub(in crate::codegen) batch: u32,
}

/// Operators that do not commute: the largest accumulators, in bytes, and the greatest
/// [`cost`](crate::codegen::cost) of an operator for whose scans the wave engine is the fastest.
/// Where the order of operands counts, more is exchanged between lanes.
#[cfg(feature = "cuda")]
pub(in crate::codegen) const ORDERED: &[(u32, u32)] = &[(16, u32::MAX), (28, 24), (64, 0)];

const SCANS: &Tables<[WaveRow]> = &[(90, sm_90::WAVE)];
const SELECTS: &Tables<[WaveRow]> = &[(90, select_sm_90::SELECT)];
const PARTITIONS: &Tables<[WaveRow]> = &[(90, select_sm_90::PARTITION)];

#[cfg(feature = "cuda")]
const DEAR: &Tables<[(u32, WaveRow)]> = &[(90, dear_sm_90::DEAR)];

/// The row for scans of elements of a size by an operator of some
/// [`cost`](crate::codegen::cost), if it is dear enough to take another than a sum does.
#[cfg(feature = "cuda")]
pub(in crate::codegen) fn dear_scans(
    capability: u32,
    element: u32,
    cost: u32,
) -> Option<&'static [WaveRow]> {
    let mut rows = choose(DEAR, capability).iter();
    let (_, row) = rows.find(|(least, row)| row.element == element && cost >= *least)?;
    Some(std::slice::from_ref(row))
}

/// The table of scans for GPUs of a compute capability. Those that cannot run the engine get one
/// too: its source can be shown.
pub(in crate::codegen) fn scans(capability: u32) -> &'static [WaveRow] {
    choose(SCANS, capability)
}

/// The same for selects.
pub(in crate::codegen) fn selects(capability: u32) -> &'static [WaveRow] {
    choose(SELECTS, capability)
}

/// The same for partitions.
pub(in crate::codegen) fn partitions(capability: u32) -> &'static [WaveRow] {
    choose(PARTITIONS, capability)
}
