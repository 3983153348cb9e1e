//! The wave engine.
//!
//! Measured: an NVIDIA H200, 2026-11-28, `cargo bench --bench gpu -- scan`, by hand.

mod operators_sm_90;
mod sm_90;

use super::{Tables, choose};

/// What the wave engine does with elements of some sizes.
#[derive(Debug)]
pub(crate) struct WaveRow {
    /// The largest of these elements, in bytes.
    pub(crate) element: u32,
    /// The fewest of them in a run, for items of more than 16 bytes. Lanes exchange the sums of
    /// runs, which takes the longer the larger these are.
    pub(crate) run: u32,
    /// What a tile may take of shared memory, in bytes.
    pub(crate) tile: u32,
    /// The rest is that of [`WavePolicy`](crate::engine::WavePolicy).
    pub(crate) warps: u32,
    pub(crate) reducers: u32,
    pub(crate) stages: u32,
    pub(crate) loads: u32,
    pub(crate) wave: u32,
    pub(crate) batch: u32,
}

/// For which scans of more than 16 bytes the wave engine is the fastest.
#[derive(Debug)]
pub(in crate::engine) struct Reach {
    /// The largest accumulators, in bytes.
    pub(in crate::engine) accumulator: u32,
    /// The greatest [`cost`](crate::operator::cost) of an operator.
    pub(in crate::engine) cost: u32,
    /// The most tiles a multiprocessor.
    pub(in crate::engine) tiles: u64,
}

/// By operators that commute: the first row that an operator fits.
#[rustfmt::skip]
pub(in crate::engine) const COMMUTING: &[Reach] = &[
    Reach { accumulator: 40, cost: u32::MAX, tiles: u64::MAX },
    Reach { accumulator: 64, cost: 40, tiles: u64::MAX },
    Reach { accumulator: 64, cost: u32::MAX, tiles: 2 },
];

/// By others: where the order of operands counts, more is exchanged between lanes.
#[rustfmt::skip]
pub(in crate::engine) const ORDERED: &[Reach] = &[
    Reach { accumulator: 28, cost: 24, tiles: u64::MAX },
    Reach { accumulator: 40, cost: 16, tiles: u64::MAX },
    Reach { accumulator: 64, cost: 16, tiles: 4 },
    Reach { accumulator: 64, cost: u32::MAX, tiles: 1 },
];

/// By operators bound by computing, where the shares engine takes what is longer: the largest
/// accumulators, in bytes, and the most tiles a multiprocessor.
pub(in crate::engine) const BEFORE_SHARES: &[(u32, u64)] = &[(28, 0), (40, 4), (64, 0)];

const SCANS: &Tables<[WaveRow]> = &[(90, sm_90::WAVE)];

const SLOWEST: &Tables<[(u32, WaveRow)]> = &[(90, operators_sm_90::SLOWEST)];
const ORDERED_SCANS: &Tables<[WaveRow]> = &[(90, operators_sm_90::ORDERED)];

/// The row for scans of elements of a size by an operator that `commutes` or not, of some
/// [`cost`](crate::operator::cost), if it wants another than a sum.
pub(in crate::engine) fn scans_by(
    capability: u32,
    element: u32,
    commutes: bool,
    cost: u32,
) -> Option<&'static [WaveRow]> {
    let mut slowest = choose(SLOWEST, capability).iter();
    let slowest = slowest.find(|(least, row)| row.element == element && cost >= *least);
    let mut ordered = choose(ORDERED_SCANS, capability).iter();
    let row = match slowest {
        Some((_, row)) => Some(row),
        None if commutes => None,
        None => ordered.find(|row| row.element == element),
    };
    Some(std::slice::from_ref(row?))
}

/// The table of scans for GPUs of a compute capability. Those that cannot run the engine get one
/// too: its source can be shown.
pub(in crate::engine) fn scans(capability: u32) -> &'static [WaveRow] {
    choose(SCANS, capability)
}
